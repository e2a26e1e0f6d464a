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

TOGETHER = 4
"""Records that are."""

SUMMED_AT_ONCE = 256
"""Records whose residuals are kept at hand, for one question, before they are summed."""

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


def _adder(together):
    """Return what adds up rows for so many records at a time.

    One addition waits for the one before it; those of other records, and of lanes beside, do not.
    """

    @intrinsic
    def add_up(typing_context, numbers, home, width, answers, terms, first, last, out):
        def generate(context, builder, signature, arguments):
            sizes = [
                builder.sdiv(context.make_array(signature.args[n])(context, builder, arguments[n]).nitems, by)
                for n, by in ((3, INDEX(together)), (7, INDEX(together)))
            ]
            questions, room = sizes
            numbers, home, width, answers, terms, first, last, out = _arguments(
                context, builder, signature, arguments
            )
            totals = [[cgutils.alloca_once(builder, FLOATS) for _ in range(2)] for _ in range(together)]

            def load(place):
                return builder.load(_lanes(builder, numbers, place), align=4)

            def add(totals, place, vectors):
                for vector in range(vectors):
                    more = load(builder.add(place, INDEX(vector * LANES)))
                    builder.store(builder.fadd(builder.load(totals[vector]), more), totals[vector])

            def answer(record, question):
                at = builder.add(builder.mul(INDEX(record), questions), question)
                return builder.sext(builder.load(builder.gep(answers, [at])), INDEX)

            def lanes(shift, vectors):
                """Add up ``vectors`` times ``LANES`` numbers from ``shift`` on, for every record."""
                here = builder.add(home, shift)
                for own in totals:
                    for vector in range(vectors):
                        builder.store(load(builder.add(here, INDEX(vector * LANES))), own[vector])
                pairs = builder.add(here, width)
                with cgutils.for_range(builder, questions, intp=INDEX) as loop:
                    for record, own in enumerate(totals):
                        place = builder.mul(answer(record, loop.index), width)
                        add(own, builder.add(pairs, place), vectors)
                with cgutils.for_range_slice(builder, first, last, INDEX(1), intp=INDEX) as (t, _):
                    begin = builder.mul(t, INDEX(6))
                    term = [
                        builder.load(builder.gep(terms, [builder.add(begin, INDEX(n))])) for n in range(6)
                    ]
                    for record, own in enumerate(totals):
                        one, other = (builder.mul(answer(record, term[n]), term[n + 1]) for n in (2, 4))
                        add(own, builder.add(builder.add(term[0], shift), builder.add(one, other)), vectors)
                for record, own in enumerate(totals):
                    begin = builder.add(builder.mul(INDEX(record), room), shift)
                    for vector in range(vectors):
                        place = _lanes(builder, out, builder.add(begin, INDEX(vector * LANES)))
                        builder.store(builder.load(own[vector]), place, align=4)

            twice = INDEX(2 * LANES)
            whole = builder.mul(builder.sdiv(width, twice), twice)
            with cgutils.for_range_slice(builder, INDEX(0), whole, twice, intp=INDEX) as (shift, _):
                lanes(shift, 2)
            with builder.if_then(builder.icmp_signed("<", whole, width)):
                lanes(whole, 1)
            return context.get_dummy_value()

        return types.void(numbers, home, width, answers, terms, first, last, out), generate

    return add_up


add_up = _adder(1)
"""Write the sum of rows of ``width`` numbers, a multiple of ``LANES``, to ``out``.

The rows begin, in the order in which they are added, at ``home``; at ``home`` + (a + 1) * ``width`` for
all ``answers`` a; and at t[0] + answers[t[2]] * t[3] + answers[t[4]] * t[5] for the rows t of ``terms``
from ``first`` to before ``last``.

``numbers`` and ``out`` are float32, ``answers`` int32, and ``terms`` int64 of six columns.
"""

add_up_together = _adder(TOGETHER)
"""The same for ``TOGETHER`` records, the rows of ``answers`` and of ``out``."""


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


@intrinsic
def add_to_rows(typing_context, out, width, answers, numbers, place):
    """Add ``width`` numbers from ``place`` on, a multiple of ``LANES``, to the rows ``answers`` of ``out``.

    ``numbers`` and ``out`` are float32, ``answers`` int32 and different.
    """

    def generate(context, builder, signature, arguments):
        questions = context.make_array(signature.args[2])(context, builder, arguments[2]).nitems
        out, width, answers, numbers, place = _arguments(context, builder, signature, arguments)
        with _shifts(builder, width) as shift:
            more = builder.load(_lanes(builder, numbers, builder.add(place, shift)), align=4)
            with cgutils.for_range(builder, questions, intp=INDEX) as loop:
                answer = builder.sext(builder.load(builder.gep(answers, [loop.index])), INDEX)
                row = _lanes(builder, out, builder.add(builder.mul(answer, width), shift))
                builder.store(builder.fadd(builder.load(row, align=4), more), row, align=4)
        return context.get_dummy_value()

    return types.void(out, width, answers, numbers, place), generate


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
def _any_open(held, first, last, q):
    """Whether any of ``TOGETHER`` rows from ``first`` on, before ``last``, is to redraw its answer to q."""
    if not held.shape[0]:
        return True
    least = held[first, q]
    for i in range(first + 1, min(first + TOGETHER, last)):
        least = min(least, held[i, q])
    return least == 0


