"""Synthetic codes become a table in the input's own form, in which no rare true answer stands."""

import argparse
import importlib
import json
import re
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import question_set, shared
from hypothesis import given, settings
from hypothesis import strategies as st

from modp.__main__ import main
from modp.base import seeds
from modp.base.config import check
from modp.base.errors import InputError
from modp.cli.selected import Selected, as_in_files, selected
from modp.files.raw import raw
from modp.files.table import BLANK, Column, Table
from modp.files.write import write
from modp.measures.table import RATIO, measures_of
from modp.pipeline.params import Released as ReleasedParams
from modp.pums.read import read as read_pums
from modp.pums.where import Dataset
from modp.release import stored, values
from modp.release.answers import Source
from modp.release.assembled import BESIDES, Released, released
from modp.release.days import DaySpelling
from modp.release.public import public_pools
from modp.release.ranges import holds
from modp.release.values import RARITY, Range, Spelling
from modp.summaries.interactions import interactions_table
from modp.survey import coding
from modp.survey.questions import QuestionSet
from modp.survey.records import Records

FEW = settings(max_examples=25, deadline=None)


def column(name: str, answers: list, **more) -> Column:
    texts = ["" if a is None else str(a) for a in answers]
    kinds = sorted({text for text in texts if text})
    at = {kind: k for k, kind in enumerate(kinds)}
    places = np.array([at.get(text, BLANK) for text in texts], np.int32)
    return Column(name, np.array(kinds, object), places, **more)


def dataset(**more) -> Dataset:
    return check({"title": "t", "questions": "t", "files": ["t.csv"], "table": {}, **more}, Dataset, "t.yaml")


def source_of(table: Table, questions: QuestionSet, **more) -> Source:
    codes, codebook = coding.code(raw(table, questions, "t"), questions, np.random.default_rng(1))
    return Source(Records(codes, codebook), questions, dataset(**more), table, np.arange(len(table)))


def coded_again(made: Table, source: Source) -> np.ndarray:
    """The codes of a released table; of deciles any that holds the number, the expected one if it does."""
    answers = raw(made, source.questions, "t")
    codes, _ = coding.code(answers, source.questions, np.random.default_rng(1))
    return codes


def numbers_question(name: str, *cuts, **more) -> dict:
    return {"name": name, "label": name, "numbers": {"cuts": list(cuts), **more}}


def other() -> dict:
    return {"name": "Z", "label": "Z", "categories": {1: "one", 2: "two"}}


def table_of(**answers: list) -> Table:
    n = len(next(iter(answers.values())))
    filled = {**answers, "Z": answers.get("Z", [1 + k % 2 for k in range(n)])}
    return Table(tuple(column(name, texts) for name, texts in filled.items()))


def made_of(
    table: Table, *questions: dict, codes=None, how="shape", seed=1, **more
) -> tuple[Released, Source]:
    names = [q["name"] for q in questions]
    wanted = [*questions, *([other()] if "Z" not in names else [])]
    source = source_of(table, question_set(*wanted, **more))
    return released(source.records.codes if codes is None else codes, source, seed, how), source


def texts(made: Released | Table, name: str) -> list[str]:
    table = made.table if isinstance(made, Released) else made
    return table[name].words.filled("").tolist()


RNG = np.random.default_rng(5)
AMOUNTS = np.round(RNG.lognormal(10, 1, 400)).astype(int).tolist()
DAYS = [f"{1950 + k % 40}-{1 + k % 12:02}-{1 + k % 28:02}" for k in range(400)]
GERMAN = [f"{1 + k % 28}.{1 + k % 12}.{1950 + k % 40}" for k in range(400)]
TIMES = [f"2021-03-{1 + k % 28:02} {k % 24:02}:{k % 60:02}" for k in range(400)]
KINDS = {
    "codes": ([f"{1 + k % 3}" for k in range(400)], {"categories": {1: "a", 2: "b", 3: "c"}}),
    "padded codes": ([f"{1 + k % 3:02}" for k in range(400)], {"categories": {1: "a", 2: "b", 3: "c"}}),
    "merged": (
        [20 + k % 70 for k in range(400)],
        {
            "categories": {
                1: {"label": "a", "values": "..39"},
                2: {"label": "b", "values": "40..59, 70"},
                3: {"label": "c", "values": "60..69, 71.."},
            }
        },
    ),
    "words": (
        [("yes", "no, never", "x")[k % 3] for k in range(400)],
        {"categories": {"yes": "yes", "no": {"label": "no", "values": ["no, never", "x"]}}},
    ),
    "blanks": (
        [None if k % 5 == 0 else 1 + k % 3 for k in range(400)],
        {"missing": "none", "categories": {1: "a", 2: {"label": "b", "values": "2, 3"}}},
    ),
    "merged blanks": (
        [None if k % 5 == 0 else 1 + k % 3 for k in range(400)],
        {"categories": {1: "a", 2: {"label": "b", "values": "blank, 2, 3"}}},
    ),
    "numbers": (AMOUNTS, {"numbers": {"cuts": [10000, 20000.5, 40000]}}),
    "numbers and more": (
        [None, "refused", 9999999, -4, *AMOUNTS[4:]] + ["refused", -4] * 10,
        {
            "missing": "none",
            "numbers": {
                "cuts": [10000, 30000],
                "apart": {9999999: "top", -4: "odd"},
                "words": {"refused": "refused"},
            },
        },
    ),
    "decimals": ([f"{a / 100:.2f}" for a in AMOUNTS], {"numbers": {"cuts": [100, 200.5, 400]}}),
    "days": (DAYS, {"numbers": {"dates": "iso", "cuts": ["1960-01-01", "1975-07-01"]}}),
    "German days": (GERMAN, {"numbers": {"dates": "%d.%m.%Y", "cuts": ["1960-01-01", "1975-07-01"]}}),
    "times": (TIMES, {"numbers": {"dates": "iso", "cuts": ["2021-03-05", "2021-03-20"]}}),
}


