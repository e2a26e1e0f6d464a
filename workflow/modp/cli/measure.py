"""Compare one synthetic table with the true records: every cell of the crosstab, and a summary."""

import argparse
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from modp.base import seeds
from modp.cli.inputs import ask_for_coded, coded
from modp.cli.output import Log, written
from modp.cli.zeros import ask_for_zeros, zeros_of
from modp.crosstabs.pairs import crosstab
from modp.draws.postprocess import violations
from modp.measures import accuracy, three_way
from modp.survey import records


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    ask_for_coded(parser)
    parser.add_argument("--synthetic", type=Path, required=True)
    ask_for_zeros(parser)
    parser.add_argument("--drawn", action="store_true", help="the table has an entropy for each record")
    parser.add_argument(
        "--paper-notebook", action="store_true", help="d and the figure of merit as in the author's notebook"
    )
    parser.add_argument("--cells", type=Path, required=True, help="one line a cell i <= j")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--triples", type=Path, required=True, help="one line a triple of questions")
    parser.add_argument("--summary", type=Path, required=True, help="what is counted by record")


def run(options: argparse.Namespace, log: Log) -> None:
    """Count, compare, write."""
    codes, codebook = coded(options.records, options.codebook)
    synthetic, extra = records.read(options.synthetic, codebook, ["entropy_bits"] if options.drawn else [])
    starts = codebook.block_starts
    first, second = np.triu_indices(int(starts[-1]))
    true_counts = crosstab(codes, starts)[first, second]
    counts = crosstab(synthetic, starts)[first, second]
    totals = len(codes), len(synthetic)
    judged = accuracy.scaled(counts, *totals, options.paper_notebook)
    log_ratio = accuracy.log_ratio(true_counts, judged)
    z = accuracy.z_value(true_counts, counts, *totals)
    names = pa.array(codebook.columns)
    table = pa.table(
        {
            "first": pa.DictionaryArray.from_arrays(pa.array(first, pa.int16()), names),
            "second": pa.DictionaryArray.from_arrays(pa.array(second, pa.int16()), names),
            "between": accuracy.cell_sets(starts)["between"],
            "true": true_counts,
            "synthetic": counts,
            "scaled": accuracy.scaled(counts, *totals),
            "log_ratio": log_ratio,
            "z": z,
            "merit": accuracy.figure_of_merit(log_ratio, z, options.paper_notebook),
        }
    )
    with written(options.cells) as path:
        pq.write_table(table, path, compression="zstd")
    # The same triples for every row, so that rows can be compared.
    some = three_way.chosen(codes.shape[1], seeds.generator(options.seed, "triples"))
    found = three_way.compare(codes, synthetic, codebook.sizes, some)
    with written(options.triples) as path:
        names = dict(enumerate(codebook.names))
        named = found.triples.replace(dict.fromkeys(("first", "second", "third"), names))
        named.to_parquet(path, index=False)
    held = violations(synthetic, zeros_of(options.zeros, codes, codebook), starts)
    summary = {
        "records": len(synthetic),
        "zero_records": int(held.sum()),
        "entropy_bits": float(np.median(extra["entropy_bits"])) if options.drawn and len(synthetic) else None,
        "three_way": found.cells.to_dict(),
    }
    with written(options.summary) as path:
        path.write_text(json.dumps(summary) + "\n")
    if len(synthetic):
        log(f"{options.synthetic}: median |ln ratio| {np.median(np.abs(log_ratio)):.4f} over all cells")
    else:
        log(f"{options.synthetic} holds no records: every measure of it is undefined (NaN)")
