"""Crosstabulations: pair counts, and sums over a record's cells."""

import numpy as np
from numba import types
from numba.extending import intrinsic

from modp.base.loops import compiled, in_threads
from modp.survey.records import Records

ROWS_AT_ONCE = 1 << 14
"""Records whose cells are summed at a time."""

COUNTED_AT_ONCE = 2048
"""Records that a thread counts at a time. A multiple of 64, the bits of a word."""


def crosstab(records: Records, threads: int = 1) -> np.ndarray:
    """Count the records in every cell (category i, category j); see :func:`counts`."""
    return counts(records.codes, records.block_starts, threads)


def counts(codes: np.ndarray, block_starts: np.ndarray, threads: int = 1) -> np.ndarray:
    """Count the records in every cell (category i, category j).

    Each category's records are a row of bits; a cell's count is the number of bits that two rows
    share.

    Parameters
    ----------
    codes : shape (n, Q)
    threads : how many threads share the records; without influence on the result

    Returns
    -------
    int64 of shape (K, K), symmetric; the diagonal holds the univariate counts
    """
    rows = np.ascontiguousarray(codes, np.int16)
    starts = np.ascontiguousarray(block_starts, np.int64)
    size = int(starts[-1])
    # Each part has a table of its own: many of them balance threads where tables are small beside records.
    parts = threads if size**2 > len(rows) else 4 * threads
    step = max(COUNTED_AT_ONCE, -(-len(rows) // (parts * COUNTED_AT_ONCE)) * COUNTED_AT_ONCE)

    def part(start: int) -> np.ndarray:
        return _count_pairs(rows[start : start + step], starts)

    counted = in_threads(part, range(0, len(rows), step), threads)
    upper = counted[0] if counted else np.zeros((size, size), np.int64)
    for some in counted[1:]:
        upper += some
    _mirror(upper)
    return upper


def record_sums(records: Records, cells: np.ndarray) -> np.ndarray:
    """Sum ``cells`` over the pairs of answers that a record holds, each pair once.

    Parameters
    ----------
    cells : shape (K, K), symmetric

    Returns
    -------
    shape (n,), float64: sum over questions q < r of cells[answer q, answer r]
    """
    sums = np.zeros(len(records))
    for start in range(0, len(records), ROWS_AT_ONCE):
        chunk = slice(start, start + ROWS_AT_ONCE)
        answers = records[chunk].columns
        for q in range(answers.shape[1] - 1):
            sums[chunk] += cells[answers[:, q, None], answers[:, q + 1 :]].sum(axis=1)
    return sums


@intrinsic
def _ones(typing_context, word):
    """Number of bits of a 64-bit word that are set."""

    def generate(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@compiled
def _count_pairs(codes, starts):
    """Count the pairs i <= j of the rows, int64 (K, K), ``COUNTED_AT_ONCE`` rows at a time."""
    size, questions = starts[-1], codes.shape[1]
    counts = np.zeros((size, size), np.int64)
    words = np.empty((size, COUNTED_AT_ONCE // 64), np.uint64)
    for first in range(0, codes.shape[0], COUNTED_AT_ONCE):
        words[:] = 0
        for i in range(first, min(first + COUNTED_AT_ONCE, codes.shape[0])):
            at, bit = (i - first) >> 6, np.uint64(1) << np.uint64((i - first) & 63)
            for q in range(questions):
                words[starts[q] + codes[i, q], at] |= bit
        for a in range(size):
            left = words[a]
            for b in range(a, size):
                right = words[b]
                shared = np.uint64(0)
                for k in range(COUNTED_AT_ONCE // 64):
                    shared += _ones(left[k] & right[k])
                counts[a, b] += np.int64(shared)
    return counts


@compiled
def _mirror(counts):
    """Copy what is above the diagonal to below it, in tiles that stay at hand."""
    size, tile = len(counts), 32
    for first in range(0, size, tile):
        for second in range(0, first + 1, tile):
            for i in range(first, min(first + tile, size)):
                for j in range(second, min(second + tile, i)):
                    counts[i, j] = counts[j, i]
