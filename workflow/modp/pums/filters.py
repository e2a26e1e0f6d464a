"""Filters of records: named, and telling what they did."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from modp.base.errors import InputError

FilterName = Literal["housing_units", "occupied", "household_persons"]


@dataclass(frozen=True)
class Filter:
    """Which records stay: those whose answer in every column of one of ``tests`` is in its range.

    The first test whose columns the file has is taken. A range includes both its ends.
    """

    records: str
    meaning: str
    tests: tuple[Mapping[str, tuple[int, int]], ...]

    def test(self, present: Sequence[str]) -> Mapping[str, tuple[int, int]] | None:
        """Return the test that a file with these columns admits."""
        return next((test for test in self.tests if set(test) <= set(present)), None)


FILTERS: Mapping[str, Filter] = {
    "housing_units": Filter("housing", "no group quarters", ({"TYPEHUGQ": (1, 1)},)),
    "occupied": Filter(
        "housing", "neither vacant nor group quarters", ({"TYPEHUGQ": (1, 1), "NP": (1, 99)},)
    ),
    "household_persons": Filter(
        "persons",
        "nobody in group quarters",
        ({"RELSHIPP": (20, 36)}, {"RELP": (0, 15)}, {"TYPEHUGQ": (1, 1)}),
    ),
}


def columns(name: str) -> list[str]:
    """Return every raw column that the filter may look at."""
    return [column for test in FILTERS[name].tests for column in test]


def passes(name: str, raw: Mapping[str, np.ma.MaskedArray], where: str) -> np.ndarray:
    """Tell which records a filter keeps.

    Parameters
    ----------
    name : one of ``FILTERS``
    raw : column name -> integers of shape (n,), masked where blank
    where : names the files, for the message

    Returns
    -------
    booleans of shape (n,); a blank in the filter's column is no reason to stay

    Raises
    ------
    InputError
        if the files lack the columns that the filter needs
    """
    test = FILTERS[name].test(list(raw))
    if test is None:
        choices = " or ".join(" and ".join(t) for t in FILTERS[name].tests)
        raise InputError(f"{where}: the filter {name!r} needs {choices}, which the files lack")
    kept = [np.ma.filled((raw[c] >= low) & (raw[c] <= high), False) for c, (low, high) in test.items()]
    return np.logical_and.reduce(kept)
