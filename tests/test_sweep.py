"""Sweeps: the kernel against plain NumPy and against distributions worked out by enumeration."""

import itertools

import numpy as np
import pytest
import torch
from conftest import records_of
from hypothesis import given, settings
from hypothesis import strategies as st

from modp.crosstabs import pairs
from modp.crosstabs.cells import structural_zeros, within_question
from modp.crosstabs.pairs import crosstab
from modp.draws import gibbs, gpu_sweeps, independent, postprocess, sweeps
from modp.survey import records

STARTS = np.array([0, 2, 5, 14, 17])
CPU = torch.device("cpu")


def random_model(
    starts: np.ndarray, rng: np.random.Generator, zeros: float = 0.0, triples: tuple = (), never: tuple = ()
) -> sweeps.Tables:
    """A model with a share of structural ``zeros``, but none among the first answers to all questions.

    The pairs ``never`` are structural zeros too.
    """
    size = starts[-1]
    between = ~within_question(starts)
    w = np.triu(rng.normal(0, 0.7, (size, size)))
    excluded = np.triu(rng.random((size, size)) < zeros)
    excluded[np.ix_(starts[:-1], starts[:-1])] = False
    for pair in never:
        excluded[pair] = True
    w, excluded = (w + w.T) * between, (excluded | excluded.T) & between
    c, triples = rng.normal(0, 1, size), np.array(triples, np.int64).reshape(-1, 3)
    cells = int(np.diff(starts)[triples].prod(axis=1).sum())
    return sweeps.tables(w, c, excluded, starts, triples, rng.normal(0, 0.7, cells))


