"""Priors on the weights of a stationary model: what they are, how they are learnt, and a fit under them."""

import functools

import numpy as np
import pytest
from conftest import codes_of, records_of
from hypothesis import given
from hypothesis import strategies as st
from test_stationary import SIZES, STARTS, correlated, expected_crosstab, parity

from modp.crosstabs.cells import structural_zeros, within_question
from modp.crosstabs.pairs import crosstab
from modp.models.stationary import matching
from modp.models.stationary.effects import Effects
from modp.models.stationary.matching import Settings
from modp.models.stationary.model import Stationary
from modp.models.stationary.prior import DEGREES, Prior, pairs_of
from modp.survey.records import Records

FREE = ~within_question(STARTS)


def log_density(kind: str, w: float, variance: float) -> float:
    if kind == "student":
        return -(DEGREES + 1) / 2 * np.log1p(w**2 / (DEGREES * variance))
    return -(w**2) / (2 * variance)


@given(st.floats(-4, 4), st.floats(0.01, 4), st.sampled_from(["student", "gaussian", "common"]))
def test_the_pull_is_minus_the_slope_of_the_log_density(w, variance, kind):
    prior = Prior(kind, np.array([7.0]), np.array([0]), np.array([variance]))
    slope = (log_density(kind, w + 1e-5, variance) - log_density(kind, w - 1e-5, variance)) / 2e-5
    assert prior.pull(np.array([w]), np.zeros(1)) == pytest.approx(-slope, abs=1e-5)


