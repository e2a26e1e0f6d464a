"""Measure in how large a crowd the records of one synthetic table hide."""

import argparse
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from modp.base import seeds
from modp.cli.inputs import ask_for_coded, coded
from modp.cli.output import Log, written
from modp.measures import crowds
from modp.survey import records

RANKED = 10_000
"""Synthetic records whose causal partner is ranked, chosen at random if there are more."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    ask_for_coded(parser)
    parser.add_argument("--synthetic", type=Path, required=True)
    parser.add_argument("--row", required=True, help="model/variant")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True, help="one line a synthetic record")


def run(options: argparse.Namespace, log: Log) -> None:
    """Count the crowds, rank the partners."""
    codes, codebook = coded(options.records, options.codebook)
    synthetic, extra = records.read(options.synthetic, codebook, ["record", "entropy_bits"])
    partner = np.ma.masked_invalid(extra["record"].astype(np.float64))
    known = np.flatnonzero(~np.ma.getmaskarray(partner))
    record = partner.filled(0).astype(np.int64)
    rng = seeds.generator(options.seed, "ranked", options.row)
    chosen = np.sort(rng.permutation(known)[:RANKED])
    ranks, backwards = np.zeros((2, len(synthetic)), np.int64)
    ranks[chosen] = crowds.causal_rank(codes, synthetic, record, chosen)
    backwards[chosen] = crowds.causal_rank(codes, synthetic, record, chosen, backwards=True)
    table = {
        "record": pa.array(record, mask=np.ma.getmaskarray(partner)),
        "entropy_bits": extra["entropy_bits"],
        "multiplicity": pa.array(crowds.multiplicity(codes)[record], mask=np.ma.getmaskarray(partner)),
        "causal_rank": pa.array(ranks, mask=ranks == 0),
        "causal_rank_backwards": pa.array(backwards, mask=ranks == 0),
    }
    with written(options.out) as path:
        pq.write_table(pa.table(table), path, compression="zstd")
    if len(chosen):
        nearest = np.mean(ranks[chosen] == 1)
        log(f"{options.row}: the nearest true record is the causal one for {nearest:.1%}")
