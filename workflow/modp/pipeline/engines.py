"""What Snakemake and DVC need to be told of the code and of each other."""

import functools
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from modp.base.config import read_yaml
from modp.figures.registry import KINDS
from modp.models.family import Family
from modp.pipeline.steps import STEPS
from modp.summaries.headline import headline, of_households
from modp.summaries.warnings import lines

PACKAGE = Path(__file__).parent.parent
PAGE = ("page.html.j2", "page.css", "page.js", "explorer.js")
CARD = ("card.md.j2", "privacy.md.j2")
RELEASE = ("release.md.j2",)
RELEASE_HOUSEHOLDS = ("release_households.md.j2",)
"""Templates of the report's page, of the cards and of the page beside a released table."""

FAMILIES = PACKAGE / "models" / "registry.py"
REGISTRY = PACKAGE / "figures" / "registry.py"
"""The registries count as no step's code, with what they alone import: what they say of a family or a figure
reaches a step by the step's inputs and parameters. So another line makes neither figures stale nor models."""

IMPORTS = re.compile(
    r"^[ \t]*(?:from (modp[\w.]*) import (\([^)]*\)|.*)|import (.*\bmodp\..*))$", re.MULTILINE
)
"""A line that imports from this package, all that its brackets hold included."""


def package() -> list[str]:
    """Return all files of this package, for what measures it as a whole."""
    return _relative(set(PACKAGE.rglob("*.py")))


def modules_of(step: str) -> list[str]:
    """Return the files of this package that a step runs, found by following its imports.

    Paths are relative to the working directory where possible, sorted. Package ``__init__``
    files, which hold words and say where things are, are left out.
    """
    return _relative(_followed(_path(f"modp.cli.{step}")))


def code_of(step: str, family: Family | None = None) -> list[str]:
    """Return the files that a step runs for models of a family, as :func:`modules_of` does."""
    found = _followed(_path(f"modp.cli.{step}"))
    if family:
        for part in filter(family.can, STEPS[step].parts):
            found |= _followed(_path(family.parts[part].partition(":")[0]))
        if STEPS[step].words:
            found.add(_described_in(family.name))
    return _relative(found)


def code_of_figure(kind: str) -> list[str]:
    """Return the files that drawing one figure runs, as :func:`modules_of` does.

    Parameters
    ----------
    kind : one of :data:`modp.figures.registry.KINDS`
    """
    return _relative(_followed(_path("modp.cli.figure")) | _followed(_path(KINDS[kind].module)))


def _followed(start: Path) -> set[Path]:
    """The file and all that it imports, directly or not."""
    found: set[Path] = set()
    pending = [start]
    while pending:
        path = pending.pop()
        if path not in found and path not in (REGISTRY, FAMILIES):
            found.add(path)
            pending += _imports(path)
    return found


def _described_in(family: str) -> Path:
    """The file with a family's description."""
    room = PACKAGE / "models" / family / "__init__.py"
    return room if room.exists() else PACKAGE / "models" / f"{family}.py"


def captions() -> str:
    """Return the file with the captions of figures, which the report prints."""
    return os.path.relpath(REGISTRY)


def template(name: str) -> str:
    """Return the file of one of the report's templates, relative to the working directory."""
    return os.path.relpath(PACKAGE / "report" / name)


def _relative(paths: set[Path]) -> list[str]:
    return sorted(os.path.relpath(path) for path in paths)


def _path(module: str) -> Path:
    return PACKAGE.joinpath(*module.split(".")[1:]).with_suffix(".py")


@functools.cache
def _imports(path: Path) -> list[Path]:
    """The files of this package that a file imports, found by their lines: every run begins with this."""
    names = []
    for module, imported, plain in IMPORTS.findall(path.read_text(encoding="utf-8")):
        names += [module, *(f"{module}.{name}" for name in re.findall(r"\w+", imported))]
        names += re.findall(r"[\w.]+", plain)
    paths = [_path(name) for name in names if name.startswith("modp.")]
    return [p for p in paths if p.exists()]


def use_this_code() -> None:
    """Let jobs run this package with the Python that runs Snakemake, activated or not."""
    _put_first("PATH", Path(sys.executable).parent)
    _put_first("PYTHONPATH", PACKAGE.parent)


