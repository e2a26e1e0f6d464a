"""Answers inside their categories, each drawn given all else that is known of its record."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from modp.files.table import Column
from modp.release.drawing import Asked, Bins
from modp.release.functions import Answered
from modp.release.leaves import Leaves, grow
from modp.release.ranges import holds
from modp.release.values import RARITY

OFTEN, MORE = 0.01, 3
"""Two questions have one number not by chance if they have it in so large a share of the records, and so many
times as often as if one were another record's."""

Tie = tuple[np.ndarray, np.ndarray]
"""In which of n true records two questions have one number, and the other question's of m synthetic ones."""


@dataclass(frozen=True)
class Known:
    """What is known of n true and m synthetic records: codes, and numbers as they are drawn.

    codes : (n, Q) and (m, Q)
    predictors : the same as float32, in which numbers take the place of codes
    numbers : question -> its numbers, (n,) and (m,), NaN where an answer is none
    """

    codes: tuple[np.ndarray, np.ndarray]
    predictors: tuple[np.ndarray, np.ndarray]
    numbers: dict[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)

    @staticmethod
    def of(true: np.ndarray, synthetic: np.ndarray) -> "Known":
        """Return what codes tell, (n, Q) and (m, Q)."""
        return Known((true, synthetic), (true.astype(np.float32), synthetic.astype(np.float32)))

    def besides(self, q: int, true: np.ndarray, synthetic: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what is known of true and of synthetic records of these numbers, but for one question."""
        others = np.delete(np.arange(self.codes[0].shape[1]), q)
        return self.predictors[0][np.ix_(true, others)], self.predictors[1][np.ix_(synthetic, others)]

    def learn(self, q: int, name: str, true: np.ndarray, synthetic: np.ndarray) -> None:
        """Take up the numbers of a question, (n,) and (m,); what is none stays a code, below them all."""
        numbers = true, synthetic
        lowest = np.nanmin(np.concatenate([*numbers, [np.inf]]))
        lowest = lowest if np.isfinite(lowest) else 0.0
        for own, values in zip(self.predictors, numbers, strict=True):
            own[:, q] = np.where(np.isfinite(values), values, lowest - 1.0 - own[:, q])
        self.numbers[name] = numbers

    def ties(self, numbers: np.ndarray) -> list[Tie]:
        """Return where questions drawn before have the number (n,) of another one, if often; rarest first."""
        often = []
        for true, own in self.numbers.values():
            equal, chance = _equal(numbers, true), _equal(numbers, np.roll(true, len(true) // 2))
            if equal.mean() >= OFTEN and equal.sum() > MORE * chance.sum():
                often.append((equal, own))
        return sorted(often, key=lambda tie: int(tie[0].sum()))


def _equal(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return (one == other) & (one != 0)


@dataclass(frozen=True)
class Answers:
    """How the answers of m records to one question are drawn.

    asked : the question
    codes : (m,), their categories
    bins : what each category's are drawn from
    strata : (m,), in which of the parts of its category each record is
    donors : stratum -> the numbers of its true records, their bins, and the leaves of its synthetic records
    at : (m,), where each record is among those of its stratum
    ties : with questions that were drawn before
    """

    asked: Asked
    codes: np.ndarray
    bins: Callable[[int], Bins]
    strata: np.ndarray
    donors: Mapping[int, tuple[np.ndarray, np.ndarray, Leaves]]
    at: np.ndarray
    ties: Sequence[Tie]

    def draw(self, rows: np.ndarray, rng: np.random.Generator, widely: bool = False) -> np.ndarray:
        """Return answers of these records (r,): objects, texts as the column writes them, a blank empty.

        Parameters
        ----------
        widely : whether they are drawn from all of their stratum, whatever else a record answers
        """
        drawn = np.full(len(rows), "", object)
        for stratum in np.unique(self.strata[rows]).tolist():
            own = np.flatnonzero(self.strata[rows] == stratum)
            k = int(self.codes[rows[own[0]]])
            if stratum in self.donors:
                drawn[own] = self._of_donors(k, stratum, rows[own], rng, widely)
            else:
                drawn[own] = self.bins(k).write(self.bins(k).draw(len(own), rng), rng)
        return drawn

    def _of_donors(
        self, k: int, stratum: int, rows: np.ndarray, rng: np.random.Generator, widely: bool
    ) -> np.ndarray:
        """Answers of a category. Where the donor's is the number of another question, so is the record's."""
        asked, (true, of_donors, leaves) = self.asked, self.donors[stratum]
        chosen = rng.integers(0, len(true), len(rows)) if widely else leaves.draw(self.at[rows], rng)
        drawn = self.bins(k).write(of_donors[chosen], rng)
        for equal, others in () if widely else self.ties:
            tied = np.flatnonzero(equal[true[chosen]])
            made = others[rows[tied]]
            fits = holds(asked.question, asked.recipe, k, made) & (asked.rounded(made) == made)
            drawn[tied[fits]] = asked.texts(made[fits])
        return drawn


def answers(
    q: int,
    asked: Asked,
    true: Answered,
    bins: Callable[[int], Bins],
    known: Known,
    parted: Sequence[int],
    rng: np.random.Generator,
) -> Answers:
    """Return how the answers to a question are drawn, given all else that is known.

    Parameters
    ----------
    q : the question's number
    asked : the question
    true : the true records' answers
    bins : what each category's are drawn from
    known : of all records
    parted : other questions, by whose answers each category is parted: donors have the recipient's
    """
    codes = known.codes
    sizes = [
        max(int(own.max(initial=0)) for own in pair) + 1 for pair in zip(*(c.T for c in codes), strict=True)
    ]
    strata = [_strata(own, [q, *parted], sizes) for own in codes]
    at = np.zeros(len(codes[1]), np.int64)
    donors: dict[int, tuple[np.ndarray, np.ndarray, Leaves]] = {}
    for stratum in np.unique(strata[1]).tolist():
        recipients, own = (np.flatnonzero(part == stratum) for part in (strata[1], strata[0]))
        k = int(codes[1][recipients[0], q])
        own = own if len(own) >= RARITY else np.flatnonzero(codes[0][:, q] == k)
        if len(own) >= RARITY and len(bins(k).counts) > 1:
            at[recipients] = np.arange(len(recipients))
            of_donors = pd.Series(true.texts[own]).map(bins(k).of).to_numpy()
            leaves = grow(*known.besides(q, own, recipients), bins(k).places[of_donors], rng)
            donors[stratum] = own, of_donors, leaves
    ties = known.ties(true.numbers) if donors and asked.are_numbers else []
    return Answers(asked, codes[1][:, q], bins, strata[1], donors, at, ties)


def _strata(codes: np.ndarray, questions: Sequence[int], sizes: Sequence[int]) -> np.ndarray:
    """A number for each combination of answers to these questions, (n,)."""
    columns = tuple(codes[:, q].astype(np.int64) for q in questions)
    return np.asarray(np.ravel_multi_index(columns, tuple(sizes[q] for q in questions)))


def whatever(asked: Asked, codes: np.ndarray, bins: Callable[[int], Bins]) -> Answers:
    """Return how the answers to a question are drawn, whatever else records of these codes (m,) answer."""
    return Answers(asked, codes, bins, codes, {}, np.zeros(len(codes), np.int64), ())


def answered(asked: Asked, column: Column, rows: np.ndarray) -> Answered:
    """Return the answers of these rows (n,) of a question's raw column."""
    numbers = [asked.read(str(text)) for text in column.kinds.tolist()]
    known = np.array([np.nan if value is None else value for value in [*numbers, None]], float)
    places = column.places[rows]
    return Answered(np.append(column.kinds, "")[places], known[places])
