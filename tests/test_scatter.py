"""A data set taken apart by geography: its parts run by themselves, fail by themselves, and are gathered."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from conftest import ROOT, question_set
from pydantic import ValidationError

from modp.base.config import check
from modp.base.errors import InputError
from modp.cli import apart
from modp.cli.part import parameters_of, part_of
from modp.cli.selected import selected
from modp.figures.parts import TILES
from modp.models.stationary.recipe import StationaryRecipe
from modp.pums import parts
from modp.pums.places import STATES
from modp.pums.where import Dataset
from modp.survey.weights import Weights

ANSWERS = {1: "one", 2: "two"}
QUESTIONS = question_set(*({"name": name, "label": name, "categories": ANSWERS} for name in "AB"))


def dataset_of(**more: object) -> Dataset:
    return check({"title": "t", "questions": "q", "files": ["f.csv"], **more}, Dataset, "t.yaml")


def areas(tmp_path: Path, text: str) -> list[Path]:
    (tmp_path / "f.csv").write_text(text)
    return [tmp_path / "f.csv"]


RAW = "A,B,ST,PLACE\n1,1,02,x 1\n2,2,54,x 2\n1,1,56,\n2,2,2,x 1\n"


@pytest.mark.parametrize("own", [False, True])
def test_only_keeps_the_records_with_these_answers_however_numbers_are_written(tmp_path, own):
    more: dict = {"table": {}} if own else {}
    dataset = dataset_of(only={"ST": [2, "56"], "PLACE": ["x 1"]}, **more)
    said: list[str] = []
    found = selected(areas(tmp_path, RAW), [], dataset, QUESTIONS, 0, 1, said.append)
    assert found.answers["A"].tolist() == [1, 2] and found.rows.tolist() == [0, 3]
    assert "only ST 2, 56 and PLACE x 1: 4 records in, 2 out" in said


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize(
    ("only", "why"),
    [
        ({"ST": [3]}, "'only: {ST: [3]}' leaves no record; the files have 2, 54, 56"),
        ({"STT": [2]}, "only: the files have no column 'STT'"),
    ],
)
def test_only_that_leaves_nothing_is_refused_by_name(tmp_path, only, why, own):
    dataset = dataset_of(only=only, **({"table": {}} if own else {}))
    with pytest.raises(InputError, match=re.escape(why)):
        selected(areas(tmp_path, RAW), [], dataset, QUESTIONS, 0, 1, print)


@pytest.mark.parametrize("own", [False, True])
def test_only_cuts_the_weights_with_the_records(tmp_path, own):
    files = areas(tmp_path, "A,B,ST,W\n1,1,2,10\n2,2,54,20\n1,1,2,30\n2,2,56,40\n")
    dataset = dataset_of(only={"ST": [2]}, weight="W", **({"table": {}} if own else {}))
    found = selected(files, [], dataset, QUESTIONS, 0, 1, print)
    assert (found.weights.total, found.rows.tolist()) == (40, [0, 2])


def test_parts_are_called_by_their_answers_and_states_by_their_codes(tmp_path):
    files = areas(tmp_path, RAW)

    def found(by: str) -> list[str]:
        return selected(files, [], dataset_of(scatter=by), QUESTIONS, 0, 1, print).parts.tolist()

    assert found("state") == ["ak", "wv", "wy", "ak"]
    assert found("ST") == ["2", "54", "56", "2"]
    assert found("PLACE") == ["x_1", "x_2", "blank", "x_1"]
    files = areas(tmp_path, "A,B,ST,PLACE\n1,1,AK,x/1\n2,2,WV,x:1\n")
    assert found("state") == ["ak", "wv"]
    with pytest.raises(InputError, match=r"that folders cannot tell apart: x/1, x:1"):
        found("PLACE")


def test_the_states_of_censuss_files_are_known_before_any_is_read():
    census = {"year": 2022, "records": "persons", "states": ["wy", "pr", "ak"]}
    made = {"title": "t", "questions": "stums", "census": census, "scatter": "state"}
    assert check(made, Dataset, "t").parts == ["ak", "pr", "wy"]
    national = check(made | {"census": census | {"states": ["us"]}}, Dataset, "t").parts
    assert national == sorted(state for state in STATES if state != "pr")
    assert check(made | {"scatter": "PUMA"}, Dataset, "t").parts is None


def test_every_state_has_a_tile_of_its_own():
    assert set(TILES) == set(STATES) and len(set(TILES.values())) == len(TILES)


def test_a_parts_run_has_the_rows_asked_for_and_is_drawn_to_the_nations_model():
    models = {"a": {"family": "stationary", "toward": "nation"}, "b": {"family": "blades"}}
    rows = [{"model": "a", "name": "x"}, {"model": "a", "name": "y"}, {"model": "b", "name": "z"}]
    made = parameters_of({"models": models, "rows": rows, "seed": 3}, ["a/y"], Path("results/us"))
    assert made["models"] == {"a": {"family": "stationary", "toward": "results/us/a"}}
    assert made["rows"] == [rows[1]] and made["seed"] == 3
    assert models["a"]["toward"] == "nation", "the given parameters stay as they are"
    part = part_of(dataset_of(scatter="state"), Path("results/us"), "wy")
    assert part["title"] == "t: Wyoming" and part["part"] == {"of": "results/us", "called": "wy"}


@pytest.mark.parametrize("more", [{"prior": "none", "triples": 0}, {"prior": "student"}])
def test_pooling_without_a_prior_or_with_triples_is_refused(more):
    with pytest.raises(ValidationError, match="needs a 'prior' and 'triples: 0'"):
        StationaryRecipe(toward="nation", **more)


def test_a_record_keeps_its_part_in_the_file_of_parts(tmp_path):
    train, held = np.array(["b", "a", "b"], object), np.array(["a"], object)
    apart.write(tmp_path / "parts.parquet", train, held)
    whole = apart.Whole.of(tmp_path)
    assert [rows.tolist() for rows in whole.rows("b")] == [[0, 2], []]
    assert [rows.tolist() for rows in whole.rows("a")] == [[1], [0]]


POOLED = {"family": "stationary", "most_windows": 1, "triples": 0, "prior": "student", "toward": "nation"}
POOLED["weighted"] = True
PARAMS = {
    "dataset": "towns.yaml",
    "census": {"base_url": "https://www2.census.gov/programs-surveys/acs", "downloads": "data/downloads"},
    "seed": 5,
    "seeds": 1,
    "device": "cpu",
    "holdout": 0.2,
    "attacked": ["C"],
    "instances": 1,
    "zeros": "sample",
    "models": {"pooled": POOLED, "other": POOLED},
    "rows": [{"model": model, "name": "sweeps", "sweeps": 2} for model in ("pooled", "other")],
    "figures": {},
    "scattered": {"rows": ["pooled/sweeps"]},
}
SIZES = {"north": 300, "west": 150}


@pytest.fixture(scope="module")
def towns(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a made table of two towns, its data set and its parameters."""
    folder = tmp_path_factory.mktemp("towns")
    rng = np.random.default_rng(1)
    town = np.repeat(list(SIZES), list(SIZES.values()))
    a = rng.integers(1, 4, len(town))
    b = np.where(rng.random(len(town)) < 0.6, a, rng.integers(1, 4, len(town)))
    c = np.where(rng.random(len(town)) < 0.5, b, np.where(town == "west", 1, 2))
    weight = np.where(town == "west", 7, rng.integers(1, 4, len(town)))
    frame = pd.DataFrame(
        {"TOWN": town, "A": a, "B": b, "C": c, "W": weight, "HOME": np.arange(len(town)) // 2}
    )
    frame.sample(frac=1, random_state=1).to_csv(folder / "towns.csv", index=False)
    questions = [
        {"name": name, "label": name, "categories": {k: f"answer {k}" for k in (1, 2, 3)}} for name in "ABC"
    ]
    content = {"name": "towns", "title": "towns", "records": "persons", "questions": questions}
    (folder / "questions.yaml").write_text(yaml.safe_dump(content))
    dataset = {"title": "towns", "questions": "questions.yaml", "files": ["towns.csv"], "table": {}}
    (folder / "towns.yaml").write_text(
        yaml.safe_dump(dataset | {"scatter": "TOWN", "weight": "W", "household": "HOME"})
    )
    (folder / "params.yaml").write_text(yaml.safe_dump(PARAMS))
    return folder


def snakemake(folder: Path, *arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--cores", "2"]
    return subprocess.run(
        [*command, *arguments], cwd=folder, capture_output=True, text=True, check=False, timeout=900
    )


@pytest.mark.pipeline
def test_a_scattered_run_outlives_a_part_that_fails_and_a_rerun_completes_it(towns):
    results = towns / "results/towns"
    (results / "parts").mkdir(parents=True)
    (results / "parts/west").write_text("in the way")
    first = snakemake(towns, "scattered", "--keep-going")
    assert first.returncode == 1 and "parts/west.json" in first.stdout + first.stderr
    kept = {path: path.stat().st_mtime_ns for path in (results / "parts/north").rglob("*.parquet")}
    assert kept and not (results / "parts/west.json").exists()
    (results / "parts/west").unlink()
    second = snakemake(towns, "scattered")
    assert second.returncode == 0, second.stderr
    assert {path: path.stat().st_mtime_ns for path in kept} == kept, "only what was missing is made"
    nothing = snakemake(towns, "scattered", "--dry-run")
    assert "Nothing to be done" in nothing.stdout + nothing.stderr

    codebook = json.loads((results / "codebook.json").read_text())
    table = pd.read_parquet(results / "scattered/tables/parts.parquet")
    assert table["part"].tolist() == [*SIZES, ""]
    whole = table.iloc[-1]
    true = pd.read_parquet(results / "records.parquet")
    assert whole["true_records"] == len(true) == whole["records"]
    assert table["true_records"].sum() == 2 * len(true)
    assert {"ratio_median", "population_mean_abs", "closer_to_train"} <= set(table)
    drawn = pd.read_parquet(results / "scattered/pooled/sweeps/synthetic.parquet")
    assert len(drawn) == len(true) and set(drawn["record"]) <= set(range(len(true)))
    of, seeds, design = apart.Whole.of(results), set(), pd.read_parquet(results / "weights.parquet")
    for part in SIZES:
        own = json.loads((results / f"parts/{part}/codebook.json").read_text())
        seeds.add(json.loads((results / f"parts/{part}/params.json").read_text())["seed"])
        assert own == codebook, "parts are coded alike"
        rows = of.rows(part)[0]
        pd.testing.assert_frame_equal(
            pd.read_parquet(results / f"parts/{part}/records.parquet"), true.iloc[rows].reset_index(drop=True)
        )
        weights = Weights.read(results / f"parts/{part}/weights.parquet")
        assert np.array_equal(vars(weights)["values"], design["weight"].to_numpy()[rows])
        pairs = pd.crosstab(weights.households, design["household"].to_numpy()[rows])
        assert ((pairs > 0).sum() == 1).all() and ((pairs > 0).sum(axis=1) == 1).all(), (
            "households stay whole"
        )
        of_part = drawn.loc[drawn["record"].isin(rows), "weight"]
        assert of_part.sum() == pytest.approx(weights.total), "parts' records stand for their own people"
        mine = pd.read_parquet(results / f"parts/{part}/pooled/sweeps/synthetic.parquet")
        assert set(rows[mine["record"]]) == set(drawn.loc[drawn["record"].isin(rows), "record"])
    assert len(seeds) == len(SIZES), "parts do not share their chance"
    for name in ("crosstabs", "parts"):
        assert (results / f"scattered/figures/{name}.png").stat().st_size
    assert (results / "pooled/model.safetensors").exists() and not (results / "other").exists()


@pytest.mark.pipeline
@pytest.mark.parametrize(("name", "number"), [("us-2022", 51), ("us-2022-5-year", 51)])
def test_the_nation_is_planned_state_by_state_without_a_network(name, number, tmp_path):
    shown = snakemake(ROOT, "scattered", "--dry-run", "--config", f"dataset={name}", f"results={tmp_path}")
    assert re.search(rf"^part +{number}$", shown.stdout + shown.stderr, re.MULTILINE), shown.stderr


@pytest.mark.pipeline
def test_a_data_set_that_is_not_scattered_says_so():
    shown = snakemake(ROOT, "scattered", "--dry-run")
    assert "does not say 'scatter'" in shown.stdout + shown.stderr


def test_names_of_parts_are_plain_numbers_or_the_words_that_were_given():
    assert [parts.plain(text) for text in ("02", "2.0", " 7 ", "x 1", "2.5", "-1")] == [
        "2",
        "2",
        "7",
        "x 1",
        "2.5",
        "-1",
    ]
