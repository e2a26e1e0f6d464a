"""Survey weights of the true records: how many people each stands for, and how sure that makes a number."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from modp.base.errors import InputError
from modp.base.rows import HELD, room, row_groups

WEIGHT, HOUSEHOLD, REPLICATE = "weight", "household", "replicate_"
"""Columns of weights.parquet: a record's weight, the number of its household, and its replicate weights."""


SINGLY = b"households"
"""Key of the file's metadata where households are not known."""


@dataclass(frozen=True)
class Weights:
    """Weights of n records.

    values : float64 (n,), not negative, some positive
    replicates : float32 (n, R), maybe negative; R is 0 where there are none
    households : int64 (n,), of which household (or other cluster) each record is, numbered from 0
    """

    values: np.ndarray
    replicates: np.ndarray
    households: np.ndarray

    def __len__(self) -> int:
        """Number of records, n."""
        return len(self.values)

    def __getitem__(self, rows: np.ndarray) -> "Weights":
        """Return the weights of some of the records."""
        return Weights(self.values[rows], self.replicates[rows], self.households[rows])

    @property
    def total(self) -> float:
        """How many people all records stand for."""
        return float(self.values.sum())

    @classmethod
    def read(cls, path: str | Path) -> "Weights | None":
        """Read what :func:`write` wrote; None where the data set names no weight."""
        columns = pq.read_schema(path).names
        if WEIGHT not in columns:
            return None
        names = [name for name in columns if name.startswith(REPLICATE)]
        design = pq.read_table(path, columns=[WEIGHT, HOUSEHOLD])
        replicates = room((len(design), len(names)), np.float32)
        with pq.ParquetFile(path) as file:
            for r, name in enumerate(names):
                replicates[:, r] = file.read([name])[name].to_numpy()
        return cls(design[WEIGHT].to_numpy(), replicates, design[HOUSEHOLD].to_numpy())


def checked(
    columns: Mapping[str, np.ma.MaskedArray], weight: str, replicates: Sequence[str], rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return weights and replicate weights as numbers that can be counted with.

    Parameters
    ----------
    columns : name -> float (n,), masked where blank
    weight, replicates : the names of the columns
    rows : (n,) where the records stand in the files, from 0, for messages

    Returns
    -------
    values : float64 (n,)
    replicates : float32 (n, R)

    Raises
    ------
    InputError
        naming column and row, if a weight is missing, not finite or negative, or all are zero; replicate
        weights may be negative, as some of Census's are
    """
    for name in (weight, *replicates):
        values = columns[name]
        known = np.ma.filled(values.astype(np.float64), np.nan)
        _require(np.isfinite(known), name, rows, "no weight")
        if name == weight:
            _require(known >= 0, name, rows, "a negative weight")
        if not known.any():
            raise InputError(f"{name}: all {len(rows):,} weights are zero, so the records stand for nobody")
    found = room((len(rows), len(replicates)), np.float32)
    for r, name in enumerate(replicates):
        found[:, r] = columns[name].data
    return np.asarray(columns[weight].data, np.float64), found


def _require(good: np.ndarray, name: str, rows: np.ndarray, what: str) -> None:
    bad = np.flatnonzero(~good)
    if len(bad):
        raise InputError(
            f"{name}: row {rows[bad[0]] + 1:,} of the records in the files has {what}, as {len(bad):,} of "
            "them do; correct it there, or take the key 'weight' (or 'replicates') out of the dataset YAML"
        )


def read_households(path: str | Path) -> np.ndarray:
    """Read of which household each record is, int64 (n,), from what :func:`write` wrote."""
    households: np.ndarray = pq.read_table(path, columns=[HOUSEHOLD])[HOUSEHOLD].to_numpy()
    return households


def are_named(path: str | Path) -> bool:
    """Whether the households are those that the data set names, not one for each record."""
    return SINGLY not in (pq.read_schema(path).metadata or {})


def write(path: str | Path, households: np.ndarray, weights: Weights | None, named: bool = True) -> None:
    """Write the design of a survey as Parquet: households and, where they are known, weights.

    Parameters
    ----------
    households : int64 (n,)
    weights : of the same n records
    named : whether the data set says which records are of one household; if not, each has its own
    """
    columns = {HOUSEHOLD: households}
    if weights is not None:
        columns[WEIGHT] = weights.values
        columns |= {f"{REPLICATE}{r + 1}": own for r, own in enumerate(weights.replicates.T)}
    kinds = {name: pa.from_numpy_dtype(column.dtype) for name, column in columns.items()}
    said = None if named else {SINGLY: b"each record has a household of its own"}
    schema = pa.schema(kinds | {HOUSEHOLD: pa.int64()}, said)
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for at in row_groups(len(households), HELD):
            group = {name: pa.array(column[at], schema.field(name).type) for name, column in columns.items()}
            writer.write_table(pa.table(group, schema))


def of_synthetic(path: str | Path, total: float) -> np.ndarray:
    """Return the weights of a synthetic table's records, float64 (m,).

    They are its column ``weight`` or, where it has none, all alike, so that their sum is ``total``.

    Raises
    ------
    InputError
        if one of the column is missing or negative, or all are zero
    """
    file = pq.ParquetFile(path)
    m = file.metadata.num_rows
    if WEIGHT not in file.schema_arrow.names:
        return np.full(m, total / max(m, 1))
    column = file.read(columns=[WEIGHT])[WEIGHT].to_numpy()
    values = {WEIGHT: np.ma.masked_invalid(column.astype(np.float64))}
    return checked(values, WEIGHT, (), np.arange(m))[0]
