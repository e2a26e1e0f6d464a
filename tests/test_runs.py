"""Runs of the pipeline on other data, settings and surroundings than the embedded sample's."""

import json
import time
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import yaml
from conftest import ROOT, shared
from test_pipeline import LIGHT, SMALL, run, workspace, write_params


def weigh(sample: Path) -> None:
    """Give the persons unequal weights; the sample's own are all alike."""
    people = pd.read_csv(sample, dtype=str)
    people["PWGTP"] = np.random.default_rng(17).integers(20, 200, len(people)).astype(str)
    with zipfile.ZipFile(sample) as archive:
        (name,) = archive.namelist()
    people.to_csv(sample, index=False, compression={"method": "zip", "archive_name": name})


def test_a_faulty_configuration_is_refused_before_any_job(tmp_path):
    broken = json.loads(json.dumps(SMALL))
    broken["rows"][1]["model"] = "model_2_33"
    folder = workspace(tmp_path, broken)
    printed = run(folder, "snakemake", "--cores", "2", check=False)
    assert "no model 'model_2_33' is defined under 'models'; did you mean 'model_2_3'?" in printed
    assert "Traceback" not in printed
    assert not (folder / "data/raw/sample").exists()
    write_params(folder, SMALL)
    printed = run(folder, "snakemake", "--cores", "2", "--config", "dataset=smaple", check=False)
    assert "did you mean 'sample'?" in printed


def test_without_network_texas_fails_in_seconds_and_says_what_to_do(tmp_path):
    folder = workspace(tmp_path)
    nowhere = "http://127.0.0.1:9"
    began = time.monotonic()
    printed = run(
        folder, "snakemake", "--cores", "2", "--config", "dataset=stums", check=False, HTTPS_PROXY=nowhere
    )
    assert time.monotonic() - began < 30
    assert "https://www2.census.gov/programs-surveys/acs/data/pums/2022/1-Year/csv_ptx.zip" in printed
    assert "reason: no connection to the server" in printed
    assert "data/downloads/2022-1-Year/csv_ptx.zip" in printed


@pytest.mark.parametrize(
    ("dataset", "source", "records", "held", "wanted"),
    [
        # The page of such records, of the same questions, is drawn of the sample.
        ("wy-2021", "csv_pwy.zip", 4689, 1172, ["figures/fig06_pair.png", "metrics.json"]),
        ("nist-2019", "nist_national2019_train.parquet", 21_802, 5451, ["records.parquet"]),
    ],
)
def test_real_files_run_with_nothing_but_a_dataset_yaml(tmp_path, dataset, source, records, held, wanted):
    shared("data", source)
    params = LIGHT | {
        "models": {name: model for name, model in LIGHT["models"].items() if name != "noisy"},
        "rows": [row for row in LIGHT["rows"] if row["name"] not in ("released", "zeros-removed")],
    }
    folder = workspace(tmp_path / "project", params)
    (tmp_path / "shared").symlink_to(ROOT / ".." / "shared")
    yaml_file = f"dataset=tests/datasets/{dataset}.yaml"
    targets = [f"results/{dataset}/{file}" for file in wanted]
    run(folder, "snakemake", "--cores", "2", "--config", yaml_file, "--", *targets)
    results = folder / "results" / dataset
    assert pq.read_metadata(results / "records.parquet").num_rows == records
    assert pq.read_metadata(results / "holdout.parquet").num_rows == held
    if "metrics.json" in wanted:
        assert (results / "figures/fig06_pair.png").exists()
        assert "model_2_3" in json.loads((results / "metrics.json").read_text())["accuracy"]


