"""Compare one synthetic table's crosstab with the true one, cell by cell."""

import argparse
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from modp import accuracy, records
from modp.cli.output import Log, written
from modp.cli.inputs import coded
from modp.crosstab import crosstab


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    parser.add_argument("--records", type=Path, required=True)
    parser.add_argument("--codebook", type=Path, required=True)
    parser.add_argument("--synthetic", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)


def run(options: argparse.Namespace, log: Log) -> None:
    """Write one line for every cell i <= j."""
    codes, codebook = coded(options.records, options.codebook)
    synthetic, _ = records.read(options.synthetic, codebook)
    starts = codebook.block_starts
    first, second = np.triu_indices(int(starts[-1]))
    true_counts = crosstab(codes, starts)[first, second]
    counts = crosstab(synthetic, starts)[first, second]
    scaled = accuracy.scaled(counts, len(codes), len(synthetic))
    log_ratio = accuracy.log_ratio(true_counts, scaled)
    z = accuracy.z_value(true_counts, counts, len(codes), len(synthetic))
    names = pa.array(codebook.columns)
    table = pa.table(
        {
            "first": pa.DictionaryArray.from_arrays(pa.array(first, pa.int16()), names),
            "second": pa.DictionaryArray.from_arrays(pa.array(second, pa.int16()), names),
            "between": accuracy.cell_sets(starts)["between"],
            "true": true_counts,
            "synthetic": counts,
            "scaled": scaled,
            "log_ratio": log_ratio,
            "z": z,
            "merit": accuracy.figure_of_merit(log_ratio, z),
        }
    )
    with written(options.out) as path:
        pq.write_table(table, path, compression="zstd")
    if len(synthetic):
        log(f"{options.synthetic}: median |ln ratio| {np.median(np.abs(log_ratio)):.4f} over all cells")
    else:
        log(f"{options.synthetic} holds no records: every measure of it is undefined (NaN)")
