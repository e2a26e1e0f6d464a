"""Under a formal guarantee answers are drawn by what the question set says, and by nothing of the records."""

import re

import numpy as np
import pytest
from conftest import question_set
from hypothesis import given
from hypothesis import strategies as st
from test_release import AMOUNTS, DAYS, coded_again, dataset, numbers_question, other, table_of, texts

from modp.base.errors import InputError
from modp.files.raw import raw
from modp.models.private.public import refuse_private_edges
from modp.release.amounts import drawn_amounts
from modp.release.answers import Source, stated, unstated
from modp.release.assembled import released
from modp.survey import coding
from modp.survey.codebook import Codebook
from modp.survey.questions import QuestionSet


def source_of(questions: QuestionSet, **answers: list) -> tuple[np.ndarray, Source]:
    """The codes of a table, and what a guaranteed release of such is drawn from."""
    table = table_of(**answers)
    codes, codebook = coding.code(raw(table, questions, "t"), questions, np.random.default_rng(1))
    return codes, stated(codebook, questions, dataset())


KINDS = {
    "numbers": (AMOUNTS, {"numbers": {"cuts": [10000, 20000.5, 40000]}, "bounds": [0, 500000]}),
    "steps": (AMOUNTS, {"numbers": {"cuts": [10000, 40000]}, "bounds": [0, 500000], "step": 250}),
    "decimals": (
        [a / 4 for a in AMOUNTS],
        {"numbers": {"cuts": [0.5, 1000]}, "bounds": [0, 99999.9], "step": 0.1},
    ),
    "apart": (
        [None, "refused", 9999999, -0.5, *AMOUNTS[4:]],
        {
            "missing": "none",
            "numbers": {
                "cuts": [10000],
                "apart": {9999999: "top", -0.5: "odd"},
                "words": {"refused": "refused"},
            },
            "bounds": [-1, 10000000],
        },
    ),
    "dates": (
        DAYS,
        {
            "numbers": {"dates": "iso", "cuts": ["1960-01-01", "1975-07-01"]},
            "bounds": ["1950-01-01", "1999-12-31"],
        },
    ),
    "ranges": (
        [20 + k % 70 for k in range(400)],
        {
            "categories": {
                1: {"label": "a", "values": "..39"},
                2: {"label": "b", "values": "40..59, 70"},
                3: {"label": "c", "values": "60..69, 71.."},
            },
            "bounds": [0, 120],
        },
    ),
    "words": (
        [("yes", "no, never", "x")[k % 3] for k in range(400)],
        {"categories": {"yes": "yes", "no": {"label": "no", "values": ["no, never", "x"]}}},
    ),
    "positive deciles": (
        [0] * 50 + [None] * 30 + AMOUNTS,
        {
            "missing": "none",
            "categories": {0: "nothing"},
            "deciles": {"of": "positive"},
            "bounds": [0, 1000000],
        },
    ),
}


def bounded(question: dict) -> tuple[float, float] | None:
    return tuple(question["bounds"]) if "bounds" in question and "dates" not in str(question) else None


@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_of_their_category_and_inside_the_bounds(kind: str):
    answers, recipe = KINDS[kind]
    codes, source = source_of(question_set({"name": "A", "label": "A", **recipe}, other()), A=answers)
    assert unstated(codes, source) == []
    made = released(codes, source, 1)
    drawn = [text for text in texts(made, "A") if text not in ("", "refused")]
    limits = bounded(recipe)
    if limits:
        assert all(limits[0] <= float(text) <= limits[1] for text in drawn)
    if "deciles" in kind:
        assert sorted(texts(made, "A"))[:80] == [""] * 30 + ["0"] * 50
        return
    again = coded_again(made.table, source)
    assert sorted(map(tuple, again.tolist())) == sorted(map(tuple, codes.tolist()))
    if "step" in recipe:
        steps = np.array([float(t) for t in drawn]) / recipe["step"]
        assert np.abs(steps - np.rint(steps)).max() < 1e-6


@given(
    st.lists(st.integers(0, 100_000), min_size=60, max_size=60),
    st.lists(st.integers(0, 100_000), min_size=60, max_size=60),
    st.integers(0, 99),
)
def test_true_numbers_inside_their_classes_change_nothing(one, two, seed):
    questions = question_set(
        {**numbers_question("A", 20_000, 50_000), "bounds": [0, 100_000]},
        {
            "name": "B",
            "label": "B",
            "categories": {
                1: {"label": "few", "values": "..9999"},
                2: {"label": "many", "values": "10000.."},
            },
            "bounds": [0, 100_000],
        },
        relations=["A <= B"],
    )
    codes, source = source_of(questions, A=one, B=two)
    # Numbers of the same classes: only which class each is of is told.
    least = [(0, 20_000, 50_000)[k] for k in codes[:, 0]], [(0, 10_000)[k] for k in codes[:, 1]]
    others, again = source_of(questions, A=least[0], B=least[1])
    assert np.array_equal(others, codes)
    made = [released(codes, some, seed) for some in (source, again)]
    for name in "AB":
        assert texts(made[0], name) == texts(made[1], name)
    assert (made[0].what, made[0].said) == (made[1].what, made[1].said)


