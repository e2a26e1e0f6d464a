"""A table as its file holds it: answers as text, and all that is needed to write such a file again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from modp.base.rows import column_rooms, row_groups

BLANK = -1
"""The place of an empty answer."""


@dataclass(frozen=True)
class Column:
    """One column of a table of n rows, whose answers are of m kinds.

    name : of the column, as the file has it; unique in its table
    kinds : m different answers as text, as the file writes them (``01`` stays ``01``; a decimal comma is a
        point here). A number that the file holds as such is written shortest: ``33``, ``12.5``; a date
        ``2021-03-31``, with a time of day ``2021-03-31T12:00:00``; truth values ``True`` and ``False``
    places : int32 (n,), the index of each row's answer among ``kinds``, or ``BLANK``
    label : what the file says that the column is, or nothing
    labels : the file's own labels, answer -> label
    missing : those of ``kinds`` that the file declares to be missing answers (refused, do not know …)
    dtype : what the file holds: ``text``, ``integer``, ``number``, ``boolean``, ``date``, ``datetime``
        or ``category``. A CSV's columns are all ``text``
    """

    name: str
    kinds: np.ndarray
    places: np.ndarray
    label: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    missing: frozenset[str] = frozenset()
    dtype: str = "text"

    @property
    def counts(self) -> np.ndarray:
        """How many rows give each kind of answer, (m,)."""
        return np.bincount(self.places[self.places != BLANK], minlength=len(self.kinds))

    @property
    def words(self) -> np.ma.MaskedArray:
        """The answers as text, objects (n,), masked where blank."""
        blank = self.places == BLANK
        texts = np.append(self.kinds, "")[self.places] if len(self.kinds) else np.full(len(blank), "", object)
        return np.ma.array(texts, mask=blank)

    @property
    def told(self) -> dict[str, Any]:
        """All but the rows, as JSON has it."""
        kept = {"name": self.name, "label": self.label, "labels": dict(self.labels), "dtype": self.dtype}
        return kept | {"kinds": self.kinds.tolist(), "missing": sorted(self.missing)}

    @classmethod
    def of(cls, told: Mapping[str, Any], places: np.ndarray) -> Self:
        """Return a column of which this was told, with its rows."""
        changed = {"kinds": np.array(told["kinds"], object), "missing": frozenset(told["missing"])}
        return cls(**{**told, **changed}, places=places)


@dataclass(frozen=True)
class Table:
    """A table of n rows: its columns in the file's order.

    said : what was found out about the file, a sentence a line (its encoding, its delimiter …)
    """

    columns: tuple[Column, ...]
    said: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Number of rows, n."""
        return len(self.columns[0].places) if self.columns else 0

    @property
    def names(self) -> list[str]:
        """The columns' names."""
        return [column.name for column in self.columns]

    def __getitem__(self, name: str) -> Column:
        """Return the column of this name; raise KeyError if there is none."""
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)

    def replaced(self, column: Column) -> "Table":
        """Return the table with this column in place of the one of its name."""
        return replace(self, columns=tuple(column if c.name == column.name else c for c in self.columns))


def stacked(tables: Sequence[Table]) -> Table:
    """Return the rows of several tables in one; raise ValueError if their columns are not the same."""
    if len(tables) == 1:
        return tables[0]
    for table in tables:
        if table.names != tables[0].names:
            raise ValueError("the tables' columns are not the same")
    columns = zip(*(table.columns for table in tables), strict=True)
    said = tuple(dict.fromkeys(line for table in tables for line in table.said))
    rooms = column_rooms(sum(map(len, tables)), len(tables[0].columns))
    return Table(tuple(_stacked(*some) for some in zip(columns, rooms, strict=True)), said)


def _stacked(parts: Sequence[Column], joined: np.ndarray) -> Column:
    """Columns one below the other, whose places go into a given room."""
    kinds, where = np.unique(np.concatenate([part.kinds for part in parts]).astype(str), return_inverse=True)
    starts = np.cumsum([0, *(len(part.kinds) for part in parts)])
    first = 0
    for part, start in zip(parts, starts, strict=False):
        to = np.append(where[start : start + len(part.kinds)], BLANK)
        for at in row_groups(len(part.places)):
            joined[first + at.start : first + at.stop] = to[part.places[at]]
        first += len(part.places)
    labels = {text: label for part in parts for text, label in part.labels.items()}
    missing = frozenset().union(*(part.missing for part in parts))
    return replace(parts[0], kinds=kinds.astype(object), places=joined, labels=labels, missing=missing)
