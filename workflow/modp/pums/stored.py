"""Raw columns that lie on the disk, of which one at a time is read."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from modp.base import rows
from modp.base.columns import Named, Raw
from modp.base.scratch import filling, scratch


class Stored(Named):
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
        kind = self._kind(name)
        words = pa.types.is_string(kind)
        values = np.empty(self.rows, object if words else kind.to_pandas_dtype())
        blank = np.empty(self.rows, bool)
        for at, column in self._groups(name):
            blank[at] = column.is_null()
            values[at] = _words(column) if words else pc.fill_null(column, 0)
        return np.ma.array(values, mask=blank)

    def numbered(self, name: str) -> np.ma.MaskedArray:
        """Return a column of words by the numbers of these, int32 (n,), from 0 on as they first appear."""
        numbers, runs = np.empty(self.rows, np.int32), 0
        marks = []
        for at, begins, blank, mark in self._runs(name):
            numbers[at] = np.where(blank, -1, runs + np.cumsum(begins) - 1)
            runs += len(mark)
            marks.append(mark)
        if runs > len(_distinct(marks)):
            numbers = self._numbered_apart(name)
        return np.ma.array(numbers, mask=numbers < 0)

    def marks(self, name: str) -> np.ndarray:
        """Return 64-bit hashes of a column's different words, in order: words of different ones differ."""
        return _distinct([mark for *_, mark in self._runs(name)])

    def marked(self, name: str, marks: np.ndarray) -> list[str]:
        """Return the different words of a column that have one of these hashes, sorted."""
        kinds = (
            np.array(pc.unique(column).drop_null().to_pylist(), object) for _, column in self._groups(name)
        )
        return sorted({word for some in kinds for word in some[np.isin(_marks(some), marks)]})

    @property
    def rows(self) -> int:
        """Number of rows, n."""
        return sum(table.metadata.num_rows for table in self.tables)

    def _kind(self, name: str) -> pa.DataType:
        if name not in self.names:
            raise KeyError(name)
        return self.tables[0].schema_arrow.field(name).type

    def _groups(self, name: str) -> Iterator[tuple[slice, pa.Array]]:
        """A column's rows, a row group at a time, and where they stand among all."""
        first = 0
        for table in self.tables:
            for group in range(table.num_row_groups):
                column = table.read_row_group(group, [name]).column(0).combine_chunks()
                yield slice(first, first + len(column)), column
                first += len(column)

    def _runs(self, name: str) -> Iterator[tuple[slice, np.ndarray, np.ndarray, np.ndarray]]:
        """Of each row group its rows, which begin a run of one word, which are blank, the runs' hashes."""
        before = None
        for at, column in self._groups(name):
            kinds, places = _numbered(column)
            begins = np.append(True, places[1:] != places[:-1]) & (places >= 0)
            begins[0] &= kinds[places[0]] != before
            yield at, begins, places < 0, _marks(kinds)[places[begins]]
            before = kinds[places[-1]]

    def _numbered_apart(self, name: str) -> np.ndarray:
        """What :meth:`numbered` returns, where rows of one word are not all side by side."""
        found = dict[str, int]()
        numbers = np.empty(self.rows, np.int32)
        for at, column in self._groups(name):
            kinds, places = _numbered(column)
            of = [found.setdefault(word, len(found)) for word in kinds[:-1].tolist()]
            numbers[at] = np.array([*of, -1], np.int32)[places]
        return numbers


def store(batches: Iterable[Raw]) -> list[pq.ParquetFile]:
    """Write a table that comes in batches of rows into a temporary file; return nothing if none comes.

    Raises
    ------
    InputError
        if there is no room for it on the disk
    """
    file = scratch()  # is read as long as the columns are used
    writer = None
    for group in _grouped(batches):
        with filling():  # around the writing alone: what is wrong with a batch is its reader's to say
            writer = writer or pq.ParquetWriter(file, group.schema, compression="lz4", write_statistics=False)
            writer.write_table(group)
    if writer is None:
        return []
    with filling():
        writer.close()
    return [pq.ParquetFile(file)]


def _grouped(batches: Iterable[Raw]) -> Iterator[pa.Table]:
    """Row groups of a table that comes in batches."""
    waiting: list[pa.RecordBatch] = []
    for values in batches:
        waiting.append(pa.RecordBatch.from_pydict({name: _arrow(column) for name, column in values.items()}))
        if sum(map(len, waiting)) >= rows.ROWS_AT_ONCE:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting)


def _arrow(values: np.ma.MaskedArray) -> pa.Array:
    kind = pa.string() if values.dtype == object else None
    return pa.array(values.data, kind, mask=np.ma.getmaskarray(values))


def _words(column: pa.Array) -> np.ndarray:
    """Words as objects (n,), each kind held once, blanks empty."""
    kinds, places = _numbered(column)
    kinds[-1] = ""
    found: np.ndarray = kinds[places]
    return found


def _numbered(column: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """The different words of a column, objects, None after them; and which each row has, -1 for none."""
    coded = column.dictionary_encode()
    kinds = np.array([*coded.dictionary.to_pylist(), None], object)
    return kinds, pc.fill_null(coded.indices, -1).to_numpy()


def _marks(words: np.ndarray) -> np.ndarray:
    """A 64-bit hash of each word, uint64."""
    return pd.util.hash_array(words, categorize=False)


def _distinct(marks: Sequence[np.ndarray]) -> np.ndarray:
    every = np.concatenate([np.zeros(0, np.uint64), *marks])
    every.sort()
    return every[np.append(True, every[1:] != every[:-1])[: len(every)]]
