"""How near to the people who were not in the fit: by hand, and against what theory says of large samples."""

import math

import numpy as np
import pytest
from conftest import codes_of, records_of

from modp.crosstabs.pairs import crosstab
from modp.measures.accuracy import OF_D, cell_sets
from modp.measures.population import GROUPS, Held, population
from modp.survey.records import Records

CELLS = {"all": np.ones(3, bool), "some": np.array([False, True, False])}
TRAIN, SYNTHETIC = np.array([4, 1, 0]), np.array([1, 1, 0])
HELD = Held(np.array([[1, 0, 0], [1, 1, 1]]), np.array([2, 2]))

SIZES = (10,) * 6
"""Sixty categories: a cell between questions holds one record in a hundred."""
N, H = 20_000, 5_000
KEYS = [f"population_{key}" for key in OF_D]


def drawn(n: int, rng: np.random.Generator) -> Records:
    return records_of(codes_of(SIZES, n, rng), SIZES)


def near(synthetic: Records, train: Records, holdout: Records) -> dict[str, tuple[float, float]]:
    """Over the cells between questions."""
    upper = np.triu_indices(60)
    found = population(
        *(crosstab(synthetic)[upper], len(synthetic)),
        *(crosstab(train)[upper], len(train)),
        Held.of(holdout, np.random.default_rng(1)),
        cell_sets(train.block_starts),
    )
    return found["between"]


def test_a_ratio_and_its_error_by_hand():
    # Of 4 records each, held out [2, 1, 1]: d is 0, ln 3/2, ln 2 of [2, 2, 0], and ln 5/3, 0, ln 2 of
    # [4, 1, 0]; half of the square of the latter is the noise that both share.
    found = population(SYNTHETIC, 2, TRAIN, 4, HELD, CELLS)["all"]
    rho = {
        "median": math.log(3 / 2) / math.log(5 / 3),
        "mean_abs": math.log(3) / math.log(10 / 3),
        "rms": math.hypot(math.log(3 / 2), math.log(2)) / math.hypot(math.log(5 / 3), math.log(2)),
    }
    for key, value in rho.items():
        assert found[f"population_{key}"][0] == pytest.approx(math.sqrt(1 + (value**2 - 1) * 2)), key
    # Without the first group [1, 1, 1] of 2 are left: rho is 1/2, 1 + (1/4 - 1) 3 < 0. Without the second
    # [1, 0, 0]: d is 0, ln 2, 0 of [1, 1, 0], and ln 3/2, ln 3/2, 0 of [2, 1/2, 0].
    part = math.sqrt(1 + ((math.log(2) / (2 * math.log(3 / 2))) ** 2 - 1) * 3)
    assert found["population_mean_abs"][1] == pytest.approx((part - 0) / 2)


def test_the_train_records_have_exactly_one_and_no_error():
    rng = np.random.default_rng(2)
    train = drawn(997, rng)
    assert near(train, train, drawn(331, rng)) == dict.fromkeys(KEYS, (1.0, 0.0))


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        (lambda train, rng: train[rng.integers(0, N, N)], math.sqrt(2)),
        (lambda _, rng: drawn(N, rng), 1),
        (lambda train, rng: train.of(np.concatenate([train.codes, drawn(N, rng).codes])), math.sqrt(1 / 2)),
    ],
    ids=["a bootstrap", "a second sample", "a sample twice as large"],
)
def test_samples_have_what_theory_says_where_counts_are_large(of, expected):
    rng = np.random.default_rng(3)
    found = []
    for _ in range(24):
        train = drawn(N, rng)
        ratios = near(of(train, rng), train, drawn(H, rng))
        found.append([ratios[key][0] for key in KEYS])
    # One has a standard deviation of 0.05 to 0.16, so the mean of 24 one of 0.03 at most.
    assert np.mean(found, axis=0) == pytest.approx(expected, abs=0.07)


def test_the_error_is_the_spread_over_other_people_held_out_or_a_little_more():
    rng = np.random.default_rng(4)
    train, synthetic = drawn(N, rng), drawn(N, rng)
    found = np.array([near(synthetic, train, drawn(H, rng))["population_mean_abs"] for _ in range(60)])
    spread, error = found[:, 0].std(ddof=1), np.sqrt(np.mean(found[:, 1] ** 2))
    # The spread of 60 is known to a tenth; the jackknife errs on the large side, here by a quarter.
    assert 0.9 < error / spread < 1.6


def test_groups_are_random_parts_of_the_records_held_out():
    records = drawn(1_003, np.random.default_rng(5))
    held, again = (Held.of(records, np.random.default_rng(6)) for _ in range(2))
    assert set(held.sizes.tolist()) == {50, 51} and len(held.sizes) == GROUPS
    assert (held.counts.sum(axis=0) == crosstab(records)[np.triu_indices(60)]).all()
    assert (held.counts == again.counts).all()
    assert len(Held.of(records[:7], np.random.default_rng(6)).sizes) == 7


def test_what_cannot_be_said_is_not_a_number():
    rng = np.random.default_rng(7)
    train, holdout = drawn(50, rng), drawn(20, rng)
    none = train[:0]
    for synthetic, people, others in (
        (none, train, holdout),
        (train, none, holdout),
        (train, train, none),
        (train, holdout, holdout),
    ):
        assert np.isnan(list(near(synthetic, people, others).values())).all()
    ratio, error = near(train, holdout, drawn(1, rng))["population_mean_abs"]
    assert ratio > 0 and math.isnan(error)
    single = population(SYNTHETIC, 2, TRAIN, 4, HELD, {"none": np.zeros(3, bool)})["none"]
    assert np.isnan(list(single.values())).all()
