"""Sequential draws (sweeps) of the stationary pairwise model, and the crosstab of its chains.

The model is P(x) ∝ exp(Σ_q c[x_q] + Σ_{q<r} W[x_q, x_r]), where x_q is the one-hot column of the
answer to question q: a Potts model, of which a sweep is one round of Gibbs sampling. A sweep
goes through the questions in one random order for all records and redraws each answer given the
record's current other answers. Records do not touch each other, so threads share them out.
"""

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numba import types
from numba.extending import intrinsic

from modp.kernels import compiled, in_threads
from modp.triples import ends

CPU = torch.device("cpu")

ROWS_AT_ONCE = 2048
"""Records that a thread takes at a time. A multiple of 64, the bits of a word."""

TORCH_ROWS = 1 << 17
"""Records that the torch path takes at a time: two float32 tables of K columns."""

SHARDS = 8
"""Parts into which a sum over records is cut. Fixed, so that it has one order on any threads."""

LANES = 8
"""Exponentials are computed so many at a time, over the end of a short block into padding."""

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
ORDER = np.uint64(2**64 - 1)
"""The "record" whose uniform numbers give a sweep's order of the questions."""

LIMIT = np.float32(80)
"""Bound of a log odds against the present answer: its exponential must fit into float32."""

LOG2_E = np.float32(1.44269504088896341)
LN2_HIGH = np.float32(0.693359375)
LN2_LOW = np.float32(-2.12194440e-4)
ROUNDER = np.float32(12582912.0)
POLYNOMIAL = tuple(
    np.float32(x)
    for x in (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 0.5)
)
P0, P1, P2, P3, P4, P5 = POLYNOMIAL


@dataclass(frozen=True)
class Tables:
    """A model laid out for the kernels: rows padded with zeros to a whole number of cache lines.

    weights : float32 (K, padded K), W
    bias : float32 (padded K,), c
    excluded : uint8 (K, padded K), 1 at structural zeros
    block_starts : int64 (Q + 1,)
    values : float32, the weights of triples of answers, three times: with the last question's category
        changing fastest, then the second's, then the first's, so that each can be read in one go
    triples : int64 (T, 6): where a triple's values begin, the question of which neighbouring categories'
        values stand together (the last), then the other two, each with the distance between its categories'
    terms : int64 (3 T, 6), as ``triples``, for each of their questions in turn, in the questions' order
    term_starts : int64 (Q + 1,), where a question's terms begin
    """

    weights: np.ndarray
    bias: np.ndarray
    excluded: np.ndarray
    block_starts: np.ndarray
    values: np.ndarray
    triples: np.ndarray
    terms: np.ndarray
    term_starts: np.ndarray


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
        if there are more than 255 questions (conflicts are counted in one byte), or if there are not as
        many values as the triples have cells
    """
    if len(block_starts) > 256:
        raise ValueError("a sweep takes at most 255 questions")
    size = len(c)
    padded = (size + LANES + 15) // 16 * 16
    weights = np.zeros((size, padded), np.float32)
    bias = np.zeros(padded, np.float32)
    zeros = np.zeros((size, padded), np.uint8)
    weights[:, :size], bias[:size], zeros[:, :size] = w, c, excluded
    starts = np.ascontiguousarray(block_starts, np.int64)
    triples = np.zeros((0, 3), np.int64) if triples is None else np.asarray(triples, np.int64)
    values = np.zeros(0, np.float32) if values is None else np.ascontiguousarray(values, np.float32)
    return Tables(weights, bias, zeros, starts, *_laid_out(triples, values, starts))


def _laid_out(triples: np.ndarray, values: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return ``values``, ``triples``, ``terms`` and ``term_starts`` of :class:`Tables`."""
    sizes, places = np.diff(starts)[triples], ends(triples, np.diff(starts))
    if len(values) != places[-1]:
        raise ValueError("triples have not as many values as cells")
    cells = zip(itertools.pairwise(places), sizes, strict=True)
    tables = [values[begin:end].reshape(size) for (begin, end), size in cells]
    copies, terms = [values[:0]], []
    for first, second, own in ((0, 1, 2), (0, 2, 1), (1, 2, 0)):
        copies += [table.transpose(first, second, own).ravel() for table in tables]
        step, here = sizes[:, own], places[:-1] + len(terms) * len(values)
        others = (triples[:, first], sizes[:, second] * step, triples[:, second], step)
        terms.append(np.column_stack([here, triples[:, own], *others]).astype(np.int64))
    every = np.concatenate(terms)
    every = np.ascontiguousarray(every[np.argsort(every[:, 1], kind="stable")])
    return np.concatenate(copies), terms[0], every, np.searchsorted(every[:, 1], np.arange(len(starts)))


