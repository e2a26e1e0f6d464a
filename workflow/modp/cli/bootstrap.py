"""Resample the true records with replacement."""

import argparse
from pathlib import Path

from modp import records, seeds
from modp.cli.inputs import coded
from modp.cli.output import Log, written


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    parser.add_argument("--records", type=Path, required=True)
    parser.add_argument("--codebook", type=Path, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True)


def run(options: argparse.Namespace, log: Log) -> None:
    """Draw as many records as there are."""
    codes, codebook = coded(options.records, options.codebook)
    rows = seeds.generator(options.seed, "bootstrap").integers(0, len(codes), len(codes))
    with written(options.out) as path:
        records.write(path, codes[rows], codebook)
    log(f"{len(codes):,} records resampled")