@pytest.mark.parametrize("how", ["shape", "uniform"])
@pytest.mark.parametrize("kind", KINDS)
def test_drawn_answers_are_of_the_category_that_they_were_drawn_for(kind: str, how: str):
    answers, recipe = KINDS[kind]
    table = table_of(A=answers)
    made, source = made_of(table, {"name": "A", "label": "A", **recipe}, how=how)
    again = coded_again(made.table, source)
    for q in range(2):
        assert sorted(again[:, q]) == sorted(source.records.codes[:, q])
    pairs = [sorted(map(tuple, codes.tolist())) for codes in (again, source.records.codes)]
    assert pairs[0] == pairs[1]


@FEW
@given(st.data())
def test_any_whole_numbers_come_back_in_their_category(data):
    low = data.draw(st.integers(-1000, 1000))
    answers = data.draw(
        st.lists(st.integers(low, low + data.draw(st.integers(1, 5000))), min_size=2, max_size=90)
    )
    cuts = sorted(data.draw(st.sets(st.integers(-1000, 6000), max_size=4)))
    apart = {v: f"odd {v}" for v in data.draw(st.sets(st.integers(low, low + 50), max_size=5))}
    how = data.draw(st.sampled_from(["shape", "uniform"]))
    made, source = made_of(table_of(A=answers), numbers_question("A", *cuts, apart=apart), how=how)
    again = coded_again(made.table, source)
    assert sorted(map(tuple, again.tolist())) == sorted(map(tuple, source.records.codes.tolist()))


def test_deciles_come_back_in_their_decile_or_in_one_that_shares_the_value():
    amounts = [0] * 50 + [None] * 30 + [500] * 70 + AMOUNTS
    recipe = {"name": "A", "label": "A", "missing": "none", "categories": {0: "nothing"}}
    made, source = made_of(table_of(A=amounts), {**recipe, "deciles": {"of": "positive"}})
    question = source.records.codebook.questions[0]
    answers = np.array(texts(made, "A"))
    assert (answers == "").sum() == 30
    assert (answers == "0").sum() == 50
    numbers = np.array([float(text) for text in answers if text not in ("", "0")])
    fits = np.array([holds(question, source.questions.questions[0], k, numbers) for k in range(2, 12)])
    assert fits.any(axis=0).all()
    counts = np.bincount(source.records.codes[:, 0])[2:]
    assert all(own.sum() >= count for own, count in zip(fits, counts, strict=True))


def test_deciles_of_all_give_blanks_back_in_their_share():
    amounts = [None] * 100 + AMOUNTS
    recipe = {"name": "A", "label": "A", "deciles": {"of": "all", "blank_as": 0}}
    made, _ = made_of(table_of(A=amounts), recipe)
    assert texts(made, "A").count("") == 100


def test_no_rare_true_amount_comes_back():
    rng = np.random.default_rng(3)
    amounts = np.round(rng.lognormal(10, 2, 3000), 6)
    amounts[:40] = 12345.678901
    table = table_of(A=[f"{a:.6f}" for a in amounts])
    made, _ = made_of(table, numbers_question("A", 5000, 20000, 60000))
    drawn = texts(made, "A")
    assert set(drawn) & {f"{a:.6f}" for a in amounts} == {"12345.678901"}
    assert 20 < drawn.count("12345.678901") < 70
    ends = np.array(drawn, float)
    assert amounts.min() < ends.min()
    assert ends.max() < amounts.max()


@FEW
@given(st.lists(st.integers(0, 400), min_size=12, max_size=150), st.integers(0, 99))
def test_ends_come_back_only_where_many_records_are_within_a_step(answers, seed):
    values_ = np.sort(np.array(answers, float))
    kinds, counts = np.unique(values_, return_counts=True)
    found = values.shape(kinds, counts, Range(-np.inf, np.inf), (1.0, 5.0, 10.0, 50.0, 100.0))
    rng = np.random.default_rng(seed)
    drawn = found.draw(rng.integers(0, len(found.counts), 300), rng)
    for end in (values_[0], values_[-1]):
        if end in drawn:
            assert (np.abs(values_ - end) <= 1).sum() >= RARITY
    if values_[-1] - values_[-RARITY] > 1:
        assert drawn.max() < values_[-1]


@pytest.mark.parametrize("few", [1, 2, 9])
def test_of_a_class_with_few_records_only_the_question_sets_limits_are_told(few):
    rng = np.random.default_rng(few)
    odd = np.sort(rng.integers(20_000, 99_000, few))
    amounts = [*(1000 + 10 * (k % 50) for k in range(200)), *odd.tolist()]
    source = source_of(table_of(A=amounts), question_set(numbers_question("A", 20_000, 100_000), other()))
    codes = np.tile(np.array([[1, 0]], np.int16), (500, 1))
    drawn = np.array(texts(released(codes, source, 1), "A"), float)
    assert len(np.unique(drawn)) > 400
    assert not np.isin(odd, drawn).all() or few > 2
    top = source_of(table_of(A=amounts), question_set(numbers_question("A", 20_000), other()))
    assert set(texts(released(codes, top, 1), "A")) == {"20000"}


