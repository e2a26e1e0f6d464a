"""The prior of weights: what the noisy tables of some pairs of questions say of each other.

The weights of a measured pair are the sum of two parts. One is each cell's own, of Student's distribution, so
that single weights may be large. The other is of the whole table: normal, with the covariance s² S_q ⊗ S_r
(matrix normal; Dawid, 1981). S_q, of one row for each answer to question q, says which answers behave alike
towards other questions, as neighbouring ages do, and which behave in ways of their own; it is one for all
pairs of q, so that a cell that noise hides is known from its neighbours, and what these are, from other
pairs. That neighbours in the codebook's order are alike to some degree is what is expected before anything
is known.

S, s and the cells' own variances are learnt from the noisy answers, by EM with Laplace's approximation
(empirical Bayes), and cost nothing.
"""

import itertools
import math
from dataclasses import dataclass, field

import numpy as np

from modp.base.loops import compiled, in_threads
from modp.models.private.estimates import DEGREES, LEAST, MOST

NEIGHBOURS, REACH = 0.5, 2.0
"""Of an answer's variance, what its neighbours share before anything is learnt; after so many answers, 1/e of
that."""

KNOWN = 10.0
"""Columns of weights that this expectation counts for, against those of measured tables."""

SHARED = 0.7
"""Of a pair's variance, what is the whole table's before anything is learnt."""

MOST_FIRST, MOST_SHARED = 1.0, 2.0
"""Bounds of a pair's variance before anything is learnt, when noise may make it seem large, and of s²."""

MOST_CELLS = 200
"""Of larger tables every cell is for itself: the work goes as the third power of their number."""

STALE, TOLD = 1.5, 0.05
"""A factor by which an expected count may change until its table's equations are solved anew, if the count's
square is more than so much of its noise's variance."""

TINY = 1e-9


@dataclass
class _Pair:
    """A measured pair of questions.

    rows, columns : int64 (m,), of the free cells, those that may have records
    noise : variance of the answer
    shared : s²
    typical : square of the scale of the cells' own parts
    own : (m,), the variance that each has by itself
    alike : whether the whole table has a part
    at : (m,), expected counts for which ``factor``, upper triangular, is of the answers' covariance
    """

    first: int
    second: int
    rows: np.ndarray
    columns: np.ndarray
    noise: float
    shared: float
    typical: float
    own: np.ndarray
    alike: bool
    at: np.ndarray = field(default_factory=lambda: np.empty(0))
    factor: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))

    def stale(self, expected: np.ndarray) -> bool:
        """Whether the factor is not of such expected counts."""
        if not len(self.at):
            return True
        told = expected**2 > TOLD * self.noise
        return bool(np.abs(np.log(expected / self.at))[told].max(initial=0) > math.log(STALE))


