"""Trace one model's fidelity against privacy: along sweeps if it is stationary, else along pass-through."""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from modp.base import seeds
from modp.cli.inputs import ask_for_coded, coded
from modp.cli.output import Log, written
from modp.draws import independent, sweeps
from modp.measures import accuracy, crowds
from modp.models.stationary import model as stationary
from modp.survey import records
from modp.survey.codebook import Codebook

SWEEPS = (1, 2, 3, 5, 10, 20, 30, 50, 100)
KEPT = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
RANKED = 2000
"""Synthetic records whose causal partner is ranked at each point."""

CURVES = ("sweeps", "pass-through")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    ask_for_coded(parser)
    parser.add_argument("--curve", choices=CURVES, required=True)
    parser.add_argument("--model", required=True, help="the model's name")
    parser.add_argument("--source", type=Path, required=True, help="its weights, or its first instance")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True, help="one line a point")


def run(options: argparse.Namespace, log: Log) -> None:
    """Draw at every point of the curve, measure, write."""
    codes, codebook = coded(options.records, options.codebook)
    starts = codebook.block_starts
    true = sweeps.crosstab(codes, starts, options.threads)
    # The same records for every model, so that curves can be compared.
    chosen = np.sort(seeds.generator(options.seed, "frontier").permutation(len(codes))[:RANKED])
    record = np.arange(len(codes))
    lines = []
    for curve, parameter, drawn in _points(options, codes, codebook):
        counts = sweeps.crosstab(drawn, starts, options.threads)
        found = accuracy.compared(true, counts, len(codes), len(drawn))
        ranks = crowds.causal_rank(codes, drawn, record, chosen)
        lines.append(
            {
                "curve": curve,
                "model": options.model,
                "parameter": parameter,
                **found.measures,
                "ranked": len(ranks),
                "nearest": np.mean(ranks <= 1),
                "within_10": np.mean(ranks <= 10),
                "same_answers": np.mean(drawn == codes),
            }
        )
        log.only_file(str(lines[-1]))
    with written(options.out) as path:
        pd.DataFrame(lines).to_parquet(path, index=False)
    log(f"{options.out}: {len(lines)} points")


def _points(
    options: argparse.Namespace, codes: np.ndarray, codebook: Codebook
) -> Iterator[tuple[str, float, np.ndarray]]:
    """Yield (curve, parameter, codes) for each point, first that of independent marginals."""
    rng = seeds.generator(options.seed, "frontier", options.model)
    yield "marginals", 0.0, independent.shuffled(codes, rng)
    if options.curve == "sweeps":
        model = stationary.load(options.source, codebook)
        seed = seeds.integer(options.seed, "frontier", options.model)
        swept = codes
        for number in range(1, max(SWEEPS) + 1):
            swept = model.step(swept, seed, number, options.threads).codes
            if number in SWEEPS:
                yield "sweeps", float(number), swept
        return
    drawn = records.read(options.source, codebook)[0]
    for p in KEPT:
        yield "pass-through", p, independent.pass_through(drawn, codes, p, rng)
