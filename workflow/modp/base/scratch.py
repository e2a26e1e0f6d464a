"""Files in the folder for temporary ones, which have no name and go when they are closed."""

import errno
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from modp.base.errors import InputError
from modp.base.output import room_for

TOLD = {
    errno.ENOENT: "let TMPDIR name a folder with room",
    errno.EMFILE: "let processes have more files open (ulimit -n)",
    errno.ENFILE: "too many files are open on this machine",
    errno.ENOMEM: "let the process have more memory (ulimit -v)",
}
"""What to do where a temporary file cannot be made, or mapped into memory, though there is room for it."""


@contextmanager
def filling() -> Iterator[None]:
    """Raise InputError, with what to do, where the block finds no room for a temporary file."""
    try:
        with room_for(Path(tempfile.gettempdir())):
            yield
    except OSError as failure:
        if failure.errno not in TOLD:
            raise
        said = f"no temporary file can be used: {failure.strerror}; {TOLD[failure.errno]}"
        raise InputError(said) from None


def scratch() -> IO[bytes]:
    """Open a new temporary file; raise InputError as :func:`filling` does."""
    with filling():
        return tempfile.TemporaryFile(prefix="modp-")
