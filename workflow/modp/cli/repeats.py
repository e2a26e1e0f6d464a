"""Gather the metrics of a run and of its repeats: mean and standard error of each."""

import argparse
import json
from pathlib import Path

from modp.base.config import load
from modp.base.output import Log, written
from modp.pums.where import Dataset
from modp.summaries import repeats, tables


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    parser.add_argument("--metrics", type=Path, nargs="+", required=True, help="one file a run")
    parser.add_argument("--dataset", type=Path, required=True, help="the dataset YAML, for its title")
    parser.add_argument("--seed", type=int, required=True, help="of the first run; the others follow")
    parser.add_argument("--folder", type=Path, required=True, help="for the table")


def run(options: argparse.Namespace, log: Log) -> None:
    """Read, gather, write."""
    table = repeats.gathered([json.loads(path.read_text(encoding="utf-8")) for path in options.metrics])
    runs = len(options.metrics)
    facts = {"seeds": ", ".join(str(options.seed + number) for number in range(runs))}
    notes = [] if runs > 1 else ["one run, so no standard errors: set 'seeds' in params.yaml"]
    heading = f"Repeats — {load(options.dataset, Dataset).title}"
    parts = repeats.printed(table)
    with written(options.folder / "repeats.parquet") as path:
        table.to_parquet(path, index=False)
    with written(options.folder / "repeats.md") as path:
        path.write_text(tables.document(heading, facts, notes, parts), encoding="utf-8")
    with written(options.folder / "repeats.tex") as path:
        path.write_text("\n".join(part.latex() for part in parts), encoding="utf-8")
    log(f"{options.folder / 'repeats.md'}: {runs} run(s)")
