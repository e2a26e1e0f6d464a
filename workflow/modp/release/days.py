"""Dates and times as a column writes them."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from modp.survey.numbers import ISO

_ISO = re.compile(
    r"\d{4}-\d\d-\d\d(?:(?P<between>[T ])(?P<time>\d\d:\d\d(?P<seconds>:\d\d(?P<part>\.\d+)?)?)(?P<zone>.*))?"
)

DAY = (1.0,)
TIMES = (1 / 1440, 5 / 1440, 15 / 1440, 1 / 24, 1.0)
"""Steps, in days, to which dates and times are rounded: a minute, 5, 15, an hour, a day."""

SECONDS = (1 / 86400, *TIMES)


@dataclass(frozen=True)
class DaySpelling:
    """How a column writes its dates.

    form : for ``datetime.strptime``, or ``iso``
    bare : whether days and months have no leading zero
    like : of ISO ones the most frequent form, an example
    """

    form: str
    bare: bool = False
    like: str = ""

    @staticmethod
    def of(form: str, texts: Sequence[str]) -> "DaySpelling":
        """Return how all of these dates are written."""
        bare = form != ISO and any(re.search(r"(?<!\d)\d(?!\d)", text.partition(" ")[0]) for text in texts)
        shapes = [re.sub(r"\d", "0", text) for text in texts]
        most = Counter(shapes).most_common(1)
        return DaySpelling(form, bare, texts[shapes.index(most[0][0])] if most else "")

    def write(self, values: np.ndarray) -> list[str]:
        """Return the dates of numbers of days since year 1, (m,)."""
        return [self._date(value) for value in values.tolist()]

    def _date(self, value: float) -> str:
        seconds = round((value - math.floor(value)) * 86400)
        moment = datetime.fromordinal(math.floor(value)) + timedelta(seconds=seconds)
        if self.form == ISO:
            return self._iso(moment)
        day, blank, time = moment.strftime(self.form).partition(" ")
        return (re.sub(r"\b0(\d)\b", r"\1", day) if self.bare else day) + blank + time

    def _iso(self, moment: datetime) -> str:
        parts = _ISO.fullmatch(self.like)
        if parts is None or not parts["time"]:
            return moment.date().isoformat()
        time = moment.strftime("%H:%M:%S") if parts["seconds"] else moment.strftime("%H:%M")
        part = re.sub(r"\d", "0", parts["part"] or "")
        return f"{moment.date().isoformat()}{parts['between']}{time}{part}{parts['zone']}"


def grid_of_days(values: Sequence[float]) -> tuple[float, ...]:
    """Return the steps to which days (with times) may be rounded, rising: all are to the first."""
    parts = [value % 1 * 1440 for value in values if value % 1]
    if not parts:
        return DAY
    return TIMES if all(abs(part - round(part)) < 1e-3 for part in parts) else SECONDS
