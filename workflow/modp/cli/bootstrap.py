"""Draw the two ends: a resample of the true records, and records of independent answers."""

import argparse
from pathlib import Path

from modp.base import seeds
from modp.base.output import Log, written
from modp.cli.inputs import ask_for_coded, coded
from modp.draws import independent
from modp.measures.ends import BOOTSTRAP, MARGINALS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    ask_for_coded(parser)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--bootstrap", type=Path, required=True, help="with replacement: the most faithful")
    parser.add_argument("--marginals", type=Path, required=True, help="answers shuffled: the most private")


def run(options: argparse.Namespace, log: Log) -> None:
    """Draw as many records as there are."""
    true = coded(options.records, options.codebook)
    codes = true.codes
    resampled = independent.resampled(codes, seeds.generator(options.seed, BOOTSTRAP))
    shuffled = independent.shuffled(codes, seeds.generator(options.seed, MARGINALS))
    for target, drawn in ((options.bootstrap, resampled), (options.marginals, shuffled)):
        with written(target) as path:
            true.of(drawn).write(path)
    log(f"{len(codes):,} records resampled, and as many of independent answers")
