"""Holding records out: the people whom no model sees, for whom a release cannot be blamed."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

MISSED = 0.1
"""A share to hold out is missed if by more than so much of it."""

SHOWN = 3
"""Households named in a message."""


def households_of(names: np.ma.MaskedArray) -> np.ndarray:
    """Return the number of each record's household, int64 (n,) from 0; a blank name is its own household."""
    numbers, _ = pd.factorize(names.data)
    blank = np.ma.getmaskarray(names)
    if not blank.any():
        return numbers
    numbers[blank] = len(numbers) + np.arange(blank.sum())
    return np.unique(numbers, return_inverse=True)[1]


def split(households: np.ma.MaskedArray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Choose households at random to be held out.

    One that does not fit into what is left of the share is passed over, for the next that does.

    Parameters
    ----------
    households : shape (n,), the name of each record's household; a blank one is its own household
    share : of the records, at most so many are held out

    Returns
    -------
    mask of shape (n,): the records held out. Those of a household stay together.
    """
    household = households_of(households)
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


def missed(households: np.ma.MaskedArray, share: float, held: np.ndarray) -> str:
    """Return a sentence where less was held out than asked for, or nothing.

    Parameters
    ----------
    households, share : as :func:`split` takes them
    held : the mask that it returned
    """
    wanted, found = round(share * len(held)), int(held.sum())
    largest = int(np.bincount(households_of(households)).max(initial=0))
    if not share or (found and wanted - found <= MISSED * wanted):
        return ""
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
