"""Which raw records a run is made of: those that the models learn from, and those held out."""

import argparse
import filecmp
import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from modp.base import seeds
from modp.base.columns import Made, Raw, at_rows, within
from modp.base.config import load
from modp.base.errors import InputError
from modp.base.output import Log
from modp.files.form import Form
from modp.files.options import DETECTED, TableOptions
from modp.files.raw import amounts
from modp.files.raw import raw as own_raw
from modp.files.read import read
from modp.files.table import BLANK, Column, Table, stacked
from modp.pums import parts, raw, vintages
from modp.pums.places import fips
from modp.pums.where import Dataset
from modp.survey import holdout
from modp.survey.questions import QuestionSet
from modp.survey.records import Records
from modp.survey.weights import Weights, checked


@dataclass(frozen=True)
class Selected:
    """Raw records, n of them.

    answers : column -> values of shape (n,), masked where blank, as the question set wants them
    kept : mask (n,), the records that the models learn from; the others are held out
    rows : int32, of the kept ones, where they stand in the files
    households : int32, of the kept ones, numbered from 0
    weights : of the kept ones, where the data set names them
    parts : (n,), the name of each one's part, where the data set is scattered
    housed : whether households are those that the data set names, not one for each record
    held : int32, of the others, where they stand in the files, or in those of people to hold out
    """

    answers: Raw
    kept: np.ndarray
    rows: np.ndarray
    households: np.ndarray
    weights: Weights | None = None
    parts: np.ndarray | None = None
    housed: bool = True
    held: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int32))

    @property
    def others(self) -> "Selected":
        """The same records, those held out in the place of those that the models learn from."""
        number = np.arange(len(self.held), dtype=np.int32)
        return replace(self, kept=~self.kept, rows=self.held, households=number, weights=None, held=self.rows)


def selected_as_coded(
    options: argparse.Namespace, true: Records, dataset: Dataset, questions: QuestionSet, log: Log
) -> Selected:
    """Return what the files that a step is given hold of the true records, as they were coded.

    Parameters
    ----------
    options : with ``records``, ``files``, ``held_files``, ``share`` and ``seed``

    Raises
    ------
    InputError
        as :func:`selected`, or if the files give another number of records now
    """
    say = log.only_file
    chosen = selected(options.files, options.held_files, dataset, questions, options.share, options.seed, say)
    if len(chosen.rows) != len(true):
        raise InputError(
            f"{options.records} has {len(true):,} records, and the files give {len(chosen.rows):,} now: "
            "they have changed since; run the pipeline again"
        )
    return chosen


def selected(
    files: list[Path],
    held_files: list[Path],
    dataset: Dataset,
    questions: QuestionSet,
    share: float,
    seed: int,
    log: Callable[[str], None],
) -> Selected:
    """Read the files, keep what the data set's filters keep, hold out.

    Parameters
    ----------
    files, held_files : raw files, in order; of records to learn from, and of others to hold out
    share : of the records to hold out where there are no files of such

    Raises
    ------
    InputError
        if a file comes twice, the held out are of the others' households, nobody is left to learn from, or
        a weight is not there or none
    """
    _require_different([*files, *held_files], dataset)
    columns, of_files, names, weighing = _read(files, dataset, questions, log)
    n, housed = np.count_nonzero(of_files), names is not None
    if names is None:
        names = np.ma.array(np.arange(n, dtype=np.int32))
    kept, named = np.ones(n, bool), parts.names(columns, dataset)
    if held_files:
        others, theirs_of_files, *_ = _read(held_files, dataset, questions, log)
        also = parts.names(others, dataset)
        named = None if named is None or also is None else np.append(named, also)
        _require_other_people(columns, others, dataset)
        held = _rows(theirs_of_files)
        kept = np.append(kept, np.zeros(len(held), bool))
        ours, theirs = (_prepared(part, dataset, questions, log) for part in (columns, others))
        columns = Made(list(ours), lambda name: np.ma.concatenate([ours[name], theirs[name]]))
    else:
        if share and not housed:
            log("no key of households is known ('household:' names one): persons are held out singly")
        households = holdout.households_of(names)
        kept = ~holdout.split(households, share, seeds.generator(seed, "holdout"))
        short = holdout.missed(households, share, ~kept)
        if short:
            log(short)
        columns = _prepared(columns, dataset, questions, log)
        held = _rows(within(of_files, ~kept))
    if not kept.any():
        raise InputError(f"{dataset.title}: 'holdout: {share}' leaves no record to learn from")
    own = kept[:n]
    rows = _rows(within(of_files, own))
    numbers = holdout.households_of(names[own])
    weights = _weights(at_rows(weighing, own), rows, numbers, dataset)
    return Selected(columns, kept, rows, numbers, weights, named, housed, held)


