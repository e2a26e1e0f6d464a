import argparse
import contextlib
import importlib.util
import io
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT
from test_pipeline import take_compiled

from modp.base.errors import InputError
from modp.base.output import Log
from modp.cli import synthesize

pytestmark = pytest.mark.pipeline


def survey(rows: int = 600) -> pd.DataFrame:
    rng = np.random.default_rng(16)
    age = rng.integers(18, 90, rows)
    income = np.where(rng.random(rows) < 0.2, 0, (rng.lognormal(10, 0.8, rows) // 100 * 100).astype(int))
    return pd.DataFrame(
        {
            "caseid": [f"C{k:06d}" for k in rng.permutation(rows)],
            "region": rng.choice(["01", "02", "10"], rows),
            "age": age,
            "income": income,
            "works": np.where((age < 65) & (rng.random(rows) < 0.8), "yes", "no"),
            "wave": "3",
        }
    )


def synthesized(file: Path, *more: str) -> list[str]:
    parser = argparse.ArgumentParser()
    synthesize.add_arguments(parser)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        synthesize.run(parser.parse_args([str(file), *more]), Log(quiet=True))
    return said.getvalue().splitlines()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as a wheel has it, of a copy of the sources, since building leaves traces."""
    sources, wheels = tmp_path_factory.mktemp("sources"), tmp_path_factory.mktemp("wheels")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, sources)
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
    shutil.copytree(ROOT / "workflow/modp", sources / "workflow/modp", ignore=ignored)
    command = [sys.executable, "-m", "pip", "wheel", ".", "--no-deps", "-q", "-w", str(wheels)]
    command += ["--no-build-isolation"] if importlib.util.find_spec("setuptools") else []
    built = subprocess.run(command, capture_output=True, text=True, cwd=sources, check=False)
    assert built.returncode == 0, built.stderr
    (wheel,) = wheels.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(wheels / "site")
    take_compiled(ROOT / "workflow/modp", wheels / "site/modp")
    return wheels / "site"


@pytest.fixture(scope="module")
def made(site: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """What the command leaves in a folder that held the table alone, outside a clone, and what it says."""
    folder = tmp_path_factory.mktemp("own")
    survey().to_csv(folder / "survey.csv", index=False)
    environment = {**os.environ, "PYTHONPATH": str(site)}
    where = "import modp, sys; sys.exit(not modp.__file__.startswith(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", where, str(site)], env=environment, cwd=folder, check=True)
    command = [sys.executable, "-m", "modp", "synthesize", "survey.csv"]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder, check=False)
    assert ran.returncode == 0, ran.stderr
    return folder, ran.stdout.splitlines()


def test_one_command_leaves_a_table_a_report_and_two_files_to_edit(made):
    folder, said = made
    names = sorted(path.name for path in folder.iterdir())
    assert names == [
        "survey.csv",
        "survey.dataset.yaml",
        "survey.questions.yaml",
        "survey.report.html",
        "survey.synthetic.csv",
    ]
    assert said[0].startswith("survey.csv: 600 rows, 6 columns: ")
    assert "caseid" in said[1] and "wave" in said[1] and said[1].startswith("left out: ")
    assert any(line.startswith("how good: ") for line in said)
    assert any(line.startswith("how useful: AUC 0.") for line in said)
    assert any(line.startswith("how private: ") for line in said)


def test_the_synthetic_table_is_in_the_inputs_own_form(made):
    folder, _ = made
    true, synthetic = (pd.read_csv(folder / f"survey{s}.csv", dtype=str) for s in ("", ".synthetic"))
    assert list(synthetic.columns) == list(true.columns)
    assert len(synthetic) == len(true)
    assert set(synthetic["region"]) == {"01", "02", "10"}
    assert set(synthetic["works"]) == {"yes", "no"}
    assert set(synthetic["wave"]) == {"3"}
    assert not set(synthetic["caseid"]) & set(true["caseid"])
    assert (synthetic["income"].astype(int) % 100 == 0).mean() > 0.9
    assert 0.12 < (synthetic["income"] == "0").mean() < 0.28
    assert synthetic["age"].astype(int).between(18, 89).all()


def test_several_tables_are_of_one_fit_and_the_first_is_that_of_the_command_without(made, tmp_path):
    folder, _ = made
    survey().to_csv(tmp_path / "survey.csv", index=False)
    said = synthesized(tmp_path / "survey.csv", "--tables", "2")
    one, two = (tmp_path / f"survey.synthetic-{k}.csv" for k in (1, 2))
    assert one.read_bytes() == (folder / "survey.synthetic.csv").read_bytes()
    first, second = pd.read_csv(one, dtype=str), pd.read_csv(two, dtype=str)
    assert first.shape == second.shape and not first.equals(second)
    assert not (tmp_path / "survey.synthetic.csv").exists()
    report = (tmp_path / "survey.report.html").read_text(encoding="utf-8")
    assert "balanced-2" in report and "2 tables" in report
    sure = [line for line in said if line.startswith("how sure: ")]
    assert len(sure) == 1 and f"by {np.sqrt(600 / 480 + 0.25 / 2):.2f}" in sure[0]
    assert any(line.startswith("how private together: ") for line in said)
    with pytest.raises(InputError, match="--tables: 0 is not from 1"):
        synthesized(tmp_path / "survey.csv", "--tables", "0")


def test_edited_files_are_taken_and_not_written_again(made):
    folder, _ = made
    path = folder / "survey.questions.yaml"
    text = path.read_text(encoding="utf-8").replace("label: works", "label: Works for pay")
    path.write_text(text, encoding="utf-8")
    said = synthesized(folder / "survey.csv", "--records", "50", "--seed", "7")
    assert said[0].endswith("taken for what survey.dataset.yaml and survey.questions.yaml say")
    assert path.read_text(encoding="utf-8") == text
    assert "Works for pay" in (folder / "survey.report.html").read_text(encoding="utf-8")
    assert len(pd.read_csv(folder / "survey.synthetic.csv")) == 50


def test_a_table_of_too_few_people_is_not_written(tmp_path):
    survey(30).to_csv(tmp_path / "few.csv", index=False)
    with pytest.raises(InputError, match="30 rows, and synthetic records made of fewer than 100"):
        synthesized(tmp_path / "few.csv")
    assert not (tmp_path / "few.synthetic.csv").exists()
    synthesized(tmp_path / "few.csv", "--despite-warnings")
    assert len(pd.read_csv(tmp_path / "few.synthetic.csv")) == 30


def test_how_a_table_is_read_is_said_once(tmp_path):
    file = tmp_path / "s.csv"
    survey(50).to_csv(file, index=False, sep="|")
    for more in (("--delimiter", "|"), ()):  # the second time the file says it
        with pytest.raises(InputError, match="50 rows"):
            synthesized(file, *more)
    with pytest.raises(InputError, match="edit 'table' in it"):
        synthesized(file, "--delimiter", ";")


def test_one_of_the_two_files_alone_is_refused(tmp_path):
    survey(100).to_csv(tmp_path / "s.csv", index=False)
    (tmp_path / "s.dataset.yaml").write_text("title: s\n")
    with pytest.raises(InputError, match="put it back"):
        synthesized(tmp_path / "s.csv")
