"""Put everything about a run on whole households into two pages, for the office and to publish."""

import argparse
import json
import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup

from modp.base.config import load
from modp.base.output import Log, written
from modp.cli.inputs import ask_for_coded, source
from modp.cli.report import INTERNAL, PACKAGES, as_yaml, pictures, this_run
from modp.cli.whole import ask_for_whole, whole
from modp.measures.households import couples
from modp.pums.where import Dataset
from modp.report import explorer, holdings, page, plot, templates
from modp.summaries import households as summaries
from modp.summaries.printed import without_seed
from modp.summaries.register import TABLES
from modp.summaries.warnings import lines
from modp.survey.households import Households


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    ask_for_coded(parser)
    ask_for_whole(parser)
    parser.add_argument("--dataset", type=Path, required=True, help="the dataset YAML, for its title")
    parser.add_argument("--provenance", type=Path, nargs="+", required=True, help="one file a source")
    parser.add_argument("--tables", type=Path, nargs="+", required=True, help="Markdown, in the page's order")
    parser.add_argument("--households", type=Path, required=True, help="the table")
    parser.add_argument("--shares", type=Path, required=True, help="the table")
    parser.add_argument("--privacy", type=Path, required=True, help="the table")
    parser.add_argument(
        "--couples", type=Path, required=True, help="every cell of couples' crosstabs, by row"
    )
    parser.add_argument("--warnings", type=Path, required=True)
    parser.add_argument("--figures", type=Path, nargs="+", required=True, help="PNG files")
    parser.add_argument("--shown", required=True, help="JSON: figure -> caption, what it is of, if public")
    parser.add_argument("--parameters", type=Path, required=True, help="all parameters of the run, as JSON")
    parser.add_argument("--logs", type=Path, nargs="*", default=[], help="logs of the steps before")
    parser.add_argument("--out", type=Path, required=True, help="the page for the office, with true counts")
    parser.add_argument("--public", type=Path, required=True, help="the page without, which may be published")
    parser.add_argument("--run", type=Path, required=True, help="times and machine, read by the page")


def run(options: argparse.Namespace, log: Log) -> None:
    """Gather, pack, render, write: once with everything, once without what is not public."""
    true = whole(options)
    parameters = json.loads(options.parameters.read_text(encoding="utf-8"))
    warned = json.loads(options.warnings.read_text(encoding="utf-8"))
    near, told, left = (
        pd.read_parquet(path) for path in (options.households, options.shares, options.privacy)
    )
    best = summaries.closest(near, warned)
    common = _common(options, true) | {
        "best": best,
        "by_population": True,
        "headline": [page.Number(*parts) for parts in summaries.headline(best, near, told, left)]
        if best
        else [],
        "warnings": lines(warned),
        "points": plot.item(summaries.points(near, left), page.curves((), 1.0), "plot"),
    }
    sources = [source(path) for path in options.provenance]
    shown = pictures(options.figures, json.loads(options.shown))
    tables = [(path.read_text(encoding="utf-8"), TABLES[path.stem].public) for path in options.tables]
    for_the_office = {
        "public": False,
        "pictures": [picture for picture, _ in shown],
        "tables": [page.as_html(text) for text, _ in tables],
        "sources": sources,
        "seed": parameters["seed"],
        "parameters": as_yaml(parameters),
        "holdings": page.as_html(holdings.markdown(holdings.OF_HOUSEHOLDS)),
        "run_file": Path(os.path.relpath(options.run, options.out.parent)).as_posix(),
        "cells": _cells(options.couples, true) | {"first": 0},
    }
    to_publish = {
        "public": True,
        "pictures": [picture for picture, public in shown if public],
        "tables": [page.as_html(without_seed(text)) for text, public in tables if public],
        "sources": [known for known in sources if known["source"].startswith("https://")],
        "parameters": as_yaml({key: value for key, value in parameters.items() if key not in INTERNAL}),
    }
    for target, own in ((options.out, for_the_office), (options.public, to_publish)):
        with written(target) as path:
            path.write_text(templates.page(**common, **own), encoding="utf-8")
        log(f"{target}: {target.stat().st_size / 1e6:.1f} MB")
    with written(options.run) as path:
        path.write_text(f"window.modpRun = {json.dumps(this_run(options.logs))};\n", encoding="utf-8")


def _common(options: argparse.Namespace, true: Households) -> dict[str, Any]:
    """What both pages say whatever was measured."""
    persons, homes = true.codebook
    return {
        "title": load(options.dataset, Dataset).title,
        "households": f"{len(true):,} true households of {len(true.persons):,} persons, {len(persons.names)} "
        f"questions of persons and {len(homes.names)} of households, "
        f"{persons.block_starts[-1] + homes.block_starts[-1]} categories ({persons.question_set})",
        "notebook": False,
        "machine": f"{platform.system()} {platform.machine()}",
        "versions": {"Python": platform.python_version()} | {name: version(name) for name in PACKAGES},
        "library": Markup(plot.script()),
    }


def _cells(path: Path, true: Households) -> dict[str, Any]:
    """The crosstab of couples of every row, for the explorer."""
    table = pd.read_parquet(path)
    ours, rows = couples(true), {}
    for name, part in table.groupby("row", sort=False):
        columns = [part[key].to_numpy() for key in ("log_ratio", "z", "merit")]
        rows[str(name)] = explorer.Cells(part["synthetic"].to_numpy(), int(part["records"].iloc[0]), *columns)
    first = table[table["row"] == table["row"].iloc[0]]
    return explorer.content(ours.codebook, len(ours), first["true"].to_numpy(), rows)
