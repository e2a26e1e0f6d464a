"""Sequential draws (sweeps) of the stationary model.

The model is P(x) ∝ exp(Σ_q c[x_q] + Σ_{q<r} W[x_q, x_r] + Σ_t V_t[x_t1, x_t2, x_t3]), where x_q is the
one-hot column of the answer to question q and t are triples of questions: a Potts model with some
three-way terms, of which a sweep is one round of Gibbs sampling. A sweep
goes through the questions in one random order for all records and redraws each answer given the
record's current other answers. Records do not touch each other, so threads share them out.
"""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from modp.base.loops import compiled, in_threads
from modp.crosstabs.triples import ends
from modp.draws.gibbs import GOLDEN, LANES, Rows, mix, residual_columns, sweep_rows

ROWS_AT_ONCE = 2048
"""Records that a thread takes at a time. A multiple of 64, the bits of a word."""

SHARDS = 8
"""Parts into which a sum over records is cut. Fixed, so that it has one order on any threads."""

ORDER = np.uint64(2**64 - 1)
"""The "record" whose uniform numbers give a sweep's order of the questions."""


@dataclass(frozen=True)
class Tables:
    """A model, also laid out for the kernels.

    weights : float32 (K, K), W
    bias : float32 (K,), c
    excluded : uint8 (K, K), 1 at structural zeros
    block_starts : int64 (Q + 1,)
    rows : the same, for kernels that go question by question
    last_terms : int64 (T, 6), the terms of ``rows`` for each triple's last question, in the triples' order
    """

    weights: np.ndarray
    bias: np.ndarray
    excluded: np.ndarray
    block_starts: np.ndarray
    rows: Rows
    last_terms: np.ndarray


@dataclass(frozen=True)
class Swept:
    """What a sweep returns.

    codes : int16 (n, Q)
    changed : number of answers that differ from those before the sweep
    entropy_bits : float64 (n,), entropy of the distributions drawn from, summed over a record's
        questions; None if not asked for
    """

    codes: np.ndarray
    changed: int
    entropy_bits: np.ndarray | None


