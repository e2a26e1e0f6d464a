"""Differential privacy: how much a budget is, and the one gate through which true records are seen.

Two tables are neighbours if one has one record more than the other, or the records of one household, of
which there is a bound. Privacy is counted as Gaussian differential privacy (GDP; Dong, Roth and Su, 2022):
what is μ-GDP hides who is there at least as well as a number does that has normal noise of variance 1 and
moves by μ. Of several answers μ² adds up, also where a question, and what is paid for its answer, depend on
earlier answers (Smith and Thakurta, 2022, Theorem 1; Koskela, Tobaben and Honkela, 2023). Prices are told as
ρ = μ²/2, which for Gaussian noise is the ρ of zero-concentrated differential privacy.

The noise is discrete, and so fine that it is as good as a rounded normal number, whose rounding hides no
less. That of σ is a whole number k within 40 σ with a probability of which that of rounding a normal number
to k is e^η times as much, η between -(1/24)/σ² and (40²/24)/σ²: that is the mean of exp(-ku/σ² - u²/2σ²) over
u uniform within 1/2 of 0. Beyond, both have less than e^-799. Of an answer with c cells, after others with C
cells, σ is at least 4 (``CELLS`` + C + c), so that all η of a gate, however many cells its answers have, add
up to at most (40²/24) Σ c / 16 (CELLS + C + c)² < (40²/24) / 16 CELLS < ``CLOSE``: where rounded normal noise
is (ε - 2 CLOSE, δ (1 - 2 CLOSE))-differentially private, this noise is (ε, δ)-differentially private.

What is measured, and where noise comes from, are in :class:`Gate` and :mod:`modp.models.private.noise`.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from modp.base.errors import InputError
from modp.models.private.noise import Noise
from modp.models.private.recipe import LEAST_DELTA, LEAST_EPSILON, MOST_EPSILON

ROUNDED_UP = 1 + 2.0**-40
"""Noise is made so much wider, so that rounding never makes it narrower than paid for."""

CELLS = 1 << 22
CLOSE = 1e-6
"""All noise of a gate differs from rounded normal noise by e^CLOSE: the finer, the more cells it is for."""

LARGEST = 2.0**62
"""Whole numbers below it, with their noise, are held without overflow."""

MOST_RECORDS = 1 << 31
"""Counts above it are cut off too, so that what is computed of tables is held without overflow."""

FINE = 1024
"""Scores by which a pair is chosen are whole numbers of so many parts of a record."""


def delta_of(rho: float, epsilon: float) -> float:
    """Return the least δ for which (ε, δ)-differential privacy follows from μ-GDP, μ² = 2 ρ.

    Balle and Wang (2018), Theorem 8; Dong, Roth and Su (2022), Corollary 1.
    """
    mu = math.sqrt(2 * rho)
    return _above(epsilon / mu - mu / 2) - math.exp(epsilon) * _above(epsilon / mu + mu / 2)


def rho_of(epsilon: float, delta: float) -> float:
    """Return the largest ρ (rounded down) with which answers are (ε, δ)-private.

    Raises
    ------
    ValueError
        if ε or δ is not one of a budget's: beyond its bounds the numbers here are not exact
    """
    if not (LEAST_EPSILON <= epsilon <= MOST_EPSILON and LEAST_DELTA <= delta < 1):
        raise ValueError(f"no budget has epsilon {epsilon} and delta {delta}")
    low, high = 0.0, epsilon
    while delta_of(high, epsilon) <= delta:
        high *= 2
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        # One CLOSE more, for what floating-point numbers round.
        good = delta_of(middle, epsilon - 2 * CLOSE) <= delta * (1 - 3 * CLOSE)
        low, high = (middle, high) if good else (low, middle)
    return low


def range_of(rho: float) -> float:
    """Return the ε of the exponential mechanism that costs ρ.

    Whatever it chooses among, the log likelihood ratios of its choices lie within some [t - ε, t] (Dong,
    Durfee and Rogers, 2020), and of all distributions with such ratios that of two values, t and t - ε, can
    be told apart best. These are told apart no better than normal numbers that are μ apart if that holds for
    t = ε/2, the hardest: μ is twice the normal quantile of 1 / (1 + exp(-ε/2)).
    """
    away = math.erf(math.sqrt(rho) / 2)  # the quantile's probability of μ / 2, less that of its negative
    # The latter, of zero-concentrated differential privacy, is less only for a ρ above 10.
    return min(4 * math.atanh(away) if away < 1 else math.inf, math.sqrt(8 * rho))


def _above(x: float) -> float:
    """The probability that a standard normal number is above x."""
    return math.erfc(x / math.sqrt(2)) / 2


def interaction(table: np.ndarray) -> np.ndarray:
    """Return a table (a, b) without what its row and column sums say: its rows and columns sum to 0."""
    return table - table.mean(axis=1, keepdims=True) - table.mean(axis=0) + table.mean()


@dataclass(frozen=True)
class Spent:
    """One line of a gate's ledger: what was asked, and what was paid for it."""

    asked: str
    rho: Fraction


