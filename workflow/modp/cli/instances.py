"""Draw a model's instances, from which its rows are made, and write its gate's weights."""

import argparse
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from modp.base.output import Log, written
from modp.cli.inputs import ask_for_fitted, fitted, work_of, write_drawn


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    ask_for_fitted(parser)
    parser.add_argument("--out", type=Path, nargs="+", required=True, help="one file an instance")
    parser.add_argument("--gates", type=Path, required=True, help="one column a blade")


def run(options: argparse.Namespace, log: Log) -> None:
    """Draw, write."""
    records, family, model = fitted(options)
    shares = family.gates(model, records)
    with written(options.gates) as path:
        table = pa.table({f"blade_{b + 1}": shares[:, b] for b in range(shares.shape[1])})
        pq.write_table(table, path, compression="zstd")
    drawn = family.instances(model, records, len(options.out), work_of(options, log))
    for target, instance in zip(options.out, drawn, strict=True):
        write_drawn(target, instance, records.codebook)
    log(f"{options.name}: {len(drawn)} instances of {len(records):,} records drawn")
