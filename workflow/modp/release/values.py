"""Answers drawn back inside their category: which of all the values that it stands for a record gets.

True values come back only where so many true records share them that none of these is known by it. Between
such values numbers are drawn from a shape that groups of records make together.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from modp.survey import numbers
from modp.survey.numbers import Interval

RARITY = 10
"""A true value comes back only where at least so many true records of its category have it."""

ROUNDED = 0.8
"""Of the records of a group, that are multiples of the step to which its values are rounded."""

STEPS = (1.0, 5.0)
"""Steps of rounding, times powers of ten."""


@dataclass(frozen=True)
class Spelling:
    """How a column writes its numbers.

    width : of zero-padded ones, else 0
    decimals : that all of them have, None where they are written shortest
    """

    width: int = 0
    decimals: int | None = None

    @staticmethod
    def of(texts: Sequence[str]) -> "Spelling":
        """Return how all of these numbers are written."""
        after = {len(text.partition(".")[2]) if "." in text else 0 for text in texts}
        decimals = after.pop() if len(after) == 1 else None
        widths = {len(text.lstrip("+-")) for text in texts}
        padded = len(widths) == 1 and any(_padded(text) for text in texts)
        return Spelling(widths.pop() if padded else 0, decimals)

    def write(self, value: float) -> str:
        """Return a number as the column writes it."""
        text = numbers.amount(value) if self.decimals is None else f"{value:.{self.decimals}f}"
        if not self.width:
            return text
        return ("-" if text.startswith("-") else "") + text.lstrip("-").zfill(self.width)


def _padded(text: str) -> bool:
    digits = text.lstrip("+-")
    return len(digits) > 1 and digits[0] == "0" and digits[1] != "."


def words(
    texts: Sequence[str], counts: np.ndarray, size: int, rng: np.random.Generator, rarity: int = RARITY
) -> np.ndarray:
    """Draw raw answers of a category that merges several.

    Parameters
    ----------
    texts : m raw answers of the category
    counts : (m,), how many true records give each
    size : answers to draw
    rarity : answers that fewer true records give do not come back, but for the commonest of the category

    Returns
    -------
    objects (size,)
    """
    kept = np.flatnonzero(counts >= rarity)
    if not len(kept):
        kept = np.array([int(np.argmax(counts))])
    weights = counts[kept] / counts[kept].sum() if counts[kept].sum() else np.full(len(kept), 1 / len(kept))
    return np.array(texts, object)[kept[rng.choice(len(kept), size, p=weights)]]


@dataclass(frozen=True)
class Shape:
    """Where the numbers of a category lie.

    heaps, heap_counts : numbers that come back as they are, and how many records have them
    limits : (groups, 2), between which the numbers of each group are drawn, both ends included
    group_counts, steps : (groups,) how many records are in each, and to what its numbers are rounded
    """

    heaps: np.ndarray
    heap_counts: np.ndarray
    limits: np.ndarray
    group_counts: np.ndarray
    steps: np.ndarray

    def draw(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Draw so many numbers, (size,)."""
        counts = np.concatenate([self.heap_counts, self.group_counts]).astype(float)
        which = rng.choice(len(counts), size, p=counts / counts.sum())
        drawn = np.zeros(size)
        heaped = which < len(self.heaps)
        drawn[heaped] = self.heaps[which[heaped]]
        group = which[~heaped] - len(self.heaps)
        low, high, step = self.limits[group, 0], self.limits[group, 1], self.steps[group]
        first, last = np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9)
        whole = first + np.floor(rng.random(len(group)) * (last - first + 1))
        nearest = np.rint((low + high) / 2 / step)  # where no multiple lies between the limits
        drawn[~heaped] = np.where(last < first, nearest, np.minimum(whole, last)) * step
        return drawn


