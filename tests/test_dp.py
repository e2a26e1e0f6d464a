"""The privacy accounting against closed forms, and the gate: nothing is free, nothing is for sale twice."""

import itertools
import math
import re
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from conftest import records_of
from dp_accounting import dp_event
from dp_accounting.pld import pld_privacy_accountant
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from modp.base.config import check
from modp.base.errors import InputError
from modp.crosstabs.pairs import crosstab
from modp.models.private import budget, noise, recipe
from modp.models.private.recipe import PrivateRecipe
from modp.models.private_households.recipe import PrivateHouseholdsRecipe

STARTS = np.array([0, 2, 5])
CODES = np.array([[0, 0], [0, 1], [1, 2], [1, 2], [1, 0]], np.int16)
COUNTS = crosstab(records_of(CODES, (2, 3)))
RHO = Fraction(1, 10)


def gate(rho=RHO, seed=1, counts=COUNTS):
    return budget.Gate(counts, STARTS, rho, noise.Seeded(np.random.default_rng(seed)))


@pytest.mark.parametrize("epsilon", [0.1, 0.3, 1.0, 10.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-5])
def test_a_budget_is_that_of_a_single_gaussian_mechanism(epsilon, delta):
    rho = budget.rho_of(epsilon, delta)
    shift = math.sqrt(2 * rho)
    # δ is the integral of how much likelier one of two normal numbers is than e^ε times the other.
    x = np.linspace(-12, 12 + shift, 2_000_001)
    more = stats.norm.pdf(x, shift) - math.exp(epsilon) * stats.norm.pdf(x)
    exact = np.clip(more, 0, None).sum() * (x[1] - x[0])
    assert exact == pytest.approx(delta, rel=1e-3) and budget.delta_of(rho, epsilon) < delta
    assert budget.delta_of(1.001 * rho, epsilon) > delta


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 10.0])
def test_a_second_library_counts_no_more_for_all_answers_of_a_release(epsilon):
    delta, rounds = 1e-5, 40
    rho = budget.rho_of(epsilon, delta)
    tables, choice = 0.9 * rho / rounds, 0.1 * rho / rounds
    account = pld_privacy_accountant.PLDAccountant(value_discretization_interval=1e-3)
    account.compose(dp_event.GaussianDpEvent(1 / math.sqrt(2 * tables)), rounds)
    # Gaussian noise of the choices' price takes their place, which the next test says is no less.
    account.compose(dp_event.GaussianDpEvent(1 / math.sqrt(2 * choice)), rounds)
    assert account.get_epsilon(delta) == pytest.approx(epsilon, rel=0.02)


def hockey_stick(p: np.ndarray, q: np.ndarray, epsilon: np.ndarray) -> np.ndarray:
    """The δ at each ε of two distributions of m values: (m,), (m,) and (E,) give (E,)."""
    return np.clip(p - np.exp(epsilon)[:, None] * q, 0, None).sum(axis=1)


@pytest.mark.parametrize("rho", [1e-5, 1e-3, 0.1, 2.0])
def test_no_choice_gives_away_more_than_normal_noise_of_its_price(rho):
    reach, mu = budget.range_of(rho), math.sqrt(2 * rho)
    epsilons = np.linspace(-3 * mu, 3 * mu, 121)
    curve = np.array([
        stats.norm.sf(e / mu - mu / 2) - math.exp(e) * stats.norm.sf(e / mu + mu / 2) for e in epsilons
    ])  # fmt: skip
    for t in np.linspace(0, reach, 41):
        one = (1 - math.exp(t - reach)) / (math.exp(t) - math.exp(t - reach))
        q = np.array([one, 1 - one])
        p = q * np.exp([t, t - reach])
        assert p.sum() == pytest.approx(1)
        assert (hockey_stick(p, q, epsilons) <= curve + 1e-12).all()
    # A little more for the same price would be too much.
    wider = 1.01 * reach / 2
    q = np.array([1, math.exp(wider)]) / (1 + math.exp(wider))
    assert (hockey_stick(q[::-1], q, np.zeros(1)) > budget.delta_of(rho, 0.0))[0]


