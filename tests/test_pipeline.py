"""Whole runs of the pipeline, by both engines, on a small configuration of the embedded sample."""

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from conftest import ROOT

from modp.figures.registry import KINDS
from modp.pipeline import engines

SMALL = {
    "dataset": "sample",
    "census": {
        "base_url": "https://www2.census.gov/programs-surveys/acs",
        "downloads": "data/downloads",
    },
    "seed": 11,
    "seeds": 1,
    "device": "cpu",
    "holdout": 0.2,
    "attacked": ["PINCP"],
    "instances": 2,
    "zeros": "sample",
    "models": {
        "model_1_1": {
            "family": "blades",
            "blades": 1,
            "reduced": 1,
            "stages": [{"loss": "mean_square", "epochs": 1, "learning_rate": 0.01}],
        },
        "model_2_3": {
            "family": "blades",
            "blades": 2,
            "reduced": 3,
            "stages": [
                {"loss": "mean_square", "epochs": 5, "learning_rate": 0.02, "batch": 256},
                {"loss": "z", "epochs": 4, "learning_rate": 0.003, "batch": 256},
            ],
        },
        "pairs": {"family": "stationary", "most_windows": 1},
        "noisy": {
            "family": "private",
            "epsilon": 10,
            "delta": 1e-5,
            "pairs": 0.1,
            "chains": 500,
            "public_edges": True,
            "noise": "seeded",
        },
    },
    "rows": [
        {"model": "model_1_1", "name": "plain"},
        {"model": "model_2_3", "name": "zeros-removed", "remove_zeros": True},
        {
            "model": "model_2_3",
            "name": "both",
            "instances": 2,
            "threshold": 0.5,
            "pass_through": 0.5,
        },
        {"model": "model_1_1", "name": "swapped", "swap": {"passes": 1}},
        {"model": "pairs", "name": "sweeps-2", "sweeps": 2},
        {"model": "model_2_3", "name": "sequential", "sweeps": 1},
        {"model": "noisy", "name": "released"},
    ],
    "figures": {
        "fig06_pair": {"kind": "crosstabs", "of": ["bootstrap", "model_2_3/both"]},
        "fig09_heat_map": {"kind": "merit_heatmap", "of": ["model_2_3/both"]},
        "fig12_co_assignment": {"kind": "co_assignment", "of": ["model_1_1", "model_2_3"]},
        "fig14_multiplicities": {"kind": "multiplicities", "of": ["model_2_3/both"]},
        "attack_roc": {"kind": "attack_roc", "of": ["bootstrap", "pairs/sweeps-2", "marginals"]},
        "fig16_causal_rank": {"kind": "causal_rank", "of": ["model_1_1/plain", "model_2_3/both"]},
    },
    "answers_by_blade": {"model": "model_2_3", "questions": ["PERNP", "AGEP"]},
}
LIGHT = SMALL | {
    "models": {name: model for name, model in SMALL["models"].items() if name != "model_1_1"},
    "rows": [row for row in SMALL["rows"] if row["model"] != "model_1_1" and row["name"] != "sequential"],
    "figures": {"fig06_pair": SMALL["figures"]["fig06_pair"]},
}
"""One model of each family, for runs that differ in their data."""

PERSONS = 3000
BIN = Path(sys.executable).parent
ENVIRONMENT = {
    **os.environ,
    "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
    "DVC_NO_ANALYTICS": "1",
    **{
        f"GIT_{who}_{what}": "test@example.org"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    },
}


