"""The raw answers that a public table has for each category, under a run's question set and codebook."""

from collections.abc import Mapping

import numpy as np

from modp.files.table import BLANK, Table
from modp.release.drawing import Pool
from modp.release.ranges import holds, words
from modp.survey import numbers
from modp.survey.codebook import Codebook, Question
from modp.survey.questions import QuestionRecipe, QuestionSet


def public_pools(
    table: Table,
    rows: np.ndarray,
    answers: Mapping[str, np.ma.MaskedArray],
    questions: QuestionSet,
    codebook: Codebook,
    column_of: Mapping[str, str],
) -> dict[str, list[Pool]]:
    """Return the raw answers of each category of each question in a public table.

    Parameters
    ----------
    table : its rows
    rows : (n,) of those that are records
    answers : raw column of the question set -> the records' answers (n,), as the question set wants them
    column_of : raw column of the question set -> that of the table, where this calls it otherwise
    """
    recipes = {recipe.name: recipe for recipe in questions.questions}
    found = {}
    for question in codebook.questions:
        column = table[column_of.get(question.column, question.column)]
        places, first, counts = np.unique(column.places[rows], return_index=True, return_counts=True)
        texts = ["" if at == BLANK else str(column.kinds[at]) for at in places.tolist()]
        fits = of_category(answers[question.column][first], recipes[question.name], question)
        found[question.name] = [
            Pool(tuple(text for text, fit in zip(texts, own, strict=True) if fit), counts[own])
            for own in fits
        ]
    return found


def of_category(answers: np.ma.MaskedArray, recipe: QuestionRecipe, question: Question) -> np.ndarray:
    """Return which answers (m,) may be of each category, a mask (categories, m).

    A number that deciles share, at random, is of each of them.
    """
    blank = np.ma.getmaskarray(answers)
    said = ["" if none else str(answer) for answer, none in zip(answers.data.tolist(), blank, strict=True)]
    read = recipe.numbers.value if recipe.numbers else numbers.number
    apart = recipe.numbers.words if recipe.numbers else ()
    known = [None if text in apart else read(text) for text in said]
    as_numbers = np.array([np.nan if value is None else value for value in known])
    if recipe.deciles and recipe.deciles.blank_as is not None:
        as_numbers[blank] = recipe.deciles.blank_as
    return np.array(
        [
            holds(question, recipe, k, as_numbers) | np.isin(said, words(recipe, category))
            for k, category in enumerate(question.categories)
        ]
    )
