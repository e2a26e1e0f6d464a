"""Make one variant: pass-through, choice between instances, removal of structural zeros, swaps."""

import argparse
import json
import math
from pathlib import Path

import numpy as np

from modp.base import seeds
from modp.base.config import check
from modp.cli.inputs import ask_for_coded, coded
from modp.cli.output import Log, written
from modp.cli.zeros import ask_for_zeros, zeros_of
from modp.crosstabs.pairs import crosstab
from modp.draws import independent, postprocess
from modp.measures import crowds
from modp.pipeline.params import Variant
from modp.survey import records
from modp.survey.codebook import Codebook


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    ask_for_coded(parser)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--instances", type=Path, nargs="+", required=True, help="in order")
    ask_for_zeros(parser)
    parser.add_argument("--variant", type=json.loads, required=True, help="the variant, as JSON")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N")
    parser.add_argument("--out", type=Path, required=True)


def run(options: argparse.Namespace, log: Log) -> None:
    """Apply the variant's treatments in their order."""
    codes, codebook = coded(options.records, options.codebook)
    variant = check(options.variant, Variant, "variant")
    starts = codebook.block_starts
    instances, bits = [], np.zeros(0)
    for path in options.instances:
        drawn, extra = records.read(path, codebook, ["entropy_bits"])
        instances.append(drawn)
        bits = extra["entropy_bits"]
    if variant.pass_through:
        for number, drawn in enumerate(instances, start=1):
            rng = seeds.generator(options.seed, "pass-through", variant.row, str(number))
            instances[number - 1] = independent.pass_through(drawn, codes, variant.pass_through, rng)
        bits = _mixed_entropy(options, codes, codebook, variant.pass_through)

    counts, zeros = crosstab(codes, starts), zeros_of(options.zeros, codes, codebook)
    synthetic = instances[0]
    if variant.threshold is not None:
        chosen = postprocess.select(instances, counts, starts, variant.threshold)
        synthetic = np.stack(instances)[chosen, np.arange(len(codes))]
        log(f"{variant.row}: {np.mean(chosen > 0):.1%} of the records took a later instance")
    keep = np.ones(len(codes), bool)
    if variant.remove_zeros:
        keep = ~postprocess.violations(synthetic, zeros, starts)
        log(f"{variant.row}: {np.mean(~keep):.1%} of the records held a structural zero and were removed")
    if variant.protect is not None:
        exposed = crowds.deficient(crowds.multiplicity(codes), bits, variant.protect)
        keep &= ~exposed
        log(f"{variant.row}: {np.mean(exposed):.1%} of the records hide in a crowd below {variant.protect:g}")
    synthetic = synthetic[keep]
    if variant.swap:
        synthetic = _swapped(options, variant, synthetic, counts, zeros, len(codes), starts, log)
    with written(options.out) as path:
        extra = {"record": np.flatnonzero(keep), "entropy_bits": bits[keep]}
        records.write(path, synthetic, codebook, extra)
    log(f"{variant.row}: {keep.sum():,} synthetic records")


def _swapped(
    options: argparse.Namespace,
    variant: Variant,
    synthetic: np.ndarray,
    counts: np.ndarray,
    zeros: np.ndarray,
    n_true: int,
    starts: np.ndarray,
    log: Log,
) -> np.ndarray:
    """The records after swaps, as far as the variant's limits go."""
    from modp.base.devices import device  # these two load torch and numba, for this variant alone
    from modp.draws.swap import Limits, Problem, swap

    assert variant.swap
    seconds = 60 * variant.swap.minutes if variant.swap.minutes else math.inf
    return swap(
        Problem(synthetic, counts, zeros, n_true, starts),
        Limits(variant.swap.passes, seconds, variant.swap.improvement),
        seeds.generator(options.seed, "swap", variant.row),
        device(options.device),
        lambda number, left: log.only_file(f"{variant.row}: pass {number}, discrepancy {left:.6g}"),
    )


def _mixed_entropy(
    options: argparse.Namespace, codes: np.ndarray, codebook: Codebook, p: float
) -> np.ndarray:
    """Entropy of answers that are the true ones with probability p, else drawn."""
    from modp.cli.predictions import Predictions  # loads torch, which the other variants do without

    starts = codebook.block_starts
    return np.concatenate(
        [
            independent.entropy_bits(independent.mixed(probabilities, records.one_hot(chunk, starts), p))
            for chunk, probabilities in Predictions(options.weights, codes, codebook, options.device)
        ]
    )