def test_rare_words_of_a_merged_category_do_not_come_back():
    words = ["red"] * 30 + ["scarlet"] * 9 + ["blue"] * 20 + ["navy", "cyan"]
    recipe = {
        "red": {"label": "red", "values": ["red", "scarlet"]},
        "blue": {"label": "blue", "values": ["blue", "navy", "cyan"]},
    }
    made, _ = made_of(table_of(A=words), {"name": "A", "label": "A", "categories": recipe})
    assert set(texts(made, "A")) == {"red", "blue"}


def test_where_no_code_of_a_category_is_common_the_question_set_is_drawn_from():
    answers = [1] * 50 + [10, 500]
    recipe = {"categories": {1: "one", 2: {"label": "others", "values": "10..19, 500"}}}
    source = source_of(table_of(A=answers), question_set({"name": "A", "label": "A", **recipe}, other()))
    drawn = texts(released(np.tile(np.array([[1, 0]], np.int16), (300, 1)), source, 1), "A")
    assert set(drawn) == {*map(str, range(10, 20)), "500"}


def test_ages_that_the_question_set_merges_are_drawn_from_their_shape():
    ages = [20] * 100 + [80 + k % 13 for k in range(120)]
    recipe = {
        "categories": {1: {"label": "young", "values": "..79"}, 2: {"label": "old", "values": "80..99"}}
    }
    made, _ = made_of(table_of(A=ages), {"name": "A", "label": "A", **recipe})
    old = np.array([float(age) for age in texts(made, "A") if age != "20"])
    assert len(np.unique(old)) >= 8
    assert abs(old.mean() - 86) < 1
    assert old.max() < 92


@pytest.mark.parametrize(
    ("answers", "value", "text"),
    [
        (["01", "12"], 3, "03"),
        (["00120", "10000"], 3, "00003"),
        (["7", "12"], 3, "3"),
        (["1.50", "2.25"], 3, "3.00"),
        (["1.5", "2.25", "7"], 3, "3"),
        (["1.55", "2.50", "7"], 3.1, "3.10"),
        ([".5", "2.5"], 0.3, ".3"),
        (["-0012", "0300"], -4, "-0004"),
        (["1", "2"], 2.5, "2.5"),
        (["0"], 120, "120"),
    ],
)
def test_numbers_are_written_as_the_column_writes_them(answers, value, text):
    assert Spelling.of(answers).write(np.array([value])) == [text]


@pytest.mark.parametrize(
    ("form", "answers", "text"),
    [
        ("%d.%m.%Y", ["1.2.2020", "13.11.2020"], "7.3.2021"),
        ("%d.%m.%Y", ["01.02.2020"], "07.03.2021"),
        ("%d.%m.%Y %H:%M", ["1.2.2020 08:00"], "7.3.2021 06:05"),
        ("iso", ["2020-02-01"], "2021-03-07"),
        ("iso", ["2020-02-01 10:11"], "2021-03-07 06:05"),
        ("iso", ["2020-02-01T10:11:12"], "2021-03-07T06:05:00"),
        ("iso", ["2020-02-01T10:11:12.250+01:00"], "2021-03-07T06:05:00.000+01:00"),
        ("%Y%m%d", ["20200201"], "20210307"),
    ],
)
def test_dates_are_written_as_the_column_writes_them(form, answers, text):
    day = pd.Timestamp("2021-03-07").toordinal() + (6 * 60 + 5) / 1440
    assert DaySpelling.of(form, answers).write(np.array([day])) == [text]


def test_heaps_and_rounding_stay_as_they_are():
    rng = np.random.default_rng(9)
    exact = rng.lognormal(10.3, 0.8, 6000)
    step = rng.choice([1, 100, 1000], 6000, p=[0.2, 0.3, 0.5])
    amounts = (np.round(exact / step) * step).astype(int)
    made, _ = made_of(table_of(A=amounts.tolist()), numbers_question("A", 10000, 20000, 30000, 50000, 90000))
    drawn = np.array(texts(made, "A"), int)
    for multiple in (100, 1000):
        assert abs(np.mean(drawn % multiple == 0) - np.mean(amounts % multiple == 0)) < 0.03
    for share in (0.1, 0.5, 0.9):
        assert np.quantile(drawn, share) == pytest.approx(np.quantile(amounts, share), rel=0.05)


def test_relations_hold_in_every_record():
    rng = np.random.default_rng(4)
    wage, rest = rng.integers(0, 60_000, 1000), rng.integers(0, 60_000, 1000)
    total = wage + rest
    cuts = [10_000, 20_000, 30_000, 50_000, 80_000]
    questions = [numbers_question(name, *cuts) for name in "ABC"]
    codes = None
    table = table_of(A=total.tolist(), B=wage.tolist(), C=rest.tolist())
    made, source = made_of(table, *questions, codes=codes, relations=["A = B + C", "B <= A"])
    a, b, c = (np.array(texts(made, name), int) for name in "ABC")
    assert (a == b + c).all()
    assert (b <= a).all()
    again = coded_again(made.table, source)
    kept = sorted(map(tuple, again.tolist())) == sorted(map(tuple, source.records.codes.tolist()))
    assert kept
    assert made.said == []


def test_relations_of_categories_that_exclude_one_another_are_said():
    table = table_of(A=[*range(100), *range(100)], B=[*range(100, 200), *range(100, 200)])
    questions = [numbers_question(name, 50, 150) for name in "AB"]
    codes = np.tile(np.array([[1, 0, 0]], np.int16), (40, 1))  # A in 50..149, B below
    made, _ = made_of(table, *questions, codes=codes, relations=["A <= B"])
    a, b = (np.array(texts(made, name), int) for name in "AB")
    assert (a <= b).all()
    assert made.said == [
        "A: in 40 of 40 records it is not of the category that the model gave it, so that A <= B can hold"
    ]


