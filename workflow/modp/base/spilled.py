"""Tables that come in batches of rows, and are read a column at a time."""

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from modp.base import rows
from modp.base.output import room_for


def spilled(batches: Iterable[pa.RecordBatch]) -> pq.ParquetFile | None:
    """Write a table that comes in batches of rows into a temporary file; return nothing if none comes.

    Raises
    ------
    InputError
        if there is no room for it on the disk
    """
    file = tempfile.TemporaryFile(prefix="modp-")  # noqa: SIM115 - is read as long as the columns are used
    writer = None
    for group in _grouped(batches):
        with _room():  # around the writing alone: what is wrong with a batch is its reader's to say
            writer = writer or pq.ParquetWriter(file, group.schema, compression="lz4")
            writer.write_table(group)
    if writer is None:
        return None
    with _room():
        writer.close()
    return pq.ParquetFile(file)


def _room() -> AbstractContextManager[None]:
    return room_for(Path(tempfile.gettempdir()))


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
