"""Raw columns by their names, of which one at a time is looked at: files of millions of rows have many."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

Raw = Mapping[str, np.ma.MaskedArray]
"""Column -> its answers (n,), masked where blank."""


class Named(Raw):
    """Columns by their names, of which none is looked at before it is asked for."""

    names: Sequence[str]

    def __contains__(self, name: object) -> bool:
        """Whether there is a column of the name."""
        return name in self.names

    def __iter__(self) -> Iterator[str]:
        """The names of the columns."""
        return iter(self.names)

    def __len__(self) -> int:
        """Number of columns."""
        return len(self.names)


@dataclass(frozen=True)
class Made(Named):
    """Columns that are made anew each time that one is asked for.

    names : of all columns
    make : a name -> its answers (n,)
    """

    names: Sequence[str]
    make: Callable[[str], np.ma.MaskedArray]

    def __getitem__(self, name: str) -> np.ma.MaskedArray:
        """Return a column; raise KeyError if there is none of the name."""
        if name not in self.names:
            raise KeyError(name)
        return self.make(name)


def at_rows(raw: Raw, rows: np.ndarray) -> Raw:
    """Return the columns of some of the records, which whole numbers or a mask say."""
    return Made(list(raw), lambda name: raw[name][rows])


def within(kept: np.ndarray, some: np.ndarray) -> np.ndarray:
    """Return the mask (n,) of those of the kept records (m,) that a mask (m,) says."""
    found = kept.copy()
    found[kept] = some
    return found
