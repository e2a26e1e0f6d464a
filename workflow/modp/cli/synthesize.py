"""Draw instances from a model: in each, one synthetic record from every true one."""

import argparse
from pathlib import Path

import numpy as np

from modp.base import seeds
from modp.cli.inputs import ask_for_coded, coded
from modp.cli.output import Log, written
from modp.cli.predictions import Predictions
from modp.draws import independent
from modp.survey import records


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    ask_for_coded(parser)
    parser.add_argument("--name", required=True, help="the model's name in params.yaml")
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N")
    parser.add_argument("--out", type=Path, nargs="+", required=True, help="one file an instance")


def run(options: argparse.Namespace, log: Log) -> None:
    """Draw every answer of every record."""
    codes, codebook = coded(options.records, options.codebook)
    starts = codebook.block_starts
    streams = [
        seeds.generator(options.seed, "synthesize", options.name, str(number))
        for number in range(1, len(options.out) + 1)
    ]
    drawn: list[list[np.ndarray]] = [[] for _ in streams]
    bits = []
    for chunk, probabilities in Predictions(options.weights, codes, codebook, options.device):
        bits.append(independent.entropy_bits(probabilities))
        for instance, rng in zip(drawn, streams, strict=True):
            instance.append(independent.independent(probabilities, starts, rng.random(chunk.shape)))
    extra = {"record": np.arange(len(codes)), "entropy_bits": np.concatenate(bits)}
    for target, instance in zip(options.out, drawn, strict=True):
        with written(target) as path:
            records.write(path, np.concatenate(instance), codebook, extra)
    log(f"{options.name}: {len(options.out)} instances of {len(codes):,} records drawn")
