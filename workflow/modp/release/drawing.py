"""From codes back to answers: every question's column as the input's file writes it."""

import functools
import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from modp.files.table import BLANK, Column
from modp.pums import vintages
from modp.release import values
from modp.release.days import DaySpelling, grid_of_days
from modp.release.inside import Inside
from modp.release.ranges import bounded, holds, ranges, stated
from modp.release.values import RARITY, Range, Shape, Spelling
from modp.survey import numbers
from modp.survey.codebook import Question
from modp.survey.questions import QuestionRecipe

TRIES = 20
"""Times that a number which is not of its category is drawn again."""

SHORT, LONGEST = 3, 12
"""Letters of a code at most, and characters in all: one names nobody, even if it is rare."""

FILLED = 0.5
"""Of the whole numbers between a category's least and greatest, that there are where they are no codes."""

SOMEWHEN = 730120.0
"""The day 2000-01-01, for dates of which nothing is known."""


@dataclass(frozen=True)
class Pool:
    """The raw answers of one category, as the column writes them, and how many true records give each.

    texts : m of them; a blank is the empty text
    counts : (m,)
    """

    texts: tuple[str, ...] = ()
    counts: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))


def pools(codes: np.ndarray, categories: int, column: Column, rows: np.ndarray) -> list[Pool]:
    """Return the raw answers of each category of a question.

    Parameters
    ----------
    codes : (n,) of the true records, in one question
    categories : how many it has
    column : the question's raw column, of the file's rows
    rows : (n,) the row of each record
    """
    texts = [*column.kinds.tolist(), ""]
    places = np.where(column.places[rows] == BLANK, len(column.kinds), column.places[rows])
    pairs, counts = np.unique(codes.astype(np.int64) * len(texts) + places, return_counts=True)
    category, at = np.divmod(pairs, len(texts))
    found = []
    for k in range(categories):
        own = category == k
        found.append(Pool(tuple(texts[i] for i in at[own]), counts[own]))
    return found


@dataclass(frozen=True)
class Asked:
    """A question with what its raw column says of how answers are written.

    question, recipe : and how it was made
    spelling : of the column's numbers, or dates
    grid : steps to which these may be rounded, rising
    written : number of the question set -> the file's numbers for it, where a vintage has others
    hidden : rare words that are never given back, since only the true records tell that there are such
    """

    question: Question
    recipe: QuestionRecipe
    spelling: Spelling | DaySpelling
    grid: tuple[float, ...]
    written: Mapping[int, Sequence[int]] = field(default_factory=dict)
    hidden: frozenset[str] = frozenset()

    @staticmethod
    def of(question: Question, recipe: QuestionRecipe, column: Column, own: bool = False) -> "Asked":
        """Look at a column that holds a question's raw answers.

        Parameters
        ----------
        own : whether the question set may list what only the true records tell, as one does that was written
            by looking at them. Then words that few of them give, and that the file does not label, are hidden
        """
        hidden = _rare_words(column) if own else frozenset()
        classes = recipe.numbers
        texts = [str(text) for text in column.kinds.tolist()]
        if classes:
            texts = [text for text in texts if text not in classes.words]
        known = {text: value for text in texts if (value := _reader(recipe)(text)) is not None}
        recode = _recode(question.column, column.name)
        written: dict[int, list[int]] = {}
        for old, new in recode.items():
            written.setdefault(new, []).append(old)
        if classes and classes.dates:
            days = DaySpelling.of(classes.dates, list(known))
            return Asked(question, recipe, days, grid_of_days(list(known.values())), written, hidden)
        if not known:
            step = float(recipe.step or 1)
            return Asked(question, recipe, Spelling(decimals=values.decimals(step)), (step,), written, hidden)
        spelling, grid = Spelling.of(list(known)), values.grid_of(list(known))
        return Asked(question, recipe, spelling, grid, written, hidden)

    def read(self, answer: str) -> float | None:
        """Return the number, or the day, that an answer is; None if it is none."""
        words = self.recipe.numbers.words if self.recipe.numbers else ()
        return None if answer in words else _reader(self.recipe)(answer)

    def rounded(self, made: np.ndarray) -> np.ndarray:
        """Return numbers without what floating point has added to multiples of the finest step."""
        return made if _of_days(self) else np.round(made, values.decimals(self.grid[0]))

    def texts(self, made: np.ndarray) -> np.ndarray:
        """Return numbers (size,) as texts that the column might have, objects."""
        kinds, which = np.unique(made, return_inverse=True)
        return np.array(self.spelling.write(kinds), object)[which]

    @property
    def are_numbers(self) -> bool:
        """Whether the file's answers are numbers in an order, and those of the question set."""
        return bool(self.recipe.numbers) or not (self.recipe.in_words or self.written)


