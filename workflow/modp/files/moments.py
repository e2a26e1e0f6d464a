"""Dates and times of day that SPSS, Stata and SAS hold as numbers, and their ISO texts."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from modp.files.kinds import number_text

DAY = 86_400_000_000
"""Microseconds."""
SPSS = re.compile(r"(A|E|J|S)?DATE\d|DATETIME|YMDHMS|MOYR|QYR|WKYR")
SAS_DAYS = re.compile(r"(DATE|YYMM|MMDDYY|DDMMYY|JULIAN|MONYY|WEEKDATE|WORDDATE|E8601DA|B8601DA|IS8601DA)\w*")
SAS_SECONDS = re.compile(r"(DATETIME|DATEAMPM|E8601DT|B8601DT|IS8601DT)\w*")
STATA = re.compile(r"%-?(?:t([cCdwmqh])|(d))")
LAST = (np.datetime64("9999-12-31", "us") - np.datetime64(0, "us")).astype(np.int64)
FIRST = (np.datetime64("0001-01-01", "us") - np.datetime64(0, "us")).astype(np.int64)


@dataclass(frozen=True)
class Scale:
    """Numbers that count from an origin: by so many microseconds, by months, or by Stata's weeks.

    origin : the day that is zero
    step : microseconds, or 0
    months : months, or 0; with neither, the weeks of which a year has 52
    """

    origin: str
    step: int = 0
    months: int = 0

    def texts(self, values: Sequence[float]) -> list[str]:
        """Return ISO texts, without a time of day if all are midnight; numbers where no date is."""
        moments = [self._moment(value) for value in values]
        told = [m for m in moments if m is not None]
        days = all(moment % DAY == 0 for moment in told)
        return [
            number_text(value) if moment is None else _iso(moment, days)
            for value, moment in zip(values, moments, strict=True)
        ]

    def _moment(self, value: float) -> int | None:
        """Microseconds since 1970, None if it is outside of the calendar."""
        origin = int(np.datetime64(self.origin, "us").astype(np.int64))
        if self.step:
            moment = origin + round(value * self.step)
        elif not float(value).is_integer() or abs(value) > 1e6:
            return None
        elif self.months:
            month = np.datetime64(self.origin, "M") + int(value) * self.months
            moment = int(month.astype("datetime64[us]").astype(np.int64))
        else:
            year, week = divmod(int(value), 52)
            start = np.datetime64(self.origin, "Y") + year
            moment = int(start.astype("datetime64[us]").astype(np.int64)) + 7 * week * DAY
        return moment if FIRST <= moment <= LAST else None

    def number(self, text: str) -> float:
        """Return the number of an ISO text (or of a number's own); raise ValueError if it is neither."""
        if not re.match(r"\d{4}-\d\d", text):
            return float(text)
        moment = np.datetime64(text, "us")
        if self.step:
            return float((moment - np.datetime64(self.origin, "us")).astype(np.int64)) / self.step
        since = int((moment.astype("datetime64[M]") - np.datetime64(self.origin, "M")).astype(np.int64))
        if self.months:
            return float(since // self.months)
        year = moment.astype("datetime64[Y]")
        week = min(int((moment - year.astype("datetime64[us]")).astype(np.int64)) // (7 * DAY), 51)
        return float(52 * (since // 12) + week)


def _iso(moment: int, days: bool) -> str:
    text = str(np.datetime64(moment, "us"))
    if days:
        return text[:10]
    return text.rstrip("0").rstrip(".") if not text.endswith(".000000") else text[:-7]


def scale_of(kind: str, shown: str) -> Scale | None:
    """Return the scale of a column of SPSS, Stata or SAS with this display format, None if it is no date."""
    if kind in ("spss", "portable"):
        return Scale("1582-10-14", 1_000_000) if SPSS.match(shown) else None
    if kind == "stata":
        match = STATA.match(shown)
        letter = (match[1] or match[2]) if match else ""
        return {
            "d": Scale("1960-01-01", DAY),
            "c": Scale("1960-01-01", 1000),
            "C": Scale("1960-01-01", 1000),
            "w": Scale("1960-01-01"),
            "m": Scale("1960-01-01", months=1),
            "q": Scale("1960-01-01", months=3),
            "h": Scale("1960-01-01", months=6),
        }.get(letter)
    if SAS_SECONDS.fullmatch(shown.split(".")[0]):
        return Scale("1960-01-01", 1_000_000)
    return Scale("1960-01-01", DAY) if SAS_DAYS.fullmatch(shown.split(".")[0]) else None
