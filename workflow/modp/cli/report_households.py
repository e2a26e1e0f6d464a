"""Put everything about a run on whole households into two pages, for the office and to publish."""

import argparse
import json
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup

from modp.base.config import check, load
from modp.base.output import Log
from modp.cli.inputs import ask_for_coded
from modp.cli.report import PACKAGES, write_pages
from modp.cli.whole import ask_for_whole, whole
from modp.measures.households import couples
from modp.models.registry import family
from modp.pums.where import Dataset
from modp.report import explorer, holdings, page, plot
from modp.summaries import households as summaries
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
        "guaranteed": _guaranteed(parameters["models"]),
        "best": best,
        "by_population": True,
        "headline": [page.Number(*parts) for parts in summaries.headline(best, near, told, left)]
        if best
        else [],
        "warnings": lines(warned),
        "points": plot.item(summaries.points(near, left), page.curves((), 1.0), "plot"),
    }
    cells = _cells(options.couples, true) | {"first": 0}
    write_pages(options, parameters, common, cells, holdings.markdown(holdings.OF_HOUSEHOLDS), log)


def _common(options: argparse.Namespace, true: Households) -> dict[str, Any]:
    """What both pages say whatever was measured."""
    persons, homes = true.codebook
    return {
        "title": load(options.dataset, Dataset).title,
        "guarantees": [],
        "households": f"{len(true):,} true households of {len(true.persons):,} persons, {len(persons.names)} "
        f"questions of persons and {len(homes.names)} of households, "
        f"{persons.block_starts[-1] + homes.block_starts[-1]} categories ({persons.question_set})",
        "notebook": False,
        "machine": f"{platform.system()} {platform.machine()}",
        "versions": {"Python": platform.python_version()} | {name: version(name) for name in PACKAGES},
        "library": Markup(plot.script()),
    }


def _guaranteed(models: Mapping[str, Any]) -> dict[str, list[str]]:
    """What is formally guaranteed of models, by their names; nothing of those without."""
    found = {}
    for name, content in models.items():
        of = family(content["family"])
        found[name] = of.guarantee(check(content, of.recipe, f"model {name}"))
    return {name: sentences for name, sentences in found.items() if sentences}


def _cells(path: Path, true: Households) -> dict[str, Any]:
    """The crosstab of couples of every row, for the explorer."""
    table = pd.read_parquet(path)
    ours, rows = couples(true), {}
    for name, part in table.groupby("row", sort=False):
        columns = [part[key].to_numpy() for key in ("log_ratio", "z", "merit")]
        rows[str(name)] = explorer.Cells(part["synthetic"].to_numpy(), int(part["records"].iloc[0]), *columns)
    first = table[table["row"] == table["row"].iloc[0]]
    return explorer.content(ours.codebook, len(ours), first["true"].to_numpy(), rows)
