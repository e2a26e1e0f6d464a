"""Effects of pairs that a prior leaves alone: how they are told from the rest, what a fit makes of them."""

import itertools

import numpy as np
import pytest
from conftest import codes_of, records_of
from hypothesis import given, settings
from hypothesis import strategies as st
from test_prior import FREE, fitted
from test_stationary import SIZES, STARTS, correlated, expected_crosstab

from modp.crosstabs.pairs import crosstab
from modp.models.family import Work
from modp.models.stationary import effects as effects_room
from modp.models.stationary.drawing import draw
from modp.models.stationary.effects import Effects, amplification, scores
from modp.models.stationary.recipe import StationaryRow
from modp.survey.records import Records

NOTHING = np.zeros((9, 9), bool)
SCORE = scores(np.array([5.0, 1, 4, 3, 7, 2, 2, 3, 3]), STARTS)


def symmetric(seed: int) -> np.ndarray:
    half = np.random.default_rng(seed).normal(size=(9, 9))
    return np.where(FREE, half + half.T, 0)


def test_scores_have_mean_zero_and_variance_one_by_hand():
    found = scores(np.array([1.0, 1, 2, 0, 5]), np.array([0, 3, 5]))
    spread = np.sqrt((1.25**2 + 0.25**2 + 2 * 0.75**2) / 4)
    np.testing.assert_allclose(found, [-1.25 / spread, -0.25 / spread, 0.75 / spread, 0, 0])


@settings(deadline=None)
@given(st.integers(0, 10**6))
def test_what_is_left_for_the_prior_has_no_levels_and_the_slopes_that_a_weak_prior_leaves(seed):
    weights, stiffness = symmetric(seed), np.abs(symmetric(seed + 1)) + 0.1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(effects_room, "ROUNDS", 1000)
        less, _, effects, slopes = Effects.of(SCORE, FREE, NOTHING, STARTS, 1).split(weights, stiffness)
    rest = less - effects
    np.testing.assert_allclose(rest, rest.T, atol=1e-12)
    pull = np.where(FREE, stiffness * rest, 0)
    np.testing.assert_allclose(np.add.reduceat(pull, STARTS[:-1], axis=1), 0, atol=1e-6)
    sums = np.add.reduceat(pull * SCORE, STARTS[:-1], axis=1)
    np.testing.assert_allclose(sums, effects_room.RIDGE * slopes, atol=1e-6)


def test_all_weights_of_a_question_of_two_categories_are_effects(monkeypatch):
    monkeypatch.setattr(effects_room, "RIDGE", 0.0)
    sizes = np.array([2, 4])
    starts = np.array([0, 2, 6])
    free = (np.arange(6)[:, None] < 2) != (np.arange(6) < 2)
    counts = crosstab(records_of(codes_of(sizes, 200, np.random.default_rng(1)), sizes))
    half = np.random.default_rng(2).normal(size=(6, 6))
    weights = np.where(free, half + half.T, 0)
    of = Effects.of(scores(np.diag(counts), starts), free, np.zeros((6, 6), bool), starts, 2)
    less, _, effects, _ = of.split(weights, free * 1.0)
    np.testing.assert_allclose(less, effects, atol=1e-12)


def test_threads_have_no_influence():
    weights, stiffness = symmetric(1), np.abs(symmetric(2))
    one, two = (Effects.of(SCORE, FREE, NOTHING, STARTS, k).split(weights, stiffness) for k in (1, 2))
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)


def test_steps_add_up_along_what_questions_share():
    rng = np.random.default_rng(1)
    sizes, starts = np.full(20, 5), np.arange(21) * 5
    chance = codes_of(sizes, 3000, rng)
    common = rng.normal(size=(3000, 1)) + 0.7 * rng.normal(size=(3000, 20))
    likert = np.digitize(common, [-1.5, -0.5, 0.5, 1.5]).astype(np.int16)
    found = [
        amplification(
            codes, scores(np.bincount((codes + starts[:-1]).ravel(), minlength=100), starts), starts
        )
        for codes in (chance, likert)
    ]
    assert found[0] < 3 and found[1] > 30


def means(crosstab: np.ndarray, score: np.ndarray) -> np.ndarray:
    """Sum of each question's scores over the records of each category of the others: (9, 3)."""
    return np.add.reduceat(np.where(FREE, crosstab * score, 0), STARTS[:-1], axis=1)


@pytest.mark.pipeline
@pytest.mark.parametrize("kind", ["student", "gaussian"])
def test_a_prior_leaves_means_of_scores_as_they_are_where_effects_are_free(kind):
    records = correlated(400)
    counts = crosstab(records)
    score = scores(np.diag(counts), STARTS)
    errors = np.sqrt(means(counts, score**2) + 1)
    free, _ = fitted(records, prior=kind, effects="free", window=100)
    shrunk, _ = fitted(records, prior=kind, window=100)
    missed = [
        np.abs(means(counts - expected_crosstab(model) * len(records), score) / errors).max()
        for model in (free, shrunk)
    ]
    assert missed[0] < 0.3 < missed[1], missed


@pytest.mark.pipeline
def test_a_fit_knows_the_crosstab_that_its_model_has():
    records = correlated(1000)
    model, _ = fitted(records, prior="student", effects="free", window=100)
    noise = np.sqrt(crosstab(records) + 1)
    apart = (expected_crosstab(model) * len(records) - model.expected)[FREE] / noise[FREE]
    assert np.abs(apart).max() < 0.3
    without, _ = fitted(records)
    assert not len(without.expected)


def test_a_balanced_table_has_the_crosstab_that_the_fit_expects():
    records = correlated(2000)
    model, _ = fitted(records, prior="student", effects="free")
    row = StationaryRow(model="m", name="balanced", sweeps=5, balanced=True)
    drawn = draw(model, records, row, Work("m/balanced", 1))
    found = crosstab(Records(drawn.codes, records.codebook))
    assert np.abs((found - model.expected) / np.sqrt(model.expected + 1))[FREE].max() < 0.3
    allowed = np.ones(9, bool)
    allowed[0] = False
    assert not len(model.restricted(allowed).expected), "under a condition it is another"


def test_sizes_are_those_of_the_tables_here():
    assert list(itertools.accumulate(SIZES)) == STARTS[1:].tolist()
