"""What noisy answers say, as numbers without a model: counts, tables, and how much to trust them."""

import itertools
import math

import numpy as np

LEAST = 0.02
"""Smallest standard deviation of weights."""

MOST = 2.0
"""Largest, before a fit has learnt more."""

DEGREES = 3.0
"""Of freedom of the prior of weights, Student's distribution."""

CLEAR = 1e-9
"""Part of a constraint's length, or of a variance, below which there is none."""

WORTH = 0.6
"""A model's counts, means over its chains, are as far from the truth as those of so many times the records
would be."""

ROUNDS = 10
"""Of the estimate of a spread, by weights that depend on it, and of raking."""


COMMONNESS = 0.75
"""The prior's density of a count goes as the count to this less one: between uniform in it, 1, and in its
logarithm, 0."""


def tied(
    counts: np.ndarray, sigmas: np.ndarray, excluded: np.ndarray, block_starts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return noisy one-way counts made to agree where stated rules say that they must, and their σ.

    Every question's counts have one sum. More follows from the rules: where answers that go with each other
    fall apart into groups that exclude each other, as "not asked" and the rest, as many records give one of
    a group's answers to one question as to the other. Of all counts that fulfil this, those nearest by
    weighted least squares: the best unbiased linear estimates.

    Parameters
    ----------
    counts, sigmas : shape (K,)
    excluded : bool (K, K), symmetric: pairs of answers that stated rules exclude
    block_starts : shape (Q + 1,)
    """
    blocks = [slice(int(a), int(b)) for a, b in itertools.pairwise(block_starts)]
    bound = np.empty((0, len(counts)))  # orthonormal: what the constraints, rows of +σ and -σ, forbid
    for one, other in itertools.combinations(blocks, 2):
        a, b = one.stop - one.start, other.stop - other.start
        group = _groups(~excluded[one, other])
        rows = np.zeros((len(np.unique(group)), len(counts)))
        at = np.r_[one, other]
        rows[:, at] = (group == np.unique(group)[:, None]) * np.repeat([1.0, -1.0], [a, b]) * sigmas[at]
        for row in rows:
            left = _apart(_apart(row, bound), bound)  # a second time for what rounding left of the first
            if np.sqrt((left**2).sum()) > CLEAR * np.sqrt((row**2).sum()):
                bound = np.vstack([bound, left / np.sqrt((left**2).sum())])
    free = _apart(counts / sigmas, bound)
    return free * sigmas, sigmas * np.sqrt(np.maximum(1 - (bound**2).sum(axis=0), CLEAR))


def _apart(row: np.ndarray, bound: np.ndarray) -> np.ndarray:
    """Return what of a row (K,) is at right angles to orthonormal rows (m, K).

    By sums that are in one order, which matrix products are not on another number of threads.
    """
    return row - (bound * (bound * row).sum(axis=1)[:, None]).sum(axis=0)


def _groups(together: np.ndarray) -> np.ndarray:
    """Return of rows, then of columns, a number that those share that hang together by a chain of Trues."""
    size = sum(together.shape)
    rows = np.arange(len(together))
    while True:
        columns = np.where(together, rows[:, None], size).min(axis=0)
        nearer = np.minimum(rows, np.where(together, columns, size).min(axis=1))
        if np.array_equal(nearer, rows):
            break
        rows = nearer
    alone = np.arange(len(together), size)
    return np.concatenate([rows, np.where(together.any(axis=0), columns, alone)])


def positive(counts: np.ndarray, sigmas: np.ndarray, n: float) -> np.ndarray:
    """Return the posterior medians of counts that were measured with normal noise.

    The prior's density goes as (count + 1) to the power ``COMMONNESS`` - 1, from no record to all of them, so
    that a rare category stays rare and none is negative; the posterior median makes the mean size of the log
    discrepancy d least.

    Parameters
    ----------
    counts, sigmas : shape (m,)
    n : number of records

    Returns
    -------
    float64 (m,), at least 0
    """
    wide = np.concatenate([[0.0], np.geomspace(0.5, max(n, 1.0), 200)])
    near = np.maximum(counts[:, None] + sigmas[:, None] * np.linspace(-6, 6, 241), 0)
    grid = np.sort(np.hstack([np.broadcast_to(wide, (len(counts), len(wide))), near]), axis=1)
    logs = np.log1p(grid)
    middles = (logs[:, 1:] + logs[:, :-1]) / 2
    prior = np.diff(np.hstack([logs[:, :1], middles, logs[:, -1:]]), axis=1) * (grid + 1) ** COMMONNESS
    log_likelihood = -((counts[:, None] - grid) ** 2) / (2 * sigmas[:, None] ** 2)
    posterior = np.exp(log_likelihood - log_likelihood.max(axis=1, keepdims=True)) * prior
    cumulative = np.cumsum(posterior, axis=1) / posterior.sum(axis=1, keepdims=True)
    at = np.minimum((cumulative < 0.5).sum(axis=1), grid.shape[1] - 1)
    return grid[np.arange(len(grid)), at]


def consistent(table: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return the table of given margins that is nearest to a noisy one, by least squares.

    Parameters
    ----------
    table : shape (a, b)
    rows, columns : shapes (a,) and (b,), of the same sum
    """
    off_rows, off_columns = rows - table.sum(axis=1), columns - table.sum(axis=0)
    both = (rows.sum() - table.sum()) / table.size
    return table + off_rows[:, None] / table.shape[1] + off_columns[None, :] / table.shape[0] - both


def blended(fitted: np.ndarray, noisy: np.ndarray, noise: float) -> np.ndarray:
    """Return the mean of a model's counts of cells and of noisy ones, by the inverse of their variances.

    A count m of the model's has the variance m / ``WORTH``; that of a noisy one is known.

    Parameters
    ----------
    fitted, noisy : of one shape
    noise : variance of each noisy count

    Returns
    -------
    of the same shape, at least 0
    """
    own = np.maximum(fitted, 0) / WORTH
    return np.maximum(fitted + own / (own + noise) * (noisy - fitted), 0)


def raked(table: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return a table scaled by rows and by columns in turn, until its sums are nearly these.

    Iterative proportional fitting (Deming and Stephan, 1940). Empty cells stay empty; a row or column without
    any other does too.

    Parameters
    ----------
    table : shape (a, b), not negative
    rows, columns : shapes (a,) and (b,), of the same sum
    """
    for _ in range(ROUNDS):
        for sums, axis in ((rows[:, None], 1), (columns, 0)):
            found = table.sum(axis=axis, keepdims=True)
            table = table * np.divide(sums, found, out=np.ones_like(found), where=found > 0)
    return table


def kept_of_noise(a: int, b: int) -> float:
    """Return f = (1 - 1/a)(1 - 1/b), the share of a table (a, b) that its row and column sums do not say."""
    return (1 - 1 / a) * (1 - 1 / b)


def spread_of(off: np.ndarray, expected: np.ndarray, noise: float, free: np.ndarray) -> float:
    """Return the variance of a pair's weights by moments, before any is fitted.

    A weight is about its cell's deviation over its expected count; what noise adds to the mean square is
    known and is taken off. Cells count by how surely they say something.

    Parameters
    ----------
    off : how far noisy counts, or interactions, are from the model's
    expected : of the same shape, counts of independent answers
    noise : variance of each
    free : bool, of the same shape, cells that may have records
    """
    noises = noise / expected**2
    squares, variance = off**2 / expected**2 - noises, 1.0
    for _ in range(ROUNDS):
        weight = free / (variance + noises) ** 2
        mean = float((weight * squares).sum() / max(weight.sum(), math.ulp(0.0)))
        variance = min(max(mean, LEAST**2), MOST**2)
    return variance
