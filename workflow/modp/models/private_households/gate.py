"""The one gate through which true households are seen.

Two data sets are neighbours if one has one whole household more than the other, with all its members, at most
``most`` of them. The gate holds the counts of :func:`modp.crosstabs.members.shares`, to which a household
adds whole numbers of at least 0 whose sum in one table is ``Table.most`` times ``UNIT`` at most: so much do
neighbours differ in L1, and no more in L2, which is at most L1.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from modp.base.errors import InputError
from modp.crosstabs.members import UNIT, Parts, shares
from modp.models.private.budget import Account
from modp.models.private.noise import Noise
from modp.models.private_households.tables import Table, compositions
from modp.survey.households import Households

TWICE = 2
"""Scores by which a table is chosen are brought to what a household adds to the widest ones."""


class HouseholdGate(Account):
    """Holds what is counted of true households, and answers questions about it while the budget lasts.

    Nothing else may see true households. Every answer carries noise and is paid for.
    """

    def __init__(
        self,
        true: Households,
        agreeing: np.ndarray,
        most: int,
        rho: float | Fraction,
        noise: Noise,
        threads: int = 1,
    ):
        """Count true households and close the gate around the counts.

        Parameters
        ----------
        agreeing : as :func:`modp.crosstabs.members.counts` takes it
        most : public: persons of the largest household that there may be
        rho : the whole budget
        noise : of all answers; secret, if it is to hide anything

        Raises
        ------
        InputError
            if a household is larger
        """
        super().__init__(rho, noise)
        if int(true.sizes.max(initial=0)) > most:
            raise InputError(
                f"there are households of more than {most} persons, which the guarantee does not know: "
                "say 'most' in the dataset YAML, and the same of the model in params.yaml"
            )
        self._shares = shares(true, agreeing, most, threads)
        numbers, kinds = true.numbers, compositions(most)
        self._compositions = np.array([(numbers == kind).all(axis=1).sum() for kind in kinds], np.int64)

    def compositions(self, rho: Fraction) -> tuple[np.ndarray, float]:
        """Count the households of each composition of :func:`compositions`: a household is in one cell.

        Returns
        -------
        counts : float64 (C,), with noise, so they may be negative
        sigma : standard deviation of the noise in each
        """
        return self._measured("compositions", self._compositions, 1, rho)

    def table(self, table: Table, rho: Fraction) -> tuple[np.ndarray, float]:
        """Measure a table.

        Returns
        -------
        counts : float64, of the shape of ``table.cells``, in households, with noise
        sigma : standard deviation of the noise in each
        """
        counts = getattr(self._shares, table.part).ravel()[table.cells]
        noisy, sigma = self._measured(table.name, counts, (table.most * UNIT) ** 2, rho)
        return noisy / UNIT, sigma / UNIT

    def worst(self, expected: Parts, tables: Sequence[Table], handicaps: np.ndarray, rho: Fraction) -> int:
        """Choose a table that is far from what is expected.

        The score is the sum of absolute deviations less a handicap, over ``Table.most``: a household changes
        it by at most one.

        Parameters
        ----------
        expected : counts in households; must come from earlier answers alone
        handicaps : float64 (len(tables),), in households, likewise

        Returns
        -------
        index into ``tables``
        """
        scores = np.empty(len(tables), np.int64)
        for k, table in enumerate(tables):
            counts = getattr(self._shares, table.part).ravel()[table.cells]
            thought = np.rint(UNIT * getattr(expected, table.part).ravel()[table.cells]).astype(np.int64)
            handicap = round(UNIT * float(handicaps[k]))
            scores[k] = (np.abs(counts - thought).sum() - handicap) * (TWICE // table.most)
        return self._highest("choice of a table", scores, TWICE * UNIT, rho)
