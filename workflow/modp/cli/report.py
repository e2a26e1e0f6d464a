"""Put everything about a run into two pages, for the office and to publish."""

import argparse
import json
import os
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import yaml
from markupsafe import Markup

from modp.base.config import load
from modp.base.output import Log, time_of, written
from modp.cli.inputs import source
from modp.figures.registry import Shown
from modp.measures.table import PAPER_NOTEBOOK
from modp.pums.where import Dataset
from modp.report import explorer, holdings, page, plot, templates
from modp.summaries.printed import without_seed
from modp.summaries.register import TABLES
from modp.summaries.warnings import lines
from modp.survey.codebook import Codebook

PACKAGES = ("numpy", "torch", "numba", "pandas", "pyarrow", "matplotlib", "bokeh", "snakemake", "dvc")

INTERNAL = ("seed", "dataset", "results", "census", "device")
"""Parameters that the page to publish leaves out: with the seed chance can be repeated; where the office
keeps its files is nobody's business."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    parser.add_argument("--dataset", type=Path, required=True, help="the dataset YAML, for its title")
    parser.add_argument("--codebook", type=Path, required=True)
    parser.add_argument("--provenance", type=Path, nargs="+", required=True, help="one file a source")
    parser.add_argument("--rows", nargs="+", required=True, help="bootstrap, then model/variant …")
    parser.add_argument("--cells", type=Path, nargs="+", required=True, help="one file a row")
    parser.add_argument("--tables", type=Path, nargs="+", required=True, help="Markdown, in the page's order")
    parser.add_argument("--accuracy", type=Path, required=True)
    parser.add_argument("--privacy", type=Path, required=True)
    parser.add_argument("--metrics", type=Path, required=True)
    parser.add_argument("--warnings", type=Path, required=True)
    parser.add_argument("--frontier", type=Path, nargs="*", default=[], help="curves, one file a model")
    parser.add_argument("--figures", type=Path, nargs="+", required=True, help="PNG files")
    parser.add_argument(
        "--shown", required=True, help="JSON: figure -> caption, what it is of, if it is public"
    )
    parser.add_argument("--parameters", type=Path, required=True, help="all parameters of the run, as JSON")
    parser.add_argument("--logs", type=Path, nargs="*", default=[], help="logs of the steps before")
    parser.add_argument("--out", type=Path, required=True, help="the page for the office, with true counts")
    parser.add_argument("--public", type=Path, required=True, help="the page without, which may be published")
    parser.add_argument("--run", type=Path, required=True, help="times and machine, read by the page")


def run(options: argparse.Namespace, log: Log) -> None:
    """Gather, pack, render, write: once with everything, once without what is not public.

    Two runs of the same parameters give the same pages. What differs between them, times and the
    machine, goes into a script beside the logs, which the office's page reads when it is opened.
    """
    parameters = json.loads(options.parameters.read_text(encoding="utf-8"))
    table = pd.read_parquet(options.accuracy)
    warned = json.loads(options.warnings.read_text(encoding="utf-8"))
    best, by_population = page.closest(table, warned)
    common = _common(options, parameters, table, best) | {
        "by_population": by_population,
        "warnings": lines(warned),
        "guarantees": page.guarantees(parameters),
    }
    counts = table[table["cells"] == "all"]["records"].tolist()
    cells = _cells(options, counts) | {"first": options.rows.index(best) if best else 0}
    write_pages(options, parameters, common, cells, holdings.markdown(), log)


def write_pages(
    options: argparse.Namespace,
    parameters: Mapping[str, Any],
    common: Mapping[str, Any],
    cells: Mapping[str, Any],
    held: str,
    log: Log,
) -> None:
    """Render and write both pages, and what tells of this run alone.

    Parameters
    ----------
    common : what both pages say
    cells : crosstabs for the explorer of the office's page
    held : what holds true information, as Markdown
    """
    sources = [source(path) for path in options.provenance]
    figures = pictures(options.figures, json.loads(options.shown))
    tables = [(path.read_text(encoding="utf-8"), TABLES[path.stem].public) for path in options.tables]
    for_the_office = {
        "public": False,
        "pictures": [picture for picture, _ in figures],
        "tables": [page.as_html(text) for text, _ in tables],
        "sources": sources,
        "seed": parameters["seed"],
        "parameters": as_yaml(parameters),
        "holdings": page.as_html(held),
        "run_file": Path(os.path.relpath(options.run, options.out.parent)).as_posix(),
        "cells": cells,
    }
    to_publish = {
        "public": True,
        "pictures": [picture for picture, public in figures if public],
        "tables": [page.as_html(without_seed(text)) for text, public in tables if public],
        # Size and hash of a file of the office's own help to guess what is in it.
        "sources": [known for known in sources if known["source"].startswith("https://")],
        "parameters": as_yaml({key: value for key, value in parameters.items() if key not in INTERNAL}),
    }
    for target, own in ((options.out, for_the_office), (options.public, to_publish)):
        with written(target) as path:
            path.write_text(templates.page(**common, **own), encoding="utf-8")
        log(f"{target}: {target.stat().st_size / 1e6:.1f} MB")
    with written(options.run) as path:
        path.write_text(f"window.modpRun = {json.dumps(this_run(options.logs))};\n", encoding="utf-8")


def _common(
    options: argparse.Namespace, parameters: Mapping[str, Any], table: pd.DataFrame, best: str | None
) -> dict[str, Any]:
    """What both pages say."""
    codebook = _codebook(options)
    hidden = pd.read_parquet(options.privacy)
    metrics = json.loads(options.metrics.read_text())
    curves = page.curves([pd.read_parquet(path) for path in options.frontier], float(table["median"].iloc[0]))
    return {
        "title": load(options.dataset, Dataset).title,
        "households": None,
        "records": int(table["records"].iloc[0]),
        "questions": len(codebook.questions),
        "categories": int(codebook.block_starts[-1]),
        "question_set": codebook.question_set,
        "best": best,
        "headline": page.headline(best, table, hidden, metrics, parameters["zeros"]) if best else [],
        "notebook": parameters[PAPER_NOTEBOOK],
        "machine": f"{platform.system()} {platform.machine()}",
        "versions": {"Python": platform.python_version()} | {name: version(name) for name in PACKAGES},
        "points": plot.item(page.points(table, hidden), curves, "plot"),
        "library": Markup(plot.script()),
    }


def _codebook(options: argparse.Namespace) -> Codebook:
    return Codebook.from_json(options.codebook.read_text(encoding="utf-8"))


def as_yaml(parameters: Mapping[str, Any]) -> str:
    """Return parameters as YAML, in their order."""
    return yaml.safe_dump(dict(parameters), sort_keys=False, allow_unicode=True)


def _cells(options: argparse.Namespace, records: Sequence[int]) -> dict[str, Any]:
    rows, true = {}, None
    for name, path, count in zip(options.rows, options.cells, records, strict=True):
        found = pq.read_table(path, columns=["true", "synthetic", "log_ratio", "z", "merit"])
        true, *columns = (found[column].to_numpy() for column in found.column_names)
        synthetic, log_ratio, z, merit = columns
        rows[name] = explorer.Cells(synthetic, count, log_ratio, z, merit)
    assert true is not None
    return explorer.content(_codebook(options), records[0], true, rows)


def pictures(files: Sequence[Path], shown: Mapping[str, Shown]) -> list[tuple[page.Picture, bool]]:
    """Return each figure in the page's order, and whether it is public."""
    of_name = {path.stem: path for path in files}
    found = []
    for name in page.in_order(list(of_name)):
        caption, of, public = shown[name]
        found.append((page.picture(name, caption, of, of_name[name].read_bytes()), public))
    return found


def this_run(logs: Sequence[Path]) -> dict[str, Any]:
    """Return what the office's page tells of the run that made it: machine, end, seconds of each step."""
    times = [found for found in map(time_of, logs) if found]
    steps = {step: [s for other, _, s in times if other == step] for step, _, _ in times}
    return {
        "machine": _machine(),
        "ended": max((ended for _, ended, _ in times), default="at a time that no log tells"),
        "steps": [[step, len(seconds), round(sum(seconds), 1)] for step, seconds in steps.items()],
    }


def _machine() -> str:
    """The processor, its cores and the memory, as far as the system tells; no name of the machine."""
    processor = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        models = [line for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        processor = models[0].partition(":")[2].strip() if models else processor
    memory = ""
    if "SC_PHYS_PAGES" in getattr(os, "sysconf_names", {}):
        memory = f", {os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.0f} GiB of memory"
    return f"{processor}, {os.cpu_count()} cores{memory}, {platform.system()} {platform.release()}"
