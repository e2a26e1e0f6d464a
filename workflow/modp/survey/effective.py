"""Unequal weights of a sample: how many records it is worth, and records drawn in their proportion."""

import numpy as np


def effective_size(weights: np.ndarray) -> float:
    """Return Kish's effective sample size, (Σ w)² / Σ w²: n where all weights are alike, else less.

    A share that is estimated with these weights, if they have nothing to do with it, has the variance of one
    estimated from so many records of equal weight (Kish, Survey Sampling, 1965, section 11.7).

    Parameters
    ----------
    weights : float64 (n,), not negative, some positive
    """
    return float(weights.sum() ** 2 / (weights**2).sum())


def in_proportion(weights: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Draw records in proportion to their weights, systematically, so that chance has the smallest part.

    A record of weight w comes up ``size`` w / Σ w times, rounded up or down; in the order of the file
    neighbours make up for each other.

    Parameters
    ----------
    weights : float64 (n,), not negative, some positive

    Returns
    -------
    int64 (size,), rising rows
    """
    ends = np.cumsum(weights)
    at = (rng.random() + np.arange(size)) * (ends[-1] / max(size, 1))
    return np.minimum(np.searchsorted(ends, at, side="right"), np.flatnonzero(weights)[-1])
