"""What can be measured of whole households: a public list of tables, and where their cells are."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from modp.crosstabs.members import Parts, parts
from modp.survey.codebook import Codebook
from modp.survey.households import HOUSEHOLDER, ROLES, SPOUSE, Codebooks

ONE_AT_MOST = (HOUSEHOLDER, SPOUSE)
"""Roles of which a household has no two members."""


@dataclass(frozen=True)
class Table:
    """Some cells of one part of :func:`modp.crosstabs.members.shares`.

    name : for people
    part : of :class:`modp.crosstabs.members.Parts`
    roles : whose members, of roles by their place; none for persons of any role and for households
    cells : int64, flat places in the part
    again : int64, where the same numbers stand a second time, by symmetry; empty if nowhere
    most : what one household adds to all cells together, in households, at most
    kind : what it is of, as one of few kinds
    """

    name: str
    part: str
    roles: tuple[int, ...]
    cells: np.ndarray
    again: np.ndarray
    most: int = 1
    kind: str = ""


def compositions(most: int) -> np.ndarray:
    """Return how many members of each role a household of at most so many persons can have, int64 (C, 4)."""
    return np.array(
        [
            (1, spouse, children, others)
            for spouse in (0, 1)
            for children in range(most - spouse)
            for others in range(most - spouse - children)
        ],
        np.int64,
    ).reshape(-1, len(ROLES))


def one_way(books: Codebooks) -> list[Table]:
    """Return the tables of one question: of each role's members, and of households."""
    places, found = _places(books, 0, 0), []
    for a, role in enumerate(ROLES):
        for name, block in _blocks(books.persons):
            found.append(_table(f"{role} {name}", "single", (a,), places.single[a, block]))
    for name, block in _blocks(books.homes):
        found.append(_table(f"household {name}", "home", (), places.home[block]))
    return found


def pairs(books: Codebooks, agreeing: np.ndarray, most: int) -> list[Table]:
    """Return the tables of two answers, and of the households whose members agree.

    Parameters
    ----------
    agreeing, most : as :func:`modp.crosstabs.members.counts` takes them
    """
    places = _places(books, int(agreeing.max(initial=-1)) + 1, most)
    persons, homes = ([*_open(book)] for book in books)
    found = []
    for (name, one), (other_name, other) in itertools.combinations(persons, 2):
        of = places.person[one, other], places.person[other, one].T
        found.append(_table(f"person {name}, {other_name}", "person", (), *of))
    for (name, one), (other_name, other) in itertools.combinations(homes, 2):
        of = places.between[one, other], places.between[other, one].T
        found.append(_table(f"household {name}, {other_name}", "between", (), *of))
    for a, role in enumerate(ROLES):
        for (name, one), (other_name, other) in itertools.product(persons, homes):
            found.append(
                _table(f"{role} {name}, household {other_name}", "own", (a,), places.own[a, one, other])
            )
    for a, b in itertools.combinations_with_replacement(range(len(ROLES)), 2):
        if (a == b and a in ONE_AT_MOST) or most < (2 if a == HOUSEHOLDER else 3):
            continue
        for (name, one), (other_name, other) in itertools.product(persons, repeat=2):
            told = f"{ROLES[a]} {name}, {ROLES[b]} {other_name}"
            cells, again = places.pair[a, b, one, other], places.pair[b, a, other, one].T
            if a < b:
                found.append(_table(told, "pair", (a, b), cells, again, same=one == other))
            elif one.start < other.start:
                found.append(_table(told, "pair", (a, a), cells, again, 2))
            elif one == other:
                upper = np.triu_indices(len(cells))
                found.append(_table(told, "pair", (a, a), cells[upper], again[upper], same=True))
    for d in range(len(places.agree) if most > 1 else 0):
        name = books.persons.names[int(np.flatnonzero(agreeing == d)[0])]
        found.append(_table(f"all agree on {name}", "agree", (), places.agree[d, 2:]))
    return found


def _places(books: Codebooks, agreeing: int, most: int) -> Parts:
    """The flat place of every cell."""
    sizes = int(books.persons.block_starts[-1]), int(books.homes.block_starts[-1])
    empty = parts(*sizes, agreeing, most, np.int64)
    return Parts(*(np.arange(part.size).reshape(part.shape) for part in empty))


def _blocks(book: Codebook) -> Iterator[tuple[str, slice]]:
    for name, (first, last) in zip(book.names, itertools.pairwise(book.block_starts.tolist()), strict=True):
        yield name, slice(first, last)


def _open(book: Codebook) -> Iterator[tuple[str, slice]]:
    """Those questions that have more than one answer."""
    return ((name, block) for name, block in _blocks(book) if block.stop - block.start > 1)


def _table(
    name: str,
    part: str,
    roles: tuple[int, ...],
    cells: np.ndarray,
    again: np.ndarray | None = None,
    most: int = 1,
    same: bool = False,
) -> Table:
    """A table; ``same`` says that it is of one question, asked of two members."""
    second = np.zeros(0, np.int64) if again is None else again.ravel()
    kind = f"{part} of one question" if same else part
    return Table(name, part, roles, cells.ravel(), second, most, kind)