def test_nine_records_with_a_lone_category_an_all_blank_question_and_no_holdout_run_to_the_end(tmp_path):
    folder = workspace(tmp_path, LIGHT)
    yes_no = {"missing": "not asked", "categories": {1: "yes", 2: "no"}}
    questions = [
        {"name": "CIT", "label": "the same for all", "categories": {1: "born here"}},
        {"name": "FER", "label": "asked of nobody", **yes_no},
        {"name": "RARE", "label": "one record has it", "categories": {1: "common", 2: "rare"}},
        {"name": "AGEP", "label": "Age", "deciles": {"of": "known"}, "missing": "not asked"},
    ]
    content = {"name": "tiny", "title": "tiny", "records": "persons", "questions": questions}
    (folder / "tiny.csv").write_text(
        "CIT,FER,RARE,AGEP\n" + "".join(f"1,,{1 + (i == 4)},{20 + i}\n" for i in range(9))
    )
    (folder / "workflow/questions/tiny.yaml").write_text(yaml.safe_dump(content))
    (folder / "tiny.yaml").write_text("title: tiny\nquestions: tiny\nfiles: [tiny.csv]\n")
    run(folder, "snakemake", "--cores", "2", "--config", "dataset=tiny.yaml", "holdout=0")
    results = folder / "results/tiny"
    assert (results / "figures/accuracy.png").exists()
    assert (results / "figures/fig06_pair.pdf").exists()
    cells = pd.read_parquet(results / "measures/bootstrap/cells.parquet")
    assert len(cells) == 17 * 18 // 2


def test_weights_and_several_releases_run_to_a_folder_that_may_leave_the_house(tmp_path):
    params = LIGHT | {
        "releases": 2,
        "models": {
            "pairs": {"family": "stationary", "most_windows": 1, "triples": 0},
            "weighted": {"family": "stationary", "most_windows": 1, "triples": 0, "weighted": True},
            "noisy": LIGHT["models"]["noisy"],
        },
        "rows": [
            {"model": "pairs", "name": "calibrated", "sweeps": 5, "calibrate": ["SEX", "AGEP"]},
            {"model": "weighted", "name": "few", "sweeps": 20, "size": 500},
            {"model": "noisy", "name": "released"},
        ],
        "figures": {},
        "release": {"rows": ["pairs/calibrated"], "despite_warnings": ["pairs/calibrated"]},
    }
    del params["answers_by_blade"]
    folder = workspace(tmp_path, params)
    weigh(folder / "data/sample/sample_csv_p.zip")
    about = {"title": "weights", "questions": "stums", "files": ["data/sample/sample_csv_p.zip"]}
    about |= {"weight": "PWGTP", "weight_question": True}
    (folder / "w.yaml").write_text(yaml.safe_dump(about))
    run(folder, "python", "-m", "modp", "stages")
    wanted = ["tables/releases.md", "pairs/card.md", "weighted/card.md", "pairs/calibrated/release/README.md"]
    targets = [f"results/w/{file}" for file in wanted]
    run(folder, "snakemake", "--cores", "2", "--config", "dataset=w.yaml", "--", *targets)
    results = folder / "results/w"
    table = pd.read_parquet(results / "tables/releases.parquet")
    assert set(table["releases"]) == {1, 2} and set(table["model"]) == {"bootstrap", "pairs", "weighted"}
    assert "1 table | 2 tables | gain" in (results / "tables/releases.md").read_text()
    assert "raked to the true weighted totals of: SEX, AGEP" in (results / "pairs/card.md").read_text()
    assert "weighted by the survey weights" in (results / "weighted/card.md").read_text()
    true, weights = (pd.read_parquet(results / f"{name}.parquet") for name in ("records", "weights"))
    drawn = pd.read_parquet(results / "pairs/calibrated/synthetic.parquet")
    for question in ("SEX", "AGEP"):
        wanted = weights["weight"].groupby(true[question], observed=False).sum()
        found = drawn["weight"].groupby(drawn[question], observed=False).sum()
        assert np.allclose(found, wanted, rtol=1e-3)
    assert "weight" not in pq.read_schema(results / "noisy/released/synthetic.parquet").names
    with zipfile.ZipFile(next((results / "pairs/calibrated/release").glob("*.zip"))) as archive:
        (name,) = archive.namelist()
        released = pd.read_csv(archive.open(name))
    assert abs(released["PWGTP"].sum() - weights["weight"].sum()) <= 1 and released["PWGTP"].nunique() > 50
