"""How many answers records share."""

from collections.abc import Iterator

import numpy as np

from modp.base.loops import compiled

PAIRS_AT_ONCE = 1 << 24
"""Pairs of records whose shared answers are held in memory."""

LAID_OUT = 1 << 18
"""Rows of a table that are laid out question by question at a time. A multiple of the next number."""

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
    found, least = np.zeros(len(points), np.int64), agreeing.astype(np.int16)
    for questions, laid_out, _ in _parts(table, points):
        found += _at_least(questions, laid_out, least)
    return found


def most(table: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return how many answers each record, of codes (m, Q), shares with that row of a table nearest to it.

    int16 (m,); 0 where the table has no rows.
    """
    found = np.zeros(len(points), np.int16)
    for questions, laid_out, _ in _parts(table, points):
        np.maximum(found, _most(questions, laid_out), out=found)
    return found


def numbers(table: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return how many of a table's rows share 0, 1 … Q answers with each record: int64 (m, Q + 1)."""
    found = np.zeros((len(points), points.shape[1] + 1), np.int64)
    for questions, laid_out, _ in _parts(table, points):
        found += _numbers(questions, laid_out)
    return found


def votes(table: np.ndarray, points: np.ndarray, question: int) -> np.ndarray:
    """Count what the rows nearest to each record, all that are level, answer to a question.

    Parameters
    ----------
    table : codes of shape (n, Q)
    points : codes of shape (m, Q)
    question : the one that is left out where nearness is told

    Returns
    -------
    int64 (m, C), with C the number of the question's categories that table and points have
    """
    size = int(max(table[:, question].max(initial=0), points[:, question].max(initial=0))) + 1
    found, best = np.zeros((len(points), size), np.int64), np.full(len(points), -1, np.int16)
    others = np.flatnonzero(np.arange(points.shape[1]) != question)
    for questions, laid_out, rows in _parts(table, points, others):
        _vote(questions, laid_out, np.ascontiguousarray(table[rows, question]), best, found)
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
    kind = _kind(table, points)
    questions, laid_out = np.ascontiguousarray(table.T, kind), np.ascontiguousarray(points, kind)
    step = max(PAIRS_AT_ONCE // max(len(table), 1), 1)
    for first in range(0, len(points), step):
        some = slice(first, first + step)
        yield some, _counted(questions, laid_out[some])


def _parts(
    table: np.ndarray, points: np.ndarray, of: np.ndarray | slice = slice(None)
) -> Iterator[tuple[np.ndarray, np.ndarray, slice]]:
    """Some of a table's rows at a time, question by question, all points, and which rows those are."""
    kind = _kind(table, points)
    laid_out = np.ascontiguousarray(points[:, of], kind)
    for first in range(0, len(table), LAID_OUT):
        rows = slice(first, first + LAID_OUT)
        yield np.ascontiguousarray(table[rows].T[of], kind), laid_out, rows


def _kind(table: np.ndarray, points: np.ndarray) -> np.dtype:
    """Bytes where codes and numbers of answers fit into them: an instruction compares twice as many."""
    least = min(table.min(initial=0), points.min(initial=0))
    largest = max(table.max(initial=0), points.max(initial=0), table.shape[1])
    return np.dtype(np.uint8 if least >= 0 and largest <= np.iinfo(np.uint8).max else np.int16)


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
def _vote(questions, points, answers, best, found):
    """Count the answers of the rows that are nearest so far, and begin anew where nearer ones come."""
    near, shared = _room(questions)
    for first in range(0, questions.shape[1], ROWS_AT_ONCE):
        rows = _taken_near(questions, first, near)
        for i in range(len(points)):
            _count_shared(near, points[i], shared)
            for j in range(rows):
                agreed = np.int16(shared[j])
                if agreed > best[i]:
                    best[i] = agreed
                    found[i] = 0
                if agreed == best[i]:
                    found[i, answers[first + j]] += 1


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
