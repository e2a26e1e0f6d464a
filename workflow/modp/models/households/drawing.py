"""Synthetic households, drawn by sweeps from the true ones."""

import numpy as np

from modp.base import seeds
from modp.models.family import Work
from modp.models.households.model import HouseholdWeights
from modp.models.households.recipe import HouseholdsRow
from modp.survey.households import Households


def draw(
    model: HouseholdWeights, true: Households, row: HouseholdsRow, work: Work
) -> tuple[Households, np.ndarray]:
    """Sweep from the true households, or from a resample of them.

    Returns
    -------
    households
    record : int64 (m,), the row of the true household at which each one began
    """
    record = np.arange(len(true))
    if row.composition == "resampled":
        record = resampled(true, row.rare, seeds.generator(work.seed, "compositions", work.name))
    chains, seed = true[record], seeds.integer(work.seed, "sweep", work.name)
    for number in range(row.sweeps):
        chains, _changed = model.step(chains, seed, number, work.threads)
    return chains, record


def resampled(true: Households, rare: int, rng: np.random.Generator) -> np.ndarray:
    """Choose where chains begin so that compositions are a resample's, none of them rare: rows (M,).

    A household of a composition that fewer than ``rare`` true households have is replaced by one of the most
    similar composition, by the number of members that would have to come or go, that is not rare.

    Parameters
    ----------
    rng : draws the resample, and the true household at which each chain of a rare composition begins
    """
    kinds, kind, often = np.unique(true.numbers, axis=0, return_inverse=True, return_counts=True)
    common = np.flatnonzero(often >= min(rare, often.max()))
    apart = np.abs(kinds[:, None, :] - kinds[common]).sum(axis=2)
    instead = common[np.argmin(apart, axis=1)]
    rows = np.sort(rng.integers(len(true), size=len(true)))
    wanted = instead[kind.ravel()[rows]]
    for odd in np.unique(wanted[wanted != kind.ravel()[rows]]):
        mine = (wanted == odd) & (kind.ravel()[rows] != odd)
        rows[mine] = rng.choice(np.flatnonzero(kind.ravel() == odd), int(mine.sum()))
    return rows
