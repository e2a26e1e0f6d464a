import numpy as np
import pytest
from conftest import records_of
from hypothesis import given
from hypothesis import strategies as st

from modp.crosstabs.cells import structural_zeros
from modp.crosstabs.pairs import crosstab
from modp.draws import fresh, sequential
from modp.draws.postprocess import violations
from modp.draws.sweeps import tables
from modp.survey.records import Records

SIZES = (2, 3)
STARTS = np.array([0, 2, 5])


def joint() -> np.ndarray:
    """A distribution of two questions, with an impossible pair of answers."""
    table = np.array([[0.3, 0.1, 0.0], [0.05, 0.25, 0.3]])
    return table / table.sum()


def draw_from(table: np.ndarray, n: int, rng: np.random.Generator) -> Records:
    flat = rng.choice(table.size, n, p=table.ravel())
    return records_of(np.column_stack(np.unravel_index(flat, table.shape)).astype(np.int16), SIZES)


def exact(table: np.ndarray):
    """What predicts each question from the other with the table's own conditionals."""

    def predict(binary: np.ndarray, q: int) -> np.ndarray:
        other = binary[:, 2:] if q == 0 else binary[:, :2]
        return other @ (table.T if q == 0 else table)

    return predict


NONE = np.zeros((5, 5), bool)


def test_exact_conditionals_leave_the_joint_distribution_as_it_is():
    rng = np.random.default_rng(1)
    start = draw_from(joint(), 40_000, rng)
    swept = sequential.redrawn(start, NONE, exact(joint()), rng)[0].codes
    counts = np.zeros((2, 3))
    np.add.at(counts, tuple(swept.T), 1)
    expected = 40_000 * joint()
    chi2 = ((counts - expected) ** 2 / np.where(expected > 0, expected, 1)).sum()
    assert counts[0, 2] == 0 and chi2 < 18.5  # the 0.1% point of four degrees of freedom
    assert (swept != start.codes).any(axis=1).mean() > 0.3


@given(st.integers(1, 40), st.integers(0, 10**6))
def test_no_structural_zero_appears_whatever_the_predictions(n, seed):
    rng = np.random.default_rng(seed)
    start = draw_from(joint(), n, rng)
    zeros = structural_zeros(crosstab(start), STARTS)
    predict = lambda binary, q: rng.random((len(binary), (2, 3)[q]))  # noqa: E731
    swept, bits = sequential.redrawn(start, zeros, predict, rng)
    assert not violations(swept, zeros).any()
    assert (bits >= 0).all() and (bits <= np.log2(2) + np.log2(3) + 1e-9).all()


def test_given_answers_stay_and_the_others_follow_given_them():
    rng = np.random.default_rng(2)
    allowed = np.array([True, True, True, False, True])
    start = draw_from(joint(), 40_000, rng)
    start = start[start.codes[:, 1] != 1]
    swept = sequential.redrawn(start, NONE, exact(joint()), rng, allowed)[0].codes
    counts = np.zeros((2, 3))
    np.add.at(counts, tuple(swept.T), 1)
    expected = joint() * allowed[2:]
    expected *= len(start) / expected.sum()
    chi2 = ((counts - expected) ** 2 / np.where(expected > 0, expected, 1)).sum()
    assert not counts[:, 1].any() and chi2 < 13.8  # the 0.1% point of two degrees of freedom
    assert (swept != start.codes).any(axis=1).mean() > 0.1


def test_bits_are_those_of_the_distributions_drawn_from():
    even = lambda binary, q: np.ones((len(binary), (2, 3)[q]))  # noqa: E731
    one = records_of(np.zeros((1, 2), np.int16), SIZES)
    _, bits = sequential.redrawn(one, NONE, even, np.random.default_rng(0))
    assert np.isclose(bits[0], 1 + np.log2(3))
    forbidden = NONE.copy()
    forbidden[0, 3:] = forbidden[1, 3:] = True  # the second question has one answer left
    _, bits = sequential.redrawn(one, forbidden | forbidden.T, even, np.random.default_rng(0))
    assert np.isclose(bits[0], 1)
    _, bits = sequential.redrawn(one, NONE, lambda b, q: 0 * even(b, q), np.random.default_rng(0))
    assert bits[0] == 0


def test_fresh_records_hold_no_structural_zero_and_follow_the_weights():
    rng = np.random.default_rng(3)
    excluded = np.zeros((5, 5), bool)
    excluded[0, 4] = excluded[4, 0] = True
    w = np.zeros((5, 5))
    c = np.log([0.5, 0.5, 0.2, 0.3, 0.5])
    codes = fresh.fresh(tables(w, c, excluded, STARTS), 20_000, rng)
    assert not violations(records_of(codes, SIZES), excluded).any()
    share = np.bincount(codes[:, 1], minlength=3) / 20_000
    assert np.abs(share[0] / share[1] - 2 / 3).max() < 0.05


def test_fresh_records_that_cannot_be_completed_are_an_error():
    every = np.ones((5, 5), bool)
    every[:2, :2] = every[2:, 2:] = False
    with pytest.raises(ValueError, match="3 records could not be drawn"):
        model = tables(np.zeros((5, 5)), np.zeros(5), every, STARTS)
        fresh.fresh(model, 3, np.random.default_rng(0))


def test_records_that_begin_at_each_question_hold_those_who_differ_in_many_answers():
    # Who gives the last question's rare answer gives the first one to all others. Answered in one order,
    # hardly any record has come by chance to where the rare answer is allowed, unless it comes early.
    starts, few = np.arange(13) * 3, 38
    zeros = np.zeros((39, 39), bool)
    others = np.flatnonzero(np.arange(36) % 3 > 0)
    zeros[few, others] = zeros[others, few] = True
    odds = np.log(np.concatenate([np.full(36, 1 / 3), [0.49, 0.49, 0.02]]))
    model = tables(np.zeros((39, 39)), odds, zeros, np.append(starts, 39))
    codes = fresh.from_each(model, 6500, np.random.default_rng(1))
    rare = codes[:, 12] == 2
    assert rare.sum() >= 8 and (codes[rare, :12] == 0).all()
    ordered = [fresh.fresh(model, 500, np.random.default_rng(seed))[:, 12] == 2 for seed in range(8)]
    assert min(some.sum() for some in ordered) == 0
    begun = fresh.from_each(model, 3, np.random.default_rng(1))
    assert begun.shape == (3, 13) and len(fresh.from_each(model, 0, np.random.default_rng(1))) == 0


def test_an_answer_that_no_record_can_give_is_nobodys_beginning():
    zeros = np.zeros((5, 5), bool)
    zeros[0, 2:] = zeros[2:, 0] = True
    model = tables(np.zeros((5, 5)), np.zeros(5), zeros, STARTS)
    assert (fresh.from_each(model, 100, np.random.default_rng(0))[:, 0] == 1).all()
