"""Every command of the documents runs, in the order of the page, on a small configuration."""

import re
import shlex
from pathlib import Path

import pytest
from conftest import ROOT
from test_pipeline import SMALL, run, workspace

PAGES = sorted((ROOT / "docs").glob("*.md"))

TOO_LONG = ("runs",)
"""Pages whose commands take too many full runs for a test."""

STAGES = [{"loss": "mean_square", "epochs": 1, "learning_rate": 0.01}]
TINY = SMALL | {
    "instances": 1,
    "models": {"model_5_15": {"blades": 2, "reduced": 3, "stages": STAGES}},
    "stationary": {"stationary": {"most_windows": 1}},
    "variants": [{"model": "model_5_15", "name": "plain"}],
    "swept": [
        {"model": "model_5_15", "name": "sequential", "sweeps": 1},
        {"model": "stationary", "name": "sweeps-20", "sweeps": 3},
    ],
    "figures": {},
    "answers_by_blade": {"model": "model_5_15", "questions": ["AGEP"]},
}

INSTEAD = {
    "pip install -e '.[slurm]'": "pip show -q snakemake-executor-plugin-slurm",  # installed with the tests
    "snakemake --profile profiles/slurm": "snakemake --profile profiles/slurm --dry-run",  # no cluster here
    # Many trainings; a dry run finds every mistake in the file.
    "snakemake --cores 2 --configfile examples/grid.yaml -- results/grid/sample/tables/accuracy.md": (
        "snakemake --cores 2 --configfile examples/grid.yaml --dry-run"
        " -- results/grid/sample/tables/accuracy.md"
    ),
    # Installs old libraries; the step that joins its results is tested by itself.
    "snakemake anonymeter --cores 2": "snakemake anonymeter --cores 2 --dry-run",
    # Five fits of each private model.
    "snakemake epsilon --cores 2": "snakemake epsilon --cores 2 --dry-run",
    # All stages of an experiment take minutes; the first one shows that DVC takes the parameters.
    "dvc exp run -S models.model_5_15.blades=3": "dvc exp run -S models.model_5_15.blades=3 acquire",
    "dvc exp run --queue -S models.model_5_15.blades=2,4 -S swept.1.sweeps=2,10": (
        "dvc exp run --queue -S models.model_5_15.blades=2,4 -S swept.1.sweeps=2 acquire"
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


@pytest.mark.parametrize(
    "page", [p for p in PAGES if commands(p) and p.stem not in TOO_LONG], ids=lambda page: page.stem
)
def test_commands_of_the_documents_run(page, tmp_path):
    folder = workspace(tmp_path / "modp", TINY)
    other = None
    for where, command in commands(page):
        if where == "another-clone" and other is None:
            other = tmp_path / "other"
            run(tmp_path, "git", "clone", "-q", str(folder), str(other))
        run(other if where else folder, *shlex.split(INSTEAD.get(command, command)))
    if other:
        assert "Nothing to be done" in run(other, "snakemake", "-n")
        (other / "results/sample/figures/accuracy.png").unlink()
        drawn = run(other, "snakemake", "figures", "--cores", "2")
        assert "accuracy drawn" in drawn and "trained on" not in drawn


def test_links_of_the_documents_lead_somewhere():
    for page in [ROOT / "README.md", ROOT / "results/README.md", *PAGES]:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert target.startswith("http") or (page.parent / target).exists(), f"{page}: {target}"
