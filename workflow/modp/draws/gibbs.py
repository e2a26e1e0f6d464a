"""Kernels that redraw answers, question by question, and measure what conditionals miss.

Numba makes no vector instructions of loops over a question's few categories, so the innermost ones are
written for LLVM. There every step is one rounding of float32, never fused, so that NumPy and any processor
give the same bits. All stand in one file because Numba's cache does not see changes of another one.
"""

from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from modp.base.loops import compiled

LANES = 8
"""Categories that are treated at a time."""

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)

LIMIT = np.float32(80)
"""Bound of a logarithm: its exponential must fit into float32."""

LOG2_E = np.float32(1.44269504088896341)
LN2_HIGH = np.float32(0.693359375)
LN2_LOW = np.float32(-2.12194440e-4)
ROUNDER = np.float32(12582912.0)
POLYNOMIAL = tuple(
    np.float32(x)
    for x in (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 0.5)
)

FLOATS = ir.VectorType(ir.FloatType(), LANES)
INTEGERS = ir.VectorType(ir.IntType(32), LANES)
INDEX = ir.IntType(64)


class Rows(NamedTuple):
    """A model laid out so that all that is known about the categories of one question stands together.

    numbers : float32, for each question c of its categories, then a row of W for every category of all
        questions, with -∞ at structural zeros; then the weights of triples three times, with the last
        question's category changing fastest, then the second's, then the first's. All rows are padded to
        whole ``LANES``, those of c with -∞
    begins, widths : int64 (Q,), where a question's rows begin, and how long they are
    terms : int64 (3 T, 6), in the questions' order, for each question of each triple: the place of the row
        of the other two questions' answers, were their columns zero; the question; then the other two, each
        with the distance between rows of neighbouring columns
    term_starts : int64 (Q + 1,), where a question's terms begin
    """

    numbers: np.ndarray
    begins: np.ndarray
    widths: np.ndarray
    terms: np.ndarray
    term_starts: np.ndarray


@intrinsic
def add_up(typing_context, numbers, home, width, answers, terms, first, last, out):
    """Write the sum of rows of ``width`` numbers, a multiple of ``LANES``, to ``out``.

    The rows begin, in the order in which they are added, at ``home``; at ``home`` + (a + 1) * ``width`` for
    all ``answers`` a; and at t[0] + answers[t[2]] * t[3] + answers[t[4]] * t[5] for the rows t of ``terms``
    from ``first`` to before ``last``.

    ``numbers`` and ``out`` are float32, ``answers`` int32, and ``terms`` int64 of six columns.
    """

    def generate(context, builder, signature, arguments):
        questions = context.make_array(signature.args[3])(context, builder, arguments[3]).nitems
        numbers, home, width, answers, terms, first, last, out = _arguments(
            context, builder, signature, arguments
        )
        total = cgutils.alloca_once(builder, FLOATS)

        def add(place):
            more = builder.load(_lanes(builder, numbers, place), align=4)
            builder.store(builder.fadd(builder.load(total), more), total)

        def answer(question):
            return builder.sext(builder.load(builder.gep(answers, [question])), INDEX)

        with _shifts(builder, width) as shift:
            here = builder.add(home, shift)
            builder.store(builder.load(_lanes(builder, numbers, here), align=4), total)
            pairs = builder.add(here, width)
            with cgutils.for_range(builder, questions, intp=INDEX) as loop:
                add(builder.add(pairs, builder.mul(answer(loop.index), width)))
            with cgutils.for_range_slice(builder, first, last, INDEX(1), intp=INDEX) as (t, _):
                begin = builder.mul(t, INDEX(6))
                term = [builder.load(builder.gep(terms, [builder.add(begin, INDEX(n))])) for n in range(6)]
                one, other = (builder.mul(answer(term[n]), term[n + 1]) for n in (2, 4))
                add(builder.add(builder.add(term[0], shift), builder.add(one, other)))
            builder.store(builder.load(total), _lanes(builder, out, shift), align=4)
        return context.get_dummy_value()

    return types.void(numbers, home, width, answers, terms, first, last, out), generate


