"""How far a fit by sweeping chains has come: when a level of steps ends, and when to go back."""

import math
from dataclasses import dataclass
from typing import Literal

BURN_IN = 2
"""Windows of a level in which the chains follow the new steps, and nothing is decided yet."""

PLATEAU = 0.9
"""A window whose bias is not below so much of the level's least one is stale."""

PATIENCE = 2
"""A level over which weights are averaged ends after so many stale windows in a row."""

FAR = 0.5
"""Weights are not averaged while a window's bias, in units of sampling variance, is above this."""

WORSE = 2.0
"""A window whose discrepancy is so many times the best one's (and noise's) is divergence."""

WORSE_EARLY = 4.0
"""The same while the chains burn in."""

MOST_HALVINGS = 10

DRIFTING = 2
"""Times in a row that shorter steps did not help, after which what grew is taken for chains that only now
come to the distribution of their weights: once in a fit, and up to ``RUNAWAY`` times the best discrepancy."""

RUNAWAY = 5.0

Verdict = Literal["worse", "good", "go on"]
"""Of a window: to go back from it, to come back to it, or neither."""


@dataclass
class Progress:
    """How far a fit has come.

    level : 0 before the first one
    ended : whether the level is done
    windows : windows of the level since its start, or since the last divergence
    least, bias : least bias of the level and that of its last window, once it has burnt in
    stale : windows since the bias last fell
    best : least discrepancy so far
    scale : factor of all steps, halved at each of the ``halvings``
    in_vain : halvings since a window was last good
    drifted : whether chains were once taken to have come to their distribution late
    """

    level: int = 0
    ended: bool = True
    windows: int = 0
    least: float = math.inf
    bias: float = math.inf
    stale: int = 0
    best: float = math.inf
    scale: float = 1.0
    halvings: int = 0
    in_vain: int = 0
    drifted: bool = False

    def enter(self) -> None:
        """Begin the next level."""
        self.level, self.ended = self.level + 1, False
        self.windows, self.stale, self.least = 0, 0, math.inf

    def again(self) -> None:
        """Begin the level anew, of more weights than before: what they are of was not looked at."""
        self.ended, self.best = False, math.inf
        self.windows, self.stale, self.least = 0, 0, math.inf

    def begins_average(self, bias: float, averaged: int) -> bool:
        """Whether the average of weights begins anew after the next window, if that has this bias.

        Parameters
        ----------
        averaged : the first level over which weights are averaged
        """
        return self.level == averaged and (self.windows + 1 == BURN_IN or bias > FAR)

    def judge(
        self, discrepancy: float, bias: float, averaged: int, tolerance: float, most_windows: int
    ) -> Verdict:
        """Count a window; end the level if its bias is small or falls no more.

        Small is the mean of two windows.

        Parameters
        ----------
        discrepancy, bias : means over the window
        averaged : as above
        tolerance, most_windows : of a level
        """
        self.windows += 1
        worse = WORSE if self.windows > BURN_IN else WORSE_EARLY
        if not discrepancy <= worse * max(self.best, 1.0):
            far = not discrepancy <= RUNAWAY * max(self.best, 1.0)
            if self.in_vain < DRIFTING or self.drifted or far:
                return "worse"
            self.best, self.drifted = discrepancy, True
        good = False
        if self.windows >= BURN_IN:
            good = discrepancy <= self.best
            self.stale = 0 if bias < PLATEAU * self.least else self.stale + 1
            small = self.windows > BURN_IN and (bias + self.bias) / 2 <= tolerance
            self.ended = small or self.stale == (PATIENCE if self.level >= averaged else 1)
            self.least, self.bias = min(self.least, bias), bias
        if not self.ended:
            self.best = min(self.best, discrepancy)
            self.ended = self.windows >= most_windows
        self.in_vain = 0 if good else self.in_vain
        return "good" if good else "go on"

    def halve(self, what: str) -> None:
        """Go on with half the steps; raise FloatingPointError if ``what`` diverges at any step."""
        self.halvings += 1
        if self.halvings > MOST_HALVINGS:
            raise FloatingPointError(f"the fit of {what} diverges at any step")
        self.scale /= 2
        self.in_vain += 1
        self.windows = 0
