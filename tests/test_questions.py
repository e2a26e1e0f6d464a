import csv
import json
from collections import defaultdict
from datetime import date

import numpy as np
import pytest
from conftest import ROOT, question_set, shared
from hypothesis import given
from hypothesis import strategies as st

from modp.base import seeds
from modp.base.errors import InputError
from modp.survey import coding
from modp.survey.codebook import Codebook, Question
from modp.survey.questions import QuestionSet

# Number of categories of each question as the paper's code prints them, in its order.
PAPER_SIZES = {
    **{"SEX": 2, "AGEP": 11, "SCHL": 10, "RAC1P": 9, "ESR": 7, "MAR": 5, "DIS": 2, "PINCP": 10},
    **{"NATIVITY": 2, "MIL": 5, "ENG": 5, "HICOV": 2, "FER": 3, "JWMNP": 11, "WAOB": 8, "SCH": 4},
    **{"SCHG": 6, "PERNP": 10, "SSP": 12, "PAP": 12, "MSP": 7, "MARHT": 4, "MARHYP": 9},
    **{"MARHW": 3, "MARHM": 3, "MARHD": 3, "WRK": 3, "JWAP": 11, "WKHP": 11, "WKWN": 7, "CIT": 5},
    **{"DECADE": 9, "JWTRNS": 8, "LANX": 3, "LANP": 4, "DEYE": 2, "DEAR": 2, "DREM": 3},
}


def column(*values: int | None) -> np.ma.MaskedArray:
    return np.ma.array([0 if v is None else v for v in values], mask=[v is None for v in values])


SPARE = {"name": "SPARE", "label": "spare", "column": "SEX", "categories": {1: "a", 2: "b"}}


def coded(recipe: dict, values: np.ma.MaskedArray) -> tuple[list[str], Question]:
    """The category codes that a recipe gives to values."""
    raw = {recipe["name"]: values, "SEX": column(*[1] * len(values))}
    codes, codebook = coding.code(raw, question_set(recipe, SPARE), np.random.default_rng(0))
    question = codebook.questions[0]
    return [question.categories[c].code for c in codes[:, 0]], question


def stums_recipe(stums: QuestionSet, name: str) -> dict:
    return next(q for q in stums.questions if q.name == name).model_dump(exclude_none=True)


def test_stums_has_the_papers_233_categories_on_any_file(sample):
    codebook = sample.codebook
    assert dict(zip(codebook.names, codebook.sizes.tolist(), strict=True)) == PAPER_SIZES
    assert codebook.block_starts[-1] == 233
    assert codebook.block_starts[:6].tolist() == [0, 2, 13, 23, 32, 39]


def test_heat_maps_follow_the_papers_order(stums, sample):
    assert sorted(stums.heat_map_order) == sorted(PAPER_SIZES)
    assert stums.heat_map_order[:5] == ["SEX", "AGEP", "RAC1P", "NATIVITY", "WAOB"]
    assert list(sample.codebook.heat_map_order) == stums.heat_map_order
    left = stums.fitted(True, ["AGEP"], {})
    assert left.heat_map_order == [name for name in stums.heat_map_order if name != "AGEP"]


@pytest.mark.parametrize(
    ("order", "message"),
    [(["SPAR"], "no question 'SPAR'; did you mean 'SPARE'"), (["SPARE", "SPARE"], "SPARE stands twice")],
)
def test_a_heat_maps_order_is_of_the_sets_questions(order, message):
    other = {"name": "OTHER", "label": "other", "categories": {1: "a"}}
    with pytest.raises(InputError, match=message):
        question_set(SPARE, other, heat_map_order=order)


def test_a_codebook_keeps_the_order_and_one_without_it_can_be_read(sample):
    book = sample.codebook
    assert Codebook.from_json(book.to_json()) == book
    content = json.loads(book.to_json())
    del content["heat_map_order"]
    old = Codebook.from_json(json.dumps(content))
    assert old.heat_map_order == () and old.digest == book.digest


@pytest.mark.parametrize(
    ("name", "raw", "expected"),
    [
        ("AGEP", [0, 1, 6, 7, 12, 13, 19, 20, 79, 80, 99], "0 1 1 2 2 3 3 4 9 10 10"),
        ("SCHL", [None, 1, 2, 6, 7, 13, 16, 18, 20, 21, 22, 23, 24], "-1 1 1 1 2 3 4 5 6 7 8 8 9"),
        ("SCHG", [None, 1, 5, 6, 11, 12, 14, 15, 16], "-1 1 1 2 2 3 3 4 5"),
        ("MARHYP", [None, 1943, 1949, 1950, 1989, 1999, 2009, 2014, 2019, 2022], "-1 1 1 2 3 4 5 6 7 8"),
        ("WKWN", [None, 1, 9, 10, 49, 50, 52], "-1 1 1 2 5 6 6"),
        ("JWAP", [None, 1, 33, 34, 117, 118, 130, 131, 177, 178, 285], "-1 1 1 2 7 8 8 9 9 10 10"),
        ("JWTRNS", [None, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12], "-1 1 2 3 3 7 7 7 4 5 6 7"),
        ("LANP", [None, 1200, 1970, 2000, 2030, 2050, 1000, 9999], "1 2 3 3 3 3 4 4"),
        ("MIL", [None, 1, 4], "-1 1 4"),
    ],
)
def test_merges_are_the_papers(stums, name, raw, expected):
    assert coded(stums_recipe(stums, name), column(*raw))[0] == expected.split()


