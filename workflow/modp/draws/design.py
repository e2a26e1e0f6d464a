"""Resamples of a survey's design: households drawn with replacement, whole, their weights with them."""

import numpy as np

from modp.survey.ragged import members
from modp.survey.variance import RESAMPLES
from modp.survey.weights import Weights


def resampled(weights: Weights, rng: np.random.Generator) -> tuple[np.ndarray, Weights]:
    """Draw as many households as there are.

    Returns
    -------
    rows : int64 (m,), the records drawn, those of a household one after the other
    drawn : their weights, scaled to the same total, without replicates; a household drawn twice is two
    """
    order = np.argsort(weights.households, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(weights.households))])
    number = len(starts) - 1
    of, begins = members(starts, rng.integers(0, number, number))
    rows, households = order[of], np.repeat(np.arange(number), np.diff(begins))
    values = weights.values[rows]
    none = np.zeros((len(rows), 0), np.float32)
    return rows, Weights(values * (weights.total / values.sum()), none, households)


def replicates(weights: Weights, rng: np.random.Generator, count: int = RESAMPLES) -> np.ndarray:
    """Return replicate weights of so many such resamples, float32 (n, count).

    Each is a record's weight times how often its household was drawn, scaled to the same total. The mean
    square of the replicate estimates about the estimate is its variance (Efron and Tibshirani, An
    Introduction to the Bootstrap, 1993, chapter 6), households as if drawn independently.
    """
    households = int(weights.households.max(initial=-1)) + 1
    found = np.empty((len(weights), count), np.float32)
    for r in range(count):
        times = np.bincount(rng.integers(0, households, households), minlength=households)
        values = weights.values * times[weights.households]
        found[:, r] = values * (weights.total / values.sum())
    return found
