"""The private model: only what the gate answers reaches the release, and the fit is near what it says."""

import argparse
import itertools
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from conftest import codebook_of
from test_stationary import STARTS, correlated, expected_crosstab

from modp.base.errors import InputError
from modp.base.output import Log
from modp.cli import epsilon, fit_private
from modp.crosstabs import pairs
from modp.crosstabs.pairs import crosstab
from modp.draws import postprocess
from modp.models.private import budget
from modp.models.private import fitting as private
from modp.models.stationary import model as stationary
from modp.pipeline.params import PrivateModel
from modp.report import card
from modp.survey import records

NOTHING = np.zeros((9, 9), bool)
QUICK = private.Settings(sweeps=4, last_sweeps=10, chains=2000)


def released(codes, rho=10.0, settings=QUICK, noise=1, seed=1, threads=1, excluded=NOTHING, kind=budget.Gate):
    gate = kind(crosstab(codes, STARTS, 1), STARTS, rho, np.random.default_rng(noise))
    return private.release(gate, STARTS, excluded, settings, seed, threads, lambda _: None), gate


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
    codes = correlated(800)
    settings = replace(QUICK, selection=selection, last_sweeps=4, chains=200)
    one, gate = released(codes, 0.5, settings, kind=Noting)
    repeating = lambda *rest: Repeating(gate.answers, *rest)  # noqa: E731
    for neighbour in (codes[1:], np.vstack([codes, [[2, 1, 3]]]).astype(np.int16), codes[:40]):
        other, _ = released(neighbour, 0.5, settings, noise=99, kind=repeating)
        assert np.array_equal(one.codes, other.codes)
        assert np.array_equal(one.entropy_bits, other.entropy_bits)
        for name in ("w", "c", "excluded", "strength"):
            assert np.array_equal(getattr(one.model, name), getattr(other.model, name))
        assert one.history == other.history


@pytest.mark.parametrize("selection", ["uniform", "proportional", "adaptive"])
def test_the_whole_budget_is_spent_and_the_history_says_on_what(selection):
    settings = replace(QUICK, selection=selection, last_sweeps=4, chains=200)
    release, gate = released(correlated(500), 0.7, settings)
    assert gate.left == 0
    assert sum(line.rho for line in release.history) == pytest.approx(0.7)
    assert release.history[0].first == -1
    assert {(line.first, line.second) for line in release.history[1:]} == {(0, 1), (0, 2), (1, 2)}


def test_with_a_large_budget_the_pair_tables_are_the_true_ones():
    codes = correlated(20_000)
    release, _ = released(codes, 1000.0, replace(QUICK, last_sweeps=40))
    counts, n = crosstab(codes, STARTS, 1), len(codes)
    z = (expected_crosstab(release.model) * n - counts) / np.sqrt(counts + 1)
    independent = np.outer(np.diag(counts), np.diag(counts)) / n
    apart = np.abs((independent - counts) / np.sqrt(counts + 1))[~pairs.within_question(STARTS)]
    assert np.sqrt((z**2).mean()) < 0.6 and apart.max() > 20
    assert abs(len(release.codes) - n) <= 2


def test_a_large_table_that_is_far_from_independent_does_not_carry_the_fit_away():
    # Equal answers to two questions of 40 categories: forty times what independence expects, and no noise
    # to speak of, so that whole Newton steps would reach far past what the chains can follow.
    same = np.repeat(np.arange(40), 5_000)
    codes = np.column_stack([same, same, same % 2]).astype(np.int16)
    starts = np.array([0, 40, 80, 82])
    gate = budget.Gate(crosstab(codes, starts, 1), starts, 100.0, np.random.default_rng(1))
    found = private.release(gate, starts, np.zeros((82, 82), bool), QUICK, 1, 2, lambda _: None)
    shares = np.bincount(found.codes[:, 0], minlength=40) / len(found.codes)
    assert shares.min() > 0.5 / 40 and shares.max() < 2 / 40
    assert (found.codes[:, 0] == found.codes[:, 1]).mean() > 0.9


