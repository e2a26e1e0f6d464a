"""Numbers and dates with a place in one order: classes between cuts, values apart, words beside them."""

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Literal

import numpy as np
from pydantic import Field, model_validator

from modp.base.config import Strict
from modp.survey.codebook import MAX_CATEGORIES, Category

Unit = Literal["$", "minutes", "hours"]

ISO = "iso"


class NumbersRecipe(Strict):
    """Categories of a column of numbers, or of dates.

    ``cuts`` part the numbers: k of them make k + 1 classes, each from its cut up to, but without, the next.
    Values ``apart`` are categories of their own (value: label), in no class. ``words`` are answers that are
    no numbers, categories too (word: label). ``dates`` is how dates are written, for ``datetime.strptime``,
    or ``iso``; cuts and values apart are then dates like 2021-03-31.
    """

    cuts: list[int | float | str] = Field(default_factory=list)
    apart: dict[int | float | str, str] = Field(default_factory=dict)
    words: dict[str, str] = Field(default_factory=dict)
    dates: str | None = None

    @model_validator(mode="after")
    def _consistent(self) -> "NumbersRecipe":
        if len(self.cuts) + len(self.apart) + len(self.words) >= MAX_CATEGORIES:
            raise ValueError(f"more than {MAX_CATEGORIES} categories: is this an identifier?")
        edges = self.edges
        for low, high in itertools.pairwise(edges):
            if low >= high:
                raise ValueError(f"'cuts' must rise, and {self.written(high)} follows {self.written(low)}")
        values = [self.known(value) for value in self.apart]
        if len(set(values)) < len(values):
            raise ValueError("a value stands twice under 'apart'")
        for word in self.words:
            if self.value(word) is not None:
                raise ValueError(f"the word {word!r} is a number: put it under 'apart'")
        return self

    @property
    def edges(self) -> tuple[float, ...]:
        """The cuts as numbers; dates as days since year 1."""
        return tuple(self.known(cut) for cut in self.cuts)

    def known(self, value: float | str) -> float:
        """Return a cut or a value apart as a number, a date as days since year 1."""
        found = _day(value, ISO) if self.dates and isinstance(value, str) else None
        if not self.dates and not isinstance(value, str):
            found = float(value)
        if found is None or not math.isfinite(found):
            asked = "a date like 2021-03-31, in quotes" if self.dates else "a number"
            raise ValueError(f"{value!r} is not {asked}")
        return found

    def value(self, answer: str) -> float | None:
        """Return the number that an answer is, a date's days since year 1; None if it is none."""
        return _day(answer, self.dates) if self.dates else number(answer)

    def written(self, value: float) -> str:
        """Return a number, or a day, as a person writes it."""
        return _written_day(value) if self.dates else amount(value)


@dataclass(frozen=True)
class Interval:
    """The numbers of one category: from ``low`` up to ``high``, which is in it only where both are equal."""

    code: str
    low: float
    high: float

    def surely_above(self, other: "Interval") -> bool:
        """Whether all its numbers are greater than all those of another."""
        return self.low >= other.high if other.high > other.low else self.low > other.high


def intervals(recipe: NumbersRecipe) -> list[Interval]:
    """Return the numbers of every class and of every value apart, in their order."""
    ends = [-math.inf, *recipe.edges, math.inf]
    found = [Interval(str(k + 1), low, high) for k, (low, high) in enumerate(itertools.pairwise(ends))]
    for value in recipe.apart:
        known = recipe.known(value)
        found.append(Interval(f"={recipe.written(known)}", known, known))
    return sorted(found, key=lambda part: (part.low, part.high > part.low))


def codes(recipe: NumbersRecipe) -> list[str]:
    """Return the codes of all categories: words first, then classes and values apart in their order."""
    return [*map(_code_of_word, recipe.words), *(part.code for part in intervals(recipe))]


def categories(recipe: NumbersRecipe, whole: bool, unit: Unit | None = None) -> list[Category]:
    """Return all categories, in the order of :func:`codes`.

    Parameters
    ----------
    whole : whether all numbers are whole, so that classes can be said by their first and last
    unit : of the numbers
    """
    labels = {f"={recipe.written(recipe.known(v))}": label for v, label in recipe.apart.items()}
    found = [Category(_code_of_word(word), label, word) for word, label in recipe.words.items()]
    for part in intervals(recipe):
        if part.code in labels:
            found.append(Category(part.code, labels[part.code], part.code))
        else:
            values = f"[{part.low!r}, {part.high!r})"
            found.append(Category(part.code, label(recipe, part, whole, unit), values))
    return found


