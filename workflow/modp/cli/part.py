"""Run the pipeline on one part of a scattered data set, into a folder of its own, and keep its metrics."""

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

import yaml

from modp.base import seeds
from modp.base.config import load
from modp.base.output import Log, written
from modp.cli import nested
from modp.models.stationary.recipe import NATION
from modp.pums.places import STATES
from modp.pums.where import STATE, Dataset

OF_A_PART_TOO = {
    *("questions", "faithful", "leave_out", "state_question"),
    *("weight", "weight_question", "replicates", "variance", "fay"),
}
"""Keys of a data set that hold for its parts as well."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    parser.add_argument("--dataset", type=Path, required=True, help="YAML of the data set it is a part of")
    parser.add_argument("--results", type=Path, required=True, help="that data set's folder of results")
    parser.add_argument("--part", required=True, help="its name")
    parser.add_argument("--run", type=json.loads, required=True, help="parameters of the run, as JSON")
    parser.add_argument("--rows", nargs="+", required=True, help="rows of the accuracy table to be made")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True, help="a copy of its metrics.json")


def run(options: argparse.Namespace, log: Log) -> None:
    """Write the part's dataset YAML and parameters, let Snakemake make what its metrics need."""
    folder = options.out.parent
    yaml_of_part = folder / f"{options.part}.yaml"
    content = part_of(load(options.dataset, Dataset), options.results, options.part)
    with written(yaml_of_part) as path:
        path.write_text(yaml.safe_dump(content, sort_keys=False, allow_unicode=True), encoding="utf-8")
    parameters = parameters_of(options.run, options.rows, options.results)
    # Of its own: with one seed for all, parts would share their chance, which their sum would then show.
    parameters["seed"] = seeds.integer(options.run["seed"], "part", options.part) % 2**31
    parameters |= {"dataset": yaml_of_part.as_posix(), "results": folder.as_posix()}
    metrics = folder / options.part / "metrics.json"
    file = folder / options.part / "params.json"
    nested.run(parameters, file, [metrics.as_posix()], options.threads, f"the part {options.part}", log)
    with written(options.out) as path:
        shutil.copyfile(metrics, path)
    log(f"{options.part}: {metrics}")


def part_of(dataset: Dataset, results: Path, part: str) -> dict[str, object]:
    """Return what the dataset YAML of a part says."""
    kept = dataset.model_dump(include=OF_A_PART_TOO, exclude_none=True, mode="json")
    title = f"{dataset.title}: {STATES[part][1] if dataset.scatter == STATE and part in STATES else part}"
    return {"title": title, **kept, "part": {"of": results.as_posix(), "called": part}}


def parameters_of(run: dict[str, Any], rows: list[str], results: Path) -> dict[str, Any]:
    """Return a run's parameters with these rows alone, and the models that they are drawn from.

    A model that is drawn ``toward: nation`` is drawn to the one of its name in the folder of results.
    """
    chosen = [row for row in run["rows"] if f"{row['model']}/{row['name']}" in rows]
    models = {name: dict(run["models"][name]) for name in dict.fromkeys(row["model"] for row in chosen)}
    for name, model in models.items():
        if model.get("toward") == NATION:
            model["toward"] = (results / name).as_posix()
    few: dict[str, Any] = {
        "figures": {},
        "answers_by_blade": None,
        "release": {},
        "scattered": {},
        "seeds": 1,
    }
    return run | few | {"models": models, "rows": chosen}
