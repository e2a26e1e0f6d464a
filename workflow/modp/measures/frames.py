"""Raw answers as analysts and learners read them: numbers as numbers, others as categories, coded alike."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from modp.files.table import BLANK, Column, Table
from modp.survey import numbers
from modp.survey.codebook import Codebook
from modp.survey.questions import QuestionRecipe, QuestionSet

FILLED = 0.5
"""Of the whole numbers between a column's least and greatest, that there are where they are no codes."""

FEW = 12
"""Kinds of answers up to which a question has an answer from a list, also where these are numbers."""

MOST_CATEGORIES = 250
"""That a learner is told apart; the rarer ones of a column count as one more."""


def frames(
    tables: Sequence[Table], columns: Mapping[str, str], recipes: Mapping[str, QuestionRecipe]
) -> list[pd.DataFrame]:
    """Return tables of one form as data frames, in which the same answer is the same value.

    A question's answers are numbers (float64, blanks and words NaN) if the question set cuts them into
    classes, or if those of the first table are all whole numbers that fill half of their range at least and
    are few or merged by the question set; a date is its days since year 1. Else they are categories (blanks
    missing), each a text: so are codes of occupations.

    Parameters
    ----------
    tables : the true records first
    columns : question -> the column of the tables that it is made of
    recipes : question -> how it is made
    """
    made: list[dict[str, object]] = [{} for _ in tables]
    for name, column in columns.items():
        recipe, parts = recipes[name], [table[column] for table in tables]
        kinds = sorted({str(kind) for part in parts for kind in part.kinds[part.counts > 0].tolist()})
        value = {kind: _value(recipe, kind) for kind in kinds}
        if _are_numbers(recipe, [value[kind] for kind in _given(parts[0])]):
            for frame, part in zip(made, parts, strict=True):
                known = np.array([value.get(str(kind), np.nan) for kind in part.kinds.tolist()], float)
                frame[name] = np.append(known, np.nan)[part.places]
        else:
            place = {kind: at for at, kind in enumerate(kinds)}
            for frame, part in zip(made, parts, strict=True):
                codes = np.array([place.get(str(kind), BLANK) for kind in part.kinds.tolist()], np.int32)
                of_rows = np.append(codes, np.int32(BLANK))[part.places]
                frame[name] = pd.Categorical.from_codes(of_rows, categories=pd.Index(kinds, dtype=object))
    return [pd.DataFrame(frame, index=range(len(table))) for frame, table in zip(made, tables, strict=True)]


def _given(column: Column) -> list[str]:
    return [str(kind) for kind in column.kinds[column.counts > 0].tolist()]


def _value(recipe: QuestionRecipe, answer: str) -> float:
    """The number, or the day, that an answer is; NaN if it is none."""
    if recipe.numbers is None:
        found = numbers.number(answer)
    else:
        found = None if answer in recipe.numbers.words else recipe.numbers.value(answer)
    return np.nan if found is None else found


def _are_numbers(recipe: QuestionRecipe, given: Sequence[float]) -> bool:
    if recipe.numbers or recipe.deciles:
        return True
    known = np.unique(given)
    if recipe.in_words or not len(known) or np.isnan(known).any() or np.any(known % 1):
        return False
    merged = any(high > low for low, high, _ in recipe.intervals())
    filled = len(known) >= FILLED * (known[-1] - known[0] + 1)
    return bool(filled and (merged or len(known) <= FEW))


def matrices(frames: Sequence[pd.DataFrame]) -> tuple[list[np.ndarray], np.ndarray]:
    """Return data frames of one form as a learner takes them.

    Returns
    -------
    float64 (n, Q) of each, categories by their place, blanks NaN; and which of the Q are categories, a mask.
    The rarest of more than ``MOST_CATEGORIES`` are one.
    """
    columns: list[list[np.ndarray]] = [[] for _ in frames]
    nominal = []
    for name in frames[0].columns:
        parts = [frame[name] for frame in frames]
        nominal.append(isinstance(parts[0].dtype, pd.CategoricalDtype))
        for own, values in zip(columns, _coded(parts) if nominal[-1] else parts, strict=True):
            own.append(np.asarray(values, float))
    return [np.column_stack(own) for own in columns], np.array(nominal)


def _coded(parts: Sequence[pd.Series]) -> list[np.ndarray]:
    """Categories by their place, float64, the rarest together."""
    codes = [part.cat.codes.to_numpy() for part in parts]
    counts = np.bincount(np.concatenate([own[own != BLANK] for own in codes]), minlength=1)
    kept = np.sort(np.argsort(-counts, kind="stable")[:MOST_CATEGORIES])
    place = np.full(len(counts), MOST_CATEGORIES, float)
    place[kept] = np.arange(len(kept))
    return [np.append(place, np.nan)[own] for own in codes]


def frames_of_codes(
    codes: Sequence[np.ndarray], codebook: Codebook, questions: QuestionSet
) -> list[pd.DataFrame]:
    """Return tables of codes (n, Q) as data frames: a class of numbers by its place, others as categories."""
    made: list[dict[str, object]] = [{} for _ in codes]
    recipes = {recipe.name: recipe for recipe in questions.questions}
    for q, question in enumerate(codebook.questions):
        recipe = recipes[question.name]
        labels = pd.Index([category.code for category in question.categories], dtype=object)
        for frame, own in zip(made, codes, strict=True):
            if recipe.deciles or recipe.numbers:
                frame[question.name] = own[:, q].astype(float)
            else:
                frame[question.name] = pd.Categorical.from_codes(own[:, q], categories=labels)
    return [pd.DataFrame(frame) for frame in made]


def at_rows(table: Table, rows: np.ndarray) -> Table:
    """Return these rows of a table, some twice if need be."""
    return replace(table, columns=tuple(replace(c, places=c.places[rows]) for c in table.columns))
