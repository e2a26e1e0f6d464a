import numpy as np
import pytest
from conftest import codes_of

from modp.crosstabs import pairs
from modp.crosstabs.cells import within_question
from modp.draws import sweeps
from modp.models.stationary.passes import Adam, deviations, moved
from modp.survey import records

SIZES = (1, 40, 9, 70, 3, 33)
STARTS = np.concatenate([[0], np.cumsum(SIZES)])
K = int(STARTS[-1])


def symmetric(rng: np.random.Generator) -> np.ndarray:
    some = rng.normal(size=(K, K))
    return some + some.T


def free_of(rng: np.random.Generator) -> np.ndarray:
    some = rng.random((K, K)) < 0.5
    return (some | some.T) & ~within_question(STARTS)


@pytest.mark.parametrize("threads", [1, 2])
def test_adam_takes_the_steps_of_its_formula_to_the_bit(threads):
    rng = np.random.default_rng(1)
    free, inside = free_of(rng), within_question(STARTS)
    w, c = np.where(free, symmetric(rng), 0), rng.normal(size=K)
    weights = np.vstack([w, c])
    mean, square = np.zeros_like(weights), np.zeros_like(weights)
    adam = Adam(w, c, free, STARTS, threads)
    for number in range(1, 4):
        residuals = rng.normal(size=(K, K)).astype(np.float32).astype(float)
        adam.step(residuals, 0.7, 0.01)
        gradient = np.vstack([np.where(free, residuals + residuals.T, 0), (residuals * inside).sum(axis=0)])
        gradient *= 0.7
        mean += 0.1 * (gradient - mean)
        square += 0.001 * (gradient**2 - square)
        step = mean / (1 - 0.9**number), square / (1 - 0.999**number)
        weights += 0.01 * step[0] / (np.sqrt(step[1]) + 1e-8)
    assert np.array_equal(w, weights[:-1]) and np.array_equal(c, weights[-1])
    assert np.array_equal(w, w.T) and not w[~free].any()


@pytest.mark.parametrize("threads", [1, 2])
def test_deviations_are_those_of_the_cells_with_weights_in_their_order(threads):
    rng = np.random.default_rng(2)
    free, target, pulled = free_of(rng), rng.random((K, K)) * 9, rng.normal(size=(K, K)) * 5
    one, other = rng.integers(0, 9, (2, K, K))
    squares, products = deviations((one, other), (2.0, 1.9), target, pulled, free, threads)
    wanted = (target - pulled)[free]
    scale = np.maximum(wanted, 0) + 1
    assert np.array_equal(squares, ((one + other)[free] - wanted) ** 2 / scale)
    assert np.array_equal(products, (one[free] * 2.0 - wanted) * (other[free] * 1.9 - wanted) / scale)


@pytest.mark.parametrize("stiff", [0.0, 0.5])
def test_weights_move_as_the_iteration_s_formula_says_to_the_bit(stiff):
    rng = np.random.default_rng(3)
    free, target = free_of(rng), rng.random((K, K)) * 50
    own, pulled, mean, steps = (symmetric(rng) for _ in range(4))
    smooth, crosstab = rng.random((K, K)) * 50, rng.integers(0, 50, (K, K))
    stiffness = rng.random((K, K)) if stiff else 0.0
    after_smooth = smooth + 0.1 * (crosstab - smooth)
    after_mean = mean + (1 - 0.4) * (target - crosstab - mean)
    seen = np.maximum(target, after_smooth)
    margins = np.diag(after_mean) / (np.diag(seen) + 1)
    missing = after_mean - pulled - target * (margins[:, None] + margins[None, :])
    missing /= seen + 5.0 + stiffness
    expected = own + 0.3 * np.where(free, steps * missing, 0)
    found, relative = moved(
        own, mean, smooth, crosstab, target, pulled, stiffness, free, steps, 0.3, 5.0, 0.4, 2
    )
    assert np.array_equal(found, expected) and np.array_equal(relative, margins)
    assert np.array_equal(mean, after_mean) and np.array_equal(smooth, after_smooth)


def test_residuals_are_sums_over_shards_and_batches_of_any_size():
    rng = np.random.default_rng(4)
    codes = codes_of(SIZES, 2600, rng)
    model = sweeps.tables(np.zeros((K, K)), rng.normal(size=K), np.zeros((K, K), bool), STARTS)
    rows = rng.permutation(len(codes))[:2501]  # shards of 313, in batches that end within four
    odds = np.exp(model.bias.astype(float))
    missed = records.one_hot(codes[rows], STARTS).astype(float)
    answers = missed.copy()
    missed -= odds / np.repeat(np.add.reduceat(odds, STARTS[:-1]), SIZES)
    found = sweeps.residuals(codes, model, 2, rows)
    np.testing.assert_allclose(found, answers.T @ missed, atol=0.01)
    assert np.array_equal(found, sweeps.residuals(codes, model, 1, rows))


def test_counts_are_the_same_however_many_records_share_a_table():
    codes = codes_of(SIZES, 70_000, np.random.default_rng(5))
    binary = records.one_hot(codes, STARTS)
    assert np.array_equal(pairs.counts(codes[:20_000], STARTS, 2), binary[:20_000].T @ binary[:20_000])
    assert np.array_equal(pairs.counts(codes, STARTS, 3), binary.T @ binary)
    assert not pairs.counts(codes[:0], STARTS).any()
