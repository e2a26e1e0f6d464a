"""How many answers records share."""

from collections.abc import Iterator

import numpy as np

from modp.base.loops import compiled

PAIRS_AT_ONCE = 1 << 24
"""Pairs of records whose shared answers are held in memory."""

ROWS_AT_ONCE = 4096
"""Rows of a table that are compared at a time, so that their counts stay in the processor's first cache."""


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
    return _at_least(*_laid_out(table, points), agreeing.astype(np.int16))


def most(table: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return how many answers each record, of codes (m, Q), shares with that row of a table nearest to it.

    int16 (m,); 0 where the table has no rows.
    """
    return _most(*_laid_out(table, points))


def numbers(table: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return how many of a table's rows share 0, 1 … Q answers with each record: int64 (m, Q + 1)."""
    return _numbers(*_laid_out(table, points))


def _laid_out(table: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both in bytes where codes and numbers of answers fit: an instruction compares twice as many."""
    least = min(table.min(initial=0), points.min(initial=0))
    largest = max(table.max(initial=0), points.max(initial=0), table.shape[1])
    kind = np.uint8 if least >= 0 and largest <= np.iinfo(np.uint8).max else np.int16
    return np.ascontiguousarray(table.T, kind), np.ascontiguousarray(points, kind)


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
    questions, laid_out = _laid_out(table, points)
    step = max(PAIRS_AT_ONCE // max(len(table), 1), 1)
    for first in range(0, len(points), step):
        some = slice(first, first + step)
        yield some, _counted(questions, laid_out[some])


@compiled
def _room(questions):
    """Room for some of the table's rows, and for the answers that each of them shares with a record."""
    return np.zeros((len(questions), ROWS_AT_ONCE), questions.dtype), np.empty(ROWS_AT_ONCE, questions.dtype)


@compiled
def _taken_near(questions, first, near):
    """Copy some of the table's rows, as many as there is room for, and return how many they are."""
    rows = min(questions.shape[1] - first, near.shape[1])
    near[:, :rows] = questions[:, first : first + rows]
    return rows


@compiled
def _count_shared(near, answers, shared):
    """The inner loop is over the table's rows, so that many are compared by one instruction."""
    shared[:] = 0
    for q in range(len(near)):
        answer, row = answers[q], near[q]
        for j in range(len(shared)):
            shared[j] += shared.dtype.type(row[j] == answer)


@compiled
def _at_least(questions, points, agreeing):
    """How many of the table's rows, int64 (m,): some rows at a time, that stay at hand for all points."""
    found = np.zeros(len(points), np.int64)
    near, shared = _room(questions)
    for first in range(0, questions.shape[1], ROWS_AT_ONCE):
        rows = _taken_near(questions, first, near)
        for i in range(len(points)):
            _count_shared(near, points[i], shared)
            least, number = shared.dtype.type(agreeing[i]), 0
            for j in range(rows):
                number += shared[j] >= least
            found[i] += number
    return found


@compiled
def _most(questions, points):
    """See :func:`most`."""
    found = np.zeros(len(points), np.int16)
    near, shared = _room(questions)
    for first in range(0, questions.shape[1], ROWS_AT_ONCE):
        rows = _taken_near(questions, first, near)
        for i in range(len(points)):
            _count_shared(near, points[i], shared)
            largest = shared.dtype.type(0)
            for j in range(rows):
                largest = max(largest, shared[j])
            found[i] = max(found[i], np.int16(largest))
    return found


@compiled
def _numbers(questions, points):
    """See :func:`numbers`."""
    found = np.zeros((len(points), len(questions) + 1), np.int64)
    near, shared = _room(questions)
    for first in range(0, questions.shape[1], ROWS_AT_ONCE):
        rows = _taken_near(questions, first, near)
        for i in range(len(points)):
            _count_shared(near, points[i], shared)
            for j in range(rows):
                found[i, shared[j]] += 1
    return found


@compiled
def _counted(questions, points):
    """The answers that each point shares with each of the table's rows, int16 (m, n)."""
    found = np.empty((len(points), questions.shape[1]), np.int16)
    near, shared = _room(questions)
    for first in range(0, questions.shape[1], ROWS_AT_ONCE):
        rows = _taken_near(questions, first, near)
        for i in range(len(points)):
            _count_shared(near, points[i], shared)
            found[i, first : first + rows] = shared[:rows]
    return found
