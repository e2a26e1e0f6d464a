"""Holding records out: the people whom no model sees, for whom a release cannot be blamed."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

MISSED = 0.1
"""A share to hold out is missed if by more than so much of it."""

SHOWN = 3
"""Households named in a message."""


def households_of(names: np.ma.MaskedArray) -> np.ndarray:
    """Return the number of each record's household, int32 (n,), from 0; a blank name is its own household.

    Parameters
    ----------
    names : shape (n,), words, or whole numbers from 0 on. Those that are not blank are numbered as they first
        appear, and blank ones after them
    """
    known = ~np.ma.getmaskarray(names)
    numbers = np.empty(len(names), np.int32)
    given = names.data[known]
    numbers[known] = _as_they_appear(given) if given.dtype.kind == "i" else pd.factorize(given)[0]
    numbers[~known] = numbers[known].max(initial=-1) + 1 + np.arange(len(names) - len(given))
    return numbers


def _as_they_appear(values: np.ndarray) -> np.ndarray:
    """Number whole numbers (n,) anew, int32, from 0 on in the order in which they first appear."""
    first = np.full(values.max(initial=-1) + 1, len(values), np.int32)
    # Of several rows the one that is written last stands: the first.
    first[values[::-1]] = np.arange(len(values) - 1, -1, -1, dtype=np.int32)
    begins = np.zeros(len(values) + 1, bool)
    begins[first] = True
    place = np.cumsum(begins, dtype=np.int32) - 1
    found: np.ndarray = place[first][values]
    return found


def split(household: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Choose households at random to be held out.

    One that does not fit into what is left of the share is passed over, for the next that does.

    Parameters
    ----------
    household : whole numbers (n,), each record's household, as :func:`households_of` numbers them
    share : of the records, at most so many are held out

    Returns
    -------
    mask of shape (n,): the records held out. Those of a household stay together.
    """
    sizes = np.bincount(household)
    taken = np.zeros(len(sizes), bool)
    left, waiting = round(share * len(household)), rng.permutation(len(sizes))
    while len(waiting):
        filled = np.cumsum(sizes[waiting])
        fit = int(np.searchsorted(filled, left, side="right"))
        taken[waiting[:fit]] = True
        left -= int(filled[fit - 1]) if fit else 0
        # All as large as the first that does not fit are passed over with it, so this ends soon.
        waiting = waiting[fit:][sizes[waiting[fit:]] <= left]
    return taken[household]


def missed(household: np.ndarray, share: float, held: np.ndarray) -> str:
    """Return a sentence where less was held out than asked for, or nothing.

    Parameters
    ----------
    household, share : as :func:`split` takes them
    held : the mask that it returned
    """
    wanted, found = round(share * len(held)), int(held.sum())
    if not share or (found and wanted - found <= MISSED * wanted):
        return ""
    largest = int(np.bincount(household).max(initial=0))
    why = (
        "all records are of one household"
        if largest == len(held) > 1
        else f"a household stays together, and the largest has {largest:,} of the {len(held):,} records"
        if largest > 1
        else "there are too few records"
    )
    if found:
        return f"{found:,} records are held out instead of {wanted:,}: {why}"
    return f"no record is held out, so attacks and the distance from other people are not measured: {why}"


def in_both(train: np.ma.MaskedArray, held: np.ma.MaskedArray) -> list[str]:
    """Return the households, by their names as text, of which both arrays of names have records, sorted."""
    return sorted(set(map(str, train.compressed())) & set(map(str, held.compressed())))


def first_of(names: Sequence[str]) -> str:
    """Return the first few names, and how many more there are, for a message."""
    more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    return f"{', '.join(names[:SHOWN])}{more}"
