"""What steps put out: messages, and files that are whole or not there."""

import errno
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from modp.base.errors import InputError

FINISHED = re.compile(r"^(\S+) finished at (\S+) after ([\d.]+) s$", re.MULTILINE)

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of a write for which there is no room: on the disk, in a user's share of it, in a file."""

NUMBERED = re.compile(r"\b(?:errno|os error) (\d+)\b")
"""How libraries in other languages tell in words which error a write had."""


class Log:
    """Messages for a person, on the terminal and in the job's log file.

    A ``quiet`` one leaves the terminal alone.
    """

    def __init__(self, path: Path | None = None, quiet: bool = False):
        """Start a new log file at ``path``, if given."""
        self.path, self.quiet = path, quiet
        if path:
            with room_for(path):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("")

    def __call__(self, text: str) -> None:
        """Say ``text``."""
        if not self.quiet:
            print(text, file=sys.stderr, flush=True)
        self.only_file(text)

    def only_file(self, text: str) -> None:
        """Write ``text`` to the log file alone, for what would be too much on a terminal.

        A line for which there is no room is lost: what the step makes, or why it cannot, counts more.
        """
        if self.path:
            try:
                with self.path.open("a", encoding="utf-8") as file:
                    file.write(text + "\n")
            except OSError as failure:
                if without_room(failure) is None:
                    raise

    def finished(self, step: str, seconds: float) -> None:
        """Write into the log file alone when the step ended and how long it took."""
        ended = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        self.only_file(f"{step} finished at {ended} after {seconds:.1f} s")


def time_of(log: Path) -> tuple[str, str, float] | None:
    """Return step, end and seconds from the log file of a finished step, None if it has not finished."""
    if not log.is_file():
        return None
    found = FINISHED.findall(log.read_text(encoding="utf-8"))
    return (found[-1][0], found[-1][1], float(found[-1][2])) if found else None


def without_room(failure: BaseException | None) -> str | None:
    """Return in the system's words why there was no room for a write, None if it failed otherwise.

    Arrow and safetensors tell of errors in their messages alone.
    """
    while failure is not None:
        number = failure.errno if isinstance(failure, OSError) else None
        found = NUMBERED.search(str(failure))
        for known in (number, int(found[1]) if found else None):
            if known in NO_ROOM:
                return os.strerror(known)
        failure = failure.__cause__ or failure.__context__
    return None


@contextmanager
def room_for(path: Path) -> Iterator[None]:
    """Raise InputError, with what to do, where the block finds no room to write ``path``."""
    try:
        yield
    except InputError:
        raise
    except Exception as failure:
        reason = without_room(failure)
        if reason is None:
            raise
        raise InputError(
            f"{path} cannot be written: {reason}. Make room there, or let the results lie on another disk, "
            "and run again; nothing half-written was left"
        ) from None


@contextmanager
def written(path: Path) -> Iterator[Path]:
    """Give a temporary path beside ``path`` and rename it to ``path`` when the block succeeds.

    Raises
    ------
    InputError
        if there is no room on the disk
    """
    temporary = path.with_name(f".{path.stem}.part{path.suffix}")
    with room_for(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield temporary
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
