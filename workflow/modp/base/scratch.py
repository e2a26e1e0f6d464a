"""Files in the folder for temporary ones, which have no name and go when they are closed."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from modp.base.errors import InputError
from modp.base.output import room_for


@contextmanager
def filling() -> Iterator[None]:
    """Raise InputError, with what to do, where the block finds no room for a temporary file."""
    try:
        folder = tempfile.gettempdir()
    except FileNotFoundError as failure:
        raise InputError(
            f"no temporary file can be made ({failure.strerror}): let TMPDIR name a folder with room"
        ) from None
    with room_for(Path(folder)):
        yield


def scratch() -> IO[bytes]:
    """Open a new temporary file; raise InputError as :func:`filling` does."""
    with filling():
        return tempfile.TemporaryFile(prefix="modp-")