def run(at: Path, *command: str, check: bool = True, **environment: str) -> str:
    """Run a command and return all that it printed."""
    outcome = subprocess.run(
        command,
        cwd=at,
        env=ENVIRONMENT | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert not check or outcome.returncode == 0, outcome.stdout
    return outcome.stdout


def workspace(folder: Path, params: dict = SMALL, compiled_in: Path = ROOT) -> Path:
    """A clone of the project as it is now, with other parameters and what Numba compiled elsewhere."""
    listed = run(ROOT, "git", "ls-files", "-co", "--exclude-standard").split("\n")
    for name in filter(None, listed):
        if (ROOT / name).exists() and not name.startswith("dvc.lock"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    shorten(folder / "data/sample/sample_csv_p.zip")
    take_compiled(compiled_in / "workflow/modp", folder / "workflow/modp")
    write_params(folder, params)
    run(folder, "git", "init", "-q")
    run(folder, "git", "add", "-A")
    run(folder, "git", "commit", "-qm", "start")
    return folder


def take_compiled(package: Path, other: Path) -> None:
    """Bring what Numba compiled in one copy of the package to another, which tells by its files' contents."""
    for file in package.rglob("__pycache__/*.nb?"):
        target = other / file.relative_to(package)
        target.parent.mkdir(exist_ok=True)
        shutil.copy(file, target)


def shorten(sample: Path) -> None:
    """Leave the first of the sample's persons, as many as it takes to see that all works."""
    with zipfile.ZipFile(sample) as archive:
        (name,) = archive.namelist()
        lines = archive.read(name).splitlines(keepends=True)
    with zipfile.ZipFile(sample, "w", zipfile.ZIP_DEFLATED) as archive:
        # Without a date, so that two clones get the same file.
        archive.writestr(zipfile.ZipInfo(name), b"".join(lines[: PERSONS + 1]))


def write_params(folder: Path, params: dict) -> None:
    (folder / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False))


def nothing_to_do_for_snakemake(at: Path) -> bool:
    return "Nothing to be done" in run(at, "snakemake", "-n")


def nothing_to_do_for_dvc(at: Path) -> bool:
    return json.loads(run(at, "dvc", "status", "--json")) == {}


def hashes(at: Path) -> dict[str, str]:
    """Path -> md5 of everything that DVC has recorded."""
    lock = yaml.safe_load((at / "dvc.lock").read_text())
    return {out["path"]: out["md5"] for stage in lock["stages"].values() for out in stage["outs"]}


Graph = dict[str, set[str]]


def graphs(folder: Path) -> tuple[Graph, dict[str, tuple[list[str], list[str]]]]:
    """What Snakemake reads for each file that it makes, and DVC's stages: what they depend on and make."""
    text = run(folder, "snakemake", "--forceall", "--detailed-summary", "--quiet", "all")
    lines = text[text.index("output_file") :].splitlines()
    rows = list(csv.DictReader(lines, delimiter="\t"))
    inputs = {r["output_file"]: set(r["input-file(s)"].split(",")) for r in rows}
    program = (
        "import json, os\nfrom dvc.repo import Repo\n"
        "rel = lambda items: [os.path.relpath(i.fs_path) for i in items if i.protocol == 'local'"
        " and not i.fs_path.endswith('params.yaml')]\n"
        "print(json.dumps({s.addressing: [rel(s.deps), rel(s.outs)] for s in Repo().index.stages}))"
    )
    return inputs, json.loads(run(folder, sys.executable, "-c", program).splitlines()[-1])


def require_one_graph(inputs: Graph, stages: dict, of_figures: set[str] = frozenset()) -> None:
    """Each DVC stage depends on exactly what Snakemake reads to make that stage's files.

    ``of_figures`` is what the stage of reports may depend on besides.
    """

    def within(file: str, places: list[str]) -> list[str]:
        return [p for p in places if file == p or file.startswith(p + "/")]

    covered = set()
    for stage, (deps, outs) in stages.items():
        made = {file for file in inputs if within(file, outs)}
        assert made and all(any(within(f, [out]) for f in made) for out in outs), stage
        covered |= made
        read = set().union(*(inputs[file] for file in made)) - made
        assert {f for f in read if not within(f, deps)} == set(), f"{stage}: not a dep in dvc.yaml"
        unread = {d for d in deps if not any(within(f, [d]) for f in read)}
        kinds = of_figures if stage == "report" else set()
        assert unread - {os.path.relpath(d, ROOT) for d in kinds} == set(), f"{stage}: read by no rule"
    assert covered == set(inputs)


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> tuple[Path, str]:
    """A workspace in which ``snakemake --cores 2`` has run, and what it printed."""
    folder = workspace(tmp_path_factory.mktemp("finished"))
    return folder, run(folder, "snakemake", "--cores", "2")


def test_a_run_ends_by_saying_what_it_made_and_where_to_look(finished):
    folder, printed = finished
    ending = printed[printed.index("median |ln ratio|") :]
    assert "bootstrap (the ideal)" in ending and "model_2_3/both" in ending
    for place in ("report.html", "figures/accuracy.png", "tables/accuracy.md"):
        place = f"results/sample/{place}"
        assert place in ending and (folder / place).exists()


def test_files_keep_the_contract(finished):
    results = finished[0] / "results/sample"
    codebook = json.loads((results / "codebook.json").read_text())
    names = [q["name"] for q in codebook["questions"]]
    assert len(names) == 38 and codebook["block_starts"][-1] == 233
    tables = {
        "records.parquet": [],
        "holdout.parquet": [],
        "bootstrap.parquet": [],
        "marginals.parquet": [],
        "model_1_1/plain/synthetic.parquet": ["record", "entropy_bits"],
        "model_2_3/zeros-removed/synthetic.parquet": ["record", "entropy_bits"],
    }
    for file, extra in tables.items():
        table = pq.read_table(results / file)
        assert table.column_names == names + extra
        for question in codebook["questions"]:
            column = table.column(question["name"])
            assert pa.types.is_dictionary(column.type)
            codes = [c["code"] for c in question["categories"]]
            assert column.combine_chunks().dictionary.to_pylist() == codes
    assert len(pq.read_table(results / "bootstrap.parquet")) == 2400
    assert len(pq.read_table(results / "holdout.parquet")) == 600
    for name in ("fig06_pair", "accuracy", "training"):
        assert (results / f"figures/{name}.png").read_bytes().startswith(b"\x89PNG")
        assert (results / f"figures/{name}.pdf").read_bytes().startswith(b"%PDF")


def test_metrics_are_those_of_the_tables_they_summarise(finished):
    results = finished[0] / "results/sample"
    metrics = json.loads((results / "metrics.json").read_text())
    one_hot = {
        name: pd.get_dummies(pd.read_parquet(results / name)[names_of(results)], dtype=float).to_numpy()
        for name in ("records.parquet", "model_1_1/plain/synthetic.parquet")
    }
    true, synthetic = (x.T @ x for x in one_hot.values())
    upper = np.triu_indices(233)
    d = np.abs(np.log((synthetic[upper] + 1) / (true[upper] + 1)))
    found = metrics["accuracy"]["model_1_1"]["plain"]
    assert found["median"] == pytest.approx(np.median(d), abs=1e-6)
    assert found["mean_abs"] == pytest.approx(d.mean(), abs=1e-6)
    assert found["rms"] == pytest.approx(np.sqrt((d**2).mean()), abs=1e-6)
    ideal = metrics["accuracy"]["bootstrap"]
    assert found["ratio_rms"] == pytest.approx(found["rms"] / ideal["rms"], rel=1e-4)


def test_the_page_and_the_cards_are_of_this_run(finished):
    folder = finished[0]
    text = (folder / "results/sample/report.html").read_text()
    assert len(text) < 10e6
    for part in ("model_2_3/both", "figure-fig12_co_assignment", "Answers by blade", "sample_csv_p.zip"):
        assert part in text, part
    public = (folder / "results/sample/report_public.html").read_text()
    assert "model_2_3/both" in public and "figure-fig12" not in public and "Answers by blade" not in public
    script = (folder / "logs/sample/run.js").read_text()
    steps = json.loads(script.removeprefix("window.modpRun = ").rstrip(";\n"))["steps"]
    jobs = {step: number for step, number, _ in steps}
    assert (jobs["fit"], jobs["instances"], jobs["measure"], jobs["code"]) == (4, 2, 9, 1)
    assert "../../logs/sample/run.js" in text
    for model, row in (("model_2_3", "sequential"), ("model_1_1", "plain"), ("pairs", "sweeps-2")):
        card = (folder / f"results/sample/{model}/card.md").read_text()
        warned = card[: card.index("## Data")].count(f"{model}/{row}")
        assert card.count(f"{model}/{row}") - warned == 3 and "bootstrap" in card


def test_snakemake_reports_in_categories(finished):
    folder = finished[0]
    run(folder, "snakemake", "--report", "report.zip")
    with zipfile.ZipFile(folder / "report.zip") as report:
        names = {Path(name).name for name in report.namelist()}
        text = report.read("report/report.html").decode()
    assert {"report.html", "card.md", "accuracy.md", "accuracy.png"} <= names
    assert all(category in text for category in ("Report", "Model cards", "Tables", "Figures"))
    (folder / "report.zip").unlink()


def names_of(results: Path) -> list[str]:
    return [q["name"] for q in json.loads((results / "codebook.json").read_text())["questions"]]


def test_variants_are_what_their_names_say(finished):
    results = finished[0] / "results/sample"
    names = names_of(results)
    true = pd.read_parquet(results / "records.parquet")[names].astype(str)
    removed = pd.read_parquet(results / "model_2_3/zeros-removed/synthetic.parquet")
    first = pd.read_parquet(results / "instances/model_2_3/1.parquet")
    assert 0 < len(removed) < len(first)
    assert (
        removed[names].astype(str).to_numpy() == first[names].astype(str).to_numpy()[removed["record"]]
    ).all()
    summary = json.loads((results / "measures/model_2_3/zeros-removed/summary.json").read_text())
    assert summary["zero_records"] == 0 and summary["records"] == len(removed)

    both = pd.read_parquet(results / "model_2_3/both/synthetic.parquet")
    same = (both[names].astype(str).to_numpy() == true.to_numpy()).mean()
    same_without = (first[names].astype(str).to_numpy() == true.to_numpy()).mean()
    assert same == pytest.approx(0.5 + 0.5 * same_without, abs=0.05)
    assert both["entropy_bits"].median() < first["entropy_bits"].median()

    swapped = pd.read_parquet(results / "model_1_1/swapped/synthetic.parquet")
    assert swapped["entropy_bits"].isna().all(), "no one draw made a record whose answers were exchanged"


def test_after_snakemake_dvc_has_nothing_to_do(finished):
    assert nothing_to_do_for_dvc(finished[0])
    assert "didn't change, skipping" in run(finished[0], "dvc", "repro")
    assert nothing_to_do_for_snakemake(finished[0])
    by_times_alone = run(finished[0], "snakemake", "-n", "--max-checksum-file-size", "1")
    assert "Nothing to be done" in by_times_alone, "DVC must leave the files' times alone"


def test_after_a_checkout_one_command_tells_snakemake_that_all_is_up_to_date(finished):
    folder = finished[0]
    shutil.rmtree(folder / "results/sample")
    run(folder, "dvc", "checkout")
    run(folder, "snakemake", "--touch", "--cores", "1")
    assert nothing_to_do_for_snakemake(folder)
    assert nothing_to_do_for_dvc(folder)


def test_both_engines_name_the_same_files(finished):
    inputs, stages = graphs(finished[0])
    told_of_the_holdout = {f for f, read in inputs.items() if any("holdout.parquet" in r for r in read)}
    # A table is measured in one go, attacks among it; the statement on privacy, written together with the
    # card, says how many were held out. No model and no table is made of them.
    told = {"cells.parquet", "summary.json", "triples.parquet", "privacy.parquet", "attack.parquet"}
    told |= {"roc.parquet", "privacy.md", "card.md"}
    told |= {f"{model}.parquet" for model in ("model_1_1", "model_2_3", "pairs")}  # points of the frontier
    assert {Path(f).name for f in told_of_the_holdout} == told
    # A figure of another kind, which anybody may ask for, must not need other stages.
    require_one_graph(inputs, stages, {d for kind in KINDS for d in engines.code_of_figure(kind)})


def test_dvc_shows_metrics_plots_and_changed_parameters(finished):
    folder = finished[0]
    metrics = json.loads(run(folder, "dvc", "metrics", "show", "--json"))
    assert "model_2_3" in str(metrics)
    assert "index.html" in run(folder, "dvc", "plots", "show")
    assert "failed" not in run(folder, "dvc", "plots", "show")
    write_params(folder, SMALL | {"seed": 12})
    assert "seed" in run(folder, "dvc", "params", "diff")
    write_params(folder, SMALL)


def test_another_clone_killed_and_run_again_with_other_threads_gives_the_same_bytes(finished, tmp_path):
    other = workspace(tmp_path, compiled_in=finished[0])
    command = ["snakemake", "--cores", "8"]  # two for each of four models, of which a run on two has one
    process = subprocess.Popen(
        command,
        cwd=other,
        env=ENVIRONMENT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        # Tests that run in the background may have been told to ignore it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    weights = other / "results/sample/model_1_1"
    while not weights.exists():
        assert process.poll() is None
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)
    process.wait(60)
    assert not (other / "dvc.lock").exists()

    run(other, *command)
    assert nothing_to_do_for_snakemake(other)
    assert not list(other.glob("results/**/.*.parquet"))
    assert hashes(other) == hashes(finished[0])
    assert (other / "dvc.lock").read_bytes() == (finished[0] / "dvc.lock").read_bytes()


def test_results_of_overridden_parameters_are_not_recorded_under_the_wrong_ones(finished):
    folder = finished[0]
    before = (folder / "dvc.lock").read_bytes()
    program = (
        "from modp.base import config\nfrom modp.pipeline import engines\n"
        "params = config.read_yaml('params.yaml')\n"
        "engines.record_in_dvc(params | {'seed': 99}, 'params.yaml', lambda: False)"
    )
    printed = run(folder, sys.executable, "-c", program)
    assert "not recorded in DVC" in printed
    assert (folder / "dvc.lock").read_bytes() == before


def test_a_table_that_somebody_has_deleted_is_missed(finished):
    folder = finished[0]
    table, aside = folder / "results/sample/model_2_3/both/synthetic.parquet", folder / "aside.parquet"
    table.rename(aside)
    assert not nothing_to_do_for_snakemake(folder)
    aside.rename(table)
    assert nothing_to_do_for_snakemake(folder)


def test_after_a_parameter_changed_either_engine_leaves_the_other_nothing_to_do(finished):
    folder = finished[0]
    changed = json.loads(json.dumps(SMALL))
    changed["rows"][2]["threshold"] = 0.25
    changed["figures"] = LIGHT["figures"]
    write_params(folder, changed)
    assert not nothing_to_do_for_dvc(folder) and not nothing_to_do_for_snakemake(folder)

    before = (folder / "dvc.lock").read_bytes()
    run(folder, "snakemake", "--cores", "2", "results/sample/model_2_3/both/synthetic.parquet")
    assert (folder / "dvc.lock").read_bytes() == before, "a run of some targets is not everything"

    printed = run(folder, "dvc", "repro")
    assert "Stage 'fit_blades@model_2_3' didn't change, skipping" in printed
    assert nothing_to_do_for_snakemake(folder)

    changed["rows"][2]["threshold"] = 0.75
    changed["figures"] = {"fig01_other": {"kind": "crosstabs", "of": ["bootstrap"]}}
    write_params(folder, changed)
    printed = run(folder, "snakemake", "--cores", "2")
    assert "trained on" not in printed
    assert nothing_to_do_for_dvc(folder)
    drawn = {file.stem for file in (folder / "results/sample/figures").iterdir()}
    always = {"accuracy", "training", "frontier", "three_way", "risk_fidelity", "mixing_pairs"}
    assert drawn == {"fig01_other"} | always, "what earlier parameters drew is gone"
