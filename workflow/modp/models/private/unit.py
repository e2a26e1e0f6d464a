"""Households as what a guarantee protects: of each so many records, by a rule that knows it alone."""

from hashlib import blake2b

import numpy as np


def taken(codes: np.ndarray, households: np.ndarray, most: int, seed: int) -> np.ndarray:
    """Choose at most so many records of each household.

    They are those whose hash, of the household's answers, their place among them and the seed, is least: as
    good as chosen by lot, and yet a function of the household and the seed alone. So whoever comes or goes
    with a household adds or takes away its own chosen records, no more than ``most``, and none of others'.

    Parameters
    ----------
    codes : int16 (n, Q)
    households : (n,), the number of each record's household
    most : at least 1

    Returns
    -------
    int64 (m,), rows in ascending order
    """
    order = np.argsort(households, kind="stable")
    _, first, sizes = np.unique(households[order], return_index=True, return_counts=True)
    kept = np.ones(len(codes), bool)
    for start, size in zip(first[sizes > most], sizes[sizes > most], strict=True):
        rows = order[start : start + size]
        kept[rows[_by_lot(codes[rows], seed)[most:]]] = False
    return np.flatnonzero(kept)


def _by_lot(codes: np.ndarray, seed: int) -> list[int]:
    """Places of a household's records in the order of their hashes."""
    answers = codes.astype("<i2").tobytes()
    hashes = [blake2b(f"{seed} {place} ".encode() + answers).digest() for place in range(len(codes))]
    return sorted(range(len(codes)), key=hashes.__getitem__)
