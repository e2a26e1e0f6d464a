"""Priors on the weights: how much of its own records' noise a fitted model does not repeat.

A prior pulls weights to zero. Where the fit ends, what is missing of a true count A in the model's expected
one, A - E, is the pull on the cell's weight, minus the derivative of the log prior. Single categories are not
pulled, so that margins stay the records'.

How strong it is, is learnt from the records themselves (empirical Bayes): the variance of the weights of each
pair, or triple, of questions by EM, with the posterior's variance of a weight by Laplace's approximation.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from modp.crosstabs.cells import question_of

Kind = Literal["none", "student", "gaussian", "common", "box"]
"""``student``: heavy tails, of a scale for each pair of questions; ``gaussian``: the same without tails;
``common``: Gaussian, of one standard deviation for all pairs; ``box``: expected counts stay within one
standard deviation of the true ones (Dudík, Phillips and Schapire, 2007), and weights that this needs not are
zero.
"""

DEGREES = 3.0
"""Of freedom of Student's distribution."""

LEAST = 0.02
"""Smallest variance of weights."""

FIRST = 0.25
"""Variance before anything is learnt."""


@dataclass
class Prior:
    """The prior of weights that stand in an array.

    kind : not ``none``
    counts : true counts of the weights' cells, of the array's shape
    group : int64, of the same shape: the pair or triple of questions of each weight; -1 for cells without
    variances : float64, of each group's weights; those of ``box`` are not used
    """

    kind: Kind
    counts: np.ndarray
    group: np.ndarray
    variances: np.ndarray

    @classmethod
    def of(cls, kind: Kind, counts: np.ndarray, group: np.ndarray) -> "Prior":
        """Return the prior of weights about which nothing is known yet."""
        group = np.where(group >= 0, 0, -1) if kind == "common" else group
        return cls(kind, counts, group, np.full(int(group.max(initial=-1)) + 1, FIRST))

    @property
    def _width(self) -> np.ndarray:
        """By how much a ``box`` lets each expected count differ."""
        return np.sqrt(self.counts + 0.5)

    def pull(
        self, weights: np.ndarray, missing: np.ndarray, stiffness: np.ndarray | None = None
    ) -> np.ndarray:
        """Return minus the derivative of the log prior, in records; 0 for cells without weights.

        Parameters
        ----------
        weights : of ``counts``' shape
        missing : A - E as far as known, which a ``box`` tolerates of a weight of zero
        stiffness : at these weights, where that is known already
        """
        if self.kind == "box":
            width = self._width
            pull = np.where(weights == 0, np.clip(missing, -width, width), width * np.sign(weights))
        else:
            pull = weights * (self.stiffness(weights) if stiffness is None else stiffness)
        return np.where(self.group >= 0, pull, 0)

    def stiffness(self, weights: np.ndarray) -> np.ndarray:
        """Return the pull over the weight, which is positive; zeros for a ``box``."""
        if self.kind == "box" or not len(self.variances):
            return np.zeros(weights.shape)
        variances = self.variances[self.group]
        if self.kind == "student":
            return (DEGREES + 1) / (DEGREES * variances + weights**2)
        return 1 / variances

    def held_back(self, before: np.ndarray, after: np.ndarray, missing: np.ndarray) -> np.ndarray:
        """Return weights after a step; in a ``box`` they stop at zero, and stay while it tolerates that."""
        if self.kind != "box":
            return after
        kept = (before == 0) & (np.abs(missing) <= self._width)
        return np.where(kept | (before * after < 0), 0.0, after)

    def settled(self, average: np.ndarray, last: np.ndarray) -> np.ndarray:
        """Return averaged weights, in a ``box`` zero where the last ones are."""
        return np.where(last == 0, 0.0, average) if self.kind == "box" else average

    def learn(self, weights: np.ndarray) -> None:
        """Take a step of EM, to the variances under which the weights are likelier."""
        if self.kind == "box" or not len(self.variances):
            return
        inside = self.group >= 0
        group, w, stiff = self.group[inside], weights[inside], self.stiffness(weights)[inside]
        squares = w**2 + 1 / (self.counts[inside] + 0.5 + stiff)
        # The scale that a Student weight's own variance is a multiple of.
        share = stiff * self.variances[group]
        sums = np.bincount(group, share * squares, len(self.variances))
        weights_in = np.maximum(np.bincount(group, minlength=len(self.variances)), 1)
        self.variances = np.maximum(sums / weights_in, LEAST)


def pairs_of(block_starts: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Number the pair of questions of each cell, int64 (K, K), symmetric; -1 where a cell is not ``free``."""
    question = question_of(block_starts)
    first, second = (of.outer(question, question) for of in (np.minimum, np.maximum))
    found = np.full(free.shape, -1, np.int64)
    found[free] = np.unique((first * len(block_starts) + second)[free], return_inverse=True)[1]
    return found
