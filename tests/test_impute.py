"""Missing answers: what is missing, how well it is filled, and that nothing else changes."""

import argparse
import contextlib
import io
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import codebook_of, question_set

from modp import Synthesizer
from modp.base.config import check, parsed
from modp.base.errors import InputError
from modp.base.output import Log
from modp.cli import impute as command
from modp.crosstabs.cells import within_question
from modp.crosstabs.pairs import counts
from modp.files.columns import decide
from modp.files.frames import table_of
from modp.files.options import DETECTED
from modp.files.plan import plan
from modp.models.family import Work
from modp.models.stationary import imputing
from modp.models.stationary.imputing import Holes, impute
from modp.models.stationary.recipe import IN_ONE_COMMAND
from modp.release.imputed import Imputed
from modp.survey.questions import QuestionSet
from modp.survey.records import Records

QUICK = IN_ONE_COMMAND.model_copy(update={"chains": 1000, "most_windows": 1, "tolerance": 0.5})


def deleted(n: int, seed: int, asked: str) -> tuple[np.ndarray, Holes]:
    """A chain of four questions, each like the one before, with three answers; and holes in it.

    Of ``mcar`` 30 in 100 answers are missing at random; of ``mar`` some to the second, by the first.
    """
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, 3, n)]
    for _ in range(3):
        columns.append(np.where(rng.random(n) < 0.75, columns[-1], rng.integers(0, 3, n)))
    codes = np.column_stack(columns).astype(np.int16)
    gone = rng.random(codes.shape) < 0.3
    if asked == "mar":
        gone = np.zeros(codes.shape, bool)
        gone[:, 1] = rng.random(n) < np.array([0.1, 0.4, 0.7])[codes[:, 0]]
    sizes = [4] * 4
    missing = np.zeros(16, bool)
    missing[3::4] = True
    return codes, Holes(Records(np.where(gone, 3, codes).astype(np.int16), codebook_of(*sizes)), missing)


def off(codes: np.ndarray, true: np.ndarray) -> float:
    """How far pair tables are from the true ones, r.m.s. in units of sampling error."""
    starts, n = codebook_of(4, 4, 4, 4).block_starts, len(true)
    found, wanted = (counts(table, starts).astype(float) for table in (codes, true))
    cells = np.triu(~within_question(starts)) & (wanted > 0)
    error = np.sqrt(wanted * (1 - wanted / n))
    return float(np.sqrt((((found - wanted)[cells] / error[cells]) ** 2).mean()))


def most_frequent(holes: Holes) -> np.ndarray:
    filled = holes.records.codes.copy()
    for q, gone in enumerate(holes.places.T):
        filled[gone, q] = np.bincount(filled[~gone, q]).argmax()
    return filled


@pytest.mark.pipeline
@pytest.mark.parametrize("asked", ["mcar", "mar"])
def test_imputed_tables_are_within_sampling_error_and_simpler_ways_are_not(asked):
    true, holes = deleted(4000, 1, asked)
    one, two = impute(holes, 2, Work("impute", 1))
    assert np.array_equal(one[~holes.places], true[~holes.places])
    assert not holes.missing[one + holes.records.block_starts[:-1]].any()
    assert (one != two).sum() > 0.1 * holes.places.sum()
    assert off(one, true) < 1.5 and off(two, true) < 1.5
    assert off(most_frequent(holes), true) > 4
    complete = true[~holes.places.any(axis=1)]
    assert off(complete[np.resize(np.arange(len(complete)), 4000)], true) > 1.5 * off(one, true)


@pytest.mark.pipeline
def test_a_fit_to_completed_records_undoes_what_missing_categories_hide():
    true, holes = deleted(10_000, 2, "mcar")
    first, last = (next(iter(impute(holes, 1, Work("impute", 1), rounds=r))) for r in (0, imputing.ROUNDS))
    assert off(last, true) < 1.1 and off(last, true) < off(first, true)


def test_linked_answers_are_filled_together():
    # C is what A is and B: given neither, one alone could never change.
    rng = np.random.default_rng(3)
    a = rng.integers(0, 2, 4000)
    true = np.column_stack([a, a, rng.integers(0, 2, 4000)]).astype(np.int16)
    gone = np.zeros(true.shape, bool)
    gone[:, :2] = (rng.random(4000) < 0.4)[:, None]
    missing = np.array([0, 0, 1] * 3, bool)
    holes = Holes(Records(np.where(gone, 2, true).astype(np.int16), codebook_of(3, 3, 3)), missing)
    tables = [impute(holes, 2, Work("impute", seed), QUICK, 1) for seed in (1, 2, 3)]
    (one, two), *others = map(list, tables)
    filled = gone[:, 0]
    assert (one[:, 0] == one[:, 1]).all()
    # Answers that are linked change together or not at all, so that few changes make a table.
    assert abs(np.mean([table[filled, 0].mean() for table in (one, *(o for o, _ in others))]) - 0.5) < 0.06
    assert 0.2 < (one[filled, 0] != two[filled, 0]).mean() < 0.8


