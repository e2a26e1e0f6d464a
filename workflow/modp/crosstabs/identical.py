"""Counting records that are identical."""

import numpy as np


def identities(codes: np.ndarray) -> np.ndarray:
    """Number the distinct records: the same number, int64 (n,), for records (n, Q) that are identical."""
    group = np.zeros(len(codes), np.int64)
    for answers in codes.T:
        # Two records stay in one group while they agree; the group numbers stay below n.
        _, group = np.unique(group * (int(answers.max(initial=0)) + 1) + answers, return_inverse=True)
    return group


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
