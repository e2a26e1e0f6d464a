"""Question sets: the declarative recipe from raw columns to questions with categories."""

import hashlib
import itertools
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from pydantic import Field, field_validator, model_validator

from modp.config import Strict
from modp.errors import InputError

MISSING = -1
UNKNOWN = np.iinfo(np.int64).min
JITTER = 0.01
"""Width in dollars, minutes or hours of the noise that splits ties between deciles."""

RESERVED = ("record", "entropy_bits")
"""Columns of a synthetic table that are no questions."""

MAX_CATEGORIES = 1000
"""Above this a question is surely an identifier: its one-hot block would fill the memory."""


class CategoryRecipe(Strict):
    """A category made of several raw values.

    ``values`` lists integers, ranges (``3..5``, ``..1949``, ``2020..``, both ends included) and
    ``blank``, separated by commas.
    """

    label: str
    values: str | int

    @property
    def parts(self) -> list[str]:
        """The comma-separated parts of ``values``."""
        return [part.strip() for part in str(self.values).split(",")]


class DecileRecipe(Strict):
    """Ten categories of equal size.

    ``of: positive`` takes the values above zero; ``of: all`` takes every record, with a blank
    standing for the value ``blank_as``.
    """

    of: Literal["positive", "all"]
    blank_as: int | None = None

    @model_validator(mode="after")
    def _blank_needs_all(self) -> "DecileRecipe":
        if (self.blank_as is not None) != (self.of == "all"):
            raise ValueError("'blank_as' goes with 'of: all', and 'of: all' needs it")
        return self


class QuestionRecipe(Strict):
    """How one question is made of one raw column."""

    name: str = Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")
    label: str
    column: str | None = None
    missing: str | None = None
    categories: dict[int, str | CategoryRecipe] = Field(default_factory=dict)
    deciles: DecileRecipe | None = None
    unit: Literal["$", "minutes", "hours"] | None = None

    @property
    def source(self) -> str:
        """The raw column's name."""
        return self.column or self.name

    @model_validator(mode="after")
    def _consistent(self) -> "QuestionRecipe":
        if not self.categories and not self.deciles:
            raise ValueError("a question needs 'categories' or 'deciles'")
        if self.deciles and set(self.categories) - {0}:
            raise ValueError("beside deciles only the category 0 (the value zero) is possible")
        if self.deciles and self.deciles.of == "all" and (self.missing or self.categories):
            raise ValueError("deciles of all records leave nothing for 'missing' or 'categories'")
        if self.missing is not None and (MISSING in self.categories or self._lists_blank()):
            raise ValueError("'missing' and a category of its own both take the blanks; keep one of them")
        intervals = self.intervals()
        if self.deciles and intervals not in ([], [(0, 0, 0)]):
            raise ValueError("beside deciles the category 0 holds the value 0 and nothing else")
        if len(self.categories) > MAX_CATEGORIES:
            raise ValueError(f"more than {MAX_CATEGORIES} categories: is this an identifier?")
        return self

    def intervals(self) -> list[tuple[float, float, int]]:
        """Return (lowest, highest, code) of every range of raw values, ascending.

        Raises
        ------
        ValueError
            if a range cannot be read, or a value stands in two categories
        """
        found = []
        for code, category in self.categories.items():
            if isinstance(category, str):
                found.append((code, code, code))
                continue
            found += [(*_range(part), code) for part in category.parts if part != "blank"]
        found.sort()
        for (_, high, first), (low, _, second) in itertools.pairwise(found):
            if low <= high:
                raise ValueError(f"the value {low:g} is in both category {first} and {second}")
        return found

    def values_of(self, code: int) -> str:
        """Return the raw values of a category as the question set writes them, empty for deciles."""
        category = self.categories.get(code)
        if isinstance(category, CategoryRecipe):
            return ", ".join(category.parts)
        if category is None:
            return "blank" if code == MISSING and self.missing is not None else ""
        return str(code)

    def blank_code(self) -> int | None:
        """Return the code of the category that a blank belongs to, or None."""
        return MISSING if self.missing is not None else next(iter(self._lists_blank()), None)

    def _lists_blank(self) -> list[int]:
        """The categories whose values include ``blank``."""
        return [
            code
            for code, category in self.categories.items()
            if isinstance(category, CategoryRecipe) and "blank" in category.parts
        ]


