"""The private model: only what the gate answers reaches the release, and the fit is near what it says."""

import contextlib
import itertools
import json
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT, codebook_of, records_of
from test_stationary import STARTS, correlated, distances, same_model

from modp.__main__ import main
from modp.base.config import check, read_yaml
from modp.base.errors import InputError
from modp.cli.inputs import read_drawn
from modp.crosstabs.cells import structural_zeros, within_question
from modp.crosstabs.pairs import crosstab
from modp.draws import postprocess
from modp.models.family import Work
from modp.models.private import FAMILY, alike, budget, estimates, fitting, public, release
from modp.models.private.guarantee import guarantee
from modp.models.private.noise import Seeded
from modp.models.private.recipe import PrivateRecipe
from modp.models.stationary import model as stationary
from modp.pipeline.params import Params
from modp.survey.codebook import Codebook
from modp.survey.records import Records

NOTHING = np.zeros((9, 9), bool)
QUICK = release.Settings(sweeps=4, last_sweeps=10, chains=2000)


def seeded(seed: int) -> Seeded:
    return Seeded(np.random.default_rng(seed))


def changed(settings: release.Settings, **values: object) -> release.Settings:
    return settings.model_copy(update=values)


def released(
    records, rho=10.0, settings=QUICK, noise=1, seed=1, threads=1, excluded=NOTHING, kind=budget.Gate
):
    gate = kind(crosstab(records), STARTS, rho, seeded(noise))
    return release.release(gate, STARTS, excluded, settings, seed, threads, lambda _: None), gate


class Repeating(budget.Gate):
    """Answers as another gate did, whatever table it holds."""

    def __init__(self, answers, *rest):
        super().__init__(*rest)
        self.answers = iter(answers)

    def margins(self, rho):
        super().margins(rho)
        return next(self.answers)

    def pair(self, first, second, rho):
        super().pair(first, second, rho)
        return next(self.answers)

    def worst(self, expected, pairs, handicaps, rho):
        super().worst(expected, pairs, handicaps, rho)
        return next(self.answers)


class Noting(budget.Gate):
    """Notes what it answers."""

    def __init__(self, *rest):
        super().__init__(*rest)
        self.answers = []

    def margins(self, rho):
        self.answers.append(super().margins(rho))
        return self.answers[-1]

    def pair(self, first, second, rho):
        self.answers.append(super().pair(first, second, rho))
        return self.answers[-1]

    def worst(self, expected, pairs, handicaps, rho):
        self.answers.append(super().worst(expected, pairs, handicaps, rho))
        return self.answers[-1]


@pytest.mark.parametrize("selection", ["uniform", "proportional", "adaptive"])
def test_neighbouring_records_with_the_same_answers_give_the_same_bytes(selection):
    records = correlated(800)
    codes = records.codes
    settings = changed(QUICK, selection=selection, last_sweeps=4, chains=200)
    one, gate = released(records, 0.5, settings, kind=Noting)
    repeating = lambda *rest: Repeating(gate.answers, *rest)  # noqa: E731
    for neighbour in (codes[1:], np.vstack([codes, [[2, 1, 3]]]).astype(np.int16), codes[:40]):
        other, _ = released(records.of(neighbour), 0.5, settings, noise=99, kind=repeating)
        assert np.array_equal(one.codes, other.codes)
        assert np.array_equal(one.entropy_bits, other.entropy_bits)
        same_model(one.model, other.model)
        assert one.history == other.history


@pytest.mark.parametrize("selection", ["uniform", "proportional", "adaptive"])
def test_the_whole_budget_is_spent_and_the_history_says_on_what(selection):
    settings = changed(QUICK, selection=selection, last_sweeps=4, chains=200)
    found, gate = released(correlated(500), 0.7, settings)
    assert gate.left == 0
    assert sum(line.rho for line in found.history) == pytest.approx(0.7)
    assert found.history[0].first == -1
    assert {(line.first, line.second) for line in found.history[1:]} == {(0, 1), (0, 2), (1, 2)}


