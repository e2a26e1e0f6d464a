"""What programs use: the page that shows it runs, and it returns what the pipeline writes."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT, codebook_of, codes_of

import modp
from modp.__main__ import main
from modp.base.config import read_yaml
from modp.base.errors import InputError
from modp.face import Blades, Private, Records, Stationary, Synthetic, compare
from modp.models.blades.recipe import BladesRecipe
from modp.survey.codebook import Codebook

SEED = 7
STAGES = [{"loss": "mean_square", "epochs": 1, "learning_rate": 0.01}]


def people(n: int, seed: int) -> Records:
    """Records in which the second answer is mostly the first."""
    rng = np.random.default_rng(seed)
    codes = codes_of((3, 3, 4), n, rng)
    codes[:, 1] = np.where(rng.random(n) < 0.8, codes[:, 0], codes[:, 1])
    return Records(codes, codebook_of(3, 3, 4))


@pytest.fixture(scope="module")
def records() -> Records:
    return people(600, 1)


@pytest.fixture(scope="module")
def others() -> Records:
    """Held out from the models."""
    return people(200, 2)


@pytest.fixture(scope="module")
def model(records: Records) -> Stationary:
    return Stationary.fit(records, seed=SEED, tolerance=0.5, most_windows=1)


@pytest.mark.pipeline
def test_the_page_runs(tmp_path, monkeypatch, capsys):
    (tmp_path / "data").symlink_to(ROOT / "data")
    monkeypatch.chdir(tmp_path)
    said: dict = {}
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs/python.md").read_text(), re.DOTALL)
    for block in blocks:
        exec(block, said)
    assert len(blocks) == 6 and capsys.readouterr().out.count("bootstrap") == 2
    assert said["released"].shape == said["people"].shape
    assert list(said["released"]["AGEP"].cat.categories) == said["ages"]
    accuracy = said["accuracy"].query("cells == 'all'").set_index("variant")
    assert accuracy["ratio_median"]["fresh"] < 2 < accuracy["ratio_median"]["plain"]
    assert len(Records.read("synthetic.parquet", said["codebook"])) == 1000


@pytest.mark.pipeline
def test_the_page_on_intervals_runs(monkeypatch):
    monkeypatch.chdir(ROOT)
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/intervals.md").read_text(), re.DOTALL)
    exec(block, {})


@pytest.fixture(scope="module")
def written(records: Records, others: Records, tmp_path_factory) -> Path:
    """What the pipeline's steps write: a stationary model, one of blades, a row of each, their accuracy."""
    at = tmp_path_factory.mktemp("results")
    records.write(at / "records.parquet")
    others.write(at / "holdout.parquet")
    (at / "codebook.json").write_text(records.codebook.to_json())

    def step(called: str, /, *more: object, **options: object) -> None:
        given = [word for key, value in options.items() for word in (f"--{key.replace('_', '-')}", value)]
        coded = ["--records", at / "records.parquet", "--codebook", at / "codebook.json", "--seed", SEED]
        assert main([str(word) for word in (called, *coded, *given, *more)]) == 0

    ends = {"bootstrap": at / "bootstrap.parquet", "marginals": at / "marginals.parquet"}
    step("bootstrap", **ends)
    recipes = {
        "stationary": {"family": "stationary", "tolerance": 0.5, "most_windows": 1},
        "model_2_3": {"family": "blades", "blades": 2, "reduced": 3, "stages": STAGES},
    }
    for name, recipe in recipes.items():
        files = {"weights": at / f"{name}.safetensors", "history": at / "h.parquet", "plot": at / "h.csv"}
        step("fit", name=name, model=json.dumps(recipe), device="cpu", **files)
    instances = [at / f"instance_{number}.parquet" for number in (1, 2)]
    weights = {
        name: {"family": r["family"], "weights": at / f"{name}.safetensors"} for name, r in recipes.items()
    }
    step(
        "instances", "--out", *instances, name="model_2_3", gates=at / "gates.parquet", **weights["model_2_3"]
    )
    rows = {
        "stationary/sweeps-3": ({"sweeps": 3}, []),
        "model_2_3/chosen": ({"instances": 2, "threshold": 0.5, "remove_zeros": True}, instances),
    }
    for row, (keys, drawn) in rows.items():
        name, _, variant = row.partition("/")
        asked = json.dumps({"model": name, "name": variant, **keys})
        target = at / f"{row}.parquet"
        step("draw", "--instances", *drawn, name=row, row=asked, device="cpu", out=target, **weights[name])
    files: dict[str, list[Path]] = {"cells": [], "summary": [], "attack": [], "crowds": []}
    for row in ("bootstrap", *rows, "marginals"):
        out = {kind: at / "measures" / f"{row}.{kind}" for kind in ("cells", "summary", "attack")}
        more = {"crowds": at / "measures" / f"{row}.crowds"} if row in rows else {}
        unread = {"triples": at / "triples.parquet", "roc": at / "roc.parquet"}
        tables = {"holdout": at / "holdout.parquet", "synthetic": at / f"{row}.parquet"}
        step("measure", row=row, zeros="sample", **tables, **out, **more, **unread)
        for kind, path in (out | more).items():
            files[kind] += [path] if kind == "attack" or row != "marginals" else []
    run = json.dumps({"paper_notebook": False, "zeros": "sample", "rows": []})
    places = {"parameters": at / "p.json", "metrics": at / "metrics.json", "plot": at / "accuracy.csv"}
    places["warnings"] = at / "warnings.json"
    known = {
        "published": ROOT / "workflow/published/accuracy.yaml",
        "dataset": ROOT / "workflow/datasets/sample.yaml",
    }
    each = ["--rows", "bootstrap", *rows, "--cells", *files["cells"], "--summaries", *files["summary"]]
    each += ["--privacy", *files["crowds"], "--attacks", *files["attack"]]
    step("tables", *each, folder=at / "tables", run=run, **places, **known)
    return at


