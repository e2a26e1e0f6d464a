"""One pass over all cells where NumPy makes many, each with an array of all cells of its own.

With 1,500 categories an array of all pairs holds 18 MB, and what a fit computes in each iteration is bound by
memory. Every number here is that of the expressions in NumPy that it stands for, to the bit.
"""

import itertools
from collections.abc import Callable

import numpy as np

from modp.base.loops import compiled, in_threads
from modp.crosstabs.cells import question_of

TILE = 64
"""Rows and columns that are at hand together, where cells meet those across the diagonal."""


def _over_rows(work: Callable[[int, int], None], rows: int, threads: int) -> None:
    """Run ``work`` on bands of rows, from the first to before the second number."""
    step = max(TILE, -(-rows // (4 * threads * TILE)) * TILE)
    in_threads(lambda first: work(first, min(first + step, rows)), range(0, rows, step), threads)


class Adam:
    """Ascent by Adam (Kingma and Ba, 2015) with its usual decay rates, of weights of pairs and of categories.

    Parameters
    ----------
    w, c : float64 (K, K), symmetric, and (K,), changed in place
    free : bool (K, K), symmetric: cells of ``w`` that may change
    block_starts : (Q + 1,)
    """

    def __init__(
        self, w: np.ndarray, c: np.ndarray, free: np.ndarray, block_starts: np.ndarray, threads: int
    ):
        """Begin without a momentum."""
        self.w, self.c, self.free, self.threads = w, c, free, threads
        self.question, self.blocks = (
            question_of(block_starts),
            list(itertools.pairwise(block_starts)),
        )
        self.mean, self.square = np.zeros_like(w), np.zeros_like(w)
        self.single_mean, self.single_square = np.zeros((2, len(c)))
        self.steps = 0

    def step(self, residuals: np.ndarray, scale: float, rate: float) -> None:
        """Go a step up the gradient, ``scale`` times what :func:`modp.draws.sweeps.residuals` returns."""
        self.steps += 1
        first, second = 1 - 0.9**self.steps, 1 - 0.999**self.steps
        arrays = (self.w, self.mean, self.square, residuals, self.free)

        def work(begin: int, end: int) -> None:
            _ascend(*arrays, begin, end, scale, rate, first, second)

        _over_rows(work, len(self.w), self.threads)
        gradient = np.concatenate([residuals[a:b, a:b].sum(axis=0) for a, b in self.blocks]) * scale
        self.single_mean += 0.1 * (gradient - self.single_mean)
        self.single_square += 0.001 * (gradient**2 - self.single_square)
        self.c += rate * (self.single_mean / first) / (np.sqrt(self.single_square / second) + 1e-8)


@compiled
def _ascend(w, mean, square, residuals, free, begin, end, scale, rate, first, second):
    """A step of :class:`Adam` for the pairs i < j of rows ``begin:end``, and those across the diagonal."""
    size = len(w)
    for i_tile in range(begin, end, TILE):
        for j_tile in range(i_tile, size, TILE):
            for i in range(i_tile, min(i_tile + TILE, end)):
                for j in range(max(j_tile, i + 1), min(j_tile + TILE, size)):
                    if free[i, j]:
                        gradient = (residuals[i, j] + residuals[j, i]) * scale
                        mean[i, j] += 0.1 * (gradient - mean[i, j])
                        square[i, j] += 0.001 * (gradient * gradient - square[i, j])
                        w[i, j] += rate * (mean[i, j] / first) / (np.sqrt(square[i, j] / second) + 1e-8)
                        w[j, i] = w[i, j]


def deviations(
    halves: tuple[np.ndarray, ...],
    scales: tuple[float, ...],
    target: np.ndarray,
    pulled: np.ndarray,
    free: np.ndarray,
    threads: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return how two halves' counts S deviate from the target A less the pull, for cells with weights.

    Parameters
    ----------
    halves : two, integers (rows, columns), and so
    target, pulled, free : and bool
    scales : what makes each half's counts those of all

    Returns
    -------
    (S - A)² / (A + 1) and the product of the halves' deviations over the same, each (number of free cells,)
    """
    before = np.concatenate([[0], np.cumsum(np.count_nonzero(free, axis=1))])
    squares, products = np.empty((2, before[-1]))
    arrays = (*halves, *scales, target, pulled, free, before, squares, products)
    _over_rows(lambda first, last: _deviations(*arrays, first, last), len(target), threads)
    return squares, products


@compiled
def _deviations(
    one, other, one_scale, other_scale, target, pulled, free, before, squares, products, first, last
):
    """See :func:`deviations`."""
    for i in range(first, last):
        place = before[i]
        for j in range(target.shape[1]):
            if free[i, j]:
                wanted = target[i, j] - pulled[i, j]
                scale = max(wanted, 0.0) + 1
                difference = np.float64(one[i, j] + other[i, j]) - wanted
                squares[place] = difference * difference / scale
                left, right = one[i, j] * one_scale - wanted, other[i, j] * other_scale - wanted
                products[place] = left * right / scale
                place += 1


def moved(
    own: np.ndarray,
    mean: np.ndarray,
    smooth: np.ndarray,
    crosstab: np.ndarray,
    target: np.ndarray,
    pulled: np.ndarray,
    stiffness: np.ndarray | float,
    free: np.ndarray,
    steps: np.ndarray,
    step: float,
    damping: float,
    momentum: float,
    threads: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return weights of pairs after an iteration of the fit, and categories' relative discrepancies.

    Parameters
    ----------
    own, target, pulled, free, steps : (K, K)
    mean, smooth : float64 (K, K), running means, moved in place
    crosstab : integers (K, K)
    stiffness : (K, K), or a number

    Returns
    -------
    (K, K), and (K,)
    """
    found, kept = np.empty(own.shape), 1 - momentum
    stiff = np.broadcast_to(np.asarray(stiffness, np.float64), own.shape if np.ndim(stiffness) else (1, 1))
    lowered = np.diag(mean) + kept * (np.diag(target) - np.diag(crosstab) - np.diag(mean))
    smoothed = np.diag(smooth) + 0.1 * (np.diag(crosstab) - np.diag(smooth))
    margins = lowered / (np.maximum(np.diag(target), smoothed) + 1)
    arrays = (own, mean, smooth, crosstab, target, pulled, stiff, free, steps, margins, found)
    work = lambda first, last: _moved(*arrays, step, damping, kept, first, last)  # noqa: E731
    _over_rows(work, len(own), threads)
    return found, margins


@compiled
def _moved(
    own,
    mean,
    smooth,
    crosstab,
    target,
    pulled,
    stiffness,
    free,
    steps,
    margins,
    found,
    step,
    damping,
    kept,
    first,
    last,
):
    """See :func:`moved`."""
    one = stiffness.shape[0] == 1
    for i in range(first, last):
        for j in range(len(own)):
            count, wanted = np.float64(crosstab[i, j]), target[i, j]
            smooth[i, j] += 0.1 * (count - smooth[i, j])
            mean[i, j] += kept * (wanted - count - mean[i, j])
            change = 0.0
            if free[i, j]:
                stiff = stiffness[0, 0] if one else stiffness[i, j]
                pairs = mean[i, j] - pulled[i, j] - wanted * (margins[i] + margins[j])
                change = steps[i, j] * (pairs / (max(wanted, smooth[i, j]) + damping + stiff))
            found[i, j] = own[i, j] + step * change