def test_a_choice_of_any_price_is_one_that_opendp_confirms():
    for rho in (Fraction(1, 10**6), Fraction(1), Fraction(14), Fraction(200)):
        door = budget.Gate(COUNTS, STARTS, rho, noise.Secret())
        assert door.worst(np.zeros((5, 5)), [(0, 1)], np.zeros(1), rho) == 0


@pytest.mark.parametrize("scores", [[0, 0, 0], [5, 1, 0, 9], [3, 3, 2, 2, 2, 2]])
def test_a_choice_among_scores_is_of_the_range_that_is_paid_for(scores):
    rho = 0.05
    scale = 2 / budget.range_of(rho)
    first = np.exp(np.array(scores) / scale)
    for change in itertools.product((-1, 1), repeat=len(scores)):
        other = np.exp((np.array(scores) + change) / scale)
        ratios = np.log(first / first.sum()) - np.log(other / other.sum())
        assert np.ptp(ratios) <= budget.range_of(rho) * (1 + 1e-12)


@pytest.mark.parametrize("sigma", [30.0, 200.0])
def test_discrete_noise_is_as_near_to_rounded_normal_noise_as_the_proof_says(sigma):
    k = np.arange(0, int(8 * sigma))
    discrete = np.exp(-(k**2) / (2 * sigma**2)) / (sigma * math.sqrt(2 * math.pi))
    rounded = stats.norm.sf((k - 0.5) / sigma) - stats.norm.sf((k + 0.5) / sigma)
    eta = np.log(rounded / discrete)
    assert -1 / 24 / sigma**2 <= eta.min() + 1e-11 and eta.max() - 1e-11 <= 8**2 / 24 / sigma**2
    assert eta.max() > 0.1 * 8**2 / 24 / sigma**2


@given(st.lists(st.integers(1, 2**18), min_size=1, max_size=60), st.integers(1, 100))
@example([2**15] * 1000, 14)
@example([2**25], 14)
@settings(max_examples=30, deadline=None)
def test_all_noise_of_a_gate_together_is_as_near_however_many_cells_there_are(sizes, price):
    noted, off = Noting(), 0.0
    door = budget.Account(1000, noted)
    for size in sizes:
        door._measured("counts", np.broadcast_to(np.int64(0), size), 1, Fraction(price, 100))
        off += size * (40**2 + 1) / 24 / noted.sigma**2
    assert off < budget.CLOSE


def exact_delta(rho: float, epsilon: float) -> mpmath.mpf:
    """The privacy profile of μ-GDP in 400 digits."""
    with mpmath.workdps(400):
        mu, at = mpmath.sqrt(2 * mpmath.mpf(rho)), mpmath.mpf(epsilon)
        above = [mpmath.erfc(x / mpmath.sqrt(2)) / 2 for x in (at / mu - mu / 2, at / mu + mu / 2)]
        return above[0] - mpmath.exp(at) * above[1]


@given(
    st.floats(math.log(recipe.LEAST_EPSILON), math.log(recipe.MOST_EPSILON)).map(math.exp),
    st.floats(math.log(recipe.LEAST_DELTA), math.log(0.999)).map(math.exp),
)
@example(recipe.LEAST_EPSILON, recipe.LEAST_DELTA)
@example(recipe.MOST_EPSILON, recipe.LEAST_DELTA)
@example(recipe.LEAST_EPSILON, 0.999)
@example(recipe.MOST_EPSILON, 0.999)
@settings(max_examples=60, deadline=None)
def test_no_budget_that_may_be_asked_for_is_more_than_it_says(epsilon, delta):
    epsilon = min(max(epsilon, recipe.LEAST_EPSILON), recipe.MOST_EPSILON)
    delta = max(delta, recipe.LEAST_DELTA)
    rho = budget.rho_of(epsilon, delta)
    assert exact_delta(rho, epsilon - 2 * budget.CLOSE) <= delta * (1 - 2 * budget.CLOSE)
    assert exact_delta(rho * (1 + 1e-5), epsilon - 2 * budget.CLOSE) > delta * (1 - 4 * budget.CLOSE)


