"""Put the risks that Anonymeter found beside the other attacks."""

import argparse
import json
from pathlib import Path

import pandas as pd

from modp.base.config import load
from modp.base.output import Log, written
from modp.pums.where import Dataset
from modp.summaries import attacks
from modp.summaries.printed import document


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    parser.add_argument("--dataset", type=Path, required=True, help="the dataset YAML, for its title")
    parser.add_argument("--attacks", type=Path, required=True, help="the table of attacks")
    parser.add_argument("--rows", nargs="+", required=True, help="names of the rows that were attacked")
    parser.add_argument("--risks", type=Path, nargs="+", required=True, help="JSON, one file a row")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--out", type=Path, nargs=2, required=True, help="Parquet, Markdown")


def run(options: argparse.Namespace, log: Log) -> None:
    """Read, join, write."""
    risks = {
        row: json.loads(path.read_text(encoding="utf-8"))
        for row, path in zip(options.rows, options.risks, strict=True)
    }
    others, found = pd.read_parquet(options.attacks), attacks.anonymeter_table(risks)
    parts = [*attacks.printed_attacks(others), attacks.printed_anonymeter(found)]
    facts = {"data": load(options.dataset, Dataset).title, "seed": str(options.seed)}
    notes = [*attacks.ATTACKS_NOTES, *attacks.ANONYMETER_NOTES]
    parquet, markdown = options.out
    with written(parquet) as path:
        pd.concat([others, found]).to_parquet(path, index=False)
    with written(markdown) as path:
        heading = f"Attacks, Anonymeter's among them — {facts['data']}"
        path.write_text(document(heading, facts, notes, parts), encoding="utf-8")
    log(f"{markdown}: {len(risks)} rows")
