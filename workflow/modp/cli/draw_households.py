"""Draw one row's whole households from their model."""

import argparse
import json
from pathlib import Path

import numpy as np

from modp.base.config import check
from modp.base.output import Log
from modp.cli.inputs import ask_for_coded
from modp.cli.whole import ask_for_whole, whole
from modp.models.family import Work
from modp.models.households import drawing, model
from modp.models.households.recipe import HouseholdsRow

RECORD = "record"
"""Of a synthetic household, the row of the true one at which its chain began."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    ask_for_coded(parser)
    ask_for_whole(parser)
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
    row = check(options.row, HouseholdsRow, f"row {options.name}")
    weights = model.load(options.weights, true.codebook)
    work = Work(options.name, options.seed, options.threads, log=log)
    drawn, record = drawing.draw(weights, true, row, work)
    drawn.write(options.out, options.home_out, {RECORD: record})
    differ = np.mean(drawn.persons.codes != true[record].persons.codes)
    log(
        f"{row.row}: {len(drawn):,} households of {len(drawn.persons):,} persons; {differ:.1%} of the "
        "persons' answers differ from those of the household that each began at"
    )