def test_with_a_large_budget_the_pair_tables_are_the_true_ones():
    records = correlated(20_000)
    found, _ = released(records, 1000.0, changed(QUICK, last_sweeps=40))
    counts, n, z = crosstab(records), len(records), distances(found.model, records)
    independent = np.outer(np.diag(counts), np.diag(counts)) / n
    apart = np.abs((independent - counts) / np.sqrt(counts + 1))[~within_question(STARTS)]
    assert np.sqrt((z**2).mean()) < 0.6 and apart.max() > 20
    assert abs(len(found.codes) - n) <= 2


@pytest.mark.pipeline
def test_a_large_table_that_is_far_from_independent_does_not_carry_the_fit_away():
    # Equal answers to two questions of 40 categories: forty times what independence expects, and no noise
    # to speak of, so that whole Newton steps would reach far past what the chains can follow.
    same = np.repeat(np.arange(40), 5_000)
    codes = np.column_stack([same, same, same % 2]).astype(np.int16)
    starts = np.array([0, 40, 80, 82])
    gate = budget.Gate(crosstab(records_of(codes, (40, 40, 2))), starts, 100.0, seeded(1))
    found = release.release(gate, starts, np.zeros((82, 82), bool), QUICK, 1, 2, lambda _: None)
    shares = np.bincount(found.codes[:, 0], minlength=40) / len(found.codes)
    assert shares.min() > 0.5 / 40 and shares.max() < 2 / 40
    assert (found.codes[:, 0] == found.codes[:, 1]).mean() > 0.9


def test_only_measured_pairs_have_weights_and_the_strongest_is_measured():
    records = correlated(20_000)
    found, _ = released(records, 5.0, changed(QUICK, pairs=1 / 3))
    assert len(found.history) == 2
    line = found.history[1]
    counts = crosstab(records)
    away = np.abs(counts - np.outer(np.diag(counts), np.diag(counts)) / len(records))
    blocks = [slice(a, b) for a, b in itertools.pairwise(STARTS)]
    pairs = [(0, 1), (0, 2), (1, 2)]
    assert (line.first, line.second) == max(pairs, key=lambda p: away[blocks[p[0]], blocks[p[1]]].sum())
    for q, r in pairs:
        measured = (q, r) == (line.first, line.second)
        assert found.model.w[blocks[q], blocks[r]].any() == measured
    assert np.array_equal(found.model.w, found.model.w.T)


def test_released_records_are_mended_towards_the_chains_mean_crosstab(monkeypatch):
    seen, mended = {}, release.balanced.mended

    def noting(codes, expected, *rest):
        seen.update(codes=codes, expected=expected, mended=mended(codes, expected, *rest))
        return seen["mended"]

    monkeypatch.setattr(release.balanced, "mended", noting)
    found, _ = released(correlated(1500), 1.0)
    assert np.array_equal(found.codes, seen["mended"])

    def far(codes):
        excess = crosstab(records_of(codes, (3, 2, 4))) - seen["expected"]
        return release.balanced.discrepancy(excess, 1 / (seen["expected"] + 1))

    assert far(found.codes) < 0.8 * far(seen["codes"])
    assert (found.codes != seen["codes"]).mean() < 0.1
    assert np.trace(seen["expected"][:3, :3]) == pytest.approx(len(found.codes), abs=1)


def test_where_noise_drowns_everything_the_model_is_nearly_independent():
    found, _ = released(correlated(2000), 1e-6, changed(QUICK, selection="uniform"))
    assert np.abs(found.model.w).max() < 0.5
    assert len(found.codes) >= 1


def test_stated_zeros_are_never_drawn_and_the_samples_own_are_not_known():
    records = correlated(3000)
    zeros = structural_zeros(crosstab(records), STARTS)
    assert zeros[4, 8]
    stated, _ = released(records, 2.0, excluded=zeros)
    assert not postprocess.violations(records.of(stated.codes), zeros).any()
    free, _ = released(records, 0.05)
    assert postprocess.violations(records.of(free.codes), zeros).any()
    assert not free.model.excluded.any()


def test_groups_that_no_sweep_connects_get_their_shares():
    # Two questions of the same answer, all other pairs excluded: no sweep changes a record. Chains that
    # start from independent margins hold the answers in proportion to the squares of their shares.
    starts = np.array([0, 2, 4])
    excluded = np.zeros((4, 4), bool)
    excluded[[0, 3, 1, 2], [3, 0, 2, 1]] = True
    answers = (np.arange(5000) % 10 < 2).astype(np.int16)
    counts = crosstab(records_of(np.column_stack([answers, answers]), (2, 2)))
    gate = budget.Gate(counts, starts, 1000.0, seeded(1))
    found = release.release(gate, starts, excluded, QUICK, 1, 1, lambda _: None)
    assert (found.codes[:, 0] == found.codes[:, 1]).all()
    assert found.codes[:, 0].mean() == pytest.approx(0.2, abs=0.01)


