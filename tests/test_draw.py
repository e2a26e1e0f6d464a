import numpy as np
import pytest
from conftest import codebook_of, records_of
from hypothesis import given
from hypothesis import strategies as st

from modp.crosstabs.pairs import crosstab
from modp.draws import independent, postprocess

SIZES = (2, 3, 1)
STARTS = codebook_of(*SIZES).block_starts
P = np.array([0.3, 0.7, 0.2, 0.5, 0.3, 1.0])

# 99.9% points of chi-square with 1 and 2 degrees of freedom
CHI2 = {1: 10.83, 2: 13.82}


def chi_square(counts: np.ndarray, expected: np.ndarray) -> float:
    return float(((counts - expected) ** 2 / expected).sum())


def test_draws_follow_the_probabilities():
    n = 20_000
    codes = independent.independent(np.tile(P, (n, 1)), STARTS, np.random.default_rng(7).random((n, 3)))
    for question, size in enumerate((2, 3)):
        counts = np.bincount(codes[:, question], minlength=size)
        block = P[STARTS[question] : STARTS[question + 1]]
        assert chi_square(counts, n * block) < CHI2[size - 1]
    pairs = np.bincount(codes[:, 0] * 3 + codes[:, 1], minlength=6)
    assert chi_square(pairs, n * np.outer(P[:2], P[2:5]).ravel()) < 20.52  # 5 degrees
    assert (codes[:, 2] == 0).all()


@given(st.integers(0, 2**32 - 1))
def test_an_answer_of_probability_zero_is_never_drawn(seed):
    rng = np.random.default_rng(seed)
    predictions = rng.random((40, 6)) * (rng.random((40, 6)) < 0.6)
    probabilities = independent.normalised(predictions, STARTS)
    uniform = rng.choice([0.0, 0.5, np.nextafter(1, 0)], (40, 3))
    codes = independent.independent(probabilities, STARTS, uniform)
    taken = np.take_along_axis(probabilities, codes.astype(int) + STARTS[:-1], axis=1)
    assert (taken > 0).all()
    assert ((codes >= 0) & (codes < np.diff(STARTS))).all()


def test_predictions_are_scaled_question_by_question():
    scaled = independent.normalised(np.array([[1.0, 3, 0, 0, 0, 0.2]], np.float32), STARTS)
    assert scaled.tolist() == [[0.25, 0.75, 1 / 3, 1 / 3, 1 / 3, 1.0]]


def test_pass_through_keeps_true_answers_with_its_probability():
    n, p = 20_000, 1 / 3
    true, drawn = np.zeros((n, 3), np.int16), np.ones((n, 3), np.int16)
    kept = independent.pass_through(drawn, true, p, np.random.default_rng(1)) == 0
    assert chi_square(np.array([kept.sum(), (~kept).sum()]), 3 * n * np.array([p, 1 - p])) < CHI2[1]
    both = (kept[:, 0] & kept[:, 1]).mean()
    assert both == pytest.approx(p * p, abs=4 * np.sqrt(p * p / n))


def test_entropy_of_pass_through_is_that_of_the_mixture():
    true = np.array([[1.0, 0, 0, 1, 0, 1]])
    mixed = independent.mixed(P[None], true, 0.5)
    assert mixed[0] == pytest.approx([0.65, 0.35, 0.1, 0.75, 0.15, 1.0])
    expected = -sum(q * np.log2(q) for q in (0.65, 0.35, 0.1, 0.75, 0.15))
    assert independent.entropy_bits(mixed) == pytest.approx([expected])


def test_selection_takes_the_second_instance_where_the_first_overpopulates():
    true = records_of(np.array([[0, 0, 0], [0, 0, 0], [1, 1, 0], [1, 1, 0]], np.int16), SIZES)
    first = true.of(np.array([[0, 0, 0], [0, 1, 0], [1, 1, 0], [1, 1, 0]], np.int16))
    second = true.of(true.codes.copy())
    # Over-populated by the first instance: (A1,B2) with ln 2, (B2,C1) and B2 itself with ln 4/3.
    # Losses: 0, 2 (ln 2 + ln 4/3) + ln 4/3, and twice 3 ln 4/3, which is the median.
    chosen = postprocess.select([first, second], crosstab(true), 0.5)
    assert chosen.tolist() == [0, 1, 0, 0]


def test_selection_goes_on_to_further_instances_while_the_loss_stays_high():
    true = records_of(np.array([[0, 0, 0]] * 4, np.int16), SIZES)
    bad = true.of(np.array([[0, 0, 0]] * 3 + [[1, 2, 0]], np.int16))
    chosen = postprocess.select([bad, bad, true], crosstab(true), 0.5)
    assert chosen.tolist() == [0, 0, 0, 2]


def test_selection_improves_the_crosstab_of_noisy_instances():
    rng = np.random.default_rng(3)
    true = np.repeat(rng.integers(0, 2, (3000, 1)), 3, axis=1).astype(np.int16)
    true[:, 2] = 0
    other = [rng.integers(0, [2, 3, 1], true.shape) for _ in range(2)]
    noisy = [np.where(rng.random(true.shape) < 0.2, o, true).astype(np.int16) for o in other]
    counts = crosstab(records_of(true, SIZES))
    chosen = postprocess.select([records_of(codes, SIZES) for codes in noisy], counts, 0.5)
    selected = np.stack(noisy)[chosen, np.arange(len(true))]

    def error(codes: np.ndarray) -> float:
        return float(np.abs(np.log((crosstab(records_of(codes, SIZES)) + 1) / (counts + 1))).mean())

    assert error(selected) < error(noisy[0])
