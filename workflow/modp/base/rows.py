"""Rows of tables that may be larger than the memory: so many at once, the rest in files."""

import math
import mmap
import os
from collections.abc import Iterator
from weakref import WeakValueDictionary, finalize

import numpy as np

from modp.base.scratch import filling, scratch

ROWS_AT_ONCE = 1 << 18
"""Rows of a row group: so many are held a second time while a file is read or written."""

HELD = 1 << 20
"""Rows that are held in memory; those of larger tables lie in a file."""

TOGETHER = 64
"""Columns of one length that share a file: of files a process may have open about a thousand."""


def row_groups(rows: int, at_once: int | None = None) -> Iterator[slice]:
    """Yield the rows of each row group of a table, of a single one without rows where there are none.

    Parameters
    ----------
    at_once : rows of a group; ``ROWS_AT_ONCE`` if not given
    """
    at_once = at_once or ROWS_AT_ONCE
    for first in range(0, max(rows, 1), at_once):
        yield slice(first, min(first + at_once, rows))


class _Shelf(mmap.mmap):
    """A temporary file, mapped into memory, with places of one size.

    It goes with the last array that lies in it.
    """

    descriptor: int
    each: int
    left: int

    @classmethod
    def opened(cls, size: int, places: int) -> "_Shelf":
        """Make one of so many places of ``size`` bytes, none of which takes room on the disk yet."""
        with filling(), scratch() as file:
            file.truncate(size * places)
            shelf = cls(file.fileno(), size * places)
            shelf.descriptor, shelf.each, shelf.left = os.dup(file.fileno()), size, places
        finalize(shelf, os.close, shelf.descriptor)
        return shelf

    def array(self, kind: type[np.generic]) -> np.ndarray:
        """Return the next place as an array; raise InputError if there is no room for it on the disk."""
        first = len(self) - self.left * self.each
        if hasattr(os, "posix_fallocate"):  # else a write would find out that the disk is full, and be killed
            with filling():
                os.posix_fallocate(self.descriptor, first, self.each)
        self.left -= 1
        return np.frombuffer(self, kind, self.each // np.dtype(kind).itemsize, first)


_shelves: WeakValueDictionary[int, _Shelf] = WeakValueDictionary()


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
    return _Shelf.opened(size, 1).array(kind).reshape(shape)


def column_room(rows: int) -> np.ndarray:
    """Return int32 of shape (rows,), to be filled: one of many columns of a table, which share files.

    See :func:`room`.
    """
    if rows <= HELD:
        return np.empty(rows, np.int32)
    size = rows * np.dtype(np.int32).itemsize
    shelf = _shelves.get(size)
    if shelf is None or not shelf.left:
        shelf = _shelves[size] = _Shelf.opened(size, TOGETHER)
    return shelf.array(np.int32)
