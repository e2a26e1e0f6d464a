"""Models of weighted counts, and weights of synthetic records: by hand, and by enumeration."""

import argparse
from dataclasses import replace

import numpy as np
import pytest
from conftest import codes_of, question_set, records_of
from hypothesis import given, settings
from hypothesis import strategies as st
from test_stationary import correlated, expected_crosstab

from modp import Stationary
from modp.base.errors import InputError
from modp.cli import draw, inputs
from modp.crosstabs import triples, weighted
from modp.draws import weighting
from modp.models.family import Drawn, Work
from modp.models.stationary import FAMILY, drawing, matching
from modp.models.stationary.matching import Settings
from modp.models.stationary.recipe import StationaryRow
from modp.report import card
from modp.survey import weights as survey_weights
from modp.survey.effective import effective_size, in_proportion
from modp.survey.weights import Weights


def rng(seed=1):
    return np.random.default_rng(seed)


def test_what_records_of_unequal_weight_are_worth():
    assert effective_size(np.full(7, 3.0)) == pytest.approx(7)
    assert effective_size(np.array([1.0, 1.0, 2.0])) == pytest.approx(16 / 6)
    assert effective_size(np.array([5.0, 0.0])) == 1


@given(st.lists(st.integers(0, 9), min_size=1, max_size=20), st.integers(1, 40), st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_records_come_up_as_often_as_their_weights_say(weights, size, seed):
    w = np.array(weights, float)
    if not w.any():
        w[0] = 1
    rows = in_proportion(w, size, rng(seed))
    expected = size * w / w.sum()
    times = np.bincount(rows, minlength=len(w))
    assert len(rows) == size and (np.diff(rows) >= 0).all()
    assert (times >= np.floor(expected - 1e-9)).all() and (times <= np.ceil(expected + 1e-9)).all()


def test_weighted_triples_are_those_of_records_that_stand_there_so_often():
    codes, often = codes_of((3, 2, 4, 2), 50, rng()), rng(2).integers(0, 4, 50)
    some, sizes = triples.every(4), np.array((3, 2, 4, 2))
    summed = triples.counts(codes, some, sizes, 2, often.astype(float))
    assert np.array_equal(summed, triples.counts(np.repeat(codes, often, axis=0), some, sizes))


@pytest.fixture(scope="module")
def unequal():
    """Records, weights that go with an answer and with chance, and the model fitted to both."""
    records = correlated(4_000)
    weights = np.array([1.0, 2.0, 5.0])[records.codes[:, 0]] * rng(3).choice([1.0, 3.0], len(records))
    model, chains, _ = matching.fit(
        records, Settings(exchanges=0, triples=0), 1, 1, lambda _: None, weights=weights
    )
    return records, weights, model, chains


def test_a_weighted_fit_has_the_weighted_crosstab_by_enumeration(unequal):
    records, weights, model, _ = unequal
    size = effective_size(weights)
    target = weighted.crosstab(records, weights) * (size / weights.sum())
    z = (expected_crosstab(model) * size - target) / np.sqrt(target + 1)
    assert np.abs(z).max() < 0.6 and np.sqrt((z**2).mean()) < 0.2
    unweighted = weighted.crosstab(records, np.ones(len(records))) * (size / len(records))
    assert np.abs((unweighted - target) / np.sqrt(target + 1)).max() > 10


def test_chains_of_a_weighted_fit_are_as_many_as_records_and_have_the_weighted_margins(unequal):
    records, weights, _, chains = unequal
    assert chains.shape == records.codes.shape
    share = np.bincount(records.codes[:, 0], weights, 3) / weights.sum()
    assert np.abs(np.bincount(chains[:, 0], minlength=3) / len(chains) - share).max() < 0.03


def test_a_prior_takes_weighted_counts_for_those_of_the_records_that_they_are_worth(unequal):
    records, weights, _, _ = unequal
    size = effective_size(weights)
    scaled = weights * (size / weights.sum())
    target = weighted.crosstab(records, scaled)
    model = matching.independent(target, size, records.block_starts, np.zeros(target.shape, bool))
    recipe = Settings(exchanges=0, triples=0, prior="gaussian")
    of = matching._Matching(
        model, target, records.codes, recipe, 1, 1, lambda _: None, None, None, scaled, None, None
    )
    assert of.prior.counts.max() == pytest.approx(target.max()) and target.max() < size < len(records)
    assert np.trace(of.target[:3, :3]) == pytest.approx(len(records))


@pytest.mark.parametrize("size", [1_000, 4_000, 9_000])
def test_records_of_a_weighted_model_start_in_proportion_to_the_weights(unequal, size):
    records, weights, model, _ = unequal
    row = StationaryRow(model="m", name="x", sweeps=2, size=size)
    drawn = FAMILY.draw(model, records, row, Work("m/x", 1, weights=weights))
    assert len(drawn.codes) == size and drawn.weights is None
    share = np.bincount(records.codes[:, 0], weights, 3) / weights.sum()
    for codes in (drawn.codes, records.codes[drawn.record.filled(0)]):
        assert np.abs(np.bincount(codes[:, 0], minlength=3) / size - share).max() < 0.06
    starts = drawing._starts(len(records), 9_000, Work("m/x", 1, weights=weights))
    assert np.bincount(starts, minlength=4_000)[weights.argmax()] >= 5


def test_raking_by_hand():
    # Of two by two records of weight one, rows that sum to 30 and 10 and columns to 10 and 30: independent
    # before, so independent after, which is the outer product over 40.
    answers = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    found = weighting.raked(np.ones(4), answers, [np.array([30.0, 10.0]), np.array([10.0, 30.0])])
    assert found.weights == pytest.approx([7.5, 22.5, 2.5, 7.5])
    assert found.empty == () and found.off <= weighting.NEAR


def test_raking_keeps_odds_ratios_and_weights_of_zero():
    answers = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [1, 1]])
    before = np.array([4.0, 1.0, 2.0, 3.0, 0.0])
    after = weighting.raked(before, answers, [np.array([7.0, 3.0]), np.array([5.5, 4.5])]).weights
    assert np.bincount(answers[:, 0], after) == pytest.approx([7, 3], abs=1e-4)
    assert np.bincount(answers[:, 1], after) == pytest.approx([5.5, 4.5], abs=1e-4)
    assert after[0] * after[3] / (after[1] * after[2]) == pytest.approx(6) and after[4] == 0


