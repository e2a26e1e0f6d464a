"""Snakemake, DVC and the documents agree with one another."""

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from conftest import ROOT

from modp.base.config import load
from modp.cli.schemas import FILES
from modp.figures import registry
from modp.models.registry import family
from modp.pipeline import engines, stages
from modp.pipeline.params import Params
from modp.report import holdings

CONDA_NAMES = {"torch": "pytorch", "matplotlib": "matplotlib-base", "snakemake": "snakemake-minimal"}


def run(*command: str, at: Path = ROOT) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", *command], cwd=at, capture_output=True, text=True, check=False
    )


def test_environment_yml_asks_for_what_pyproject_asks_for():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    split = re.compile(r"^([a-z0-9_-]+)(.*)$")
    wanted = {split.match(d)[1]: split.match(d)[2] for d in project["dependencies"]}
    wanted = {CONDA_NAMES.get(name, name): bound for name, bound in wanted.items()}
    wanted |= {"python": project["requires-python"], "pip": ""}
    listed = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    found = {split.match(d)[1]: split.match(d)[2] for d in listed if isinstance(d, str)}
    assert found == wanted


def test_dvc_yaml_is_the_one_for_the_parameters_and_the_code():
    params = load(ROOT / "params.yaml", Params)
    assert stages.written_for(params, ROOT / "dvc.yaml"), "run: python -m modp stages"


def test_files_of_true_records_are_not_sent_to_a_remote():
    stages_ = stages.stages(load(ROOT / "params.yaml", Params))
    outs = [
        out for stage in stages_.values() for out in stage.get("outs", stage.get("do", {}).get("outs", []))
    ]
    unsent = {path for out in outs if isinstance(out, dict) for path, how in out.items() if not how["push"]}
    true = {f"{stages.RESULTS}/{name}.parquet" for name in ("records", "holdout", "bootstrap", "weights")}
    assert unsent == {stages.RAW, *true}


def test_a_row_depends_on_weights_where_they_are_a_question(tmp_path):
    (tmp_path / "w.yaml").write_text(
        "title: w\nquestions: stums\nfiles: [data/sample/sample_csv_p.zip]\n"
        "weight: PWGTP\nweight_question: true\n"
    )
    params = load(ROOT / "params.yaml", Params)
    weights, found = f"{stages.RESULTS}/weights.parquet", []
    for dataset in ("sample", str(tmp_path / "w.yaml")):
        made = stages.stages(params.model_copy(update={"dataset": dataset}))
        rows = [stage["do"] for name, stage in made.items() if name.startswith("row_")]
        found.append([weights in stage["deps"] for stage in rows])
    assert not any(found[0]) and all(found[1]) and found[1]


def test_what_earlier_parameters_made_is_removed_and_nothing_else(tmp_path):
    made = [tmp_path / path for path in ("tables/estimates.md", "tables/accuracy.md", "m/card.md")]
    for path in made:
        path.parent.mkdir(exist_ok=True)
        path.touch()
    engines.remove_stale(str(tmp_path), {made[1].as_posix()})
    assert [path.exists() for path in made] == [False, True, True]


def test_all_that_a_run_makes_is_in_the_table_of_what_holds_true_information():
    params = load(ROOT / "params.yaml", Params)
    stages_ = stages.stages(params).values()
    parts = [part for stage in stages_ for part in (stage, stage.get("do", {}))]
    outs = [out for part in parts for kind in ("outs", "metrics") for out in part.get(kind, [])]
    made = {next(iter(out)) if isinstance(out, dict) else out for out in outs} - {stages.RAW}
    named = holdings.markdown()
    for path in made:
        first, _, rest = path.removeprefix(f"{stages.RESULTS}/").partition("/")
        rest = rest.replace("balanced/", "<variant>/").replace("sweeps-20/", "<variant>/")
        wanted = f"<model>/{rest}" if first in ("${item}", *params.models) else first
        assert wanted in named or first == "${item.model}", path