def shape(values: np.ndarray, counts: np.ndarray, finest: float, rarity: int = RARITY) -> Shape:
    """Describe the numbers of a category by what no single record can be known from.

    Values that at least ``rarity`` records share are heaps. The others, in their order, are parted into
    groups of at least so many records, whose numbers are drawn anew between the group's limits: half way to
    its neighbours, and at the ends the mean of the ``rarity`` most extreme records, as Census codes its tops.

    Parameters
    ----------
    values : (m,) rising, the category's numbers
    counts : (m,), true records that have each
    finest : the step to which the column's numbers are rounded at least
    """
    common = counts >= rarity
    heaps, heap_counts = values[common], counts[common]
    rest = np.repeat(values[~common], counts[~common])
    if len(rest) < rarity:
        if len(heaps):
            return Shape(heaps, heap_counts, np.zeros((0, 2)), np.zeros(0), np.ones(0))
        middle = _rounded(float(rest.mean()), finest)
        return Shape(np.array([middle]), np.array([len(rest)]), np.zeros((0, 2)), np.zeros(0), np.ones(0))
    parts = np.array_split(rest, len(rest) // rarity)
    between = [(one[-1] + other[0]) / 2 for one, other in itertools.pairwise(parts)]
    ends = [float(rest[:rarity].mean()), *between, float(rest[-rarity:].mean())]
    limits = np.sort(np.column_stack([ends[:-1], ends[1:]]), axis=1)
    steps = [_step(part, finest, low, high) for part, (low, high) in zip(parts, limits, strict=True)]
    return Shape(heaps, heap_counts, limits, np.array([len(part) for part in parts]), np.array(steps))


def uniform(values: np.ndarray, counts: np.ndarray, low: float, high: float, finest: float) -> Shape:
    """Describe the numbers of a category as equally probable between its limits.

    Parameters
    ----------
    values, counts, finest : as in :func:`shape`
    low, high : the category's limits; where one is infinite the mean of the most extreme records is taken
    """
    every = np.repeat(values, counts)
    first = low if math.isfinite(low) else float(every[:RARITY].mean())
    last = high - finest if math.isfinite(high) else float(every[-RARITY:].mean())
    limits = np.array([[first, max(first, last)]])
    step = _step(every, finest, *limits[0])
    return Shape(np.zeros(0), np.zeros(0), limits, np.array([len(every)]), np.array([step]))


def finest_step(texts: Sequence[str]) -> float:
    """Return the smallest step by which numbers written so can differ: 1, .1 or less."""
    after = max(
        (len(text.partition(".")[2].rstrip("0")) for text in texts if "e" not in text.lower()), default=0
    )
    return 10.0 ** -min(after, 9)


def _step(values: np.ndarray, finest: float, low: float, high: float) -> float:
    """The largest step of which most of these numbers, and two between the limits, are multiples."""
    best, magnitude = finest, finest
    largest = float(np.abs(values).max(initial=0))
    while magnitude <= largest:
        for step in (magnitude * factor for factor in STEPS):
            multiples = np.abs(values / step - np.rint(values / step)) < 1e-6
            if np.mean(multiples) >= ROUNDED and _multiples(low, high, step) >= 2:
                best = step
        magnitude *= 10
    return best


def _multiples(low: float, high: float, step: float) -> int:
    return math.floor(high / step + 1e-9) - math.ceil(low / step - 1e-9) + 1


def _rounded(value: float, step: float) -> float:
    return round(round(value / step) * step, 9)


def inside(
    drawn: np.ndarray, part: Interval, apart: Sequence[float], step: float, middle: float
) -> np.ndarray:
    """Return numbers so that each is of the category that it was drawn for.

    One that rounding has carried out of its class goes to the class's end, one that fell on a value that
    stands apart to a number near the ``middle``.

    Parameters
    ----------
    drawn : (size,)
    part : the category's numbers
    apart : numbers that are categories of their own
    step : between numbers of the column
    middle : of the category's numbers
    """
    if part.low == part.high:
        return np.full(len(drawn), part.low)
    last = max(part.high - step, part.low)
    moved = np.clip(drawn, part.low, last)
    fallen = np.isin(moved, apart)
    if fallen.any():
        near = (
            _rounded(middle + k * step, step) for k in (0, *(s * d for d in range(1, 100) for s in (1, -1)))
        )
        free = next((v for v in near if part.low <= v <= last and v not in apart), middle)
        moved[fallen] = free
    return moved
