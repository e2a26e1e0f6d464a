"""The steps of the pipeline one after the other in this process, of one input: what ``synthesize`` runs."""

import argparse
import contextlib
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from modp.base.config import load
from modp.base.output import Log
from modp.cli.inputs import PROVENANCE
from modp.crosstabs.cells import Zeros
from modp.figures import registry
from modp.measures.ends import BOOTSTRAP
from modp.models.stationary.recipe import IN_ONE_COMMAND, StationaryRow
from modp.pums import fetch
from modp.pums.where import Dataset

HELD_OUT = 0.2
"""The share of the records that no model sees, against whom what the table tells is measured."""

ZEROS: Zeros = "sample"
MODEL, ROW = "population", "balanced"
FIRST = f"{MODEL}/{ROW}"
"""The row that is the first table; others of the same model have its name and a number."""

FIGURES = {
    "accuracy": ("overview", []),
    "crosstabs": ("crosstabs", [FIRST]),
    "attacks": ("attack_roc", [BOOTSTRAP, FIRST]),
}
"""Figures of the report: each one's kind, and the rows that it shows."""

MEASURES = ("cells", "summary", "triples", "attack", "roc")
LEARNT_FROM = 4_000
"""Records of each table that learners take."""

STEPS, OF_A_TABLE = 8, 3
"""Steps of any run, and of each table; besides there are one on weighted crosstabs, where there are weights,
and one on what several tables tell together."""


@dataclass(frozen=True)
class Alone:
    """A run for one input.

    files : raw files; ``held_files`` are of others, to be held out
    dataset, questions : the two YAML files
    title : of the data set
    size : number of synthetic records
    tables : that are drawn from the one fit
    folder : for what comes between, with true records in it: to be removed
    """

    files: tuple[Path, ...]
    held_files: tuple[Path, ...]
    dataset: Path
    questions: Path
    title: str
    size: int
    seed: int
    folder: Path
    tables: int = 1

    @property
    def threads(self) -> int:
        """Cores that steps use; without influence on what they make."""
        return min(os.cpu_count() or 1, 4)

    @property
    def model(self) -> dict[str, Any]:
        """The model, as params.yaml would have it."""
        return IN_ONE_COMMAND.model_dump()

    @property
    def rows(self) -> dict[str, dict[str, Any]]:
        """The rows that are drawn, as params.yaml would have them; each has random streams of its own."""
        names = [ROW, *(f"{ROW}-{k}" for k in range(2, self.tables + 1))]
        made = [
            StationaryRow(model=MODEL, name=n, sweeps="auto", balanced=True, size=self.size) for n in names
        ]
        return {row.row: row.model_dump() for row in made}

    @property
    def parameters(self) -> dict[str, Any]:
        """All parameters, as a run of the pipeline keeps them."""
        return {
            "seed": self.seed,
            "holdout": HELD_OUT,
            "zeros": ZEROS,
            "paper_notebook": False,
            "models": {MODEL: self.model},
            "rows": list(self.rows.values()),
        }

    @property
    def weighted(self) -> bool:
        """Whether the data set names weights."""
        return load(self.dataset, Dataset).weight is not None

    def at(self, name: str) -> Path:
        """Return where a file of the run is."""
        return self.folder / name

    def measures(self, file: str, *rows: str) -> list[Path]:
        """Return a file of the measures of each of these rows."""
        ending = "json" if file == "summary" else "parquet"
        return [self.at(f"measures/{row}/{file}.{ending}") for row in rows]


def run(alone: Alone) -> None:
    """Run all steps up to the report."""
    steps = STEPS + OF_A_TABLE * alone.tables + alone.weighted + (alone.tables > 1)
    with tqdm(total=steps, disable=None, bar_format="{desc:<42}{percentage:3.0f}%|{bar}|{elapsed}") as bar:

        def done(steps: Iterable[Step]) -> None:
            for said, name, arguments in steps:
                bar.set_description_str(said)
                step(name, arguments, Log(quiet=True))
                bar.update()

        done(_coded(alone))
        # The ideal is measured beside the fit, which does not keep two cores busy.
        with beside("measure", _measured(alone, BOOTSTRAP, alone.at("bootstrap.parquet"), {})):
            done(_drawn(alone))
        with beside("utility", _tried(alone)):
            done(_attacked(alone))
        done(_reported(alone))
        bar.set_description_str("done")


