"""The container's recipe names what is there, and nothing of a run gets into the image."""

import re
import shutil
import tomllib

import pytest
from conftest import ROOT
from test_pipeline import run

LINES = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ").splitlines()


def steps(word: str) -> list[str]:
    return [line.removeprefix(f"{word} ") for line in LINES if line.startswith(f"{word} ")]


def rules() -> list[str]:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def test_every_file_that_the_recipe_copies_is_there_and_is_let_in():
    let_in = {rule[1:] for rule in rules() if rule.startswith("!") and "/" not in rule}
    copied = [source for step in steps("COPY") for source in step.split()[:-1]]
    assert "workflow" in copied and "Snakefile" in copied
    for source in copied:
        assert (ROOT / source).exists(), source
        assert source in let_in or f"!{source}" in (".", *rules()), source
    assert let_in == {*(source for source in copied if "/" not in source), "data"}


def test_what_holds_true_records_is_kept_out():
    assert rules()[0] == "*" and "data/*" in rules()
    assert not {"!results", "!data/raw", "!data/downloads", "!.dvc"} & set(rules())


def test_python_and_the_extras_are_those_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    version = re.search(r"^FROM python:(\d+)\.(\d+)-slim$", "\n".join(LINES), re.MULTILINE)
    assert version and tuple(map(int, version.groups())) >= tuple(
        map(int, project["requires-python"].removeprefix(">=").split("."))
    )
    extras = re.search(r'-e "\.\[(.*?)\]"', "\n".join(steps("RUN")))[1].split(",")
    assert set(extras) <= set(project["optional-dependencies"])
    assert any("torch==2.13.0" in step for step in steps("RUN")), "the version that CI tests"


@pytest.mark.pipeline
def test_with_what_is_copied_into_the_image_a_run_can_start(tmp_path):
    for step in steps("COPY"):
        *sources, target = step.split()
        for source in sources:
            place = tmp_path / target / (source if target == "./" else "")
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, place, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(ROOT / source, place)
    command = ["snakemake", "--cores", "2", "--dry-run", "--quiet", "all"]
    assert "page " in run(tmp_path, *command, PYTHONPATH=str(tmp_path / "workflow"))