@pytest.mark.pipeline
def test_models_samples_and_accuracy_are_those_of_the_pipeline(records, others, model, written, tmp_path):
    blades = Blades.fit(records, blades=2, reduced=3, stages=STAGES, seed=SEED)
    for name, fitted in {"stationary": model, "model_2_3": blades}.items():
        fitted.save(tmp_path / "model")
        assert (tmp_path / "model").read_bytes() == (written / f"{name}.safetensors").read_bytes()
    treated = {"instances": 2, "threshold": 0.5, "remove_zeros": True}
    tables = {
        "stationary/sweeps-3": model.sample(records, sweeps=3, seed=SEED),
        "model_2_3/chosen": blades.sample(records, name="chosen", seed=SEED, **treated),
    }
    for row, table in tables.items():
        assert (
            table.codes.tolist() == Records.read(written / f"{row}.parquet", records.codebook).codes.tolist()
        )
    found = compare(records, tables, seed=SEED, holdout=others)
    expected = pd.read_parquet(written / "tables/accuracy.parquet")
    published = [column for column in expected if column.startswith("published_")]
    pd.testing.assert_frame_equal(found, expected.drop(columns=published), check_exact=True)
    near = [column for column in found if column.startswith("population_")]
    assert len(near) == 6 and found[near].notna().all(axis=None)
    alone = compare(records, tables, seed=SEED)
    assert alone[near].isna().all(axis=None)
    pd.testing.assert_frame_equal(alone.drop(columns=near), found.drop(columns=near), check_exact=True)


def test_samples_begin_at_true_records_or_at_none(records, model):
    swept, fresh = model.sample(records[:50], sweeps=2), model.sample(records[:50], sweeps=2, start="fresh")
    assert swept.record.tolist() == list(range(50)) and fresh.record.mask.all() and len(fresh) == 50
    assert len(model.sample()) == 600 and len(model.sample(n=9)) == 9
    with pytest.raises(InputError, match="leave 'start' out"):
        model.sample(start="records")
    assert len(model.sample(records[:50], n=7)) == 7
    more = model.sample(records[:50], n=70)
    assert sorted(set(more.record.tolist())) == list(range(50)) and len(more) == 70


@pytest.mark.pipeline
def test_a_private_model_releases_one_table(records, tmp_path):
    private = Private.fit(records, epsilon=5.0, noise="seeded", seed=SEED)
    released = private.sample()
    assert isinstance(released, Synthetic) and released.record.mask.all()
    private.save(tmp_path / "model")
    again = Private.load(tmp_path / "model", records.codebook)
    assert again.sample().codes.tolist() == released.codes.tolist()
    assert Private.fit(records).sample().codes.tolist() != Private.fit(records).sample().codes.tolist()


def test_a_loaded_model_samples_and_predicts_the_same(records, model, tmp_path):
    model.save(tmp_path / "model")
    again = Stationary.load(str(tmp_path / "model"), records.codebook)
    assert again.sample(n=20).codes.tolist() == model.sample(n=20).codes.tolist()
    found = again.predict(records[:5])
    assert found.tolist() == model.predict(records[:5]).tolist()
    assert np.add.reduceat(found, [0, 3, 6], axis=1) == pytest.approx(1)
    with pytest.raises(InputError, match="say how many"):
        again.sample()
    with pytest.raises(InputError, match="other questions or categories"):
        Stationary.load(tmp_path / "model", codebook_of(3, 3))
    other = Records(np.zeros((4, 2), np.int16), codebook_of(3, 3))
    held = [lambda table: compare(records, table), lambda table: compare(records, records, holdout=table)]
    for refused in (model.predict, model.sample, *held):
        with pytest.raises(InputError, match="other questions or categories"):
            refused(other)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (lambda r, m: Stationary.fit(r, tolerence=0.1), "did you mean 'tolerance'"),
        (lambda r, m: Blades.fit(r, stages=[{"loss": "zz"}]), r"stages\.0\.epochs: this key is missing"),
        (
            lambda r, m: Private.fit(r, epsilon=-1.0),
            "epsilon: Input should be greater than or equal to 0.001",
        ),
        (lambda r, m: m.sample(r, sweeps=0), "sweeps: Input should be greater"),
        (lambda r, m: m.sample(r, start="frsh"), "'records' or 'fresh'"),
        (lambda r, m: Stationary.fit(r, zeros="smaple"), "zeros is sample or likely or stated"),
        (lambda r, m: compare(r, r, zeros="stated"), "needs rules"),
    ],
)
def test_what_cannot_be_used_is_refused_with_a_sentence(asked, said, records, model):
    with pytest.raises(InputError, match=said):
        asked(records, model)