def test_missing_income_falls_into_a_decile_as_in_the_paper(stums):
    values = column(*[None] * 50, *range(1, 51))
    codes, question = coded(stums_recipe(stums, "PINCP"), values)
    assert question.categories[0].code == "1"
    assert set(codes[:50]) == {"1", "2", "3", "4", "5"}
    assert codes[50:55] == ["6"] * 5
    assert len(question.edges) == 9


def test_deciles_of_positive_values_leave_blank_and_zero_apart(stums):
    values = column(None, 0, 0, *range(100, 2100, 100))
    codes, question = coded(stums_recipe(stums, "SSP"), values)
    assert codes[:3] == ["-1", "0", "0"]
    assert codes[3:] == [str(k) for k in range(1, 11) for _ in range(2)]
    assert question.categories[3].label == "decile 2: $300–$400"


def test_question_without_any_positive_value_keeps_its_ten_deciles(stums):
    codes, question = coded(stums_recipe(stums, "PAP"), column(0, 0, None))
    assert codes == ["0", "0", "-1"]
    assert len(question.categories) == 12
    assert question.categories[-1].label == "decile 10: no records"


@given(st.lists(st.integers(-1000, 10**6), min_size=1, max_size=300), st.integers(0, 2**32 - 1))
def test_deciles_are_ordered_and_of_equal_size_whatever_the_ties(values, seed):
    values = np.array(values, float)
    which, edges = coding.deciles(values, np.random.default_rng(seed))
    counts = np.bincount(which, minlength=11)[1:]
    assert counts.sum() == len(values) and counts.max() - counts.min() <= 1
    assert (np.diff(edges) >= 0).all()
    for k in range(1, 10):
        if counts[k - 1] and (which > k).any():
            assert values[which == k].max() <= values[which > k].min()


def test_deciles_depend_on_the_seed_alone():
    values = np.repeat([1.0, 2.0], 50)
    first, second, other = (coding.deciles(values, seeds.generator(s, "deciles"))[0] for s in (1, 1, 2))
    assert (first == second).all() and (first != other).any()


def test_unknown_answers_are_all_reported_with_column_value_and_count():
    first = {"name": "A", "label": "a", "categories": {1: "one"}}
    second = {"name": "B", "label": "b", "missing": "n/a", "categories": {1: "one"}}
    raw = {"A": column(1, 7, None), "B": column(888, 888, None), "SEX": column(1, 1, 2)}
    with pytest.raises(InputError) as failure:
        coding.code(raw, question_set(first, second, SPARE), np.random.default_rng(0))
    assert "A: 7 (1 records), blank (1 records)" in str(failure.value)
    assert "B: 888 (2 records)" in str(failure.value)


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        ({"categories": {1: {"label": "a", "values": "1..6"}, 2: {"label": "b", "values": "6..9"}}}, "both"),
        ({"categories": {1: {"label": "a", "values": "6..1"}}}, "backwards"),
        ({"categories": {1: {"label": "a", "values": "one"}}}, "cannot read the values 'one'"),
        ({}, "needs 'categories', 'deciles' or 'numbers'"),
        ({"deciles": {"of": "all"}}, "needs it"),
        ({"categories": {i: str(i) for i in range(5000)}}, "identifier"),
        ({"missing": "n/a", "categories": {1: {"label": "a", "values": "blank"}}}, "both take the blanks"),
        ({"missing": "n/a", "categories": {-1: "a"}}, "both take the blanks"),
        (
            {"categories": {0: {"label": "a", "values": "0..5"}}, "deciles": {"of": "positive"}},
            "the value 0 and nothing else",
        ),
        ({"categories": {"1": "a", "2": "b"}}, "write their keys without quotes"),
        ({"categories": {"x": "a", 2: "b"}}, "put quotes around 2 too"),
        ({"categories": {"x": "a"}, "deciles": {"of": "known"}}, "deciles are of numbers"),
        ({"categories": {"blank": "a"}}, "has a meaning of its own"),
        ({"categories": {"a": "x", "b": {"label": "y", "values": ["a"]}}}, "'a' is in both category"),
        ({"categories": {1: {"label": "a", "values": ["x"]}}}, "its key must be a word"),
        (
            {"categories": {1: {"label": "a", "values": "1, blank"}, 2: {"label": "b", "values": "blank"}}},
            "two",
        ),
        ({"categories": {True: "a"}}, "YAML reads this as true"),
        ({"categories": {None: "a"}}, "YAML reads a key as nothing; put it into quotes, as in 'null'"),
        ({"categories": {1.5: "a"}}, "YAML reads a key as 1.5, no text; put it into quotes, as in '1.5'"),
        ({"categories": {date(2021, 3, 1): "a"}}, "put it into quotes, as in '2021-03-01'"),
        ({"categories": {"a": {"label": "x", "values": [None]}}}, "YAML reads this as nothing; put it into"),
        ({"label": None, "categories": {1: "a"}}, "A.label: YAML reads this as nothing; put it into quotes"),
        ({"categories": {1: "a"}, "corrected": {"categoris": {1: "a"}}}, "did you mean 'categories'"),
        ({"name": "record", "categories": {1: "a"}}, "cannot be called 'record'"),
        ({"categories": {1: {"lable": "a", "values": 1}}}, "did you mean 'label'"),
        ({"categroies": {1: "a"}}, "did you mean 'categories'"),
    ],
)
def test_faulty_recipes_are_refused(recipe, message):
    with pytest.raises(InputError, match="test.yaml") as failure:
        question_set({"name": "A", "label": "a", **recipe}, SPARE)
    assert message in str(failure.value)


