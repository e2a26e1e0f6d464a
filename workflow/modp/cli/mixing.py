"""Follow a stationary model's chains from the true records: which questions forget them slowly."""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from modp.base import seeds
from modp.cli.inputs import ask_for_coded, coded
from modp.cli.output import Log, written
from modp.measures import mixing
from modp.models.stationary import model as stationary

SWEEPS = 50
MOST = 20_000
"""Records that are followed, chosen at random if there are more."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    ask_for_coded(parser)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--model", required=True, help="the model's name")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True, help="one line a question and sweep")


def run(options: argparse.Namespace, log: Log) -> None:
    """Sweep, follow, write."""
    codes, codebook = coded(options.records, options.codebook)
    model = stationary.load(options.weights, codebook)
    seed = seeds.integer(options.seed, "mixing", options.model)
    followed = seeds.generator(options.seed, "mixing").permutation(len(codes))[:MOST]
    start = codes[np.sort(followed)]

    def states() -> Iterator[np.ndarray]:
        state = start
        for number in range(1, SWEEPS + 1):
            state = model.step(state, seed, number, options.threads).codes
            yield state

    traced = mixing.trace(start, states(), codebook)
    with written(options.out) as path:
        traced.to_parquet(path, index=False)
    slowest = mixing.summary(traced).iloc[0]
    log(
        f"{options.model}: {traced['changed'].mean():.1%} of the answers change in a sweep; after {SWEEPS} "
        f"the slowest question is {slowest['question']} (autocorrelation {slowest['kept']:.2f})"
    )
