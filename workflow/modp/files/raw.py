"""What the columns of anybody's table answer: words or whole numbers, as a question set wants them."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from modp.base.columns import Made, Raw
from modp.base.errors import InputError, did_you_mean
from modp.files.table import BLANK, Column, Table
from modp.survey import numbers
from modp.survey.questions import QuestionSet

LARGEST = np.iinfo(np.int32).max


def raw(table: Table, questions: QuestionSet, where: str | Path) -> Raw:
    """Return the columns that questions are made of, each of which is made when it is asked for.

    Parameters
    ----------
    table : of n rows
    where : the file, for messages

    Returns
    -------
    column -> objects or int32 of shape (n,), masked where blank

    Raises
    ------
    InputError
        naming all columns that the table lacks; or the column with an answer that is no whole number where
        the question set expects such
    """
    lacking = [name for name in questions.columns if name not in table.names]
    if lacking:
        said = "".join(f"\n  {name}{did_you_mean(name, table.names)}" for name in lacking)
        raise InputError(f"{where} lacks {len(lacking)} of the columns that the question set names:{said}")
    words = questions.columns_of_words
    known = {name: _wholes(table[name], where) for name in questions.columns if name not in words}
    return Made(
        questions.columns, lambda name: _at(known[name], table[name]) if name in known else table[name].words
    )


def whole(column: Column, where: str | Path) -> np.ma.MaskedArray:
    """Return a column's whole numbers, int32 (n,), masked where blank; raise InputError on anything else."""
    return _at(_wholes(column, where), column)


def _wholes(column: Column, where: str | Path) -> np.ndarray:
    """The whole numbers that a column's kinds are, int32 (m,)."""
    values = [numbers.number(text) for text in column.kinds.tolist()]
    for text, value in zip(column.kinds.tolist(), values, strict=True):
        if value is None or value != int(value) or abs(value) > LARGEST:
            raise InputError(
                f"{where}: {column.name} holds {text!r}, which is not a whole number below 2**31; if such "
                "answers are wanted, make all keys of its categories words, in quotes"
            )
    return np.array([value or 0 for value in values], np.int32)


def _at(values: np.ndarray, column: Column) -> np.ma.MaskedArray:
    """A column's answers (n,), of which the values (m,) of its kinds are given."""
    return np.ma.array(np.append(values, values.dtype.type(0))[column.places], mask=column.places == BLANK)


def amounts(table: Table, names: Sequence[str], where: str | Path) -> Raw:
    """Return columns of numbers, float64 (n,), masked where blank, each made when it is asked for.

    Raises
    ------
    InputError
        naming the column, the first row and what stands there, if an answer is no number
    """
    known = {name: _amounts(table[name], where) for name in names}
    return Made(names, lambda name: _at(known[name], table[name]))


def _amounts(column: Column, where: str | Path) -> np.ndarray:
    """The numbers that a column's kinds are, float64 (m,)."""
    values = [numbers.number(text) for text in column.kinds.tolist()]
    odd = np.array([value is None for value in [*values, 0.0]])[column.places]
    if odd.any():
        row = int(np.argmax(odd))
        raise InputError(
            f"{where}: {column.name} holds {column.kinds[column.places[row]]!r} in row {row + 1:,}, which is "
            "not a number"
        )
    return np.array([value or 0.0 for value in values], np.float64)
