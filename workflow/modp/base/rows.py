"""Rows of tables that may be larger than the memory: so many at once, the rest in files."""

import math
import mmap
import os
from collections.abc import Iterator

import numpy as np

from modp.base.scratch import filling, scratch

ROWS_AT_ONCE = 1 << 18
"""Rows of a row group: so many are held a second time while a file is read or written."""

HELD = 1 << 20
"""Rows that are held in memory; those of larger tables lie in a file."""

TOGETHER = 16
"""Columns of a table that share a file: a process may have only so many open, often a thousand."""


def row_groups(rows: int, at_once: int | None = None) -> Iterator[slice]:
    """Yield the rows of each row group of a table, of a single one without rows where there are none.

    Parameters
    ----------
    at_once : rows of a group; ``ROWS_AT_ONCE`` if not given
    """
    at_once = at_once or ROWS_AT_ONCE
    for first in range(0, max(rows, 1), at_once):
        yield slice(first, min(first + at_once, rows))


def room(shape: tuple[int, ...], kind: type[np.generic]) -> np.ndarray:
    """Return an array of a shape (rows, …) and a kind, to be filled.

    That of more than ``HELD`` rows lies in a temporary file, mapped into memory: where this is short, the
    system takes back what is not looked at.

    Raises
    ------
    InputError
        if there is no room for it on the disk
    """
    size = math.prod(shape) * np.dtype(kind).itemsize
    if shape[0] <= HELD or not size:
        return np.empty(shape, kind)
    return np.frombuffer(_mapped(size), kind).reshape(shape)


def column_rooms(rows: int, columns: int) -> Iterator[np.ndarray]:
    """Yield arrays, int32 of shape (rows,), to be filled: as many as a table has columns.

    They lie where :func:`room` lays them, some together in a file, which goes with the last of them.
    """
    for first in range(0, columns, TOGETHER):
        some = min(TOGETHER, columns - first)
        if rows <= HELD:
            yield from (np.empty(rows, np.int32) for _ in range(some))
        else:
            size = some * rows * np.dtype(np.int32).itemsize
            yield from np.frombuffer(_mapped(size), np.int32).reshape(some, rows)


def _mapped(size: int) -> mmap.mmap:
    """A new temporary file of so many bytes, mapped into memory."""
    with filling(), scratch() as file:
        file.truncate(size)
        if hasattr(os, "posix_fallocate"):  # else a write would find out that the disk is full, and be killed
            os.posix_fallocate(file.fileno(), 0, size)
        return mmap.mmap(file.fileno(), size)
