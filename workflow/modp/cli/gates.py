"""Write the weights that a model's gate gives its blades, record by record."""

import argparse
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from modp.cli.inputs import ask_for_coded, coded
from modp.cli.output import Log, written
from modp.models.blades import network as blades
from modp.survey import records

ROWS_AT_ONCE = 1 << 14


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    ask_for_coded(parser)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="one column a blade")


def run(options: argparse.Namespace, log: Log) -> None:
    """Compute the true records' gate weights."""
    codes, codebook = coded(options.records, options.codebook)
    model = blades.load(options.weights, codebook)
    torch.set_num_threads(1)  # sums in one order, whatever the machine's cores
    parts = []
    with torch.no_grad():
        for first in range(0, len(codes), ROWS_AT_ONCE):
            binary = records.one_hot(codes[first : first + ROWS_AT_ONCE], codebook.block_starts)
            parts.append(model.gate(torch.from_numpy(binary)).numpy())
    shares = np.concatenate(parts)
    with written(options.out) as path:
        table = pa.table({f"blade_{b + 1}": shares[:, b] for b in range(shares.shape[1])})
        pq.write_table(table, path, compression="zstd")
    log(f"{options.out}: weights of {shares.shape[1]} blades")