def test_same_seed_same_records_on_any_number_of_threads():
    records = correlated(6000)
    one, two = (released(records, 1.0, threads=threads)[0] for threads in (1, 2))
    assert np.array_equal(one.codes, two.codes) and np.array_equal(one.model.w, two.model.w)
    assert not np.array_equal(one.codes, released(records, 1.0, noise=2)[0].codes)


def test_a_noisy_count_becomes_the_median_of_what_it_may_have_been():
    sigmas = np.array([50.0, 50, 50, 1e-3])
    found = estimates.positive(np.array([-80.0, 0, 1000, 7]), sigmas, 10_000)
    assert 0 <= found[0] < found[1] < 30  # far below the noise: rare, not negative and not half the noise
    assert found[2] == pytest.approx(1000, rel=0.03) and found[3] == pytest.approx(7, rel=0.03)


def test_a_models_counts_and_noisy_ones_are_weighed_by_how_sure_they_are():
    # 60 of a model have a variance of 60 / 0.6 = 100: as much as the noise, so that both count the same.
    fitted, noisy = np.array([[60.0, 0.0, 6.0]]), np.array([[80.0, 30.0, -500.0]])
    assert estimates.blended(fitted, noisy, 100.0).tolist() == [[70.0, 0.0, 0.0]]
    assert estimates.blended(fitted, noisy, 1e12) == pytest.approx(fitted)
    assert estimates.blended(fitted, noisy, 1e-9) == pytest.approx(np.array([[80.0, 0.0, 0.0]]))
    # If the model's counts are those of a sample of that size, the blend is nearer than either.
    rng, true = np.random.default_rng(1), np.full(20_000, 50.0)
    model, answer = rng.poisson(true * estimates.WORTH) / estimates.WORTH, rng.normal(true, 9.0)
    off = [np.square(some - true).mean() for some in (model, answer, estimates.blended(model, answer, 81.0))]
    assert off[2] < 0.62 * min(off[:2])


def test_raking_reaches_sums_and_keeps_zeros():
    # By hand: rows to 4 and 6 give 1, 3 / 6, 0, whose columns are 7 and 3 already.
    table = np.array([[1.0, 3.0], [5.0, 0.0]])
    found = estimates.raked(table, np.array([4.0, 6.0]), np.array([7.0, 3.0]))
    assert found == pytest.approx(np.array([[1.0, 3.0], [6.0, 0.0]]))
    table = np.random.default_rng(2).uniform(1, 3, (3, 4))
    rows, columns = np.array([20.0, 30, 50]), np.array([10.0, 20, 30, 40])
    found = estimates.raked(table, rows, columns)
    assert found.sum(axis=1) == pytest.approx(rows, rel=1e-3) and found.sum(axis=0) == pytest.approx(columns)
    odds = lambda t: t[0, 0] * t[1, 1] / (t[0, 1] * t[1, 0])  # noqa: E731
    assert odds(found) == pytest.approx(odds(table))
    assert estimates.raked(np.zeros((2, 2)), np.ones(2), np.ones(2)).tolist() == [[0, 0], [0, 0]]


def test_released_records_have_measured_tables_where_noise_is_small():
    records = correlated(3000)
    found, _ = released(records, 500.0)
    wanted, made = crosstab(records), crosstab(records.of(found.codes))
    between = ~within_question(records.block_starts)
    # A sample's counts would be off by about their square root; these are not by more than a few records.
    off = np.abs(made - wanted)[between] / np.sqrt(wanted[between] + 1)
    assert off.mean() < 0.15 and off.max() < 1


