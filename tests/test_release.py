"""Synthetic codes become a table in the input's own form, in which no rare true answer stands."""

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

from modp.base import seeds
from modp.base.config import check, load
from modp.base.errors import InputError
from modp.base.output import Log
from modp.cli.selected import Selected, as_in_files, fitted_questions, selected
from modp.files.raw import raw
from modp.files.read import read
from modp.files.table import BLANK, Column, Table
from modp.files.write import write
from modp.pums.read import read as read_pums
from modp.pums.where import Dataset
from modp.release import drawing, relations, values
from modp.release.assembled import BESIDES, Released, Source, released
from modp.release.days import DaySpelling
from modp.release.ranges import holds
from modp.release.values import RARITY, Range, Spelling
from modp.survey import coding
from modp.survey.questions import QuestionSet, Relation
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


def made_of(table: Table, *questions: dict, codes=None, how="shape", seed=1, **more) -> tuple[Released, Source]:
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
        [None, "refused", 9999999, -4, *AMOUNTS[4:]] + ["refused", -4] * 5,
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
