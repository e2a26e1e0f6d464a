"""Which raw records a run is made of: those that the models learn from, and those held out."""

import filecmp
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from modp.base import seeds
from modp.base.errors import InputError
from modp.files.raw import raw as own_raw
from modp.files.read import read
from modp.files.table import Table, stacked
from modp.pums import raw
from modp.pums.where import Dataset
from modp.survey import holdout
from modp.survey.questions import QuestionSet


@dataclass(frozen=True)
class Selected:
    """Raw records, n of them.

    answers : column -> values of shape (n,), masked where blank, as the question set wants them
    kept : mask (n,), the records that the models learn from; the others are held out
    rows : of the kept ones, where they stand in the files
    """

    answers: Mapping[str, np.ma.MaskedArray]
    kept: np.ndarray
    rows: np.ndarray


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
        if a file comes twice, the held out are of the others' households, or nobody is left to learn from
    """
    _require_different([*files, *held_files], dataset)
    columns, rows, households = _read(files, dataset, questions, log)
    n = len(rows)
    kept = np.ones(n, bool)
    if held_files:
        others, _, theirs = _read(held_files, dataset, questions, log)
        _require_other_people(households, theirs, dataset)
        kept = np.append(kept, np.zeros(len(next(iter(others.values()))), bool))
        columns, others = (_prepared(part, dataset, questions, log) for part in (columns, others))
        columns = {name: np.ma.concatenate([values, others[name]]) for name, values in columns.items()}
    else:
        if households is None:
            households = np.ma.array(np.arange(n))
            if share:
                log("no key of households is known ('household:' names one): persons are held out singly")
        kept = ~holdout.split(households, share, seeds.generator(seed, "holdout"))
        short = holdout.missed(households, share, ~kept)
        if short:
            log(short)
        columns = _prepared(columns, dataset, questions, log)
    if not kept.any():
        raise InputError(f"{dataset.title}: 'holdout: {share}' leaves no record to learn from")
    return Selected(columns, kept, rows[kept[:n]])


def own_table(files: list[Path], dataset: Dataset) -> Table:
    """Return the rows of all files of a data set that is not Census's."""
    assert dataset.table is not None
    tables = [read(path, dataset.table)[0] for path in files]
    try:
        return stacked(tables)
    except ValueError:
        names = ", ".join(str(path) for path in files)
        raise InputError(f"{dataset.title}: the files have not the same columns: {names}") from None


def _read(
    files: list[Path], dataset: Dataset, questions: QuestionSet, log: Callable[[str], None]
) -> tuple[dict[str, np.ma.MaskedArray], np.ndarray, np.ma.MaskedArray | None]:
    """Columns of the records that filters keep, where these stand in the files, and their households."""
    if dataset.table is not None:
        table = own_table(files, dataset)
        columns = dict(own_raw(table, questions, ", ".join(str(path) for path in files)))
        if not len(table):
            raise InputError(f"{files[0]} has a header and no records")
        return columns, np.arange(len(table)), _households(table, dataset)
    everything = raw.raw_records(files, dataset, questions)
    rows, columns = raw.filtered(everything, dataset, log)
    return columns, rows, columns.get(dataset.household or raw.HOUSEHOLD)


def _prepared(
    columns: dict[str, np.ma.MaskedArray],
    dataset: Dataset,
    questions: QuestionSet,
    log: Callable[[str], None],
) -> dict[str, np.ma.MaskedArray]:
    return columns if dataset.table is not None else raw.prepared(columns, dataset, questions, log)


def _households(table: Table, dataset: Dataset) -> np.ma.MaskedArray | None:
    if dataset.household is None:
        return None
    if dataset.household not in table.names:
        raise InputError(f"{dataset.title}: household: there is no column {dataset.household!r}")
    return table[dataset.household].words


def _require_different(files: Sequence[Path], dataset: Dataset) -> None:
    """Raise InputError if two files have the same content, and so the same people twice."""
    for one, other in itertools.combinations(files, 2):
        if one.stat().st_size == other.stat().st_size and filecmp.cmp(one, other, shallow=False):
            raise InputError(
                f"{dataset.title}: {one.name} and {other.name} hold the same bytes, so the same people twice"
                "; take one of them out of the dataset YAML"
            )


def _require_other_people(
    households: np.ma.MaskedArray | None, others: np.ma.MaskedArray | None, dataset: Dataset
) -> None:
    """Raise InputError if records to hold out are of households that the models learn from."""
    if households is None or others is None:
        return
    found = holdout.in_both(households, others)
    if found:
        raise InputError(
            f"{dataset.title}: the files under 'holdout' are of the households that the models learn from: "
            f"{dataset.household or raw.HOUSEHOLD} {holdout.first_of(found)} in both. Hold out other "
            "people's files, or, where these are others who only have the same numbers, give them numbers "
            "of their own."
        )