def sweep(
    codes: np.ndarray,
    model: Tables,
    seed: int,
    number: int,
    threads: int,
    entropy: bool = False,
    uniform: np.ndarray | None = None,
    order: np.ndarray | None = None,
) -> Swept:
    """Redraw every answer once, given the record's current other answers.

    An answer whose pair with any current answer is a structural zero is never drawn. A record
    without one therefore stays without; a question of which every category is excluded (which
    happens only to a record that had a structural zero) keeps its answer.

    Parameters
    ----------
    codes : int16 of shape (n, Q); left as it is
    seed, number : the random numbers are a function of the seed, the sweep's number, the record's
        row and the question alone; see :func:`uniform_numbers`
    threads : how many threads share the records; without influence on the result
    entropy : whether to compute the entropy of what was drawn from
    uniform : float32 (n, Q) in [0, 1 - 2**-24], instead of the generator's numbers
    order : the questions' order, instead of :func:`question_order`

    Raises
    ------
    ValueError
        if ``uniform`` has not the shape of ``codes``
    """
    new = np.array(codes, np.int16, order="C")
    n, questions = new.shape
    if uniform is not None and np.shape(uniform) != new.shape:
        raise ValueError("uniform numbers and codes differ in shape")
    order = question_order(seed, number, questions) if order is None else np.asarray(order, np.int64)
    given = np.empty((0, questions), np.float32) if uniform is None else np.asarray(uniform, np.float32)
    bits = np.zeros(n if entropy else 0)
    key = _key(seed, number)

    def part(start: int) -> int:
        stop = min(start + ROWS_AT_ONCE, n)
        return _sweep_rows(
            new, start, stop, model.block_starts, order, model.weights, model.bias, model.excluded,
            model.terms, model.term_starts, model.values, given, key, bits,
        )  # fmt: skip

    changed = sum(in_threads(part, range(0, n, ROWS_AT_ONCE), threads))
    return Swept(new, changed, bits if entropy else None)


def question_order(seed: int, number: int, questions: int) -> np.ndarray:
    """Return the order of the questions in a sweep: int64 (Q,)."""
    return np.argsort(_words(seed, number, ORDER[None], questions)[0], kind="stable")


def uniform_numbers(seed: int, number: int, n: int, questions: int) -> np.ndarray:
    """Return a sweep's uniform numbers, float32 (n, Q), as the kernel makes them.

    Counter-based: with ``mix`` the finaliser of splitmix64 (Steele, Lea and Flood, 2014) and G its
    golden increment, record i's stream is the splitmix64 that starts at
    s = mix(mix(mix(seed) + G·(number + 1)) + G·(i + 1)); question q uses its (q + 1)-th word,
    mix(s + G·(q + 1)), of which the upper 24 bits are the number.
    """
    words = _words(seed, number, np.arange(n, dtype=np.uint64), questions)
    return (words >> np.uint64(40)).astype(np.float32) * np.float32(2**-24)


