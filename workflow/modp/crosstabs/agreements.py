"""How many answers records share."""

from collections.abc import Iterator

import numpy as np

from modp.survey.records import one_hot

PAIRS_AT_ONCE = 1 << 24
"""Pairs of records whose shared answers are held in memory."""


def at_least(table: np.ndarray, points: np.ndarray, agreeing: np.ndarray) -> np.ndarray:
    """Return how many of a table's rows share at least so many answers with each record.

    Parameters
    ----------
    table : codes of shape (n, Q)
    points : codes of shape (m, Q)
    agreeing : shape (m,), the answers that are shared at least

    Returns
    -------
    int64 (m,): whole numbers, whatever the number of threads
    """
    found = np.zeros(len(points), np.int64)
    for some, shared in agreements(table, points):
        found[some] = [np.count_nonzero(row) for row in shared >= agreeing[some, None]]
    return found


def agreements(table: np.ndarray, points: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """Count the answers that records share with those of a table, some records at a time.

    The product of one-hot records is the number of shared answers. Its float32 sums hold whole
    numbers up to Q, hence exactly, in whatever order they are taken.

    Parameters
    ----------
    table : codes of shape (n, Q)
    points : codes of shape (m, Q)

    Yields
    ------
    which points, and float32 of shape (some, n): the answers that each shares with each table's row
    """
    sizes = np.maximum(table.max(axis=0, initial=0), points.max(axis=0, initial=0)).astype(np.int64) + 1
    starts = np.concatenate([[0], np.cumsum(sizes)])
    rows = one_hot(table, starts).T
    step = max(PAIRS_AT_ONCE // max(len(table), 1), 1)
    for first in range(0, len(points), step):
        some = slice(first, first + step)
        yield some, one_hot(points[some], starts) @ rows
