"""Draw one row of the accuracy table from its model."""

import argparse
import json
from pathlib import Path

import numpy as np

from modp.base.config import check
from modp.base.output import Log
from modp.cli.inputs import ask_for_fitted, fitted, read_drawn, work_of, write_drawn


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    ask_for_fitted(parser)
    parser.add_argument("--row", type=json.loads, required=True, help="the row, as JSON")
    parser.add_argument("--instances", type=Path, nargs="*", default=[], help="in order, if there are any")
    parser.add_argument("--out", type=Path, required=True)


def run(options: argparse.Namespace, log: Log) -> None:
    """Draw, write."""
    records, family, model = fitted(options)
    row = check(options.row, family.row, f"row {options.name}")
    instances = [read_drawn(path, records.codebook) for path in options.instances]
    drawn = family.draw(model, records, row, work_of(options, log), instances)
    write_drawn(options.out, drawn, records.codebook)
    partners = drawn.record.compressed()
    if len(partners):
        differ = np.mean(drawn.codes[~np.ma.getmaskarray(drawn.record)] != records.codes[partners])
        log(f"{row.row}: {len(drawn.codes):,} records; {differ:.1%} of the answers differ from the partner's")
    else:
        log(f"{row.row}: {len(drawn.codes):,} records that no true record was the start of")
