"""Print how near private releases come to a bootstrap, by how their pair tables are chosen.

Data sets are given as coded records, each with its codebook beside it (records.parquet, records.json).
Run: python benchmarks/private.py [--epsilon 1] [--delta 1e-5] [--threads 2] records.parquet …
"""

import argparse
from functools import partial
from pathlib import Path
from typing import get_args

import numpy as np
from stationary import SEEDS, coded, distances, ideal, row, timed

from modp.crosstabs.pairs import crosstab
from modp.models.private import budget, release
from modp.models.private.recipe import Selection
from modp.survey.records import Records

RELEASES = 3


def compare(path: Path, epsilon: float, delta: float, threads: int) -> None:
    records = coded(path)
    starts, n, true = records.block_starts, len(records), crosstab(records, threads)

    def measured(some: Records) -> np.ndarray:
        return distances(true, crosstab(some, threads) * (n / len(some)), starts)[:3]

    best = ideal(records, measured)
    for selection in get_args(Selection):
        found, processors = [], []
        settings = release.Settings(selection=selection)
        for seed in range(RELEASES):
            gate = budget.Gate(true, starts, budget.rho_of(epsilon, delta), np.random.default_rng(seed))
            zeros, quiet = records.codebook.stated_zeros, lambda _: None
            work = partial(release.release, gate, starts, zeros, settings, seed, threads, quiet)
            _, processor, released = timed(work)
            found.append(measured(records.of(released.codes)) / best)
            processors.append(processor)
        spread = float(np.std(found, axis=0, ddof=1)[0])
        mean = np.mean(found, axis=0).tolist()
        tables = len(released.history) - 1
        row(path.stem, f"{n:,}", f"{epsilon:g}", selection, tables, *mean, spread, np.mean(processors))


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