def tables(
    w: np.ndarray,
    c: np.ndarray,
    excluded: np.ndarray,
    block_starts: np.ndarray,
    triples: np.ndarray | None = None,
    values: np.ndarray | None = None,
) -> Tables:
    """Lay out a model for :func:`sweep`.

    Parameters
    ----------
    w : shape (K, K), symmetric, zero inside blocks
    c : shape (K,)
    excluded : bool of shape (K, K), symmetric: structural zeros
    block_starts : shape (Q + 1,)
    triples : shape (T, 3), triples of different questions that have weights of their own; None for none
    values : those weights, one triple after the other, each in the order of its cells with the last
        question's category changing fastest

    Raises
    ------
    ValueError
        if there are not as many values as the triples have cells
    FloatingPointError
        if a weight is infinite or not a number, with which a sweep would keep the answers as they are
    """
    starts = np.ascontiguousarray(block_starts, np.int64)
    triples = np.zeros((0, 3), np.int64) if triples is None else np.asarray(triples, np.int64)
    values = np.zeros(0, np.float32) if values is None else np.asarray(values, np.float32)
    weights, bias = np.ascontiguousarray(w, np.float32), np.ascontiguousarray(c, np.float32)
    if not all(np.isfinite(part).all() for part in (weights, bias, values)):
        raise FloatingPointError("a stationary model has weights that are infinite or not a number")
    zeros = np.ascontiguousarray(excluded, np.uint8)
    widths = -(-np.diff(starts) // LANES) * LANES
    parts = _question_rows(weights, bias, zeros, starts, widths)
    begins = np.concatenate([[0], np.cumsum((len(bias) + 1) * widths)])
    more, terms = _triple_rows(triples, values, starts, widths, begins[-1])
    in_order = np.ascontiguousarray(terms[np.argsort(terms[:, 1], kind="stable")])
    term_starts = np.searchsorted(in_order[:, 1], np.arange(len(starts)))
    rows = Rows(np.concatenate([*parts, *more]), begins[:-1], widths, in_order, term_starts)
    return Tables(weights, bias, zeros, starts, rows, terms[: len(triples)])


def _question_rows(
    weights: np.ndarray, bias: np.ndarray, zeros: np.ndarray, starts: np.ndarray, widths: np.ndarray
) -> list[np.ndarray]:
    """Return the numbers of :class:`Rows` that are about each question."""
    parts = []
    for q, width in enumerate(widths):
        block, size = slice(starts[q], starts[q + 1]), starts[q + 1] - starts[q]
        rows = np.zeros((len(bias) + 1, width), np.float32)
        rows[0, :size], rows[0, size:] = bias[block], -np.inf
        rows[1:, :size] = np.where(zeros[:, block], -np.inf, weights[:, block])
        parts.append(rows.ravel())
    return parts


def _triple_rows(
    triples: np.ndarray, values: np.ndarray, starts: np.ndarray, widths: np.ndarray, begin: int
) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the numbers of :class:`Rows`, from ``begin`` on, that are about triples, and the terms."""
    places, sizes = ends(triples, np.diff(starts)), np.diff(starts)
    if len(values) != places[-1]:
        raise ValueError("triples have not as many values as cells")
    parts, terms = [], []
    for axes in ((0, 1, 2), (0, 2, 1), (1, 2, 0)):
        for triple, (first, last) in zip(triples, itertools.pairwise(places), strict=True):
            cells = values[first:last].reshape(sizes[triple]).transpose(axes)
            one, other, own = triple[list(axes)]
            rows = np.zeros((*cells.shape[:2], widths[own]), np.float32)
            rows[:, :, : cells.shape[2]] = cells
            step, other_step = cells.shape[1] * widths[own], widths[own]
            home = begin - starts[one] * step - starts[other] * other_step
            terms.append((home, own, one, step, other, other_step))
            parts.append(rows.ravel())
            begin += rows.size
    return parts, np.array(terms, np.int64).reshape(-1, 6)


def sweep(
    codes: np.ndarray,
    model: Tables,
    seed: int,
    number: int,
    threads: int,
    entropy: bool = False,
    held: np.ndarray | None = None,
) -> Swept:
    """Redraw every answer once, given the record's current other answers.

    An answer whose pair with any current answer is a structural zero is never drawn. A record
    without one therefore stays without; a question of which every category is excluded (which
    happens only to a record that had a structural zero) keeps its answer.

    Parameters
    ----------
    codes : int16 of shape (n, Q); left as it is
    seed, number : the random numbers are a function of the seed, the sweep's number, the record's
        row and the question alone; see :func:`uniform_numbers` and :func:`question_order`
    threads : how many threads share the records; without influence on the result
    entropy : whether to compute the entropy of what was drawn from
    held : bool (n, Q), answers that stay as they are; None for none
    """
    new = np.array(codes, np.int16, order="C")
    fixed = clamped(held)
    n, questions = new.shape
    order = question_order(seed, number, questions)
    bits = np.zeros(n if entropy else 0)
    key = key_of(seed, number)

    def part(start: int) -> int:
        stop = min(start + ROWS_AT_ONCE, n)
        return sweep_rows(new, start, stop, model.block_starts, order, model.rows, key, bits, fixed)

    changed = sum(in_threads(part, range(0, n, ROWS_AT_ONCE), threads))
    return Swept(new, changed, bits if entropy else None)


def clamped(held: np.ndarray | None) -> np.ndarray:
    """Return the answers that stay as kernels have them: uint8 (n, Q), without rows where none does."""
    return np.zeros((0, 0), np.uint8) if held is None else np.ascontiguousarray(held, np.uint8)


def question_order(seed: int, number: int, questions: int) -> np.ndarray:
    """Return the order of the questions in a sweep: int64 (Q,)."""
    return np.argsort(_words(seed, number, np.array([ORDER]), questions)[0], kind="stable")


def uniform_numbers(seed: int, number: int, n: int, questions: int) -> np.ndarray:
    """Return a sweep's uniform numbers, float32 (n, Q), as the kernel makes them.

    Counter-based: with ``mix`` the finaliser of splitmix64 (Steele, Lea and Flood, 2014) and G its
    golden increment, record i's stream is the splitmix64 that starts at
    s = mix(mix(mix(seed) + G·(number + 1)) + G·(i + 1)); question q uses its (q + 1)-th word,
    mix(s + G·(q + 1)), of which the upper 24 bits are the number.
    """
    words = _words(seed, number, np.arange(n, dtype=np.uint64), questions)
    return (words >> np.uint64(40)).astype(np.float32) * np.float32(2**-24)


def residuals(codes: np.ndarray, model: Tables, threads: int, rows: np.ndarray | None = None) -> np.ndarray:
    """Sum R ⊗ (R - P) over records: answers times what their questions' conditionals missed.

    With R a record's one-hot answers and P the conditional distribution of each question given
    the record's other answers, entry (i, j) is the derivative of the log pseudo-likelihood by
    the weight with which category i predicts category j.

    Parameters
    ----------
    codes : int16 of shape (n, Q)
    rows : which rows to sum over, instead of all

    Returns
    -------
    float64 of shape (K, K), the same to the bit on any number of threads
    """
    codes = np.ascontiguousarray(codes, np.int16)
    rows = np.arange(len(codes)) if rows is None else np.asarray(rows, np.int64)
    step = max(256, -(-len(rows) // SHARDS))

    total = np.zeros(model.weights.shape)

    def part(some: np.ndarray) -> None:
        residual_columns(codes, rows, step, model.block_starts, model.rows, some[0], some[-1] + 1, total)

    parts = np.array_split(np.arange(codes.shape[1]), min(codes.shape[1], 4 * threads))
    in_threads(part, parts, threads)
    return total


def gains(
    codes: np.ndarray, w: np.ndarray, c: np.ndarray, block_starts: np.ndarray, threads: int
) -> np.ndarray:
    """Sum weights over the answers and pairs of answers of each record: Σ_q c[x_q] + Σ_{q<r} W[x_q, x_r].

    Parameters
    ----------
    codes : int16 of shape (n, Q)
    w, c : shapes (K, K), symmetric, and (K,)

    Returns
    -------
    float64 (n,), the same to the bit on any number of threads
    """
    rows, starts = np.ascontiguousarray(codes, np.int16), np.ascontiguousarray(block_starts, np.int64)
    pairs, single = np.ascontiguousarray(w, np.float64), np.ascontiguousarray(c, np.float64)
    parts = range(0, len(rows), ROWS_AT_ONCE)
    work = lambda start: _gain_rows(rows[start : start + ROWS_AT_ONCE], starts, pairs, single)  # noqa: E731
    return np.concatenate([np.empty(0), *in_threads(work, parts, threads)])


def terms_of(model: Tables, q: int, answers: Any, numbers: Any, categories: Any) -> Any:
    """Sum the weights of the triples that question ``q`` is in, for each of its categories.

    Parameters
    ----------
    answers : columns, integers (n, Q), in NumPy or on a device of torch, and so
    numbers : the model's, and
    categories : 0, 1 … of question ``q``

    Returns
    -------
    (n, categories), or 0 if there are no such triples
    """
    total = 0
    for home, _, r, r_step, s, s_step in model.rows.terms[slice(*model.rows.term_starts[q : q + 2])].tolist():
        at = home + answers[:, r] * r_step + answers[:, s] * s_step
        total = total + numbers[at[:, None] + categories]
    return total


def key_of(seed: int, number: int) -> np.uint64:
    """Return the key of a sweep's random numbers."""
    step = GOLDEN * np.array([number + 1], np.uint64)
    return mix(mix(np.array([seed], np.uint64)) + step)[0]


def _words(seed: int, number: int, rows: np.ndarray, questions: int) -> np.ndarray:
    states = mix(key_of(seed, number) + GOLDEN * (rows + np.uint64(1)))
    return mix(states[:, None] + GOLDEN * np.arange(1, questions + 1, dtype=np.uint64))


@compiled
def _gain_rows(codes, starts, w, c):
    """Sum weights over each row's answers and pairs of answers: see :func:`gains`."""
    questions = codes.shape[1]
    sums = np.zeros(codes.shape[0])
    answers = np.empty(questions, np.int64)
    for i in range(codes.shape[0]):
        total = 0.0
        for q in range(questions):
            answers[q] = starts[q] + codes[i, q]
            total += c[answers[q]]
            row = w[answers[q]]
            for r in range(q):
                total += row[answers[r]]
        sums[i] = total
    return sums