def test_an_edit_to_one_familys_code_leaves_the_others_results_as_they_are():
    def code(step: str, name: str) -> set[str]:
        return {os.path.relpath(path, ROOT / "workflow/modp") for path in engines.code_of(step, family(name))}

    for step in ("fit", "draw", "measure"):
        assert not {path for path in code(step, "blades") if "stationary" in path or "gibbs" in path}
        assert not {path for path in code(step, "stationary") if "blades" in path}
        assert not {path for path in code(step, "private") if "blades" in path}
    assert "models/blades/training.py" in code("fit", "blades")
    assert "models/blades/training.py" not in code("draw", "blades")
    assert {"draws/gibbs.py", "models/stationary/matching.py"} <= code("fit", "stationary")
    assert "models/stationary/matching.py" not in code("measure", "stationary")
    assert "models/private/__init__.py" in code("card", "private"), "a card prints its family's words"


ROOMS = "base survey files pums crosstabs draws models measures summaries figures report release pipeline cli"


def test_no_room_imports_one_that_stands_after_it():
    package, rooms = ROOT / "workflow/modp", ROOMS.split()
    for path in package.rglob("*.py"):
        own = path.relative_to(package).parts
        if len(own) == 1:
            continue
        for imported in engines._imports(path):
            room = imported.relative_to(package).parts[0]
            if imported.parent == package:
                continue
            assert room in rooms, f"{path} imports {imported}, which is in no room"
            assert rooms.index(room) <= rooms.index(own[0]), f"{path} imports {imported}"


def test_imports_found_by_their_lines_are_those_of_the_grammar():
    for path in (ROOT / "workflow/modp").rglob("*.py"):
        names = []
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            elif isinstance(node, ast.Import):
                names += [alias.name for alias in node.names]
        paths = [engines._path(name) for name in names if name.startswith("modp.")]
        assert set(engines._imports(path)) == {p for p in paths if p.exists()}, path


@pytest.mark.parametrize(
    "line",
    [
        "import modp.base.errors",
        "import os, modp.base.errors as other",
        "from modp.base import errors",
        "def f():\n    from modp.base import (  # so\n        errors as e,\n    )",
    ],
)
def test_an_import_of_any_form_is_found(tmp_path, line):
    (tmp_path / "some.py").write_text(f"import os\n\n{line}\nx = 1\n")
    assert [path.name for path in engines._imports(tmp_path / "some.py")] == ["errors.py"]


@pytest.mark.parametrize("name", FILES)
def test_schemas_are_those_of_the_code(name):
    stored = json.loads((ROOT / f"workflow/schemas/{name}.schema.json").read_text())
    assert stored == FILES[name].model_json_schema(), "run: python -m modp schemas"


@pytest.mark.pipeline
def test_modules_of_a_step_are_what_its_imports_load():
    declared = modules_loaded_by("import modp.figures.registry") | {engines.FAMILIES}
    steps = ("acquire", "code", "fit", "draw", "measure", "figure")
    loaded = modules_loaded_by_each([f"modp.cli.{step}" for step in steps], "seaborn")
    for step in steps:
        found = {Path(m).resolve() for m in engines.modules_of(step)}
        assert found >= loaded[f"modp.cli.{step}"] - declared
        assert all(path.exists() for path in found)


@pytest.mark.pipeline
def test_an_edit_to_one_figures_file_redraws_no_other():
    named_anyway = modules_loaded_by("import modp.figures.registry")
    modules = sorted({kind.module for kind in registry.KINDS.values()})
    loaded = modules_loaded_by_each(modules, "modp.cli.figure")
    for name, kind in registry.KINDS.items():
        found = {Path(m).resolve() for m in engines.code_of_figure(name)}
        assert found >= loaded[kind.module] - named_anyway
        rooms = [path.stem for path in found if path.parent.name == "figures"]
        assert sorted(rooms) == sorted(["style", "given", kind.module.rpartition(".")[2]])


