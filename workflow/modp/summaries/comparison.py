"""Two runs side by side: the parameters that differ, and the metrics with their change."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from modp.measures.table import METRIC, better, measure_named
from modp.summaries.repeats import Spread, flat

SIGNIFICANT = 2.0
"""A change of so many standard errors or more is called beyond noise."""


@dataclass(frozen=True)
class Change:
    """One metric in two runs.

    ``before`` and ``after`` are means over the runs' repeats where there are some, None where a run
    lacks the metric; ``noise`` is the standard error of their difference, None if unknown.
    """

    name: str
    before: float | None
    after: float | None
    noise: float | None

    @property
    def difference(self) -> float | None:
        """After minus before, None if one is missing."""
        return None if self.before is None or self.after is None else self.after - self.before

    @property
    def beyond_noise(self) -> bool | None:
        """Whether the difference is at least twice its standard error; None if that is unknown."""
        if self.difference is None or self.noise is None:
            return None
        return self.difference != 0 and abs(self.difference) >= SIGNIFICANT * self.noise

    @property
    def better(self) -> bool | None:
        """Whether the change is for the better, as far as it can be told from noise.

        None if it is noise, or none at all, or of a metric that is neither good nor bad.
        """
        measure = measure_named(self.name)
        if self.before is None or self.after is None or measure is None or measure.best is None:
            return None
        if self.before == self.after or self.beyond_noise is False:
            return None
        return better(measure, self.before, self.after)


def differing(before: Any, after: Any) -> list[tuple[str, Any, Any]]:
    """Return (name, before, after) of every parameter that differs; None where a run lacks it."""
    one, other = flat(before), flat(after)
    names = dict.fromkeys([*one, *other])
    return [(n, one.get(n), other.get(n)) for n in names if one.get(n) != other.get(n)]


def changes(
    before: Any,
    after: Any,
    spread_before: Mapping[str, Spread] | None = None,
    spread_after: Mapping[str, Spread] | None = None,
) -> list[Change]:
    """Return every metric of two runs with its change.

    Where both runs have at least two repeats of a metric, their means are compared, and the noise
    is that of the difference of two means.

    Parameters
    ----------
    before, after : metrics as nested numbers
    spread_before, spread_after : by the metrics' flat names
    """
    one, other = flat(before), flat(after)
    found = []
    for name in dict.fromkeys([*one, *other]):
        was, now, noise = one.get(name), other.get(name), None
        spreads = [(spread or {}).get(name) for spread in (spread_before, spread_after)]
        first, second = spreads
        if first and second and min(first.runs, second.runs) > 1:
            was, now, noise = first.mean, second.mean, math.hypot(first.error, second.error)
        found.append(Change(name, was, now, noise))
    return found


def text(before: str, after: str, parameters: Sequence[tuple[str, Any, Any]], found: Sequence[Change]) -> str:
    """Return both comparisons as two tables of plain text.

    Parameters
    ----------
    before, after : the runs' names
    parameters : as :func:`differing` returns them
    found : as :func:`changes` returns them
    """
    head = ["parameter", before, after]
    lines = [[name, written(one), written(other)] for name, one, other in parameters]
    parts = [_aligned([head, *lines], 1) if lines else "no parameter differs"]
    if found:
        parts.append(_aligned([["metric", before, after, "change", "", ""], *map(line, found)], 1))
    else:
        parts.append("no metric differs")
    return "\n\n".join([*parts, of_noise(found)])


def of_noise(found: Sequence[Change]) -> str:
    """Return a sentence on what the changes' noise is, or that it is not known."""
    if any(change.noise is not None for change in found):
        return f"beyond noise: {SIGNIFICANT:g} standard errors of the difference of means over seeds, or more"
    return "whether a change is more than noise is not known: run both with 'seeds: 3' or more"


def line(change: Change) -> list[str]:
    """Return a change in words: name, before, after, difference, better or worse, noise or beyond it."""
    direction = {None: "", True: "better", False: "worse"}[change.better]
    verdict = {None: "", True: "beyond noise", False: "noise"}[change.beyond_noise]
    values = [written(value) for value in (change.before, change.after)]
    difference = "" if change.difference is None else f"{change.difference:+.4g}"
    return [change.name, *values, difference, direction, verdict]


def written(value: Any) -> str:
    """Write a parameter or a metric, a dash if a run lacks it."""
    return "–" if value is None else METRIC.number.format(value) if isinstance(value, float) else str(value)


def _aligned(rows: Sequence[Sequence[str]], words: int) -> str:
    """Rows in columns, the first ``words`` to the left, numbers to the right."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if k < words else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