def test_only_measured_pairs_have_weights_and_the_strongest_is_measured():
    codes = correlated(20_000)
    release, _ = released(codes, 5.0, replace(QUICK, pairs=1 / 3))
    assert len(release.history) == 2
    line = release.history[1]
    counts = crosstab(codes, STARTS, 1)
    away = np.abs(counts - np.outer(np.diag(counts), np.diag(counts)) / len(codes))
    blocks = [slice(a, b) for a, b in itertools.pairwise(STARTS)]
    pairs = [(0, 1), (0, 2), (1, 2)]
    assert (line.first, line.second) == max(pairs, key=lambda p: away[blocks[p[0]], blocks[p[1]]].sum())
    for q, r in pairs:
        measured = (q, r) == (line.first, line.second)
        assert release.model.w[blocks[q], blocks[r]].any() == measured
    assert np.array_equal(release.model.w, release.model.w.T)


def test_where_noise_drowns_everything_the_model_is_nearly_independent():
    release, _ = released(correlated(2000), 1e-6, replace(QUICK, selection="uniform"))
    assert np.abs(release.model.w).max() < 0.5
    assert len(release.codes) >= 1


def test_stated_zeros_are_never_drawn_and_the_samples_own_are_not_known():
    codes = correlated(3000)
    zeros = pairs.structural_zeros(crosstab(codes, STARTS, 1), STARTS)
    assert zeros[4, 8]
    stated, _ = released(codes, 2.0, excluded=zeros)
    assert not postprocess.violations(stated.codes, zeros, STARTS).any()
    free, _ = released(codes, 0.05)
    assert postprocess.violations(free.codes, zeros, STARTS).any()
    assert not free.model.excluded.any()


def test_groups_that_no_sweep_connects_get_their_shares():
    # Two questions of the same answer, all other pairs excluded: no sweep changes a record. Chains that
    # start from independent margins hold the answers in proportion to the squares of their shares.
    starts = np.array([0, 2, 4])
    excluded = np.zeros((4, 4), bool)
    excluded[[0, 3, 1, 2], [3, 0, 2, 1]] = True
    answers = (np.arange(5000) % 10 < 2).astype(np.int16)
    counts = crosstab(np.column_stack([answers, answers]), starts, 1)
    gate = budget.Gate(counts, starts, 1000.0, np.random.default_rng(1))
    release = private.release(gate, starts, excluded, QUICK, 1, 1, lambda _: None)
    assert (release.codes[:, 0] == release.codes[:, 1]).all()
    assert release.codes[:, 0].mean() == pytest.approx(0.2, abs=0.01)


def test_same_seed_same_records_on_any_number_of_threads():
    codes = correlated(6000)
    one, two = (released(codes, 1.0, threads=threads)[0] for threads in (1, 2))
    assert np.array_equal(one.codes, two.codes) and np.array_equal(one.model.w, two.model.w)
    assert not np.array_equal(one.codes, released(codes, 1.0, noise=2)[0].codes)


def test_a_noisy_count_becomes_the_median_of_what_it_may_have_been():
    sigmas = np.array([50.0, 50, 50, 1e-3])
    found = private.positive(np.array([-80.0, 0, 1000, 7]), sigmas, 10_000)
    assert 0 <= found[0] < found[1] < 30  # far below the noise: rare, not negative and not half the noise
    assert found[2] == pytest.approx(1000, rel=0.03) and found[3] == pytest.approx(7, rel=0.03)


def test_a_noisy_table_is_shifted_to_its_margins_by_hand():
    table = np.array([[3.0, 1], [2, 4]])
    # Rows are off by +2 and 0, columns by +1 and +1, all by +2: each cell gets 2/2 or 0, + 1/2, - 2/4.
    assert private.consistent(table, np.array([6.0, 6]), np.array([6.0, 6])).tolist() == [[4, 2], [2, 4]]


def test_consistent_tables_have_their_margins():
    rng = np.random.default_rng(1)
    table, rows, columns = rng.normal(size=(4, 3)), rng.random(4), rng.random(3)
    columns *= rows.sum() / columns.sum()
    fixed = private.consistent(table, rows, columns)
    assert fixed.sum(axis=1) == pytest.approx(rows) and fixed.sum(axis=0) == pytest.approx(columns)


def test_one_question_has_no_pairs():
    gate = SimpleNamespace(left=Fraction(1))
    with pytest.raises(ValueError, match="two questions"):
        private.release(gate, np.array([0, 3]), np.zeros((3, 3), bool), QUICK, 1, 1, print)


