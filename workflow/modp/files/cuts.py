"""Where numbers are cut into classes, and which values stand apart."""

import math
import re
from collections.abc import Callable

import numpy as np

from modp.files.look import RECORDS, least, said, share
from modp.survey.numbers import amount

CLASSES = 10
"""Classes of about equal size that many numbers are cut into."""

SLACKS = (0.25, 0.5)
"""How far a cut may be off its quantile for the sake of a rounder number, in classes; the second where there
is no place for one within the first."""

SPIKE = 4
"""A value given so many times as often as those around it is a spike."""

DOUBT = "perhaps"
"""In a remark on a value that may be a code for no answer."""

Choose = Callable[[float, float, float], float | None]


def quantile_cuts(
    values: np.ndarray, counts: np.ndarray, classes: int, smallest: int, choose: Choose
) -> list[float]:
    """Return cuts that part numbers into classes of about equal size.

    Parameters
    ----------
    values, counts : (m,), different numbers, ascending, and how many records have each
    classes : at most so many
    smallest : records that each class holds at least
    choose : (low, high, near) -> a cut above low, at most high; or None if there is none
    """
    total = int(counts.sum())
    classes = min(classes, total // smallest)
    below = np.cumsum(counts)[:-1]
    found = set()
    for k in range(1, classes if len(below) else 0):
        off = np.abs(below - k * total / classes)
        best = int(np.argmin(off))
        within = [np.flatnonzero(off <= slack * total / classes) for slack in SLACKS]
        gaps = [part for part in within if len(part)] or [np.array([best])]
        cuts = (choose(values[part[0]], values[part[-1] + 1], values[best + 1]) for part in gaps)
        found.add(next((cut for cut in cuts if cut is not None), None))
    return merged(sorted(cut for cut in found if cut is not None), values, counts, smallest)


def merged(cuts: list[float], values: np.ndarray, counts: np.ndarray, smallest: int) -> list[float]:
    """Return cuts without those beside a class of fewer than ``smallest`` records, the smallest first."""
    kept = list(cuts)
    while kept:
        held = np.bincount(np.searchsorted(kept, values, side="right"), counts, len(kept) + 1)
        at = int(np.argmin(held))
        if held[at] >= smallest:
            break
        left = at > 0 and (at == len(kept) or held[at - 1] <= held[at + 1])
        del kept[at - 1 if left else at]
    return kept


def roundest(low: float, high: float, near: float, whole: bool = False) -> float:
    """Return the roundest number above ``low`` and at most ``high``; of several the one nearest ``near``.

    Round are few digits, then a last digit of 0, then 5, then an even one. Round cuts are what people use,
    and they tell less of single records.
    """
    if low < 0 <= high:
        return 0.0
    with np.errstate(over="ignore"):
        reach = max(abs(low), abs(high), high - low)
    if not math.isfinite(reach) or reach == 0:
        return high
    power = math.floor(math.log10(reach)) + 1
    for digits in range(power, max(power - 17, -300), -1):
        for times in (10, 5, 2):
            step = float(times) * 10.0 ** (digits - 1)
            if whole and step < 1:
                return high
            found = _multiple(low, high, near, step, 1 - digits)
            if found is not None:
                return found
    return high


def _multiple(low: float, high: float, near: float, step: float, decimals: int) -> float | None:
    first, last = math.floor(low / step) + 1, math.floor(high / step)
    if first > last:
        return None
    found = min(max(round(near / step), first), last) * step
    found = round(found, decimals) if decimals > 0 else float(round(found))
    return found if low < found <= high else None


def cut_numbers(values: np.ndarray, counts: np.ndarray, smallest: int) -> list[float]:
    """Return cuts of numbers, (m,) ascending, at round places; at zero where enough lie on both its sides."""
    whole = bool(np.all(values % 1 == 0))
    negative = values < 0
    sides = [int(counts[negative].sum()), int(counts[~negative].sum())]

    def choose(low: float, high: float, near: float) -> float:
        return roundest(low, high, near, whole)

    if min(sides) < smallest:
        return quantile_cuts(values, counts, CLASSES, smallest, choose)
    under = max(1, round(CLASSES * sides[0] / sum(sides)))
    lower = quantile_cuts(values[negative], counts[negative], under, smallest, choose)
    upper = quantile_cuts(values[~negative], counts[~negative], CLASSES - under, smallest, choose)
    return [*lower, 0.0, *upper]


def spikes(values: np.ndarray, counts: np.ndarray) -> dict[float, str]:
    """Return the values that stand apart, each with a remark for people.

    Those are: what fills a tenth of the answers or more; zero, where it is a spike; and at either end
    spikes, codes such as 9999999 or -9, and what lies far from all others and is given often.

    Parameters
    ----------
    values, counts : (m,), different numbers, ascending, and how many records have each
    """
    total = int(counts.sum())
    smallest = least(total)
    found: dict[float, str] = {}
    for k in np.flatnonzero(counts >= max(total / CLASSES, smallest)).tolist():
        found[float(values[k])] = _remark(values, counts, k, "")
    for k in np.flatnonzero(values == 0).tolist():
        if counts[k] >= smallest and _is_spike(counts, k):
            found[0.0] = _remark(values, counts, k, "")
    for ends in (range(len(values) - 1, 0, -1), range(len(values) - 1)):
        rest = np.isin(values, list(found), invert=True)
        for k in ends:
            if not rest[k]:
                continue
            rest[k] = False
            odd = _odd_end(values, counts, k, rest, total)
            if odd is None:
                break
            found[float(values[k])] = _remark(values, counts, k, odd)
    for value in [v for v in found if _looks_like_code(v) and v in (values[0], values[-1])]:
        k = int(np.flatnonzero(values == value)[0])
        found[value] = _remark(
            values, counts, k, f", at the end of all numbers: {DOUBT} a code for no answer"
        )
    return found


def _remark(values: np.ndarray, counts: np.ndarray, at: int, more: str) -> str:
    return f"{said(values[at])} ({share(counts[at], counts.sum())} of the numbers{more})"


def _is_spike(counts: np.ndarray, at: int) -> bool:
    around = np.concatenate([counts[max(at - 5, 0) : at], counts[at + 1 : at + 6]])
    return bool(counts[at] >= SPIKE * np.median(around)) if len(around) else False


def _odd_end(values: np.ndarray, counts: np.ndarray, at: int, rest: np.ndarray, total: int) -> str | None:
    """Why the last or first number stands apart from the ``rest`` of the numbers, bool (m,); None if not."""
    if counts[at] < min(RECORDS, least(total)) or rest.sum() < 2:
        return None
    value, inner = float(values[at]), values[rest]
    above = value > inner[-1]
    code = _looks_like_code(value)
    gap, others = _away_from_others(value, inner, above)
    spread = float(others[-1] - others[0])
    often = counts[at] >= least(total)
    if gap > spread:
        return f", far from all others: {DOUBT} no answer, or a top code" if often or code else None
    usual = float(np.median(np.diff(others)))
    of_codes = value < 0 and all(v >= 0 or _looks_like_code(float(v)) for v in values[: at + 1])
    lonely = of_codes and inner[0] >= -9 and np.sum(inner < 0) < 5
    if code and (lonely or (often and gap > 2 * usual)):
        return f", {DOUBT} a code for no answer"
    around = counts[rest][-5:] if above else counts[rest][:5]
    return ", at the end" if often and counts[at] >= SPIKE * np.median(around) else None


def _away_from_others(value: float, inner: np.ndarray, above: bool) -> tuple[float, np.ndarray]:
    """How far the last or first number is from the others, and these; 97, 98 and 99 stand there together."""
    outward = inner[::-1] if above else inner
    codes = 0
    while codes < len(inner) - 2 and _looks_like_code(value) and _looks_like_code(float(outward[codes])):
        codes += 1
    near = outward[codes - 1] if codes else value
    with np.errstate(over="ignore"):
        return abs(float(near - outward[codes])), np.sort(outward[codes:])


def _looks_like_code(value: float) -> bool:
    """Whether surveys write no answer like this: 99, 998, 9999999, -1, -9, -88."""
    return bool(re.fullmatch(r"-[1-9]|-?([1-9])\1+|-?9+[78]", amount(value))) and abs(value) != 11
