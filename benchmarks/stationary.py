"""Print how long sweeps of the stationary model take, and how near its fits come to a bootstrap.

Sweeps are timed on 300,000 records: the embedded sample repeated with a tenth of the answers
shuffled, under the sample's own model. Data sets are given as coded records, each with its codebook
beside it (records.parquet, records.json).
Run: python benchmarks/stationary.py [--threads 2] [records.parquet …]
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from steps import ROOT, enlarged

from modp import coding, postprocess, records, seeds, sweep
from modp.accuracy import cell_sets, log_ratio, summarise
from modp.codebook import Codebook
from modp.config import load
from modp.models import stationary
from modp.pums.read import read
from modp.questions import QuestionSet

SWEEPS = 20
BOOTSTRAPS = 5
REPEATS = 5


def timed(work: Callable[[], object]) -> tuple[float, float, object]:
    wall, processor = time.perf_counter(), time.process_time()
    result = work()
    return time.perf_counter() - wall, time.process_time() - processor, result


def row(*cells: object) -> None:
    print("|", " | ".join(f"{c:.3f}" if isinstance(c, float) else str(c) for c in cells), "|", flush=True)


def sweeps(threads: int) -> None:
    question_set = load(ROOT / "workflow/questions/stums.yaml", QuestionSet)
    raw = read([ROOT / "data/sample/sample_csv_p.zip"], question_set.columns)
    sample, codebook = coding.code(raw, question_set, seeds.generator(1, "deciles"))
    starts, settings = codebook.block_starts, stationary.Settings()
    model, chains, _ = stationary.fit(sample, starts, settings, 1, threads, lambda _: None)
    codes, tables = enlarged(sample, np.random.default_rng(1)), model.tables()
    chains = np.resize(chains, codes.shape)
    print(f"{len(codes):,} records x {starts[-1]} categories, {threads} threads, best of {REPEATS}\n")
    print("| step | seconds | processor seconds |\n|---|--:|--:|")
    for name, work in {
        "sweep": lambda: sweep.sweep(chains, tables, 1, 1, threads),
        "sweep with entropy": lambda: sweep.sweep(chains, tables, 1, 1, threads, entropy=True),
        "crosstab": lambda: sweep.crosstab(codes, starts, threads),
        "residuals of the pseudo-likelihood": lambda: sweep.residuals(codes, tables, threads),
    }.items():
        work()
        runs = [timed(work)[:2] for _ in range(REPEATS)]
        row(name, min(wall for wall, _ in runs), min(processor for _, processor in runs))


def distances(true: np.ndarray, other: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Median, mean and r.m.s. of d over all cells, then over those between questions."""
    ratios = log_ratio(true, other)[np.triu_indices(len(true))]
    summaries = [summarise(ratios[cells]) for cells in cell_sets(starts).values()]
    return np.array([(s.median, s.mean_abs, s.rms) for s in summaries]).ravel()


def fit(path: Path, threads: int) -> None:
    codebook = Codebook.from_json(path.with_suffix(".json").read_text(encoding="utf-8"))
    codes, _ = records.read(path, codebook)
    starts, n = codebook.block_starts, len(codes)
    settings = stationary.Settings()
    work = lambda: stationary.fit(codes, starts, settings, 1, threads, lambda _: None)  # noqa: E731
    wall, processor, (model, _, history) = timed(work)
    true = sweep.crosstab(codes, starts, threads)
    bootstraps = []
    for seed in range(BOOTSTRAPS):
        rows = np.random.default_rng(seed).integers(0, n, n)
        bootstraps.append(distances(true, sweep.crosstab(codes[rows], starts, threads), starts))
    ideal = np.mean(bootstraps, axis=0)
    for seed in (1, 2, 3):
        drawn, entropy, _ = stationary.sample(model, codes, SWEEPS, seed, threads)
        ratios = distances(true, sweep.crosstab(drawn, starts, threads), starts) / ideal
        bad = int(postprocess.violations(drawn, model.excluded, starts).sum())
        row(path.stem, f"{n:,}", len(history), wall, processor, seed, *ratios.tolist(), bad, entropy.mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("records", nargs="*", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    sweeps(arguments.threads)
    if arguments.records:
        print(f"\nd after {SWEEPS} sweeps over d of a bootstrap (mean of {BOOTSTRAPS})\n")
        print("| data | records | iterations | fit s | processor s | seed | median | mean | r.m.s. |", end="")
        print(" median between | mean | r.m.s. | rows with a zero | entropy bits |")
        print("|---|" + "--:|" * 13)
    for path in arguments.records:
        fit(path, arguments.threads)


if __name__ == "__main__":
    main()
