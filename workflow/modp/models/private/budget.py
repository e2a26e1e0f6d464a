"""Differential privacy: how much a budget is, and the one gate through which true records are seen.

Two tables are neighbours if one has one record more than the other, or the records of one household, of
which there is a bound. Privacy is counted as zero-concentrated differential privacy (zCDP; Bun and Steinke,
2016), whose ρ of several answers add up, also where a question depends on earlier answers. OpenDP translates
ρ to (ε, δ).

What is measured, and where noise comes from, are in :class:`Gate` and :mod:`modp.models.private.noise`.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from opendp.combinators import make_zCDP_to_approxDP
from opendp.domains import atom_domain, vector_domain
from opendp.measurements import make_gaussian
from opendp.metrics import l2_distance

from modp.base.errors import InputError
from modp.models.private.noise import Noise, contributed

ROUNDED_UP = 1 + 2.0**-40
"""Noise is made so much wider, so that rounding never makes it narrower than paid for."""

FINE = 1024
"""Scores by which a pair is chosen are whole numbers of so many parts of a record."""


def epsilon_of(rho: float, delta: float) -> float:
    """Return the ε for which ρ-zCDP implies (ε, δ)-differential privacy.

    The tight conversion of Canonne, Kamath and Steinke (2020, Corollary 13), from OpenDP.
    """
    space = vector_domain(atom_domain(T=int)), l2_distance(T=float)
    with contributed():
        measured = make_gaussian(*space, scale=math.sqrt(1 / (2 * rho)))
        return make_zCDP_to_approxDP(measured).map(1.0).epsilon(delta)


def rho_of(epsilon: float, delta: float) -> float:
    """Return the largest ρ (to twelve digits, rounded down) whose zCDP implies (ε, δ).

    Raises
    ------
    ValueError
        if ε or δ is not positive, or δ is not below one
    """
    if not (epsilon > 0 and 0 < delta < 1):
        raise ValueError(f"no budget has epsilon {epsilon} and delta {delta}")
    low, high = 0.0, epsilon  # ρ-zCDP never implies less than ε = ρ for the small δ of use
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if epsilon_of(middle, delta) <= epsilon else (low, middle)
    return low


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
        """Open an account of ρ, in zCDP."""
        self._noise = noise
        self.rho = self.left = Fraction(rho)
        self.ledger: list[Spent] = []

    def _measured(
        self, asked: str, counts: np.ndarray, squared: int, rho: Fraction
    ) -> tuple[np.ndarray, float]:
        """Return counts with the noise that ρ buys, and its σ; ``squared`` is their squared sensitivity."""
        self._pay(asked, rho)
        sensitivity = math.nextafter(math.sqrt(squared), math.inf)
        sigma = sensitivity / math.sqrt(2 * float(rho)) * ROUNDED_UP
        return self._noise.gaussian(counts, sigma, sensitivity, rho), sigma

    def _highest(self, asked: str, scores: np.ndarray, sensitivity: int, rho: Fraction) -> int:
        """Return which score is the highest with the Gumbel noise that ρ buys.

        The exponential mechanism (McSherry and Talwar, 2007), exact as scores are whole numbers. With its ε
        it is ε²/8-zCDP (Cesar and Rogers, 2021).

        Parameters
        ----------
        sensitivity : by how much any score of neighbours differs at most
        """
        self._pay(asked, rho)
        scale = 2 * sensitivity / math.sqrt(8 * float(rho)) * ROUNDED_UP
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
        rho : the whole budget, in zCDP
        noise : of all answers; secret, if it is to hide anything
        most : records by which neighbours differ: one, or as many as are taken of a household
        """
        super().__init__(rho, noise)
        self._counts, self.most = np.array(counts, np.int64), most
        self._blocks = [slice(int(a), int(b)) for a, b in itertools.pairwise(block_starts)]

    def margins(self, rho: Fraction) -> tuple[np.ndarray, np.ndarray]:
        """Count every question's answers.

        One record is in one cell of each table: an L2 sensitivity of 1. Each is paid for in proportion to its
        categories: the more there are, the rarer they are, and the more cells of other tables hang on them.

        Returns
        -------
        counts : int64 (K,), with noise, so they may be negative
        sigmas : float64 (K,), standard deviation of the noise in each
        """
        counts, sigmas = np.diag(self._counts).copy(), np.empty(len(self._counts))
        for q, block in enumerate(self._blocks):
            share = rho * Fraction(block.stop - block.start, len(counts))
            asked = f"one-way table {q}"
            counts[block], sigmas[block] = self._measured(asked, counts[block], self.most**2, share)
        return counts, sigmas

    def pair(self, first: int, second: int, rho: Fraction) -> tuple[np.ndarray, float]:
        """Measure the interaction of two questions: their pair table less what its row and column sums say.

        Of a table T of shape (a, b) it is measured a b times: a b T less a times the row sums, less b times
        the column sums, plus the total. These are whole numbers. One record, in cell (i, j), changes
        them by (a [i = k] - 1)(b [j = l] - 1) in cell (k, l), a vector of squared length a (a - 1) b (b - 1)
        whatever the cell; and discrete Gaussian noise on whole numbers of a known L2 sensitivity is
        zCDP (Canonne, Kamath and Steinke, 2020, Theorem 14). Dividing by a b, and taking out of the
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
