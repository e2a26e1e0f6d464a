"""Follow a model's chains from the true records: which questions forget them slowly."""

import argparse
import itertools
from pathlib import Path

import numpy as np

from modp.base import seeds
from modp.base.output import Log, written
from modp.cli.inputs import ask_for_fitted, fitted, work_of
from modp.measures import mixing

SWEEPS = 50
MOST = 20_000
"""Records that are followed, chosen at random if there are more."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    ask_for_fitted(parser)
    parser.add_argument("--out", type=Path, required=True, help="one line a question and sweep")


def run(options: argparse.Namespace, log: Log) -> None:
    """Sweep, follow, write."""
    records, family, model = fitted(options)
    followed = seeds.generator(options.seed, "mixing").permutation(len(records))[:MOST]
    start = records[np.sort(followed)]
    states = itertools.islice(family.chains(model, start, work_of(options, log)), SWEEPS)
    traced = mixing.trace(start, states)
    with written(options.out) as path:
        traced.to_parquet(path, index=False)
    slowest = mixing.summary(traced).iloc[0]
    said = f"{options.name}: {traced['changed'].mean():.1%} of the answers change in a sweep"
    if np.isfinite(slowest["kept"]):
        said += f"; after {SWEEPS} the slowest question is {slowest['question']} "
        said += f"(autocorrelation {slowest['kept']:.2f})"
    log(said)
