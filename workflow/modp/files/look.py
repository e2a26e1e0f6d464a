"""What can be seen of a column before it is decided what becomes of it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from modp.files.table import BLANK, Column
from modp.survey.numbers import amount, number

RECORDS = 10
SHARE = 0.01

EXACT = 2**53
"""Whole numbers from here on are not all told apart as floating-point numbers."""


@dataclass(frozen=True)
class Look:
    """A column with what is asked of it again and again.

    column : what is looked at
    name : of the question that may be made of it
    others : names of the table's columns
    """

    column: Column
    name: str
    others: tuple[str, ...] = ()

    @cached_property
    def rows(self) -> int:
        """Number of rows, n."""
        return len(self.column.places)

    @cached_property
    def _given(self) -> np.ndarray:
        return np.flatnonzero(self.column.counts)

    @cached_property
    def kinds(self) -> list[str]:
        """The m different answers that are given."""
        return [str(kind) for kind in np.asarray(self.column.kinds, object)[self._given]]

    @cached_property
    def counts(self) -> np.ndarray:
        """How many rows give each, (m,)."""
        return self.column.counts[self._given]

    @cached_property
    def answered(self) -> int:
        """Number of rows that are not blank."""
        return int(self.counts.sum())

    @cached_property
    def blanks(self) -> int:
        """Number of rows that are blank."""
        return self.rows - self.answered

    @cached_property
    def values(self) -> np.ndarray:
        """The numbers that the kinds are, (m,); NaN where one is none."""
        found = [number(kind) for kind in self.kinds]
        return np.array([np.nan if value is None else value for value in found], np.float64)

    @cached_property
    def declared(self) -> np.ndarray:
        """Which kinds the file declares to be missing answers, bool (m,)."""
        return np.array([kind in self.column.missing for kind in self.kinds], bool)

    @cached_property
    def in_order(self) -> np.ndarray:
        """The places, among the file's kinds, of the rows that are not blank, in the file's order."""
        return self.column.places[self.column.places != BLANK]

    @property
    def row_values(self) -> np.ndarray:
        """The numbers of the rows that are not blank, in the file's order; NaN where one is none."""
        at = np.zeros(len(self.column.kinds), np.int64)
        at[self._given] = np.arange(len(self._given))
        return self.values[at[self.in_order]]

    @cached_property
    def whole(self) -> bool:
        """Whether all kinds but those declared missing are whole numbers."""
        return bool(np.all(self.values[~self.declared] % 1 == 0)) and not self.declared.all()

    @property
    def labels(self) -> Mapping[str, str]:
        """The file's labels."""
        return self.column.labels

    def label(self, kind: str) -> str:
        """Return what a kind is called."""
        plain = f"missing ({kind})" if kind in self.column.missing else kind
        return self.column.labels.get(kind) or plain or "(empty)"


def least(records: int) -> int:
    """Return how many of so many records a class must hold at least: ten and one in a hundred.

    Of fewer than forty records a quarter, since else no class could be told from another.
    """
    return max(RECORDS, int(np.ceil(SHARE * records))) if records >= 4 * RECORDS else max(1, records // 4)


def plain_whole(kind: str) -> bool:
    """Whether an answer is a whole number in its shortest form, exact as floating-point: 1, not 01 or 1.0."""
    return bool(re.fullmatch(r"-?(0|[1-9][0-9]{0,15})", kind)) and kind != "-0" and abs(int(kind)) < EXACT


def share(part: float, total: float) -> str:
    """Return a share for people: ``31 %``, ``0.4 %``."""
    percent = 100 * part / max(total, 1)
    return f"{percent:.0f} %" if percent >= 1 or percent == 0 else f"{percent:.1g} %"


def said(value: float) -> str:
    """Return a number for people: ``15,000``."""
    whole = value == int(value) and abs(value) < EXACT
    return f"{int(value):,}" if whole else amount(value)