@pytest.mark.parametrize("kind", [PrivateRecipe, PrivateHouseholdsRecipe])
@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"epsilon": 1e-6}, "epsilon: Input should be greater than or equal to 0.001"),
        ({"epsilon": 200}, "epsilon: Input should be less than or equal to 100"),
        ({"delta": 1e-40}, "delta: Input should be greater than or equal to 0.000"),
    ],
)
def test_a_recipe_asks_for_no_budget_that_there_is_not(kind, keys, said):
    known = {"family": kind.model_fields["family"].default, "epsilon": 1, "delta": 1e-5}
    with pytest.raises(InputError, match=re.escape(said)):
        check(known | keys, kind, "model dp")


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0, 1e-5), (1, 0), (1, 1), (-1, 0.1), (2e-6, 1e-5), (101, 1e-5), (50, 1e-260)]
)
def test_no_budget_without_epsilon_and_delta(epsilon, delta):
    with pytest.raises(ValueError, match="no budget"):
        budget.rho_of(epsilon, delta)


def test_seeded_noise_is_whole_and_of_its_size():
    source = noise.Seeded(np.random.default_rng(1))
    drawn = source.gaussian(np.full(20_000, 3), 1e7, 1.0, RHO)
    assert drawn.dtype == np.int64 and drawn.std() == pytest.approx(1e7, rel=0.03)


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
    expected = np.exp(budget.range_of(float(rho)) * np.array([8, 4, 0]) / 2)
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
        times = 2 ** round(math.log2(noted.counts.max() / ((a - 1) * (b - 1))))
        whole = noted.counts // times
        assert (
            whole * times == noted.counts
        ).all() and times * noted.sigma >= noted.sigma >= 4 * budget.CELLS
        assert (whole**2).sum() == a * (a - 1) * b * (b - 1) <= (noted.sensitivity / times) ** 2
        assert whole / (a * b) == pytest.approx(budget.interaction(one.astype(float)))
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
    assert door.margins(20 * rho)[0].dtype == np.float64
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


def test_counts_that_are_too_large_are_cut_off_and_nothing_tells_of_them():
    one, other = (gate(counts=np.full((5, 5), n)).margins(RHO)[0] for n in (10**16, 2**62))
    assert np.array_equal(one, other) and one.min() > 2**30
    for sign in (1, -1):
        noted = Noting()
        budget.Account(1, noted)._measured("counts", np.array([sign * 2**61, 0, 5]), 1, RHO)
        assert 2**61 < sign * noted.counts[0] < 2**62 - 40 * noted.sigma
        assert noted.counts[2] == 5 * 2 ** round(math.log2(noted.counts[2] / 5))


@pytest.mark.parametrize("size", [2, 700])
def test_a_table_of_large_counts_is_measured_without_overflow(size):
    counts = np.zeros((2 * size, 2 * size), np.int64)
    counts[0, size], counts[1, size + 1] = 2**40, 2**62
    noted = Noting()
    found, _ = budget.Gate(counts, np.array([0, size, 2 * size]), RHO, noted).pair(0, 1, RHO)
    table = np.zeros((size, size))
    table[0, 0] = table[1, 1] = 2**31
    assert found == pytest.approx(budget.interaction(table), rel=1e-12)


@pytest.mark.parametrize("rho", [1e-20, 1e-14, 1e-9, 1e-3, 0.5, 9.0, 50.0, 5000.0])
def test_a_choice_is_of_the_range_that_exact_arithmetic_gives(rho):
    with mpmath.workdps(60):
        away = mpmath.erf(mpmath.sqrt(mpmath.mpf(rho)) / 2)
        beyond = mpmath.erfc(mpmath.sqrt(mpmath.mpf(rho)) / 2)
        exact = min(2 * mpmath.log((1 + away) / beyond), mpmath.sqrt(8 * mpmath.mpf(rho)))
    assert budget.range_of(rho) == pytest.approx(float(exact), rel=1e-14)
    assert budget.range_of(rho) / budget.ROUNDED_UP < exact


def test_nothing_is_free():
    with pytest.raises(ValueError, match="costs"):
        gate().pair(0, 1, Fraction(0))


def test_what_the_gate_holds_is_its_own():
    counts = COUNTS.copy()
    door = gate(counts=counts)
    counts[:] = 10**6
    assert door.pair(0, 1, RHO)[0].max() < 10**5
