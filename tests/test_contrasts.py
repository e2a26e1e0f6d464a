"""Score tests of three-way effects: that they find what is there, and nothing where nothing is."""

import itertools
import math

import numpy as np
import pytest
from conftest import codes_of, records_of
from hypothesis import given, settings
from hypothesis import strategies as st

from modp.crosstabs import contrasts, triples
from modp.crosstabs.limits import FALSE_DISCOVERIES
from modp.crosstabs.pairs import crosstab
from modp.models.stationary import matching
from modp.models.stationary.effects import scores
from modp.models.stationary.fitting import interactions
from modp.models.stationary.matching import Settings

SIZES = np.array([2, 3, 4, 5, 3])
STARTS = np.concatenate([[0], np.cumsum(SIZES)])


def planted(n: int, seed: int, strength: float = 0.35) -> np.ndarray:
    """Answers of which each pair is independent, and the first three questions together are not."""
    rng = np.random.default_rng(seed)
    codes = codes_of(SIZES, n, rng)
    sign = np.sign(codes[:, 0] - 0.5) * np.sign(codes[:, 1] - 1.0)
    high = codes[:, 2] >= 2
    move = (sign != 0) & (high != (sign > 0)) & (rng.random(n) < strength)
    codes[move, 2] = 3 - codes[move, 2]
    return codes


def searched(true: np.ndarray, drawn: np.ndarray) -> list[contrasts.Contrast]:
    counts = np.bincount((true + STARTS[:-1]).ravel(), minlength=STARTS[-1])
    score = scores(counts, STARTS)
    some = contrasts.candidates(true, drawn, score, STARTS)
    counted = (triples.counts(side, some, SIZES) for side in (true, drawn))
    tests = contrasts.tested(some, *counted, len(true), len(drawn), score, STARTS)
    return contrasts.found(tests, SIZES)


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10**6))
def test_a_projected_contrast_says_nothing_about_pairs(seed):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(24)).reshape(2, 3, 4) * 0.9 + 0.1 / 24
    f = rng.normal(size=(2, 2, 3, 4))
    for _ in range(30):
        f = contrasts.projected(f, p)
    for axis in range(3):
        np.testing.assert_allclose((f * p).sum(axis=axis + 1), 0, atol=1e-8)


def test_a_planted_three_way_effect_is_found_and_no_other():
    found = searched(planted(3000, 1), codes_of(SIZES, 30_000, np.random.default_rng(2)))
    assert {contrast.triple for contrast in found} == {(0, 1, 2)}
    strongest = max(found, key=lambda contrast: abs(contrast.z))
    assert abs(strongest.z) > 6 and strongest.direction.shape == (24,)


def test_nothing_is_found_where_nothing_is():
    found = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        found += bool(searched(codes_of(SIZES, 2000, rng), codes_of(SIZES, 20_000, rng)))
    # In each of four families chance finds something in a tenth of the tables, so in 6.9 of 20 in all.
    assert found <= 12, "the 99 % quantile"


def test_statistics_have_variance_one_where_nothing_is():
    z = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        one, other = codes_of(SIZES, 800, rng), codes_of(SIZES, 2400, rng)
        every = triples.every(5)
        counted = (triples.counts(side, every, SIZES) for side in (one, other))
        score = scores(np.bincount((one + STARTS[:-1]).ravel(), minlength=STARTS[-1]), STARTS)
        z += [test.z[0] for test in contrasts.tested(every, *counted, 800, 2400, score, STARTS)]
    assert np.std(z) == pytest.approx(1, abs=0.08) and abs(np.mean(z)) < 0.12


@given(st.lists(st.floats(0, 6), max_size=12), st.integers(12, 500))
def test_the_bound_is_benjamini_and_hochbergs(values, every):
    bound = contrasts.threshold(np.array(values), every)
    p = sorted(math.erfc(x / math.sqrt(2)) for x in values)
    passed = [k for k, at in enumerate(p, start=1) if at <= FALSE_DISCOVERIES * k / every]
    assert sum(x >= bound for x in values) >= max(passed, default=0)
    assert math.isinf(bound) == (not passed)


def test_contrasts_are_counted_as_by_hand():
    every = list(itertools.combinations(range(5), 3))
    for grouped in (True, False):
        own = [t for t in every if (0 in t) == grouped]
        single = sum(int(SIZES[q]) for t in own for q in t if SIZES[q] > 2)
        assert contrasts.number(SIZES)[grouped] == (len(own), single)


def test_moments_equal_the_slow_ones():
    rng = np.random.default_rng(3)
    codes, weights = codes_of(SIZES, 50, rng), rng.random(50)
    score = rng.normal(size=STARTS[-1])
    s = score[codes + STARTS[:-1]]
    mean, square = contrasts._Side.of(codes, score, STARTS, weights).moments(2, 4)
    for k, r, t in itertools.product(range(4), (0, 1), (3, 4)):
        product = np.where(codes[:, 2] == k, s[:, r] * s[:, t], 0)
        assert mean[k, r, t] == pytest.approx(np.average(product, weights=weights), abs=1e-6)
        assert square[k, r, t] == pytest.approx(np.average(product**2, weights=weights), abs=1e-6)


def test_directions_by_hand():
    one = contrasts.Contrast((0, 1, 2), None, 5.0, np.arange(24.0))
    other = contrasts.Contrast((0, 1, 4), (0, 1), 4.0, np.ones(18))
    chosen = np.array([(0, 1, 2), (0, 1, 4)])
    directions = contrasts.Directions.of([one, other, other], chosen, SIZES)
    cells = np.concatenate([np.full(24, 2.0), np.full(18, 3.0)])
    assert len(directions) == 3
    assert directions.sums(cells).tolist() == [2.0 * 276, 54.0, 54.0]
    moved = directions.along(np.array([1.0, 2.0, 3.0]), 42)
    assert moved.tolist() == [*np.arange(24.0), *np.full(18, 5.0)]


@pytest.mark.pipeline
def test_a_fit_under_a_prior_reproduces_the_effect_and_tells_of_it():
    codes = planted(3000, 1, strength=0.25)
    records = records_of(codes, SIZES)
    tested: list = []
    with_, without = (
        matching.fit(records, Settings(prior="student", triples=k), 1, 1, lambda _: None, found=tested.append)
        for k in (5, 0)
    )
    score = scores(np.diag(crosstab(records)), STARTS)
    apart = []
    for model, chains, _ in (with_, without):
        for number in range(20):
            chains = model.step(chains, 1, number, 1).codes
        mean = [np.prod(score[(c + STARTS[:-1])[:, :3]], axis=1).mean() for c in (codes, chains)]
        apart.append(abs(mean[0] - mean[1]) * math.sqrt(len(codes)))
    assert apart[0] < 3 < 5 < apart[1], apart
    (first, *_) = interactions(tested[0], records.codebook)
    names = records.codebook.names
    assert [first[key] for key in ("first", "second", "third")] == names[:3]
    assert first["found"] and first["modelled"] and abs(first["z"]) > 5
    assert {tuple(triple) for triple in with_[0].triples.tolist()} == {(0, 1, 2)}
