"""Tables that come in batches of rows, and are read a column at a time."""

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from modp.base import rows
from modp.base.scratch import filling, scratch


def spilled(batches: Iterable[pa.RecordBatch]) -> pq.ParquetFile | None:
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
        return None
    with filling():
        writer.close()
    return pq.ParquetFile(file)


def _grouped(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Row groups of a table that comes in batches."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(map(len, waiting)) >= rows.ROWS_AT_ONCE:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting)
