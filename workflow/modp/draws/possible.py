"""Whether there is a record without a structural zero that has given answers, and what stands against it."""

import itertools
from collections.abc import Sequence

import numpy as np

from modp.base.errors import InputError

MOST_NODES = 10_000
"""Answers that a search tries before it gives up."""


def allowing(given: np.ndarray, block_starts: np.ndarray) -> np.ndarray:
    """Return the categories that a record may have: bool (K,).

    Parameters
    ----------
    given : int (Q,), its answers, below 0 where a question is open
    block_starts : (Q + 1,)
    """
    allowed = np.ones(block_starts[-1], bool)
    for q in np.flatnonzero(given >= 0):
        allowed[block_starts[q] : block_starts[q + 1]] = False
        allowed[block_starts[q] + given[q]] = True
    return allowed


def without(excluded: np.ndarray, block_starts: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Return structural zeros with which a category that is not allowed is never drawn.

    Such a category becomes a structural zero with every answer to every other question. A record without it
    never gets it, in sweeps, exchanges or fresh draws, and among records of allowed answers the
    distribution is the model's.

    Parameters
    ----------
    excluded : bool (K, K)
    allowed : bool (K,)
    """
    question = np.repeat(np.arange(len(block_starts) - 1), np.diff(block_starts))
    barred = ~allowed[:, None] & (question[:, None] != question)
    return excluded | barred | barred.T


def completed(excluded: np.ndarray, block_starts: np.ndarray, allowed: np.ndarray) -> np.ndarray | None:
    """Return a record of allowed answers without a structural zero, int16 (Q,), or None if there is none.

    A search question by question, those with the fewest answers left first, that leaves out at every step
    what has become impossible (Mackworth's arc consistency, 1977).

    Raises
    ------
    InputError
        if it has not ended after ``MOST_NODES`` answers
    """
    free, starts = ~excluded, np.asarray(block_starts, np.int64)
    budget = itertools.count()

    def search(left: np.ndarray) -> np.ndarray | None:
        left = _narrowed(free, starts, left)
        counts = np.add.reduceat(left, starts[:-1], dtype=np.int64)
        if not counts.all():
            return None
        if (counts == 1).all():
            return left
        q = int(np.argmin(np.where(counts > 1, counts, len(left) + 1)))
        for column in starts[q] + np.flatnonzero(left[starts[q] : starts[q + 1]]):
            if next(budget) >= MOST_NODES:
                raise InputError(
                    "whether a record can have all these answers was not found out in "
                    f"{MOST_NODES:,} steps: give fewer of them"
                )
            one = left.copy()
            one[starts[q] : starts[q + 1]] = False
            one[column] = True
            found = search(one)
            if found is not None:
                return found
        return None

    found = search(np.asarray(allowed, bool))
    return None if found is None else (np.flatnonzero(found) - starts[:-1]).astype(np.int16)


def _narrowed(free: np.ndarray, starts: np.ndarray, left: np.ndarray) -> np.ndarray:
    """Without the categories that have no allowed partner in some question, until no more fall away."""
    while True:
        own = np.flatnonzero(left)
        partners = np.logical_or.reduceat(free[own] & left, starts[:-1], axis=1)
        kept = own[partners.all(axis=1)]
        if len(kept) == len(own):
            return left
        left = np.zeros(len(left), bool)
        left[kept] = True


def clash(excluded: np.ndarray, block_starts: np.ndarray, allowed: np.ndarray) -> Sequence[int]:
    """Return questions whose allowed answers exclude each other, as few as suffice; none if they do not.

    Without the restriction on any one of them there would be a record.
    """
    if completed(excluded, block_starts, allowed) is not None:
        return []
    blocks = [slice(a, b) for a, b in itertools.pairwise(block_starts)]
    kept, needed = np.asarray(allowed, bool).copy(), []
    for q, block in enumerate(blocks):
        if kept[block].all():
            continue
        without_it = kept.copy()
        without_it[block] = True
        if completed(excluded, block_starts, without_it) is None:
            kept = without_it
        else:
            needed.append(q)
    return needed