def term(model: sweeps.Tables, codes: np.ndarray, of: int) -> np.ndarray:
    """Weights of the model's triple number ``of`` in records, (n,), looked up in an array of three axes."""
    home, own, one, step, other, other_step = model.last_terms[of]
    begin = home + model.block_starts[one] * step + model.block_starts[other] * other_step
    shape = (-1, step // other_step, other_step)
    rows = model.rows.numbers[begin : begin + step * np.diff(model.block_starts)[one]].reshape(shape)
    return rows[tuple(codes[:, [one, other, own]].T)]


def random_codes(n: int, starts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.integers(0, np.diff(starts), (n, len(starts) - 1)).astype(np.int16)


def violations(codes: np.ndarray, model: sweeps.Tables) -> np.ndarray:
    """Which records hold one of the model's structural zeros, bool (n,)."""
    return postprocess.violations(records_of(codes, np.diff(model.block_starts)), model.excluded)


def valid_codes(n: int, model: sweeps.Tables, rng: np.random.Generator) -> np.ndarray:
    """Records without a structural zero: first answers throughout, where random ones have some."""
    codes = random_codes(n, model.block_starts, rng)
    codes[violations(codes, model)] = 0
    return codes


def exponential(x: np.ndarray) -> np.ndarray:
    """The kernel's exp, step by step in float32."""
    one = np.float32(1)
    k = (x * gibbs.LOG2_E + gibbs.ROUNDER) - gibbs.ROUNDER
    f = (x - k * gibbs.LN2_HIGH) - k * gibbs.LN2_LOW
    y = np.full_like(x, gibbs.POLYNOMIAL[0])
    for factor in gibbs.POLYNOMIAL[1:]:
        y = y * f + factor
    y = (y * (f * f) + f) + one
    return y * ((k.astype(np.int32) + 127) << 23).view(np.float32)


def reference(
    codes: np.ndarray, model: sweeps.Tables, uniform: np.ndarray, order: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """A sweep in plain NumPy: codes and entropies."""
    starts, weights = model.block_starts, model.weights
    answers = records.columns(codes, starts)
    entropy = np.zeros(len(codes))
    for q in order:
        block, rows = slice(starts[q], starts[q + 1]), np.arange(len(codes))
        clashes = model.excluded[answers][:, :, block].sum(axis=1)
        scores = np.tile(model.bias[block], (len(codes), 1))
        for r in range(answers.shape[1]):
            scores += weights[answers[:, r], block]
        for of in np.flatnonzero((model.last_terms[:, [1, 2, 4]] == q).any(axis=1)):
            for category in range(scores.shape[1]):
                changed = answers - starts[:-1]
                changed[:, q] = category
                scores[:, category] += term(model, changed, of)
        odds = scores - scores[rows, answers[:, q] - starts[q]][:, None]
        odds = np.where(clashes == 0, exponential(np.clip(odds, -gibbs.LIMIT, gibbs.LIMIT)), np.float32(0))
        cumulative = np.cumsum(odds, axis=1, dtype=np.float32)
        drawn = starts[q] + (cumulative <= (uniform[:, q] * cumulative[:, -1])[:, None]).sum(axis=1)
        stuck = cumulative[:, -1] == 0
        drawn[stuck] = answers[stuck, q]
        sums = np.where(stuck, 1, odds.sum(axis=1, dtype=np.float64))
        entropy += independent.entropy_bits(odds / sums[:, None])
        answers[:, q] = drawn
    return (answers - starts[:-1]).astype(np.int16), entropy


def test_kernel_gives_the_codes_of_plain_numpy():
    for seed, triples in enumerate([(), ((0, 1, 2), (1, 2, 3)), ((0, 2, 3), (2, 1, 0), (0, 1, 3))]):
        rng = np.random.default_rng(seed)
        model = random_model(STARTS, rng, 0.1, triples)
        codes = valid_codes(5000, model, rng)
        swept = sweeps.sweep(codes, model, seed, 7, threads=2, entropy=True)
        uniform = sweeps.uniform_numbers(seed, 7, *codes.shape)
        order = sweeps.question_order(seed, 7, codes.shape[1])
        expected, entropy = reference(codes, model, uniform, order)
        assert np.array_equal(swept.codes, expected)
        assert np.allclose(swept.entropy_bits, entropy, rtol=1e-5, atol=1e-5)
        assert swept.changed == (expected != codes).sum() > 0


@pytest.mark.pipeline
def test_kernel_gives_the_codes_of_plain_numpy_on_real_records(sample):
    some = sample[:3000]
    codes, starts, counts = some.codes, some.block_starts, crosstab(some)
    zeros = structural_zeros(counts, starts)
    expected = np.outer(np.diag(counts), np.diag(counts)) / len(codes)
    w = np.where(within_question(starts) | zeros, 0, 0.1 * np.log((counts + 1) / (expected + 1)))
    model = sweeps.tables(w, np.log(np.diag(counts) + 1), zeros, starts)
    uniform, order = sweeps.uniform_numbers(1, 1, *codes.shape), sweeps.question_order(1, 1, codes.shape[1])
    once = sweeps.sweep(codes, model, 1, 1, threads=2)
    assert np.array_equal(once.codes, reference(codes, model, uniform, order)[0])
    assert not violations(once.codes, model).any()


def test_every_sweep_takes_all_questions_in_an_order_of_its_own():
    orders = [sweeps.question_order(1, number, 5).tolist() for number in range(50)]
    assert all(sorted(order) == [0, 1, 2, 3, 4] for order in orders)
    assert len(set(map(tuple, orders))) > 30  # of 120, of which 50 random ones are 41 on average
    assert {order[0] for order in orders} == {order[-1] for order in orders} == {0, 1, 2, 3, 4}


def test_threads_do_not_matter_and_the_given_codes_stay():
    rng = np.random.default_rng(3)
    model, codes = random_model(STARTS, rng), random_codes(3 * sweeps.ROWS_AT_ONCE + 5, STARTS, rng)
    kept = codes.copy()
    one, two = (sweeps.sweep(codes, model, 5, 2, threads, entropy=True) for threads in (1, 2))
    assert np.array_equal(one.codes, two.codes)
    assert one.changed == two.changed
    assert np.array_equal(one.entropy_bits, two.entropy_bits)
    assert np.array_equal(codes, kept)
    one, two = (sweeps.residuals(codes, model, threads) for threads in (1, 2))
    assert np.array_equal(one, two)
    assert not np.array_equal(
        sweeps.sweep(codes, model, 5, 3, 1).codes, sweeps.sweep(codes, model, 5, 2, 1).codes
    )


def test_uniform_numbers_are_uniform_and_independent():
    numbers = np.stack([sweeps.uniform_numbers(1, number, 20_000, 4) for number in (0, 1)], axis=-1)
    numbers = numbers.reshape(20_000, 8).astype(np.float64)
    assert numbers.min() >= 0 and numbers.max() < 1
    counts = np.array([np.histogram(column, 20, (0, 1))[0] for column in numbers.T])
    assert ((counts - 1000) ** 2 / 1000).sum() < 152 + 5 * np.sqrt(2 * 152)  # chi-square, 8 · 19 df
    correlations = np.corrcoef(np.hstack([numbers[1:], numbers[:-1]]).T)[np.triu_indices(16, 1)]
    assert np.abs(correlations).max() < 5 / np.sqrt(20_000)


def test_splitmix64_is_that_of_its_authors():
    # First words of the published generator started at 1234567.
    state = np.array([1234567], np.uint64)
    words = [int(gibbs.mix(state + gibbs.GOLDEN * np.array([i], np.uint64))[0]) for i in (1, 2)]
    assert words == [6457827717110365317, 3203168211198807973]


def test_exponential_is_accurate():
    x = np.linspace(-80, 80, 100_001, dtype=np.float32)
    relative = exponential(x) / np.exp(x.astype(np.float64)) - 1
    assert np.abs(relative).max() < 2.5e-7


def states(starts: np.ndarray) -> np.ndarray:
    return np.array(list(itertools.product(*map(range, np.diff(starts)))), np.int16)


def probabilities(model: sweeps.Tables) -> np.ndarray:
    """The model's distribution over :func:`states`, by enumeration."""
    starts = model.block_starts
    hot = records.one_hot(states(starts), starts).astype(np.float64)
    energy = hot @ model.bias + 0.5 * np.einsum("si,ij,sj->s", hot, model.weights, hot)
    for of in range(len(model.last_terms)):
        energy += term(model, states(starts), of)
    clashes = np.einsum("si,ij,sj->s", hot, model.excluded, hot)
    weight = np.where(clashes == 0, np.exp(energy), 0)
    return weight / weight.sum()


def chi_square(codes: np.ndarray, model: sweeps.Tables) -> tuple[float, int]:
    p, sizes = probabilities(model), np.diff(model.block_starts)
    seen = np.bincount(np.ravel_multi_index(codes.T.astype(int), sizes), minlength=len(p))
    possible = p > 0
    assert not seen[~possible].any()
    expected = len(codes) * p[possible]
    return float(((seen[possible] - expected) ** 2 / expected).sum()), int(possible.sum()) - 1


def torch_sweep(codes, model, seed, number):
    return gpu_sweeps.sweep_on(CPU, codes, model, seed, number).codes


@pytest.mark.parametrize(
    "once", [lambda *a: sweeps.sweep(*a, threads=2).codes, torch_sweep], ids=["kernel", "torch"]
)
@pytest.mark.parametrize(
    ("sizes", "triples"), [((2, 3), ()), ((3, 2, 3), ()), ((3, 2, 3, 2), ((0, 1, 2), (1, 2, 3)))]
)
def test_a_sweep_leaves_the_distribution_as_it_is(once, sizes, triples):
    starts, rng = np.concatenate([[0], np.cumsum(sizes)]), np.random.default_rng(4)
    model = random_model(starts, rng, triples=triples, never=((0, starts[1]),))
    exact = states(starts)[rng.choice(np.prod(sizes), 200_000, p=probabilities(model))]
    statistic, freedom = chi_square(once(exact, model, 11, 0), model)
    # Mean df, variance 2 df: five standard deviations above, with the seeds fixed.
    assert statistic < freedom + 5 * np.sqrt(2 * freedom)


@pytest.mark.parametrize(
    "once", [lambda *a: sweeps.sweep(*a, threads=2).codes, torch_sweep], ids=["kernel", "torch"]
)
def test_sweeps_from_anywhere_lead_to_the_distribution(once):
    starts, rng = np.array([0, 3, 5, 8]), np.random.default_rng(5)
    model = random_model(starts, rng)
    codes = np.zeros((100_000, 3), np.int16)
    assert chi_square(codes, model)[0] > 1e4
    for number in range(10):
        codes = once(codes, model, 100 + number, number)
    statistic, freedom = chi_square(codes, model)
    assert statistic < freedom + 5 * np.sqrt(2 * freedom)


@settings(max_examples=40)
@given(st.integers(0, 2**31), st.lists(st.integers(1, 12), min_size=1, max_size=7), st.floats(0, 0.9))
def test_no_record_ever_gains_a_structural_zero(seed, sizes, zeros):
    starts, rng = np.concatenate([[0], np.cumsum(sizes)]), np.random.default_rng(seed)
    model = random_model(starts, rng, zeros)
    codes = valid_codes(200, model, rng)
    assert not violations(codes, model).any()
    for number in range(4):
        codes = sweeps.sweep(codes, model, seed, number, 1).codes
        assert ((codes >= 0) & (codes < sizes)).all()
        assert not violations(codes, model).any()
    assert not violations(torch_sweep(codes, model, 1, 1), model).any()


def test_the_gpus_path_counts_changes_and_entropy_as_the_kernel_does():
    # One question: what is drawn from does not depend on what was drawn before.
    starts, rng = np.array([0, 5]), np.random.default_rng(6)
    model = random_model(starts, rng)
    codes = rng.integers(0, 5, (500, 1)).astype(np.int16)
    one, other = (
        gpu_sweeps.sweep_on(CPU, codes, model, 3, 4, True),
        sweeps.sweep(codes, model, 3, 4, 1, True),
    )
    assert one.changed == (one.codes != codes).sum()
    assert np.allclose(one.entropy_bits, other.entropy_bits, atol=1e-5)
    again = gpu_sweeps.sweep_on(CPU, codes, model, 3, 4)
    assert np.array_equal(one.codes, again.codes) and again.entropy_bits is None
    assert not np.array_equal(one.codes, gpu_sweeps.sweep_on(CPU, codes, model, 3, 5).codes)


def test_a_question_without_an_allowed_category_keeps_its_answer():
    starts = np.array([0, 2, 4])
    excluded = np.zeros((4, 4), bool)
    excluded[:2, 2:] = excluded[2:, :2] = True
    model = sweeps.tables(np.zeros((4, 4)), np.zeros(4), excluded, starts)
    codes = np.array([[0, 1], [1, 0]], np.int16)
    assert np.array_equal(sweeps.sweep(codes, model, 1, 1, 1).codes, codes)
    assert np.array_equal(torch_sweep(codes, model, 1, 1), codes)


def test_an_excluded_answer_gives_way_to_the_allowed_ones_by_their_odds():
    starts = np.array([0, 3, 5])
    excluded = np.zeros((5, 5), bool)
    excluded[0, 3] = excluded[3, 0] = True
    # Odds that float32 cannot hold against each other, but for those of the two answers that are allowed.
    model = sweeps.tables(np.zeros((5, 5)), [0, 200, 200 + np.log(9), 0, 0], excluded, starts)
    codes = np.zeros((10_000, 2), np.int16)
    in_order = next(number for number in range(99) if sweeps.question_order(1, number, 2)[0] == 0)
    swept = sweeps.sweep(codes, model, 1, in_order, 2, entropy=True)
    assert np.bincount(swept.codes[:, 0], minlength=3) / 10_000 == pytest.approx([0, 0.1, 0.9], abs=0.015)
    ninth = -0.1 * np.log2(0.1) - 0.9 * np.log2(0.9)
    assert np.allclose(swept.entropy_bits, ninth + 1, atol=1e-6)
    missed = sweeps.residuals(codes[:1], model, 1)
    assert missed[0, :3] == pytest.approx([1, -0.1, -0.9], abs=1e-6)
    assert not violations(torch_sweep(codes, model, 1, 1), model).any()


def test_weights_that_are_no_numbers_are_refused():
    starts, none = np.array([0, 2, 4]), np.zeros((4, 4))
    for bad in (np.nan, np.inf):
        with pytest.raises(FloatingPointError, match="not a number"):
            sweeps.tables(none, np.array([0, bad, 0, 0]), none > 0, starts)


def test_terms_of_a_triple_are_its_values():
    starts, rng = np.array([0, 2, 5, 14]), np.random.default_rng(1)
    values, none = rng.normal(size=(9, 2, 3)).astype(np.float32), np.zeros((14, 14))
    model = sweeps.tables(none, np.zeros(14), none > 0, starts, np.array([[2, 0, 1]]), values.ravel())
    codes = random_codes(50, starts, rng)
    answers, numbers = records.columns(codes, starts), model.rows.numbers
    first, second, third = codes.T
    for q, expected in enumerate(
        [values[third, :, second], values[third, first], values[:, first, second].T]
    ):
        found = sweeps.terms_of(model, q, answers, numbers, np.arange(starts[q + 1] - starts[q]))
        assert np.array_equal(found, expected)


def test_entropy_by_hand():
    # One coin of chances 1/4 and 3/4, a die of four equal faces, a face of which is excluded.
    starts = np.array([0, 2, 6])
    excluded = np.zeros((6, 6), bool)
    excluded[:2, 5] = excluded[5, :2] = True
    model = sweeps.tables(np.zeros((6, 6)), np.log([1, 3, 1, 1, 1, 1]), excluded, starts)
    swept = sweeps.sweep(np.zeros((3, 2), np.int16), model, 1, 1, 1, entropy=True)
    coin = 0.25 * 2 + 0.75 * np.log2(4 / 3)
    assert np.allclose(swept.entropy_bits, coin + np.log2(3), atol=1e-6)


def test_crosstab_is_that_of_matrix_products(sample):
    some = sample.of(np.tile(sample.codes, (3, 1))[: 4 * sweeps.ROWS_AT_ONCE + 77])
    expected = some.one_hot.T @ some.one_hot
    for threads in (1, 2):
        assert np.array_equal(crosstab(some, threads), expected)
    assert not crosstab(some[:0], 2).any()


def test_residuals_by_hand():
    # Two coins that ignore each other: record (0, 1), whose answers had chances 1/4 and 1/2.
    starts = np.array([0, 2, 4])
    model = sweeps.tables(np.zeros((4, 4)), np.log([1, 3, 1, 1]), np.zeros((4, 4), bool), starts)
    residuals = sweeps.residuals(np.array([[0, 1]], np.int16), model, 1)
    missed = [0.75, -0.75, -0.5, 0.5]
    assert np.allclose(residuals, np.outer([1, 0, 0, 1], missed), atol=1e-6)
    rows = sweeps.residuals(np.array([[0, 1], [1, 1]], np.int16), model, 1, np.array([0]))
    assert np.array_equal(rows, residuals)


def test_triples_need_a_value_for_every_cell():
    starts, none = np.array([0, 2, 4, 7]), np.zeros((7, 7))
    with pytest.raises(ValueError, match="as many values"):
        sweeps.tables(none, np.zeros(7), none > 0, starts, np.array([[0, 1, 2]]), np.zeros(11))


def test_gains_are_the_sums_of_weights_over_a_records_answers():
    rng = np.random.default_rng(1)
    codes = random_codes(5000, STARTS, rng)
    w, c = rng.normal(size=(17, 17)), rng.normal(size=17)
    w = w + w.T
    found = sweeps.gains(codes, w, c, STARTS, 2)
    single = c[records.columns(codes, STARTS)].sum(axis=1)
    assert found == pytest.approx(single + pairs.record_sums(records_of(codes, np.diff(STARTS)), w))
    assert np.array_equal(found, sweeps.gains(codes, w, c, STARTS, 1))
    assert len(sweeps.gains(codes[:0], w, c, STARTS, 1)) == 0
