"""The steps of the pipeline one after the other in this process, for one table: what ``synthesize`` runs."""

import argparse
import importlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from modp.base.output import Log
from modp.cli.inputs import PROVENANCE
from modp.crosstabs.cells import Zeros
from modp.figures import registry
from modp.measures.ends import BOOTSTRAP, MARGINALS
from modp.models.stationary.recipe import POPULATION, StationaryRow
from modp.pums import fetch

HELD_OUT = 0.2
"""The share of the records that no model sees, against whom what the table tells is measured."""

ZEROS: Zeros = "sample"
MODEL, ROW = "population", "balanced"
FIGURES = {
    "accuracy": ("overview", []),
    "crosstabs": ("crosstabs", [f"{MODEL}/{ROW}"]),
    "attacks": ("attack_roc", [BOOTSTRAP, f"{MODEL}/{ROW}", MARGINALS]),
}
"""Figures of the report: each one's kind, and the rows that it shows."""

CHAINS = 10_000
"""Chains of the fit. With 22,000 to 24,000 records it takes half the time that one chain a record takes, and
tables are as near to people held out."""

MEASURES = ("cells", "summary", "triples", "attack", "roc")
STEPS = 12


@dataclass(frozen=True)
class Alone:
    """A run for one table.

    files : raw files; ``held_files`` are of others, to be held out
    dataset, questions : the two YAML files
    title : of the data set
    size : number of synthetic records
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

    @property
    def threads(self) -> int:
        """Cores that steps use; without influence on what they make."""
        return min(os.cpu_count() or 1, 4)

    @property
    def model(self) -> dict[str, Any]:
        """The model, as params.yaml would have it."""
        return POPULATION.model_copy(update={"chains": CHAINS}).model_dump()

    @property
    def row(self) -> dict[str, Any]:
        """The row that is drawn, as params.yaml would have it."""
        row = StationaryRow(model=MODEL, name=ROW, sweeps="auto", balanced=True, size=self.size)
        return row.model_dump()

    @property
    def parameters(self) -> dict[str, Any]:
        """All parameters, as a run of the pipeline keeps them."""
        return {
            "seed": self.seed,
            "holdout": HELD_OUT,
            "zeros": ZEROS,
            "paper_notebook": False,
            "models": {MODEL: self.model},
            "rows": [self.row],
        }

    def at(self, name: str) -> Path:
        """Return where a file of the run is."""
        return self.folder / name

    def measures(self, file: str, *rows: str) -> list[Path]:
        """Return a file of the measures of each of these rows."""
        ending = "json" if file == "summary" else "parquet"
        return [self.at(f"measures/{row}/{file}.{ending}") for row in rows]


def run(alone: Alone) -> None:
    """Run all steps up to the report."""
    with tqdm(total=STEPS, disable=None, bar_format="{desc:<42}{percentage:3.0f}%|{bar}|{elapsed}") as bar:
        for said, name, arguments in _steps(alone):
            bar.set_description_str(said)
            step(name, arguments, Log(alone.at(f"{said}.log"), quiet=True))
            bar.update()
        bar.set_description_str("done")


def step(name: str, arguments: Mapping[str, Any], log: Log) -> None:
    """Run one step with these arguments: option -> value, or values; one without a value is a flag."""
    module = importlib.import_module(f"modp.cli.{name}")
    parser = argparse.ArgumentParser(name)
    module.add_arguments(parser)
    words: list[str] = []
    for option, value in arguments.items():
        words.append(f"--{option.replace('_', '-')}")
        if isinstance(value, dict):
            words.append(json.dumps(value))
        else:
            words += map(str, value if isinstance(value, list | tuple) else [value])
    module.run(parser.parse_args(words), log)


Step = tuple[str, str, Mapping[str, Any]]
"""What is said while it runs, its name, its arguments."""


def _steps(alone: Alone) -> Iterable[Step]:
    row = f"{MODEL}/{ROW}"
    at, seed = alone.at, {"seed": alone.seed}
    coded = {"records": at("records.parquet"), "codebook": at("codebook.json")}
    provenance = [_provenance(path, alone.folder) for path in alone.files]
    yield "coding", "code", code_arguments(alone)
    ends = {"bootstrap": at("bootstrap.parquet"), "marginals": at("marginals.parquet")}
    yield "drawing what tables are compared with", "bootstrap", {**coded, **ends, **seed}
    for end, drawn in zip((BOOTSTRAP, MARGINALS), ends.values(), strict=True):
        yield f"measuring {end}", "measure", _measured(alone, end, drawn, {})
    weights = {"weights": at("model.safetensors")}
    work = {**coded, **seed, "threads": alone.threads}
    yield (
        "fitting",
        "fit",
        {
            **{**work, "name": MODEL, "model": alone.model, **weights},
            **{"history": at("history.parquet"), "plot": at("history.csv")},
        },
    )
    yield (
        "drawing synthetic records",
        "draw",
        {
            **{**work, **weights, "name": row, "family": POPULATION.family},
            **{"row": alone.row, "out": at("synthetic.parquet")},
        },
    )
    of_model = {**weights, "family": POPULATION.family, "crowds": at("privacy.parquet")}
    measured = _measured(alone, row, at("synthetic.parquet"), of_model)
    yield "measuring the synthetic records", "measure", measured
    yield "summing up", "tables", _summed_up(alone, row)
    for name, (kind, names) in FIGURES.items():
        files = registry.KINDS[kind].files(names, [])
        shown = {"kind": kind, "title": alone.title, "codebook": coded["codebook"], **seed, "names": names}
        paths = {"inputs": [at(file) for file in files], "out": at(f"figures/{name}.png")}
        yield "drawing figures", "figure", {**shown, **paths}
    yield "writing the report", "report", _reported(alone, row, provenance)


def code_arguments(alone: Alone) -> dict[str, Any]:
    """Return the arguments of the step ``code``."""
    return {
        **_sources(alone),
        "records": alone.at("records.parquet"),
        "holdout": alone.at("holdout.parquet"),
        "codebook": alone.at("codebook.json"),
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


def _measured(alone: Alone, row: str, drawn: Path, of_model: Mapping[str, Any]) -> dict[str, Any]:
    files = {file: alone.measures(file, row)[0] for file in MEASURES}
    coded = {"records": alone.at("records.parquet"), "codebook": alone.at("codebook.json")}
    compared = {"holdout": alone.at("holdout.parquet"), "synthetic": drawn, "row": row}
    return {**coded, **compared, **of_model, "seed": alone.seed, "zeros": ZEROS, **files}


def _summed_up(alone: Alone, row: str) -> dict[str, Any]:
    rows, at = [BOOTSTRAP, row], alone.at
    return {
        **{"records": at("records.parquet"), "codebook": at("codebook.json"), "rows": rows},
        **{"cells": alone.measures("cells", *rows), "summaries": alone.measures("summary", *rows)},
        **{"privacy": at("privacy.parquet"), "attacks": alone.measures("attack", *rows, MARGINALS)},
        **{"histories": at("history.parquet"), "histories_of": MODEL},
        **{"dataset": alone.dataset, "seed": alone.seed, "folder": at("tables"), "run": alone.parameters},
        **{"parameters": at("parameters.json"), "metrics": at("metrics.json")},
        **{"warnings": at("tables/warnings.json"), "plot": at("accuracy.csv")},
    }


def _reported(alone: Alone, row: str, provenance: list[Path]) -> dict[str, Any]:
    rows, at = [BOOTSTRAP, row], alone.at
    tables = ("accuracy", "three_way", "privacy", "attacks", "questions")
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


def release_arguments(alone: Alone) -> dict[str, Any]:
    """Return the arguments of the step ``release``."""
    at = alone.at
    return {
        **_sources(alone),
        **{"records": at("records.parquet"), "codebook": at("codebook.json")},
        **{"name": MODEL, "model": alone.model, "row": alone.row},
        **{"synthetic": at("synthetic.parquet"), "accuracy": at("tables/accuracy.parquet")},
        **{"privacy": at("tables/privacy.parquet"), "metrics": at("metrics.json")},
        **{"warnings": at("tables/warnings.json"), "zeros": ZEROS, "out": at("release/README.md")},
    }


def _provenance(file: Path, folder: Path) -> Path:
    """Write where a file is from."""
    path = folder / f"{file.name}{PROVENANCE}"
    known = fetch.Provenance(file.name, file.stat().st_size, fetch.sha256(file), None)
    path.write_text(json.dumps(vars(known)), encoding="utf-8")
    return path