def _rows(of_files: np.ndarray) -> np.ndarray:
    return np.flatnonzero(of_files).astype(np.int32)


def _weights(columns: Raw, rows: np.ndarray, households: np.ndarray, dataset: Dataset) -> Weights | None:
    """The records' weights; raise InputError where the files lack a column of them."""
    if dataset.weight is None:
        return None
    lacking = [name for name in dataset.weights if name not in columns]
    if lacking:
        raise InputError(
            f"{dataset.title}: weight, replicates: the files have no column {', '.join(lacking[:3])}"
            f"{f' and {len(lacking) - 3} more' if len(lacking) > 3 else ''}"
        )
    return Weights(*checked(columns, dataset.weight, dataset.replicate_columns, rows), households)


def fitted_questions(path: Path, dataset: Dataset) -> QuestionSet:
    """Return the question set as a data set wants it."""
    questions = load(path, QuestionSet).fitted(
        dataset.faithful, dataset.leave_out, fips(dataset.state_question), dataset.asked_weight
    )
    dataset.agrees_with(questions.records, [q.level for q in questions.questions])
    return questions


def as_in_files(
    files: Sequence[Path],
    dataset: Dataset,
    questions: QuestionSet,
    chosen: Selected,
    besides: Collection[str],
) -> tuple[Table, Form, Mapping[str, str]]:
    """Read the files as they are: of Census's the columns that questions are made of, and some others.

    Parameters
    ----------
    besides : columns of Census's to read where they are there

    Returns
    -------
    table : the rows of all files; dollars that were adjusted to one year's are so here too
    form : of the first file
    column_of : raw column of the question set -> that of the files, where these call it otherwise
    """
    if dataset.table is not None:
        return *own_table(files, dataset, dataset.table), {}
    in_capitals = [_in_capitals(path) for path in files]
    column_of, wanted = _wanted(in_capitals, dataset, questions, besides)
    tables, form = [], None
    for path, names in zip(files, in_capitals, strict=True):
        own = {names.get(_capitals(name), name): name for name in wanted}
        table, its = read(path, DETECTED, list(own))
        tables.append(_renamed(table, own))
        form = form or its
    assert form is not None
    table = _stacked(tables, files, dataset)
    for column, name in column_of.items():
        if vintages.is_adjusted(column, dataset.vintage):
            table = table.replaced(_adjusted(table[name], chosen.answers[column][chosen.kept], chosen.rows))
    return table, form, column_of


def form_of(
    files: Sequence[Path], dataset: Dataset, questions: QuestionSet, besides: Collection[str]
) -> Form:
    """Return the form of the first of these files, as :func:`as_in_files` does."""
    if dataset.table is not None:
        return read(files[0], dataset.table)[1]
    _, wanted = _wanted([_in_capitals(path) for path in files], dataset, questions, besides)
    return read(files[0], DETECTED, wanted)[1]


def _wanted(
    in_capitals: Sequence[Mapping[str, str]],
    dataset: Dataset,
    questions: QuestionSet,
    besides: Collection[str],
) -> tuple[dict[str, str], list[str]]:
    """What the first of Census's files calls the question set's columns, and all columns to read of it."""
    first = in_capitals[0]
    found = {column: vintages.source(column, first) for column in questions.columns}
    column_of = {column: first[at.column] for column, at in found.items() if at}
    named = [*besides, dataset.household or raw.HOUSEHOLD, *([dataset.weight] if dataset.weight else [])]
    others = [first[name.upper()] for name in named if all(name.upper() in names for names in in_capitals)]
    return column_of, [*column_of.values(), *others]


def as_public(
    path: Path, dataset: Dataset, questions: QuestionSet, besides: Collection[str], log: Callable[[str], None]
) -> tuple[Selected, Table, Form, Mapping[str, str]]:
    """Read a public table of the data set's form: its records' answers, and the rest as :func:`as_in_files`.

    Raises
    ------
    InputError
        if it lacks a column that the question set names
    """
    columns, of_files, *_ = _read([path], dataset, questions, log)
    answers = _prepared(columns, dataset, questions, log)
    rows = _rows(of_files)
    chosen = Selected(answers, np.ones(len(rows), bool), rows, np.arange(len(rows), dtype=np.int32))
    return chosen, *as_in_files([path], dataset, questions, chosen, besides)


def _adjusted(column: Column, values: np.ma.MaskedArray, rows: np.ndarray) -> Column:
    """The column with these whole numbers (n,) at ``rows``, written as its own are, and blanks elsewhere."""
    kinds, places = np.unique(values.filled(0), return_inverse=True)
    at = np.full(len(column.places), BLANK, np.int32)
    at[rows] = np.where(np.ma.getmaskarray(values), BLANK, places)
    widths = {len(text) for text in column.kinds.tolist() if text.startswith("0")}
    width = widths.pop() if len(widths) == 1 else 0
    texts = [str(kind).zfill(width) for kind in kinds.tolist()]
    return replace(column, kinds=np.array(texts, object), places=at)


