"""Which questions of two members get weights for their pairs of answers.

Of all pairs of questions and roles most say nothing that others do not. Those with weights are the ones whose
tables the chains miss most, as the triples of the stationary model are.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from modp.survey.households import ROLES

ROUNDS = 2
"""Pairs are chosen so many times, each time for an equal share of the weights: what those before explain is
not chosen again."""

FEWEST = 2
"""Pairs of members that a cell must have, true or drawn, to get a weight."""

CLEAR = 2.0
"""A table is missed if it is so many standard deviations of sampling noise further away than by noise."""


def misfit(
    true: Sequence[np.ndarray], found: Sequence[np.ndarray], block: np.ndarray, often: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return by how much found counts of each block miss the true ones, without what sampling noise makes.

    The product of two independent halves' deviations has the squared deviation of their expectations as its
    own expectation. The sum over cells is in units of the sampling variance of both halves' counts; of
    independent counts that miss nothing it has a standard deviation of twice the root of the cells.

    Parameters
    ----------
    true, found : of each half, of one shape. Halves are independent, and found ones of as many households
    block : int64, of that shape, the number of each cell's block; only cells that are ``often`` are looked at
    often : bool, of that shape

    Returns
    -------
    misfit : float64 (blocks,)
    cells : int64 (blocks,)
    """
    number, many = block[often], int(block.max(initial=-1)) + 1
    one, other = (a[often] - b[often] for a, b in zip(true, found, strict=True))
    both = true[0][often] + true[1][often]
    return (
        np.bincount(number, 4 * one * other / (both + 1), many),
        np.bincount(number, minlength=many),
    )


def worst(misfit: np.ndarray, cells: np.ndarray, taken: np.ndarray, most: float) -> np.ndarray:
    """Add to the blocks that are taken those that are missed most, for each of their cells.

    Parameters
    ----------
    misfit, cells : as :func:`misfit` returns them
    taken : bool (blocks,)
    most : cells of all blocks that are taken, at most

    Returns
    -------
    bool (blocks,)
    """
    missed = ~taken & (cells > 0) & (misfit > CLEAR * 2 * np.sqrt(cells))
    order = np.flatnonzero(missed)
    order = order[np.argsort(-misfit[order] / cells[order], kind="stable")]
    fits = np.cumsum(cells[order]) <= most - cells[taken].sum()
    chosen = taken.copy()
    chosen[order[fits]] = True
    return chosen


@dataclass
class Choice:
    """The choice, while a fit goes on.

    true : float64 (R, R, K, K), what is counted of the true households of each half of the chains
    block : int64, of that shape, as in :func:`modp.crosstabs.members.blocks_of`
    possible : bool, of that shape, cells that may get weights
    most : weights, at most
    """

    true: Sequence[np.ndarray]
    block: np.ndarray
    possible: np.ndarray
    most: float
    rounds: int = 0
    taken: np.ndarray = field(init=False)
    once: np.ndarray = field(init=False)
    sums: list[np.ndarray] = field(init=False)
    counted: int = field(init=False)

    def __post_init__(self) -> None:
        self.taken = np.zeros(int(self.block.max(initial=-1)) + 1, bool)
        self.once = np.zeros_like(self.possible)
        for a in range(len(ROLES)):
            self.once[a, a + 1 :] = True
            self.once[a, a] = np.triu(np.ones(self.once.shape[2:], bool))
        self.forget()

    def forget(self) -> None:
        """Leave aside what has been seen so far."""
        self.sums, self.counted = [np.zeros(part.shape) for part in self.true], 0

    @property
    def ended(self) -> bool:
        """Whether all has been chosen."""
        return self.rounds == ROUNDS

    def see(self, halves: Sequence[np.ndarray]) -> None:
        """Take up what is counted of the chains' halves."""
        self.counted += 1
        for total, half in zip(self.sums, halves, strict=True):
            total += half

    def cells(self) -> np.ndarray:
        """Choose once more, by what has been seen; return the cells that get weights."""
        self.rounds += 1
        found = [total / self.counted for total in self.sums]
        often = self.possible & (np.maximum(sum(self.true), sum(found)) >= FEWEST)
        known = misfit(self.true, found, self.block, often & self.once)
        self.taken = worst(*known, self.taken, self.most * self.rounds / ROUNDS)
        return often & self.taken[np.maximum(self.block, 0)]
