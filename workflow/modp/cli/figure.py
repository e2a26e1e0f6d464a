"""Draw one figure as PNG and PDF."""

import argparse
from pathlib import Path

import pandas as pd

from modp.base.output import Log, written
from modp.figures import registry, style
from modp.figures.given import Given, Published
from modp.survey.codebook import Codebook


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    parser.add_argument("--kind", choices=list(registry.KINDS), required=True)
    parser.add_argument("--title", required=True, help="the data set's title")
    parser.add_argument("--codebook", type=Path, required=True)
    parser.add_argument("--published", type=Path, nargs="?", help="the paper's numbers, where they are shown")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--names", nargs="*", default=[], help="the rows or models that it shows")
    parser.add_argument("--inputs", type=Path, nargs="+", required=True, help="what its kind reads, in order")
    parser.add_argument("--out", type=Path, nargs="+", required=True, help="the files, by their endings")


def run(options: argparse.Namespace, log: Log) -> None:
    """Draw the figure once and write it in every format."""
    given = Given(
        options.title,
        options.names,
        [_frame(path) for path in options.inputs],
        Codebook.from_json(options.codebook.read_text(encoding="utf-8")),
        options.seed,
        _published(options.published) if options.published else {},
    )
    figure = registry.KINDS[options.kind].function()(given)
    style.settle(figure)
    for target in options.out:
        with written(target) as path:
            style.save(figure, path)
    style.close(figure)
    log(f"{options.out[0].stem} drawn")


def _frame(path: Path) -> pd.DataFrame:
    return pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path)


def _published(path: Path) -> Published:
    # Here, because few figures need it and it takes a tenth of a second.
    from modp.base.config import read_yaml

    return read_yaml(path)