def _put_first(variable: str, folder: Path) -> None:
    others = [part for part in os.environ.get(variable, "").split(os.pathsep) if part]
    os.environ[variable] = os.pathsep.join([str(folder), *others])


def starts_jobs_here(workflow: Any) -> bool:
    """Whether a Snakemake run starts jobs that a server of its own, :mod:`modp.pipeline.warm`, can run."""
    wanted = os.environ.get("MODP_WARM") != "0" and sys.platform == "linux"
    return wanted and workflow.is_main_process and workflow.local_exec


def cores(workflow: Any, of_a_node: int = 4) -> int:
    """Return the cores that a Snakemake run was given; where a cluster runs its jobs, those of any node."""
    return workflow.resource_settings.cores or of_a_node


def inside_dvc() -> bool:
    """Whether this process was started by a stage of DVC, which then does the recording."""
    return "DVC_STAGE" in os.environ


def trust_what_dvc_brought(*folders: str) -> None:
    """Give all files in a copy of the project that DVC has just filled one time, the present.

    DVC fills the copies in which it runs queued experiments from its cache, in any order. By the
    files' times Snakemake would then make most of them anew, which DVC knows to be up to date.
    Nothing is done outside DVC, and where Snakemake has run before and keeps records.
    """
    if not inside_dvc() or Path(".snakemake/metadata").exists():
        return
    now = time.time()
    for folder in folders:
        for path in Path(folder).rglob("*"):
            os.utime(path, (now, now))


def ran_everything(workflow: Any) -> bool:
    """Whether a Snakemake run brought all results up to date, not only some targets."""
    settings = workflow.dag_settings
    partial = settings.until or settings.omit_from or settings.batch
    return workflow.is_main_process and not partial and set(settings.targets) <= {"all"}


def remove_stale(results: str, current: set[str]) -> None:
    """Delete what earlier parameters left in the folders that DVC versions as a whole.

    Parameters
    ----------
    current : the files that the present parameters make
    """
    for folder in ("figures", "instances", "measures", "plots/history", "tables"):
        for path in Path(results, folder).rglob("*"):
            if path.is_file() and path.as_posix() not in current:
                print(f"removed {path.as_posix()}, which the present parameters do not make")
                path.unlink()


def say_what_was_made(results: str) -> None:
    """Print, in a few lines, what a run made and where to look."""
    metrics = json.loads(Path(results, "metrics.json").read_text())
    whole = of_households(metrics)
    print("\n" + "\n".join(whole or headline(metrics)))
    aloud = "\033[31m{}\033[0m" if sys.stdout.isatty() else "{}"
    for line in lines(json.loads(Path(results, "tables/warnings.json").read_text(encoding="utf-8"))):
        print(aloud.format(line))
    print(f"look at  {results}/report.html (for you alone: true counts; report_public.html has none)")
    first = "households" if whole else "accuracy"
    print(f"         {results}/figures/{first}.png and the other figures there")
    print(f"         {results}/tables/{first}.md{'' if whole else ' and <model>/card.md'}")
    also = " and synthetic_households.parquet" if whole else ""
    print(f"data     {results}/<model>/<variant>/synthetic.parquet{also}\n", flush=True)


def record_in_dvc(config: dict[str, Any], params_file: str, renew: Callable[[], bool]) -> None:
    """Let DVC take up what Snakemake has made, so that ``dvc repro`` has nothing to do.

    Nothing is recorded where there is no DVC repository, and where the run's configuration is
    not what params_file says: DVC would book these results under the wrong parameters. Where
    params_file has come to name other models or rows, dvc.yaml is written anew.

    Parameters
    ----------
    renew : writes dvc.yaml for these parameters if it is of others, and returns whether it was
    """
    if not Path(".dvc").is_dir():
        return
    if config != read_yaml(params_file):
        print(f"not recorded in DVC: the run's configuration is not what {params_file} says")
        return
    if config["dataset"].endswith((".yaml", ".yml")):
        print("not recorded in DVC, which needs the name of a data set in workflow/datasets, not a path")
        return
    if renew():
        print(f"dvc.yaml written anew, for the models and rows of {params_file}")
    # Relinking would give files new times, and Snakemake would take them for changed.
    command = [sys.executable, "-m", "dvc", "commit", "--force", "--quiet", "--no-relink"]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    if outcome.returncode:
        print(f"warning: DVC could not record the results:\n{outcome.stderr.strip()}")