@compiled
def sweep_rows(codes, first, last, starts, order, rows, key, bits, held):
    """Sweep over rows ``first:last`` of ``codes``, in place; return the number of changes.

    Question by question, so that what is known about one is at hand for all rows. Answers that are ``held``,
    uint8 of the shape of ``codes`` or without rows for none, stay.
    """
    questions = codes.shape[1]
    answers = _answers(codes, np.arange(first, last), starts)
    numbers, terms, states = rows.numbers, rows.terms, np.empty(last - first, np.uint64)
    scores = np.empty((TOGETHER, rows.widths.max()), np.float32)
    odds, cumulative = np.empty((2, rows.widths.max()), np.float32)
    for i in range(last - first):
        states[i] = compiled_mix(key + GOLDEN * np.uint64(first + i + 1))
    for q in order:
        size, home, width = starts[q + 1] - starts[q], rows.begins[q], rows.widths[q]
        first_term, last_term = rows.term_starts[q], rows.term_starts[q + 1]
        for i in range(last - first):
            if i % TOGETHER == 0 and _any_open(held, first + i, last, q):
                some = answers[i : i + TOGETHER]
                add_up_together(numbers, home, width, some, terms, first_term, last_term, scores)
            if held.shape[0] and held[first + i, q]:
                continue
            present = answers[i, q] - starts[q]
            odds_against(scores[i % TOGETHER], width, present, odds)
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
def _answers(codes, chosen, starts):
    """The columns of rows' answers, int32, and rows of anything up to whole ``TOGETHER``."""
    n, questions = len(chosen), codes.shape[1]
    answers = np.empty((-(-n // TOGETHER) * TOGETHER, questions), np.int32)
    for i in range(len(answers)):
        for q in range(questions):
            answers[i, q] = starts[q] + (codes[chosen[i], q] if i < n else 0)
    return answers


@compiled
def residual_columns(codes, chosen, step, starts, rows, first, last, out):
    """Add to ``out`` the sum over records of R ⊗ (R - P): see :func:`modp.draws.sweeps.residuals`.

    Of the questions from ``first`` to before ``last``, the columns of ``out``, float64 (K, K). Summed in
    float32 over every ``step`` of the chosen records, and in float64 over those sums. Question by question,
    so that its columns stay at hand.
    """
    numbers, terms, size = rows.numbers, rows.terms, starts[-1]
    scores = np.empty((TOGETHER, rows.widths.max()), np.float32)
    odds, rest = (
        np.empty(rows.widths.max(), np.float32),
        np.empty(SUMMED_AT_ONCE * rows.widths.max(), np.float32),
    )
    total = np.empty(size * rows.widths.max(), np.float32)
    answers = _answers(codes, chosen, starts)
    for q in range(first, last):
        start, stop, home, width = starts[q], starts[q + 1], rows.begins[q], rows.widths[q]
        first_term, last_term = rows.term_starts[q], rows.term_starts[q + 1]
        for shard in range(0, len(chosen), step):
            total[:] = 0
            end = min(shard + step, len(chosen))
            for begin in range(shard, end, SUMMED_AT_ONCE):
                behind = min(begin + SUMMED_AT_ONCE, end)
                for i in range(begin, behind):
                    if i == begin or i % TOGETHER == 0:
                        some = answers[i - i % TOGETHER : i - i % TOGETHER + TOGETHER]
                        add_up_together(numbers, home, width, some, terms, first_term, last_term, scores)
                    odds_against(scores[i % TOGETHER], width, answers[i, q] - start, odds)
                    mass = np.float32(0)
                    for j in range(stop - start):
                        mass += odds[j]
                    scale = np.float32(1) / max(mass, np.float32(1e-30))
                    place = (i - begin) * width
                    for j in range(width):
                        rest[place + j] = -odds[j] * scale
                    rest[place + answers[i, q] - start] += np.float32(1)
                for i in range(begin, behind):
                    add_to_rows(total, width, answers[i], rest, (i - begin) * width)
            for a in range(size):
                for j in range(stop - start):
                    out[a, start + j] += total[a * width + j]