class Likeness:
    """The prior of the weights of all measured pairs, and what it makes of them."""

    def __init__(self, block_starts: np.ndarray, shares: np.ndarray):
        """Begin without a measured pair.

        Parameters
        ----------
        block_starts : shape (Q + 1,)
        shares : shape (K,), of the records that give each answer, as far as known; over these, the shared
            part of a table of weights has means of 0, as single answers have weights of their own
        """
        self._blocks = [slice(int(a), int(b)) for a, b in itertools.pairwise(block_starts)]
        self._first = [_neighbours(shares[block] / shares[block].sum()) for block in self._blocks]
        self.alike = [matrix.copy() for matrix in self._first]
        self._pairs: list[_Pair] = []

    def add(self, first: int, second: int, free: np.ndarray, noise: float, variance: float) -> None:
        """Take up a measured pair.

        Parameters
        ----------
        free : bool (a, b), cells that may have records
        noise : variance of the noise in every direction of the table
        variance : of its weights, as far as its own answer says
        """
        rows, columns = (at.astype(np.int64) for at in np.nonzero(free))
        alike, variance = free.size <= MOST_CELLS, min(variance, MOST_FIRST)
        shared = SHARED * variance if alike else 0.0
        typical = variance - shared
        own = np.full(len(rows), typical)
        self._pairs.append(_Pair(first, second, rows, columns, noise, shared, typical, own, alike))

    def newton(
        self, weights: np.ndarray, expected: np.ndarray, away: np.ndarray, threads: int = 1
    ) -> np.ndarray:
        """Return Newton steps of the weights towards the top of their posterior, float64 (K, K), symmetric.

        They solve for all cells of a table together, for independent questions, at expected counts that may
        be a little old: where they end, the pull of the prior is that of the answers in any case.

        Parameters
        ----------
        weights : shape (K, K), less the prior's mean
        expected : shape (K, K), positive
        away : shape (K, K), by how much the answers are more than expected
        threads : without influence on the result
        """

        def step(pair: _Pair) -> np.ndarray:
            w, e, off = (self._of(pair, array) for array in (weights, expected, away))
            pull = e * off / pair.noise
            if not pair.alike:
                return (pull - w / pair.own) / (e**2 / pair.noise + 1 / pair.own)
            if pair.stale(e):
                self._solve(pair, e)
            full = pull + pair.at**2 / pair.noise * w
            return _held(*self._known(pair), pair.at, pair.factor, full) - w

        steps = np.zeros(weights.shape)
        for pair, found in zip(self._pairs, in_threads(step, self._pairs, threads), strict=True):
            rows, columns = self._places(pair)
            steps[rows, columns] = steps[columns, rows] = found
        return steps

    def learn(self, weights: np.ndarray, expected: np.ndarray, threads: int = 1) -> None:
        """Take a step of EM.

        Parameters
        ----------
        weights, expected, threads : as for :meth:`newton`
        """

        def moments(pair: _Pair) -> tuple[np.ndarray, np.ndarray, float, np.ndarray]:
            w, e = self._of(pair, weights), self._of(pair, expected)
            if not pair.alike:
                square = w**2 + pair.own * pair.noise / (pair.noise + e**2 * pair.own)
                return np.empty((0, 0)), np.empty((0, 0)), 0.0, square
            self._solve(pair, e)
            return _told(*self._known(pair), pair.at, pair.factor, w)

        found = in_threads(moments, self._pairs, threads)
        sums, columns = [KNOWN * matrix for matrix in self._first], [KNOWN] * len(self._first)
        for pair, (more_q, more_r, more, square) in zip(self._pairs, found, strict=True):
            if pair.alike:
                q, r = pair.first, pair.second
                free_q, free_r = len(self.alike[q]) - 1, len(self.alike[r]) - 1
                sums[q] += free_r * self.alike[q] + pair.shared * more_q
                sums[r] += free_q * self.alike[r] + pair.shared * more_r
                columns[q], columns[r] = columns[q] + free_r, columns[r] + free_q
                shared = pair.shared + pair.shared**2 * more / (free_q * free_r)
                pair.shared = min(max(shared, LEAST**2), MOST_SHARED)
            typical = (pair.typical / pair.own * square).sum() / max(len(square), 1)
            pair.typical = min(max(float(typical), LEAST**2), MOST**2)
            pair.own = (DEGREES * pair.typical + square) / (DEGREES + 1)
            pair.at = np.empty(0)
        for q, (total, number) in enumerate(zip(sums, columns, strict=True)):
            self.alike[q] = _scaled((total + total.T) / (2 * number))

    def _places(self, pair: _Pair) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of a crosstab, of a pair's free cells."""
        return pair.rows + self._blocks[pair.first].start, pair.columns + self._blocks[pair.second].start

    def _of(self, pair: _Pair, array: np.ndarray) -> np.ndarray:
        return array[self._places(pair)].astype(np.float64)

    def _known(self, pair: _Pair) -> tuple:
        """What the kernels know of a pair's prior."""
        one, other = self.alike[pair.first], self.alike[pair.second]
        return pair.rows, pair.columns, one, other, pair.shared, pair.own

    def _solve(self, pair: _Pair, expected: np.ndarray) -> None:
        """Factorise the covariance of a pair's answers anew."""
        pair.at = expected
        pair.factor = _factorised(*self._known(pair), expected, pair.noise)


def _neighbours(shares: np.ndarray) -> np.ndarray:
    """Return the covariance of a question's answers before anything is learnt, (a, a)."""
    places = np.arange(len(shares))
    near = np.exp(-np.abs(places[:, None] - places) / REACH)
    matrix = (1 - NEIGHBOURS) * np.eye(len(shares)) + NEIGHBOURS * near
    means = (matrix * shares).sum(axis=1)
    return _scaled(matrix - means[:, None] - means + (means * shares).sum())


def _scaled(matrix: np.ndarray) -> np.ndarray:
    """Return a covariance whose mean variance is 1."""
    return matrix * (len(matrix) / max(np.trace(matrix), TINY))


