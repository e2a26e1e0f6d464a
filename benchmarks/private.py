"""Print how near private releases come to a bootstrap, by how their pair tables are chosen.

Data sets are given as coded records, each with its codebook beside it (records.parquet, records.json).
Run: python benchmarks/private.py [--epsilon 1] [--delta 1e-5] [--threads 2] records.parquet …
"""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
from stationary import SEEDS, distances, row, timed

from modp import dp, records, sweep
from modp.codebook import Codebook
from modp.models import private
from modp.params import Selection

RELEASES = 3


def compare(path: Path, epsilon: float, delta: float, threads: int) -> None:
    codebook = Codebook.from_json(path.with_suffix(".json").read_text(encoding="utf-8"))
    codes, _ = records.read(path, codebook)
    starts, n = codebook.block_starts, len(codes)
    true = sweep.crosstab(codes, starts, threads)
    rows = [np.random.default_rng(seed).integers(0, n, n) for seed in range(SEEDS)]
    ideal = np.mean(
        [distances(true, sweep.crosstab(codes[r], starts, threads), starts) for r in rows], axis=0
    )
    for selection in get_args(Selection):
        found, processors, tables = [], [], []
        for seed in range(RELEASES):
            gate = dp.Gate(true, starts, dp.rho_of(epsilon, delta), np.random.default_rng(seed))
            settings = replace(private.Settings(), selection=selection)
            work = lambda g=gate, s=settings, k=seed: private.release(  # noqa: E731
                g, starts, codebook.stated_zeros, s, k, threads, lambda _: None
            )
            _, processor, released = timed(work)
            counts = sweep.crosstab(released.codes, starts, threads) * (n / len(released.codes))
            found.append(distances(true, counts, starts)[:3] / ideal[:3])
            processors.append(processor)
            tables.append(len(released.history) - 1)
        spread = float(np.std(found, axis=0, ddof=1)[0])
        mean = np.mean(found, axis=0).tolist()
        row(path.stem, f"{n:,}", f"{epsilon:g}", selection, tables[0], *mean, spread, np.mean(processors))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("records", nargs="+", type=Path)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--delta", type=float, default=1e-5)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    print(f"d over all cells over that of a bootstrap (mean of {SEEDS}); mean of {RELEASES} releases\n")
    print("| data | records | epsilon | selection | pair tables | median | mean | r.m.s. |", end="")
    print(" s.d. of the median | processor s |\n|---|--:|--:|---|" + "--:|" * 6)
    for path in arguments.records:
        compare(path, arguments.epsilon, arguments.delta, arguments.threads)


if __name__ == "__main__":
    main()
