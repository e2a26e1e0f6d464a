"""Gather the metrics of a run and of its repeats: mean and standard error of each."""

import argparse
import json
from pathlib import Path

from modp.base.config import load
from modp.base.output import Log
from modp.cli.outputs import write_table
from modp.measures.table import NOTEBOOK, PAPER_NOTEBOOK
from modp.pums.where import Dataset
from modp.summaries import repeats


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    parser.add_argument("--metrics", type=Path, nargs="+", required=True, help="one file a run")
    parser.add_argument("--dataset", type=Path, required=True, help="the dataset YAML, for its title")
    parser.add_argument("--seed", type=int, required=True, help="of the first run; the others follow")
    parser.add_argument("--folder", type=Path, required=True, help="for the table")


def run(options: argparse.Namespace, log: Log) -> None:
    """Read, gather, write."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in options.metrics]
    as_notebook = [run.pop(PAPER_NOTEBOOK, False) for run in found]
    table = repeats.gathered(found)
    runs = len(found)
    facts = {"seeds": ", ".join(str(options.seed + number) for number in range(runs))}
    notes = [] if runs > 1 else ["one run, so no standard errors: set 'seeds' in params.yaml"]
    notes += [NOTEBOOK] if any(as_notebook) else []
    heading = f"Repeats — {load(options.dataset, Dataset).title}"
    write_table(options.folder / "repeats", table, heading, facts, notes, repeats.printed(table))
    log(f"{options.folder / 'repeats.md'}: {runs} run(s)")