def crosstab(codes: np.ndarray, block_starts: np.ndarray, threads: int) -> np.ndarray:
    """Count the records in every cell, as :func:`modp.crosstab.crosstab` but on ``threads`` threads.

    Each category's records are a row of bits; a cell's count is the number of bits that two rows
    share.

    Returns
    -------
    int64 of shape (K, K), symmetric
    """
    rows = np.ascontiguousarray(codes, np.int16)
    starts = np.ascontiguousarray(block_starts, np.int64)
    step = max(ROWS_AT_ONCE, -(-len(rows) // (4 * threads * ROWS_AT_ONCE)) * ROWS_AT_ONCE)

    def part(start: int) -> np.ndarray:
        return _count_pairs(rows[start : start + step], starts)

    upper = np.zeros((int(starts[-1]),) * 2, np.int64)
    for counts in in_threads(part, range(0, len(rows), step), threads):
        upper += counts
    return upper + np.triu(upper, 1).T


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

    def part(start: int) -> np.ndarray:
        return _residual_rows(
            codes, rows[start : start + step], model.block_starts, model.weights, model.bias, model.excluded
        )

    size = len(model.weights)
    total = np.zeros(model.weights.shape)
    for shard in in_threads(part, range(0, len(rows), step), threads):
        total += shard
    return total[:, :size]


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


@torch.no_grad()
def sweep_on(
    device: torch.device, codes: np.ndarray, model: Tables, seed: int, number: int, entropy: bool = False
) -> Swept:
    """Sweep question by question over all records at once, for a GPU.

    The same distribution as :func:`sweep`, from other random numbers.

    Parameters
    ----------
    codes : int16 of shape (n, Q); left as it is
    seed, number : of the random numbers, which are those of ``device``
    entropy : as in :func:`sweep`
    """
    order = question_order(seed, number, codes.shape[1])
    generator = torch.Generator(device).manual_seed(int(_key(seed, number) >> np.uint64(1)))
    bits = np.zeros(len(codes) if entropy else 0)
    size = int(model.block_starts[-1])
    starts = torch.from_numpy(model.block_starts).to(device)
    weights = torch.from_numpy(model.weights[:, :size]).to(device)
    bias = torch.from_numpy(model.bias[:size]).to(device)
    zeros = torch.from_numpy(model.excluded[:, :size]).to(device, torch.float32)
    values = torch.from_numpy(model.values).to(device)
    swept = np.empty(codes.shape, np.int16)
    for first in range(0, len(codes), TORCH_ROWS):
        rows = slice(first, first + TORCH_ROWS)
        answers = torch.from_numpy(codes[rows].astype(np.int64)).to(device) + starts[:-1]
        records = torch.zeros(len(answers), size, device=device).scatter_(1, answers, 1.0)
        logits, conflicts = bias + records @ weights, records @ zeros
        for q in order.tolist():
            block = slice(int(model.block_starts[q]), int(model.block_starts[q + 1]))
            allowed = conflicts[:, block] < 0.5
            categories = torch.arange(block.stop - block.start, device=device)
            scores = logits[:, block] + terms_of(model, q, answers - starts[:-1], values, categories)
            if entropy:
                bits[rows] += _entropy(scores, allowed).cpu().numpy()
            race = torch.empty_like(scores).exponential_(generator=generator).clamp_min_(1e-30)
            scores = (scores - race.log()).masked_fill_(~allowed, -torch.inf)
            old = answers[:, q].clone()
            new = torch.where(allowed.any(dim=1), scores.argmax(dim=1) + block.start, old)
            logits += weights[new] - weights[old]
            conflicts += zeros[new] - zeros[old]
            answers[:, q] = new
        swept[rows] = (answers - starts[:-1]).to(torch.int16).cpu().numpy()
    return Swept(swept, int(np.count_nonzero(swept != codes)), bits if entropy else None)


def _entropy(logits: torch.Tensor, allowed: torch.Tensor) -> torch.Tensor:
    """Entropy in bits, (n,), of the softmax over the allowed categories; 0 where there are none."""
    logarithms = logits.double().masked_fill(~allowed, -torch.inf).log_softmax(dim=1)
    p = logarithms.exp()
    return -torch.where(p > 0, p * logarithms, 0).sum(dim=1) / math.log(2)


def terms_of(model: Tables, q: int, codes: Any, values: Any, categories: Any) -> Any:
    """Sum the weights of the triples that question ``q`` is in, for each of its categories.

    Parameters
    ----------
    codes : integers (n, Q), in NumPy or on a device of torch, and so
    values : the model's, and
    categories : 0, 1 … of question ``q``

    Returns
    -------
    (n, categories), or 0 if there are no such triples
    """
    total = 0
    for begin, _, r, r_step, s, s_step in model.terms[slice(*model.term_starts[q : q + 2])].tolist():
        at = begin + codes[:, r] * r_step + codes[:, s] * s_step
        total = total + values[at[:, None] + categories]
    return total


def _mixed(z: np.ndarray) -> np.ndarray:
    z = (z ^ (z >> np.uint64(30))) * MIX_1
    z = (z ^ (z >> np.uint64(27))) * MIX_2
    return z ^ (z >> np.uint64(31))


def _key(seed: int, number: int) -> np.uint64:
    step = GOLDEN * np.array([number + 1], np.uint64)
    return _mixed(_mixed(np.array([seed], np.uint64)) + step)[0]


def _words(seed: int, number: int, rows: np.ndarray, questions: int) -> np.ndarray:
    states = _mixed(_key(seed, number) + GOLDEN * (rows + np.uint64(1)))
    return _mixed(states[:, None] + GOLDEN * np.arange(1, questions + 1, dtype=np.uint64))


@compiled
def _mix(z):
    z = (z ^ (z >> np.uint64(30))) * MIX_1
    z = (z ^ (z >> np.uint64(27))) * MIX_2
    return z ^ (z >> np.uint64(31))


@compiled
def _exponential(x):
    """Return exp(x) for a float32 x within ±``LIMIT``, to 2 units in the last place.

    Cephes' expf: x = k ln 2 + f, a polynomial in f, times 2**k. Written out in separate float32
    steps, so that NumPy gives the same bits.
    """
    k = (x * LOG2_E + ROUNDER) - ROUNDER
    f = (x - k * LN2_HIGH) - k * LN2_LOW
    y = P0 * f + P1
    y = y * f + P2
    y = y * f + P3
    y = y * f + P4
    y = y * f + P5
    y = (y * (f * f) + f) + np.float32(1)
    return y * np.int32((np.int32(k) + np.int32(127)) << np.int32(23)).view(np.float32)


@compiled
def _add_rows(logits, conflicts, answers, bias, weights, excluded):
    """Set a record's logits and conflict counts from the columns of its answers.

    Four rows at a time, to read and write the logits less often; added in the answers' order.
    """
    logits[:] = bias
    conflicts[:] = 0
    fours = len(answers) // 4 * 4
    for r in range(0, fours, 4):
        i, j, k, m = answers[r], answers[r + 1], answers[r + 2], answers[r + 3]
        w1, w2, w3, w4 = weights[i], weights[j], weights[k], weights[m]
        for a in range(len(logits)):
            logits[a] = (((logits[a] + w1[a]) + w2[a]) + w3[a]) + w4[a]
        z1, z2, z3, z4 = excluded[i], excluded[j], excluded[k], excluded[m]
        for a in range(len(conflicts)):
            conflicts[a] += z1[a] + z2[a] + z3[a] + z4[a]
    for r in range(fours, len(answers)):
        w1, z1 = weights[answers[r]], excluded[answers[r]]
        for a in range(len(logits)):
            logits[a] += w1[a]
            conflicts[a] += z1[a]


@compiled
def _swap_rows(logits, conflicts, old, new, weights, excluded):
    """Bring a record's logits and conflict counts up to date when an answer changes."""
    before, after = weights[old], weights[new]
    for j in range(logits.shape[0]):
        logits[j] += after[j] - before[j]
    was, now = excluded[old], excluded[new]
    for j in range(conflicts.shape[0]):
        conflicts[j] += now[j] - was[j]


@compiled
def _add_terms(scores, size, answers, starts, terms, first, last, values):
    """Add the weights of the triples that a question is in to the scores of its ``size`` categories."""
    for t in range(first, last):
        r, s = terms[t, 2], terms[t, 4]
        at = terms[t, 0] + (answers[r] - starts[r]) * terms[t, 3] + (answers[s] - starts[s]) * terms[t, 5]
        more = values[at : at + size]
        for j in range(size):
            scores[j] += more[j]


@compiled
def _block_odds(scores, conflicts, size, present, odds):
    """Write each category's odds against the present one, 0 if excluded, to ``odds``."""
    reference = scores[present]
    for first in range(0, size, LANES):
        some = scores[first : first + LANES]
        clashes = conflicts[first : first + LANES]
        out = odds[first : first + LANES]
        for j in range(LANES):
            x = min(max(some[j] - reference, -LIMIT), LIMIT)
            out[j] = _exponential(x) if clashes[j] == 0 else np.float32(0)


@compiled
def _block_entropy(scores, odds, size, present, total):
    """Entropy in bits of the distribution ``odds / total``."""
    mean = 0.0
    for j in range(size):
        x = min(max(scores[j] - scores[present], -LIMIT), LIMIT)
        mean += np.float64(odds[j]) * np.float64(x)
    return (np.log(np.float64(total)) - mean / np.float64(total)) / np.log(2.0)


@compiled
def _sweep_rows(
    codes, first, last, starts, order, weights, bias, excluded, terms, term_starts, values, given, key, bits
):
    """Sweep over rows ``first:last`` of ``codes``, in place; return the number of changes."""
    questions = codes.shape[1]
    widest = 0
    for q in range(questions):
        widest = max(widest, starts[q + 1] - starts[q])
    logits, conflicts = np.empty_like(bias), np.empty(bias.shape[0], np.uint8)
    odds = np.empty(widest + LANES, np.float32)
    cumulative = np.empty(widest + LANES, np.float32)
    with_terms = np.zeros(widest + LANES, np.float32)
    answers = np.empty(questions, np.int64)
    before = np.empty(questions, np.int16)
    changed = 0
    for i in range(first, last):
        for q in range(questions):
            answers[q] = starts[q] + codes[i, q]
            before[q] = codes[i, q]
        _add_rows(logits, conflicts, answers, bias, weights, excluded)
        state = _mix(key + GOLDEN * np.uint64(i + 1))
        for q in order:
            start, stop, present = starts[q], starts[q + 1], answers[q]
            size = stop - start
            scores = logits[start : stop + LANES]
            if term_starts[q] < term_starts[q + 1]:
                with_terms[:size] = logits[start:stop]
                scores = with_terms
                _add_terms(scores, size, answers, starts, terms, term_starts[q], term_starts[q + 1], values)
            _block_odds(scores, conflicts[start : stop + LANES], size, present - start, odds)
            total = np.float32(0)
            for j in range(size):
                total += odds[j]
                cumulative[j] = total
            if total == 0:
                continue
            if bits.shape[0]:
                bits[i] += _block_entropy(scores, odds, size, present - start, total)
            if given.shape[0]:
                u = given[i, q]
            else:
                word = _mix(state + GOLDEN * np.uint64(q + 1)) >> np.uint64(40)
                u = np.float32(word) * np.float32(2**-24)
            target = u * total
            drawn = start
            for j in range(size):
                drawn += cumulative[j] <= target
            if drawn != present:
                _swap_rows(logits, conflicts, present, drawn, weights, excluded)
                answers[q] = drawn
        for q in range(questions):
            code = np.int16(answers[q] - starts[q])
            changed += code != before[q]
            codes[i, q] = code
    return changed


@intrinsic
def _ones(typing_context, word):
    """Number of bits of a 64-bit word that are set."""

    def generate(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@compiled
def _count_pairs(codes, starts):
    """Count the pairs i <= j of the rows, int64 (K, K), ``ROWS_AT_ONCE`` rows at a time."""
    size, questions = starts[-1], codes.shape[1]
    counts = np.zeros((size, size), np.int64)
    words = np.empty((size, ROWS_AT_ONCE // 64), np.uint64)
    for first in range(0, codes.shape[0], ROWS_AT_ONCE):
        words[:] = 0
        for i in range(first, min(first + ROWS_AT_ONCE, codes.shape[0])):
            at, bit = (i - first) >> 6, np.uint64(1) << np.uint64((i - first) & 63)
            for q in range(questions):
                words[starts[q] + codes[i, q], at] |= bit
        for a in range(size):
            left = words[a]
            for b in range(a, size):
                right = words[b]
                shared = np.uint64(0)
                for k in range(ROWS_AT_ONCE // 64):
                    shared += _ones(left[k] & right[k])
                counts[a, b] += np.int64(shared)
    return counts


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


@compiled
def _residual_rows(codes, rows, starts, weights, bias, excluded):
    """Sum over records of R ⊗ (R - P): see :func:`residuals`. float32 (K, padded K)."""
    questions = codes.shape[1]
    widest = 0
    for q in range(questions):
        widest = max(widest, starts[q + 1] - starts[q])
    logits, conflicts = np.empty_like(bias), np.empty(bias.shape[0], np.uint8)
    odds = np.empty(widest + LANES, np.float32)
    rest = np.zeros_like(bias)
    answers = np.empty(questions, np.int64)
    total = np.zeros(weights.shape, np.float32)
    for i in rows:
        for q in range(questions):
            answers[q] = starts[q] + codes[i, q]
        _add_rows(logits, conflicts, answers, bias, weights, excluded)
        for q in range(questions):
            start, stop, present = starts[q], starts[q + 1], answers[q]
            scores, clashes = logits[start : stop + LANES], conflicts[start : stop + LANES]
            _block_odds(scores, clashes, stop - start, present - start, odds)
            mass = np.float32(0)
            for j in range(stop - start):
                mass += odds[j]
            scale = np.float32(1) / max(mass, np.float32(1e-30))
            for j in range(stop - start):
                rest[start + j] = -odds[j] * scale
            rest[present] += np.float32(1)
        for a in answers:
            row = total[a]
            for j in range(rest.shape[0]):
                row[j] += rest[j]
    return total
