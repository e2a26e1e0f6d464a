"""Relations between the numbers of a record: values drawn one by one may break them, and are mended."""

from collections.abc import Callable, Mapping

import numpy as np

from modp.survey.questions import Relation

TRIES = 20
"""Times that values which break a relation are drawn anew, before one of them is set."""

Read = Callable[[str], float | None]


def numbers_of(answers: np.ndarray, read: Read) -> np.ndarray:
    """Return the numbers among answers, float64 of their shape, NaN where one is none."""
    kinds, which = np.unique(answers.astype(str), return_inverse=True)
    values = [read(kind) for kind in kinds]
    return np.array([np.nan if value is None else value for value in values], float)[which]


def keep(
    relation: Relation,
    answers: Mapping[str, np.ndarray],
    read: Mapping[str, Read],
    redraw: Callable[[str, np.ndarray], np.ndarray],
    write: Mapping[str, Callable[[np.ndarray], np.ndarray]],
) -> int:
    """Make a relation hold in every record, in place.

    Parameters
    ----------
    answers : question -> texts, objects (n,)
    read : question -> the number that a text is
    redraw : draws a question's answers anew for records, inside their categories
    write : question -> texts of numbers

    Returns
    -------
    how many records got a number that was set, not drawn
    """
    if relation.sign == "=":
        return _sum_kept(relation, answers, read, write)
    smaller, greater = relation.names
    broken = _out_of_order(relation, answers, read)
    for _ in range(TRIES):
        if not len(broken):
            return 0
        for name in (smaller, greater):
            answers[name][broken] = redraw(name, broken)
        broken = _out_of_order(relation, answers, read)
    values = numbers_of(answers[greater][broken], read[greater])
    answers[smaller][broken] = write[smaller](values)
    return len(broken)


def _out_of_order(
    relation: Relation, answers: Mapping[str, np.ndarray], read: Mapping[str, Read]
) -> np.ndarray:
    smaller, greater = (numbers_of(answers[name], read[name]) for name in relation.names)
    return np.flatnonzero(smaller > greater)


def _sum_kept(
    relation: Relation,
    answers: Mapping[str, np.ndarray],
    read: Mapping[str, Read],
    write: Mapping[str, Callable[[np.ndarray], np.ndarray]],
) -> int:
    total, *parts = relation.names
    values = np.column_stack([numbers_of(answers[name], read[name]) for name in parts])
    before = numbers_of(answers[total], read[total])
    summed = np.nansum(values, axis=1)
    wrong = np.flatnonzero(np.isfinite(before) & np.isfinite(values).any(axis=1) & (before != summed))
    answers[total][wrong] = write[total](summed[wrong])
    return len(wrong)
