"""The raw records of a data set: what of Census's files belongs to which question, and to which household."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from modp.base.columns import Made, Raw, at_rows, within
from modp.base.errors import InputError
from modp.pums import filters, parts, vintages
from modp.pums.read import read
from modp.pums.stored import Stored
from modp.pums.where import Dataset
from modp.survey.questions import QuestionSet

HOUSEHOLD = "SERIALNO"
"""The column with the household's number, in Census's files."""


def raw_records(
    files: list[Path], dataset: Dataset, questions: QuestionSet, besides: Sequence[str] = ()
) -> Stored:
    """Read the questions' columns and, where the files have them, those that help to read them.

    Parameters
    ----------
    besides : further columns of numbers, where the files have them
    """
    helpful = vintages.helpful(questions.columns)
    helpful += [column for name in dataset.keep for column in filters.columns(name)]
    household = dataset.household or HOUSEHOLD
    named = parts.columns(dataset)
    wanted = dict.fromkeys([*helpful, household, *dataset.weights, *named, *besides])
    optional = [c for c in wanted if c not in questions.columns]
    others = [c for c in named if c in optional and c not in (*helpful, *dataset.weights)]
    words = [*questions.columns_of_words, household, *others]
    found = read(files, questions.columns, words, optional, household)
    parts.require_columns(found, dataset)
    if dataset.household and household not in found:
        raise InputError(f"{dataset.title}: household: the files have no column {household!r}")
    return found


def filtered(raw: Raw, dataset: Dataset, say: Callable[[str], None]) -> tuple[np.ndarray, Raw]:
    """Keep the records that the data set's filters and ``only`` keep; raise InputError where none is left.

    Returns
    -------
    mask (n,) of the kept records, and their columns
    """
    kept = np.ones(len(next(iter(raw.values()))), bool)
    own = raw
    for name in dataset.keep:
        passed = filters.passes(name, own, dataset.title)
        say(f"{name} ({filters.FILTERS[name].meaning}): {len(passed):,} records in, {passed.sum():,} out")
        kept = within(kept, passed)
        own = at_rows(raw, kept)
        if not passed.any():
            raise InputError(f"{dataset.title}: the filter {name!r} leaves no record")
    only = parts.wanted(own, dataset)
    if only is not None:
        say(f"only {parts.said(dataset)}: {len(only):,} records in, {only.sum():,} out")
        kept = within(kept, only)
    return kept, at_rows(raw, kept)


def prepared(raw: Raw, dataset: Dataset, questions: QuestionSet, say: Callable[[str], None]) -> Raw:
    """Return the questions' columns, without what a vintage writes among the answers."""
    vintages.require_complete(raw, dataset.title, dataset.vintage)
    listed = {column: _listed(column, questions) for column in questions.columns}

    def make(column: str) -> np.ma.MaskedArray:
        values, _ = vintages.answers_only(column, raw[column], listed[column])
        return vintages.in_one_years_dollars(column, values, raw, dataset.vintage)

    for column in questions.columns:
        if column in vintages.NO_ANSWER:
            for line in vintages.answers_only(column, raw[column], listed[column])[1]:
                say(line)
        if vintages.is_adjusted(column, dataset.vintage):
            say(f"{column}: adjusted by {vintages.FACTORS[column]} to one year's dollars")
    return Made(questions.columns, make)


def _listed(column: str, questions: QuestionSet) -> set[int]:
    """The codes of a column that questions give a category."""
    return {code for q in questions.questions if q.source == column for code in q.listed}