class Account:
    """A budget, and what is paid of it for answers with noise.

    ``ledger`` lists what was paid, and ``left`` says what can still be. Payments are fractions, so that they
    add up exactly.
    """

    def __init__(self, rho: float | Fraction, noise: Noise):
        """Open an account of ρ."""
        self._noise = noise
        self.rho = self.left = Fraction(rho)
        self.ledger: list[Spent] = []
        self._cells = 0

    def _measured(
        self, asked: str, counts: np.ndarray, squared: int, rho: Fraction
    ) -> tuple[np.ndarray, float]:
        """Return counts, float64, with the noise that ρ buys, and its σ.

        ``squared`` is their squared sensitivity. Noise of μ σ = sensitivity, in L2, is μ-GDP.
        """
        self._pay(asked, rho)
        self._cells += counts.size
        sensitivity = math.nextafter(math.sqrt(squared), math.inf)
        sigma = sensitivity / math.sqrt(2 * float(rho)) * ROUNDED_UP
        times = 2 ** max(0, math.ceil(math.log2(4 * (CELLS + self._cells) / sigma)))
        # Larger counts, which nobody has, are cut off, one by one, which brings neighbours no farther apart:
        # no message may tell of them.
        most = max(0, int(LARGEST / times - 100 * sigma))
        cut = times * np.clip(counts, -most, most)
        noisy = self._noise.gaussian(cut, times * sigma, times * sensitivity, rho)
        return noisy / times, sigma

    def _highest(self, asked: str, scores: np.ndarray, sensitivity: int, rho: Fraction) -> int:
        """Return which score is the highest with the Gumbel noise that ρ buys.

        The exponential mechanism (McSherry and Talwar, 2007), exact as scores are whole numbers.

        Parameters
        ----------
        sensitivity : by how much any score of neighbours differs at most
        """
        self._pay(asked, rho)
        scale = 2 * sensitivity / range_of(float(rho)) * ROUNDED_UP
        return self._noise.highest(scores, scale, sensitivity, rho)

    def _pay(self, asked: str, rho: Fraction) -> None:
        """Take ρ from the budget."""
        if rho <= 0:
            raise ValueError("an answer costs something")
        if rho > self.left:
            raise InputError(
                f"the privacy budget is spent: {asked} costs rho = {float(rho):.3g}, "
                f"and {float(self.left):.3g} of {float(self.rho):.3g} is left"
            )
        self.left -= rho
        self.ledger.append(Spent(asked, rho))


