"""Numbers behind coded answers: those of the true records, and those drawn back for synthetic ones."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from modp.base.errors import InputError
from modp.files.table import BLANK
from modp.release.assembled import Source, answers
from modp.release.days import DaySpelling
from modp.release.drawing import Asked
from modp.survey.codebook import Codebook


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
        column = source.column(asked.question)
        places = column.places[source.rows]
        found[name] = np.where(places == BLANK, np.nan, np.append(_read(asked, column.kinds), np.nan)[places])
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
    codebook = source.records.codebook
    # What is drawn of one question depends on others only where relations between numbers are to hold.
    kept = [q for q, name in enumerate(codebook.names) if source.questions.relations or name in names]
    part = Codebook(codebook.question_set, tuple(codebook.questions[q] for q in kept))
    records = replace(source.records, codes=source.records.codes[:, kept], codebook=part)
    texts, _ = answers(codes[:, kept], replace(source, records=records, public={}), seed, streams)
    found = {}
    for name in names:
        kinds, at = np.unique(texts[name].astype(str), return_inverse=True)
        found[name] = _read(_asked(name, source), kinds)[at]
    return found


def _asked(name: str, source: Source) -> Asked:
    question = source.records.codebook.questions[source.records.codebook.names.index(name)]
    recipe = next(recipe for recipe in source.questions.questions if recipe.name == name)
    asked = Asked.of(question, recipe, source.column(question))
    if not asked.are_numbers or isinstance(asked.spelling, DaySpelling):
        raise InputError(
            f"params.yaml: estimates.of: the answers to {name} are words or dates, of which there is no total"
        )
    return asked


def _read(asked: Asked, texts: np.ndarray) -> np.ndarray:
    """The numbers that these texts are, (m,), NaN where one is none."""
    known = [asked.read(str(text)) for text in texts.tolist()]
    return np.array([np.nan if value is None else value for value in known], float)
