"""Gather the metrics of a scattered data set: of every part, and of all together."""

import argparse
import json
from pathlib import Path

import pandas as pd

from modp.base.config import load
from modp.base.output import Log
from modp.cli.apart import Whole
from modp.cli.outputs import write_table
from modp.pums.places import STATES
from modp.pums.where import STATE, Dataset
from modp.summaries import parts
from modp.summaries.warnings import lines


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    parser.add_argument("--dataset", type=Path, required=True, help="the dataset YAML")
    parser.add_argument("--results", type=Path, required=True, help="its folder of results")
    parser.add_argument("--national", type=Path, required=True, help="metrics of all parts together")
    parser.add_argument("--metrics", type=Path, nargs="+", required=True, help="metrics, one file a part")
    parser.add_argument("--rows", nargs="+", required=True, help="of the accuracy table")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--folder", type=Path, required=True, help="for the table")


def run(options: argparse.Namespace, log: Log) -> None:
    """Read, gather, write."""
    dataset, whole = load(options.dataset, Dataset), Whole.of(options.results)
    found = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in options.metrics}
    together = json.loads(options.national.read_text(encoding="utf-8"))
    sizes = pd.Series(whole.train).value_counts()
    titles = {name: STATES[name][1] for name in found if dataset.scatter == STATE and name in STATES}
    table = parts.gathered(found, together, options.rows, sizes.to_dict(), titles)
    facts = {"scattered by": str(dataset.scatter), "parts": str(len(found)), "seed": str(options.seed)}
    heading = f"Parts — {dataset.title}"
    notes = [*parts.NOTES, *(line for name in found for line in _warned(options.results, name))]
    write_table(options.folder / "parts", table, heading, facts, notes, parts.printed(table))
    log(f"{options.folder / 'parts.md'}: {len(found)} parts")


def _warned(results: Path, part: str) -> list[str]:
    """What a part's run warns of."""
    path = results / "parts" / part / "tables" / "warnings.json"
    warned = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return [f"{part}: {line}" for line in lines(warned)]