def _rare_words(column: Column) -> frozenset[str]:
    rare = column.kinds[column.counts < RARITY].tolist()
    return frozenset(text for text in rare if not _is_code(text) and text not in column.labels)


def _is_code(text: str) -> bool:
    return len(re.findall(r"[^\W\d_]", text)) <= SHORT and len(text) <= LONGEST and not re.search(r"\s", text)


def _of_days(asked: Asked) -> bool:
    return isinstance(asked.spelling, DaySpelling)


def _reader(recipe: QuestionRecipe) -> Callable[[str], float | None]:
    return recipe.numbers.value if recipe.numbers else numbers.number


def _recode(asked: str, name: str) -> Mapping[int, int]:
    """The file's numbers of a question that stands there under another vintage's name -> our own."""
    found = vintages.source(asked, [name.upper()]) if asked != name else None
    return found.recode if found else {}


@dataclass(frozen=True)
class Bins:
    """What the answers of a category are drawn from: answers that many true records share, groups of others.

    counts : (b,), true records in each bin
    places : (b,), where it lies among the others
    of : raw answer -> its bin
    write : bins (m,) -> answers drawn from each, objects (m,): texts as the column writes them, a blank empty
    shown : answers that come back as they are
    """

    counts: np.ndarray
    places: np.ndarray
    of: Mapping[str, int]
    write: Callable[[np.ndarray, np.random.Generator], np.ndarray]
    shown: frozenset[str] = frozenset()

    def draw(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Draw so many bins, in the shares of the true records."""
        return rng.choice(len(self.counts), size, p=self.counts / self.counts.sum())

    def instead(self, answer: str, rng: np.random.Generator) -> str:
        """Return an answer itself if it comes back as it is, else another one of its bin."""
        return answer if answer in self.shown else str(self.write(np.array([self.of[answer]]), rng)[0])


def bins(
    asked: Asked,
    found: Sequence[Pool],
    how: Inside = "shape",
    public: Sequence[Pool] = (),
    rarity: int = RARITY,
) -> Callable[[int], Bins]:
    """Return what answers of each category are drawn from, worked out when a category is first asked for.

    Parameters
    ----------
    asked : the question
    found : its categories' raw answers among the true records
    how : numbers are drawn inside their class from its smoothed shape, uniformly, or as ``public``
    public : its categories' raw answers in a public table. Where it has none of a category, those of the
        true records are used, in their shape. In another way they serve where true records are few
    rarity : records that share an answer which comes back as it is, at least
    """

    @functools.cache
    def of(k: int) -> Bins:
        if public and public[k].texts and (how == "public" or found[k].counts.sum() < RARITY):
            return _of_texts(asked, public[k], 1)
        return _of_category(asked, k, found[k], how, rarity)

    return of


def answers(codes: np.ndarray, of: Callable[[int], Bins], rng: np.random.Generator) -> np.ndarray:
    """Draw a raw answer for each synthetic record, whatever else it answers.

    Parameters
    ----------
    codes : (size,) of the synthetic records, in one question
    of : what each category's are drawn from, from :func:`bins`

    Returns
    -------
    objects (size,), texts as the column writes them; a blank is the empty text
    """
    drawn = np.full(len(codes), "", object)
    for k in np.unique(codes).tolist():
        own = np.flatnonzero(codes == k)
        drawn[own] = of(k).write(of(k).draw(len(own), rng), rng)
    return drawn


def _of_category(asked: Asked, k: int, pool: Pool, how: Inside, rarity: int) -> Bins:
    """The bins of a category: of its numbers, and of what its pool holds besides these."""
    parts = ranges(asked.question, asked.recipe, asked.question.categories[k])
    known = [asked.read(text) if parts else None for text in pool.texts]
    amounts = np.array([math.nan if value is None else value for value in known])
    numeric = np.isfinite(amounts)
    if not _in_order(asked, k, parts, amounts[numeric], pool.counts[numeric]):
        few = pool.counts.sum() < rarity or not pool.texts
        return _unseen(asked, k, pool, parts) if few else _of_texts(asked, pool, rarity)
    rising, counts = _merged(amounts[numeric], pool.counts[numeric])
    make = values.uniform if how == "uniform" else functools.partial(values.shape, rarity=rarity)
    shape = make(rising, counts, parts[0], asked.grid)
    texts = np.array(pool.texts, object)
    own = dict(zip(texts[numeric], shape.bins(amounts[numeric]).tolist(), strict=True))
    of_shape = Bins(shape.counts, shape.places, own, functools.partial(_written, asked, k, shape))
    if numeric.all():
        return of_shape
    others = _of_texts(asked, Pool(tuple(texts[~numeric]), pool.counts[~numeric]), rarity)
    return _joined(of_shape, counts.sum(), others)


def _joined(numbers_: Bins, records: int, others: Bins) -> Bins:
    """The bins of so many records with numbers, and after them those of others."""
    first = len(numbers_.counts)
    counts = np.append(numbers_.counts * (records / numbers_.counts.sum()), others.counts)
    places = np.append(numbers_.places, numbers_.places.min() - 1 - others.places)
    of = {**numbers_.of, **{text: first + at for text, at in others.of.items()}}

    def write(which: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        drawn = np.full(len(which), "", object)
        of_numbers = which < first
        drawn[of_numbers] = numbers_.write(which[of_numbers], rng)
        drawn[~of_numbers] = others.write(which[~of_numbers] - first, rng)
        return drawn

    return Bins(counts, places, of, write, others.shown)


def _of_texts(asked: Asked, pool: Pool, rarity: int) -> Bins:
    """Bins of answers that are not drawn as numbers.

    Each that is not rare is one; of rare codes those that follow one another are one together, and all of
    these are as probable. In place of hidden words stands what is given most often, a blank if nothing else.
    """
    count = dict(zip(pool.texts, pool.counts.tolist(), strict=True))
    shown = sorted((text for text in pool.texts if text not in asked.hidden), key=lambda t: (len(t), t))
    members = [[text] for text in shown if count[text] >= rarity]
    members += _grouped([text for text in shown if count[text] < rarity], count, rarity)
    held = [sum(count[text] for text in group) for group in members]
    of = {text: at for at, group in enumerate(members) for text in group}
    often = int(np.argmax(held)) if held else 0
    of |= {text: often for text in pool.texts if text in asked.hidden}
    members = members or [[""]]
    counts = np.bincount([of[text] for text in pool.texts], pool.counts, len(members))
    places = np.array([shown.index(group[0]) if shown else 0 for group in members])
    sizes = np.array([len(group) for group in members])
    flat = np.array([text for group in members for text in group], object)

    def write(which: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        chosen = np.floor(rng.random(len(which)) * sizes[which]).astype(np.int64)
        return flat[(np.cumsum(sizes) - sizes)[which] + chosen]

    return Bins(counts, places, of, write, frozenset(shown))


def _grouped(texts: Sequence[str], count: Mapping[str, int], rarity: int) -> list[list[str]]:
    """Rare answers in groups of those that follow one another, of so many records at least if there are."""
    groups: list[list[str]] = []
    held = rarity
    for text in texts:
        if held >= rarity:
            groups.append([])
            held = 0
        groups[-1].append(text)
        held += count[text]
    if len(groups) > 1 and held < rarity:
        last = groups.pop()
        groups[-1] += last
    return groups


def _unseen(asked: Asked, k: int, pool: Pool, parts: Sequence[Range]) -> Bins:
    """The one bin of a category of which no true record may be seen."""
    recipe = asked.recipe
    write: Callable[[np.ndarray, np.random.Generator], np.ndarray] = functools.partial(_stated, asked, k)
    if parts and (recipe.numbers or recipe.deciles):
        part = bounded(recipe, parts[0])
        if part.low == part.high:
            return _of_texts(asked, Pool((asked.texts(np.array([part.low]))[0],), np.ones(1, np.int64)), 1)
        shape = values.blind(part, asked.grid[0], SOMEWHEN if _of_days(asked) else 0.0)
        blank = recipe.deciles.blank_as if recipe.deciles else None
        write = functools.partial(_blanked if blank is not None else _written, asked, k, shape)
    return Bins(np.ones(1), np.zeros(1), dict.fromkeys(pool.texts, 0), write)


def _in_order(asked: Asked, k: int, parts: Sequence[Range], amounts: np.ndarray, counts: np.ndarray) -> bool:
    """Whether a category's answers are numbers of one range that can be drawn anew.

    Whole numbers that the question set merges are such, not codes, if they fill at least half their range.
    """
    if len(parts) != 1 or not len(amounts) or not asked.are_numbers:
        return False
    if asked.recipe.numbers or asked.recipe.deciles:
        return parts[0].low < parts[0].high
    filled = len(np.unique(amounts)) >= FILLED * (amounts.max() - amounts.min() + 1)
    return bool(filled and np.any(counts < RARITY) and parts[0].low < parts[0].high)


def _merged(amounts: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Numbers in rising order, those that are written in several ways once."""
    rising, at = np.unique(amounts, return_inverse=True)
    return rising, np.bincount(at, weights=counts).astype(np.int64)


def _written(asked: Asked, k: int, shape: Shape, which: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Numbers of a category, drawn from bins (m,) of its shape, as the column writes them.

    One that falls on a number that stands apart, or by rounding out of the category, is drawn again, and at
    last goes to the nearest number that is the category's.
    """
    drawn = asked.rounded(shape.draw(which, rng))
    for _ in range(TRIES):
        wrong = np.flatnonzero(~holds(asked.question, asked.recipe, k, drawn))
        if not len(wrong):
            return asked.texts(drawn)
        drawn[wrong] = asked.rounded(shape.draw(which[wrong], rng))
    wrong = np.flatnonzero(~holds(asked.question, asked.recipe, k, drawn))
    for value in np.unique(drawn[wrong]):
        drawn[wrong[drawn[wrong] == value]] = _nearest(asked, k, float(value))
    return asked.texts(drawn)


def _blanked(asked: Asked, k: int, shape: Shape, which: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The same, with blanks where a number is what a blank stands for."""
    drawn, deciles = _written(asked, k, shape, which, rng), asked.recipe.deciles
    assert deciles is not None and deciles.blank_as is not None
    drawn[drawn == asked.texts(np.array([deciles.blank_as]))[0]] = ""
    return drawn


def _nearest(asked: Asked, k: int, value: float) -> float:
    """The nearest multiple of the finest step that is of a category; the value itself if none is near."""
    step = asked.grid[0]
    part = ranges(asked.question, asked.recipe, asked.question.categories[k])[0]
    first, last = bounded(asked.recipe, part).multiples(step)
    at = min(max(round(value / step), first), last)
    near = asked.rounded((at + np.array([0, *(sign * k for k in range(1, 100) for sign in (1, -1))])) * step)
    free = near[holds(asked.question, asked.recipe, k, near)]
    return float(free[0]) if len(free) else value


def _stated(asked: Asked, k: int, which: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    category = asked.question.categories[k]
    drawn = stated(asked.recipe, asked.question, category, len(which), rng, asked.spelling, asked.written)
    return np.array(["" if text in asked.hidden else text for text in drawn.tolist()], object)


def column(source: Column, drawn: np.ndarray) -> Column:
    """Return a column of these answers (objects, size; blank where empty) with what the file says of it."""
    which, found = pd.factorize(drawn)
    order = np.argsort(found.astype(str), kind="stable")
    order = order[found[order] != ""]
    places = np.full(len(found), BLANK, np.int32)
    places[order] = np.arange(len(order))
    return replace(source, kinds=found[order], places=places[which])


def filled(source: Column, text: str, size: int) -> Column:
    """Return a column with one answer in every record, or blank."""
    return column(source, np.full(size, text, object))


def numbered(source: Column, size: int) -> Column:
    """Return a column of new keys, none of them a true one: the least whole numbers, or S and a number."""
    count = np.arange(1, size + 1)
    texts = [str(text) for text in source.kinds.tolist()]
    if source.dtype in ("integer", "number") or (texts and all(text.isdecimal() for text in texts)):
        taken = {number for text in texts if (number := numbers.number(text)) is not None}
        free = (k for k in itertools.count(1) if k not in taken)
        return column(source, np.array([str(k) for k in itertools.islice(free, size)], object))
    known = set(texts)
    mark = next(mark for mark in ("S" * k for k in itertools.count(1)) if not _begins(known, mark))
    return column(source, np.array([f"{mark}{k}" for k in count.tolist()], object))


def _begins(texts: set[str], mark: str) -> bool:
    return any(text.startswith(mark) for text in texts)
