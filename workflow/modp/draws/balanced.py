"""Balanced draws: records chosen among many drawn, and mended, so that their crosstab is the expected one.

n records drawn independently have a sampling noise of their own. It is taken out by a choice of n among a
pool of records drawn, towards the mean crosstab of many draws, and then, answer by answer, by a choice among
answers redrawn given the record's others. No true record and no true count is looked at: the choices are a
function of what a model drew.
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

MOST_PASSES, MENDED = 20, 2_000_000
"""Times that every answer is redrawn, if a pass does not gain too little before, and no more than so many
records in all passes, but in one: the more records there are, the less noise is left."""

Redraw = Callable[[np.ndarray, np.ndarray, int], np.ndarray]
"""(codes (n, Q), bool (n, Q) of those that stay, a number of its own) -> codes with the others redrawn."""

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
    tried = min(math.ceil(TRIED * n), len(drawn) - n)
    first = before = discrepancy(excess, weight)
    for number in range(1, MOST_ROUNDS + 1):
        scores = _scored(codes, rows, starts, (2 * excess * weight).astype(np.float32), threads)
        worst = np.argsort(-scores[:n], kind="stable")[:tried]
        best = n + np.argsort(scores[n:], kind="stable")[:tried]
        for _ in range(PAIRINGS):
            _try_pairs(codes, rows, starts, rng.permutation(worst), rng.permutation(best), excess, weight)
        after = discrepancy(excess, weight)
        report(number, after)
        if after <= ENOUGH * first or before - after < GAIN * before:
            break
        before = after
    return rows[:n]


def mended(
    codes: np.ndarray,
    expected: np.ndarray,
    redraw: Redraw,
    block_starts: np.ndarray,
    rng: np.random.Generator,
    threads: int = 1,
) -> np.ndarray:
    """Redraw single answers given the record's others, and keep those that lower the discrepancy.

    A pass asks every record for each of its answers once, not all for the same one at a time. An answer that
    replaces another moves Q cells, where a record moves Q²: what the choice of whole records leaves is within
    reach.

    Parameters
    ----------
    codes : int16 (n, Q); left as they are
    expected : (K, K), the crosstab that they should have
    block_starts : shape (Q + 1,)
    threads : without influence on the result

    Returns
    -------
    int16 (n, Q)
    """
    starts, (n, questions) = np.asarray(block_starts, np.int64), codes.shape
    codes, each, held = np.array(codes, np.int16, order="C"), np.arange(n), np.ones(codes.shape, bool)
    excess, weight = counts(codes, starts, threads) - expected, 1 / (expected + 1)
    before = discrepancy(excess, weight)
    for number in range(max(1, min(MOST_PASSES, MENDED // max(n, 1)))):
        order, first = rng.permutation(questions), rng.integers(questions, size=n)
        for place in range(questions):
            asked = order[(first + place) % questions]
            held[each, asked] = False
            redrawn = redraw(codes, held, number * questions + place)
            held[each, asked] = True
            _try_answers(codes, redrawn, asked, starts, excess, weight)
        after = discrepancy(excess, weight)
        if before - after <= GAIN * before:
            break
        before = after
    return codes


def discrepancy(excess: np.ndarray, weight: np.ndarray) -> float:
    """Return the sum of excess² · weight over cells i <= j of two symmetric tables (K, K)."""
    squares = excess**2 * weight
    return float(squares.sum() + np.trace(squares)) / 2


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


@compiled
def _try_answers(codes, redrawn, asked, starts, excess, weight):
    """Take a record's redrawn answer to the question it is asked for, where it lowers the discrepancy."""
    for i in range(len(codes)):
        q = asked[i]
        out, new = starts[q] + codes[i, q], starts[q] + redrawn[i, q]
        if out == new:
            continue
        change = weight[out, out] * (1 - 2 * excess[out, out])
        change += weight[new, new] * (1 + 2 * excess[new, new])
        for r in range(codes.shape[1]):
            if r != q:
                c = starts[r] + codes[i, r]
                change += weight[out, c] * (1 - 2 * excess[out, c])
                change += weight[new, c] * (1 + 2 * excess[new, c])
        if change >= 0:
            continue
        excess[out, out] -= 1
        excess[new, new] += 1
        for r in range(codes.shape[1]):
            if r != q:
                c = starts[r] + codes[i, r]
                excess[out, c] -= 1
                excess[c, out] -= 1
                excess[new, c] += 1
                excess[c, new] += 1
        codes[i, q] = redrawn[i, q]
