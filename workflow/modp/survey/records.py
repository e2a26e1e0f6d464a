"""Coded records: codes with their codebook, one-hot blocks, Parquet files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from modp.base.errors import InputError
from modp.survey.codebook import Codebook


@dataclass(frozen=True)
class Records:
    """Records and what their codes mean.

    codes : int16 (n, Q), the index of each answer among its question's categories
    codebook : of Q questions with K categories in all
    """

    codes: np.ndarray
    codebook: Codebook

    def __post_init__(self) -> None:
        if self.codes.ndim != 2 or self.codes.shape[1] != len(self.codebook.questions):
            raise ValueError(
                f"codes of shape {self.codes.shape} for {len(self.codebook.questions)} questions"
            )

    def __len__(self) -> int:
        """Number of records, n."""
        return len(self.codes)

    def __getitem__(self, rows: np.ndarray | slice) -> "Records":
        """Return some of the records."""
        return Records(self.codes[rows], self.codebook)

    def of(self, codes: np.ndarray) -> "Records":
        """Return other records under the same codebook."""
        return Records(codes, self.codebook)

    @property
    def block_starts(self) -> np.ndarray:
        """First column of each question's block and, last, K: shape (Q + 1,)."""
        return self.codebook.block_starts

    @property
    def columns(self) -> np.ndarray:
        """Each answer's one-hot column, int64 (n, Q)."""
        return columns(self.codes, self.block_starts)

    @property
    def one_hot(self) -> np.ndarray:
        """The binary response vectors R, float32 (n, K) (paper, equation 4)."""
        return one_hot(self.codes, self.block_starts)

    @classmethod
    def read(cls, path: Path, codebook: Codebook) -> "Records":
        """Read the records of a Parquet file; raise InputError if they are of another codebook."""
        return cls(read(path, codebook)[0], codebook)

    def write(self, path: Path, extra: Mapping[str, np.ndarray] | None = None) -> None:
        """Write the records as Parquet, followed by ``extra`` columns; see :func:`write`."""
        write(path, self.codes, self.codebook, extra)


def columns(codes: np.ndarray, block_starts: np.ndarray) -> np.ndarray:
    """Return each answer's one-hot column, of the shape (n, Q) of ``codes``."""
    return codes.astype(np.int64) + block_starts[:-1]


def one_hot(codes: np.ndarray, block_starts: np.ndarray) -> np.ndarray:
    """Return the binary response vectors R, float32 of shape (n, K) (paper, equation 4)."""
    binary = np.zeros((len(codes), int(block_starts[-1])), np.float32)
    np.put_along_axis(binary, columns(codes, block_starts), 1.0, axis=1)
    return binary


def write(
    path: Path, codes: np.ndarray, codebook: Codebook, extra: Mapping[str, np.ndarray] | None = None
) -> None:
    """Write coded records as Parquet.

    Each question is a dictionary column whose values are the codebook's category codes as text,
    all of them, used or not. ``extra`` columns (record, entropy_bits) follow the questions; where an
    array is masked they are blank.
    """
    arrays: list[pa.Array] = []
    for q, question in enumerate(codebook.questions):
        values = pa.array([c.code for c in question.categories], pa.string())
        arrays.append(pa.DictionaryArray.from_arrays(pa.array(codes[:, q], pa.int16()), values))
    names = [*codebook.names, *(extra or {})]
    arrays += [pa.array(v) for v in (extra or {}).values()]
    pq.write_table(pa.table(arrays, names=names), path, compression="zstd")


def read(
    path: Path, codebook: Codebook, extra: Sequence[str] = ()
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Read what :func:`write` wrote.

    Returns
    -------
    codes : int16 of shape (n, Q)
    extra : the named further columns

    Raises
    ------
    InputError
        if the file's questions or categories are not the codebook's
    """
    table = pq.read_table(path)
    if table.column_names[: len(codebook.names)] != codebook.names:
        raise InputError(f"{path}: its columns are not the questions of the codebook")
    codes = np.empty((table.num_rows, len(codebook.names)), np.int16)
    for q, question in enumerate(codebook.questions):
        column = table.column(q).unify_dictionaries().combine_chunks()
        codes[:, q] = _indices(column, [c.code for c in question.categories], path, question.name)
    return codes, {name: table.column(name).to_numpy() for name in extra}


def _indices(column: pa.DictionaryArray, categories: list[str], path: Path, name: str) -> np.ndarray:
    values = column.dictionary.to_pylist()
    strangers = sorted(set(values) - set(categories))
    if strangers or column.null_count:
        what = f"the categories {strangers}" if strangers else "blanks"
        raise InputError(f"{path}: {name} has {what}, which the codebook does not know")
    lookup = np.array([categories.index(v) for v in values], np.int16)
    return lookup[column.indices.to_numpy()]
