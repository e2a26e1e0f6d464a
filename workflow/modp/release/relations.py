"""Relations between the numbers of a record: values drawn one by one may break them, and are mended."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from modp.survey.questions import Relation

TRIES = 30
"""Times that values which break a relation are drawn anew, the last half widely, before one is set."""

SAME = 9
"""Decimals to which a sum is compared with its total."""


@dataclass(frozen=True)
class Numbers:
    """What relations need to know of a question.

    read : the number that a text is, or None
    write : texts (m,) of numbers
    redraw : draws texts (m,) anew for the records of these rows, inside their categories; from all of these,
        whatever else a record answers, if that is asked for
    within : which numbers (m,) are of the categories of the records of these rows
    step : of which all its numbers are multiples
    """

    read: Callable[[str], float | None]
    write: Callable[[np.ndarray], np.ndarray]
    redraw: Callable[[np.ndarray, bool], np.ndarray]
    within: Callable[[np.ndarray, np.ndarray], np.ndarray]
    step: float


@dataclass(frozen=True)
class Kept:
    """What became of relations.

    moved : question -> records whose number left its category
    broken : records in which relations that exclude one another still do not hold
    """

    moved: Mapping[str, int]
    broken: int


def numbers_of(answers: np.ndarray, read: Callable[[str], float | None]) -> np.ndarray:
    """Return the numbers among answers, float64 of their shape, NaN where one is none."""
    which, kinds = pd.factorize(answers)
    values = [read(kind) for kind in kinds.tolist()]
    return np.array([np.nan if value is None else value for value in values], float)[which]


def keep(relations: Sequence[Relation], answers: dict[str, np.ndarray], asked: Mapping[str, Numbers]) -> Kept:
    """Make relations hold in every record, in place.

    Numbers that break one are drawn anew inside their categories, and a total is the sum of its parts if
    that is of the total's category. Where that does not help, a number is set: inside its category if that
    can be, else outside.

    Parameters
    ----------
    relations : the total of one is not that of another
    answers : question -> texts, objects (n,)
    asked : of all questions in the relations
    """
    names = dict.fromkeys(name for relation in relations for name in relation.names)
    mending = _Mending(relations, answers, asked, {name: np.zeros(0) for name in names})
    for name in names:
        mending.known[name] = numbers_of(answers[name], asked[name].read)
    for number in range(TRIES):
        mending.sum_inside()
        if not mending.redrawn(number >= TRIES // 2):
            break
    for relation in relations:
        mending.set_inside(relation)
    for _ in range(len(relations) + 1):
        for relation in relations:
            mending.set(relation)
    every = np.arange(len(next(iter(mending.known.values()), ())))
    moved = {}
    for name in names:
        known = np.isfinite(mending.known[name])
        left = int((known & ~asked[name].within(mending.known[name], every)).sum())
        if left:
            moved[name] = left
    return Kept(moved, len(mending.broken_by_any()))


@dataclass(frozen=True)
class _Mending:
    """Answers under repair, and their numbers: question -> (n,)."""

    relations: Sequence[Relation]
    answers: dict[str, np.ndarray]
    asked: Mapping[str, Numbers]
    known: dict[str, np.ndarray]

    @property
    def totals(self) -> set[str]:
        return {relation.names[0] for relation in self.relations if relation.sign == "="}

    def broken(self, relation: Relation) -> np.ndarray:
        """The rows in which a relation between numbers does not hold."""
        first, *others = (self.known[name] for name in relation.names)
        if relation.sign == "<=":
            return np.flatnonzero(first > others[0])
        parts = np.column_stack(others)
        wrong = np.round(first, SAME) != np.round(np.nansum(parts, axis=1), SAME)
        return np.flatnonzero(np.isfinite(first) & np.isfinite(parts).any(axis=1) & wrong)

    def broken_by_any(self) -> np.ndarray:
        found = [self.broken(relation) for relation in self.relations]
        return np.unique(np.concatenate([np.zeros(0, np.int64), *found]))

    def put(self, name: str, rows: np.ndarray, texts: np.ndarray) -> None:
        self.answers[name][rows] = texts
        self.known[name][rows] = numbers_of(texts, self.asked[name].read)

    def sum_inside(self) -> None:
        """Let totals be the sums of their parts where these are of the totals' categories."""
        for relation in self.relations:
            if relation.sign == "=":
                total, *parts = relation.names
                rows = self.broken(relation)
                summed = self.summed(parts, rows)
                fits = self.asked[total].within(summed, rows)
                self.put(total, rows[fits], self.asked[total].write(summed[fits]))

    def summed(self, parts: Sequence[str], rows: np.ndarray) -> np.ndarray:
        return np.round(np.nansum(np.column_stack([self.known[p][rows] for p in parts]), axis=1), SAME)

    def redrawn(self, widely: bool) -> bool:
        """Draw anew what breaks a relation, but no total; return whether anything did."""
        rows_of: dict[str, list[np.ndarray]] = {}
        for relation in self.relations:
            rows = self.broken(relation)
            for name in relation.names:
                if len(rows) and name not in self.totals:
                    rows_of.setdefault(name, []).append(rows)
        for name, found in rows_of.items():
            rows = np.unique(np.concatenate(found))
            self.put(name, rows, self.asked[name].redraw(rows, widely))
        return bool(rows_of)

    def set_inside(self, relation: Relation) -> None:
        """Set one number of each record in which a relation does not hold, if it stays in its category."""
        if relation.sign == "=":
            self.set_part(relation)
            return
        for name, other, rounded in self.ways(relation):
            rows = self.broken(relation)
            made = self.rounded(name, self.known[other][rows], rounded)
            fits = self.asked[name].within(made, rows)
            self.put(name, rows[fits], self.asked[name].write(made[fits]))

    def set(self, relation: Relation) -> None:
        """Make up a total, or lower what is too great; repeated, this ends where nothing is broken."""
        rows = self.broken(relation)
        if relation.sign == "=":
            total, *parts = relation.names
            self.put(total, rows, self.asked[total].write(self.summed(parts, rows)))
            return
        name, other, rounded = self.ways(relation)[0]
        made = self.rounded(name, self.known[other][rows], rounded)
        self.put(name, rows, self.asked[name].write(made))

    def ways(self, relation: Relation) -> list[tuple[str, str, Callable[[np.ndarray], np.ndarray]]]:
        """Which number may be set to which, rounded how; a total if nothing else."""
        smaller, greater = relation.names
        ways: list[tuple[str, str, Callable[[np.ndarray], np.ndarray]]]
        ways = [(smaller, greater, np.floor), (greater, smaller, np.ceil)]
        return [way for way in ways if way[0] not in self.totals] or ways

    def set_part(self, relation: Relation) -> None:
        """Let one part make up for the others, without a sign that it had not."""
        total, *parts = relation.names
        for name in parts:
            rows = self.broken(relation)
            rows = rows[np.isfinite(self.known[name][rows])]
            before = self.known[name][rows]
            made = np.round(self.known[total][rows] - self.summed(parts, rows) + before, SAME)
            fits = self.asked[name].within(made, rows) & ((made >= 0) | (before < 0))
            self.put(name, rows[fits], self.asked[name].write(made[fits]))

    def rounded(self, name: str, values: np.ndarray, how: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Numbers as the question can have them, rounded down or up."""
        step = self.asked[name].step
        whole = np.rint(values / step)
        exact = np.abs(values / step - whole) < 1e-9
        return np.round(np.where(exact, whole, how(values / step)) * step, SAME)
