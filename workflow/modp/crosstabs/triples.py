"""Three-way crosstabs: counts of triples of answers."""

import itertools
from collections.abc import Iterator

import numpy as np

from modp.base.loops import compiled, in_threads
from modp.crosstabs.limits import FEWEST

AT_ONCE = 64
"""Triples that a thread counts at a time."""

ROWS_AT_ONCE = 1 << 20
"""Records that are laid out question by question at a time."""

CELLS_AT_ONCE = 1 << 22
"""Cells of triples that are held in memory at a time."""


def every(questions: int) -> np.ndarray:
    """Return all triples of questions, shape (T, 3)."""
    return np.array(list(itertools.combinations(range(questions), 3)), np.int64).reshape(-1, 3)


def ends(triples: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return where each triple's cells begin and end when one follows the other, int64 (T + 1,).

    Parameters
    ----------
    triples : shape (T, 3)
    sizes : number of categories of each question, shape (Q,)
    """
    return np.concatenate([[0], np.cumsum(sizes[triples].prod(axis=1))]).astype(np.int64)


def parts(triples: np.ndarray, sizes: np.ndarray) -> Iterator[np.ndarray]:
    """Yield triples in turn, (t, 3), so many that their tables can be held at once."""
    number = ends(triples, sizes)[:-1] // CELLS_AT_ONCE
    yield from np.split(triples, np.flatnonzero(np.diff(number)) + 1)


def counts(
    codes: np.ndarray,
    triples: np.ndarray,
    sizes: np.ndarray,
    threads: int = 1,
    weights: np.ndarray | None = None,
) -> np.ndarray:
    """Count the records in every cell of triples of questions, or sum their weights.

    Parameters
    ----------
    codes : shape (n, Q)
    triples : shape (T, 3)
    sizes : number of categories of each question, shape (Q,)
    threads : without influence on the result
    weights : float64 (n,)

    Returns
    -------
    int64, or float64 with weights, one triple after the other, in each the last question's category changing
    fastest
    """
    triples, sizes, places = np.asarray(triples, np.int64), np.asarray(sizes, np.int64), ends(triples, sizes)
    found = np.zeros(places[-1], np.int64 if weights is None else np.float64)
    if not len(triples):
        return found
    count, summed = compiled(_count), compiled(_sum)
    for begin in range(0, len(codes), ROWS_AT_ONCE):
        rows = slice(begin, begin + ROWS_AT_ONCE)
        columns = np.ascontiguousarray(codes[rows].T, np.int16)
        weighing = None if weights is None else weights[rows]

        def part(first: int, columns: np.ndarray = columns, weighing: np.ndarray | None = weighing) -> None:
            some = slice(first, first + AT_ONCE)
            if weighing is None:
                count(columns, triples[some], sizes, places[some], found)
            else:
                summed(columns, weighing, triples[some], sizes, places[some], found)

        in_threads(part, range(0, len(triples), AT_ONCE), threads)
    return found


def _count(columns, triples, sizes, begins, found):
    for t in range(len(triples)):
        first, second, third = columns[triples[t, 0]], columns[triples[t, 1]], columns[triples[t, 2]]
        more, most, begin = sizes[triples[t, 2]], sizes[triples[t, 1]], begins[t]
        for i in range(len(first)):
            found[begin + (np.int64(first[i]) * most + second[i]) * more + third[i]] += 1


def _sum(columns, weights, triples, sizes, begins, found):
    for t in range(len(triples)):
        first, second, third = columns[triples[t, 0]], columns[triples[t, 1]], columns[triples[t, 2]]
        more, most, begin = sizes[triples[t, 2]], sizes[triples[t, 1]], begins[t]
        for i in range(len(first)):
            found[begin + (np.int64(first[i]) * most + second[i]) * more + third[i]] += weights[i]


def misfit(true: np.ndarray, found: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return by how much each triple's counts differ beyond sampling noise, in its units, float64 (T,).

    With A and B counts of as many independent records from one distribution, the sum of (A - B)² / (A + B)
    over the m cells of at least ``FEWEST`` true records is about m, with a standard deviation of √(2 m). A
    model fitted to A comes closer.

    Parameters
    ----------
    true, found : as :func:`counts`, of the same number of records
    places : as :func:`ends`
    """
    judged = true >= FEWEST
    excess = np.where(judged, (true - found) ** 2 / np.maximum(true + found, 1) - 1, 0)
    if len(places) == 1:
        return np.zeros(0)
    cells = np.add.reduceat(judged.astype(np.int64), places[:-1])
    return np.add.reduceat(excess, places[:-1]) / np.sqrt(2 * np.maximum(cells, 1))