@pytest.mark.pipeline
def test_a_group_that_answers_little_is_not_lost():
    # Who gives the last question's rare answer gives the first one to all others. Answered in one order,
    # records hardly come to where it is allowed, and sweeps never do.
    n, sizes, starts = 4000, (*(3,) * 16, 2), np.append(np.arange(17) * 3, 50)
    codes = np.random.default_rng(5).integers(0, 3, (n, 17)).astype(np.int16)
    codes[:, 16] = 0
    codes[: n // 25] = [0] * 16 + [1]
    zeros = np.zeros((50, 50), bool)
    others = np.flatnonzero(np.arange(48) % 3 > 0)
    zeros[49, others] = zeros[others, 49] = True
    for seed in range(3):
        gate = budget.Gate(crosstab(records_of(codes, sizes)), starts, 5.0, seeded(seed))
        found = release.release(gate, starts, zeros, QUICK, seed, 2, lambda _: None)
        assert found.codes[:, 16].mean() == pytest.approx(0.04, abs=0.01)


def test_counts_are_tied_by_their_sums_and_by_groups_that_exclude_each_other():
    # Two questions of three answers: 0 goes with 0 alone, 1 and 2 with 1 and 2. Of 10 and 16 with σ 1 and 2
    # the weighted mean is 11.2, with σ² 4/5; so of the other groups' sums, 28 and 32, σ² 2 and 8: 28.8.
    starts, excluded = np.array([0, 3, 6]), np.zeros((6, 6), bool)
    excluded[0, 4:] = excluded[1:3, 3] = True
    excluded |= excluded.T
    counts, sigmas = np.array([10.0, 14, 14, 16, 12, 20]), np.array([1.0, 1, 1, 2, 2, 2])
    found, left = estimates.tied(counts, sigmas, excluded, starts)
    assert found == pytest.approx([11.2, 14.4, 14.4, 11.2, 10.4, 18.4])
    assert left[[0, 3]] == pytest.approx(0.8**0.5)
    free, _ = estimates.tied(counts, sigmas, np.zeros((6, 6), bool), starts)
    assert free[:3].sum() == pytest.approx(free[3:].sum()) == pytest.approx(40)
    assert estimates.tied(found, sigmas, excluded, starts)[0] == pytest.approx(found)


def test_a_noisy_table_is_shifted_to_its_margins_by_hand():
    table = np.array([[3.0, 1], [2, 4]])
    # Rows are off by +2 and 0, columns by +1 and +1, all by +2: each cell gets 2/2 or 0, + 1/2, - 2/4.
    assert estimates.consistent(table, np.array([6.0, 6]), np.array([6.0, 6])).tolist() == [[4, 2], [2, 4]]


def test_consistent_tables_have_their_margins():
    rng = np.random.default_rng(1)
    table, rows, columns = rng.normal(size=(4, 3)), rng.random(4), rng.random(3)
    columns *= rows.sum() / columns.sum()
    fixed = estimates.consistent(table, rows, columns)
    assert fixed.sum(axis=1) == pytest.approx(rows) and fixed.sum(axis=0) == pytest.approx(columns)


def test_tied_counts_are_the_nearest_that_the_constraints_allow():
    rng, starts = np.random.default_rng(2), np.array([0, 3, 7, 9])
    counts, sigmas, excluded = rng.normal(90, 30, 9), rng.uniform(5, 20, 9), np.zeros((9, 9), bool)
    excluded[0, 4:7] = excluded[1:3, 3] = True  # the first answers to two questions go together
    found, left = estimates.tied(counts, sigmas, excluded | excluded.T, starts)
    rows = np.array(
        [[1, 0, 0, -1, 0, 0, 0, 0, 0], [0, 1, 1, 0, -1, -1, -1, 0, 0], [1, 1, 1, 0, 0, 0, 0, -1, -1]]
    )
    projection = np.eye(9) - np.linalg.pinv(rows * sigmas) @ (rows * sigmas)
    assert found == pytest.approx(projection @ (counts / sigmas) * sigmas)
    assert left == pytest.approx(sigmas * np.sqrt(np.diag(projection)))


@pytest.mark.parametrize("spread", [0.1, 0.5])
def test_the_spread_of_weights_is_told_from_noise(spread):
    rng, found, expected = np.random.default_rng(1), [], np.full((9, 9), 400.0)
    variance = 40.0**2 * estimates.kept_of_noise(9, 9)
    for _ in range(60):
        weights = estimates.consistent(rng.normal(0, spread, (9, 9)), np.zeros(9), np.zeros(9))
        noise = estimates.consistent(rng.normal(0, 40.0, (9, 9)), np.zeros(9), np.zeros(9))
        found.append(estimates.spread_of(400 * weights + noise, expected, variance, np.ones((9, 9), bool)))
    kept = estimates.kept_of_noise(9, 9)
    assert np.mean(found) == pytest.approx(spread**2 * kept, rel=0.2)


def likeness_of_a_pair():
    """The prior of one pair of 4 and 5 answers, one cell of it excluded, and a state of the fit."""
    rng, starts = np.random.default_rng(0), np.array([0, 4, 9])
    shares = np.concatenate([rng.dirichlet(np.full(size, 3.0)) for size in (4, 5)])
    likeness, free = alike.Likeness(starts, shares), np.ones((4, 5), bool)
    free[0, 1] = False
    likeness.add(0, 1, free, 30.0, 0.4)
    weights, expected, away = rng.normal(size=(9, 9)), rng.uniform(1, 200, (9, 9)), rng.normal(0, 20, (9, 9))
    return likeness, np.flatnonzero(free.ravel()), *(a + a.T for a in (weights, expected, away))


def prior_of(likeness, free):
    """The covariance of the shared part of all cells, and of the free cells' weights."""
    shared = 0.7 * 0.4 * np.kron(*likeness.alike)
    return shared, shared[np.ix_(free, free)] + 0.3 * 0.4 * np.eye(len(free))


def test_newton_steps_are_those_of_the_whole_table_at_once():
    likeness, free, weights, expected, away = likeness_of_a_pair()
    w, e, off = (a[:4, 4:].ravel()[free] for a in (weights, expected, away))
    stiff = np.linalg.inv(prior_of(likeness, free)[1])
    steps = likeness.newton(weights, expected, away)
    wanted = np.linalg.solve(np.diag(e**2 / 30) + stiff, e * off / 30 - stiff @ w)
    assert steps[:4, 4:].ravel()[free] == pytest.approx(wanted)
    assert steps[0, 5] == 0 and np.array_equal(steps, steps.T)
    # Where expected counts have moved a little since, steps still end where the two pulls are the same.
    nearer = 1.2 * expected
    away[:4, 4:].ravel()[free] = 0
    balanced = np.zeros((4, 5))
    balanced.ravel()[free] = (stiff @ w) * 30 / (1.2 * e)
    away[:4, 4:] = balanced
    assert np.abs(likeness.newton(weights, nearer, away)).max() < 1e-9


def test_a_step_of_em_is_that_of_the_dense_posterior():
    likeness, free, weights, expected, _ = likeness_of_a_pair()
    w, e = (a[:4, 4:].ravel()[free] for a in (weights, expected))
    one, other = (matrix.copy() for matrix in likeness.alike)
    shared, prior = prior_of(likeness, free)
    likeness.learn(weights, expected)
    stiff = np.linalg.inv(prior)
    of_weights = np.outer(w, w) + np.linalg.inv(np.diag(e**2 / 30) + stiff)
    gain = shared[:, free] @ stiff
    part = gain @ of_weights @ gain.T + shared - gain @ shared[free]  # E kk', of all cells
    part = part.reshape(4, 5, 4, 5)
    by_one = np.einsum("ijkl,jl->ik", part, np.linalg.pinv(other, rcond=1e-9))
    by_other = np.einsum("ijkl,ik->jl", part, np.linalg.pinv(one, rcond=1e-9))
    for matrix, before, found in zip(likeness.alike, (one, other), (by_one, by_other), strict=True):
        wanted = alike.KNOWN * before + found / 0.28
        assert matrix == pytest.approx(wanted * len(wanted) / np.trace(wanted))
    (pair,) = likeness._pairs
    assert pair.shared == pytest.approx((by_one * np.linalg.pinv(one, rcond=1e-9)).sum() / 12)


def test_answers_that_behave_alike_are_found_and_tell_of_each_other():
    # Every second answer to question 0 behaves alike towards all of the others, which no order of neighbours
    # would say; single tables drown in noise.
    rng, starts, group = np.random.default_rng(1), np.arange(0, 126, 6), np.array([1, -1, 1, -1, 1, -1])
    likeness = alike.Likeness(starts, np.full(120, 1 / 6))
    true, measured, expected = (np.full((120, 120), value) for value in (0.0, 0.0, 100.0))
    for r in range(1, 20):
        at = np.s_[:6, 6 * r : 6 * r + 6]
        profile = rng.normal(0, 0.4, 6)
        true[at] = group[:, None] * (profile - profile.mean())
        measured[at] = 100 * true[at] + budget.interaction(rng.normal(0, 60, (6, 6)))
        likeness.add(0, r, np.ones((6, 6), bool), 60.0**2, 0.2)
    found, errors = np.zeros_like(true), []
    for _ in range(30):
        for _ in range(2):
            away = np.triu(measured - 100 * found)
            found += likeness.newton(found, expected, away + away.T)
        errors.append(np.abs(found - true)[:6, 6:].mean())
        likeness.learn(found, expected)
    assert errors[-1] < 0.85 * errors[0]  # 0.82 would be the best of all
    assert likeness.alike[0][0, 2] > 0.5 and likeness.alike[0][0, 1] < -0.5


def test_cells_of_large_tables_are_for_themselves(monkeypatch):
    monkeypatch.setattr(alike, "MOST_CELLS", 19)
    likeness, free, weights, expected, away = likeness_of_a_pair()
    w, e, off = (a[:4, 4:].ravel()[free] for a in (weights, expected, away))
    steps = likeness.newton(weights, expected, away)[:4, 4:].ravel()[free]
    assert steps == pytest.approx((e * off / 30 - w / 0.4) / (e**2 / 30 + 1 / 0.4))
    likeness.learn(weights, expected)
    (pair,) = likeness._pairs
    assert pair.typical == pytest.approx((w**2 + 1 / (e**2 / 30 + 1 / 0.4)).mean())


def test_the_more_a_budget_buys_the_more_pair_tables_share_it():
    rho = 1 / 2  # one table with noise of σ 1
    assert release.borne(release.PAIRS_AT, rho) == release.PAIRS
    assert release.borne(4 * release.PAIRS_AT, rho) == pytest.approx(release.PAIRS * 4**release.PAIRS_POWER)
    assert release.borne(1000, 4 * rho) == pytest.approx(release.borne(2000, rho))
    records = correlated(3000)
    tables = [len(released(records, e, changed(QUICK, pairs=None))[0].history) - 1 for e in (0.01, 50.0)]
    assert tables[0] < tables[1] == len(list(itertools.combinations(records.codebook.names, 2)))


def test_one_question_has_no_pairs():
    gate = SimpleNamespace(left=Fraction(1))
    with pytest.raises(ValueError, match="two questions"):
        release.release(gate, np.array([0, 3]), np.zeros((3, 3), bool), QUICK, 1, 1, print)


RECIPE = PrivateRecipe(epsilon=2, delta=1e-5, chains=200, noise="seeded")


def step(folder: Path, name: str, **options: object) -> int:
    """Run a step on a small table in a folder; return its exit status."""
    common = {"records": "records.parquet", "codebook": "codebook.json", "name": "dp", "seed": 1}
    given = [f"--{key}={value}" for key, value in (common | options | {"log": f"{name}.log"}).items()]
    with contextlib.chdir(folder):
        return main([name, *given])


def fit(
    folder: Path,
    recipe: PrivateRecipe,
    codebook: Codebook | None = None,
    codes: np.ndarray | None = None,
) -> int:
    """Write a small table, fit a model to it."""
    some = correlated(1500)
    codebook = codebook or some.codebook
    Records(some.codes if codes is None else codes, codebook).write(folder / "records.parquet")
    (folder / "codebook.json").write_text(codebook.to_json())
    files = {"weights": "model.safetensors", "history": "history.parquet", "plot": "plot.csv"}
    return step(folder, "fit", model=recipe.model_dump_json(), **files)


def draw(folder: Path) -> bytes:
    """Draw the row of the model; return its file."""
    row = json.dumps({"model": "dp", "name": "released"})
    out = {"weights": "model.safetensors", "family": "private", "row": row, "out": "synthetic.parquet"}
    assert step(folder, "draw", **out) == 0
    return (folder / "synthetic.parquet").read_bytes()


@pytest.mark.pipeline
def test_the_fit_step_writes_the_same_bytes_for_neighbours_with_the_same_answers(tmp_path, monkeypatch):
    # Through the command line, with the files and the log it writes: all it knows of the records is answers.
    answers = []

    def noting(*given):
        answers.append(Noting(*given))
        return answers[-1]

    files = ("model.safetensors", "history.parquet", "plot.csv", "fit.log")
    written = []
    for number, codes in enumerate((correlated(1500).codes, correlated(1500).codes[1:])):
        kind = noting if number == 0 else lambda *given: Repeating(answers[0].answers, *given)
        monkeypatch.setattr(fitting.budget, "Gate", kind)
        folder = tmp_path / str(number)
        folder.mkdir()
        assert fit(folder, RECIPE, codes=codes) == 0
        written.append([(folder / file).read_bytes() for file in files])
    assert written[0][:3] == written[1][:3]
    times = r"\d{4}-\S+Z|[\d.]+ s\b"
    one, other = (re.sub(times, "", of[3].decode()) for of in written)
    assert one == other and "pair tables" in one


def start_from(records, rho, **others):
    start = public.start_of(records, NOTHING, 1, 1)
    gate = budget.Gate(crosstab(others["true"]), STARTS, rho, seeded(1))
    return release.release(gate, STARTS, NOTHING, QUICK, 1, 1, lambda _: None, start)


@pytest.mark.pipeline
def test_a_public_table_that_fits_says_what_noise_hides_and_one_that_does_not_is_overcome():
    records, rho = correlated(3000), 0.002
    true = crosstab(records)

    def far(found):
        return np.abs(crosstab(records.of(found.codes)) * (3000 / len(found.codes)) - true).sum()

    alone = far(released(records, rho)[0])
    assert far(start_from(correlated(4000), rho, true=records)) < 0.7 * alone
    unlike = records.of(np.random.default_rng(1).permuted(records.codes, axis=0))
    sure = far(released(records, 100.0)[0])
    assert far(start_from(unlike, 100.0, true=records)) < 1.5 * sure + 100


def test_a_public_table_that_breaks_the_stated_rules_throughout_is_refused():
    records = correlated(300)
    never = crosstab(records) > 0
    with pytest.raises(InputError, match="of its 300 records only 0 are without answers"):
        public.start_of(records, never, 1, 1)


@pytest.mark.pipeline
def test_a_public_table_is_named_by_its_folder_and_refused_under_another_codebook(tmp_path):
    other, recipe = tmp_path / "other", RECIPE.model_copy(update={"public": "other"})
    assert fit(tmp_path, recipe) == 1
    assert "has no records.parquet" in (tmp_path / "fit.log").read_text()
    other.mkdir()
    some = correlated(900)
    some.write(other / "records.parquet")
    (other / "codebook.json").write_text(some.codebook.to_json())
    assert fit(tmp_path, recipe) == 0
    plain = codebook_of(3, 2, 4)
    category = replace(plain.questions[0].categories[0], values="9")
    question = replace(plain.questions[0], categories=(category, *plain.questions[0].categories[1:]))
    codebook = replace(plain, questions=(question, *plain.questions[1:]))
    assert fit(tmp_path, recipe, codebook) == 1
    assert "under another codebook" in (tmp_path / "fit.log").read_text()


@pytest.mark.pipeline
def test_the_steps_write_records_without_a_partner_and_what_was_paid(tmp_path):
    assert fit(tmp_path, RECIPE) == 0
    before, codebook = draw(tmp_path), codebook_of(3, 2, 4)
    drawn = read_drawn(tmp_path / "synthetic.parquet", codebook)
    assert drawn.record.mask.all() and not drawn.entropy_bits.mask.any()
    assert (drawn.entropy_bits > 0).all()
    assert 1000 < len(drawn.codes) < 2000
    assert "that no true record was the start of" in (tmp_path / "draw.log").read_text()
    history = pd.read_parquet(tmp_path / "history.parquet")
    assert history["first"].isna().tolist() == [True, False, False, False]
    assert set(history["second"].dropna()) <= {"A", "B", "C"}
    assert history["rho"].sum() == pytest.approx(budget.rho_of(2, 1e-5))
    assert stationary.load(tmp_path / "model.safetensors", codebook).w.shape == (9, 9)
    assert fit(tmp_path, RECIPE) == 0 and draw(tmp_path) == before
    assert fit(tmp_path, RECIPE.model_copy(update={"noise": "secret"})) == 0
    assert draw(tmp_path) != before


@pytest.mark.pipeline
def test_what_is_released_is_saved_whole_and_drawn_whatever_the_draws_seed(tmp_path):
    records, path = correlated(1500), tmp_path / "model.safetensors"
    found = fitting.fit(records, RECIPE, Work("dp", 1)).model
    found.save(path, records.codebook)
    back = fitting.load(path, records.codebook)
    same_model(back.model, found.model)
    assert np.array_equal(back.codes, found.codes)
    assert np.array_equal(back.entropy_bits, found.entropy_bits)
    row = FAMILY.row(model="dp", name="released")
    one, other = (FAMILY.draw(back, records, row, Work("dp/released", seed)) for seed in (1, 2))
    assert np.array_equal(one.codes, other.codes) and np.array_equal(one.codes, found.codes)
    with pytest.raises(InputError, match="other questions"):
        fitting.load(path, codebook_of(3, 2, 5))


def test_edges_from_the_true_records_are_refused_unless_said_to_be_public(tmp_path):
    plain = codebook_of(3, 2, 4)
    cut = replace(plain.questions[0], edges=(1.0, 2.0))
    codebook = replace(plain, questions=(cut, *plain.questions[1:]))
    assert fit(tmp_path, RECIPE, codebook) == 1
    failure = (tmp_path / "fit.log").read_text()
    assert "edges of A were computed from the true records" in failure
    assert "public_edges: true" in failure and "models.dp" in failure
    assert not (tmp_path / "model.safetensors").exists()
    assert fit(tmp_path, RECIPE.model_copy(update={"public_edges": True}), codebook) == 0


@pytest.mark.pipeline
def test_the_trace_along_epsilon_compares_with_bootstrap_and_independence(tmp_path):
    assert fit(tmp_path, RECIPE) == 0
    (tmp_path / "data.yaml").write_text("title: Three questions\nquestions: stums\nfiles: [x.csv]\n")
    with contextlib.chdir(tmp_path):
        common = [
            "--records",
            "records.parquet",
            "--codebook",
            "codebook.json",
            "--name",
            "dp",
            "--seed",
            "1",
        ]
        grid = ["--dataset", "data.yaml", "--model", RECIPE.model_dump_json(), "--epsilons", "0.1", "50"]
        out = ["--table", "epsilon.parquet", "--out", "epsilon.png", "epsilon.pdf"]
        assert main(["epsilon", *common, *grid, *out]) == 0
    table = pd.read_parquet(tmp_path / "epsilon.parquet")
    assert table["epsilon"].tolist() == [0.1, 50.0] and (table["rho"] > 0).all()
    assert table["all.mean_abs"][1] < table["all.mean_abs"][0]
    assert table["all.mean_abs"][1] < 2.5 < table["independent.all.mean_abs"][1]
    assert (table["releases"] == 5).all() and (table["all.mean_abs.error"] > 0).all()
    assert table["pair_tvd"][1] < table["independent.pair_tvd"][1]
    assert table["three_way_tvd"][1] < table["three_way_tvd"][0]
    assert (tmp_path / "epsilon.png").read_bytes().startswith(b"\x89PNG")


def test_a_private_model_releases_one_table():
    params = read_yaml(ROOT / "params.yaml")
    params["models"]["dp"] = {"family": "private", "epsilon": 1, "delta": 1e-6}
    params["rows"].append({"model": "dp", "name": "released"})
    check(params, Params, "params.yaml")
    params["rows"].append({"model": "dp", "name": "again"})
    with pytest.raises(InputError, match="dp releases one table, but has 2 rows"):
        check(params, Params, "params.yaml")


def test_a_guarantee_says_its_numbers_and_whether_the_noise_can_be_taken_away():
    said = " ".join(guarantee(RECIPE.model_copy(update={"public_edges": True})))
    assert "(2, 1e-05)-differential privacy" in said and "7.39 times" in said
    assert "take the noise away" in said and "edges of deciles" in said
    other = " ".join(FAMILY.guarantee(RECIPE.model_copy(update={"noise": "secret"})))
    assert "operating system's entropy" in other and "edges of deciles" not in other
