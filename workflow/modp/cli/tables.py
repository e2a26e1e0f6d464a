"""Summarise all rows of a run: accuracy table, metrics, plot data."""

import argparse
import json
import platform
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from modp import accuracy, records, tables
from modp.cli.output import Log, written
from modp.cli.inputs import coded
from modp.crosstab import crosstab, structural_zeros
from modp.postprocess import violations
from modp.questions import Codebook


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    parser.add_argument("--records", type=Path, required=True)
    parser.add_argument("--codebook", type=Path, required=True)
    parser.add_argument("--rows", nargs="+", required=True, help="bootstrap, then model/variant …")
    parser.add_argument("--synthetic", type=Path, nargs="+", required=True, help="one file a row")
    parser.add_argument("--cells", type=Path, nargs="+", required=True, help="one file a row")
    parser.add_argument("--models", nargs="+", required=True)
    parser.add_argument("--histories", type=Path, nargs="+", required=True, help="one file a model")
    parser.add_argument("--title", required=True, help="the data set's title")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--table", type=Path, required=True)
    parser.add_argument("--markdown", type=Path, required=True)
    parser.add_argument("--metrics", type=Path, required=True)
    parser.add_argument("--plots", type=Path, required=True, help="folder for the data of DVC's plots")


def run(options: argparse.Namespace, log: Log) -> None:
    """Gather, summarise, write."""
    codes, codebook = coded(options.records, options.codebook)
    starts = codebook.block_starts
    zeros = structural_zeros(crosstab(codes, starts), starts)
    rows = [
        _row(name, synthetic, cells, codebook, zeros)
        for name, synthetic, cells in zip(options.rows, options.synthetic, options.cells, strict=True)
    ]
    table = tables.accuracy_table(rows, accuracy.cell_sets(starts))
    facts = {
        "data": f"{options.title}: {len(codes):,} records, {len(codebook.questions)} questions, "
        f"{starts[-1]} categories ({codebook.question_set})",
        "seed": str(options.seed),
        "machine": f"{platform.system()} {platform.machine()}, torch {version('torch')}, numpy {np.__version__}",
    }
    heading = f"Accuracy of the crosstabs — {options.title}"
    with written(options.table) as path:
        table.to_parquet(path, index=False)
    with written(options.markdown) as path:
        path.write_text(tables.accuracy_markdown(table, heading, facts), encoding="utf-8")
    with written(options.metrics) as path:
        path.write_text(json.dumps(tables.metrics(table), indent=1) + "\n")
    _write_plot_data(options, table)
    log(f"{options.markdown}: {len(rows)} rows")


def _row(name: str, synthetic: Path, cells: Path, codebook: Codebook, zeros: np.ndarray) -> tables.Row:
    model, _, variant = name.partition("/")
    wanted = ["entropy_bits"] if variant else []
    codes, extra = records.read(synthetic, codebook, wanted)
    bits = float(np.median(extra["entropy_bits"])) if variant and len(codes) else None
    log_ratios = pq.read_table(cells, columns=["log_ratio"])["log_ratio"].to_numpy()
    held = violations(codes, zeros, codebook.block_starts)
    return tables.Row(model, variant, log_ratios, len(codes), int(held.sum()), bits)


def _write_plot_data(options: argparse.Namespace, table: pd.DataFrame) -> None:
    """CSV copies for ``dvc plots``, which cannot read Parquet."""
    overall = table[table["cells"] == "all"].assign(
        row=lambda t: t["model"].str.cat(t["variant"], sep="/").str.rstrip("/")
    )
    with written(options.plots / "accuracy.csv") as path:
        overall.to_csv(path, index=False)
    for model, history in zip(options.models, options.histories, strict=True):
        with written(options.plots / "history" / f"{model}.csv") as path:
            pd.read_parquet(history).rename_axis("step").to_csv(path)