def test_codebook_says_which_raw_values_a_category_is_made_of(sample):
    questions_ = {q.name: q for q in sample.codebook.questions}
    assert [c.values for c in questions_["SCHL"].categories][:3] == ["blank", "1..6", "7..12"]
    assert questions_["LANP"].categories[2].values == "1970, 2000, 2030, 2050"
    assert questions_["SEX"].categories[1].values == "2"
    assert questions_["PINCP"].categories[0].values == ""


def test_another_merging_is_another_codebook():
    made = [
        coded_book({"name": "A", "label": "a", "categories": {1: {"label": "x", "values": v}}})
        for v in ("1..5", "1..6")
    ]
    assert made[0].columns == made[1].columns and made[0].digest != made[1].digest


def coded_book(recipe: dict) -> Codebook:
    raw = {"A": column(1, 2), "SEX": column(1, 2)}
    return coding.code(raw, question_set(recipe, SPARE), np.random.default_rng(0))[1]


def test_codebook_survives_its_file(sample):
    codebook = sample.codebook
    assert Codebook.from_json(codebook.to_json()) == codebook


def test_every_code_of_the_data_dictionary_has_a_category(stums):
    listed = defaultdict(set)
    for row in csv.reader(shared("reference", "dictionary", "acs1-2022.csv").open(encoding="utf-8")):
        if row[0] == "VAL" and row[1] in PAPER_SIZES:
            listed[row[1]] |= {None} if "b" in row[4] else {int(row[4]), int(row[5])}
    assert set(listed) == set(PAPER_SIZES)
    for recipe in stums.questions:
        coded(recipe.model_dump(exclude_none=True), column(*listed[recipe.name]))


def test_question_set_file_names_its_own_count():
    text = (ROOT / "workflow/questions/stums.yaml").read_text()
    assert text.startswith("# STUMS") and "233 categories" in text


def test_leaving_out_and_adding_questions_must_leave_a_sound_set(stums):
    with pytest.raises(InputError, match="at least 2 items"):
        stums.fitted(True, [q.name for q in stums.questions[1:]], {})
    twice = stums.fitted(True, [], {56: "Wyoming"})
    with pytest.raises(InputError, match="listed twice: STATE"):
        twice.fitted(True, [], {56: "Wyoming"})


def test_a_list_of_numbers_is_as_good_as_text():
    recipe = {"name": "A", "label": "a", "categories": {1: {"label": "x", "values": [3, 5]}}}
    assert coded(recipe, column(3, 5))[0] == ["1", "1"]


def deciles_of(values):
    """The labels of MONEY's deciles, and what is said of them."""
    recipe = {"name": "A", "label": "a", "deciles": {"of": "known"}, "unit": "$"}
    raw = {"A": np.ma.array(np.array(values, np.int32)), "SEX": np.ma.array(np.ones(len(values), np.int32))}
    said = []
    _, codebook = coding.code(raw, question_set(recipe, SPARE), np.random.default_rng(0), say=said.append)
    return [c.label for c in codebook.questions[0].categories], said


def test_a_value_that_fills_deciles_is_said_and_its_deciles_are_told_apart():
    labels, said = deciles_of([*range(1, 71), *[9_999_999] * 30])
    assert labels[-4:] == [
        "decile 7: $61–$70",
        *(f"decile {k}: $9,999,999 (part {k - 7} of 3, at random)" for k in (8, 9, 10)),
    ]
    assert len(said) == 1 and said[0].endswith("A $9,999,999 (30%)")


@pytest.mark.parametrize("values", [[0] * 95 + [1, 2, 3, 4, 5], [1] * 40 + [2] * 30 + [3] * 30, [7] * 20])
def test_deciles_of_few_values_are_all_different(values):
    labels, said = deciles_of(values)
    assert len(set(labels)) == 10
    assert len({label.partition(": ")[2] for label in labels}) == 10
    assert len(said) == 1


def test_nothing_is_said_of_deciles_without_ties():
    assert deciles_of(range(100))[1] == []
    assert deciles_of([1, 2, 3])[1] == []
