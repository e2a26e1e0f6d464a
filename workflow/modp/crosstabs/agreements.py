"""How many answers records share."""

from collections.abc import Iterator

import numpy as np

from modp.base.loops import compiled

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
        found[some] = _at_least(shared, agreeing[some].astype(np.int16))
    return found


def agreements(table: np.ndarray, points: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """Count the answers that records share with those of a table, some records at a time.

    Parameters
    ----------
    table : codes of shape (n, Q)
    points : codes of shape (m, Q)

    Yields
    ------
    which points, and int16 of shape (some, n): the answers that each shares with each table's row
    """
    questions = np.ascontiguousarray(table.T, np.int16)
    step = max(PAIRS_AT_ONCE // max(len(table), 1), 1)
    for first in range(0, len(points), step):
        some = slice(first, first + step)
        yield some, _counted(questions, np.ascontiguousarray(points[some], np.int16))


@compiled
def _at_least(shared, agreeing):
    """How many of each row, int64 (some,)."""
    found = np.zeros(len(shared), np.int64)
    for i in range(len(shared)):
        row, least, number = shared[i], agreeing[i], 0
        for j in range(len(row)):
            number += row[j] >= least
        found[i] = number
    return found


@compiled
def _counted(questions, points):
    """The inner loop is over the table's rows, so that many are compared by one instruction."""
    shared = np.zeros((len(points), questions.shape[1]), np.int16)
    for i in range(len(points)):
        own = shared[i]
        for q in range(len(questions)):
            answer, row = points[i, q], questions[q]
            for j in range(len(own)):
                own[j] += np.int16(row[j] == answer)
    return shared
