"""Dates: how they are written, and where they are cut."""

import itertools
import re
from collections.abc import Sequence
from datetime import date

import numpy as np

from modp.files.cuts import merged, quantile_cuts
from modp.files.naming import joined
from modp.survey.numbers import ISO, NumbersRecipe

_SHAPES = [
    (r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?", [ISO]),
    (r"\d{1,2}\.\d{1,2}\.\d{4}", ["%d.%m.%Y"]),
    (r"\d{1,2}\.\d{1,2}\.\d{4} \d{1,2}:\d\d", ["%d.%m.%Y %H:%M"]),
    (r"\d{1,2}\.\d{1,2}\.\d{4} \d{1,2}:\d\d:\d\d", ["%d.%m.%Y %H:%M:%S"]),
    (r"\d{1,2}/\d{1,2}/\d{4}", ["%m/%d/%Y", "%d/%m/%Y"]),
    (r"\d{1,2}/\d{1,2}/\d{4} \d{1,2}:\d\d", ["%m/%d/%Y %H:%M", "%d/%m/%Y %H:%M"]),
    (r"\d{1,2}/\d{1,2}/\d{4} \d{1,2}:\d\d:\d\d", ["%m/%d/%Y %H:%M:%S", "%d/%m/%Y %H:%M:%S"]),
    (r"\d{1,2}-\d{1,2}-\d{4}", ["%d-%m-%Y", "%m-%d-%Y"]),
    (r"\d{4}/\d{1,2}/\d{1,2}", ["%Y/%m/%d"]),
    (r"\d{8}", ["%Y%m%d"]),
]

MOST_WORDS = 10
"""Answers that are no dates (or no numbers) and may stand among those that are."""

MOST_CLASSES = 12

_NAMED = re.compile(r"date|datum|birth|dob|day$|geburt|fecha|data$")


def written_as(kinds: Sequence[str], name: str) -> tuple[str, bool] | None:
    """Return how a column's dates are written, and whether day and month could be the other way round.

    Parameters
    ----------
    kinds : the different answers; up to ten of them may be no dates, as long as most are
    name : the column's; eight digits are dates only if it says so, or if all lie between 1900 and 2099

    Returns
    -------
    ``iso`` or a format of ``datetime.strptime``; None if the answers are no dates
    """
    for shape, forms in _SHAPES:
        others = _unlike(kinds, re.compile(shape))
        if len(others) > min(MOST_WORDS, len(kinds) / 2) or len(others) == len(kinds):
            continue
        like = [kind for kind in kinds if kind not in others]
        named = _NAMED.search(joined(name)) or forms != ["%Y%m%d"]
        if not named and (others or len(like) < 10 or not all(re.match(r"19|20", kind) for kind in like)):
            return None
        fitting = [form for form in forms if _all_dates(like, form)]
        if fitting:
            return fitting[0], len(fitting) > 1
    return None


def _unlike(kinds: Sequence[str], shape: re.Pattern[str]) -> set[str]:
    """The answers of another shape, as far as it takes to know that they are too many."""
    unlike = (kind for kind in kinds if not shape.fullmatch(kind))
    return set(itertools.islice(unlike, MOST_WORDS + 1))


def _all_dates(kinds: Sequence[str], form: str) -> bool:
    recipe = NumbersRecipe(dates=form)
    return all(recipe.value(kind) is not None for kind in kinds)


def cut_days(days: np.ndarray, counts: np.ndarray, smallest: int) -> tuple[list[float], str]:
    """Return cuts of days since year 1, (m,) ascending, and what lies between them: years, months or days.

    Years where the days span more than two, else months where they span more than two of them. Where that
    would make more than twelve classes, it is classes of several, of about equal size.
    """
    first, last = (date.fromordinal(int(day)) for day in (days[0], days[-1]))
    if last.toordinal() - first.toordinal() > 2 * 366:
        unit, starts = "year", [date(year, 1, 1) for year in range(first.year + 1, last.year + 1)]
    elif last.toordinal() - first.toordinal() > 62:
        months = range(12 * first.year + first.month, 12 * last.year + last.month)
        unit, starts = "month", [date(month // 12, month % 12 + 1, 1) for month in months]
    else:
        unit = "day"
        starts = [date.fromordinal(day) for day in range(first.toordinal() + 1, last.toordinal() + 1)]
    edges = np.array([start.toordinal() for start in starts], np.float64)
    if len(edges) < MOST_CLASSES:
        return merged(edges.tolist(), days, counts, smallest), unit

    def choose(low: float, high: float, near: float) -> float | None:
        allowed = edges[(edges > low) & (edges <= high)]
        return float(allowed[np.argmin(np.abs(allowed - near))]) if len(allowed) else None

    return quantile_cuts(days, counts, MOST_CLASSES, smallest, choose), unit