def survey(n: int = 800) -> pd.DataFrame:
    """Amounts of which some are missing, a question for adults alone, and a box that is ticked."""
    rng = np.random.default_rng(5)
    age = rng.integers(5, 90, n)
    works = np.where(age < 16, "", np.where((age < 65) & (rng.random(n) < 0.8), "yes", "no"))
    income = np.where(works == "yes", (rng.lognormal(10, 0.8, n) // 100 * 100).astype(int).astype(str), "0")
    frame = pd.DataFrame(
        {
            "id": [f"C{k:05d}" for k in range(n)],
            "age": age.astype(str),
            "region": rng.choice(["01", "02", "10"], n),
            "works": works,
            "income": income,
            "car": np.where(rng.random(n) < 0.4, "x", ""),
        }
    )
    frame.loc[rng.random(n) < 0.2, "income"] = ""
    frame.loc[rng.random(n) < 0.2, "region"] = ""
    return frame


def run(file: Path, *more: str) -> str:
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        command.run(parser.parse_args([str(file), *more]), Log(quiet=True))
    return said.getvalue()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A table and what the command leaves beside it and says."""
    file = tmp_path_factory.mktemp("own") / "survey.csv"
    survey().to_csv(file, index=False, lineterminator="\r\n", sep=";")
    return file, run(file, "--times", "2")


@pytest.mark.pipeline
def test_the_command_fills_what_is_missing_and_says_what_it_took_for_that(made):
    file, said = made
    assert re.search(r"^income: (19|20|21|22) % missing \(blank\)$", said, re.MULTILINE)
    assert "works: blanks are taken for an answer: all with age below 16 have one" in said
    assert "car: blanks are taken for an answer: beside them there is one answer alone" in said
    assert "no_answer: [-1]" in said and "survey.questions.yaml" in said
    assert "wrote survey.imputed-1.csv, survey.imputed-2.csv" in said
    one, two = (pd.read_csv(file.with_name(f"survey.imputed-{k}.csv"), sep=";", dtype=str) for k in (1, 2))
    true = survey()
    for filled in (one, two):
        assert not filled[["income", "region"]].isna().any().any()
        assert set(filled["region"]) == {"01", "02", "10"}
        assert set(filled["income"]) <= set(true["income"])
        assert (filled["works"].fillna("") == true["works"]).all()
    assert (one["income"] != two["income"]).sum() > 30


@pytest.mark.pipeline
def test_other_answers_are_the_same_to_the_byte(made):
    file, _ = made
    before, after = (
        path.read_bytes().split(b"\r\n") for path in (file, file.with_name("survey.imputed-1.csv"))
    )
    assert len(before) == len(after)
    for old, new in zip(before, after, strict=True):
        parts = zip(old.split(b";"), new.split(b";"), strict=True)
        assert all(one == other or not one for one, other in parts)


@pytest.mark.pipeline
def test_an_edited_question_set_says_what_is_missing(made, tmp_path):
    file = tmp_path / "survey.csv"
    file.write_bytes(made[0].read_bytes())
    for name in ("survey.dataset.yaml", "survey.questions.yaml"):
        text = made[0].with_name(name).read_text()
        text = text.replace("label: works\n", "label: works\n    no_answer: [-1]\n")
        text = text.replace("label: region\n", "label: region\n    no_answer: []\n")
        (tmp_path / name).write_text(text)
    said = run(file)
    assert "works: " in said and "works: blanks are taken" not in said and "region: " not in said
    filled = pd.read_csv(tmp_path / "survey.imputed.csv", sep=";", dtype=str)
    assert not filled["works"].isna().any() and (filled["region"].isna() == (survey()["region"] == "")).all()


def of(frame: pd.DataFrame) -> Imputed:
    table = table_of(frame)
    _, questions = plan(table, decide(table), "frame", "frame", DETECTED)
    return Imputed.of(table, check(parsed(questions), QuestionSet, "q"), "frame", 1)


def test_a_table_without_holes_is_refused_with_the_way_to_name_some():
    frame = survey()[["works", "car"]].assign(age=survey()["age"])
    with pytest.raises(InputError, match=r"no answer is missing(.|\n)*no_answer: \[-1\](.|\n)*car: blanks"):
        of(frame)


@pytest.mark.parametrize(
    ("codes", "said"),
    [
        ([7], r"names the category 7, which there is not \(it has -1, 1, 2\)"),
        ([-1, 1, 2], "leaves no category"),
    ],
)
def test_no_answer_names_categories(codes, said):
    recipe = {"name": "A", "label": "a", "missing": "blank", "categories": {1: "one", 2: "two"}}
    with pytest.raises(InputError, match=said):
        question_set({**recipe, "no_answer": codes}, {**recipe, "name": "B"})


@pytest.mark.pipeline
def test_frames_keep_their_index_types_and_answers():
    rng = np.random.default_rng(6)
    n = 600
    age = rng.integers(18, 90, n)
    frame = pd.DataFrame(
        {
            "age": age,
            "sex": pd.Categorical(rng.choice(["m", "f", "-"], n, p=[0.4, 0.4, 0.2])).remove_categories("-"),
            "pay": np.where(rng.random(n) < 0.3, np.nan, age * 100.5),
        },
        index=range(7, n + 7),
    )
    kept = frame.copy()
    one, two = Synthesizer(seed=1).impute(frame, times=2, seed=4)
    pd.testing.assert_frame_equal(frame, kept)
    for filled in (one, two):
        assert filled.dtypes.equals(frame.dtypes) and filled.index.equals(frame.index)
        assert not filled.isna().any().any()
        for name in frame:
            there = frame[name].notna()
            pd.testing.assert_series_equal(filled.loc[there, name], frame.loc[there, name])
    assert not one.equals(two)
    close = (one["pay"] - frame["age"] * 100.5).abs()[frame["pay"].isna()]
    assert close.median() < 600  # of amounts up to 9,000
