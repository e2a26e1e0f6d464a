"""What holds between the columns of anybody's table in all of its rows, and by no accident."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from modp.files.decision import Decision
from modp.files.look import Look
from modp.files.table import BLANK

CHANCE = 20
"""Rows that would break a relation, were it an accident, at least; of each class of a group on average."""

SHARED = 0.01
"""Of the rows, in which two numbers are equal of which one is never the greater."""

FIRST = 2000
"""Rows that are looked at first: most relations break there."""

ALIKE = 0.8
"""Correlation of the ranks of a number and of its classes, at least, where these are made group by group."""

MOST_GROUPS = 100
"""Kinds of a column by which another's classes may be made, and kinds of classes."""

SAME = 9
"""Decimals to which a sum is compared with its total."""


@dataclass(frozen=True)
class _Asked:
    """A question's answers in n rows.

    name : of the question
    places : (n,), numbers of the kinds, blanks among them
    kinds : how many there are
    values : (n,), the numbers that the answers are, NaN where one is none
    ranks : (n,), the places of the answers, numbers by their size, other kinds after them
    numbers : whether the question is one of numbers; else of categories
    words : whether it is one of words
    """

    name: str
    places: np.ndarray
    kinds: int
    values: np.ndarray
    ranks: np.ndarray
    numbers: bool
    words: bool

    @staticmethod
    def of(look: Look, decision: Decision) -> "_Asked":
        blank = len(look.column.kinds)
        places = np.where(look.column.places == BLANK, blank, look.column.places)
        values = np.full(blank + 1, np.nan)
        values[np.flatnonzero(look.column.counts)] = np.where(look.declared, np.nan, look.values)
        last = np.nanmax(values, initial=0.0)
        ranks = np.unique(
            np.where(np.isnan(values), last + 1 + np.arange(blank + 1), values), return_inverse=True
        )[1]
        kinds, codes = len(look.kinds) + bool(look.blanks), (decision.recipe or {}).get("categories", ())
        words = decision.kind == "dates" or any(isinstance(code, str) for code in codes)
        return _Asked(
            look.name, places, kinds, values[places], ranks[places], decision.kind == "numbers", words
        )

    @cached_property
    def order(self) -> np.ndarray:
        """All rows, sorted by their answers."""
        return np.argsort(self.ranks, kind="stable")

    @cached_property
    def first(self) -> np.ndarray:
        """The first rows, sorted likewise."""
        return np.argsort(self.ranks[:FIRST], kind="stable")

    @property
    def rare(self) -> int:
        """Rows that do not give the answer given most often."""
        return len(self.places) - int(np.bincount(self.places).max(initial=0))


def relations(looks: Sequence[Look], decisions: Sequence[Decision]) -> dict[str, list[str]]:
    """Return the relations between columns, as question sets write them, by the column that each is told of.

    A column follows from another if rows with one answer to that have one answer to it, and classes of a
    number are of numbers in one piece; or it does in each group that a third column makes. Numbers are a sum
    of others, or never greater than another that they often equal.

    Parameters
    ----------
    looks, decisions : one a column
    """
    asked = [_Asked.of(look, d) for look, d in zip(looks, decisions, strict=True) if d.recipe]
    column_of = {look.name: d.column for look, d in zip(looks, decisions, strict=True)}
    following = {names[0]: names for names in _functions(asked)}
    found = {name: [_written(names)] for name, names in following.items()}
    numbers = [one for one in asked if one.name not in following and not one.words]
    for name, parts in _sums([one for one in numbers if np.isfinite(one.values).any()]).items():
        found.setdefault(name, []).append(f"{name} = {' + '.join(parts)}")
    for smaller, greater in _never_greater([one for one in numbers if one.numbers]):
        found.setdefault(smaller, []).append(f"{smaller} <= {greater}")
    return {column_of[name]: texts for name, texts in found.items()}


def _written(names: tuple[str, ...]) -> str:
    return " of ".join(names[:2]) + "".join(f" by {name}" for name in names[2:])


def _functions(asked: Sequence[_Asked]) -> Iterator[tuple[str, ...]]:
    """Columns that follow from another, from that of the fewest kinds; and those that do group by group."""
    for at, target in enumerate(asked):
        if target.rare < CHANCE:
            continue
        finer = [
            one
            for place, one in enumerate(asked)
            if one.kinds > target.kinds or (one.kinds == target.kinds and place < at)
        ]
        finer.sort(key=lambda one: one.kinds)
        name = next((one.name for one in finer if _follows(target, one)), None)
        if name:
            yield target.name, name
        else:
            yield from _by_groups(target, finer, asked)


