"""Structural zeros that a question set states: read, checked, and kept by what is drawn."""

import numpy as np
import pytest
from conftest import question_set, records_of

from modp.base.errors import InputError
from modp.crosstabs.cells import EXPECTED, likely_zeros, structural_zeros
from modp.crosstabs.pairs import crosstab
from modp.crosstabs.zeros import zeros_of
from modp.draws.postprocess import violations
from modp.models.stationary import matching
from modp.models.stationary import model as stationary
from modp.models.stationary.matching import Settings
from modp.survey import coding
from modp.survey.codebook import Codebook
from modp.survey.questions import QuestionSet
from modp.survey.records import Records

AGE = {"name": "AGE", "label": "age", "categories": {0: "child", 1: "adult", 2: "old"}}
JOB = {"name": "JOB", "label": "job", "missing": "not asked", "categories": {1: "a", 2: "b"}}
WORD = {"name": "W", "label": "word", "categories": {"x": "ex", "y": "why"}}


def ruled(*rules: dict) -> QuestionSet:
    return question_set(AGE, JOB, WORD, impossible=list(rules))


@pytest.mark.parametrize(
    ("rule", "sides"),
    [
        ({"AGE": 0, "JOB": "1, 2"}, (["AGE=0"], ["JOB=1", "JOB=2"])),
        ({"AGE": "1..2", "JOB": -1}, (["AGE=1", "AGE=2"], ["JOB=-1"])),
        ({"AGE": "1..", "JOB": "not -1"}, (["AGE=1", "AGE=2"], ["JOB=1", "JOB=2"])),
        ({"AGE": "not 0, 1", "W": ["x", "y"]}, (["AGE=2"], ["W=x", "W=y"])),
        ({"W": "x", "JOB": [1, 2]}, (["W=x"], ["JOB=1", "JOB=2"])),
    ],
)
def test_rules_name_categories_by_code_range_list_and_complement(rule, sides):
    assert ruled(rule).impossible_pairs == [sides]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"AGE": 0}, "impossible.0: name two questions, not 1"),
        ({"AGE": 0, "JOBS": 1}, "there is no question 'JOBS'.*JOB"),
        ({"AGE": 7, "JOB": 1}, "AGE has no category 7"),
        ({"AGE": "3..4", "JOB": 1}, "AGE has no category 3..4"),
        ({"AGE": "x", "JOB": 1}, "AGE has no category x"),
        ({"W": "z", "JOB": 1}, "W has no category z"),
    ],
)
def test_rules_about_what_is_not_there_are_refused(rule, message):
    with pytest.raises(InputError, match=message):
        ruled(rule)


def test_a_rule_goes_with_its_questions():
    fitted = ruled({"AGE": 0, "JOB": 1}, {"AGE": 0, "W": "x"}).fitted(True, ["JOB"], {})
    assert fitted.impossible_pairs == [(["AGE=0"], ["W=x"])]


def coded(rows: list[tuple[int, int | None, str]]) -> Records:
    age, job, word = zip(*rows, strict=True)
    raw = {
        "AGE": np.ma.array(age),
        "JOB": np.ma.array([j or 0 for j in job], mask=[j is None for j in job]),
        "W": np.ma.array(word),
    }
    rules = {"AGE": 0, "JOB": "not -1"}, {"AGE": "not 0", "JOB": -1}
    return Records(*coding.code(raw, ruled(*rules), np.random.default_rng(0)))


def test_stated_zeros_are_the_cells_of_the_rules():
    # columns: AGE 0 1 2, JOB -1 1 2, W x y
    codebook = coded([(0, None, "x"), (1, 1, "y")]).codebook
    wanted = np.zeros((8, 8), bool)
    for i, j in [(0, 4), (0, 5), (1, 3), (2, 3)]:
        wanted[i, j] = wanted[j, i] = True
    assert (codebook.stated_zeros == wanted).all()
    assert (Codebook.from_json(codebook.to_json()).stated_zeros == wanted).all()


def test_stated_zeros_are_those_asked_for():
    records = coded([(0, None, "x"), (1, 1, "y"), (2, 1, "x")])
    found = zeros_of("sample", records)
    assert (found == structural_zeros(crosstab(records), records.block_starts)).all()
    stated = zeros_of("stated", records)
    assert (stated == records.codebook.stated_zeros).all()
    assert not stated[0, 7] and found[0, 7]  # a child with word y


