"""Counting records that are identical."""

import numpy as np

PACKED = 1 << 62
"""Values of the numbers into which answers are packed."""

SORTED_AT_ONCE = 1 << 20
"""Records of one share, of which the distinct are told together, in the mean."""


def identities(*tables: np.ndarray) -> np.ndarray:
    """Number the distinct records: the same number for records that are identical.

    Parameters
    ----------
    tables : codes of shape (n, Q), not negative

    Returns
    -------
    int64, the first table's records first
    """
    packed, values = np.zeros(sum(map(len, tables)), np.int64), 1
    for q in range(tables[0].shape[1]):
        answers = np.concatenate([codes[:, q] for codes in tables])
        size = int(answers.max(initial=0)) + 1
        if values * size > PACKED:
            packed = _numbered(packed)
            values = int(packed.max(initial=0)) + 1
        packed *= size
        packed += answers
        values *= size
    return _numbered(packed)


def _numbered(packed: np.ndarray) -> np.ndarray:
    """The number, from 0 on, of each distinct value, some shares of the values at a time."""
    shares = max(len(packed) // SORTED_AT_ONCE, 1)
    if shares == 1:
        return np.unique(packed, return_inverse=True)[1]
    share, found, first = packed % shares, np.empty(len(packed), np.int64), 0
    for number in range(shares):
        rows = np.flatnonzero(share == number)
        kinds, which = np.unique(packed[rows], return_inverse=True)
        found[rows] = first + which
        first += len(kinds)
    return found


def multiplicity(codes: np.ndarray) -> np.ndarray:
    """Count the records that are identical to each record, itself included (paper, Figure 14).

    Parameters
    ----------
    codes : shape (n, Q), not negative

    Returns
    -------
    int64 of shape (n,), at least 1; its sum over distinct records is n
    """
    group = identities(codes)
    return np.bincount(group)[group]
