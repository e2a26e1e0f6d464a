import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import shared
from hypothesis import given, settings
from hypothesis import strategies as st

from modp.base.config import check, load
from modp.base.errors import InputError
from modp.files import cuts, naming
from modp.files.columns import decide
from modp.files.decision import Decision, size
from modp.files.options import TableOptions
from modp.files.plan import plan
from modp.files.table import Column, Table
from modp.pums.where import Dataset
from modp.survey import coding
from modp.survey.questions import QuestionRecipe, QuestionSet


def column(name: str, answers: Sequence[object], **more: object) -> Column:
    """A column of these answers as text; None is a blank."""
    places, kinds = pd.factorize(np.array([a if a is None else str(a) for a in answers], object))
    return Column(name, np.asarray(kinds, object), places.astype(np.int32), **more)


def one(answers: Sequence[object], name: str = "A", **more: object) -> Decision:
    """What becomes of a column; its question must be one that a question set may hold."""
    (found,) = decide(Table((column(name, answers, **more),)))
    if found.recipe:
        assert len(check(found.recipe, QuestionRecipe, found.column).codes) == size(found)
    return found


def kinds_of(**columns: Sequence[object]) -> dict[str, str]:
    """What each of several columns is taken for."""
    table = Table(tuple(column(name, answers) for name, answers in columns.items()))
    return {decision.column: decision.kind for decision in decide(table)}


