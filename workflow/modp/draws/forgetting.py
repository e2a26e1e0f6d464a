"""How far chains have left the records that they began at."""

import numpy as np

from modp.crosstabs.agreements import at_least

NEAREST = 10
"""A record is remembered if it is among so many that are nearest to its chain."""

CHAINS = 2_000
"""Chains of which it is found out."""

TIMES_CHANCE = 2.0
"""A share of so many times chance is as good as chance."""


def remembered(start: np.ndarray, now: np.ndarray, rows: np.ndarray, true: np.ndarray) -> float:
    """Return the share of chains that are among the nearest to the record that they began at.

    Parameters
    ----------
    start, now : codes (m, Q) of the records that chains began at, and of the chains
    rows : the chains asked for
    true : codes (n, Q) of all records
    """
    own = (start[rows] == now[rows]).sum(axis=1)
    near = at_least(true, now[rows], own) <= NEAREST
    return int(near.sum()) / max(len(rows), 1)


def chance(n: int, asked: int) -> float:
    """Return the share up to which chains of ``n`` records, of which so many are asked, have forgotten.

    It is some times chance and two standard errors above it.
    """
    share = min(TIMES_CHANCE * NEAREST / max(n, 1), 1.0)
    return share + 2 * np.sqrt(share * (1 - share) / max(asked, 1))