@intrinsic
def odds_against(typing_context, scores, width, present, out):
    """Write exp(``scores`` - ``scores[present]``) to ``out``, 0 where a score is -∞.

    ``width`` numbers of float32, a multiple of ``LANES``. If the present score is itself -∞, the largest one
    takes its place. The exponential is Cephes' expf of the difference within ±``LIMIT``, to 2 units in the
    last place: x = k ln 2 + f, a polynomial in f, times 2**k.
    """

    def generate(context, builder, signature, arguments):
        scores, width, present, out = _arguments(context, builder, signature, arguments)
        reference = cgutils.alloca_once_value(builder, builder.load(builder.gep(scores, [present])))
        nothing = ir.FloatType()(-np.inf)
        with (
            builder.if_then(builder.fcmp_ordered("==", builder.load(reference), nothing)),
            cgutils.for_range(builder, width, intp=INDEX) as loop,
        ):
            most, other = builder.load(reference), builder.load(builder.gep(scores, [loop.index]))
            builder.store(builder.select(builder.fcmp_ordered(">", other, most), other, most), reference)
        same = ir.Constant(FLOATS, ir.Undefined)
        for j in range(LANES):
            same = builder.insert_element(same, builder.load(reference), ir.IntType(32)(j))
        limit = _all(LIMIT)
        with _shifts(builder, width) as shift:
            score = builder.load(_lanes(builder, scores, shift), align=4)
            x = builder.fsub(score, same)
            x = builder.select(builder.fcmp_ordered("<", x, limit), x, limit)
            x = builder.select(builder.fcmp_ordered(">", x, _all(-LIMIT)), x, _all(-LIMIT))
            possible = builder.fcmp_ordered(">", score, _all(-np.inf))
            odds = builder.select(possible, _exponential(builder, x), _all(0))
            builder.store(odds, _lanes(builder, out, shift), align=4)
        return context.get_dummy_value()

    return types.void(scores, width, present, out), generate


@contextmanager
def _shifts(builder, width):
    """Loop over 0, ``LANES``, … before ``width``."""
    with cgutils.for_range_slice(builder, INDEX(0), width, INDEX(LANES), intp=INDEX) as (shift, _):
        yield shift


def _exponential(builder, x):
    times, plus, minus = builder.fmul, builder.fadd, builder.fsub
    k = minus(plus(times(x, _all(LOG2_E)), _all(ROUNDER)), _all(ROUNDER))
    f = minus(minus(x, times(k, _all(LN2_HIGH))), times(k, _all(LN2_LOW)))
    y = _all(POLYNOMIAL[0])
    for factor in POLYNOMIAL[1:]:
        y = plus(times(y, f), _all(factor))
    y = plus(plus(times(y, times(f, f)), f), _all(1))
    exponent = builder.add(builder.fptosi(k, INTEGERS), ir.Constant(INTEGERS, [127] * LANES))
    power = builder.bitcast(builder.shl(exponent, ir.Constant(INTEGERS, [23] * LANES)), FLOATS)
    return times(y, power)


def _all(number):
    return ir.Constant(FLOATS, [float(number)] * LANES)


def _lanes(builder, pointer, place):
    return builder.bitcast(builder.gep(pointer, [place]), FLOATS.as_pointer())


def _arguments(context, builder, signature, arguments):
    """Pointers to the arrays' data, and integers as indices."""
    found = []
    for kind, value in zip(signature.args, arguments, strict=True):
        if isinstance(kind, types.Array):
            value = context.make_array(kind)(context, builder, value).data
        elif isinstance(kind, types.Integer):
            value = context.cast(builder, value, kind, types.int64)
        found.append(value)
    return found