def modules_loaded_by_each(modules: list[str], first: str) -> dict[str, set[Path]]:
    """What of the package each module loads, each in a fork of one process that has imported others first."""
    program = (
        f"import importlib, json, os, sys, {first}\n"
        "for name in sys.argv[1:]:\n"
        "    if os.fork() == 0:\n"
        "        importlib.import_module(name)\n"
        "        own = [m.__file__ for n, m in sys.modules.items() if n.startswith('modp')]\n"
        "        print(json.dumps([name, own]), flush=True)\n"
        "        os._exit(0)\n"
        "    os.wait()\n"
    )
    command = [sys.executable, "-c", program, *modules]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    told = dict(json.loads(line) for line in out.splitlines())
    assert set(told) == set(modules)
    return {name: {Path(f) for f in files if not f.endswith("__init__.py")} for name, files in told.items()}


def test_another_line_in_a_registry_makes_nothing_stale():
    """What it says of a figure or a family reaches a step by inputs and parameters."""
    for step in ("fit", "tables", "figure", "report"):
        found = {Path(m).resolve() for m in engines.code_of(step, family("stationary"))}
        assert not found & {engines.REGISTRY, engines.FAMILIES}


@pytest.mark.parametrize("step", ["tables", "card", "report", "repeats", "compare", "anonymeter"])
def test_a_change_in_a_kernel_leaves_tables_and_report_as_they_are(step):
    rooms = {Path(path).relative_to("workflow/modp").parts for path in engines.modules_of(step)}
    described = {("models", "family.py"), ("models", "registry.py")}
    assert not {parts for parts in rooms - described if parts[0] in ("draws", "models")}
    assert not rooms & {("crosstabs", "triples.py"), ("measures", "three_way.py"), ("base", "loops.py")}


def test_what_snakemake_reads_at_its_start_is_light():
    program = "import sys, modp.pipeline.engines, modp.pipeline.params, modp.measures.table\n"
    program += "print({'pandas', 'torch', 'matplotlib', 'numba'} & set(sys.modules))"
    assert run_program(program).strip() == "set()"


def run_program(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout


def modules_loaded_by(program: str) -> set[Path]:
    program += (
        "\nimport sys\n"
        "print(*[m.__file__ for n, m in sys.modules.items() if n.startswith('modp')], sep='\\n')"
    )
    return {Path(line) for line in run_program(program).split() if not line.endswith("__init__.py")}


def test_in_a_copy_that_dvc_filled_no_result_is_older_than_another(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    results = Path("results/sample")
    results.mkdir(parents=True)
    for at, name in enumerate(("last", "first")):
        (results / name).touch()
        os.utime(results / name, (at, at))

    def ages() -> set[float]:
        engines.trust_what_dvc_brought("data/raw/sample", "results/sample")
        return {(results / name).stat().st_mtime for name in ("first", "last")}

    monkeypatch.delenv("DVC_STAGE", raising=False)
    assert ages() == {0, 1}, "this is DVC's business alone"
    monkeypatch.setenv("DVC_STAGE", "train")
    Path(".snakemake/metadata").mkdir(parents=True)
    assert ages() == {0, 1}, "where Snakemake keeps records, it goes by these"
    Path(".snakemake/metadata").rmdir()
    (time,) = ages()
    assert time > 1


@pytest.mark.pipeline
def test_the_example_of_a_grid_can_be_laid_over_params_yaml():
    grid = "examples/grid.yaml", "--", "results/grid/sample/tables/accuracy.md"
    outcome = run("snakemake", "--dry-run", "--cores", "2", "--configfile", *grid)
    assert re.search(r"^fit +10$", outcome.stdout + outcome.stderr, re.MULTILINE), outcome.stderr


def test_code_is_formatted_and_free_of_lint():
    assert run("ruff", "check", ".").returncode == 0
    assert run("ruff", "format", "--check", ".").returncode == 0


@pytest.mark.pipeline
def test_rules_are_formatted():
    outcome = run("snakefmt", "--check", "Snakefile", "workflow/rules")
    assert outcome.returncode == 0, outcome.stderr


@pytest.mark.pipeline
def test_snakemake_lint_finds_only_that_all_rules_share_one_environment():
    """One environment for everything is on purpose: it is what pip or environment.yml installs."""
    outcome = run("snakemake", "--lint")
    complaints = set(re.findall(r"^ +\* (.*)$", outcome.stdout + outcome.stderr, re.MULTILINE))
    assert complaints == {"Specify a conda environment or container for each rule.:"}
