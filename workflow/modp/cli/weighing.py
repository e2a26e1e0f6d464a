"""What the steps on weighted tables read: the true records' weights, every row's, the yardstick of errors."""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from modp.base import seeds
from modp.base.errors import InputError
from modp.cli.inputs import ask_for_coded
from modp.draws import design
from modp.measures.ends import BOOTSTRAP
from modp.pums.where import Dataset
from modp.survey import weights as survey_weights
from modp.survey.records import Records
from modp.survey.variance import factor
from modp.survey.weights import Weights


def ask_for_rows(parser: argparse.ArgumentParser) -> None:
    """Declare the options that :func:`true_weights` and :func:`weighed` take."""
    ask_for_coded(parser)
    parser.add_argument("--weights", type=Path, required=True, help="of the true records")
    parser.add_argument("--dataset", type=Path, required=True, help="the dataset YAML")
    parser.add_argument("--rows", nargs="*", default=[], help="model/variant …")
    parser.add_argument("--synthetic", type=Path, nargs="*", default=[], help="one file a row")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--threads", type=int, default=1)


@dataclass(frozen=True)
class Weighed:
    """One row's table: its records, their weights, and which true records these are, if they are such."""

    name: str
    records: Records
    weights: Weights
    rows: np.ndarray | None = None


def true_weights(options: argparse.Namespace, dataset: Dataset) -> tuple[Weights, float]:
    """Return the true records' weights, with replicates, and the factor of the variance by these.

    Where the data set has no replicate weights, they are those of a bootstrap of its households.
    """
    known = Weights.read(options.weights)
    if known is None:
        raise InputError(f"{options.dataset} names no weight, as in 'weight: PWGTP'")
    count = known.replicates.shape[1]
    if count:
        return known, factor(dataset.variance, count, dataset.fay or 0.0)
    made = design.replicates(known, seeds.generator(options.seed, "replicates"))
    return replace(known, replicates=made), factor(None, made.shape[1])


def weighed(options: argparse.Namespace, true: Records, weights: Weights) -> Iterator[Weighed]:
    """Give a resample of the design, the ideal of weighted tables; then every row's synthetic records."""
    rows, drawn = design.resampled(weights, seeds.generator(options.seed, BOOTSTRAP, "design"))
    yield Weighed(BOOTSTRAP, true[rows], drawn, rows)
    for name, path in zip(options.rows, options.synthetic, strict=True):
        records = Records.read(path, true.codebook)
        values = survey_weights.of_synthetic(path, weights.total)
        none = np.zeros((len(records), 0), np.float32)
        yield Weighed(name, records, Weights(values, none, np.arange(len(records))))
