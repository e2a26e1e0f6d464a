"""Records held out: households whole, the size asked for, and no trace of them in what models learn."""

import gzip
import re

import numpy as np
import pandas as pd
import pytest
from conftest import question_set, shared
from hypothesis import given
from hypothesis import strategies as st

from modp.__main__ import main
from modp.base.config import check
from modp.base.errors import InputError
from modp.pums.where import Dataset
from modp.survey import coding, holdout


def rng(seed=1):
    return np.random.default_rng(seed)


MONEY = {"name": "MONEY", "label": "money", "deciles": {"of": "known"}, "missing": "not asked"}
KIND = {"name": "KIND", "label": "kind", "categories": {1: "one", 2: "two"}}


def columns(money, kind):
    return {
        "MONEY": np.ma.masked_less(np.array(money, np.int32), 0),
        "KIND": np.ma.masked_less(np.array(kind, np.int32), 0),
    }


@given(st.lists(st.integers(0, 9), max_size=60), st.floats(0, 0.99), st.integers(0, 99))
def test_households_stay_together_and_no_more_than_the_share_is_held_out(households, share, seed):
    names = np.ma.masked_equal(np.array(households, int), 0)
    held = holdout.split(holdout.households_of(names), share, rng(seed))
    for name in set(households) - {0}:
        assert len(set(held[np.array(households) == name])) == 1
    assert held.sum() <= round(share * len(households))


def test_single_records_and_blank_households_are_held_out_one_by_one():
    assert holdout.split(np.arange(1000), 0.2, rng()).sum() == 200
    blank = holdout.households_of(np.ma.masked_all(1000, int))
    assert holdout.split(blank, 0.2, rng()).sum() == 200
    assert holdout.split(np.array([0, 0, 1, 2]), 0.0, rng()).sum() == 0


@given(st.lists(st.integers(-1, 12), max_size=60), st.booleans())
def test_households_are_numbered_as_they_appear_and_blank_ones_after_them(names, in_words):
    known = list(dict.fromkeys(name for name in names if name >= 0))
    blank = iter(range(len(known), len(known) + len(names)))
    wanted = [known.index(name) if name >= 0 else next(blank) for name in names]
    values = np.array([f"no {name}" for name in names], object) if in_words else np.array(names, np.int32)
    found = holdout.households_of(np.ma.array(values, mask=[name < 0 for name in names]))
    assert found.tolist() == wanted and found.dtype == np.int32


def test_a_household_that_does_not_fit_is_passed_over_for_the_next():
    one_large = np.r_[np.zeros(45, int), np.arange(1, 56)]
    for seed in range(20):
        assert holdout.split(one_large, 0.2, rng(seed)).sum() == 20
    nearly_all = np.r_[np.zeros(95, int), np.arange(1, 6)]
    assert holdout.split(nearly_all, 0.2, rng()).tolist() == [False] * 95 + [True] * 5


@given(st.lists(st.integers(0, 9), max_size=60), st.floats(0, 0.99), st.integers(0, 99))
def test_no_household_that_would_still_fit_is_left(households, share, seed):
    held = holdout.split(np.array(households, int), share, rng(seed))
    left = round(share * len(households)) - held.sum()
    sizes = np.bincount(np.array(households, int)[~held], minlength=1)
    assert not ((sizes > 0) & (sizes <= left)).any()


@pytest.mark.parametrize(
    ("households", "share", "said"),
    [
        ([0] * 95 + [1, 2, 3, 4, 5], 0.2, "5 records are held out instead of 20: a household stays together"),
        ([0] * 100, 0.2, "no record is held out, .*: all records are of one household"),
        ([0, 1], 0.2, "no record is held out, .*: there are too few records"),
        (list(range(100)), 0.2, ""),
        ([0] * 19 + list(range(1, 82)), 0.2, ""),
        ([0] * 100, 0.0, ""),
    ],
)
def test_a_share_that_is_missed_is_said(households, share, said):
    numbers = np.array(households)
    found = holdout.missed(numbers, share, holdout.split(numbers, share, rng()))
    assert re.match(said, found) if said else not found