def test_totals_that_nobody_can_carry_are_named_and_made_up_for():
    found = weighting.raked(np.ones(3), np.array([[0], [0], [2]]), [np.array([2.0, 6.0, 2.0])])
    assert found.empty == ((0, 1),)
    assert found.weights == pytest.approx([2.5, 2.5, 5])


def test_totals_that_contradict_each_other_are_said_to_be_missed():
    answers = np.array([[0, 0], [1, 1]])
    found = weighting.raked(np.ones(2), answers, [np.array([8.0, 2.0]), np.array([2.0, 8.0])])
    assert found.off > 0.1


def test_weights_inside_a_class_have_its_mean_and_tell_neither_end():
    weights = np.concatenate([rng(4).integers(3, 20, 500), rng(5).integers(20, 300, 500), [2, 999]])
    true = (weights >= 20).astype(int)
    drawn = weighting.inside(np.repeat([0, 1], 5_000), true, weights.astype(float), rng())
    for k, part in enumerate(np.split(drawn, 2)):
        own = weights[true == k]
        assert part.mean() == pytest.approx(own.mean(), rel=0.03)
        assert own.min() < part.min() and part.max() < own.max()
    assert drawn[:5_000].max() < 20 <= drawn[5_000:].min() + 1


def test_a_class_without_a_true_record_gets_the_mean():
    assert weighting.inside(np.array([1]), np.array([0, 0]), np.array([2.0, 4.0]), rng()).tolist() == [3]


def test_the_weight_is_a_last_question_in_deciles_where_it_is_wanted():
    questions = question_set({"name": "A", "label": "A", "categories": {1: "a", 2: "b"}}, other())
    made = questions.fitted(True, [], {}, "PWGTP")
    assert [q.name for q in made.questions] == ["A", "Z", "PWGTP"]
    assert made.questions[-1].deciles is not None
    with pytest.raises(InputError, match="has a question of A already"):
        questions.fitted(True, [], {}, "A")


def other() -> dict:
    return {"name": "Z", "label": "Z", "categories": {1: "one", 2: "two"}}


def options_of(path, question, **more):
    given = {"name": "m/x", "design": path, "weight_question": question, "seed": 1, "weighted": False, **more}
    return argparse.Namespace(**given)


@pytest.fixture
def design(tmp_path):
    records = records_of(codes_of((2, 3, 4), 200, rng(6)), (2, 3, 4))
    values = 10.0 * (1 + records.codes[:, 2]) + rng(7).integers(0, 5, 200)
    households = np.arange(200)
    survey_weights.write(
        tmp_path / "weights.parquet", households, Weights(values, np.zeros((200, 0)), households)
    )
    drawn = Drawn(records.codes[:150], np.ma.arange(150), np.ma.zeros(150))
    return tmp_path / "weights.parquet", records, values, drawn


