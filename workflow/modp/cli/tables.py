"""Summarise all rows of a run: accuracy table, metrics, plot data."""

import argparse
import json
import platform
from importlib.metadata import version
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq

from modp import accuracy, tables
from modp.cli.output import Log, written
from modp.codebook import Codebook
from modp.config import load
from modp.pums.where import Dataset


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    parser.add_argument("--codebook", type=Path, required=True)
    parser.add_argument("--rows", nargs="+", required=True, help="bootstrap, then model/variant …")
    parser.add_argument("--cells", type=Path, nargs="+", required=True, help="one file a row")
    parser.add_argument("--summaries", type=Path, nargs="+", required=True, help="one file a row")
    parser.add_argument("--dataset", type=Path, required=True, help="the dataset YAML, for its title")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--table", type=Path, required=True)
    parser.add_argument("--markdown", type=Path, required=True)
    parser.add_argument("--metrics", type=Path, required=True)
    parser.add_argument("--plot", type=Path, required=True, help="CSV copy for DVC's plots")


def run(options: argparse.Namespace, log: Log) -> None:
    """Gather, summarise, write."""
    codebook = Codebook.from_json(options.codebook.read_text(encoding="utf-8"))
    starts = codebook.block_starts
    rows = [
        _row(name, cells, summary)
        for name, cells, summary in zip(options.rows, options.cells, options.summaries, strict=True)
    ]
    table = tables.accuracy_table(rows, accuracy.cell_sets(starts))
    title = load(options.dataset, Dataset).title
    facts = {
        "data": f"{title}: {rows[0].records:,} records, {len(codebook.questions)} questions, "
        f"{starts[-1]} categories ({codebook.question_set})",
        "seed": str(options.seed),
        "machine": f"{platform.system()} {platform.machine()}, "
        f"torch {version('torch')}, numpy {version('numpy')}",
    }
    heading = f"Accuracy of the crosstabs — {title}"
    with written(options.table) as path:
        table.to_parquet(path, index=False)
    with written(options.markdown) as path:
        path.write_text(tables.accuracy_markdown(table, heading, facts), encoding="utf-8")
    with written(options.metrics) as path:
        path.write_text(json.dumps(tables.metrics(table), indent=1) + "\n")
    with written(options.plot) as path:
        _named_rows(table).to_csv(path, index=False)
    log(f"{options.markdown}: {len(rows)} rows")


def _row(name: str, cells: Path, summary: Path) -> tables.Row:
    model, _, variant = name.partition("/")
    log_ratios = pq.read_table(cells, columns=["log_ratio"])["log_ratio"].to_numpy()
    return tables.Row(model, variant, log_ratios, **json.loads(summary.read_text()))


def _named_rows(table: pd.DataFrame) -> pd.DataFrame:
    """The rows over all cells, each under one name, which is what ``dvc plots`` can show."""
    names = table["model"].str.cat(table["variant"], sep="/").str.rstrip("/")
    return table.assign(row=names)[table["cells"] == "all"]
