"""Every command of the documents runs, in the order of the page, on a small configuration."""

import hashlib
import importlib
import re
import shlex
import shutil
from pathlib import Path

import pytest
from conftest import ROOT
from test_pipeline import SMALL, run, workspace

PAGES = sorted((ROOT / "docs").glob("*.md"))

STAGES = [{"loss": "mean_square", "epochs": 1, "learning_rate": 0.01}]
TINY = SMALL | {
    "instances": 1,
    "models": {
        "model_5_15": {"family": "blades", "blades": 2, "reduced": 3, "stages": STAGES},
        "households": {"family": "households"},
    },
    "rows": [
        {"model": "model_5_15", "name": "plain"},
        {"model": "households", "name": "sweeps-20", "sweeps": 20},
    ],
    "figures": {},
    "answers_by_blade": {"model": "model_5_15", "questions": ["AGEP"]},
    "release": {
        "rows": ["model_5_15/plain", "households/sweeps-20"],
        "despite_warnings": ["model_5_15/plain"],
    },
    "scattered": {"rows": ["model_5_15/plain"]},
}

PLANNED = "true"
"""In place of a command whose jobs the same page's dry run of several targets, or another test, plans."""

INSTEAD = {
    # Of a table of the sample's; what it does is tested by itself.
    "modp synthesize survey.sav": "modp synthesize --help",
    "modp synthesize survey.sav --tables 5": "modp synthesize --help",
    "modp impute survey.sav --times 5": "modp impute --help",
    # Fits of a minute; that such rows are drawn and measured is tested by itself.
    "snakemake --cores 2 --configfile examples/where.yaml -- results/where/sample/tables/accuracy.md": (
        "snakemake --cores 2 --configfile examples/where.yaml --dry-run"
        " -- results/where/sample/tables/accuracy.md"
    ),
    # Its files would have to be fetched; such a run is tested by itself.
    "snakemake --cores 2 --config dataset=wyoming-households": (
        "snakemake all release --cores 2 --config dataset=wyoming-households --dry-run"
    ),
    "snakemake release --cores 2 --config dataset=wyoming-households": PLANNED,
    "snakemake --cores 2 --configfile examples/households-guarantee.yaml": (
        "snakemake --cores 2 --configfile examples/households-guarantee.yaml --dry-run"
    ),
    "modp households persons.parquet --questions questions.yaml --out synthetic": "modp households --help",
    "modp init survey.sav": "modp init data/sample/sample_csv_p.zip --name survey",
    "pip install -e '.[slurm]'": "pip show -q snakemake-executor-plugin-slurm",  # installed with the tests
    "snakemake --profile profiles/slurm": "snakemake --profile profiles/slurm --dry-run",  # no cluster here
    "pip install -e '.[kubernetes]'": "pip show -q snakemake-executor-plugin-cluster-generic",
    "snakemake --profile profiles/kubernetes": "snakemake --profile profiles/kubernetes --dry-run",
    # Tests of their own.
    "python -m pytest -n 0 -m slow tests/cluster/test_slurm.py": "python -m pytest --version",
    # An hour on a quiet machine; the lines are tested by themselves.
    "snakemake benchmarks --cores 2": "snakemake benchmarks peers peers_dp --cores 2 --dry-run",
    "snakemake peers --cores 2": PLANNED,
    "snakemake peers_dp --cores 2": PLANNED,
    # The nation's files would have to be fetched, and there is no cluster here; a test plans the first.
    "snakemake scattered --cores 2 --keep-going --config dataset=us-2022 --dry-run": PLANNED,
    "snakemake scattered --profile profiles/slurm --keep-going --config dataset=us-2022": (
        "snakemake scattered --profile profiles/slurm --keep-going --config dataset=us-2022 --dry-run"
    ),
    # Many trainings; a dry run finds every mistake in the file.
    "snakemake --cores 2 --configfile examples/grid.yaml -- results/grid/sample/tables/accuracy.md": (
        "snakemake --cores 2 --configfile examples/grid.yaml --dry-run"
        " -- results/grid/sample/tables/accuracy.md"
    ),
    # Its file would have to be fetched.
    "snakemake --cores 2 --configfile examples/weights.yaml -- results/weights/wyoming/tables/estimates.md"
    " results/weights/wyoming/figures/estimates.png": (
        "snakemake --cores 2 --configfile examples/weights.yaml --dry-run"
        " -- results/weights/wyoming/tables/estimates.md"
    ),
    # Installs old libraries; the step that joins its results is tested by itself.
    "snakemake anonymeter --cores 2": "snakemake anonymeter epsilon audit --cores 2 --dry-run",
    "snakemake epsilon --cores 2": PLANNED,  # five fits of each private model
    "snakemake audit --cores 1": PLANNED,  # a minute or two
    # Pages and cards, which no later command reads, are left out of runs that differ in a parameter.
    "dvc exp run -S models.model_5_15.blades=3": "dvc exp run -S models.model_5_15.blades=3 report",
    "snakemake --cores 2 --config zeros=stated": (
        "snakemake --cores 2 --config zeros=stated -- results/sample/tables/accuracy.md"
    ),
    "snakemake --cores 2 --config seeds=2": (
        "snakemake --cores 2 --config seeds=2 -- results/sample/tables/repeats.md"
    ),
    # One experiment, up to the stage that tells it from the run in the folder.
    "dvc exp run --queue -S models.model_5_15.blades=3,5 -S models.model_5_15.reduced=10,15": (
        "dvc exp run --queue -S models.model_5_15.blades=3 -S models.model_5_15.reduced=4"
        " fit_blades@model_5_15"
    ),
    # The paper's data would have to be fetched.
    "snakemake paper --cores 2 --config dataset=stums": (
        "snakemake paper --cores 2 --config dataset=stums --dry-run"
    ),
}


