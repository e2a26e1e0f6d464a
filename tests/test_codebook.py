"""Labels as people read them: two categories of a question never look alike."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modp.report import explorer
from modp.summaries.answers import answers_by_blade
from modp.survey.codebook import Category, Codebook, Question
from modp.survey.records import Records


def question(labels, name="A"):
    made = tuple(Category(str(code), label, str(code)) for code, label in enumerate(labels, start=1))
    return Question(name, "the same", name, "as coded", made)


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        (["yes", "no"], ["yes", "no"]),
        (["other", "no", "other"], ["other (1)", "no", "other (3)"]),
        (["", "no"], ["(1)", "no"]),
        (["a  b", " a b"], ["a b (1)", "a b (2)"]),
        (["a", "a", "a (1)"], ["a (1)", "a (2)", "a (1) (3)"]),
    ],
)
def test_labels_that_codes_share_are_told_apart_by_the_code(labels, told):
    assert list(question(labels).labels) == told


@given(st.lists(st.sampled_from(["a", "a (1)", "a (2)", "a (1) (3)", " a", ""]), min_size=1, max_size=8))
def test_no_two_labels_are_alike(labels):
    found = question(labels).labels
    assert len(set(found)) == len(labels)


def test_report_and_tables_tell_categories_of_one_label_apart():
    codebook = Codebook("t", (question(["other", "other"]), question(["x", "y"], "B")))
    content = explorer.content(codebook, 4, np.ones(10, int), {})
    assert content["questions"][0]["categories"] == [["1", "other (1)"], ["2", "other (2)"]]
    records = Records(np.array([[0, 0], [1, 1]], np.int16), codebook)
    table = answers_by_blade(records, np.ones((2, 1)), ["A"])
    assert table["label"].tolist() == ["other (1)", "other (2)"]
