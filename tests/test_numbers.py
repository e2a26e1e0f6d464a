import numpy as np
import pytest
from conftest import question_set
from hypothesis import given
from hypothesis import strategies as st

from modp.base.config import check
from modp.base.errors import InputError
from modp.survey import coding, numbers
from modp.survey.numbers import NumbersRecipe


def words(*answers: str) -> np.ma.MaskedArray:
    texts = np.array(answers, object)
    return np.ma.array(texts, mask=texts == "")


def coded(recipe: dict, *answers: str) -> tuple[list[str], list[str]]:
    other = {"name": "B", "label": "b", "categories": {"x": "x"}}
    questions = question_set({"name": "A", "label": "a", **recipe}, other)
    columns = {"A": words(*answers), "B": words(*["x"] * len(answers))}
    codes, codebook = coding.code(columns, questions, np.random.default_rng(0))
    categories = codebook.questions[0].categories
    return [categories[k].code for k in codes[:, 0]], [c.label for c in categories]


def test_numbers_fall_into_classes_values_apart_and_words():
    recipe = {
        "numbers": {"cuts": [20, 40], "apart": {0: "none", 9999999: "top"}, "words": {"N": "not asked"}},
        "missing": "blank",
    }
    codes, labels = coded(recipe, "-3", "0", "19", "20", "39", "40", "9999999", "N", "", "1e3", "040")
    assert codes == ["1", "=0", "1", "2", "2", "3", "=9999999", "N", "-1", "3", "3"]
    assert labels == ["blank", "not asked", "under 20", "none", "20 to 39", "40 or more", "top"]


def test_classes_of_fractions_are_said_without_a_last_number():
    _, labels = coded({"numbers": {"cuts": [1, 2.5]}}, "0.5", "1.25", "7")
    assert labels == ["under 1", "1 to under 2.5", "2.5 or more"]


def test_dates_fall_into_years_and_months():
    recipe = {"numbers": {"dates": "%d.%m.%Y", "cuts": ["2020-01-01", "2021-01-01", "2021-02-01"]}}
    codes, labels = coded(recipe, "31.12.2019", "01.01.2020", "31.12.2020", "15.01.2021", "01.02.2021")
    assert codes == ["1", "2", "2", "3", "4"]
    assert labels == ["before 2020-01-01", "2020", "2021-01", "2021-02-01 or later"]


@pytest.mark.parametrize(
    "recipe, said",
    [
        ({"cuts": [2, 1]}, "'cuts' must rise, and 1 follows 2"),
        ({"cuts": ["1"]}, "'1' is not a number"),
        ({"cuts": [2020], "dates": "iso"}, "2020 is not a date like 2021-03-31, in quotes"),
        ({"words": {"12": "twelve"}}, "the word '12' is a number: put it under 'apart'"),
        ({"cuts": [1, 1]}, "'cuts' must rise"),
        ({"cuts": [float("inf")]}, "inf is not a number"),
    ],
)
def test_faulty_classes_are_refused(recipe: dict, said: str):
    with pytest.raises(InputError) as refused:
        check(recipe, NumbersRecipe, "test.yaml")
    assert said in str(refused.value)


def test_an_answer_that_is_neither_a_number_nor_a_known_word_is_refused_by_name():
    with pytest.raises(InputError, match=r"A: refused \(1 records\)"):
        coded({"numbers": {"cuts": [3]}}, "1", "refused")


@given(
    st.lists(st.integers(-50, 50), max_size=6, unique=True).map(sorted),
    st.lists(st.integers(-60, 60), max_size=3, unique=True),
    st.lists(st.integers(-60, 60), min_size=1, max_size=30),
)
def test_every_number_is_in_the_one_category_whose_interval_holds_it(
    cuts: list[int], apart: list[int], values: list[int]
):
    recipe = NumbersRecipe(cuts=cuts, apart={value: f"just {value}" for value in apart})
    found, _ = numbers.places(recipe, [str(value) for value in values])
    parts = numbers.intervals(recipe)
    for place, value in zip(found, values, strict=True):
        part = parts[place]
        if value in apart:
            assert part.low == part.high == value
        else:
            assert part.low <= value < part.high


def test_a_relation_makes_impossible_what_surely_breaks_it():
    smaller = {"name": "A", "label": "a", "numbers": {"cuts": [10, 20]}}
    greater = {"name": "B", "label": "b", "numbers": {"cuts": [10, 20], "apart": {15: "just 15"}}}
    questions = question_set(smaller, greater, relations=["A <= B"])
    found = {one[0]: sorted(others) for one, others in questions.impossible_pairs}
    assert found == {"A=2": ["B=1"], "A=3": ["B=1", "B=2", "B==15"]}


@given(st.integers(-5, 25), st.integers(-5, 25))
def test_no_pair_of_numbers_that_keeps_a_relation_is_impossible(a: int, b: int):
    recipe = NumbersRecipe(cuts=[0, 7, 15], apart={3: "three"})
    other = NumbersRecipe(cuts=[5, 7], apart={-2: "low", 7: "seven"})
    codes = numbers.codes(recipe), numbers.codes(other)
    one = codes[0][numbers.places(recipe, [str(a)])[0][0]]
    two = codes[1][numbers.places(other, [str(b)])[0][0]]
    if a <= b:
        assert two not in numbers.zeros_of_order(recipe, other).get(one, [])


@pytest.mark.parametrize(
    "text, said",
    [
        ("A < B", "cannot read 'A < B': write A <= B, or A = B + C"),
        ("A <= C", "there is no question 'C'"),
        ("A = B", "cannot read"),
        ("A <= W", "the answers to 'W' are no numbers"),
    ],
)
def test_faulty_relations_are_refused(text: str, said: str):
    parts = [{"name": n, "label": n, "numbers": {"cuts": [1]}} for n in "AB"]
    with pytest.raises(InputError) as refused:
        question_set(*parts, {"name": "W", "label": "w", "categories": {"x": "x"}}, relations=[text])
    assert said in str(refused.value)