def test_nothing_is_printed_unless_asked_for(records, capfd):
    Stationary.fit(records, tolerance=0.5, most_windows=1).sample(records, sweeps=1)
    blades = Blades.fit(records, stages=STAGES)
    blades.sample(records, remove_zeros=True)
    assert capfd.readouterr() == ("", "")
    Blades.fit(records, stages=STAGES, progress=True)
    blades.sample(records, remove_zeros=True, progress=True)
    told = capfd.readouterr().err
    assert "model_5_15: trained on cpu" in told and "held a structural zero" in told


def test_torch_keeps_its_threads(records):
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        Blades.fit(records, stages=STAGES, threads=1).sample(records)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_default_stages_are_those_of_the_parameters():
    said = read_yaml(ROOT / "params.yaml")["models"]["model_5_15"]
    assert BladesRecipe(blades=5, reduced=15) == BladesRecipe.model_validate(said)


FRAME = pd.DataFrame(
    {
        "sex": ["m", "f", "f"],
        "age": pd.Categorical(["young", "old", "old"], ["young", "middle", "old"]),
        "rooms": [2, 10, 2],
    }
)


def test_records_come_from_frames_and_go_back():
    records = Records.from_frame(FRAME)
    assert records.codebook.columns == [
        *("sex=f", "sex=m"),
        *("age=young", "age=middle", "age=old"),
        *("rooms=2", "rooms=10"),
    ]
    assert records.codes.tolist() == [[1, 0, 0], [0, 2, 1], [0, 2, 0]]
    back = records.to_frame()
    assert back.astype(str).equals(FRAME.astype(str))
    assert Records.from_frame(back).codebook.digest == records.codebook.digest
    # The codebook says which columns are taken, and in which order.
    mixed = FRAME[["rooms", "sex", "age"]].assign(more=0.5)
    assert Records.from_frame(mixed, records.codebook).codes.tolist() == records.codes.tolist()


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ({"sex": ["m", None, "f"]}, r"sex is blank in 1 records.*frame\['sex'\].fillna"),
        ({"rooms": [1.5, 2.0, 3.0]}, "rooms holds fractions"),
        ({"mixed": pd.Series([1, "1", 2], dtype=object)}, "mixed has values written alike"),
        ({3: [1, 2, 3]}, r"need names, all different; found \[3\]"),
    ],
)
def test_what_is_no_question_is_refused(column, said):
    with pytest.raises(InputError, match=said):
        Records.from_frame(
            FRAME.assign(**column) if all(isinstance(c, str) for c in column) else pd.DataFrame(column)
        )


def test_identifiers_are_refused():
    with pytest.raises(InputError, match="1,001 values; is it an identifier"):
        Records.from_frame(pd.DataFrame({"id": range(1001)}))


def test_frames_that_a_codebook_does_not_know_are_refused():
    known: Codebook = Records.from_frame(FRAME).codebook
    with pytest.raises(InputError, match="no column sex; did you mean 'sexe'"):
        Records.from_frame(FRAME.rename(columns={"sex": "sexe"}), known)
    with pytest.raises(InputError, match=r"sex has the categories \['x'\], which the codebook"):
        Records.from_frame(FRAME.assign(sex="x"), known)


@pytest.mark.pipeline
def test_the_package_is_imported_without_what_it_needs():
    program = "import sys, modp; print(sorted({'numpy', 'pandas', 'torch', 'typing'} & set(sys.modules)))"
    program += "; assert set(modp.__all__) <= set(dir(modp)) and modp.Records; print('numpy' in sys.modules)"
    command = [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}; {program}"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said.split("\n")[:2] == ["[]", "True"]
    with pytest.raises(AttributeError, match="no attribute 'Stationry'"):
        _ = modp.Stationry


@pytest.mark.pipeline
def test_a_model_of_few_records_is_drawn_toward_one_of_many(records):
    few = people(80, 4)
    settings = {"seed": SEED, "tolerance": 0.5, "most_windows": 1, "triples": 0, "prior": "student"}
    many = Stationary.fit(records, **settings)
    alone, pooled = (Stationary.fit(few, toward=toward, **settings) for toward in (None, many))
    near, far = (np.abs(model.model.w - many.model.w).mean() for model in (pooled, alone))
    assert near < 0.7 * far
    with pytest.raises(InputError, match="was fitted to other questions"):
        Stationary.fit(Records(few.codes[:, :2], codebook_of(3, 3)), toward=many)
