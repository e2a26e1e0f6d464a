"""Compare every row's weighted crosstab with the true one, cell by cell."""

import argparse
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from modp.base.config import load
from modp.base.output import Log, written
from modp.cli.inputs import coded
from modp.cli.weighing import ask_for_rows, true_weights, weighed
from modp.crosstabs.weighted import crosstab, spread
from modp.measures import weighted
from modp.pums.where import Dataset


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    ask_for_rows(parser)
    parser.add_argument("--out", type=Path, required=True, help="one line a row and cell i <= j")


def run(options: argparse.Namespace, log: Log) -> None:
    """Sum the true weights once, with their errors; then every row's."""
    true = coded(options.records, options.codebook)
    weights, factor = true_weights(options, load(options.dataset, Dataset))
    sums = crosstab(true, weights.values)
    variance = factor * spread(true, weights.values, weights.replicates, options.threads)
    first, second = (place.astype(np.int16) for place in np.triu_indices(len(sums)))
    names = pa.array(true.codebook.columns)
    parts = []
    for row in weighed(options, true, weights):
        own, totals = crosstab(row.records, row.weights.values), (weights.total, row.weights.total)
        cells = weighted.cells(sums, variance, own, totals, len(true))
        of_row = pa.array(np.zeros(len(first), np.int16))
        parts.append(
            pa.table(
                {
                    "row": pa.DictionaryArray.from_arrays(of_row, pa.array([row.name])),
                    "first": pa.DictionaryArray.from_arrays(pa.array(first), names),
                    "second": pa.DictionaryArray.from_arrays(pa.array(second), names),
                    **vars(cells),
                }
            )
        )
        log(f"{row.name}: median |ln ratio| {np.median(np.abs(cells.log_ratio)):.4f} over all weighted cells")
    with written(options.out) as path:
        pq.write_table(pa.concat_tables(parts).unify_dictionaries(), path, compression="zstd")