def mix(z):
    """The finaliser of splitmix64, of a uint64 or an array of them."""
    z = (z ^ (z >> np.uint64(30))) * MIX_1
    z = (z ^ (z >> np.uint64(27))) * MIX_2
    return z ^ (z >> np.uint64(31))


compiled_mix = compiled(mix)


@compiled
def _block_entropy(odds, size, total):
    """Entropy in bits of the distribution ``odds / total``."""
    mean = 0.0
    for j in range(size):
        if odds[j] > 0:
            mean += np.float64(odds[j]) * np.log(np.float64(odds[j]))
    return (np.log(np.float64(total)) - mean / np.float64(total)) / np.log(2.0)


@compiled
def sweep_rows(codes, first, last, starts, order, rows, key, bits, held):
    """Sweep over rows ``first:last`` of ``codes``, in place; return the number of changes.

    Question by question, so that what is known about one is at hand for all rows. Answers that are ``held``,
    uint8 of the shape of ``codes`` or without rows for none, stay.
    """
    questions = codes.shape[1]
    answers = np.empty((last - first, questions), np.int32)
    numbers, terms, states = rows.numbers, rows.terms, np.empty(last - first, np.uint64)
    scores, odds, cumulative = np.empty((3, rows.widths.max()), np.float32)
    for i in range(last - first):
        states[i] = compiled_mix(key + GOLDEN * np.uint64(first + i + 1))
        for q in range(questions):
            answers[i, q] = starts[q] + codes[first + i, q]
    for q in order:
        size, home, width = starts[q + 1] - starts[q], rows.begins[q], rows.widths[q]
        first_term, last_term = rows.term_starts[q], rows.term_starts[q + 1]
        for i in range(last - first):
            if held.shape[0] and held[first + i, q]:
                continue
            present = answers[i, q] - starts[q]
            add_up(numbers, home, width, answers[i], terms, first_term, last_term, scores)
            odds_against(scores, width, present, odds)
            total = np.float32(0)
            for j in range(size):
                total += odds[j]
                cumulative[j] = total
            if total == 0:
                continue
            if bits.shape[0]:
                bits[first + i] += _block_entropy(odds, size, total)
            word = compiled_mix(states[i] + GOLDEN * np.uint64(q + 1)) >> np.uint64(40)
            u = np.float32(word) * np.float32(2**-24)
            target = u * total
            drawn = starts[q]
            for j in range(size):
                drawn += cumulative[j] <= target
            answers[i, q] = drawn
    changed = 0
    for i in range(last - first):
        for q in range(questions):
            code = np.int16(answers[i, q] - starts[q])
            changed += code != codes[first + i, q]
            codes[first + i, q] = code
    return changed


@compiled
def residual_rows(codes, chosen, starts, rows):
    """Sum over records of R ⊗ (R - P): see :func:`modp.draws.sweeps.residuals`. float32 (K, K)."""
    questions, size = codes.shape[1], starts[-1]
    numbers, terms = rows.numbers, rows.terms
    scores, odds = np.empty((2, rows.widths.max()), np.float32)
    answers, rest = np.empty(questions, np.int32), np.zeros(size, np.float32)
    total = np.zeros((size, size), np.float32)
    for i in chosen:
        for q in range(questions):
            answers[q] = starts[q] + codes[i, q]
        for q in range(questions):
            start, stop = starts[q], starts[q + 1]
            home, width = rows.begins[q], rows.widths[q]
            first_term, last_term = rows.term_starts[q], rows.term_starts[q + 1]
            add_up(numbers, home, width, answers, terms, first_term, last_term, scores)
            odds_against(scores, width, answers[q] - start, odds)
            mass = np.float32(0)
            for j in range(stop - start):
                mass += odds[j]
            scale = np.float32(1) / max(mass, np.float32(1e-30))
            for j in range(stop - start):
                rest[start + j] = -odds[j] * scale
            rest[answers[q]] += np.float32(1)
        for a in answers:
            row = total[a]
            for j in range(size):
                row[j] += rest[j]
    return total
