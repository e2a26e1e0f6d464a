"""List the parts that a scattered data set's records are taken apart in."""

import argparse
import json
from pathlib import Path

from modp.base.output import Log, written
from modp.cli import apart


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    parser.add_argument("--parts", type=Path, required=True, help="of which part each record is")
    parser.add_argument("--out", type=Path, required=True, help="the parts' names, as JSON")


def run(options: argparse.Namespace, log: Log) -> None:
    """Read, list those that models can learn from, write."""
    train, _ = apart.read(options.parts)
    names = sorted(set(train))
    with written(options.out) as path:
        path.write_text(json.dumps(names) + "\n", encoding="utf-8")
    log(f"{len(names):,} parts")
