"""Raw columns that lie on the disk, of which one at a time is read: files of millions of rows have many."""

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from modp.base.output import room_for

ROWS_AT_ONCE = 1 << 18
"""Rows of a row group: so many of all columns are held before they are written."""

Raw = Mapping[str, np.ma.MaskedArray]
"""Column -> its answers (n,), masked where blank."""


class _Named(Raw):
    """Columns by their names, of which none is looked at before it is asked for."""

    names: Sequence[str]

    def __contains__(self, name: object) -> bool:
        """Whether there is a column of the name."""
        return name in self.names

    def __iter__(self) -> Iterator[str]:
        """The names of the columns."""
        return iter(self.names)

    def __len__(self) -> int:
        """Number of columns."""
        return len(self.names)


@dataclass(frozen=True)
class Made(_Named):
    """Columns that are made anew each time that one is asked for.

    names : of all columns
    make : a name -> its answers (n,)
    """

    names: Sequence[str]
    make: Callable[[str], np.ma.MaskedArray]

    def __getitem__(self, name: str) -> np.ma.MaskedArray:
        """Return a column; raise KeyError if there is none of the name."""
        if name not in self.names:
            raise KeyError(name)
        return self.make(name)


class Stored(_Named):
    """Columns of one or several tables, row below row, in temporary files that go with it.

    They are those that all tables have: whole numbers, int32, fractions, float64, or words, str objects.
    """

    def __init__(self, tables: Sequence[pq.ParquetFile]):
        """Take the tables that :func:`store` has stored, in the order of their rows."""
        self.tables = tables
        everywhere = [set(table.schema_arrow.names) for table in tables]
        names = tables[0].schema_arrow.names if tables else []
        self.names = [name for name in names if all(name in some for some in everywhere)]

    def __getitem__(self, name: str) -> np.ma.MaskedArray:
        """Read a column (n,); raise KeyError if there is none of the name."""
        column = self._column(name)
        if pa.types.is_dictionary(column.type):
            kinds, places = _numbered(column)
            words = np.append(np.array(kinds.to_pylist(), object), "")[places]
            return np.ma.array(words, mask=places < 0)
        blank = column.is_null().to_numpy()
        return np.ma.array(pc.fill_null(column, 0).to_numpy(), mask=blank)

    def numbered(self, name: str) -> np.ma.MaskedArray:
        """Return a column of words by the numbers of these, int32 (n,), from 0 on as they first appear."""
        _, places = _numbered(self._column(name))
        return np.ma.array(places, mask=places < 0)

    def kinds(self, name: str) -> pa.Array:
        """Return the different words of a column."""
        return _numbered(self._column(name))[0]

    def _column(self, name: str) -> pa.ChunkedArray:
        if name not in self.names:
            raise KeyError(name)
        kind = self.tables[0].schema_arrow.field(name).type
        chunks = [
            chunk.dictionary_encode() if pa.types.is_string(kind) else chunk
            for table in self.tables
            for group in range(table.num_row_groups)
            for chunk in table.read_row_group(group, [name]).column(0).chunks
        ]
        return pa.chunked_array(chunks)


def store(batches: Iterable[Raw]) -> list[pq.ParquetFile]:
    """Write a table that comes in batches of rows into a temporary file; return nothing if none comes.

    Raises
    ------
    InputError
        if there is no room for it on the disk
    """
    file = tempfile.TemporaryFile(prefix="modp-")  # noqa: SIM115 - is read as long as the columns are used
    with room_for(Path(tempfile.gettempdir())):
        writer = None
        for group in _grouped(batches):
            writer = writer or pq.ParquetWriter(file, group.schema, compression="lz4")
            writer.write_table(group)
        if writer is None:
            return []
        writer.close()
    return [pq.ParquetFile(file)]


def _grouped(batches: Iterable[Raw]) -> Iterator[pa.Table]:
    """Row groups of a table that comes in batches."""
    waiting: list[pa.RecordBatch] = []
    for values in batches:
        waiting.append(pa.RecordBatch.from_pydict({name: _arrow(column) for name, column in values.items()}))
        if sum(map(len, waiting)) >= ROWS_AT_ONCE:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting)


def _arrow(values: np.ma.MaskedArray) -> pa.Array:
    kind = pa.string() if values.dtype == object else None
    return pa.array(values.data, kind, mask=np.ma.getmaskarray(values))


def _numbered(column: pa.ChunkedArray) -> tuple[pa.Array, np.ndarray]:
    """The different words of a column, and which of them each row has, int32 (n,), -1 for none."""
    coded = column.unify_dictionaries().combine_chunks()
    return coded.dictionary, pc.fill_null(coded.indices, -1).to_numpy()