def _in_capitals(path: Path) -> dict[str, str]:
    """The names of a file's columns, by these names in capitals."""
    return {_capitals(name): name for name in read(path, columns=())[1].names}


def _capitals(name: str) -> str:
    return name.strip().upper()


def _renamed(table: Table, names: Mapping[str, str]) -> Table:
    return replace(table, columns=tuple(replace(c, name=names[c.name]) for c in table.columns))


def own_table(files: Sequence[Path], dataset: Dataset, options: TableOptions) -> tuple[Table, Form]:
    """The rows of all files, and the form of the first."""
    tables, forms = zip(*(read(path, options) for path in files), strict=True)
    return _stacked(tables, files, dataset), forms[0]


def _stacked(tables: Sequence[Table], files: Sequence[Path], dataset: Dataset) -> Table:
    """The rows of several tables, whose columns may be in another order."""
    try:
        return stacked([_in_order_of(tables[0], table) for table in tables])
    except ValueError:
        names = ", ".join(str(path) for path in files)
        raise InputError(f"{dataset.title}: the files have not the same columns: {names}") from None


def _in_order_of(first: Table, table: Table) -> Table:
    """The table with its columns in the order of another's, if they are the same."""
    same = sorted(first.names) == sorted(table.names)
    return replace(table, columns=tuple(table[name] for name in first.names)) if same else table


def _read(
    files: list[Path], dataset: Dataset, questions: QuestionSet, log: Callable[[str], None]
) -> tuple[Raw, np.ndarray, np.ma.MaskedArray | None, Raw]:
    """Columns of the records that filters keep, the mask of these in the files, households, weights."""
    if dataset.table is not None:
        table, _ = own_table(files, dataset, dataset.table)
        where = ", ".join(str(path) for path in files)
        own = own_raw(table, questions, where)
        if not len(table):
            raise InputError(f"{files[0]} has a header and no records")
        parts.require_columns(table.names, dataset)
        households = _households(table, dataset)
        besides = [*parts.columns(dataset), *([dataset.household] if dataset.household else [])]
        every = Made(
            list(dict.fromkeys([*own, *besides])),
            lambda name: own[name] if name in own else table[name].words,
        )
        weighing = amounts(table, [name for name in dataset.weights if name in table.names], where)
        kept = parts.wanted(every, dataset)
        if kept is None:
            return every, np.ones(len(table), bool), households, weighing
        log(f"only {parts.said(dataset)}: {len(kept):,} records in, {kept.sum():,} out")
        households = None if households is None else households[kept]
        return at_rows(every, kept), kept, households, at_rows(weighing, kept)
    everything = raw.raw_records(files, dataset, questions)
    kept, columns = raw.filtered(everything, dataset, log)
    weighing = Made([name for name in dataset.weights if name in columns], columns.__getitem__)
    key = dataset.household or raw.HOUSEHOLD
    return columns, kept, everything.numbered(key)[kept] if key in everything else None, weighing


def _prepared(columns: Raw, dataset: Dataset, questions: QuestionSet, log: Callable[[str], None]) -> Raw:
    return columns if dataset.table is not None else raw.prepared(columns, dataset, questions, log)


def _households(table: Table, dataset: Dataset) -> np.ma.MaskedArray | None:
    if dataset.household is None:
        return None
    if dataset.household not in table.names:
        raise InputError(f"{dataset.title}: household: there is no column {dataset.household!r}")
    places = table[dataset.household].places
    return np.ma.array(places, mask=places == BLANK)


def _require_different(files: Sequence[Path], dataset: Dataset) -> None:
    """Raise InputError if two files have the same content, and so the same people twice."""
    for one, other in itertools.combinations(files, 2):
        if one.stat().st_size == other.stat().st_size and filecmp.cmp(one, other, shallow=False):
            raise InputError(
                f"{dataset.title}: {one.name} and {other.name} hold the same bytes, so the same people twice"
                "; take one of them out of the dataset YAML"
            )


def _require_other_people(columns: Raw, others: Raw, dataset: Dataset) -> None:
    """Raise InputError if records to hold out are of households that the models learn from."""
    key = dataset.household or raw.HOUSEHOLD
    if key not in columns or key not in others:
        return
    found = holdout.in_both(columns[key], others[key])
    if found:
        raise InputError(
            f"{dataset.title}: the files under 'holdout' are of the households that the models learn from: "
            f"{dataset.household or raw.HOUSEHOLD} {holdout.first_of(found)} in both. Hold out other "
            "people's files, or, where these are others who only have the same numbers, give them numbers "
            "of their own."
        )
