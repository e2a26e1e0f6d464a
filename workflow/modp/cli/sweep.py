"""Redraw the true records question by question, some sweeps long."""

import argparse
from pathlib import Path

import numpy as np

from modp.base import seeds
from modp.cli.inputs import FAMILIES, ask_for_coded, coded
from modp.cli.output import Log, written
from modp.cli.zeros import ask_for_zeros, zeros_of
from modp.draws import sequential
from modp.survey import records
from modp.survey.codebook import Codebook


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    ask_for_coded(parser)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--family", choices=FAMILIES, required=True, help="what the weights are of")
    parser.add_argument("--row", required=True, help="model/name")
    ask_for_zeros(parser)
    parser.add_argument("--sweeps", type=int, required=True)
    parser.add_argument("--start", choices=("records", "fresh"), default="records")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)


def run(options: argparse.Namespace, log: Log) -> None:
    """Sweep, then write the last state of every record."""
    codes, codebook = coded(options.records, options.codebook)
    swept, bits = (_stationary if options.family == "stationary" else _blades)(options, codes, codebook)
    fresh = options.start == "fresh"
    partner = np.ma.array(np.arange(len(codes)), mask=fresh)
    with written(options.out) as path:
        records.write(path, swept, codebook, {"record": partner, "entropy_bits": bits})
    if fresh:
        log(f"{options.row}: {len(swept):,} records that no true record was the start of")
    else:
        log(f"{options.row}: {np.mean(swept != codes):.1%} of the answers differ from the true record's")


def _stationary(
    options: argparse.Namespace, codes: np.ndarray, codebook: Codebook
) -> tuple[np.ndarray, np.ndarray]:
    from modp.base.devices import device
    from modp.models.stationary import model as stationary

    model = stationary.load(options.weights, codebook)
    if options.start == "fresh":
        rng = seeds.generator(options.seed, "fresh", options.row)
        codes = sequential.fresh(model.tables(), len(codes), rng)
    seed = seeds.integer(options.seed, "sweep", options.row)
    swept, bits, _ = stationary.sample(
        model, codes, options.sweeps, seed, options.threads, device(options.device)
    )
    return swept, bits


def _blades(
    options: argparse.Namespace, codes: np.ndarray, codebook: Codebook
) -> tuple[np.ndarray, np.ndarray]:
    import torch

    from modp.base.devices import device
    from modp.models.blades import network as blades

    torch.set_num_threads(1)  # sums in one order, whatever the machine's cores
    where = device(options.device)
    model = blades.load(options.weights, codebook).to(where)
    starts = codebook.block_starts
    zeros = zeros_of(options.zeros, codes, codebook)
    rng = seeds.generator(options.seed, "sweep", options.row)

    @torch.no_grad()
    def predict(binary: np.ndarray, question: int) -> np.ndarray:
        chunk = torch.from_numpy(binary).to(where)
        return model.question(chunk, int(starts[question]), int(starts[question + 1])).cpu().numpy()

    for _ in range(options.sweeps):
        codes, bits = sequential.sweep(codes, starts, zeros, predict, rng)
    return codes, bits