def commands(page: Path) -> list[tuple[str, str]]:
    """(where to run it, command) for each line of the page's blocks of commands."""
    blocks = re.findall(r"^```sh ?(.*)\n((?:.*\n)*?)```", page.read_text(encoding="utf-8"), re.MULTILINE)
    return [(where, line) for where, block in blocks for line in block.splitlines() if line]


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    """A workspace in which everything has run, as the pages suppose."""
    folder = workspace(tmp_path_factory.mktemp("documents"), TINY)
    run(folder, "snakemake", "--cores", "2")
    return folder


@pytest.mark.parametrize("page", [p for p in PAGES if commands(p)], ids=lambda page: page.stem)
def test_commands_of_the_documents_run(page, finished, tmp_path):
    folder = Path(shutil.copytree(finished, tmp_path / "modp", symlinks=True))
    other, printed = None, {}
    for where, command in commands(page):
        if where == "another-clone" and other is None:
            other = tmp_path / "other"
            run(tmp_path, "git", "clone", "-q", str(folder), str(other))
        words = shlex.split(INSTEAD.get(command, command))
        asked_for = [folder / word for word in words if word.startswith("results/sample/figures/")]
        for file in asked_for:
            file.unlink()  # so that there is something to do
        printed[command] = run(other if where else folder, *words)
    if page.stem == "runs":
        queued = printed["dvc exp run --run-all"]
        assert queued.count("Reproducing experiment") == 1 and queued.count("trained on") == 1
        assert "held out" not in queued, "queued experiments make anew what DVC has"
        table = printed[next(command for command in printed if command.startswith("dvc exp show"))]
        assert "plain.median" in table and max(map(len, table.splitlines())) <= 120
    if other:
        sent = {"".join(path.parts[-2:]) for path in (tmp_path / "modp-store").rglob("*") if path.is_file()}
        results = folder / "results/sample"
        true = [results / f"{name}.parquet" for name in ("records", "holdout", "bootstrap")]
        true += (folder / "data/raw/sample").iterdir()
        assert not {hashlib.md5(path.read_bytes()).hexdigest() for path in true} & sent
        assert hashlib.md5((results / "codebook.json").read_bytes()).hexdigest() in sent
        assert "Nothing to be done" in run(other, "snakemake", "-n")
        (other / "results/sample/figures/accuracy.png").unlink()
        drawn = run(other, "snakemake", "figures", "--cores", "2")
        assert "accuracy drawn" in drawn and "trained on" not in drawn


def test_every_place_that_the_documents_name_is_there():
    text = (ROOT / "docs/method.md").read_text(encoding="utf-8")
    named = re.findall(r"`(modp[\w.]+):(\w+)`", text)
    assert len(named) > 25
    for module, name in named:
        assert hasattr(importlib.import_module(module), name), f"{module}:{name}"
    for number in range(1, 13):
        assert re.search(rf"equations? (\d+, )*{number}\b", text), f"equation {number} of the paper"


def test_links_of_the_documents_lead_somewhere():
    for page in [ROOT / "README.md", ROOT / "results/README.md", *PAGES]:
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert target.startswith("http") or (page.parent / target).exists(), f"{page}: {target}"