class QuestionSet(Strict):
    """The questions of a data set, in the order of their blocks."""

    name: str
    title: str
    records: Literal["persons", "housing"]
    questions: list[QuestionRecipe] = Field(min_length=2)

    @field_validator("questions")
    @classmethod
    def _no_question_twice(cls, questions: list[QuestionRecipe]) -> list[QuestionRecipe]:
        names = [q.name for q in questions]
        for name in RESERVED:
            if name in names:
                raise ValueError(f"a question cannot be called {name!r}, a column that synthetic tables add")
        twice = sorted({n for n in names if names.count(n) > 1})
        if twice:
            raise ValueError(f"question(s) listed twice: {', '.join(twice)}")
        return questions

    @property
    def columns(self) -> list[str]:
        """The raw columns needed, without repeats."""
        return list(dict.fromkeys(q.source for q in self.questions))


def _range(text: str) -> tuple[float, float]:
    low, dots, high = text.partition("..")
    try:
        if not dots:
            return float(int(low)), float(int(low))
        ends = float(int(low)) if low else -np.inf, float(int(high)) if high else np.inf
    except ValueError:
        raise ValueError(f"cannot read the values {text!r}: write 3, 3..5, ..5, 3..") from None
    if ends[0] > ends[1]:
        raise ValueError(f"the range {text!r} runs backwards")
    return ends


@dataclass(frozen=True)
class Category:
    """One answer: its code (as the files write it), its label for people, and its raw values.

    ``values`` is written as in the question set (``1..6``, ``blank``), empty for a decile.
    """

    code: str
    label: str
    values: str


@dataclass(frozen=True)
class Question:
    """One question with its categories, in the order of the block's columns.

    ``edges`` are the nine cuts between deciles (jitter included), empty for other questions.
    """

    name: str
    label: str
    column: str
    made: str
    categories: tuple[Category, ...]
    edges: tuple[float, ...] = ()


@dataclass(frozen=True)
class Codebook:
    """The questions of a coded data set.

    ``block_starts`` has one entry a question and, last, the number of categories K; question q's
    one-hot columns are ``block_starts[q]:block_starts[q + 1]``.
    """

    question_set: str
    questions: tuple[Question, ...]

    @cached_property
    def sizes(self) -> np.ndarray:
        """Number of categories of each question, shape (Q,)."""
        return np.array([len(q.categories) for q in self.questions])

    @cached_property
    def block_starts(self) -> np.ndarray:
        """First column of each block and, last, K: shape (Q + 1,)."""
        return np.concatenate([[0], np.cumsum(self.sizes)])

    @property
    def names(self) -> list[str]:
        """The questions' names."""
        return [q.name for q in self.questions]

    @property
    def columns(self) -> list[str]:
        """A name for each of the K categories, such as ``SEX=1``."""
        return [f"{q.name}={c.code}" for q in self.questions for c in q.categories]

    @property
    def digest(self) -> str:
        """Sha256 of what gives a model's columns their meaning: questions, codes and raw values."""
        values = [c.values for q in self.questions for c in q.categories]
        meaning = [f"{c} {v}" for c, v in zip(self.columns, values, strict=True)]
        return hashlib.sha256("\n".join(meaning).encode()).hexdigest()

    def to_json(self) -> str:
        """Return the codebook as JSON text, ending in a newline."""
        content = {
            "question_set": self.question_set,
            "digest": self.digest,
            "block_starts": self.block_starts.tolist(),
            "questions": [asdict(q) for q in self.questions],
        }
        return json.dumps(content, indent=1, ensure_ascii=False) + "\n"

    @staticmethod
    def from_json(text: str) -> "Codebook":
        """Return the codebook that :meth:`to_json` wrote."""
        content = json.loads(text)
        questions = tuple(
            Question(
                **{
                    **q,
                    "categories": tuple(Category(**c) for c in q["categories"]),
                    "edges": tuple(q["edges"]),
                }
            )
            for q in content["questions"]
        )
        return Codebook(content["question_set"], questions)


def code(
    columns: Mapping[str, np.ma.MaskedArray], questions: QuestionSet, rng: np.random.Generator
) -> tuple[np.ndarray, Codebook]:
    """Turn raw columns into codes.

    Parameters
    ----------
    columns : raw column name -> integers of shape (n,), masked where blank
    questions : the recipe
    rng : splits the ties between deciles

    Returns
    -------
    codes : int16 of shape (n, Q), the index of the category within its question
    codebook : the questions with the categories' labels

    Raises
    ------
    InputError
        listing every column that holds a value no category takes, with the value and its count
    """
    faults: list[str] = []
    coded, made = [], []
    for recipe in questions.questions:
        values = columns[recipe.source]
        try:
            indices, question = _code_question(values, recipe, rng)
        except InputError as fault:
            faults.append(str(fault))
            continue
        coded.append(indices)
        made.append(question)
    if faults:
        raise InputError(
            "the data hold answers that the question set "
            f"{questions.name!r} does not know:\n" + "\n".join(faults) + "\n"
            "Add a category for them to the question set, or check the vintage of the file."
        )
    return np.column_stack(coded), Codebook(questions.name, tuple(made))


