"""Draw one figure as PNG and PDF."""

import argparse
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
from matplotlib.figure import Figure

from modp.cli.output import Log, written
from modp.config import load
from modp.figures import crosstabs, overview, style, training
from modp.pums.where import Dataset


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    parser.add_argument("--kind", choices=list(KINDS), required=True)
    parser.add_argument("--dataset", type=Path, required=True, help="the dataset YAML, for its title")
    parser.add_argument("--table", type=Path, required=True, help="the accuracy table")
    parser.add_argument("--names", nargs="*", default=[], help="rows or models, one for each input")
    parser.add_argument("--inputs", type=Path, nargs="*", default=[], help="cells or histories")
    parser.add_argument("--out", type=Path, nargs="+", required=True, help="the files, by their endings")


def run(options: argparse.Namespace, log: Log) -> None:
    """Draw the figure once and write it in every format."""
    figure = KINDS[options.kind](options, load(options.dataset, Dataset).title)
    style.settle(figure)
    for target in options.out:
        with written(target) as path:
            style.save(figure, path)
    log(f"{options.out[0].stem} drawn")


def _crosstabs(options: argparse.Namespace, title: str) -> Figure:
    table = pd.read_parquet(options.table)
    table = table[table["cells"] == "all"].set_index(["model", "variant"])
    panels = []
    for name, path in zip(options.names, options.inputs, strict=True):
        cells = pq.read_table(path).to_pandas()
        model, _, variant = name.partition("/")
        line = table.loc[(model, variant)]
        panels.append(
            crosstabs.Panel(
                name.replace("/", ", "),
                cells["true"].to_numpy(),
                cells["scaled"].to_numpy(),
                (cells["first"].astype(str) == cells["second"].astype(str)).to_numpy(),
                int(table.loc[("bootstrap", "")]["records"]),
                (line["median"], line["mean_abs"], line["rms"]),
                line["ratio_median"],
            )
        )
    return crosstabs.draw(panels, title)


def _overview(options: argparse.Namespace, title: str) -> Figure:
    return overview.draw(
        pd.read_parquet(options.table), f"{title}\ndistance of each variant from the ideal (1×)"
    )


def _training(options: argparse.Namespace, title: str) -> Figure:
    histories = {name: pd.read_csv(path) for name, path in zip(options.names, options.inputs, strict=True)}
    return training.draw(histories, f"{title}: training")


KINDS = {"crosstabs": _crosstabs, "overview": _overview, "training": _training}
