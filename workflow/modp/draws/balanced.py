"""Balanced draws: records chosen among many drawn, so that their crosstab is the expected one.

n records drawn independently have a sampling noise of their own. It is taken out by a choice of n among a
pool of records drawn, towards the mean crosstab of many draws. No true record and no true count is looked at:
the choice is a function of what a model drew.
"""

import math
from collections.abc import Callable

import numpy as np

from modp.base.loops import compiled, in_threads
from modp.crosstabs.pairs import counts

TRIED = 0.4
"""Share of the chosen records, those that make the crosstab worst, that a round tries to replace."""

PAIRINGS = 6
"""Times that a round pairs them anew with candidates."""

ENOUGH = 0.05
"""A discrepancy of so much of the first one is noise that nobody sees: the choice ends."""

GAIN = 0.01
"""A round that takes away less than so much of the discrepancy is the last."""

MOST_ROUNDS = 60

ROWS_AT_ONCE = 1 << 14


def chosen(
    drawn: np.ndarray,
    expected: np.ndarray,
    n: int,
    block_starts: np.ndarray,
    rng: np.random.Generator,
    threads: int = 1,
    report: Callable[[int, float], None] = lambda *_: None,
) -> np.ndarray:
    """Choose records whose crosstab is near the expected one, none twice.

    The discrepancy is the sum of (S - E)² / (E + 1) over cells i <= j, with S the crosstab of those chosen
    and E the expected one. Each round scores every record by what it adds to the discrepancy,
    pairs chosen ones of high scores with others of low ones at random, and exchanges a pair where that
    lowers the discrepancy.

    Parameters
    ----------
    drawn : int16 (P, Q), more records than n, or there is no choice; it begins with the first n
    expected : (K, K), the crosstab that n records should have
    block_starts : shape (Q + 1,)
    threads : without influence on the result
    report : told of each round and the discrepancy after it

    Returns
    -------
    int64 (n,), rows of ``drawn``
    """
    rows = np.arange(len(drawn))  # those chosen, then the others
    if len(drawn) <= n:
        return rows
    starts = np.asarray(block_starts, np.int64)
    codes = np.ascontiguousarray(drawn, np.int16)
    excess = counts(drawn[:n], starts, threads) - expected
    weight = 1 / (expected + 1)
    upper = np.triu_indices(len(weight))
    tried = min(math.ceil(TRIED * n), len(drawn) - n)

    def discrepancy() -> float:
        return float((excess[upper] ** 2 * weight[upper]).sum())

    first = before = discrepancy()
    for number in range(1, MOST_ROUNDS + 1):
        scores = _scored(codes, rows, starts, (2 * excess * weight).astype(np.float32), threads)
        worst = np.argsort(-scores[:n], kind="stable")[:tried]
        best = n + np.argsort(scores[n:], kind="stable")[:tried]
        for _ in range(PAIRINGS):
            _try_pairs(codes, rows, starts, rng.permutation(worst), rng.permutation(best), excess, weight)
        after = discrepancy()
        report(number, after)
        if after <= ENOUGH * first or before - after < GAIN * before:
            break
        before = after
    return rows[:n]


def _scored(
    codes: np.ndarray, rows: np.ndarray, starts: np.ndarray, slope: np.ndarray, threads: int
) -> np.ndarray:
    scores = np.empty(len(rows), np.float32)

    def part(first: int) -> None:
        some = slice(first, first + ROWS_AT_ONCE)
        _score(codes, rows[some], starts, slope, scores[some])

    in_threads(part, range(0, len(rows), ROWS_AT_ONCE), threads)
    return scores


@compiled
def _score(codes, rows, starts, slope, scores):
    """Sum ``slope`` over each of the rows' cells."""
    questions = codes.shape[1]
    columns = np.empty(questions, np.int64)
    for i in range(len(rows)):
        total = np.float32(0)
        for q in range(questions):
            columns[q] = starts[q] + codes[rows[i], q]
            for r in range(q + 1):
                total += slope[columns[q], columns[r]]
        scores[i] = total


@compiled
def _try_pairs(codes, rows, starts, chosen, candidates, excess, weight):
    """Exchange the rows at places that stand together where it lowers the discrepancy."""
    out, new = np.empty((2, codes.shape[1]), np.int64)
    for k in range(len(chosen)):
        for q in range(len(out)):
            out[q] = starts[q] + codes[rows[chosen[k]], q]
            new[q] = starts[q] + codes[rows[candidates[k]], q]
        change = 0.0
        for q in range(len(out)):
            for r in range(q + 1):
                a, b, c, d = out[q], out[r], new[q], new[r]
                if a != c or b != d:
                    change += weight[a, b] * (1 - 2 * excess[a, b]) + weight[c, d] * (1 + 2 * excess[c, d])
        if change >= 0:
            continue
        for q in range(len(out)):
            for r in range(q + 1):
                a, b, c, d = out[q], out[r], new[q], new[r]
                excess[a, b] -= 1
                excess[c, d] += 1
                if q != r:
                    excess[b, a] -= 1
                    excess[d, c] += 1
        rows[chosen[k]], rows[candidates[k]] = rows[candidates[k]], rows[chosen[k]]
