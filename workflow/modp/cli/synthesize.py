"""Draw one instance from a model: one synthetic record from each true one."""

import argparse
from pathlib import Path

import numpy as np

from modp import draw, records, seeds
from modp.cli.output import Log, written
from modp.cli.inputs import coded
from modp.cli.predictions import Predictions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    parser.add_argument("--records", type=Path, required=True)
    parser.add_argument("--codebook", type=Path, required=True)
    parser.add_argument("--name", required=True, help="the model's name in params.yaml")
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--instance", type=int, required=True, help="number of the instance, from 1")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N")
    parser.add_argument("--out", type=Path, required=True)


def run(options: argparse.Namespace, log: Log) -> None:
    """Draw every answer of every record."""
    codes, codebook = coded(options.records, options.codebook)
    starts = codebook.block_starts
    rng = seeds.generator(options.seed, "synthesize", options.name, str(options.instance))
    drawn, bits = [], []
    for chunk, probabilities in Predictions(options.weights, codes, codebook, options.device):
        drawn.append(draw.independent(probabilities, starts, rng.random(chunk.shape)))
        bits.append(draw.entropy_bits(probabilities))
    extra = {"record": np.arange(len(codes)), "entropy_bits": np.concatenate(bits)}
    with written(options.out) as path:
        records.write(path, np.concatenate(drawn), codebook, extra)
    log(f"{options.name}, instance {options.instance}: {len(codes):,} records drawn")