def _code_question(
    values: np.ma.MaskedArray, recipe: QuestionRecipe, rng: np.random.Generator
) -> tuple[np.ndarray, Question]:
    blank = np.ma.getmaskarray(values)
    raw = values.filled(0).astype(np.float64)
    codes = np.full(len(raw), UNKNOWN)
    labels = {c: text if isinstance(text, str) else text.label for c, text in recipe.categories.items()}

    intervals = recipe.intervals()
    if intervals:
        low, high, target = (np.array(part) for part in zip(*intervals, strict=True))
        at = np.searchsorted(low, raw, side="right") - 1
        inside = ~blank & (at >= 0) & (raw <= high[np.maximum(at, 0)])
        codes[inside] = target[at[inside]]
    if recipe.blank_code() is not None:
        codes[blank] = recipe.blank_code()
    if recipe.missing is not None:
        labels = {MISSING: recipe.missing, **labels}
    edges = np.zeros(0)
    if recipe.deciles:
        taken, of = _decile_values(raw, blank, recipe.deciles)
        codes[taken], edges = deciles(of, rng)
        texts = _decile_labels(of, blank[taken], codes[taken], recipe.unit)
        labels = {**labels, **texts}

    if np.any(codes == UNKNOWN):
        raise InputError(_unknown_answers(values[codes == UNKNOWN], recipe))
    order = sorted(labels)
    categories = tuple(Category(str(c), labels[c], recipe.values_of(c)) for c in order)
    made = "deciles" if recipe.deciles else "merged" if _merges(recipe) else "as coded"
    question = Question(recipe.name, recipe.label, recipe.source, made, categories, tuple(edges.tolist()))
    return np.searchsorted(order, codes).astype(np.int16), question


def _merges(recipe: QuestionRecipe) -> bool:
    return any(isinstance(c, CategoryRecipe) for c in recipe.categories.values())


def _decile_values(raw: np.ndarray, blank: np.ndarray, recipe: DecileRecipe) -> tuple[np.ndarray, np.ndarray]:
    """Which records fall into deciles, and the values they are ranked by."""
    if recipe.of == "positive":
        taken = ~blank & (raw > 0)
        return taken, raw[taken]
    return np.ones(len(raw), bool), np.where(blank, recipe.blank_as, raw)


def deciles(values: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Cut values into ten parts of equal size, ties split at random.

    Parameters
    ----------
    values : shape (m,)
    rng : draws the jitter, uniform in (0, 0.01), that splits ties

    Returns
    -------
    deciles : integers 1…10 of shape (m,)
    edges : the nine cuts, of the jittered values; empty if there are no values
    """
    if not len(values):
        return np.zeros(0, int), np.zeros(0)
    jittered = values + rng.uniform(0, JITTER, len(values))
    edges = np.quantile(jittered, np.arange(1, 10) / 10)
    return np.searchsorted(edges, jittered, side="right") + 1, edges


def _decile_labels(
    values: np.ndarray, blank: np.ndarray, which: np.ndarray, unit: str | None
) -> dict[int, str]:
    """Decile -> the range of values it holds, for people."""
    return {k: _decile_label(k, values[which == k], blank[which == k], unit) for k in range(1, 11)}


def _decile_label(k: int, values: np.ndarray, blank: np.ndarray, unit: str | None) -> str:
    if not len(values):
        return f"decile {k}: no records"
    parts = ["not asked"] if blank.any() else []
    known = values[~blank]
    if len(known):
        low, high = (_amount(v, unit) for v in (known.min(), known.max()))
        parts.append(low if low == high else f"{low}–{high}")
    suffix = f" {unit}" if unit in ("minutes", "hours") and len(known) else ""
    return f"decile {k}: " + " or ".join(parts) + suffix


def _amount(value: float, unit: str | None) -> str:
    sign = "−" if value < 0 else ""
    return f"{sign}{'$' if unit == '$' else ''}{abs(value):,.0f}"


def _unknown_answers(values: np.ma.MaskedArray, recipe: QuestionRecipe) -> str:
    blank = int(np.ma.getmaskarray(values).sum())
    found, counts = np.unique(values.compressed(), return_counts=True)
    parts = [f"{v} ({c:,} records)" for v, c in zip(found[:5].tolist(), counts[:5].tolist(), strict=True)]
    if len(found) > 5:
        parts.append(f"and {len(found) - 5} more values")
    if blank:
        parts.append(f"blank ({blank:,} records)")
    return f"  {recipe.source}: {', '.join(parts)}"
