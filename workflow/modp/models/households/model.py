"""The model of whole households: answers of persons who belong together, and of their household.

:mod:`modp.draws.households` has the distribution's equation.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from modp.base import seeds
from modp.crosstabs.members import Parts
from modp.draws import households as draws
from modp.draws.exchange import Links
from modp.draws.households import Laid
from modp.survey.households import Households


@dataclass(frozen=True)
class HouseholdWeights:
    """A model.

    weights : finite
    excluded : bool, the structural zeros
    block_starts, home_block_starts : of the questions of persons and of households
    agreeing : int64 (Q,), as in :func:`modp.crosstabs.members.counts`
    strength : float64 (Q + G, Q + G), how strongly questions are linked in the true households
    exchanges : rounds of exchanges after each sweep
    """

    weights: Parts
    excluded: Parts
    block_starts: np.ndarray
    home_block_starts: np.ndarray
    agreeing: np.ndarray
    strength: np.ndarray
    exchanges: int

    @cached_property
    def laid(self) -> Laid:
        """The weights as kernels take them."""
        pairs = zip(self.weights, self.excluded, strict=True)
        weights = Parts(*(np.where(no, -np.inf, w) for w, no in pairs))
        return Laid.of(weights, self.agreeing, self.block_starts, self.home_block_starts)

    @property
    def most(self) -> int:
        """Persons of the largest household."""
        return self.weights.agree.shape[1] - 1

    def step(self, households: Households, seed: int, number: int, threads: int) -> tuple[Households, int]:
        """Sweep once and exchange; return households, and the number of answers that the sweep changed."""
        swept, changed = draws.sweep(households, self.laid, seed, number, threads)
        if self.exchanges:
            rng = seeds.generator(seed, "exchange", str(number))
            swept, _ = draws.exchange(swept, self.laid, Links(self.strength), self.exchanges, rng, threads)
        return swept, changed
