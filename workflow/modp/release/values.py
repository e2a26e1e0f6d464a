"""Answers drawn back inside their category: which of all the values that it stands for a record gets.

True values come back only where so many true records share them that none of these is known by it. Between
such values numbers are drawn from a shape that groups of records make together.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

import numpy as np

from modp.survey import numbers

RARITY = 10
"""A true value comes back only where at least so many true records of its category have it."""

STEPS = (1, 5)
"""Steps of rounding, times powers of ten."""

NEARLY = 1e-9
"""What floating point may add to a multiple of a step."""

LARGEST = 2.0**62
"""Below which whole numbers are written by way of integers."""

DIGITS = 15
"""Of a number, that are calculated with."""


@dataclass(frozen=True)
class Spelling:
    """How a column writes its numbers.

    width : to which they are filled with zeros, else 0
    decimals : that all of them have, None where they are written shortest
    bare : whether numbers below one have no zero before their point
    """

    width: int = 0
    decimals: int | None = None
    bare: bool = False

    @staticmethod
    def of(texts: Sequence[str]) -> "Spelling":
        """Return how these numbers are written."""
        digits = [text.lstrip("+-") for text in texts]
        parts = [text.partition(".") for text in digits if "e" not in text.lower()]
        after = Counter(len(part) for _, point, part in parts if point)
        filled = any(point and part.endswith("0") for _, point, part in parts)
        decimals = None
        if filled or (len(after) == 1 and all(point for _, point, _ in parts)):
            decimals = after.most_common(1)[0][0]
        elif not after:
            decimals = 0
        below = [before for before, point, _ in parts if point and not before.strip("0")]
        padded = {len(text) for text in digits if _padded(text)}
        even = len(padded) == 1 and min(map(len, digits)) >= min(padded)
        return Spelling(padded.pop() if even else 0, decimals, bool(below) and not any(below))

    def write(self, values: np.ndarray) -> list[str]:
        """Return numbers (m,) as the column writes them, with more decimals where they have more."""
        values = values + 0.0  # no negative zero
        if self.decimals is None:
            texts = [numbers.amount(value) for value in values.tolist()]
        elif self.decimals == 0 and not np.any(values % 1) and np.all(np.abs(values) < LARGEST):
            texts = [str(value) for value in values.astype(np.int64).tolist()]
        else:
            whole = np.abs(np.round(values, self.decimals) - values) < NEARLY
            pairs = zip(values.tolist(), whole.tolist(), strict=True)
            texts = [f"{v:.{self.decimals}f}" if fits else numbers.amount(v) for v, fits in pairs]
        return [self._filled(text) for text in texts] if self.width or self.bare else texts

    def _filled(self, text: str) -> str:
        sign, digits = ("-", text[1:]) if text.startswith("-") else ("", text)
        if self.bare and digits.startswith("0."):
            digits = digits[1:]
        return sign + digits.zfill(self.width)


def _padded(digits: str) -> bool:
    return len(digits) > 1 and digits[0] == "0" and digits[1].isdigit()


@dataclass(frozen=True)
class Range:
    """Numbers from ``low`` to ``high``, which is one of them if ``closed``."""

    low: float
    high: float
    closed: bool = False

    def holds(self, values: np.ndarray) -> np.ndarray:
        """Return which numbers are in it, a mask of their shape."""
        below = values <= self.high if self.closed else values < self.high
        return (values >= self.low) & below

    def multiples(self, step: float) -> tuple[float, float]:
        """Return the least and the greatest multiple of a step in it, infinite where it is open."""
        first = math.ceil(self.low / step - NEARLY) if math.isfinite(self.low) else -math.inf
        if not math.isfinite(self.high):
            return first, math.inf
        last = math.floor(self.high / step + NEARLY)
        return first, last if self.closed or last < self.high / step - NEARLY else last - 1


@dataclass(frozen=True)
class Shape:
    """Where the numbers of a category lie.

    heaps, heap_counts : numbers that come back as they are, and how many records have them
    limits : (groups, 2), between which the numbers of each group are drawn, both ends included
    group_counts : (groups,) how many records are in each
    grid, shares : (steps,) to which drawn numbers are rounded, each dividing the next, and how often. Where
        fewer than two multiples are between a group's limits a smaller step is taken
    """

    heaps: np.ndarray
    heap_counts: np.ndarray
    limits: np.ndarray
    group_counts: np.ndarray
    grid: np.ndarray
    shares: np.ndarray

    @property
    def counts(self) -> np.ndarray:
        """How many records each bin has: a heap or, after all of these, a group."""
        return np.concatenate([self.heap_counts, self.group_counts])

    @property
    def places(self) -> np.ndarray:
        """Where the bins lie: heaps, and the middle of each group."""
        return np.concatenate([self.heaps, self.limits.mean(axis=1)])

    def bins(self, numbers: np.ndarray) -> np.ndarray:
        """Return the bin of each of the category's numbers (m,): the nearest heap where there is no group."""
        heap = np.searchsorted((self.heaps[1:] + self.heaps[:-1]) / 2, numbers)
        if not len(self.limits):
            return heap
        lows = self.limits[:, 0]
        between = np.searchsorted(lows, numbers, "left") + np.searchsorted(lows, numbers, "right")
        group = len(self.heaps) + np.clip((between - 1) // 2, 0, len(lows) - 1)
        return np.where(self.heaps[heap] == numbers, heap, group) if len(self.heaps) else group

    def draw(self, which: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw a number of each of these bins, (size,)."""
        drawn = np.zeros(len(which))
        heaped = which < len(self.heaps)
        drawn[heaped] = self.heaps[which[heaped]]
        group = which[~heaped] - len(self.heaps)
        low, high = self.limits[group].T
        step = self.grid[np.minimum(rng.choice(len(self.grid), len(group), p=self.shares), self._most[group])]
        first, last = np.ceil(low / step - NEARLY), np.floor(high / step + NEARLY)
        whole = first + np.floor(rng.random(len(group)) * (last - first + 1))
        nearest = np.rint((low + high) / 2 / step)  # where no multiple lies between the limits
        drawn[~heaped] = np.where(last < first, nearest, np.minimum(whole, last)) * step
        return drawn

    @cached_property
    def _most(self) -> np.ndarray:
        """The last step of which two multiples are between each group's limits, else the first: (groups,)."""
        ends = self.limits[:, :, None] / self.grid
        several = np.floor(ends[:, 1] + NEARLY) - np.ceil(ends[:, 0] - NEARLY) >= 1
        return np.where(several, np.arange(len(self.grid)), 0).max(axis=1, initial=0)


def shape(
    values: np.ndarray, counts: np.ndarray, part: Range, grid: Sequence[float], rarity: int = RARITY
) -> Shape:
    """Describe the numbers of a category by what no single record can be known from.

    Values that at least ``rarity`` records share are heaps. The others, in their order, are parted into
    groups of at least so many records, whose numbers are drawn anew between the group's limits: half way to
    its neighbours, and at the ends the mean of the ``rarity`` most extreme records, as Census codes its tops.
    Where there are fewer others they come back as heaps; where there are no heaps either, nothing but the
    category's own limits is used.

    Parameters
    ----------
    values : (m,) rising, the category's numbers
    counts : (m,), true records that have each
    part : where the category's numbers lie
    grid : steps to which numbers may be rounded, rising; all are to the first
    """
    shared = counts >= rarity
    heaps, heap_counts = values[shared], counts[shared]
    rest = np.repeat(values[~shared], counts[~shared])
    if len(rest) < rarity:
        if not len(heaps):
            return blind(part, grid[0], float(rest.mean()))
        return Shape(heaps, heap_counts, np.zeros((0, 2)), np.zeros(0), np.ones(1), np.ones(1))
    sizes = np.array([len(own) for own in np.array_split(rest, len(rest) // rarity)])
    starts = np.cumsum(sizes) - sizes
    between = (rest[starts[1:] - 1] + rest[starts[1:]]) / 2
    ends = np.concatenate([[rest[:rarity].mean()], between, [rest[-rarity:].mean()]])
    limits = np.sort(np.column_stack([ends[:-1], ends[1:]]), axis=1)
    return Shape(heaps, heap_counts, limits, sizes, np.array(grid), _shares(rest, grid))


def blind(part: Range, finest: float, about: float) -> Shape:
    """Describe a category by its limits alone: evenly between two, at the one if there is no other.

    Where there is none, all numbers are the one ``about`` which they lie, to one digit.
    """
    first, last = (end * finest for end in part.multiples(finest))
    if math.isinf(first) and math.isinf(last):
        magnitude = 10.0 ** math.floor(math.log10(abs(about))) if about else 1.0
        first = last = round(about / magnitude) * magnitude
    ends = [first if math.isfinite(first) else last, last if math.isfinite(last) else first]
    return Shape(np.zeros(0), np.zeros(0), np.array([ends]), np.ones(1), np.array([finest]), np.ones(1))


def uniform(values: np.ndarray, counts: np.ndarray, part: Range, grid: Sequence[float]) -> Shape:
    """Describe the numbers of a category as equally probable between its limits.

    Where one is infinite the mean of the most extreme records is taken in its place.

    Parameters
    ----------
    values, counts, part, grid : as in :func:`shape`
    """
    every = np.repeat(values, counts)
    if len(every) < RARITY:
        return blind(part, grid[0], float(every.mean()))
    first, last = (end * grid[0] for end in part.multiples(grid[0]))
    low = first if math.isfinite(first) else float(every[:RARITY].mean())
    high = last if math.isfinite(last) else float(every[-RARITY:].mean())
    limits = np.array([[low, max(low, high)]])
    return Shape(
        np.zeros(0), np.zeros(0), limits, np.array([len(every)]), np.array(grid), _shares(every, grid)
    )


def grid_of(texts: Sequence[str]) -> tuple[float, ...]:
    """Return the steps to which numbers written so may be rounded, rising.

    The first is the smallest by which they can differ, but at least 1e-15 of the largest, which is as fine
    as can be calculated with.
    """
    exact = [text if "e" not in text.lower() else f"{Decimal(text):f}" for text in texts]
    after = max((len(text.partition(".")[2].rstrip("0")) for text in exact), default=0)
    before = len(f"{max((abs(float(text)) for text in exact), default=1):.0f}")
    finest = -max(0, min(after, DIGITS - before))
    return tuple(float(f"{factor}e{k}") for k in range(finest, before) for factor in STEPS) or (1.0,)


def decimals(step: float) -> int:
    """Return how many decimals multiples of a step have, at most."""
    return max(0, math.ceil(-math.log10(step) - NEARLY))


def _shares(numbers: np.ndarray, grid: Sequence[float]) -> np.ndarray:
    """How often to round to each step, (steps,), so that as many are multiples of each as of the numbers.

    A multiple of one step is by chance one of another in the ratio of the two.
    """
    places = numbers[:, None] / np.array(grid)
    multiples = np.abs(places - np.rint(places)) < 1e-6 + 4e-16 * np.abs(places)
    multiples[:, 0] = True
    by_chance = np.minimum(np.array(grid)[None, :] / np.array(grid)[:, None], 1.0)
    found = np.clip(np.linalg.solve(by_chance, multiples.mean(axis=0)), 0, None)
    return found / found.sum()