def test_the_same_seed_holds_out_the_same_and_another_others():
    names = np.arange(500)
    one, same, other = (holdout.split(names, 0.3, rng(s)) for s in (1, 1, 2))
    assert (one == same).all() and (one != other).any()


@given(st.integers(0, 99), st.integers(1, 40))
def test_what_is_held_out_changes_nothing_in_the_codes_of_the_others(seed, others):
    r = rng(seed)
    money, kind = r.integers(-1, 50, 200 + others), r.integers(1, 3, 200 + others)
    order = r.permutation(200 + others)
    kept = order < 200
    mixed = columns(
        *(np.where(kept, x[np.minimum(order, 199)], 10 * x[order]) for x in (money, 1 + 0 * kind))
    )
    mixed["KIND"] = np.ma.array(kind.astype(np.int32))
    alone = {name: values[kept] for name, values in mixed.items()}
    codes, codebook = coding.code(mixed, question_set(MONEY, KIND), rng(7), None, kept)
    expected, expected_book = coding.code(alone, question_set(MONEY, KIND), rng(7))
    assert (codes[kept] == expected).all()
    assert codebook == expected_book


def test_an_answer_held_out_falls_into_the_deciles_of_the_others():
    money = [*range(10, 110, 10), 5_000, 1, 57, 1_000_000]
    kept = np.arange(len(money)) < 10
    codes, codebook = coding.code(
        columns(money, [1] * len(money)), question_set(MONEY, KIND), rng(), None, kept
    )
    assert codes[:10, 0].tolist() == list(range(1, 11))  # category 0 is "not asked"
    assert codes[10:, 0].tolist() == [10, 1, 6, 10]  # the edge between 50 and 60 is at about 55
    assert "1,000,000" not in codebook.to_json() and "5,000" not in codebook.to_json()


def test_an_unknown_answer_held_out_makes_no_category_and_is_told():
    kind = [1, 2, 7, 2, 7, 9, -1]
    kept = np.array([1, 1, 1, 1, 0, 0, 0], bool)
    raw = columns([1] * 7, kind)
    said = []
    codes, codebook = coding.code(raw, question_set(KIND, MONEY), rng(), said.append, kept)
    assert [c.code for c in codebook.questions[0].categories] == ["1", "2", "value 7"]
    assert codes[:, 0].tolist() == [0, 1, 2, 1, 2, coding.UNKNOWN, coding.UNKNOWN]
    assert len(said) == 1 and "7 (1 records)" in said[0] and "9" not in said[0]
    with pytest.raises(InputError, match=r"7 \(2 records\), 9 \(1 records\), blank \(1 records\)"):
        coding.code(raw, question_set(KIND, MONEY), rng(), None, kept)


def status(folder, dataset, *more):
    out = [str(folder / name) for name in ("records.parquet", "holdout.parquet", "codebook.json")]
    options = ["--dataset", str(dataset), "--seed", "3", "--records", out[0], "--holdout", out[1]]
    return main(["code", *options, "--codebook", out[2], *map(str, more)])


def step_refused(folder, dataset, *more):
    return status(folder, dataset, *more) == 1 and not (folder / "records.parquet").exists()


def step(folder, dataset, *more):
    """Run the step ``code`` on a CSV of households of two, and return the two tables."""
    assert status(folder, dataset, *more) == 0
    return [pd.read_parquet(folder / name) for name in ("records.parquet", "holdout.parquet")]


@pytest.fixture
def two_questions(tmp_path):
    (tmp_path / "q.yaml").write_text(
        "name: q\ntitle: q\nrecords: persons\nquestions:\n"
        "- {name: WHO, label: who, deciles: {of: known}}\n- {name: ONE, label: one, categories: {1: one}}\n"
    )
    (tmp_path / "d.yaml").write_text("title: d\nquestions: q\nfiles: [a.csv]\n")

    def csv(name, numbers):
        rows = [f"2021HU{i:07},{i},1" for i in numbers]
        (tmp_path / name).write_text("SERIALNO,WHO,ONE\n" + "\n".join(rows) + "\n")
        return tmp_path / name

    return csv


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        (range(20), "a.csv and b.csv hold the same bytes"),
        (range(19), "2021HU0000000, 2021HU0000001, 2021HU0000002 and 16 more in both"),
        ([50, 3], "SERIALNO 2021HU0000003 in both"),
    ],
)
def test_people_whom_the_models_learn_from_are_not_held_out(tmp_path, two_questions, capsys, numbers, said):
    source = ["--questions", tmp_path / "q.yaml", "--files", two_questions("a.csv", range(20))]
    held = two_questions("b.csv", numbers)
    assert step_refused(tmp_path, tmp_path / "d.yaml", *source, "--held-files", held)
    assert said in capsys.readouterr().err