def test_numbers_are_even_inside_their_class():
    questions = question_set({**numbers_question("A", 100), "bounds": [0, 299]}, other())
    _, source = source_of(questions, A=[5] * 50 + [250] * 50)
    codes = np.tile(np.array([[1, 0]], np.int16), (20_000, 1))
    drawn = np.array(texts(released(codes, source, 1), "A"), int)
    counts = np.bincount(drawn, minlength=300)
    assert counts[:100].sum() == 0 and len(counts) == 300
    assert abs(counts[100:] / 100 - 1).max() < 0.5  # 100 expected of each, 5 standard errors


def test_numbers_that_are_measured_are_drawn_by_the_question_set_too():
    questions = question_set({**numbers_question("A", 100), "bounds": [0, 299]}, other())
    codes, source = source_of(questions, A=[5] * 50 + [250] * 50)
    amounts = drawn_amounts(codes, ["A"], source, 1)["A"]
    assert ((amounts >= 100) == (codes[:, 0] == 1)).all()
    assert len(np.unique(amounts)) > 50 and amounts.max() < 300


def test_where_blanks_stand_for_a_number_it_is_written_blank():
    recipe = {"name": "A", "label": "A", "deciles": {"of": "all", "blank_as": -1}, "bounds": [0, 10**6]}
    codes, source = source_of(question_set(recipe, other()), A=[None] * 300 + AMOUNTS)
    assert unstated(codes, source) == []
    drawn = texts(released(codes, source, 1), "A")
    assert "-1" not in drawn
    assert drawn.count("") == pytest.approx(300, abs=75)  # one decile is shared with the least numbers
    assert min(float(text) for text in drawn if text) >= 0


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (
            numbers_question("A", 20_000),
            "A: '20,000 or more' has an open end; state 'bounds: [LEAST, GREATEST]'",
        ),
        ({**numbers_question("A", 20_000), "bounds": [0, 10**6]}, None),
        (
            {**numbers_question("A", 20_000.2, 20_000.8), "bounds": [0, 10**6]},
            "A: '20,000.2 to under 20,000.8' holds no multiple of 1; state a smaller 'step'",
        ),
        (
            {"name": "A", "label": "A", "missing": "n", "deciles": {"of": "known"}, "bounds": [0, 5000]},
            "is outside of its 'bounds'",
        ),
    ],
)
def test_what_the_question_set_lacks_is_named(question, said):
    amounts = [20_000.4 if k % 7 == 0 and "numbers" in question else k * 100 for k in range(400)]
    codes, source = source_of(question_set(question, other()), A=amounts)
    found = unstated(codes, source)
    assert found == [] if said is None else any(said in line for line in found)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"numbers": {"cuts": [5]}, "bounds": [9, 9]}, "numbers are from 9 to 9"),
        ({"numbers": {"cuts": [5, 20]}, "bounds": [0, 9]}, "numbers are from 0 to 9, and 20 is not"),
        ({"categories": {0: "a", 5: {"label": "b", "values": "5.."}}, "bounds": [1, 3]}, "and 5 is not"),
        ({"categories": {"a": "a", "b": "b"}, "bounds": [0, 9]}, "the categories are words"),
        ({"numbers": {"cuts": ["2020-01-01"], "dates": "iso"}, "bounds": [1, 2]}, "1 is not a date"),
        ({"numbers": {"cuts": ["2020-01-01"], "dates": "iso"}, "step": 2}, "dates are drawn by the day"),
    ],
)
def test_bounds_that_cannot_be_are_refused(keys, said):
    with pytest.raises(InputError, match=re.escape(said)):
        question_set({"name": "A", "label": "A", **keys}, other())


@pytest.mark.parametrize("way", ["by looking", "unknown answers", "deciles"])
def test_categories_that_records_made_are_refused_unless_said_to_be_public(way):
    recipe = {"name": "A", "label": "A", "categories": {1: "one", 2: "two"}}
    if way == "deciles":
        recipe = {"name": "A", "label": "A", "missing": "n", "deciles": {"of": "known"}}
    questions = question_set(recipe, other(), from_records=way == "by looking")
    answers = raw(table_of(A=[1, 2, 7 if way == "unknown answers" else 2] * 20), questions, "t")
    _, codebook = coding.code(answers, questions, np.random.default_rng(1), lambda _: None)
    again = Codebook.from_json(codebook.to_json())
    with pytest.raises(InputError, match="no budget pays for"):
        refuse_private_edges(again, False, "dp")
    refuse_private_edges(again, True, "dp")