def test_a_box_is_one_standard_deviation_wide():
    prior = Prior.of("box", np.array([8.5, 8.5, 8.5, 8.5, 3.0]), np.array([0, 0, 0, 0, -1]))
    weights = np.array([0.2, -0.1, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(prior.pull(weights, np.array([0, 0, 1.5, -9, 9])), [3, -3, 1.5, -3, 0])
    after = prior.held_back(weights, np.array([0.1, 0.1, 0.3, -0.3, 0.0]), np.array([0, 0, 1.5, -9, 0]))
    np.testing.assert_allclose(after, [0.1, 0, 0, -0.3, 0])


@pytest.mark.parametrize(("kind", "least", "most"), [("gaussian", 0.8, 1.25), ("student", 0.8, 1.6)])
@pytest.mark.parametrize("variance", [0.02, 0.5])
def test_em_finds_the_variance_that_weights_were_drawn_with(kind, least, most, variance):
    # Laplace's approximation finds too much where tails are heavy and weights hardly known.
    rng = np.random.default_rng(1)
    counts, group = rng.integers(0, 200, 8000), np.repeat([0, 1], 4000)
    scale = np.sqrt(variance) * np.repeat([1, 2], 4000)
    true = scale * (rng.standard_t(DEGREES, 8000) if kind == "student" else rng.normal(size=8000))
    seen = true + rng.normal(size=8000) / np.sqrt(counts + 0.5)
    prior = Prior.of(kind, counts, group)
    for _ in range(150):
        weights = seen.copy()
        for _ in range(15):  # to the posterior's mode
            weights = (counts + 0.5) * seen / (counts + 0.5 + prior.stiffness(weights))
        prior.learn(weights)
    ratio = prior.variances / (variance * np.array([1, 4]))
    assert (ratio > least).all() and (ratio < most).all(), ratio


def test_groups_are_the_pairs_of_questions():
    group = pairs_of(STARTS, FREE)
    assert group[0, 3] == group[2, 4] == group[4, 2] and group[0, 5] == group[8, 1] != group[0, 3]
    assert (group[~FREE] == -1).all() and set(group[FREE]) == {0, 1, 2}


def centred(
    weights: np.ndarray, stiffness: np.ndarray, free: np.ndarray, held: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Weights of pairs without the categories' own, no effect being free; and what categories gain."""
    less, gained, effects, _ = Effects.of(np.zeros(9), free, held, STARTS, 1).split(weights, stiffness)
    assert not effects.any()
    return less, gained


def model_of(w: np.ndarray, c: np.ndarray, excluded: np.ndarray) -> Stationary:
    return Stationary(w, c, excluded, STARTS)


@pytest.mark.parametrize("held", [False, True])
def test_centred_weights_say_the_same_and_are_smaller(held):
    rng = np.random.default_rng(2)
    excluded = np.zeros((9, 9), bool)
    excluded[0, 4] = excluded[4, 0] = True
    stay = np.zeros((9, 9), bool)
    stay[1, 6] = stay[6, 1] = held
    free = FREE & ~excluded & ~stay
    w = rng.normal(size=(9, 9)) + 2
    w, c = np.where(free, w + w.T, 0), rng.normal(size=9)
    stiffness = rng.random((9, 9))
    stiffness += stiffness.T
    less, gained = w, np.zeros(9)
    for _ in range(50):
        less, more = centred(less, stiffness, free, stay)
        gained += more
    before, after = (
        expected_crosstab(model_of(*weights, excluded)) for weights in ((w, c), (less, c + gained))
    )
    np.testing.assert_allclose(after, before, rtol=2e-6, atol=1e-9)  # it computes in float32
    np.testing.assert_array_equal(less[~free], 0)
    np.testing.assert_array_equal(less, less.T)
    assert (stiffness * less**2).sum() < (stiffness * w**2).sum()
    if not held:
        sums = np.add.reduceat(np.where(free, stiffness * less, 0), STARTS[:-1], axis=1)
        np.testing.assert_allclose(sums, 0, atol=1e-9)


def fitted(records: Records, **settings: object) -> tuple[Stationary, np.ndarray]:
    """A model, all of whose weights a prior pulls at, and what is missing of true counts in expected ones."""
    chosen = Settings(**{"exchanges": 0, "triples": 0, "effects": "shrunk", **settings})
    model, _, _ = matching.fit(records, chosen, 1, 1, lambda _: None)
    counts = crosstab(records)
    return model, counts - expected_crosstab(model) * len(records)


@pytest.mark.pipeline
@pytest.mark.parametrize("kind", ["common", "gaussian", "student"])
def test_what_a_fit_misses_is_the_pull_on_its_weights(kind):
    records = correlated(400)
    model, missing = fitted(records, prior=kind, window=100)
    free = FREE & ~model.excluded
    w = model.w.astype(float)
    prior = Prior.of(kind, crosstab(records), pairs_of(STARTS, free))
    for _ in range(500):
        prior.learn(w)
    noise = np.sqrt(crosstab(records) + 1)
    missed, pull = missing / noise, prior.pull(w, missing) / noise
    assert np.abs(missed)[free].max() > 0.7 and np.abs(missed - pull)[free].max() < 0.2
    assert np.corrcoef(missed[free], pull[free])[0, 1] > 0.97
    assert np.abs(np.diag(missed)).max() < 0.15, "margins are not pulled"


def test_a_fit_in_a_box_stays_within_it_and_leaves_most_chance_weights_at_zero():
    rng = np.random.default_rng(5)
    chance = records_of(codes_of(SIZES, 3000, rng), SIZES)
    model, missing = fitted(chance, prior="box")
    assert np.abs(missing / np.sqrt(crosstab(chance) + 0.5))[FREE].max() < 1.25
    assert np.mean(np.abs(model.w[FREE]) < 0.02) > 0.5
    without, _ = fitted(chance)
    assert np.abs(model.w).sum() < 0.5 * np.abs(without.w).sum()


@pytest.mark.pipeline
@pytest.mark.parametrize("kind", ["student", "gaussian", "common", "box"])
def test_a_prior_brings_a_small_sample_nearer_to_its_population(kind):
    population = correlated(400_000)
    sample = population[:300]
    true = crosstab(population) / len(population)
    both = []
    for prior in ("none", kind):
        model, _ = fitted(sample, prior=prior)
        both.append(np.abs(expected_crosstab(model) - true)[FREE].sum())
    assert both[1] < both[0]


@pytest.mark.pipeline
@pytest.mark.parametrize("kind", ["student", "box"])
def test_a_killed_fit_under_a_prior_goes_on_to_the_same_end(kind):
    records, settings = parity(1000), Settings(exchanges=0, prior=kind, most_windows=3)
    states: list = []
    whole, chains, _ = matching.fit(records, settings, 1, 1, lambda _: None, keep=states.append)
    for state in states[1::3]:
        again, resumed, _ = matching.fit(records, settings, 1, 1, lambda _: None, start=state)
        np.testing.assert_array_equal(again.w, whole.w)
        np.testing.assert_array_equal(again.values, whole.values)
        np.testing.assert_array_equal(resumed, chains)


def test_rare_pairs_have_no_weight_of_their_own():
    records = correlated(300)
    counts = crosstab(records)
    excluded = structural_zeros(counts, STARTS)
    model, _ = fitted(records, rare=12)
    rare = FREE & ~excluded & (counts < 12)
    assert rare.any() and (model.w[rare] == 0).all() and (model.w[FREE & (counts >= 12)] != 0).all()
    assert (expected_crosstab(model)[rare] > 0).all(), "they are possible nevertheless"


@pytest.mark.pipeline
def test_a_fit_that_diverges_forgets_what_its_prior_learnt_on_the_way():
    records = correlated(5_000)
    wild = {"pair_step": 12.0, "most_pair_step": 4.0, "margin_step": 8.0}
    states: list = []
    chosen = Settings(exchanges=0, triples=0, prior="gaussian", **wild)
    matching.fit(records, chosen, 1, 1, lambda _: None, keep=states.append)
    halved = [state for state in states if state.facts["progress"]["halvings"]]
    assert halved, "it diverged"
    good = halved[0].arrays["good.variances"]
    np.testing.assert_array_equal(halved[0].arrays["walk.variances"], good)
    assert (good < 2).all(), "those of before the weights ran away"


@functools.cache
def nation() -> Stationary:
    """A model of many records, which fits of few are drawn toward."""
    return fitted(correlated(50_000))[0]


@pytest.mark.pipeline
@pytest.mark.parametrize("kind", ["student", "gaussian"])
def test_what_a_pooled_fit_misses_is_the_pull_on_how_its_weights_differ_from_the_nations(kind):
    records = parity(300)
    chosen = Settings(exchanges=0, triples=0, prior=kind, window=100)
    model, _, _ = matching.fit(records, chosen, 1, 1, lambda _: None, toward=nation())
    counts = crosstab(records)
    missing = counts - expected_crosstab(model) * len(records)
    free = FREE & ~model.excluded
    own = model.w.astype(float) - nation().w
    prior = Prior.of(kind, counts, pairs_of(STARTS, free))
    for _ in range(500):
        prior.learn(own)
    noise = np.sqrt(counts + 1)
    missed, pull, to_zero = (
        x / noise for x in (missing, prior.pull(own, missing), prior.pull(model.w, missing))
    )
    assert np.abs(missed)[free].max() > 0.7 and np.abs(missed - pull)[free].max() < 0.3
    assert np.corrcoef(missed[free], pull[free])[0, 1] > 0.97
    assert np.abs(missed - to_zero)[free].max() > 0.9, "another pull would be seen"
    assert np.abs(np.diag(missed)).max() < 0.15, "margins are not pulled"


@pytest.mark.pipeline
def test_weights_of_few_records_drawn_to_the_nation_are_nearer_to_its_own_than_alone():
    population = correlated(50_000)
    alone, _ = fitted(population[:300], prior="student")
    chosen = Settings(exchanges=0, triples=0, prior="student")
    pooled, _, _ = matching.fit(population[:300], chosen, 1, 1, lambda _: None, toward=nation())
    free = FREE & ~nation().excluded & ~alone.excluded
    own = [centred(m.w - nation().w, free * 1.0, free, np.zeros_like(free))[0] for m in (alone, pooled)]
    far = [np.abs(w[free]).mean() for w in own]
    assert far[1] < 0.5 * far[0]


@pytest.mark.pipeline
def test_pairs_that_the_nation_holds_are_possible_and_rare_ones_keep_its_weights():
    sample = correlated(50_000)[:60]
    chosen = Settings(exchanges=0, triples=0, prior="student", rare=12)
    pooled, _, _ = matching.fit(sample, chosen, 1, 1, lambda _: None, toward=nation())
    np.testing.assert_array_equal(pooled.excluded, nation().excluded)
    counts = crosstab(sample)
    rare = FREE & ~nation().excluded & (counts < 12)
    assert (counts[rare] == 0).any()
    np.testing.assert_array_equal(pooled.w[rare], nation().w[rare])
    assert (pooled.w != nation().w)[FREE & (counts >= 12)].all()
