"""What steps put out: messages, and files that are whole or not there."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Log:
    """Messages for a person, on the terminal and in the job's log file."""

    def __init__(self, path: Path | None):
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
