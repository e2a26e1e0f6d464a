"""Which cells of a crosstab are what: inside a question, structural zeros."""

from typing import Literal

import numpy as np

Zeros = Literal["sample", "likely", "stated"]
"""What counts as a structural zero: a cell that no true record is in; one that is so though chance would have
put records there; or what the question set states.
"""

EXPECTED = 3.0
"""Records that independent answers would put into an empty cell that is taken for impossible: with so many
expected, chance leaves it empty once in 20 times.
"""

IMPLIED = 6.0
"""Records that independent answers would give other answers to a question than the only one that goes with
an answer to another question, if that is taken for a rule: once in 400 times.
"""


def question_of(block_starts: np.ndarray) -> np.ndarray:
    """Return each category's question, int64 (K,)."""
    return np.repeat(np.arange(len(block_starts) - 1), np.diff(block_starts))


def within_question(block_starts: np.ndarray) -> np.ndarray:
    """Return the (K, K) mask of cells whose two categories belong to one question."""
    question = question_of(block_starts)
    return question[:, None] == question[None, :]


def structural_zeros(counts: np.ndarray, block_starts: np.ndarray) -> np.ndarray:
    """Return the (K, K) mask of cells between questions that no true record is in.

    As in the paper, a cell that happens to be empty in this sample counts as structural.
    """
    return (counts == 0) & ~within_question(block_starts)


def likely_zeros(counts: np.ndarray, block_starts: np.ndarray) -> np.ndarray:
    """Return the (K, K) mask of empty cells between questions that chance does not explain.

    They are those in which independent answers would make ``EXPECTED`` records; and, where an answer goes
    with only one answer to another question, and independence would give ``IMPLIED`` of its records others,
    all the others. Where answers are independent these are errors at the rates exp(-EXPECTED) a cell and
    exp(-IMPLIED) a rule, at most.

    Parameters
    ----------
    counts : (K, K), a crosstab
    """
    empty, single = structural_zeros(counts, block_starts), np.diag(counts)
    expected = np.where(empty, np.outer(single, single) / max(single[: block_starts[1]].sum(), 1), 0)
    others = np.add.reduceat(expected, block_starts[:-1], axis=1)
    alone = np.add.reduceat(counts > 0, block_starts[:-1], axis=1) == 1
    implied = (alone & (others >= IMPLIED))[:, question_of(block_starts)]
    return empty & ((expected >= EXPECTED) | implied | implied.T)