def test_relations_hold_between_deciles_and_leave_blanks_alone():
    rng = np.random.default_rng(8)
    wage = rng.integers(1, 90_000, 600)
    total = wage + rng.integers(0, 20_000, 600)
    blank = rng.random(600) < 0.2
    answers = [None if none else int(w) for none, w in zip(blank, wage, strict=True)]
    recipe = {"missing": "none", "deciles": {"of": "known"}}
    questions = [{"name": name, "label": name, **recipe} for name in "AB"]
    table = table_of(A=answers, B=total.tolist())
    made, _ = made_of(table, *questions, relations=["A <= B"])
    a, b = (np.array([float(t or "nan") for t in texts(made, name)]) for name in "AB")
    assert not (a > b).any()
    assert np.isnan(a).sum() == blank.sum()


def test_the_order_tells_nothing_and_keys_are_new():
    n = 300
    table = Table(
        (
            column("ID", [f"{k:05}" for k in range(n)]),
            column("KEY", [f"S{k}" for k in range(n)]),
            column("A", [1 + (k >= 150) for k in range(n)]),
            column("W", [1 + k % 3 for k in range(n)]),
            column("YEAR", [2021] * n),
            column("TEXT", [f"remark {k}" for k in range(n)]),
            column("Z", [1 + k % 2 for k in range(n)]),
        )
    )
    more = {"weight": "W", "household": "KEY", "other_columns": {"ID": "identifier", "TEXT": "free text"}}
    questions = question_set({"name": "A", "label": "A", "categories": {1: "a", 2: "b"}}, other())
    source = source_of(table, questions)
    source = Source(**{**vars(source), "dataset": dataset(**more)})
    codes = np.vstack([source.records.codes, source.records.codes[:100]])
    made = released(codes, source, 1)
    assert made.table.names == table.names
    assert not set(texts(made, "ID")) & set(texts(table, "ID"))
    assert not set(texts(made, "KEY")) & set(texts(table, "KEY"))
    assert len(set(texts(made, "ID"))) == len(set(texts(made, "KEY"))) == 400
    assert sum(map(int, texts(made, "W"))) == 600
    assert set(texts(made, "YEAR")) == {"2021"}
    assert set(texts(made, "TEXT")) == {""}
    order = np.array(texts(made, "A"), int) - 1
    assert not np.array_equal(order, codes[:, 0])
    assert 60 < order[:200].sum() < 95 + 20
    assert texts(made, "A") == texts(released(codes, source, 1), "A"), "one seed, one table"
    swapped = codes[::-1].copy()
    assert texts(made, "A") != texts(released(swapped, source, 1), "A")


def census_source(
    files: list[Path], questions: QuestionSet, data: Dataset
) -> tuple[Source, Selected, object]:
    chosen = selected(files, [], data, questions, 0.2, 1, lambda _: None)
    rng = seeds.generator(1, "deciles")
    codes, codebook = coding.code(chosen.answers, questions, rng, print, chosen.kept)
    table, form, column_of = as_in_files(files, data, questions, chosen, BESIDES)
    records = Records(codes[chosen.kept], codebook)
    return Source(records, questions, data, table, chosen.rows, column_of), chosen, form


@pytest.mark.pipeline
def test_wyomings_file_comes_back_as_census_writes_it(tmp_path, stums):
    file = shared("data", "csv_pwy.zip")
    data = check({"title": "t", "questions": "stums", "files": [str(file)]}, Dataset, "t.yaml")
    source, _, form = census_source([file], stums, data)
    made = released(source.records.codes, source, 1)
    target = tmp_path / file.name
    write(target, made.table, form)
    with zipfile.ZipFile(target) as archive:
        assert archive.namelist() == ["psam_p56.csv"]
    true, drawn = (pd.read_csv(path, dtype=str, keep_default_na=False) for path in (file, target))
    assert drawn.columns.tolist() == true.columns.tolist()
    assert len(drawn) == len(source.records)
    for name in stums.columns:
        shape = {re.sub(r"[1-9]", "0", text).lstrip("-") for text in true[name]}
        padded = {len(text) for text in shape if re.match("0.", text)}
        numbers = [text.lstrip("-") for text in drawn[name] if text]
        if len(padded) == 1:
            assert min(map(len, numbers)) == min(len(text) for text in shape if text), name
        assert all(text.isdigit() for text in numbers), name
        assert (drawn[name] == "").mean() == pytest.approx((true[name] == "").mean(), abs=0.05)
    for name in ("RT", "DIVISION", "REGION", "ST", "ADJINC"):
        assert set(drawn[name]) == set(true[name])
    assert drawn["SERIALNO"].str.fullmatch(r"2021SY\d{7}").all()
    assert drawn["SERIALNO"].is_unique
    assert set(drawn["SPORDER"]) == {"01"}
    total = drawn["PWGTP"].astype(int).sum() / true["PWGTP"].astype(int).sum()
    assert total == pytest.approx(1, abs=1e-4)
    assert set(drawn["PWGTP1"]) == set(drawn["OCCP"]) == {""}
    again = read_pums([target], stums.columns)
    codes, _ = coding.code(again, stums, np.random.default_rng(1))
    for q, question in enumerate(source.records.codebook.questions):
        if question.made != "deciles":
            wanted = np.bincount(source.records.codes[:, q], minlength=len(question.categories))
            assert np.bincount(codes[:, q], minlength=len(wanted)).tolist() == wanted.tolist()
    recipes = {recipe.name: recipe for recipe in stums.questions}
    for q, question in enumerate(source.records.codebook.questions):
        if question.made == "deciles":
            values_ = again[recipes[question.name].source]
            blanks = np.ma.getmaskarray(values_).sum()
            numbers = values_.compressed().astype(float)
            for k, category in enumerate(question.categories):
                count = int((source.records.codes[:, q] == k).sum())
                found = holds(question, recipes[question.name], k, numbers).sum()
                assert found + blanks >= count, (question.name, category)