def test_records_that_break_a_rule_are_named():
    records = coded([(0, None, "x"), (0, 2, "y"), (0, 2, "x")])
    with pytest.raises(InputError, match=r"AGE=0 with JOB=2 \(2 records\)"):
        zeros_of("stated", records)


def test_stated_zeros_need_rules():
    records = coded([(0, None, "x"), (1, 1, "y")])
    bare = Codebook(records.codebook.question_set, records.codebook.questions)
    with pytest.raises(InputError, match="nothing under 'impossible'"):
        zeros_of("stated", Records(records.codes, bare))


def test_the_samples_rules_hold_in_it(sample):
    assert sample.codebook.stated_zeros.sum() > 1000
    assert sample.codebook.broken(crosstab(sample)) == []


@pytest.mark.pipeline
def test_a_model_with_stated_zeros_draws_unseen_answers_but_no_impossible_ones(sample):
    some, stated = sample[:3000], zeros_of("stated", sample)
    settings = Settings(start_epochs=3, levels=(1.0,), most_windows=1)
    model, _, _ = matching.fit(some, settings, 1, 1, lambda _: None, excluded=stated)
    drawn = some.of(stationary.sample(model, some.codes, 3, 1, 2)[0])
    assert not violations(drawn, stated).any()
    assert violations(drawn, zeros_of("sample", some)).any()


def crosstab_of(table: list[list[int]]) -> np.ndarray:
    """The crosstab (K, K) of two questions that have this pair table."""
    pair = np.array(table)
    return np.block([[np.diag(pair.sum(axis=1)), pair], [pair.T, np.diag(pair.sum(axis=0))]])


@pytest.mark.parametrize(
    ("table", "zeros"),
    [
        # 10 · 30 / 100 = 3 are expected in the empty cell, 9 · 30 / 100 are not enough.
        ([[0, 10], [30, 60]], [(0, 0)]),
        ([[0, 9], [30, 61]], []),
        # Of 12 answers half would be others' than the one there is; each other cell alone expects too few.
        ([[12, 0, 0, 0], [38, 17, 17, 16]], [(0, 1), (0, 2), (0, 3)]),
        ([[11, 0, 0, 0], [39, 17, 17, 16]], []),
        # Two answers go with it, which is no rule.
        ([[11, 1, 0, 0], [39, 16, 17, 16]], []),
    ],
)
def test_likely_zeros_are_those_that_chance_does_not_explain(table, zeros):
    starts = np.array([0, len(table), len(table) + len(table[0])])
    counts = crosstab_of(table)
    found = likely_zeros(counts, starts)
    np.testing.assert_array_equal(found, found.T)
    assert [(i, j - len(table)) for i, j in np.argwhere(np.triu(found)).tolist()] == zeros


def test_likely_zeros_of_independent_answers_are_as_rare_as_said():
    rng, starts, false, empty = np.random.default_rng(1), np.array([0, 12, 26]), 0, 0
    for _ in range(300):
        codes = [rng.choice(k, 150, p=rng.dirichlet(np.ones(k))) for k in np.diff(starts)]
        counts = crosstab(records_of(np.column_stack(codes).astype(np.int16), np.diff(starts)))
        cells = np.outer(np.diag(counts)[:12], np.diag(counts)[12:]) / 150 >= EXPECTED
        false += (likely_zeros(counts, starts)[:12, 12:] & cells).sum()
        empty += cells.sum()
    assert false / empty < np.exp(-EXPECTED)


def test_stated_zeros_are_likely_ones_unless_records_hold_them():
    records = coded([(0, None, "x"), (1, 1, "y"), (2, 1, "x")])
    stated = records.codebook.stated_zeros
    assert (zeros_of("likely", records) == stated).all(), "of three records nothing else is likely"
    broken = coded([(0, None, "x"), (0, 2, "y"), (1, 1, "x")])
    assert (zeros_of("likely", broken) == (stated & (crosstab(broken) == 0))).all()
    assert zeros_of("likely", broken).sum() == stated.sum() - 2
