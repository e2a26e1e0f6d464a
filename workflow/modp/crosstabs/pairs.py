"""Crosstabulations: pair counts, structural zeros, and sums over a record's cells."""

import numpy as np

from modp.survey.records import columns, one_hot

ROWS_AT_ONCE = 1 << 14


def crosstab(codes: np.ndarray, block_starts: np.ndarray) -> np.ndarray:
    """Count the records in every cell (category i, category j).

    Returns
    -------
    int64 of shape (K, K), symmetric; the diagonal holds the univariate counts. Sums over chunks
    are exact: float32 holds whole numbers to 2**24, and a chunk has fewer records.
    """
    size = int(block_starts[-1])
    counts = np.zeros((size, size), np.int64)
    for start in range(0, len(codes), ROWS_AT_ONCE):
        binary = one_hot(codes[start : start + ROWS_AT_ONCE], block_starts)
        counts += np.rint(binary.T @ binary).astype(np.int64)
    return counts


def within_question(block_starts: np.ndarray) -> np.ndarray:
    """Return the (K, K) mask of cells whose two categories belong to one question."""
    question = np.repeat(np.arange(len(block_starts) - 1), np.diff(block_starts))
    return question[:, None] == question[None, :]


def structural_zeros(counts: np.ndarray, block_starts: np.ndarray) -> np.ndarray:
    """Return the (K, K) mask of cells between questions that no true record is in.

    As in the paper, a cell that happens to be empty in this sample counts as structural.
    """
    return (counts == 0) & ~within_question(block_starts)


def record_sums(codes: np.ndarray, block_starts: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Sum ``cells`` over the pairs of answers that a record holds, each pair once.

    Parameters
    ----------
    codes : shape (n, Q)
    cells : shape (K, K), symmetric

    Returns
    -------
    shape (n,), float64: sum over questions q < r of cells[answer q, answer r]
    """
    sums = np.zeros(len(codes))
    for start in range(0, len(codes), ROWS_AT_ONCE):
        chunk = slice(start, start + ROWS_AT_ONCE)
        answers = columns(codes[chunk], block_starts)
        for q in range(answers.shape[1] - 1):
            sums[chunk] += cells[answers[:, q, None], answers[:, q + 1 :]].sum(axis=1)
    return sums