def test_calibrated_records_have_the_true_weighted_totals_and_come_back(design, tmp_path):
    path, records, values, drawn = design
    row = StationaryRow(model="m", name="x", sweeps=1, calibrate=["A", "B"])
    made = draw._weighed(drawn, row, records, False, options_of(path, None), lambda _: None)
    for q, size in enumerate((2, 3)):
        totals = np.bincount(records.codes[:, q], values, size)
        assert np.bincount(drawn.codes[:, q], made.weights, size) == pytest.approx(totals, rel=1e-4)
    inputs.write_drawn(tmp_path / "s.parquet", made, records.codebook)
    assert np.array_equal(inputs.read_drawn(tmp_path / "s.parquet", records.codebook).weights, made.weights)
    assert np.array_equal(survey_weights.of_synthetic(tmp_path / "s.parquet", 1.0), made.weights)


def test_where_the_weight_is_a_question_weights_are_of_its_classes_and_sum_to_the_total(design):
    path, records, values, drawn = design
    row = StationaryRow(model="m", name="x", sweeps=1)
    made = draw._weighed(drawn, row, records, False, options_of(path, "C"), lambda _: None)
    assert made.weights.sum() == pytest.approx(values.sum())
    means = [made.weights[drawn.codes[:, 2] == k].mean() for k in range(4)]
    assert np.diff(means).min() > 5


def test_rows_that_ask_for_no_weights_have_none(design):
    path, records, _, drawn = design
    row = StationaryRow(model="m", name="x", sweeps=1)
    assert draw._weighed(drawn, row, records, False, options_of(path, None), lambda _: None) is drawn


@pytest.mark.parametrize(
    ("calibrate", "guaranteed", "said"),
    [(["a"], False, "did you mean 'A'"), (["C"], False, "no question 'C'"), (["A"], True, "guarantee")],
)
def test_totals_that_cannot_be_asked_for_are_refused(design, calibrate, guaranteed, said):
    path, records, _, drawn = design
    row = StationaryRow(model="m", name="x", sweeps=1, calibrate=calibrate)
    with pytest.raises(InputError, match=said):
        draw._weighed(drawn, row, records, guaranteed, options_of(path, "C"), lambda _: None)


def test_a_data_set_without_weights_is_named(design, tmp_path):
    survey_weights.write(tmp_path / "none.parquet", np.arange(3), None)
    options = options_of(tmp_path / "none.parquet", None, weighted=True)
    with pytest.raises(InputError, match="weight: PWGTP"):
        inputs.design_of(options)


def test_cards_say_what_weights_were_taken_for():
    parameters = {"prior": "none", "weighted": True}
    assert "weighted by the survey weights" in card.method(FAMILY, parameters, "none")
    assert "weighted by" not in card.method(FAMILY, {"prior": "none"}, "none")
    row = StationaryRow(model="m", name="x", sweeps=1, calibrate=["A", "B"]).model_dump()
    assert "raked to the true weighted totals of: A, B" in card.treatment(row, FAMILY)


def test_a_fit_with_other_weights_does_not_go_on_from_a_checkpoint(unequal, tmp_path):
    from modp.models.stationary import fitting
    from modp.models.stationary.recipe import StationaryRecipe

    records, weights, _, _ = unequal
    work = Work("m", 1, checkpoint=tmp_path / "c", weights=weights)
    other = replace(work, weights=weights[::-1].copy())
    recipe = StationaryRecipe(weighted=True)
    one, two, none = (
        fitting._Checkpoint(records, recipe, w).of for w in (work, other, replace(work, weights=None))
    )
    assert len({one, two, none}) == 3


def test_programs_fit_and_draw_with_weights(unequal):
    records, weights, _, _ = unequal
    few = {"triples": 0, "most_windows": 1, "seed": 1, "threads": 1}
    model = Stationary.fit(records, weights=weights, **few)
    drawn = model.sample(records, sweeps=2, weights=weights)
    share = np.bincount(records.codes[:, 0], weights, 3) / weights.sum()
    assert np.abs(np.bincount(drawn.codes[:, 0], minlength=3) / len(drawn.codes) - share).max() < 0.04
    for bad, said in ((weights[:5], "for 4,000 records"), (-weights, "negative weight")):
        with pytest.raises(InputError, match=said):
            Stationary.fit(records, weights=bad, **few)
    with pytest.raises(InputError, match="needs the records' survey weights"):
        Stationary.fit(records, weighted=True, **few)