RECIPE = PrivateModel(epsilon=2, delta=1e-5, chains=200, noise="seeded")


def step(folder, codebook, recipe) -> argparse.Namespace:
    """Run the step on a small table; return where things are."""
    records.write(folder / "records.parquet", correlated(1500), codebook)
    (folder / "codebook.json").write_text(codebook.to_json())
    options = argparse.Namespace(
        records=folder / "records.parquet",
        codebook=folder / "codebook.json",
        name="dp",
        model=recipe.model_dump(),
        seed=1,
        threads=1,
        weights=folder / "model.safetensors",
        history=folder / "history.parquet",
        out=folder / "synthetic.parquet",
    )
    fit_private.run(options, Log(None))
    return options


def test_the_step_writes_records_without_a_partner_and_what_was_paid(tmp_path):
    codebook = codebook_of(3, 2, 4)
    options = step(tmp_path, codebook, RECIPE)
    codes, extra = records.read(options.out, codebook, ["record", "entropy_bits"])
    assert pd.isna(extra["record"]).all() and (extra["entropy_bits"] > 0).all()
    assert 1000 < len(codes) < 2000
    history = pd.read_parquet(options.history)
    assert history["first"].isna().tolist() == [True, False, False, False]
    assert set(history["second"].dropna()) <= {"A", "B", "C"}
    assert history["rho"].sum() == pytest.approx(budget.rho_of(2, 1e-5))
    assert stationary.load(options.weights, codebook).w.shape == (9, 9)
    before = options.out.read_bytes()
    step(tmp_path, codebook, RECIPE)
    assert options.out.read_bytes() == before
    step(tmp_path, codebook, RECIPE.model_copy(update={"noise": "secret"}))
    assert options.out.read_bytes() != before


def test_edges_from_the_true_records_are_refused_unless_said_to_be_public(tmp_path):
    plain = codebook_of(3, 2, 4)
    cut = replace(plain.questions[0], edges=(1.0, 2.0))
    codebook = replace(plain, questions=(cut, *plain.questions[1:]))
    with pytest.raises(InputError, match="edges of A were computed from the true records") as failure:
        step(tmp_path, codebook, RECIPE)
    assert "public_edges: true" in str(failure.value) and "private.dp" in str(failure.value)
    assert not (tmp_path / "synthetic.parquet").exists()
    step(tmp_path, codebook, RECIPE.model_copy(update={"public_edges": True}))


def test_the_trace_along_epsilon_compares_with_bootstrap_and_independence(tmp_path):
    codebook = codebook_of(3, 2, 4)
    step(tmp_path, codebook, RECIPE)
    (tmp_path / "data.yaml").write_text("title: Three questions\nquestions: stums\nfiles: [x.csv]\n")
    options = argparse.Namespace(
        records=tmp_path / "records.parquet",
        codebook=tmp_path / "codebook.json",
        dataset=tmp_path / "data.yaml",
        name="dp",
        model=RECIPE.model_dump(),
        epsilons=[0.1, 50.0],
        seed=1,
        threads=1,
        table=tmp_path / "epsilon.parquet",
        out=[tmp_path / "epsilon.png", tmp_path / "epsilon.pdf"],
    )
    epsilon.run(options, Log(None))
    table = pd.read_parquet(options.table)
    assert table["epsilon"].tolist() == [0.1, 50.0] and (table["rho"] > 0).all()
    assert table["mean_abs"][1] < table["mean_abs"][0]
    assert table["mean_abs"][1] < 2.5 < table["independent_mean_abs"][1]
    assert options.out[0].read_bytes().startswith(b"\x89PNG")


def test_a_guarantee_says_its_numbers_and_whether_the_noise_can_be_taken_away():
    said = " ".join(card.guarantee(RECIPE.model_dump() | {"public_edges": True}))
    assert "(2, 1e-05)-differential privacy" in said and "7.39 times" in said
    assert "take the noise away" in said and "edges of deciles" in said
    other = " ".join(card.guarantee(RECIPE.model_dump() | {"noise": "secret"}))
    assert "operating system's entropy" in other and "edges of deciles" not in other