@compiled
def _factorised(rows, columns, one, other, shared, own, at, noise):
    """Return U, (m, m) upper triangular, of U'U = E P E + N: the covariance of answers about m cells.

    E has the expected counts ``at``, P is the prior's covariance of weights, and N the ``noise``'s.
    """
    size = len(rows)
    upper = np.zeros((size, size))
    for x in range(size):
        for y in range(x, size):
            upper[x, y] = at[x] * at[y] * shared * one[rows[x], rows[y]] * other[columns[x], columns[y]]
        upper[x, x] += at[x] ** 2 * own[x] + noise
    for k in range(size):
        upper[k, k:] /= math.sqrt(upper[k, k])
        for x in range(k + 1, size):
            part = upper[k, x]
            for y in range(x, size):
                upper[x, y] -= part * upper[k, y]
    return upper


@compiled
def _solved(upper, right):
    """Return x, (m,), of U'U x = ``right``."""
    size = len(right)
    found = right.copy()
    for k in range(size):
        found[k] /= upper[k, k]
        for x in range(k + 1, size):
            found[x] -= found[k] * upper[k, x]
    for k in range(size - 1, -1, -1):
        for x in range(k + 1, size):
            found[k] -= upper[k, x] * found[x]
        found[k] /= upper[k, k]
    return found


@compiled
def _inverse(upper):
    """Return the inverse of U'U, (m, m)."""
    size = len(upper)
    lower, found = np.eye(size), np.zeros((size, size))
    for k in range(size):
        for y in range(k + 1):
            lower[k, y] /= upper[k, k]
        for x in range(k + 1, size):
            part = upper[k, x]
            for y in range(k + 1):
                lower[x, y] -= part * lower[k, y]
    for k in range(size):
        for x in range(k + 1):
            part = lower[k, x]
            for y in range(k + 1):
                found[x, y] += part * lower[k, y]
    return found


@compiled
def _product(one, other):
    """Return the matrix product, in one order of sums whatever the number of threads."""
    found = np.zeros((len(one), other.shape[1]))
    for i in range(len(one)):
        for j in range(len(other)):
            part = one[i, j]
            for k in range(other.shape[1]):
                found[i, k] += part * other[j, k]
    return found


@compiled
def _table(rows, columns, one, other, values):
    """Return values of cells as a table (a, b), 0 elsewhere."""
    table = np.zeros((len(one), len(other)))
    for x in range(len(rows)):
        table[rows[x], columns[x]] = values[x]
    return table


@compiled
def _times(rows, columns, one, other, shared, own, values):
    """Return the prior's covariance P, of m cells, times their values (m,)."""
    table = _product(_product(one, _table(rows, columns, one, other, values)), other)
    found = own * values
    for x in range(len(rows)):
        found[x] += shared * table[rows[x], columns[x]]
    return found


@compiled
def _held(rows, columns, one, other, shared, own, at, upper, pulls):
    """Return the posterior's covariance of m weights times the pulls at them: P - P E (E P E + N)^-1 E P."""
    free = _times(rows, columns, one, other, shared, own, pulls)
    back = at * _solved(upper, at * free)
    return free - _times(rows, columns, one, other, shared, own, back)


@compiled
def _told(rows, columns, one, other, shared, own, at, upper, weights):
    """Return what a table's weights say of its prior, over what the prior itself says.

    With z = P^-1 w, as a table Z, and G = E (E P E + N)^-1 E the shared part has the posterior mean
    s² S Z R, and loses s⁴ (S ⊗ R) G (S ⊗ R) of its covariance; of both R^-1 leaves the following.

    Returns
    -------
    by_one, by_other : (a, a), (b, b), S (Z R Z' - G : R) S, and the same the other way round
    both : the trace of (Z R Z' - G : R) S
    square : (m,), mean square of the cells' own parts
    """
    pulled = _solved(_factorised(rows, columns, one, other, shared, own, np.ones(len(at)), 0.0), weights)
    inverse = _inverse(upper)
    table = _table(rows, columns, one, other, pulled)
    by_one = _product(_product(table, other), table.T)
    by_other = _product(_product(table.T, one), table)
    square = np.empty(len(at))
    for x in range(len(at)):
        for y in range(len(at)):
            part = at[x] * at[y] * inverse[x, y]
            by_one[rows[x], rows[y]] -= part * other[columns[x], columns[y]]
            by_other[columns[x], columns[y]] -= part * one[rows[x], rows[y]]
        square[x] = (own[x] * pulled[x]) ** 2 + own[x] - (own[x] * at[x]) ** 2 * inverse[x, x]
    both = (by_one * one).sum()
    by_one = _product(_product(one, by_one), one)
    by_other = _product(_product(other, by_other), other)
    return by_one, by_other, both, square
