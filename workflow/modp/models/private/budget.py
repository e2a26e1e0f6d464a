"""Differential privacy: how much a budget is, and the one gate through which true records are seen.

Two tables are neighbours if one has one record more than the other. Privacy is counted as zero-
concentrated differential privacy (zCDP; Bun and Steinke, 2016), whose ρ of several answers add up, also
where a question depends on earlier answers. OpenDP translates ρ to (ε, δ).

Counts are whole numbers and so is their noise (the discrete Gaussian of Canonne, Kamath and Steinke,
2020): no low-order bits of floating-point numbers can give a count away. The noise is drawn from a table of
probabilities in double precision with uniform numbers of 53 bits, which is off by less than 1e-12 in
total variation a draw, 1e-7 over a hundred thousand cells of counts: small beside a δ of 1e-5, but not zero.
Who knows the generator's seed can take the noise away.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import opendp.prelude as opendp

from modp.base.errors import InputError

TAIL = 10.0
"""Standard deviations beyond which noise is not drawn: a probability of 2e-23."""

ROUNDED_UP = 1 + 2.0**-40
"""Noise is made so much wider, so that rounding never makes it narrower than paid for."""


def epsilon_of(rho: float, delta: float) -> float:
    """Return the ε for which ρ-zCDP implies (ε, δ)-differential privacy.

    The tight conversion of Canonne, Kamath and Steinke (2020, Corollary 13), from OpenDP.
    """
    space = opendp.vector_domain(opendp.atom_domain(T=int)), opendp.l2_distance(T=float)
    with _Contributed():
        measured = opendp.m.make_gaussian(*space, scale=math.sqrt(1 / (2 * rho)))
        return opendp.c.make_zCDP_to_approxDP(measured).map(1.0).epsilon(delta)


class _Contributed:
    """Allows OpenDP's contributed components for a moment."""

    def __enter__(self) -> None:
        opendp.enable_features("contrib")

    def __exit__(self, *_: object) -> None:
        opendp.disable_features("contrib")


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


def discrete_gaussian(sigma: float, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Draw whole numbers with probability ∝ exp(-x²/2σ²): int64 of the given shape."""
    reach = math.ceil(TAIL * sigma) + 1
    support = np.arange(-reach, reach + 1)
    cumulative = np.cumsum(np.exp(-(support**2) / (2 * sigma**2)))
    at = np.searchsorted(cumulative, rng.random(shape) * cumulative[-1], side="right")
    return support[np.minimum(at, len(support) - 1)]


@dataclass(frozen=True)
class Spent:
    """One line of a gate's ledger: what was asked, and what was paid for it."""

    asked: str
    rho: Fraction


class Gate:
    """Holds the crosstab of the true records, and answers questions about it while the budget lasts.

    Nothing else may see true records. Every answer carries noise and is paid for; ``ledger`` lists what
    was paid, and ``left`` says what can still be. Payments are fractions, so that they add up exactly.
    """

    def __init__(
        self, counts: np.ndarray, block_starts: np.ndarray, rho: float | Fraction, rng: np.random.Generator
    ):
        """Close the gate around a crosstab.

        Parameters
        ----------
        counts : int64 (K, K), the true records' crosstab
        block_starts : shape (Q + 1,)
        rho : the whole budget, in zCDP
        rng : of all noise; secret, if the noise is to hide anything
        """
        self._counts, self._rng = np.array(counts, np.int64), rng
        self._blocks = [slice(int(a), int(b)) for a, b in itertools.pairwise(block_starts)]
        self.rho = self.left = Fraction(rho)
        self.ledger: list[Spent] = []

    def margins(self, rho: Fraction) -> tuple[np.ndarray, float]:
        """Count every question's answers.

        One record is in one cell of each of Q tables: an L2 sensitivity of √Q.

        Returns
        -------
        counts : int64 (K,), with noise, so they may be negative
        sigma : standard deviation of the noise in each
        """
        sigma = self._pay("all one-way tables", rho, math.sqrt(len(self._blocks)))
        return np.diag(self._counts) + discrete_gaussian(sigma, (len(self._counts),), self._rng), sigma

    def pair(self, first: int, second: int, rho: Fraction) -> tuple[np.ndarray, float]:
        """Count the pairs of answers to two questions, in one of whose cells a record is.

        Returns
        -------
        counts : int64, a row for each category of ``first``, with noise
        sigma : standard deviation of the noise in each
        """
        sigma = self._pay(f"pair {first}, {second}", rho, 1.0)
        table = self._counts[self._blocks[first], self._blocks[second]]
        return table + discrete_gaussian(sigma, table.shape, self._rng), sigma

    def worst(
        self, expected: np.ndarray, pairs: Sequence[tuple[int, int]], handicaps: np.ndarray, rho: Fraction
    ) -> int:
        """Choose a pair of questions whose table is far from what is expected.

        The exponential mechanism (McSherry and Talwar, 2007) by Gumbel noise, with the sum of absolute
        deviations less a handicap as the score, which one record changes by at most one. With its ε it
        is ε²/8-zCDP (Cesar and Rogers, 2021).

        Parameters
        ----------
        expected : shape (K, K), expected counts; must come from earlier answers alone
        handicaps : shape (len(pairs),), likewise

        Returns
        -------
        index into ``pairs``
        """
        self._pay("choice of a pair", rho, 1.0)
        scale = 2 / math.sqrt(8 * float(rho)) * ROUNDED_UP
        away = np.abs(self._counts - expected)
        scores = np.array([away[self._blocks[q], self._blocks[r]].sum() for q, r in pairs]) - handicaps
        return int(np.argmax(scores + scale * self._rng.gumbel(size=len(scores))))

    def _pay(self, asked: str, rho: Fraction, sensitivity: float) -> float:
        """Take ρ from the budget; return the σ of Gaussian noise that it buys."""
        if rho <= 0:
            raise ValueError("an answer costs something")
        if rho > self.left:
            raise InputError(
                f"the privacy budget is spent: {asked} costs rho = {float(rho):.3g}, "
                f"and {float(self.left):.3g} of {float(self.rho):.3g} is left"
            )
        self.left -= rho
        self.ledger.append(Spent(asked, rho))
        return sensitivity / math.sqrt(2 * float(rho)) * ROUNDED_UP
