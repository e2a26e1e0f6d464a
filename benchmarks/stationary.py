"""Print how long sweeps of the stationary model take, and how near its fits come to a bootstrap.

Sweeps are timed on 300,000 records: the embedded sample repeated with a tenth of the answers
shuffled, under the sample's own model. Data sets are given as coded records, each with its codebook
beside it (records.parquet, records.json).
Run: python benchmarks/stationary.py [--threads 2] [--held-out] [records.parquet …]
"""

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from steps import enlarged, sample

from modp.crosstabs.pairs import crosstab
from modp.draws import postprocess, sweeps
from modp.measures import three_way
from modp.measures.accuracy import cell_sets, log_ratio, summarise
from modp.models.stationary import matching
from modp.models.stationary import model as stationary
from modp.models.stationary.matching import Settings
from modp.survey.codebook import Codebook
from modp.survey.records import Records

SWEEPS = 20
SEEDS = 5
REPEATS = 5


def timed(work: Callable[[], object]) -> tuple[float, float, object]:
    wall, processor = time.perf_counter(), time.process_time()
    result = work()
    return time.perf_counter() - wall, time.process_time() - processor, result


def row(*cells: object) -> None:
    print("|", " | ".join(f"{c:.3f}" if isinstance(c, float) else str(c) for c in cells), "|", flush=True)


def one_sweep(threads: int) -> None:
    small = sample()
    model, chains, _ = matching.fit(small, Settings(), 1, threads, lambda _: None)
    records, tables = enlarged(small, np.random.default_rng(1)), model.tables
    chains = np.resize(chains, records.codes.shape)
    categories = records.block_starts[-1]
    print(f"{len(records):,} records x {categories} categories, {threads} threads, best of {REPEATS}\n")
    print("| step | seconds | processor seconds |\n|---|--:|--:|")
    for name, work in {
        "sweep": lambda: sweeps.sweep(chains, tables, 1, 1, threads),
        "sweep with entropy": lambda: sweeps.sweep(chains, tables, 1, 1, threads, entropy=True),
        "crosstab": lambda: crosstab(records, threads),
        "residuals of the pseudo-likelihood": lambda: sweeps.residuals(records.codes, tables, threads),
    }.items():
        work()
        runs = [timed(work)[:2] for _ in range(REPEATS)]
        row(name, min(wall for wall, _ in runs), min(processor for _, processor in runs))


def distances(true: np.ndarray, other: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Median, mean and r.m.s. of d over all cells, then over those between questions."""
    ratios = log_ratio(true, other)[np.triu_indices(len(true))]
    summaries = [summarise(ratios[cells]) for cells in cell_sets(starts).values()]
    return np.array([list(summary.measures.values()) for summary in summaries]).ravel()


def ideal(records: Records, measured: Callable[[Records], np.ndarray]) -> np.ndarray:
    """Mean over bootstrap resamples of what is measured of one."""
    n = len(records)
    rows = [np.random.default_rng(seed).integers(0, n, n) for seed in range(SEEDS)]
    return np.mean([measured(records[some]) for some in rows], axis=0)


def coded(path: Path) -> Records:
    """The records of a Parquet file, whose codebook is beside it."""
    return Records.read(path, Codebook.from_json(path.with_suffix(".json").read_text(encoding="utf-8")))


def measures(true: Records, other: Records, threads: int) -> np.ndarray:
    """:func:`distances`, then median, mean and r.m.s. of d over three-way cells."""
    three = three_way.chosen(len(true.codebook.questions), np.random.default_rng(0))
    tables = (crosstab(records, threads) for records in (true, other))
    cells = three_way.compare(true, other, three, threads).cells
    return np.concatenate([distances(*tables, true.block_starts), list(cells.measures.values())])


def fit(path: Path, threads: int, most: int, held_out: bool) -> None:
    """Fit, draw, and compare with the records, or with the half of them that the fit has not seen."""
    records = judge = coded(path)
    if held_out:
        order = np.random.default_rng(0).permutation(len(records))[: len(records) // 2 * 2]
        records, judge = (records[half] for half in np.array_split(order, 2))
    work = lambda: matching.fit(records, Settings(triples=most), 1, threads, lambda _: None)  # noqa: E731
    wall, processor, (model, _, history) = timed(work)
    measured = partial(measures, judge, threads=threads)
    # A resample of the half that judges would know its noise.
    best = measured(records) if held_out else ideal(records, measured)
    found = []
    for seed in range(1, SEEDS + 1):
        codes, entropy, _ = stationary.sample(model, records.codes, SWEEPS, seed, threads)
        drawn = records.of(codes)
        found.append(measured(drawn) / best)
    bad = int(postprocess.violations(drawn, model.excluded).sum())
    what = f"{path.stem}, other half" if held_out else path.stem
    counts = (f"{len(records):,}", most, len(model.triples), len(history), wall, processor)
    row(what, *counts, *np.mean(found, axis=0).tolist(), bad, entropy.mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("records", nargs="*", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--held-out", action="store_true", help="fit a half, compare with the other too")
    arguments = parser.parse_args()
    one_sweep(arguments.threads)
    if arguments.records:
        print(f"\nd after {SWEEPS} sweeps (mean of {SEEDS} draws) over d of a bootstrap (mean of {SEEDS});")
        print("compared with the other half of the records, over d of the fitted half itself\n")
        print("| data | records | triples at most | chosen | sweeps | fit s | processor s |", end="")
        print(" median | mean | r.m.s. | median between | mean | r.m.s. |", end="")
        print(" three-way median | mean | r.m.s. | rows with a zero | entropy bits |")
        print("|---|" + "--:|" * 17)
    for path in arguments.records:
        for held_out in [False, True][: 1 + arguments.held_out]:
            for most in (0, Settings().triples):
                fit(path, arguments.threads, most, held_out)


if __name__ == "__main__":
    main()
