"""Put a row's synthetic records of all parts of a scattered data set into one table."""

import argparse
from pathlib import Path

import numpy as np

from modp.base.errors import InputError
from modp.base.output import Log
from modp.cli.apart import Whole
from modp.cli.inputs import read_drawn, write_drawn
from modp.models.family import Drawn


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    parser.add_argument("--results", type=Path, required=True, help="the data set's folder of results")
    parser.add_argument("--parts", nargs="+", required=True, help="their names")
    parser.add_argument("--row", required=True, help="of the accuracy table")
    parser.add_argument("--out", type=Path, required=True)


def run(options: argparse.Namespace, log: Log) -> None:
    """Read, stack, write; causal partners become rows of all parts' true records."""
    whole = Whole.of(options.results)
    drawn = []
    for part in options.parts:
        path = options.results / "parts" / part / options.row / "synthetic.parquet"
        if not path.is_file():
            raise InputError(
                f"{path} is not there: delete {options.results / 'parts' / part}.json, run again"
            )
        rows = whole.rows(part)[0]
        total = None if whole.weights is None else whole.weights[rows].total
        drawn.append(_placed(read_drawn(path, whole.codebook), rows, total))
    codes, record, bits = ([getattr(d, name) for d in drawn] for name in ("codes", "record", "entropy_bits"))
    weights = [d.weights for d in drawn if d.weights is not None]
    table = Drawn(
        np.concatenate(codes),
        np.ma.concatenate(record),
        np.ma.concatenate(bits),
        np.concatenate(weights) if weights else None,
    )
    write_drawn(options.out, table, whole.codebook)
    log(f"{options.row}: {len(table.codes):,} records of {len(options.parts)} parts")


def _placed(drawn: Drawn, rows: np.ndarray, total: float | None) -> Drawn:
    """A part's table, with partners where they stand among all records.

    Where there are survey weights, its records stand for ``total`` people, which differ between parts.
    """
    unknown = np.ma.getmaskarray(drawn.record)
    partners = np.ma.array(rows[drawn.record.filled(0)], mask=unknown)
    weights = drawn.weights
    if weights is None and total is not None:
        weights = np.full(len(drawn.codes), total / max(len(drawn.codes), 1))
    return Drawn(drawn.codes, partners, drawn.entropy_bits, weights)
