"""Draw one row's whole households from their model."""

import argparse
import json
from pathlib import Path

import numpy as np

from modp.base.config import check
from modp.base.output import Log
from modp.cli.inputs import ask_for_coded, ask_for_model, recipe_of
from modp.cli.whole import ask_for_whole, whole
from modp.models.family import Work

RECORD = "record"
"""Of a synthetic household, the row of the true one at which its chain began; blank for none."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    ask_for_coded(parser)
    ask_for_whole(parser)
    ask_for_model(parser)
    parser.add_argument("--name", required=True, help="of the row, in params.yaml")
    parser.add_argument("--row", type=json.loads, required=True, help="the row, as JSON")
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True, help="for the persons")
    parser.add_argument("--home-out", type=Path, required=True, help="for their households")


def run(options: argparse.Namespace, log: Log) -> None:
    """Draw, write."""
    true = whole(options)
    family, _ = recipe_of(options)
    row = check(options.row, family.row, f"row {options.name}")
    model = family.load(options.weights, true.codebook)
    work = Work(options.name, options.seed, options.threads, log=log)
    drawn, record = family.draw_whole(model, true, row, work)
    drawn.write(options.out, options.home_out, {RECORD: record})
    said = "none began at a true one"
    if not np.ma.is_masked(record):
        differ = np.mean(drawn.persons.codes != true[record].persons.codes)
        said = f"{differ:.1%} of the persons' answers differ from those of the household that each began at"
    log(f"{row.row}: {len(drawn):,} households of {len(drawn.persons):,} persons; {said}")


def partners(column: np.ndarray) -> np.ma.MaskedArray:
    """Return the rows of true households that were read from the column ``RECORD``, masked for none."""
    known = np.ma.masked_invalid(column.astype(np.float64))
    return np.ma.array(known.filled(0).astype(np.int64), mask=np.ma.getmaskarray(known))