def test_one_file_under_two_names_is_refused(tmp_path, two_questions, capsys):
    files = [two_questions(name, range(20)) for name in ("a.csv", "b.csv")]
    assert step_refused(tmp_path, tmp_path / "d.yaml", "--questions", tmp_path / "q.yaml", "--files", *files)
    assert "a.csv and b.csv hold the same bytes, so the same people twice" in capsys.readouterr().err


@pytest.mark.parametrize("packed", [gzip.compress, lambda content: content + b"x,1,1\n"])
def test_files_that_share_households_are_refused_with_their_names(tmp_path, two_questions, capsys, packed):
    one, other = two_questions("a.csv", range(20)), tmp_path / "b.csv"
    other.write_bytes(packed(one.read_bytes()))
    apart = two_questions("c.csv", range(20, 40))
    source = ["--questions", tmp_path / "q.yaml", "--files"]
    assert step_refused(tmp_path, tmp_path / "d.yaml", *source, one, apart, other)
    said = (
        "a.csv and {}/b.csv have households in common: SERIALNO 2021HU0000000, 2021HU0000001, 2021HU0000002"
    )
    assert f"{said.format(tmp_path)} and 17 more. Take one of these files out" in capsys.readouterr().err
    assert status(tmp_path, tmp_path / "d.yaml", *source, one, apart) == 0


def test_the_step_splits_by_serial_number_and_takes_a_data_sets_own_holdout(tmp_path, two_questions):
    rows = [f"2021HU{i // 2:07},{i},1" for i in range(100)]
    (tmp_path / "a.csv").write_text("SERIALNO,WHO,ONE\n" + "\n".join(rows) + "\n")
    (tmp_path / "b.csv").write_text("SERIALNO,WHO,ONE\n" + "\n".join(f"x{i},{i},1" for i in range(7)) + "\n")
    source = ["--questions", tmp_path / "q.yaml", "--files", tmp_path / "a.csv"]
    records, held = step(tmp_path, tmp_path / "d.yaml", *source, "--share", 0.2)
    assert (len(records), len(held)) == (80, 20)
    assert list(records.columns) == list(held.columns) == ["WHO", "ONE"]
    assert records["WHO"].value_counts().tolist() == [8] * 10
    records, held = step(tmp_path, tmp_path / "d.yaml", *source, "--held-files", tmp_path / "b.csv")
    assert (len(records), len(held)) == (100, 7)
    assert held["WHO"].unique().tolist() == ["1"]
    records, held = step(tmp_path, tmp_path / "d.yaml", *source, "--share", 0)
    assert (len(records), len(held)) == (100, 0)


def test_a_data_sets_files_to_hold_out_are_files_of_it():
    content = {"title": "d", "questions": "q", "files": ["x/a.csv"], "holdout": {"files": ["y/b.csv"]}}
    dataset = check(content, Dataset, "d")
    assert (dataset.names, dataset.held_names) == (["a.csv"], ["b.csv"])
    assert (dataset.path("a.csv"), dataset.path("b.csv")) == ("x/a.csv", "y/b.csv")
    with pytest.raises(InputError, match="two files of the same name: a.csv"):
        check({**content, "holdout": {"files": ["y/a.csv"]}}, Dataset, "d")


def test_real_households_stay_together(tmp_path):
    source = shared("data", "person_2021_ak_wv_wy.parquet")
    names = pd.read_parquet(source, columns=["SERIALNO"])["SERIALNO"].to_numpy(object)
    held = holdout.split(holdout.households_of(np.ma.array(names, mask=False)), 0.2, rng())
    assert 0.199 < held.mean() <= 0.2
    assert not set(names[held]) & set(names[~held])
