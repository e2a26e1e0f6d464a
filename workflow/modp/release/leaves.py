"""Donors of records: others that answer alike, in the leaves of a tree.

A tree parts donors by all that is known of donor and recipient; what is not known of a recipient is taken
from one of the donors in its leaf, at random: hot deck imputation, as in Reiter (2005), "Using CART to
generate partially synthetic public use microdata", J. Off. Stat. 21, 441.
"""

from dataclasses import dataclass

import numpy as np

from modp.release.values import RARITY

LEAST = 2 * RARITY
"""Donors in a leaf at least. With half as many, tables were no better told from people held out or worse."""

MOST = 5_000
"""Donors that a tree is grown of: of more, so many at random."""


@dataclass(frozen=True)
class Leaves:
    """Which donors m recipients may have.

    donors : (n,) their numbers, leaf by leaf
    first, size : (m,) where the leaf of each recipient begins among these, and how many donors are in it
    """

    donors: np.ndarray
    first: np.ndarray
    size: np.ndarray

    def draw(self, recipients: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return a donor's number for each of these recipients (r,)."""
        chosen = np.floor(rng.random(len(recipients)) * self.size[recipients]).astype(np.int64)
        return self.donors[self.first[recipients] + chosen]


def grow(donors: np.ndarray, recipients: np.ndarray, answers: np.ndarray, rng: np.random.Generator) -> Leaves:
    """Return the leaves of a regression tree on the ranks of the donors' answers.

    Parameters
    ----------
    donors : (n, F), what is known of the donors
    recipients : (m, F), the same of recipients
    answers : (n,), the donors' places in an order
    """
    kept = np.arange(len(donors))
    if len(kept) > MOST:
        kept = np.sort(rng.choice(len(kept), MOST, replace=False))
    if len(kept) < 2 * LEAST or np.all(answers[kept] == answers[kept[0]]):
        none = np.zeros(len(recipients), np.int64)
        return Leaves(np.arange(len(donors)), none, none + len(donors))
    from sklearn.tree import DecisionTreeRegressor

    tree = DecisionTreeRegressor(min_samples_leaf=LEAST, random_state=int(rng.integers(2**31)))
    known = np.ascontiguousarray(donors[kept], np.float32)
    tree.fit(known, _ranks(answers[kept]), check_input=False)
    leaf = tree.apply(known, check_input=False)
    order = np.argsort(leaf, kind="stable")
    wanted = tree.apply(np.ascontiguousarray(recipients, np.float32), check_input=False)
    first, last = (np.searchsorted(leaf[order], wanted, side) for side in ("left", "right"))
    return Leaves(kept[order], first, last - first)


def _ranks(answers: np.ndarray) -> np.ndarray:
    """The mean rank of each answer among all, float64 (n,)."""
    _, which, counts = np.unique(answers, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - counts / 2)[which]
