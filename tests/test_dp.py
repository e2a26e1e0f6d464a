"""The privacy accounting against closed forms, and the gate: nothing is free, nothing is for sale twice."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from conftest import records_of
from hypothesis import given, settings
from hypothesis import strategies as st

from modp.base.errors import InputError
from modp.crosstabs.pairs import crosstab
from modp.models.private import budget, noise

STARTS = np.array([0, 2, 5])
CODES = np.array([[0, 0], [0, 1], [1, 2], [1, 2], [1, 0]], np.int16)
COUNTS = crosstab(records_of(CODES, (2, 3)))
RHO = Fraction(1, 10)


def gate(rho=RHO, seed=1, counts=COUNTS):
    return budget.Gate(counts, STARTS, rho, noise.Seeded(np.random.default_rng(seed)))


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


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 10.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-5])
def test_the_exact_curve_of_gaussian_noise_of_that_rho_lies_below_the_epsilon_and_delta(epsilon, delta):
    # A second account, without Rényi divergences: all answers together are one Gaussian mechanism, whose
    # δ at ε is known in closed form (Balle and Wang, 2018, Theorem 8).
    shift = math.sqrt(2 * budget.rho_of(epsilon, delta))  # sensitivity over σ
    tail = lambda x: math.erfc(x / math.sqrt(2)) / 2  # noqa: E731
    exact = tail(epsilon / shift - shift / 2) - math.exp(epsilon) * tail(epsilon / shift + shift / 2)
    assert delta / 100 < exact < delta


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


def test_wide_noise_needs_no_table_and_is_whole():
    drawn = noise.discrete_gaussian(1e7, (20_000,), np.random.default_rng(1))
    assert drawn.dtype == np.int64 and drawn.std() == pytest.approx(1e7, rel=0.03)


@pytest.mark.parametrize("sigma", [0.4, 1.0, 37.5])
def test_noise_is_whole_and_has_the_probabilities_of_the_discrete_gaussian(sigma):
    drawn = noise.discrete_gaussian(sigma, (200_000,), np.random.default_rng(1))
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
        counts, margin_sigmas = door.margins(rho)
        table, pair_sigma = door.pair(0, 1, rho)
        margins.append(counts - np.diag(COUNTS))
        pairs.append(table - budget.interaction(COUNTS[:2, 2:].astype(float)))
        assert door.left == 0
    # One record is in one cell of each one-way table; they get 2/5 and 3/5 of the price. In a table of 2 by 3
    # it changes the interaction by √f, f = 1/2 · 2/3; of noise of that size a share of f is left in a cell.
    assert margin_sigmas == pytest.approx(
        np.repeat(np.sqrt([5 / (4 * float(rho)), 5 / (6 * float(rho))]), [2, 3])
    )
    assert pair_sigma == pytest.approx(math.sqrt(1 / 3 / (2 * rho)))
    for found, sigma in (
        (np.array(margins)[:, :2], margin_sigmas[0]),
        (np.array(margins)[:, 2:], margin_sigmas[-1]),
        (np.array(pairs), pair_sigma / math.sqrt(3)),
    ):
        assert found.std() == pytest.approx(sigma, rel=0.06)
        assert np.abs(found.mean(axis=0)).max() < 5 * sigma / math.sqrt(len(found))


def test_choice_has_the_probabilities_of_the_exponential_mechanism():
    starts = np.array([0, 2, 4, 6])
    counts = np.zeros((6, 6), np.int64)
    counts[0, 2] = 10  # pair (0, 1) is off by 10, (0, 2) by 4, (1, 2) by nothing
    counts[0, 4] = 4
    rho, pairs = Fraction(1, 100), [(0, 1), (0, 2), (1, 2)]
    handicaps = np.array([2.0, 0.0, 0.0])
    door = budget.Gate(counts, starts, 4000 * rho, noise.Seeded(np.random.default_rng(1)))
    chosen = [door.worst(np.zeros((6, 6)), pairs, handicaps, rho) for _ in range(4000)]
    assert door.left == 0
    epsilon = math.sqrt(8 * rho)
    expected = np.exp(epsilon * np.array([8, 4, 0]) / 2)
    shares = np.bincount(chosen, minlength=3) / len(chosen)
    assert shares == pytest.approx(expected / expected.sum(), abs=0.03)


@pytest.mark.parametrize("shape", [(2, 2), (2, 5), (7, 3)])
def test_what_one_record_changes_of_an_interaction_is_what_is_paid_for_in_every_cell(shape):
    a, b = shape
    for cell in itertools.product(range(a), range(b)):
        one = np.zeros(shape, np.int64)
        one[cell] = 1
        counts = np.zeros((a + b, a + b), np.int64)
        counts[:a, a:] = one
        noted = Noting()
        budget.Gate(counts, np.array([0, a, a + b]), RHO, noted).pair(0, 1, RHO)
        assert (noted.counts**2).sum() == a * (a - 1) * b * (b - 1) <= noted.sensitivity**2
        assert noted.counts / (a * b) == pytest.approx(budget.interaction(one.astype(float)))
        assert noted.sensitivity**2 / (2 * noted.sigma**2) <= RHO


class Noting:
    """Adds nothing, and notes what it was to be added to."""

    def gaussian(self, counts, sigma, sensitivity, rho):
        self.counts, self.sigma, self.sensitivity = counts, sigma, sensitivity
        return counts


def test_secret_noise_has_the_size_of_seeded_noise_and_a_price_that_opendp_confirms():
    rho = Fraction(1, 5000)
    door = budget.Gate(COUNTS, STARTS, 130 * rho, noise.Secret())
    found = np.array([door.pair(0, 1, rho)[0] for _ in range(100)])
    assert found.std() == pytest.approx(math.sqrt(1 / 9 / (2 * rho)), rel=0.2)
    assert door.margins(20 * rho)[0].dtype == np.int64
    sure = budget.Gate(1000 * COUNTS, STARTS, 1, noise.Secret())
    assert sure.worst(np.zeros((5, 5)), [(0, 1)], np.zeros(1), Fraction(1)) == 0
    with pytest.raises(ArithmeticError, match="OpenDP counts"):
        noise.Secret().gaussian(COUNTS, 1.0, 1.1, Fraction(1, 2))
    with pytest.raises(ArithmeticError, match="OpenDP counts"):
        noise.Secret().highest(COUNTS[0], 1.0, 2, Fraction(1, 2))


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
    assert [line.asked for line in door.ledger] == ["one-way table 0", "one-way table 1"]


def test_nothing_is_free():
    with pytest.raises(ValueError, match="costs"):
        gate().pair(0, 1, Fraction(0))


def test_what_the_gate_holds_is_its_own():
    counts = COUNTS.copy()
    door = gate(counts=counts)
    counts[:] = 10**6
    assert door.pair(0, 1, RHO)[0].max() < 10**5
