"""From codes back to answers: every question's column as the input's file writes it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import numpy as np

from modp.files.table import BLANK, Column
from modp.release import values
from modp.release.inside import Inside
from modp.release.values import Shape, Spelling
from modp.survey import numbers
from modp.survey.codebook import Question
from modp.survey.numbers import ISO, Interval, NumbersRecipe
from modp.survey.questions import QuestionRecipe


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


def answers(
    codes: np.ndarray,
    question: Question,
    recipe: QuestionRecipe | None,
    found: Sequence[Pool],
    rng: np.random.Generator,
    how: Inside = "shape",
) -> np.ndarray:
    """Draw a raw answer for each synthetic record.

    Parameters
    ----------
    codes : (size,) of the synthetic records
    question : that they answer
    recipe : how it was made; None for a question that the data set adds
    found : its categories' raw answers; of a public table where ``how`` says so
    how : numbers are drawn inside their class from its smoothed shape, uniformly, or from the public table

    Returns
    -------
    objects (size,), texts as the column writes them; a blank is the empty text
    """
    drawn = np.full(len(codes), "", object)
    for k, category in enumerate(question.categories):
        own = np.flatnonzero(codes == k)
        if not len(own):
            continue
        pool = found[k]
        if not pool.texts:
            drawn[own] = _without_example(category.code, category.values)
        elif how == "public":
            drawn[own] = values.words(pool.texts, pool.counts, len(own), rng, rarity=1)
        elif recipe is not None and (recipe.numbers or (recipe.deciles and category.code.isdigit())):
            drawn[own] = _numbers(question, k, recipe, pool, len(own), rng, how)
        else:
            drawn[own] = values.words(pool.texts, pool.counts, len(own), rng)
    return drawn


def _without_example(code: str, listed: str) -> str:
    """What to write for a category that no true record has: the first value that the question set lists."""
    first = listed.split(",")[0].strip()
    if first in ("blank", ""):
        return ""
    low, _, high = first.partition("..")
    return low or high if ".." in first else first.removeprefix("=") or code


def _numbers(
    question: Question,
    k: int,
    recipe: QuestionRecipe,
    pool: Pool,
    size: int,
    rng: np.random.Generator,
    how: Inside,
) -> np.ndarray:
    """Numbers of one category; what its pool holds besides numbers comes in its share."""
    classes = recipe.numbers
    read = classes.value if classes else numbers.number
    known = [read(text) for text in pool.texts]
    code = question.categories[k].code
    if classes and code in classes.words:
        known = [None] * len(known)
    amounts = np.array([math.nan if v is None else v for v in known])
    numeric = np.isfinite(amounts)
    drawn = np.full(size, "", object)
    share = pool.counts[numeric].sum() / pool.counts.sum()
    chosen = rng.random(size) < share
    others = [text for text, number in zip(pool.texts, numeric, strict=True) if not number]
    if not chosen.all():
        drawn[~chosen] = values.words(others, pool.counts[~numeric], int((~chosen).sum()), rng)
    if not chosen.any():
        return drawn
    texts = [text for text, number in zip(pool.texts, numeric, strict=True) if number]
    amounts, counts = _merged(amounts[numeric], pool.counts[numeric])
    step = _step_of_days(texts) if classes and classes.dates else values.finest_step(texts)
    part = _interval(classes, question, code)
    made = _shape(amounts, counts, part, step, how).draw(int(chosen.sum()), rng)
    if classes:
        middle = float(np.average(amounts, weights=counts))
        made = values.inside(made, part, [classes.known(v) for v in classes.apart], step, middle)
    drawn[chosen] = written(made, classes, texts)
    return drawn


def _merged(amounts: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Numbers in rising order, those that are written in several ways once."""
    rising, at = np.unique(amounts, return_inverse=True)
    return rising, np.bincount(at, weights=counts).astype(np.int64)


def _interval(classes: NumbersRecipe | None, question: Question, code: str) -> Interval:
    if classes:
        return next(part for part in numbers.intervals(classes) if part.code == code)
    ends = [-math.inf, *question.edges, math.inf]
    at = int(code) - 1
    return Interval(code, ends[at], ends[at + 1]) if 0 <= at < len(ends) - 1 else Interval(code, 0.0, 0.0)


def _shape(amounts: np.ndarray, counts: np.ndarray, part: Interval, step: float, how: Inside) -> Shape:
    if how == "uniform" and part.high > part.low:
        return values.uniform(amounts, counts, part.low, part.high, step)
    return values.shape(amounts, counts, step)


def written(made: np.ndarray, classes: NumbersRecipe | None, texts: Sequence[str]) -> np.ndarray:
    """Return numbers (size,) as texts, objects, written as the column's ``texts`` are."""
    kinds, which = np.unique(made, return_inverse=True)
    if classes and classes.dates:
        written = [_date(value, classes.dates, texts) for value in kinds]
    else:
        spelling = Spelling.of(texts)
        written = [spelling.write(value) for value in kinds]
    return np.array(written, object)[which]


def _step_of_days(texts: Sequence[str]) -> float:
    """A day, or a minute where some of these dates have a time of day."""
    return 1 / 1440 if any(":" in text and not text.endswith("00:00:00") for text in texts) else 1.0


def _date(value: float, form: str, texts: Sequence[str]) -> str:
    minutes = round((value - math.floor(value)) * 1440)
    moment = datetime.fromordinal(math.floor(value)) + timedelta(minutes=minutes)
    if form != ISO:
        return moment.strftime(form)
    return (
        moment.isoformat() if any("T" in text or " " in text for text in texts) else moment.date().isoformat()
    )


def column(source: Column, drawn: np.ndarray) -> Column:
    """Return a column of these answers (objects, size; blank where empty) with what the file says of it."""
    kinds, places = np.unique(drawn.astype(str), return_inverse=True)
    blank = kinds == ""
    shifted = places - np.searchsorted(np.flatnonzero(blank), places, side="right")
    at = np.where(blank[places], BLANK, shifted).astype(np.int32)
    return Column(
        source.name,
        kinds[~blank].astype(object),
        at,
        source.label,
        source.labels,
        source.missing,
        source.dtype,
    )


def filled(source: Column, text: str, size: int) -> Column:
    """Return a column with one answer in every record, or blank."""
    return column(source, np.full(size, text, object))


def numbered(source: Column, size: int) -> Column:
    """Return a column of new keys, plainly not the true ones: 1, 2, 3 … or S1, S2, S3 … in texts."""
    count = np.arange(1, size + 1)
    whole = source.dtype in ("integer", "number") or all(
        text.lstrip("-").isdigit() for text in source.kinds[:1000]
    )
    texts = [str(k) for k in count] if whole else [f"S{k}" for k in count]
    return column(source, np.array(texts, object))