def _follows(target: _Asked, of: _Asked) -> bool:
    """Whether rows with one answer have one answer to another question, and not by accident.

    It is none if there are rows enough with an answer that others have as well, where neighbouring answers
    differ in the target; or if the target's kinds are each in one piece of the numbers.
    """
    for some in (True, False):
        rows = of.first if some else of.order
        same = of.ranks[rows[1:]] == of.ranks[rows[:-1]]
        differs = target.places[rows[1:]] != target.places[rows[:-1]]
        if (same & differs).any():
            return False
    changes = int(differs.sum())
    in_pieces = changes == target.kinds - 1 and of.numbers
    return in_pieces or same.sum() * changes >= CHANCE * max(len(same) - int(same.sum()), 1)


def _by_groups(target: _Asked, finer: Sequence[_Asked], asked: Sequence[_Asked]) -> Iterator[tuple[str, ...]]:
    """The number, and the column by whose groups a column is of its classes, if there are such."""
    if target.kinds > MOST_GROUPS or not np.isfinite(target.values).any():
        return
    groups = sorted((one for one in asked if one.kinds <= MOST_GROUPS), key=lambda one: one.kinds)
    for one in finer:
        if not one.numbers or not _go_together(target, one):
            continue
        for by in groups:
            if by is not target and by is not one and _in_pieces(target, one, by):
                yield target.name, one.name, by.name
                return


def _go_together(target: _Asked, one: _Asked) -> bool:
    known = np.flatnonzero(np.isfinite(target.values) & np.isfinite(one.values))[:FIRST]
    if len(known) < CHANCE:
        return False
    one_, other = (np.argsort(np.argsort(own.ranks[known], kind="stable")) for own in (target, one))
    return bool(np.corrcoef(one_, other)[0, 1] >= ALIKE)


def _in_pieces(target: _Asked, of: _Asked, by: _Asked) -> bool:
    """Whether in each group of a third column a column's kinds are each in one piece of a number's."""
    for some in (True, False):
        rows = of.first if some else of.order
        rows = rows[np.argsort(by.places[rows], kind="stable")]
        within = by.places[rows[1:]] == by.places[rows[:-1]]
        differs = within & (target.places[rows[1:]] != target.places[rows[:-1]])
        pairs = by.places[rows].astype(np.int64) * (target.places.max() + 1) + target.places[rows]
        pieces, groups = len(np.unique(pairs)), len(np.unique(by.places[rows]))
        same = of.ranks[rows[1:]] == of.ranks[rows[:-1]]
        if differs.sum() != pieces - groups or (differs & same).any():
            return False
    return len(rows) >= CHANCE * pieces


def _sums(numbers: Sequence[_Asked]) -> dict[str, list[str]]:
    """Totals, each with its parts; one that is part of another total counts there for its parts."""
    found: dict[str, list[str]] = {}
    ordered = sorted(numbers, key=lambda one: float(np.nanmean(one.values)))
    for at, total in enumerate(ordered):
        parts = ordered[:at]
        inner = {name for names in found.values() for name in names}
        chosen = _parts_of(total, [one for one in parts if one.name not in inner])
        if chosen:
            found[total.name] = chosen
    return found


def _parts_of(total: _Asked, parts: Sequence[_Asked]) -> list[str]:
    """The columns whose sum another one is in every row in which it and any of them are numbers."""
    if len(parts) < 2:
        return []
    values = np.column_stack([one.values for one in parts])
    rows = np.flatnonzero(np.isfinite(total.values) & np.isfinite(values).any(axis=1))
    some = rows[np.linspace(0, len(rows) - 1, min(FIRST, len(rows))).astype(np.int64)] if len(rows) else rows
    if len(some) <= len(parts):
        return []
    weights = np.linalg.lstsq(np.nan_to_num(values[some]), total.values[some], rcond=None)[0]
    kept = np.flatnonzero(np.round(weights, 3) == 1)
    if len(kept) < 2 or (np.nan_to_num(values[rows][:, kept]) != 0).sum(axis=0).min() < CHANCE:
        return []
    rows = np.flatnonzero(np.isfinite(total.values) & np.isfinite(values[:, kept]).any(axis=1))
    sums = np.nansum(values[rows][:, kept], axis=1)
    holds = np.round(sums, SAME) == np.round(total.values[rows], SAME)
    return [parts[k].name for k in kept.tolist()] if holds.all() else []


def _never_greater(numbers: Sequence[_Asked]) -> Iterator[tuple[str, str]]:
    """Pairs of numbers of which the first is never greater, and often the same."""
    for one, other in itertools.permutations(numbers, 2):
        if (one.values[:FIRST] > other.values[:FIRST]).any() or (one.values > other.values).any():
            continue
        equal = (one.values == other.values) & (one.values != 0)
        by_chance = one.values > np.roll(other.values, len(other.values) // 2)
        if equal.sum() >= max(CHANCE, SHARED * len(equal)) and by_chance.sum() >= CHANCE:
            yield one.name, other.name