@contextlib.contextmanager
def beside(name: str, arguments: Mapping[str, Any]) -> Iterator[None]:
    """Run a step in a process of its own beside the block; raise RuntimeError if it fails."""
    command = [sys.executable, "-m", "modp", name, *words_of(arguments)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        yield
    finally:
        said, _ = process.communicate()
    if process.returncode:
        raise RuntimeError(f"the step {name} failed:\n{said}")


def step(name: str, arguments: Mapping[str, Any], log: Log) -> None:
    """Run one step with these arguments: option -> value, or values; one without a value is a flag."""
    module = importlib.import_module(f"modp.cli.{name}")
    parser = argparse.ArgumentParser(name)
    module.add_arguments(parser)
    module.run(parser.parse_args(words_of(arguments)), log)


def words_of(arguments: Mapping[str, Any]) -> list[str]:
    """Return arguments as a command line has them."""
    words: list[str] = []
    for option, value in arguments.items():
        words.append(f"--{option.replace('_', '-')}")
        if isinstance(value, dict):
            words.append(json.dumps(value))
        else:
            words += map(str, value if isinstance(value, list | tuple) else [value])
    return words


Step = tuple[str, str, Mapping[str, Any]]
"""What is said while it runs, its name, its arguments."""


def _coded(alone: Alone) -> Iterable[Step]:
    at = alone.at
    coded = {"records": at("records.parquet"), "codebook": at("codebook.json"), "seed": alone.seed}
    yield "coding", "code", code_arguments(alone)
    ends = {"bootstrap": at("bootstrap.parquet"), "marginals": at("marginals.parquet")}
    yield "drawing a bootstrap resample, the ideal", "bootstrap", {**coded, **ends}


def _drawn(alone: Alone) -> Iterable[Step]:
    at, weights = alone.at, {"weights": alone.at("model.safetensors")}
    coded = {"records": at("records.parquet"), "codebook": at("codebook.json"), "seed": alone.seed}
    work = {**coded, "threads": alone.threads, **weights}
    files = {"history": at("history.parquet"), "plot": at("history.csv")}
    yield "fitting", "fit", {**work, "name": MODEL, "model": alone.model, **files}
    family = {"family": IN_ONE_COMMAND.family}
    for row, recipe in alone.rows.items():
        made = {"name": row, "row": recipe, "out": at(f"{row}/synthetic.parquet")}
        yield "drawing synthetic records", "draw", {**work, **family, **made}
        yield "drawing answers inside their categories", "values", _values(alone, row)


def _attacked(alone: Alone) -> Iterable[Step]:
    at = alone.at
    of_model = {"weights": at("model.safetensors"), "family": IN_ONE_COMMAND.family}
    for row in alone.rows:
        crowds = {"crowds": at(f"{row}/privacy.parquet")}
        measured = _measured(alone, row, at(f"{row}/synthetic.parquet"), {**of_model, **crowds})
        yield "measuring the synthetic records", "measure", measured
    if alone.tables > 1:
        coded = {"records": at("records.parquet"), "codebook": at("codebook.json"), "seed": alone.seed}
        first, *others = (at(f"{row}/synthetic.parquet") for row in alone.rows)
        tables = {"synthetic": first, "others": others, "number": alone.tables}
        held = {"holdout": at("holdout.parquet"), "out": at(f"measures/{FIRST}/releases.parquet")}
        yield "attacking all tables together", "releases", {**coded, "name": FIRST, **tables, **held}


def _reported(alone: Alone) -> Iterable[Step]:
    if alone.weighted:
        yield "comparing weighted crosstabs", "weigh", _weighed(alone)
    yield "summing up", "tables", _summed_up(alone)
    given = {"title": alone.title, "codebook": alone.at("codebook.json"), "seed": alone.seed}
    for name, (kind, names) in FIGURES.items():
        files = [alone.at(file) for file in registry.KINDS[kind].files(names, [])]
        shown = {"kind": kind, "names": names, "inputs": files, "out": alone.at(f"figures/{name}.png")}
        yield "drawing figures", "figure", {**given, **shown}
    yield "writing the report", "report", _page(alone)


def code_arguments(alone: Alone) -> dict[str, Any]:
    """Return the arguments of the step ``code``."""
    return {
        **_sources(alone),
        "records": alone.at("records.parquet"),
        "holdout": alone.at("holdout.parquet"),
        "codebook": alone.at("codebook.json"),
        "weights": alone.at("weights.parquet"),
    }


def _sources(alone: Alone) -> dict[str, Any]:
    return {
        "files": alone.files,
        "held_files": alone.held_files,
        "dataset": alone.dataset,
        "questions": alone.questions,
        "share": HELD_OUT,
        "seed": alone.seed,
    }


def _values(alone: Alone, row: str) -> dict[str, Any]:
    at = alone.at
    return {
        **_sources(alone),
        **{"records": at("records.parquet"), "codebook": at("codebook.json")},
        **{"name": row, "model": alone.model, "synthetic": at(f"{row}/synthetic.parquet")},
        "out": at(f"{row}/values.parquet"),
    }


def _measured(alone: Alone, row: str, drawn: Path, of_model: Mapping[str, Any]) -> dict[str, Any]:
    files = {file: alone.measures(file, row)[0] for file in MEASURES}
    coded = {"records": alone.at("records.parquet"), "codebook": alone.at("codebook.json")}
    compared = {"holdout": alone.at("holdout.parquet"), "synthetic": drawn, "row": row}
    return {**coded, **compared, **of_model, "seed": alone.seed, "zeros": ZEROS, **files}


def _tried(alone: Alone) -> dict[str, Any]:
    at = alone.at
    return {
        **_sources(alone),
        **{"records": at("records.parquet"), "codebook": at("codebook.json")},
        **{"holdout": at("holdout.parquet"), "rows": FIRST},
        **{"synthetic": at(f"{FIRST}/synthetic.parquet"), "raw": at(f"{FIRST}/values.parquet")},
        **{"most": LEARNT_FROM, "out": at("utility.parquet"), "estimates": at("analyses.parquet")},
    }


def _weighed(alone: Alone) -> dict[str, Any]:
    at = alone.at
    return {
        **{"records": at("records.parquet"), "codebook": at("codebook.json")},
        **{"weights": at("weights.parquet"), "dataset": alone.dataset, "rows": list(alone.rows)},
        **{"synthetic": [at(f"{row}/synthetic.parquet") for row in alone.rows]},
        **{"seed": alone.seed, "threads": alone.threads},
        "out": at("weighted.parquet"),
    }


def _summed_up(alone: Alone) -> dict[str, Any]:
    rows, at = [BOOTSTRAP, *alone.rows], alone.at
    together = {"releases": alone.measures("releases", FIRST), "releases_of": FIRST}
    return {
        **{"records": at("records.parquet"), "codebook": at("codebook.json"), "rows": rows},
        **{"cells": alone.measures("cells", *rows), "summaries": alone.measures("summary", *rows)},
        **{"privacy": [at(f"{row}/privacy.parquet") for row in alone.rows]},
        **{"attacks": alone.measures("attack", *rows), **(together if alone.tables > 1 else {})},
        **{"histories": at("history.parquet"), "histories_of": MODEL},
        **{"dataset": alone.dataset, "seed": alone.seed, "folder": at("tables"), "run": alone.parameters},
        **{"parameters": at("parameters.json"), "metrics": at("metrics.json")},
        **{"warnings": at("tables/warnings.json"), "plot": at("accuracy.csv")},
        **{"utility": [at("utility.parquet"), at("analyses.parquet")]},
        **({"weighted": at("weighted.parquet")} if alone.weighted else {}),
    }


def _page(alone: Alone) -> dict[str, Any]:
    rows, at = [BOOTSTRAP, *alone.rows], alone.at
    provenance = [_provenance(path, alone.folder) for path in alone.files]
    tables = ["accuracy", "three_way", "interactions", *(["accuracy_weighted"] if alone.weighted else [])]
    tables += ["utility", "privacy", "attacks", *(["releases"] if alone.tables > 1 else []), "questions"]
    return {
        **{"dataset": alone.dataset, "codebook": at("codebook.json"), "provenance": provenance},
        **{"rows": rows, "cells": alone.measures("cells", *rows)},
        **{"tables": [at(f"tables/{name}.md") for name in tables]},
        **{name: at(f"tables/{name}.parquet") for name in ("accuracy", "privacy")},
        **{"metrics": at("metrics.json"), "warnings": at("tables/warnings.json")},
        **{"figures": [at(f"figures/{name}.png") for name in FIGURES], "shown": registry.shown(FIGURES)},
        **{
            "parameters": at("parameters.json"),
            "out": at("report.html"),
            "public": at("report_public.html"),
            "run": at("run.js"),
        },
    }


def release_arguments(alone: Alone, row: str) -> dict[str, Any]:
    """Return the arguments of the step ``release`` of a row."""
    at = alone.at
    return {
        **{"files": alone.files, "dataset": alone.dataset, "questions": alone.questions},
        **{"records": at("records.parquet"), "codebook": at("codebook.json")},
        **{"name": MODEL, "model": alone.model, "row": alone.rows[row]},
        **{"drawn": at(f"{row}/values.parquet"), "accuracy": at("tables/accuracy.parquet")},
        **{name: at(f"tables/{name}.parquet") for name in ("privacy", "interactions")},
        **{"metrics": at("metrics.json"), "warnings": at("tables/warnings.json")},
        **{"zeros": ZEROS, "out": at(f"{row}/release/README.md")},
    }


def _provenance(file: Path, folder: Path) -> Path:
    """Write where a file is from."""
    path = folder / f"{file.name}{PROVENANCE}"
    known = fetch.Provenance(file.name, file.stat().st_size, fetch.sha256(file), None)
    path.write_text(json.dumps(vars(known)), encoding="utf-8")
    return path
