"""Weighted crosstabulations, and how far those by replicate weights lie from them."""

import itertools

import numpy as np

from modp.base.loops import compiled, in_threads
from modp.survey.records import Records


def crosstab(records: Records, weights: np.ndarray) -> np.ndarray:
    """Sum the weights of the records in every cell (category i, category j).

    Parameters
    ----------
    weights : float64 (n,)

    Returns
    -------
    float64 (K, K), symmetric; the diagonal holds the univariate sums
    """
    starts = np.ascontiguousarray(records.block_starts, np.int64)
    upper = _sum_pairs(np.ascontiguousarray(records.codes, np.int16), starts, weights.astype(np.float64))
    return upper + np.triu(upper, 1).T


def spread(records: Records, weights: np.ndarray, replicates: np.ndarray, threads: int = 1) -> np.ndarray:
    """Sum, over replicate weights, the squares by which their crosstabs differ from the weighted one.

    Parameters
    ----------
    weights : float64 (n,)
    replicates : float32 (n, R)
    threads : how many share the pairs of questions; without influence on the result

    Returns
    -------
    float64 (K, K), symmetric: Σ_r (θ_r − θ)², which :func:`modp.survey.variance.factor` makes a variance
    """
    codes, starts = records.codes.astype(np.int64), records.block_starts
    centre, every = crosstab(records, weights), np.ascontiguousarray(replicates, np.float32)
    found = np.zeros(centre.shape)

    def pair(questions: tuple[int, int]) -> None:
        q, r = questions
        width = int(starts[r + 1] - starts[r])
        sums = _sum_replicates(
            codes[:, q] * width + codes[:, r], int(starts[q + 1] - starts[q]) * width, every
        )
        block = np.s_[starts[q] : starts[q + 1], starts[r] : starts[r + 1]]
        off = sums - centre[block].reshape(-1, 1)
        found[block] = (off**2).sum(axis=1).reshape(-1, width)
        found[block[::-1]] = found[block].T

    in_threads(pair, list(itertools.combinations_with_replacement(range(codes.shape[1]), 2)), threads)
    return found


@compiled
def _sum_pairs(codes, starts, weights):
    """Sum the weights of the pairs i <= j of the rows, float64 (K, K)."""
    size, questions = starts[-1], codes.shape[1]
    sums = np.zeros((size, size), np.float64)
    for i in range(codes.shape[0]):
        for q in range(questions):
            a = starts[q] + codes[i, q]
            for r in range(q, questions):
                sums[a, starts[r] + codes[i, r]] += weights[i]
    return sums


@compiled
def _sum_replicates(cells, size, replicates):
    """Sum the rows of replicates (n, R) that are in each of ``size`` cells, float64 (size, R)."""
    sums = np.zeros((size, replicates.shape[1]), np.float64)
    for i in range(len(cells)):
        own = sums[cells[i]]
        for r in range(replicates.shape[1]):
            own[r] += replicates[i, r]
    return sums