class Gate(Account):
    """Holds the crosstab of the true records, and answers questions about it while the budget lasts.

    Nothing else may see true records. Every answer carries noise and is paid for.

    What is said below of one record holds of ``most`` of them as many times over: changes of counts add up,
    and at worst, where all give the same answers, in one direction.
    """

    def __init__(
        self,
        counts: np.ndarray,
        block_starts: np.ndarray,
        rho: float | Fraction,
        noise: Noise,
        most: int = 1,
    ):
        """Close the gate around a crosstab.

        Parameters
        ----------
        counts : int64 (K, K), the true records' crosstab
        block_starts : shape (Q + 1,)
        rho : the whole budget
        noise : of all answers; secret, if it is to hide anything
        most : records by which neighbours differ: one, or as many as are taken of a household
        """
        super().__init__(rho, noise)
        self._counts, self.most = np.minimum(counts, MOST_RECORDS, dtype=np.int64), most
        self._blocks = [slice(int(a), int(b)) for a, b in itertools.pairwise(block_starts)]

    def margins(self, rho: Fraction) -> tuple[np.ndarray, np.ndarray]:
        """Count every question's answers.

        One record is in one cell of each table: an L2 sensitivity of 1. Each is paid for in proportion to its
        categories: the more there are, the rarer they are, and the more cells of other tables hang on them.

        Returns
        -------
        counts : float64 (K,), with noise, so they may be negative
        sigmas : float64 (K,), standard deviation of the noise in each
        """
        true = np.diag(self._counts)
        counts, sigmas = np.empty(len(true)), np.empty(len(true))
        for q, block in enumerate(self._blocks):
            share = rho * Fraction(block.stop - block.start, len(counts))
            asked = f"one-way table {q}"
            counts[block], sigmas[block] = self._measured(asked, true[block], self.most**2, share)
        return counts, sigmas

    def pair(self, first: int, second: int, rho: Fraction) -> tuple[np.ndarray, float]:
        """Measure the interaction of two questions: their pair table less what its row and column sums say.

        Of a table T of shape (a, b) it is measured a b times: a b T less a times the row sums, less b times
        the column sums, plus the total. These are whole numbers. One record, in cell (i, j), changes
        them by (a [i = k] - 1)(b [j = l] - 1) in cell (k, l), a vector of squared length a (a - 1) b (b - 1)
        whatever the cell. Dividing by a b, and taking out of the
        noise what it has in the sums, where the answer is known to be 0, is post-processing. T itself has
        a sensitivity of 1, its interaction of √f, f = (1 - 1/a)(1 - 1/b): for the same price its noise has f
        times the variance (residual queries, as in ResidualPlanner, arXiv 2305.08175).

        Returns
        -------
        interaction : float64 (a, b), whose rows and columns sum to 0
        sigma : standard deviation of the noise in every direction of such tables; √f σ in a cell
        """
        table = self._counts[self._blocks[first], self._blocks[second]]
        a, b = table.shape
        if min(a, b) < 2:
            raise ValueError("a question with one category has no interactions")
        whole = a * b * table - a * table.sum(axis=1, keepdims=True) - b * table.sum(axis=0) + table.sum()
        squared = a * (a - 1) * b * (b - 1)
        noisy, sigma = self._measured(f"pair {first}, {second}", whole, squared * self.most**2, rho)
        return interaction(noisy / (a * b)), sigma / (a * b)

    def worst(
        self, expected: np.ndarray, pairs: Sequence[tuple[int, int]], handicaps: np.ndarray, rho: Fraction
    ) -> int:
        """Choose a pair of questions whose table is far from what is expected.

        The score is the sum of absolute deviations less a handicap, which one record changes by at most one:
        it is in one cell. Scores are whole numbers, 1,024 to a record.

        Parameters
        ----------
        expected : shape (K, K), expected counts; must come from earlier answers alone
        handicaps : shape (len(pairs),), likewise

        Returns
        -------
        index into ``pairs``
        """
        away = np.abs(FINE * self._counts - np.rint(FINE * expected).astype(np.int64))
        scores = np.array([away[self._blocks[q], self._blocks[r]].sum() for q, r in pairs])
        scores -= np.rint(FINE * handicaps).astype(np.int64)
        return self._highest("choice of a pair", scores, FINE * self.most, rho)