PERSONS = {
    "name": "t",
    "title": "t",
    "questions": [
        {"name": "AGEP", "label": "Age", "categories": {1: {"label": "a", "values": "0..99"}}},
        {
            "name": "JWTRNS",
            "label": "Way",
            "missing": "none",
            "categories": {1: "car", 3: "tram", 4: "train", 5: "metro"},
        },
        {"name": "WAGP", "label": "Wages", "missing": "none", "deciles": {"of": "known"}},
    ],
}


def census_file(path: Path, rows: int, factors: list[int], way: str, prefix: str) -> Path:
    rng = np.random.default_rng(len(prefix))
    frame = pd.DataFrame(
        {
            "SERIALNO": [f"{prefix}HU{k:07d}" for k in range(rows)],
            "SPORDER": "01",
            "ADJINC": [factors[k % len(factors)] for k in range(rows)],
            "PWGTP": [f"{w:05d}" for w in rng.integers(1, 200, rows)],
            "AGEP": [f"{a:02d}" for a in rng.integers(0, 99, rows)],
            way: [f"{w:02d}" if w else "" for w in rng.choice([0, 1, 3, 4, 5], rows)],
            "WAGP": [f"{w:06d}" for w in rng.integers(0, 90_000, rows) // 100 * 100],
        }
    )
    frame.to_csv(path, index=False)
    return path


def test_five_years_dollars_come_back_as_of_one_year(tmp_path):
    file = census_file(tmp_path / "psam_p56.csv", 400, [1_100_000, 1_000_000, 1_200_000], "JWTRNS", "2021")
    content = {"title": "t", "questions": "t", "files": [str(file)], "year": 2022, "span": "5-Year"}
    source, _, _ = census_source([file], check(PERSONS, QuestionSet, "q"), check(content, Dataset, "d"))
    made = released(source.records.codes, source, 1)
    assert set(texts(made, "ADJINC")) == {"1000000"}
    drawn = texts(made, "WAGP")
    assert {len(text) for text in drawn} == {6}
    assert max(map(int, drawn)) > 95_000
    assert made.what["ADJINC"] == "one, since amounts are of one year's dollars"


def test_files_of_an_older_vintage_come_back_in_its_codes_from_all_files(tmp_path):
    one = census_file(tmp_path / "one.csv", 300, [1_000_000], "JWTR", "2018")
    two = census_file(tmp_path / "two.csv", 200, [1_000_000], "JWTR", "2018x")
    frame = pd.read_csv(two, dtype=str, keep_default_na=False)
    frame.columns = [name.lower() for name in frame.columns]
    frame[frame.columns[::-1]].to_csv(two, index=False)
    data = check({"title": "t", "questions": "t", "files": [str(one), str(two)]}, Dataset, "d")
    questions = check(PERSONS, QuestionSet, "q")
    source, _, _ = census_source([one, two], questions, data)
    made = released(source.records.codes, source, 1)
    assert made.table.names == pd.read_csv(one).columns.tolist()
    assert "JWTRNS" not in made.what
    assert made.what["JWTR"] == "synthetic answers, the question JWTRNS"
    again = made.table["JWTR"].words.filled("0").astype(int)
    trams = (source.records.codes[:, 1] == 2).sum()
    assert trams == (again == 4).sum(), "JWTRNS 3 was 4 in JWTR"


STEP_QUESTIONS = {
    "name": "t",
    "title": "t",
    "questions": [
        {"name": "A", "label": "A", "numbers": {"cuts": [10, 20, 30]}},
        {"name": "B", "label": "B", "categories": {"x": "x", "y": {"label": "y", "values": ["y", "yy"]}}},
    ],
}


@pytest.fixture
def step(tmp_path):
    """Runs the step on a small table; options in which it differs are given."""
    rng = np.random.default_rng(1)
    files = {
        "people": pd.DataFrame({"ID": range(500), "A": rng.integers(0, 40, 500), "W": 3.0, "B": "x"}),
        "public": pd.DataFrame({"ID": range(200), "A": rng.choice([1, 11, 21, 31], 200), "W": 2.0, "B": "y"}),
    }
    files["people"].loc[::2, "B"] = "yy"
    files["public"].loc[::2, "B"] = "x"
    for name, frame in files.items():
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    content = {"title": "t", "questions": "t", "files": ["people.csv"], "table": {}, "weight": "W"}
    yamls = {"dataset": {**content, "other_columns": {"ID": "identifier"}}, "questions": STEP_QUESTIONS}
    for name, made in yamls.items():
        (tmp_path / f"{name}.yaml").write_text(json.dumps(made))
    data, questions = check(yamls["dataset"], Dataset, "d"), check(STEP_QUESTIONS, QuestionSet, "q")
    paths = [tmp_path / "people.csv"]
    chosen = selected(paths, [], data, questions, 0.2, 1, lambda _: None)
    codes, codebook = coding.code(chosen.answers, questions, seeds.generator(1, "deciles"), None, chosen.kept)
    kept = Records(codes[chosen.kept], codebook)
    (tmp_path / "codebook.json").write_text(codebook.to_json())
    kept.write(tmp_path / "records.parquet")
    none = {"record": np.full(len(kept), np.nan), "entropy_bits": np.full(len(kept), np.nan)}
    kept.write(tmp_path / "synthetic.parquet", none)
    unknown = {name: [np.nan, np.nan] for m in measures_of() for name in (m.key, f"{RATIO}{m.key}")}
    rows = {**unknown, "model": ["", "m"], "variant": ["", "r"], "cells": "all", "median": [0.1, 0.2]}
    for name in ("accuracy", "privacy"):
        pd.DataFrame(rows).to_parquet(tmp_path / f"{name}.parquet")
    (tmp_path / "metrics.json").write_text("{}")
    (tmp_path / "warnings.json").write_text("{}")
    found = {
        "first": "A",
        "second": "B",
        "third": "C",
        "effect": "linear",
        "z": 5.0,
        "misfit": 1.0,
        "found": True,
    }
    histories = {"m": pd.DataFrame(), "other": pd.DataFrame()}
    histories["m"].attrs["interactions"] = [
        {**found, "modelled": ""},
        {**found, "third": "D", "modelled": "table"},
    ]
    histories["other"].attrs["interactions"] = [{**found, "third": "E", "modelled": ""}]
    interactions_table(histories).to_parquet(tmp_path / "interactions.parquet")
    plain = {
        **{name: tmp_path / f"{name}.yaml" for name in ("dataset", "questions")},
        **{name: tmp_path / f"{name}.parquet" for name in ("records", "synthetic", "accuracy", "privacy")},
        "interactions": tmp_path / "interactions.parquet",
        **{name: tmp_path / f"{name}.json" for name in ("codebook", "metrics", "warnings")},
        **{"files": tmp_path / "people.csv", "share": 0.2, "seed": 1, "zeros": "sample", "name": "m"},
        **{"model": {"family": "stationary"}, "row": {"model": "m", "name": "r", "sweeps": 5}},
        "drawn": tmp_path / "values.parquet",
    }
    outs = {"values": tmp_path / "values.parquet", "release": tmp_path / "release" / "README.md"}

    def run(*flags: str, **options: object) -> int:
        """Draw answers inside their categories, then release them, unless that fails."""
        for name, out in outs.items():
            parser = argparse.ArgumentParser()
            importlib.import_module(f"modp.cli.{name}").add_arguments(parser)
            known = {word.removeprefix("--") for action in parser._actions for word in action.option_strings}
            words = [name, "--log", str(tmp_path / "log"), *(f for f in flags if f.strip("-") in known)]
            for key, value in {**plain, **options, "out": out}.items():
                if key in known:
                    words += [f"--{key}", json.dumps(value) if isinstance(value, dict) else str(value)]
            if main(words):
                return 1
        return 0

    return run


def test_the_folder_holds_the_table_and_its_page(step, tmp_path):
    assert step() == 0
    folder = tmp_path / "release"
    assert sorted(path.name for path in folder.iterdir()) == ["README.md", "people.csv"]
    made = pd.read_csv(folder / "people.csv")
    assert made.columns.tolist() == ["ID", "A", "W", "B"]
    true = pd.read_csv(tmp_path / "people.csv")
    assert made.dtypes.tolist() == true.dtypes.tolist()
    assert made["W"].sum() == pytest.approx(1500, rel=1e-3)
    assert not set(made["ID"]) & set(true["ID"])
    page = (folder / "README.md").read_text()
    for said in (
        "No row is a person",
        "measures on these records, not guarantees",
        "What it does not protect",
        "found in the true records: A × B × C (linear).",
    ):
        assert said in page


def test_what_is_released_is_what_was_drawn_and_may_be_measured(step, tmp_path):
    assert step() == 0
    drawn = stored.read(tmp_path / "values.parquet")
    made = pd.read_csv(tmp_path / "release" / "people.csv", dtype=str)
    for column in drawn.table.columns:
        assert made[column.name].fillna("").tolist() == texts(drawn, column.name)
    assert drawn.what["A"] == "synthetic answers"


@pytest.mark.parametrize(("balanced", "share"), [(False, "1"), (True, "0.25")])
def test_the_page_says_by_what_standard_errors_are_to_be_multiplied(step, tmp_path, balanced, share):
    row = {"model": "m", "name": "r", "sweeps": 5, "balanced": balanced}
    assert step(row=row) == 0
    page = (tmp_path / "release" / "README.md").read_text()
    assert f"**{np.sqrt(1 + float(share)):.2f}**, which is √(*m*/*n* + {share}) with *m* = 400" in page
    assert step(row={**row, "where": {"B": "x"}}) == 0
    page = (tmp_path / "release" / "README.md").read_text()
    assert "no error bar computed from these records knows of their synthesis" in page


@FEW
@given(st.lists(st.one_of(st.none(), st.text(min_size=1, max_size=5)), max_size=9), st.booleans())
def test_a_stored_table_is_read_as_it_was(tmp_path_factory, answers, labelled):
    told = {"label": "Ä", "labels": {"1": "one"}, "missing": frozenset({"1"}), "dtype": "integer"}
    table = Table((column("A,1", answers, **(told if labelled else {})), column("B", [None] * len(answers))))
    path = tmp_path_factory.mktemp("stored") / "values.parquet"
    stored.write(path, Released(table, {"A,1": "x", "B": "y"}, ("said",)))
    found = stored.read(path)
    assert [c.told for c in found.table.columns] == [c.told for c in table.columns]
    for one, other in zip(found.table.columns, table.columns, strict=True):
        assert one.places.tolist() == other.places.tolist()
    assert (found.what, list(found.said)) == ({"A,1": "x", "B": "y"}, ["said"])


def test_what_is_warned_of_is_released_only_on_demand(step, tmp_path):
    (tmp_path / "warnings.json").write_text(json.dumps({"m/r": ["copies people: all of them"]}))
    assert step() == 1
    assert "m/r is not released:\n  copies people: all of them" in (tmp_path / "log").read_text()
    assert not (tmp_path / "release").exists()
    assert step("--despite-warnings") == 0
    assert "**copies people: all of them**" in (tmp_path / "release" / "README.md").read_text()


def test_a_release_that_is_cut_off_leaves_nothing(step, tmp_path, monkeypatch):
    def cut(path: Path, *_: object) -> None:
        path.write_text("ID,A")
        raise KeyboardInterrupt

    monkeypatch.setattr("modp.cli.release.write", cut)
    with pytest.raises(KeyboardInterrupt):
        step()
    assert not [path for path in tmp_path.iterdir() if "release" in path.name]


def test_public_answers_are_a_public_tables(step, tmp_path):
    assert step(values="public", public=tmp_path / "public.csv") == 0
    made = pd.read_csv(tmp_path / "release" / "people.csv")
    assert set(made["A"]) == {1, 11, 21, 31}
    assert set(made["B"]) == {"x", "y"}
    assert made["W"].sum() == pytest.approx(1500, rel=1e-3)
    assert step(values="public") == 1
    assert step(public=tmp_path / "public.csv") == 1


PRIVATE = {
    "model": {"family": "private", "epsilon": 1.0, "delta": 1e-5},
    "row": {"model": "m", "name": "r"},
}


def test_of_a_model_with_a_guarantee_public_answers_are_released(step, tmp_path):
    (tmp_path / "people.csv").write_text("not to be read")
    assert step(**PRIVATE, values="public", public=tmp_path / "public.csv") == 0
    made = pd.read_csv(tmp_path / "release" / "public.csv")
    assert set(made["A"]) == {1, 11, 21, 31}
    assert made["W"].sum() == pytest.approx(400, rel=1e-3)
    page = (tmp_path / "release" / "README.md").read_text()
    assert "differential privacy holds" in page
    assert "What was measured\n" not in page
    assert " 400 true records" not in page
    public = pd.read_csv(tmp_path / "public.csv")
    public.query("A != 21").to_csv(tmp_path / "public.csv", index=False)
    assert step(**PRIVATE, values="public", public=tmp_path / "public.csv") == 0
    made = pd.read_csv(tmp_path / "release" / "public.csv")
    assert set(made["A"]) == {1, 11, 31, *range(20, 30)}
    public.query("A != 31").to_csv(tmp_path / "public.csv", index=False)
    assert step(**PRIVATE, values="public", public=tmp_path / "public.csv") == 1
    assert "A: '30 or more' has an open end" in (tmp_path / "log").read_text()


def bounded_questions(folder: Path) -> None:
    first, *others = STEP_QUESTIONS["questions"]
    questions = [{**first, "bounds": [0, 39]}, *others]
    (folder / "questions.yaml").write_text(json.dumps({**STEP_QUESTIONS, "questions": questions}))


def test_of_a_model_with_a_guarantee_answers_inside_the_question_set_s_bounds_are_released(step, tmp_path):
    assert step(**PRIVATE) == 1
    assert (
        "A: 'under 10' has an open end; state 'bounds: [LEAST, GREATEST]'" in (tmp_path / "log").read_text()
    )
    assert not (tmp_path / "values.parquet").exists()
    bounded_questions(tmp_path)
    warned = {"m/r": ["copies people: 12.3 % of them"], "every table": ["made of 87 records"]}
    (tmp_path / "warnings.json").write_text(json.dumps(warned))
    assert step("--despite-warnings", **PRIVATE) == 0
    folder = tmp_path / "release"
    assert sorted(path.name for path in folder.iterdir()) == ["README.md", "dataset.csv"]
    made = pd.read_csv(folder / "dataset.csv")
    assert made.columns.tolist() == ["A", "B"]
    assert made["A"].between(0, 39).all() and set(made["B"]) == {"x", "y", "yy"}
    page = (folder / "README.md").read_text()
    assert "drawn evenly among those that the question set states" in page
    assert not re.search(r"12\.3|87| 400 true|What was measured\n", page)


@pytest.mark.parametrize("spoilt", ["moved", "odd", "gone"])
def test_a_guarantee_s_release_does_not_change_with_the_values_inside_classes(step, tmp_path, spoilt):
    bounded_questions(tmp_path)
    assert step(**PRIVATE) == 0
    before = {path.name: path.read_bytes() for path in (tmp_path / "release").iterdir()}
    people = pd.read_csv(tmp_path / "people.csv")
    if spoilt == "moved":  # every number elsewhere in its class, every word another of its category
        people["A"] = people["A"] // 10 * 10 + (people["A"] + 3) % 10
        people["B"] = people["B"].replace("yy", "y")
    elif spoilt == "odd":  # one record alone has decimals, words are padded, and there are other columns
        people["A"] = people["A"].astype(float).astype(str)
        people.loc[7, "A"] = "10.123456"
        people.insert(0, "Secret", "one for all")
    people.to_csv(tmp_path / "people.csv", index=False, sep=";", encoding="utf-16")
    if spoilt == "gone":
        (tmp_path / "people.csv").unlink()
    assert step(**PRIVATE) == 0
    assert {path.name: path.read_bytes() for path in (tmp_path / "release").iterdir()} == before


def test_a_public_table_of_deciles_and_blanks_is_told_by_category():
    true = table_of(A=[None] * 50 + AMOUNTS, B=[None if k % 3 else f"{k % 4}" for k in range(450)])
    recipes = [
        {"name": "A", "label": "A", "missing": "none", "deciles": {"of": "known"}},
        {"name": "B", "label": "B", "categories": {0: "zero", 1: {"label": "more", "values": "blank, 1..3"}}},
    ]
    source = source_of(true, question_set(*recipes, other()))
    public = table_of(A=[None, 1, *sorted(AMOUNTS)[::7], 10**7], B=[None, *("0123" * 15)][: 2 + 58 + 1])
    answers = raw(public, source.questions, "t")
    rows = np.arange(len(public))
    pools = public_pools(public, rows, answers, source.questions, source.records.codebook, {})
    assert pools["A"][0].texts == ("",)
    assert "1" in pools["A"][1].texts
    assert "10000000" in pools["A"][10].texts
    assert sum(len(pool.texts) for pool in pools["A"]) >= len({*texts(public, "A")})
    assert pools["B"][0].texts == ("0",)
    assert set(pools["B"][1].texts) == {"", "1", "2", "3"}


def test_params_name_a_public_table_where_values_are_public():
    assert check({"values": "public", "public": "a.csv"}, ReleasedParams, "p").public == "a.csv"
    for content in ({"values": "public"}, {"public": "a.csv"}):
        with pytest.raises(InputError, match="go together"):
            check(content, ReleasedParams, "p")


def test_that_blanks_share_a_category_with_other_answers_is_said():
    answers, recipe = KINDS["merged blanks"]
    made, _ = made_of(table_of(A=answers), {"name": "A", "label": "A", **recipe}, how="uniform")
    assert len(made.said) == 1 and made.said[0].startswith("A: its category b is of blanks and of other")
    answers, recipe = KINDS["blanks"]
    assert not made_of(table_of(A=answers), {"name": "A", "label": "A", **recipe}, how="uniform")[0].said


@pytest.mark.parametrize(
    "wanted",
    [["A <= B"], ["A = B + C"], ["A = B + C", "B <= A"], ["B <= C", "C <= A"]],
)
@pytest.mark.parametrize("seed", range(6))
def test_relations_hold_among_answers_that_know_nothing_of_one_another(wanted, seed):
    rng = np.random.default_rng(seed)
    cuts = np.sort(rng.choice(np.arange(10, 150), seed % 4, replace=False)).tolist()
    answers = {name: [None, *rng.integers(0, 200, 80).tolist()] for name in "ABC"}
    recipes = [{**numbers_question(name, *cuts), "missing": "none"} for name in "ABC"]
    source = source_of(table_of(**answers), question_set(*recipes, other(), relations=wanted))
    codes = np.column_stack([rng.permutation(own) for own in source.records.codes.T])
    made = released(codes, source, 1)
    a, b, c = (np.array([float(t or "nan") for t in texts(made, name)]) for name in "ABC")
    assert not any("do not hold together" in line for line in made.said)
    if "A <= B" in wanted:
        assert not (a > b).any()
    if "A = B + C" in wanted:
        known = np.isfinite(a) & (np.isfinite(b) | np.isfinite(c))
        assert (a == np.nansum([b, c], axis=0))[known].all()
    if "B <= A" in wanted:
        assert not (b > a).any()
    if "B <= C" in wanted:
        assert not (b > c).any()
        assert not (c > a).any()


def test_words_that_few_people_gave_do_not_come_back():
    answers = ["common"] * 60 + ["usual"] * 30 + ["SECRET ILLNESS"] + ["odd job"] * 9 + ["7"] * 3
    listed = {word: word for word in ("common", "usual", "SECRET ILLNESS", "odd job", "7")}
    made, _ = made_of(table_of(A=answers), {"name": "A", "label": "A", "categories": listed}, how="shape")
    given = made.table["A"].words
    assert sorted(set(given.compressed())) == ["7", "common", "usual"]
    assert np.ma.getmaskarray(given).sum() == 10


def test_records_with_weights_of_their_own_bring_them_into_the_input_s_column():
    table = table_of(A=AMOUNTS, W=[5 + k % 3 for k in range(400)])
    source = source_of(table, question_set(numbers_question("A", 10_000, 30_000), other()), weight="W")
    weights = np.linspace(0.3, 9.4, 400)
    made = released(source.records.codes, source, 1, weights=weights)
    found = np.array([int(text) for text in texts(made, "W")])
    assert abs(found.sum() - weights.sum()) < 1
    assert sorted(np.abs(np.sort(found) - weights))[-1] < 1.01
    assert "own weight" in made.what["W"]


@pytest.mark.parametrize(("weighted", "said"), [(True, "counts, weighted"), (False, "counts, unweighted")])
def test_equal_weights_say_which_counts_the_records_follow(weighted, said):
    table = table_of(A=AMOUNTS, W=[5 + k % 3 for k in range(400)])
    source = source_of(table, question_set(numbers_question("A", 10_000, 30_000), other()), weight="W")
    made = released(source.records.codes, source, 1, weighted=weighted)
    assert said in made.what["W"] and len(set(texts(made, "W"))) <= 2
