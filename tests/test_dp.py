"""The privacy accounting against closed forms, and the gate: nothing is free, nothing is for sale twice."""

import math
from fractions import Fraction

import numpy as np
import pytest
from conftest import records_of
from hypothesis import given, settings
from hypothesis import strategies as st

from modp.base.errors import InputError
from modp.crosstabs.pairs import crosstab
from modp.models.private import budget

STARTS = np.array([0, 2, 5])
CODES = np.array([[0, 0], [0, 1], [1, 2], [1, 2], [1, 0]], np.int16)
COUNTS = crosstab(records_of(CODES, (2, 3)))
RHO = Fraction(1, 10)


def gate(rho=RHO, seed=1, counts=COUNTS):
    return budget.Gate(counts, STARTS, rho, np.random.default_rng(seed))


def converted(rho: float, delta: float) -> float:
    """Canonne, Kamath and Steinke (2020), Corollary 13, by brute force over the order."""
    orders = 1 + np.exp(np.linspace(-4, 14, 50_001))
    return float(
        np.min(
            orders * rho
            + (np.log(1 / (orders * delta)) + (orders - 1) * np.log1p(-1 / orders)) / (orders - 1)
        )
    )


@pytest.mark.parametrize("rho", [1e-4, 0.0306, 0.5, 4.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-5])
def test_epsilon_is_that_of_the_closed_form_and_below_the_simple_bound(rho, delta):
    epsilon = budget.epsilon_of(rho, delta)
    assert epsilon == pytest.approx(converted(rho, delta), rel=1e-5)
    assert epsilon < rho + 2 * math.sqrt(rho * math.log(1 / delta))


@pytest.mark.pipeline
@given(st.floats(0.01, 20), st.floats(1e-10, 1e-3))
@settings(max_examples=20)
def test_a_budget_is_never_more_than_its_epsilon_and_hardly_less(epsilon, delta):
    rho = budget.rho_of(epsilon, delta)
    assert budget.epsilon_of(rho, delta) <= epsilon < budget.epsilon_of(1.0001 * rho, delta)


@pytest.mark.parametrize(("epsilon", "delta"), [(0, 1e-5), (1, 0), (1, 1), (-1, 0.1)])
def test_no_budget_without_epsilon_and_delta(epsilon, delta):
    with pytest.raises(ValueError, match="no budget"):
        budget.rho_of(epsilon, delta)


@pytest.mark.parametrize("sigma", [0.4, 1.0, 37.5])
def test_noise_is_whole_and_has_the_probabilities_of_the_discrete_gaussian(sigma):
    drawn = budget.discrete_gaussian(sigma, (200_000,), np.random.default_rng(1))
    assert drawn.dtype == np.int64
    values = np.arange(-400, 401)
    shares = np.exp(-(values**2) / (2 * sigma**2))
    shares /= shares.sum()
    assert drawn.var() == pytest.approx((shares * values**2).sum(), rel=0.02)
    for value in (-1, 0, 1, 2):
        expected = shares[values == value][0]
        error = math.sqrt(expected * (1 - expected) / len(drawn))
        assert abs((drawn == value).mean() - expected) < 5 * error + 1e-9


def test_answers_are_the_true_counts_with_the_noise_that_was_paid_for():
    rho = Fraction(1, 5000)
    margins, pairs = [], []
    for seed in range(600):
        door = gate(2 * rho, seed)
        counts, margin_sigma = door.margins(rho)
        table, pair_sigma = door.pair(0, 1, rho)
        margins.append(counts - np.diag(COUNTS))
        pairs.append(table - COUNTS[:2, 2:])
        assert door.left == 0
    # One record is in one cell of each of two one-way tables: sensitivity √2; and in one cell of a pair's.
    assert margin_sigma == pytest.approx(math.sqrt(2 / (2 * rho)))
    assert pair_sigma == pytest.approx(math.sqrt(1 / (2 * rho)))
    for noise, sigma in ((np.array(margins), margin_sigma), (np.array(pairs), pair_sigma)):
        assert noise.std() == pytest.approx(sigma, rel=0.06)
        assert abs(noise.mean()) < 5 * sigma / math.sqrt(noise.size)


def test_choice_has_the_probabilities_of_the_exponential_mechanism():
    starts = np.array([0, 2, 4, 6])
    counts = np.zeros((6, 6), np.int64)
    counts[0, 2] = 10  # pair (0, 1) is off by 10, (0, 2) by 4, (1, 2) by nothing
    counts[0, 4] = 4
    rho, pairs = Fraction(1, 100), [(0, 1), (0, 2), (1, 2)]
    handicaps = np.array([2.0, 0.0, 0.0])
    door = budget.Gate(counts, starts, 4000 * rho, np.random.default_rng(1))
    chosen = [door.worst(np.zeros((6, 6)), pairs, handicaps, rho) for _ in range(4000)]
    assert door.left == 0
    epsilon = math.sqrt(8 * rho)
    expected = np.exp(epsilon * np.array([8, 4, 0]) / 2)
    shares = np.bincount(chosen, minlength=3) / len(chosen)
    assert shares == pytest.approx(expected / expected.sum(), abs=0.03)


def test_what_one_record_adds_to_a_score_is_at_most_one():
    more = crosstab(records_of(np.vstack([CODES, [[1, 1]]]).astype(np.int16), (2, 3)))
    expected = np.full((5, 5), 0.7)
    one, other = (np.abs(counts - expected)[:2, 2:].sum() for counts in (COUNTS, more))
    assert abs(one - other) <= 1 + 1e-12


@given(st.lists(st.fractions(Fraction(1, 1000), Fraction(1, 3)), min_size=1, max_size=8))
@settings(max_examples=30)
def test_prices_add_up_to_the_budget_exactly(shares):
    door = gate(sum(shares))
    for share in shares:
        door.pair(0, 1, share)
    assert door.left == 0
    assert sum(line.rho for line in door.ledger) == door.rho == sum(shares)


@pytest.mark.parametrize("what", ["margins", "pair", "worst"])
def test_a_spent_budget_buys_nothing_more(what):
    door = gate()
    door.margins(RHO)
    least = Fraction(1, 10**12)
    ask = {
        "margins": lambda: door.margins(least),
        "pair": lambda: door.pair(0, 1, least),
        "worst": lambda: door.worst(np.zeros((5, 5)), [(0, 1)], np.zeros(1), least),
    }[what]
    with pytest.raises(InputError, match="budget is spent"):
        ask()
    assert len(door.ledger) == 1


def test_nothing_is_free():
    with pytest.raises(ValueError, match="costs"):
        gate().pair(0, 1, Fraction(0))


def test_what_the_gate_holds_is_its_own():
    counts = COUNTS.copy()
    door = gate(counts=counts)
    counts[:] = 10**6
    assert door.pair(0, 1, RHO)[0].max() < 10**5
