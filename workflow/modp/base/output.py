"""What steps put out: messages, and files that are whole or not there."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

FINISHED = re.compile(r"^(\S+) finished at (\S+) after ([\d.]+) s$", re.MULTILINE)


class Log:
    """Messages for a person, on the terminal and in the job's log file."""

    def __init__(self, path: Path | None = None):
        """Start a new log file at ``path``, if given."""
        self.path = path
        if path:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("")

    def __call__(self, text: str) -> None:
        """Say ``text``."""
        print(text, file=sys.stderr, flush=True)
        self.only_file(text)

    def only_file(self, text: str) -> None:
        """Write ``text`` to the log file alone, for what would be too much on a terminal."""
        if self.path:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(text + "\n")

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


@contextmanager
def written(path: Path) -> Iterator[Path]:
    """Give a temporary path beside ``path`` and rename it to ``path`` when the block succeeds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.stem}.part{path.suffix}")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
