"""Which cells of a crosstab are what: inside a question, structural zeros."""

from typing import Literal

import numpy as np

Zeros = Literal["sample", "stated"]
"""What counts as a structural zero: a cell that no true record is in, or what the question set states."""


def within_question(block_starts: np.ndarray) -> np.ndarray:
    """Return the (K, K) mask of cells whose two categories belong to one question."""
    question = np.repeat(np.arange(len(block_starts) - 1), np.diff(block_starts))
    return question[:, None] == question[None, :]


def structural_zeros(counts: np.ndarray, block_starts: np.ndarray) -> np.ndarray:
    """Return the (K, K) mask of cells between questions that no true record is in.

    As in the paper, a cell that happens to be empty in this sample counts as structural.
    """
    return (counts == 0) & ~within_question(block_starts)
