"""Compiled loops over records, and threads that share them."""

import functools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor


@functools.cache
def compiled(function: Callable) -> Callable:
    """Compile a kernel that releases the interpreter's lock; keep the result where that can be.

    A division by zero is what it is in NumPy: with an exception for it, loops get no vector instructions.

    Numba looks for a folder that it may write to beside the kernel's file, then in the user's cache. It is
    imported here, so that steps which call no kernel start without it.
    """
    from numba import njit

    try:
        return njit(nogil=True, cache=True, error_model="numpy")(function)
    except RuntimeError:
        return njit(nogil=True, error_model="numpy")(function)


def in_threads(work: Callable, parts: Sequence, threads: int) -> list:
    """Run ``work`` on every part; the kernels release the interpreter's lock."""
    if threads == 1 or len(parts) < 2:
        return [work(part) for part in parts]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, parts))
