"""Rows of tables that may be larger than the memory: so many at once, the rest in files."""

import math
import mmap
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from modp.base.output import room_for

ROWS_AT_ONCE = 1 << 18
"""Rows of a row group: so many are held a second time while a file is read or written."""

HELD = 1 << 20
"""Rows that are held in memory; those of larger tables lie in a file."""


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
    with room_for(Path(tempfile.gettempdir())), tempfile.TemporaryFile(prefix="modp-") as file:
        file.truncate(size)
        if hasattr(os, "posix_fallocate"):  # else a write would find out that the disk is full, and be killed
            os.posix_fallocate(file.fileno(), 0, size)
        mapped = mmap.mmap(file.fileno(), size)
    return np.frombuffer(mapped, kind).reshape(shape)
