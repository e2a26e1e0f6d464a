"""How far a fit has come, for people who wait for it."""

import time
from typing import Self

from tqdm import tqdm

from modp.base.output import Log

QUIET_S = 10.0


class Progress:
    """A bar on a terminal; elsewhere a line now and then; every step in the log file.

    Of a quiet log there is only the file.
    """

    def __init__(self, name: str, log: Log, unit: str, total: int | None = None):
        """Begin; ``total`` is the number of steps, where it is known."""
        self.name, self.log = name, log
        self.bar = tqdm(total=total, desc=name, unit=unit, disable=log.quiet or None)
        self.said = self.began = time.monotonic()

    def __enter__(self) -> Self:
        """Return the progress itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the bar."""
        self.bar.close()

    def tell(self, short: str, line: str) -> None:
        """Count one step, of which ``short`` stands beside the bar and ``line`` in the log."""
        self.bar.set_postfix_str(short, refresh=False)
        self.bar.update()
        self.log.only_file(line)
        if self.bar.disable and not self.log.quiet and time.monotonic() - self.said > QUIET_S:
            print(line, flush=True)
            self.said = time.monotonic()