def places(recipe: NumbersRecipe, answers: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return where answers stand among the categories.

    Parameters
    ----------
    answers : m texts

    Returns
    -------
    places : int64 (m,), in the order of :func:`codes`; -1 where the answer is neither a number nor a word
    values : float64 (m,), the numbers; NaN where it is none
    """
    word_at = {word: at for at, word in enumerate(recipe.words)}
    values = np.array([_or_nan(recipe.value(a)) if a not in word_at else np.nan for a in answers], float)
    at = {part.code: len(word_at) + k for k, part in enumerate(intervals(recipe))}
    classes = np.array([at[str(k + 1)] for k in range(len(recipe.cuts) + 1)])
    found = classes[np.searchsorted(np.array(recipe.edges), np.nan_to_num(values), side="right")]
    for value in recipe.apart:
        known = recipe.known(value)
        found[values == known] = at[f"={recipe.written(known)}"]
    found[np.isnan(values)] = [
        word_at.get(a, -1) for a, v in zip(answers, values, strict=True) if np.isnan(v)
    ]
    return found, values


def number(text: str) -> float | None:
    """Return the finite number that a text is, or None."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in text else None


def amount(value: float) -> str:
    """Return a number in its shortest form, a whole one without a point."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))


def _code_of_word(word: str) -> str:
    """The word, or one that cannot be taken for the code of a class, of a value apart or of a blank."""
    return f"word {word}" if re.match(r"=|word |value |(blank|-?[0-9]+)$", word) else word


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


def _day(text: str, form: str | None) -> float | None:
    try:
        found = datetime.fromisoformat(text) if form == ISO or form is None else datetime.strptime(text, form)
    except ValueError:
        return None
    return found.toordinal() + (found.hour + (found.minute + found.second / 60) / 60) / 24


def _written_day(value: float) -> str:
    return date.fromordinal(int(value)).isoformat()


def label(recipe: NumbersRecipe, part: Interval, whole: bool, unit: Unit | None) -> str:
    """Return what people call a class, as :func:`categories` does."""
    if recipe.dates:
        return _label_of_days(part, bool(recipe.apart))
    sign = "$" if unit == "$" else ""
    after = f" {unit}" if unit in ("minutes", "hours") else ""
    low, high = (_said(value, sign) for value in (part.low, part.high))
    if math.isinf(part.low):
        whatever = "any other number" if recipe.apart else "any number"
        return whatever if math.isinf(part.high) else f"under {high}{after}"
    if math.isinf(part.high):
        return f"{low}{after} or more"
    if whole and part.low == int(part.low) and part.high == int(part.high):
        last = _said(part.high - 1, sign)
        return f"{low}{after}" if low == last else f"{low} to {last}{after}"
    return f"{low} to under {high}{after}"


def _said(value: float, sign: str) -> str:
    if math.isinf(value):
        return ""
    digits = f"{abs(value):,.0f}" if value == int(value) else f"{abs(value):,.10g}"
    return f"{'−' if value < 0 else ''}{sign}{digits}"


def _label_of_days(part: Interval, apart: bool) -> str:
    if math.isinf(part.low) or math.isinf(part.high):
        if math.isinf(part.low) and math.isinf(part.high):
            return "any other date" if apart else "any date"
        known = _written_day(part.high if math.isinf(part.low) else part.low)
        return f"before {known}" if math.isinf(part.low) else f"{known} or later"
    first, after = (date.fromordinal(int(value)) for value in (part.low, part.high))
    last = after - timedelta(days=1)
    if (first.month, first.day, last.month, last.day) == (1, 1, 12, 31):
        return str(first.year) if first.year == last.year else f"{first.year} to {last.year}"
    if first.day == 1 and after.day == 1:
        months = f"{first:%Y-%m}", f"{last:%Y-%m}"
        return months[0] if months[0] == months[1] else f"{months[0]} to {months[1]}"
    return f"{first.isoformat()} to {last.isoformat()}"


def zeros_of_order(smaller: NumbersRecipe, greater: NumbersRecipe) -> Mapping[str, list[str]]:
    """Return, for each category of the smaller one, those of the greater that it surely exceeds."""
    found = {
        one.code: [other.code for other in intervals(greater) if one.surely_above(other)]
        for one in intervals(smaller)
    }
    return {code: others for code, others in found.items() if others}
