"""Swapping answers between synthetic records where that brings the crosstab closer to the true one.

The paper announces such a step at the end of its section on post-processing.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from modp.base.loops import compiled
from modp.crosstabs.cells import within_question
from modp.crosstabs.pairs import crosstab
from modp.survey.records import Records

START_SHARE = 0.05
"""Part of the promising swaps of a question that the GPU tries at once, before it adapts it."""


@dataclass(frozen=True)
class Limits:
    """When to stop: after so many passes, seconds, or a pass that gains less than a share."""

    passes: int
    seconds: float
    improvement: float


@dataclass(frozen=True)
class Problem:
    """Records whose crosstab should be another one.

    ``true_counts`` (K, K) are of ``n_true`` records, scaled to those where the numbers differ; ``zeros`` is
    the mask (K, K) of the structural zeros.
    """

    records: Records
    true_counts: np.ndarray
    zeros: np.ndarray
    n_true: int


def swap(
    problem: Problem,
    limits: Limits,
    rng: np.random.Generator,
    device: torch.device,
    report: Callable[[int, float], None],
) -> np.ndarray:
    """Exchange answers to one question between two records, as long as the discrepancy falls.

    The discrepancy is the sum over cells between questions of the squared log ratio d (paper,
    equation 11, pseudocount 1). A pass goes through the questions in random order and for each
    through random pairs of records. Every category's own count stays as it is, and no exchange
    gives a record a structural zero.

    Parameters
    ----------
    problem : the records and what their crosstab should be
    device : the CPU tries one pair after the other; a GPU many at once
    report : told of each pass and the discrepancy after it

    Returns
    -------
    codes of the records' shape, with at most the same discrepancy
    """
    kind = _OneByOne if device.type == "cpu" else _ManyAtOnce
    state = kind(problem, device)
    began, before = time.monotonic(), state.discrepancy()
    for number in range(1, limits.passes + 1):
        for question in rng.permutation(problem.records.codes.shape[1]):
            state.improve(int(question), rng)
            if time.monotonic() - began > limits.seconds:
                break
        after = state.discrepancy()
        report(number, after)
        if before - after <= limits.improvement * before or time.monotonic() - began > limits.seconds:
            break
        before = after
    return state.codes()


class _State:
    """The records so far, the counts of their crosstab, and what these should be."""

    def __init__(self, problem: Problem, held: Callable[[np.ndarray], Any] = lambda array: array):
        records, self.starts = problem.records, problem.records.block_starts
        scale = problem.n_true / max(len(records), 1)
        self.columns = held(records.columns)
        self.counts = held(crosstab(records))
        self.logs = held(np.log(np.arange(len(records) + 1) * scale + 1))  # of every count that there can be
        self.target = held(np.log(problem.true_counts + 1.0))
        self.zeros = held(problem.zeros)
        self.between = held(np.triu(~within_question(self.starts)))

    def discrepancy(self) -> float:
        return float(((self.logs[self.counts] - self.target)[self.between] ** 2).sum())


class _OneByOne(_State):
    """Tries pairs of records in turn, each against the counts that the last one left."""

    def __init__(self, problem: Problem, _: torch.device):
        super().__init__(problem)

    def improve(self, question: int, rng: np.random.Generator) -> None:
        order = rng.permutation(len(self.columns))
        _try_pairs(self.columns, question, order, self.counts, self.logs, self.target, self.zeros)

    def codes(self) -> np.ndarray:
        return (self.columns - self.starts[:-1]).astype(np.int16)


@compiled
def _try_pairs(
    columns: np.ndarray,
    question: int,
    order: np.ndarray,
    counts: np.ndarray,
    logs: np.ndarray,
    target: np.ndarray,
    zeros: np.ndarray,
) -> None:
    """Exchange the answers of records that stand together in ``order`` where it lowers the sum."""
    for pair in range(len(order) // 2):
        first, second = columns[order[2 * pair]], columns[order[2 * pair + 1]]
        u, v = first[question], second[question]
        if u == v:
            continue
        change = 0.0
        for r in range(columns.shape[1]):
            i, j = first[r], second[r]
            if r == question:
                continue
            if zeros[v, i] or zeros[u, j]:
                change = np.inf
                break
            if i == j:
                continue
            for a, b, step in ((u, i, -1), (v, i, 1), (v, j, -1), (u, j, 1)):
                now, then = counts[a, b], counts[a, b] + step
                change += (logs[then] - target[a, b]) ** 2 - (logs[now] - target[a, b]) ** 2
        if change < 0:
            for r in range(columns.shape[1]):
                i, j = first[r], second[r]
                if r == question or i == j:
                    continue
                for a, b, step in ((u, i, -1), (v, i, 1), (v, j, -1), (u, j, 1)):
                    counts[a, b] += step
                    counts[b, a] += step
            first[question], second[question] = v, u


class _ManyAtOnce(_State):
    """Tries random pairs of all records at once, and takes back what did not help."""

    def __init__(self, problem: Problem, device: torch.device):
        super().__init__(problem, lambda array: torch.from_numpy(array).to(device))
        self.device, self.share = device, START_SHARE

    def improve(self, question: int, rng: np.random.Generator) -> None:
        order = torch.from_numpy(rng.permutation(len(self.columns))).to(self.device)
        half = len(order) // 2
        first, second = order[:half], order[half : 2 * half]
        change = self._changes(question, first, second)
        lucky = torch.from_numpy(rng.random(half)).to(self.device) < self.share
        chosen = (change < 0) & lucky
        first, second = first[chosen], second[chosen]
        before = self.discrepancy()
        self._exchange(question, first, second)
        if self.discrepancy() > before:
            self._exchange(question, first, second)
            self.share /= 2
        else:
            self.share = min(1.0, 1.2 * self.share)

    def _cells(self, question: int, first: torch.Tensor, second: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The cells (m, Q, 4) of exchanges, in which of (m, Q) counts change, and by what (4,)."""
        i, j = self.columns[first], self.columns[second]
        u, v = (x[:, [question]].expand_as(i) for x in (i, j))
        size = len(self.counts)
        cells = torch.stack([u * size + i, v * size + i, v * size + j, u * size + j], dim=2)
        active = (i != j) & (u != v)
        active[:, question] = False
        return cells, active, torch.tensor([-1, 1, -1, 1], device=self.device)

    def _changes(self, question: int, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        cells, active, step = self._cells(question, first, second)
        now = self.counts.view(-1)[cells]
        target = self.target.view(-1)[cells]
        then = (now + step).clamp(0, len(self.logs) - 1)
        change = (self.logs[then] - target) ** 2 - (self.logs[now] - target) ** 2
        forbidden = self.zeros.view(-1)[cells[:, :, [1, 3]]].any(dim=2)
        forbidden[:, question] = False
        total = (change.sum(dim=2) * active).sum(dim=1)
        return total.masked_fill(forbidden.any(dim=1), math.inf)

    def _exchange(self, question: int, first: torch.Tensor, second: torch.Tensor) -> None:
        cells, active, step = self._cells(question, first, second)
        cells, steps = cells[active].reshape(-1), step.repeat(int(active.sum()))
        size = len(self.counts)
        flat = self.counts.view(-1)
        flat.index_add_(0, cells, steps)
        flat.index_add_(0, cells % size * size + cells // size, steps)
        u, v = self.columns[first, question], self.columns[second, question]
        self.columns[first, question], self.columns[second, question] = v, u

    def codes(self) -> np.ndarray:
        return (self.columns.cpu().numpy() - self.starts[:-1]).astype(np.int16)
