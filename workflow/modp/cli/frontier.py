"""Trace one model's fidelity against privacy, along sweeps or pass-through as its family does."""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from modp.base import seeds
from modp.base.output import Log, written
from modp.cli.inputs import ask_for_fitted, fitted, read_drawn, work_of
from modp.crosstabs.pairs import crosstab
from modp.measures import accuracy, crowds
from modp.measures.population import Held, population
from modp.survey.records import Records

RANKED = 2000
"""Synthetic records whose causal partner is ranked at each point."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    ask_for_fitted(parser)
    parser.add_argument("--holdout", type=Path, required=True, help="records that the model never saw")
    parser.add_argument("--instances", type=Path, nargs="*", default=[], help="in order, if there are any")
    parser.add_argument("--out", type=Path, required=True, help="one line a point")


def run(options: argparse.Namespace, log: Log) -> None:
    """Draw at every point of the curve, measure, write."""
    records, family, model = fitted(options)
    instances = [read_drawn(path, records.codebook) for path in options.instances]
    true, upper = crosstab(records, options.threads), np.triu_indices(int(records.block_starts[-1]))
    # The same groups as where rows are measured, so that curves pass through their rows.
    held = Held.of(
        Records.read(options.holdout, records.codebook), seeds.generator(options.seed, "population")
    )
    sets = {"all": accuracy.cell_sets(records.block_starts)["all"]}
    # The same records for every model, so that curves can be compared.
    chosen = np.sort(seeds.generator(options.seed, "frontier").permutation(len(records))[:RANKED])
    record = np.arange(len(records))
    lines = []
    for curve, parameter, drawn in family.curve(model, records, instances, work_of(options, log)):
        counts = crosstab(records.of(drawn), options.threads)
        found = accuracy.compared(true, counts, len(records), len(drawn))
        near = population(counts[upper], len(drawn), true[upper], len(records), held, sets)
        ranks = crowds.causal_rank(records.codes, drawn, record, chosen)
        lines.append(
            {
                "curve": curve,
                "model": options.name,
                "parameter": parameter,
                **found.measures,
                **{key: ratio for key, (ratio, _) in near["all"].items()},
                "ranked": len(ranks),
                "nearest": np.mean(ranks <= 1),
                "within_10": np.mean(ranks <= 10),
                "same_answers": np.mean(drawn == records.codes),
            }
        )
        log.only_file(str(lines[-1]))
    with written(options.out) as path:
        pd.DataFrame(lines).to_parquet(path, index=False)
    log(f"{options.out}: {len(lines)} points")