RNG = np.random.default_rng(16)
INCOMES = (RNG.lognormal(10, 1, 2000) // 10 * 10).astype(int).tolist()
PLACES = RNG.choice(["north", "south"], 2000).tolist()


def test_few_numbers_are_categories_in_their_order_with_their_labels():
    found = one([10, 2, 1, 2, None] * 20, labels={"1": "Yes", "2": "No"})
    assert found.recipe["categories"] == {1: "Yes", 2: "No", 10: "10"}
    assert list(found.recipe["categories"]) == [1, 2, 10]
    assert found.recipe["missing"] == "blank"


def test_levels_of_education_are_categories_and_hours_of_work_numbers():
    assert one(list(range(1, 25)) * 20, "SCHL").kind == "categories"
    assert one(list(range(1, 99)) * 20, "WKHP").kind == "numbers"
    assert one(RNG.integers(18, 48, 40).tolist(), "age").kind == "numbers"


def test_codes_with_leading_zeros_stay_words():
    found = one(["01", "02", "10"] * 20)
    assert found.recipe["categories"] == {"01": "01", "02": "02", "10": "10"}


def test_leading_zeros_of_amounts_of_one_width_make_no_codes_of_them():
    padded = [f"{value:09}" for value in INCOMES]
    assert one(padded).kind == "numbers"
    assert one([f"{k:03}" for k in range(1, 180, 2)] * 10, "county").kind == "categories"


def test_codes_mixed_of_numbers_and_words_are_words_numbers_first():
    found = one(["N", "10", "2", "1"] * 20)
    assert list(found.recipe["categories"]) == ["1", "2", "10", "N"]


def test_truth_values_are_two_words():
    found = one(["True", "False"] * 20, dtype="boolean")
    assert found.recipe["categories"] == {"False": "False", "True": "True"}


def test_a_few_fractions_are_words_as_they_are_written():
    found = one(["12.5", "1.0", "3"] * 20)
    assert list(found.recipe["categories"]) == ["1.0", "3", "12.5"]


def test_labels_that_codes_share_are_told_apart():
    found = one([1, 2, 3] * 20, labels={"1": "Yes", "2": "Yes", "3": "No"})
    assert found.recipe["categories"] == {1: "Yes (1)", 2: "Yes (2)", 3: "No"}


def test_the_texts_na_none_and_null_are_answers():
    found = one(["NA", "None", "null", "nan", "blank", "-1", None] * 20)
    assert found.recipe["missing"] == "left blank"
    labels = [c if isinstance(c, str) else c["label"] for c in found.recipe["categories"].values()]
    assert sorted(labels) == ["-1", "NA", "None", "blank", "nan", "null"]


def test_a_code_of_minus_one_does_not_take_the_place_of_blanks():
    found = one([-1, 0, 1, None] * 20)
    assert found.recipe["categories"] == {-2: {"label": "blank", "values": "blank"}, -1: "-1", 0: "0", 1: "1"}


def test_kinds_of_missing_stay_apart_and_come_last():
    found = one(
        ["a", "refused", "unknown", None] * 20,
        missing=frozenset({"refused", "unknown"}),
        labels={"refused": "R"},
    )
    assert found.recipe["categories"] == {"a": "a", "refused": "R", "unknown": "missing (unknown)"}
    assert found.recipe["missing"] == "blank"


def test_many_numbers_are_cut_at_round_places_and_no_class_is_small():
    found = one(INCOMES)
    edges = found.recipe["numbers"]["cuts"]
    held = np.bincount(np.searchsorted(edges, INCOMES, side="right"))
    assert found.kind == "numbers" and len(held) == cuts.CLASSES
    assert held.min() >= 100 and held.max() <= 300
    assert all(len(str(edge).rstrip("0")) <= 2 for edge in edges)


def test_zero_and_words_and_missing_codes_stand_apart():
    answers = [*INCOMES, *[0] * 100, *["N"] * 50, *["-9"] * 7, None]
    found = one(answers, missing=frozenset({"-9"}), labels={"-9": "refused"})
    assert found.recipe["numbers"]["apart"] == {-9: "refused", 0: "0"}
    assert found.recipe["numbers"]["words"] == {"N": "N"}
    assert found.recipe["missing"] == "blank"
    assert "0 (5 % of the numbers)" in found.why


def test_zero_that_is_one_number_of_many_is_in_a_class():
    found = one(list(range(90)) * 20, "age")
    assert "apart" not in found.recipe["numbers"]


def test_a_code_in_a_third_of_the_rows_is_pointed_out_and_apart():
    found = one([*INCOMES, *[9999999] * 900])
    assert found.recipe["numbers"]["apart"] == {9999999: "9,999,999"}
    assert found.notes == (
        "9,999,999 (31 % of the numbers, at the end of all numbers: perhaps a code for no answer) "
        "is a category of its own",
    )


@pytest.mark.parametrize("code, often", [(99999, 40), (-1, 30), (-99, 30)])
def test_codes_for_no_answer_are_apart_at_either_end(code: int, often: int):
    answers = [value for value in INCOMES if value < 60_000]
    assert list(one([*answers, *[code] * often]).recipe["numbers"]["apart"]) == [code]


def test_several_codes_at_one_end_are_all_apart():
    ages = list(range(18, 70)) * 20
    assert list(one([*ages, *[97] * 30, *[98] * 25, *[99] * 40]).recipe["numbers"]["apart"]) == [97, 98, 99]


def test_a_code_seen_once_in_a_signed_amount_is_left_alone():
    signed = [value - 20_000 for value in INCOMES]
    found = one([*signed, -9999])
    assert "apart" not in found.recipe["numbers"]
    assert 0 in found.recipe["numbers"]["cuts"]


def test_numbers_of_which_one_fills_most_rows_have_no_class_of_one_person():
    found = one([0] * 95 + [120, 3000, 25_000, 700, 12])
    assert found.recipe["numbers"] == {"cuts": [], "apart": {0: "0"}}


def test_heaping_keeps_cuts_apart():
    hours = [40] * 500 + [35, 20, 50] * 90 + RNG.integers(1, 80, 300).tolist()
    numbers = one(hours).recipe["numbers"]
    assert 40 in numbers["apart"]
    assert numbers["cuts"] == sorted(set(numbers["cuts"]))


def test_labels_that_only_repeat_a_number_make_no_categories():
    ages = list(range(60)) * 20
    some = {"0": "0 under one", "59": "59 or more", **{str(k): f"{k} years" for k in range(1, 59)}}
    assert one(ages, labels=some).recipe["numbers"]["apart"] == {0: "0 under one", 59: "59 or more"}
    assert one(ages, labels={str(k): f"{k} years" for k in range(60)}).kind == "numbers"
    assert one(ages, labels={str(k): f"trade {k}" for k in range(60)}).kind == "categories"


@settings(max_examples=50)
@given(
    st.dictionaries(st.integers(-1000, 1000), st.integers(1, 9), min_size=1, max_size=60),
    st.integers(1, 12),
    st.integers(1, 30),
)
def test_classes_hold_enough_and_cuts_rise(held: dict[int, int], classes: int, smallest: int):
    values = np.array(sorted(held), float)
    counts = np.array([held[int(value)] for value in values])

    def whole(low: float, high: float, near: float) -> float:
        return cuts.roundest(low, high, near, whole=True)

    found = cuts.quantile_cuts(values, counts, classes, smallest, whole)
    assert found == sorted(set(found)) and len(found) < classes
    sizes = np.bincount(np.searchsorted(found, values, side="right"), counts, len(found) + 1)
    assert not found or sizes.min() >= smallest


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_a_round_cut_is_between_its_neighbours(a: float, b: float):
    low, high = sorted((a, b))
    if low < high:
        assert low < cuts.roundest(low, high, low / 2 + high / 2) <= high


@pytest.mark.parametrize(
    "low, high, near, found",
    [
        (15_120, 15_137, 15_130, 15_130),
        (14_211, 16_120, 15_137, 15_000),
        (-3, 8, 2, 0),
        (0.12, 0.31, 0.2, 0.2),
    ],
)
def test_of_the_cuts_between_two_numbers_the_roundest_is_taken(low, high, near, found):
    assert cuts.roundest(low, high, near) == found


DAYS = pd.date_range("2005-03-01", "2020-06-30", 1500)


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%Y-%m-%dT%H:%M:%S"])
def test_dates_over_many_years_are_cut_at_years(form: str):
    found = one(DAYS.strftime(form).tolist())
    edges = found.recipe["numbers"]["cuts"]
    assert found.kind == "dates" and not found.notes
    assert found.recipe["numbers"]["dates"] == ("iso" if form.startswith("%Y") else form)
    assert 8 <= len(edges) < 12 and all(edge.endswith("-01-01") for edge in edges)


def test_dates_over_a_year_are_cut_at_months_and_over_a_month_at_days():
    year = one(pd.date_range("2020-11-05", "2021-09-20").astype(str).tolist())
    month = one(pd.date_range("2021-03-01", "2021-03-30").astype(str).tolist() * 2)
    assert all(edge.endswith("-01") for edge in year.recipe["numbers"]["cuts"])
    assert len(year.recipe["numbers"]["cuts"]) == 10
    assert month.kind == "dates"


def test_dates_that_could_be_read_in_two_ways_are_said():
    found = one([f"{k % 12 + 1:02}/{k // 12 % 12 + 1:02}/20{k // 30:02}" for k in range(300)])
    assert found.recipe["numbers"]["dates"] == "%m/%d/%Y"
    assert "the other way round" in found.notes[0]


def test_eight_digits_are_dates_where_the_name_or_all_values_say_so():
    days = DAYS.strftime("%Y%m%d").tolist()
    assert one(days).recipe["numbers"]["dates"] == "%Y%m%d"
    assert one([f"1{k:07}" for k in RNG.integers(0, 10**7, 300)]).kind == "identifier"
    assert one([*days[:5], None], "birthdate").kind == "dates"


def test_a_date_that_stands_for_no_answer_is_apart():
    found = one([*DAYS.strftime("%Y-%m-%d"), *["1900-01-01"] * 400, *["unknown"] * 3])
    assert found.recipe["numbers"]["apart"] == {"1900-01-01": "1900-01-01"}
    assert found.recipe["numbers"]["words"] == {"unknown": "unknown"}


@pytest.mark.parametrize(
    "name, answers",
    [
        ("id", [f"{k * 7919 % 10007}" for k in range(500)]),
        ("nr", list(range(1000, 1400))),
        ("code", [f"AX{k * 7919 % 10007:05}" for k in range(500)]),
        ("who", [f"person {k}" for k in range(300)]),
    ],
)
def test_what_differs_in_every_row_is_an_identifier(name: str, answers: list[object]):
    assert one(answers, name).kind == "identifier"


def test_fractions_that_all_differ_are_numbers():
    assert one(RNG.normal(0, 1, 500).tolist()).kind == "numbers"


def test_a_few_rows_that_differ_are_no_identifiers():
    assert one([33, 41, 25, 67, 54, 29, 18, 72, 90]).kind == "numbers"


def test_long_answers_are_free_text():
    found = one([f"I think that {k} things should change in this town" for k in range(200)])
    assert (found.kind, found.recipe) == ("free text", None)


def test_thousands_of_words_are_refused_with_the_reason():
    found = one([f"w{k % 5000}" for k in range(20_000)])
    assert found.kind == "many words" and "5,000 different words" in found.why


def test_300_words_are_categories_one_seen_once_too():
    found = one([f"w{k}" for k in range(299) for _ in range(10)] + ["seldom"])
    assert len(found.recipe["categories"]) == 300


def test_of_more_than_300_words_the_rarest_are_one_category():
    found = one([f"w{k}" for k in range(400) for _ in range(1 + (k < 299))])
    categories = found.recipe["categories"]
    assert len(categories) == 300
    assert len(categories["other"]["values"]) == 101
    assert "the other 101 (14 % of the rows) are one" in found.why


def test_a_table_of_many_wide_columns_keeps_within_a_quick_fit():
    words = {f"c{q}": [f"w{k % 250}" for k in range(2500)] for q in range(20)}
    table = Table(tuple(column(name, answers) for name, answers in words.items()))
    sizes = [size(decision) for decision in decide(table)]
    assert sum(sizes) <= 1500 and min(sizes) >= 60


def test_columns_that_say_nothing_are_left_out():
    assert one([None] * 9).kind == "all blank"
    assert one(["x"] * 9).kind == "constant"
    assert one(["x", None] * 9).kind == "categories"


def test_weights_are_told_from_flags_and_from_bodies():
    weights = RNG.integers(1, 300, 2000).tolist()
    found = kinds_of(
        PWGTP=weights, PWGTPFLAG=[0, 1] * 1000, FPWGTP=[0, 1] * 1000, wt_final=weights, birthweight=weights,
        weight_kg=weights, pweight=weights, finalwt=weights,
    )  # fmt: skip
    assert [name for name, kind in found.items() if kind == "weight"] == [
        "PWGTP",
        "wt_final",
        "pweight",
        "finalwt",
    ]


def test_a_weight_beside_height_is_that_of_a_body():
    weights = RNG.integers(40, 120, 2000).tolist()
    assert kinds_of(weight=weights, age=weights)["weight"] == "weight"
    assert kinds_of(weight=weights, height=weights)["weight"] == "numbers"


def test_replicate_weights_are_numbered_weights():
    weights = {f"PWGTP{k}": RNG.integers(-5, 300, 200).tolist() for k in range(1, 9)}
    others = {f"Q{k}": RNG.integers(1, 4, 200).tolist() for k in range(1, 9)}
    found = kinds_of(**weights, **others)
    assert {found[name] for name in weights} == {"replicate weight"}
    assert {found[name] for name in others} == {"categories"}


HOUSEHOLDS = np.repeat(np.arange(800) * 3 + 1000, RNG.integers(1, 5, 800))[:1500]


@pytest.mark.parametrize("name", ["SERIALNO", "SERIAL", "hh_id", "HHID", "idhh", "householdId", "familyid"])
def test_a_key_of_households_is_known_by_name_in_any_order(name: str):
    keys = RNG.permutation(HOUSEHOLDS)
    found = kinds_of(**{name: keys, "sex": RNG.integers(1, 3, len(keys))})
    assert found == {name: "household", "sex": "categories"}


def test_a_key_of_households_under_another_name_is_known_by_its_groups():
    keys = [f"{value:07}" for value in HOUSEHOLDS]
    assert one(keys, "H").kind == "household"
    assert one(RNG.permutation(keys).tolist(), "H").kind != "household"


def test_45_persons_of_100_in_one_household_leave_it_a_household():
    keys = [1] * 45 + [k // 2 for k in range(4, 59)]
    assert one(keys, "SERIAL").kind == "household"


def test_a_name_of_households_with_few_codes_or_unique_ones_is_no_key():
    assert one([1, 2, 3] * 100, "hh").kind == "categories"
    assert one(list(range(5, 3000, 7)), "SERIALNO").kind == "identifier"


def test_of_two_keys_one_is_the_household():
    persons = len(HOUSEHOLDS)
    found = kinds_of(cluster=[k // 20 for k in range(persons)], HHID=HOUSEHOLDS.tolist())
    assert found["HHID"] == "household" and found["cluster"] != "household"


def test_names_of_questions_are_plain_and_differ():
    columns = ["Größe (cm)", "Grosse_cm", "2nd", "性别", "record", "A b", "A_b", "a b", "_x", "", "é" * 90]
    names = naming.question_names(columns)
    assert names[:4] == ["Gro_e_cm", "Grosse_cm", "Q2nd", "Q4"]
    assert len(set(names)) == len(names) and "record" not in names and names[6] == "A_b"
    found = one([1, 2] * 9, "Größe (cm)", label="How tall")
    assert (found.recipe["column"], found.recipe["label"]) == ("Größe (cm)", "How tall")


def test_odd_line_ends_in_names_and_answers_come_back_from_the_files(tmp_path: Path):
    table = Table((column("\x85", ["a\u2028b", "c"] * 9), column("", [1, 2] * 9)))
    _, questions, _ = planned(tmp_path, table)
    assert questions.columns == ["\x85", ""] and questions.questions[1].name == "Q2"


def planned(folder: Path, table: Table, **options: str) -> tuple[Dataset, QuestionSet, np.ndarray]:
    """The two files read back, and the table coded by them."""
    decisions = decide(table)
    texts = plan(table, decisions, "a/b.csv", "own", TableOptions(**options))
    for name, text in zip(("dataset", "questions"), texts, strict=True):
        (folder / name).write_text(text, encoding="utf-8")
    questions = load(folder / "questions", QuestionSet)
    asked = [d for d in decisions if d.recipe]
    made = [QuestionRecipe.model_validate(d.recipe) for d in asked]
    assert questions.questions == made
    columns = {name: table[name].words for name in questions.columns}
    codes, codebook = coding.code(columns, questions, np.random.default_rng(0))
    for question in codebook.questions:
        assert len({c.code for c in question.categories}) == len(question.categories)
    return load(folder / "dataset", Dataset), questions, codes


def test_a_plan_names_weights_household_and_what_is_left_out(tmp_path: Path):
    rows = len(HOUSEHOLDS)
    weights = {f"PWGTP{k}": RNG.integers(1, 300, rows) for k in range(1, 5)}
    columns = {
        "WGTP": weights["PWGTP1"], "PWGTP": weights["PWGTP2"], "SERIALNO": HOUSEHOLDS, **weights,
        "no: 1 #": np.arange(rows) + 7, "land": ["NO"] * rows,
        "YES": ["NO", "08", "1e5", "~", "=", "12:30"] * (rows // 6),
        "sex": RNG.integers(1, 3, rows),
    }  # fmt: skip
    table = Table(tuple(column(name, answers) for name, answers in columns.items()), ("a; file\twas read",))
    dataset, questions, codes = planned(tmp_path, table, delimiter=";")
    assert (dataset.household, dataset.weight, dataset.replicates) == ("SERIALNO", "PWGTP", "PWGTP1..4")
    assert dataset.other_columns == {"no: 1 #": "identifier", "land": "constant"}
    assert dataset.table == TableOptions(delimiter=";") and dataset.files == ["a/b.csv"]
    assert questions.columns == ["YES", "sex"] and codes.shape == (rows, 2)
    text = (tmp_path / "dataset").read_text()
    assert "# WGTP: a survey weight" in text and "# a; file was read" in text


def test_replicate_weights_may_be_numbered_with_zeros(tmp_path: Path):
    weights = {f"repwt{k:02}": RNG.integers(1, 300, 100) for k in range(1, 13)}
    columns = {**weights, "a": [1, 2] * 50, "b": [2, 1] * 50}
    table = Table(tuple(column(name, answers) for name, answers in columns.items()))
    dataset, _, _ = planned(tmp_path, table)
    assert dataset.replicate_columns == list(weights)


@pytest.mark.parametrize("rows", [1, 2, 9])
def test_a_few_rows_are_planned(tmp_path: Path, rows: int):
    table = Table(
        (column("age", [33, 54, 21, 78, 5, 62, 41, 19, 90][:rows]), column("sex", list("mfmfmfmfm")[:rows]))
    )
    _, questions, codes = planned(tmp_path, table)
    assert codes.shape == (rows, 2) and questions.columns == ["age", "sex"]


@pytest.mark.parametrize(
    "columns, said",
    [
        ({"a": [], "b": []}, "has no rows"),
        (
            {"a": [1, 2] * 9, "b": ["x"] * 18},
            r"only a can be a question.*\n  b \(constant\): the same answer",
        ),
        ({"a": [None] * 3}, r"no column can be a question.*\n  a \(all blank\)"),
    ],
)
def test_a_table_without_two_questions_is_refused(columns: dict[str, list], said: str):
    table = Table(tuple(column(name, answers) for name, answers in columns.items()))
    with pytest.raises(InputError, match=said):
        plan(table, decide(table), "own.csv", "own", TableOptions())


def test_more_categories_than_memory_bears_are_refused_by_name():
    wide = column("wide", [f"w{k % 300}" for k in range(600)])
    decisions = [d for d in decide(Table((wide,))) for _ in range(70)]
    with pytest.raises(InputError, match=r"21,000 categories.*wide \(300\)"):
        plan(Table((wide,)), decisions, "own.csv", "own", TableOptions())


def test_nist_comes_out_as_a_person_would_have_it(tmp_path: Path):
    frame = pd.read_csv(shared("data", "nist_national2019_raw.csv"), dtype=str, keep_default_na=False)
    table = Table(tuple(column(name, frame[name].tolist()) for name in frame))
    began = time.process_time()
    decisions = {d.column: d for d in decide(table)}
    assert time.process_time() - began < 10
    dataset, _, codes = planned(tmp_path, table)
    assert dataset.weight == "PWGTP" and not dataset.other_columns
    assert len(decisions["INDP"].recipe["categories"]) == 264
    assert list(decisions["POVPIP"].recipe["numbers"]["apart"]) == [0, 501]
    assert decisions["PINCP"].recipe["numbers"]["words"] == {"N": "N"}
    assert len(codes) == 27_253


ANSWERS = st.one_of(
    st.none(),
    st.integers(-20, 20).map(str),
    st.integers(0, 10**9).map(str),
    st.floats(allow_nan=False).map(str),
    st.sampled_from(
        ["01", "1.0", "NA", "null", "No", "blank", "-1", "=1", "word =1", "value 3", "nan", "~", ""]
    ),
    st.dates().map(str),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
)
COLUMNS = st.sampled_from(["id", "SERIAL", "weight", "a b", "性", "record", "Q1", "Q2", "wt1", "blank", "no"])


@settings(max_examples=30)
@given(
    rows=st.integers(1, 40),
    names=st.lists(
        COLUMNS | st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
        min_size=1, max_size=5, unique=True,
    ),
    data=st.data(),
)  # fmt: skip
def test_any_table_is_refused_with_a_sentence_or_coded_whole(tmp_path_factory, rows, names, data):
    columns = []
    for name in names:
        pool = data.draw(st.lists(ANSWERS, min_size=1, max_size=30))
        answers = data.draw(st.lists(st.sampled_from(pool), min_size=rows, max_size=rows))
        few = st.frozensets(st.sampled_from([a for a in pool if a is not None] or ["x"]), max_size=2)
        labels = dict.fromkeys(data.draw(few), "label")
        columns.append(column(name, answers, missing=data.draw(few), labels=labels))
    table = Table(tuple(columns))
    try:
        _, questions, codes = planned(tmp_path_factory.mktemp("plan"), table)
    except InputError as refused:
        assert "can be a question" in str(refused)
    else:
        assert codes.shape == (rows, len(questions.questions)) and codes.min() >= 0


def test_powers_are_no_digits():
    assert one(["²", "x²", "10²"] * 20).kind == "categories"
