"""Numbers behind coded answers: those of the true records, and those drawn back for synthetic ones."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from modp.base.errors import InputError
from modp.release.answers import Source, answers
from modp.release.days import DaySpelling
from modp.release.drawing import Asked
from modp.release.given import answered
from modp.release.relations import numbers_of


def true_amounts(names: Sequence[str], source: Source) -> dict[str, np.ndarray]:
    """Return the true records' numbers, question -> float64 (n,), NaN where the answer is none.

    Raises
    ------
    InputError
        if a question's answers are words or dates
    """
    found = {}
    for name in names:
        asked = _asked(name, source)
        found[name] = answered(asked, source.column(asked.question), source.rows).numbers
    return found


def drawn_amounts(
    codes: np.ndarray, names: Sequence[str], source: Source, seed: int, *streams: str
) -> dict[str, np.ndarray]:
    """Return the numbers that a release would draw for synthetic records, question -> float64 (m,).

    They are drawn inside their category as :func:`modp.release.assembled.released` does, in its way
    ``shape``, or, from a source without true records, as the question set states them; NaN where the answer
    drawn is no number.

    Parameters
    ----------
    codes : (m, Q) of the synthetic records
    source : the true records, from whose answers values are drawn
    seed, streams : of the values
    """
    # What is drawn of one question depends on numbers of others only where relations are to hold.
    only = None if source.questions.relations else names
    texts, _ = answers(codes, replace(source, public={}), seed, streams, only=only)
    return {name: numbers_of(texts[name], _asked(name, source).read) for name in names}


def _asked(name: str, source: Source) -> Asked:
    question = source.records.codebook.questions[source.records.codebook.names.index(name)]
    recipe = next(recipe for recipe in source.questions.questions if recipe.name == name)
    asked = Asked.of(question, recipe, source.column(question))
    if not asked.are_numbers or isinstance(asked.spelling, DaySpelling):
        raise InputError(
            f"params.yaml: estimates.of: the answers to {name} are words or dates, of which there is no total"
        )
    return asked
