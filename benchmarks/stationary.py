"""Print how long sweeps of the stationary model take, and how near its fits come to a bootstrap.

Sweeps are timed on 300,000 records: the embedded sample repeated with a tenth of the answers
shuffled, under the sample's own model. Data sets are given as coded records, each with its codebook
beside it (records.parquet, records.json).
Run: python benchmarks/stationary.py [--threads 2] [--held-out] [records.parquet …]
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from steps import ROOT, enlarged

from modp.base import seeds
from modp.base.config import load
from modp.crosstabs.pairs import counts
from modp.draws import postprocess, sweeps
from modp.measures import three_way
from modp.measures.accuracy import cell_sets, log_ratio, summarise
from modp.models.stationary import model as stationary
from modp.pums.read import read
from modp.survey import coding, records
from modp.survey.codebook import Codebook
from modp.survey.questions import QuestionSet

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
        "sweep": lambda: sweeps.sweep(chains, tables, 1, 1, threads),
        "sweep with entropy": lambda: sweeps.sweep(chains, tables, 1, 1, threads, entropy=True),
        "crosstab": lambda: counts(codes, starts, threads),
        "residuals of the pseudo-likelihood": lambda: sweeps.residuals(codes, tables, threads),
    }.items():
        work()
        runs = [timed(work)[:2] for _ in range(REPEATS)]
        row(name, min(wall for wall, _ in runs), min(processor for _, processor in runs))


def distances(true: np.ndarray, other: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Median, mean and r.m.s. of d over all cells, then over those between questions."""
    ratios = log_ratio(true, other)[np.triu_indices(len(true))]
    summaries = [summarise(ratios[cells]) for cells in cell_sets(starts).values()]
    return np.array([list(summary.measures.values()) for summary in summaries]).ravel()


def ideal(codes: np.ndarray, measured: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Mean over bootstrap resamples of what is measured of one."""
    n = len(codes)
    rows = [np.random.default_rng(seed).integers(0, n, n) for seed in range(SEEDS)]
    return np.mean([measured(codes[some]) for some in rows], axis=0)


def measures(true: np.ndarray, other: np.ndarray, starts: np.ndarray, threads: int) -> np.ndarray:
    """:func:`distances`, then median, mean and r.m.s. of d over three-way cells."""
    sizes = np.diff(starts)
    three = three_way.chosen(len(sizes), np.random.default_rng(0))
    tables = (counts(codes, starts, threads) for codes in (true, other))
    cells = three_way.compare(true, other, sizes, three, threads).cells
    return np.concatenate([distances(*tables, starts), list(cells.measures.values())])


def fit(path: Path, threads: int, most: int, held_out: bool) -> None:
    """Fit, draw, and compare with the records, or with the half of them that the fit has not seen."""
    codebook = Codebook.from_json(path.with_suffix(".json").read_text(encoding="utf-8"))
    codes, _ = records.read(path, codebook)
    starts, judge = codebook.block_starts, codes
    if held_out:
        order = np.random.default_rng(0).permutation(len(codes))[: len(codes) // 2 * 2]
        codes, judge = (codes[half] for half in np.array_split(order, 2))
    settings = replace(stationary.Settings(), triples=most)
    work = lambda: stationary.fit(codes, starts, settings, 1, threads, lambda _: None)  # noqa: E731
    wall, processor, (model, _, history) = timed(work)
    measured = partial(measures, judge, starts=starts, threads=threads)
    # A resample of the half that judges would know its noise.
    best = measured(codes) if held_out else ideal(codes, measured)
    found = []
    for seed in range(1, SEEDS + 1):
        drawn, entropy, _ = stationary.sample(model, codes, SWEEPS, seed, threads)
        found.append(measured(drawn) / best)
    bad = int(postprocess.violations(drawn, model.excluded, starts).sum())
    what = f"{path.stem}, other half" if held_out else path.stem
    counts = (f"{len(codes):,}", most, len(model.triples), len(history), wall, processor)
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
            for most in (0, stationary.Settings().triples):
                fit(path, arguments.threads, most, held_out)


if __name__ == "__main__":
    main()
