"""Coded records: codes with their codebook, one-hot blocks, Parquet files."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from modp.base import rows as tables
from modp.base.errors import InputError, did_you_mean
from modp.base.rows import room, row_groups
from modp.survey.codebook import MAX_CATEGORIES, Category, Codebook, Question

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Records:
    """Records and what their codes mean.

    codes : int16 (n, Q), the index of each answer among its question's categories
    codebook : of Q questions with K categories in all
    """

    codes: np.ndarray
    codebook: Codebook

    def __post_init__(self) -> None:
        if self.codes.ndim != 2 or self.codes.shape[1] != len(self.codebook.questions):
            raise ValueError(
                f"codes of shape {self.codes.shape} for {len(self.codebook.questions)} questions"
            )

    def __len__(self) -> int:
        """Number of records, n."""
        return len(self.codes)

    def __getitem__(self, rows: np.ndarray | slice) -> "Records":
        """Return some of the records: a view for a slice, else a copy."""
        return Records(
            self.codes[rows] if isinstance(rows, slice) else taken(self.codes, rows), self.codebook
        )

    def of(self, codes: np.ndarray) -> "Records":
        """Return other records under the same codebook."""
        return Records(codes, self.codebook)

    @property
    def block_starts(self) -> np.ndarray:
        """First column of each question's block and, last, K: shape (Q + 1,)."""
        return self.codebook.block_starts

    @property
    def columns(self) -> np.ndarray:
        """Each answer's one-hot column, int64 (n, Q)."""
        return columns(self.codes, self.block_starts)

    def meeting(self, allowed: np.ndarray) -> np.ndarray:
        """Return which records have none but allowed answers, bool (K,): their rows, in order."""
        parts = [allowed[self[at].columns].all(axis=1) for at in row_groups(len(self))]
        return np.flatnonzero(np.concatenate(parts))

    @property
    def one_hot(self) -> np.ndarray:
        """The binary response vectors R, float32 (n, K) (paper, equation 4)."""
        return one_hot(self.codes, self.block_starts)

    @classmethod
    def read(cls, path: str | Path, codebook: Codebook) -> "Records":
        """Read the records of a Parquet file; raise InputError if they are of another codebook."""
        return cls(read(path, codebook)[0], codebook)

    @classmethod
    def from_frame(cls, frame: "pd.DataFrame", codebook: Codebook | None = None) -> "Records":
        """Take the records from a frame, one column a question, whose values become text.

        Parameters
        ----------
        frame : n rows. Columns are categorical, text, whole numbers or truth values, without blanks
        codebook : the questions to take, by their names, and their categories; other columns are left. If
            not given, every column is a question, its categories those of a categorical column in their
            order, used or not, else its values in sorted order

        Raises
        ------
        InputError
            if a question is missing, a column is blank somewhere, holds what the codebook does not know,
            has more than 1,000 values, or cannot be a question
        """
        known = codebook or _codebook_of(frame)
        codes = np.empty((len(frame), len(known.questions)), np.int16)
        for q, question in enumerate(known.questions):
            if question.name not in frame:
                near = did_you_mean(question.name, map(str, frame.columns))
                raise InputError(f"the frame has no column {question.name}{near}")
            kinds = frame[question.name].astype("category").cat
            places = _places([str(v) for v in kinds.categories], question, "the frame")
            codes[:, q] = places[_asked(kinds.codes.to_numpy(), question.name)]
        return cls(codes, known)

    def to_frame(self) -> "pd.DataFrame":
        """Return a frame (n, Q) with a categorical column a question, its values the category codes."""
        import pandas as pd  # many steps read records without it

        columns = {
            question.name: pd.Categorical.from_codes(answers, [c.code for c in question.categories])
            for question, answers in zip(self.codebook.questions, self.codes.T, strict=True)
        }
        return pd.DataFrame(columns)

    def write(self, path: str | Path, extra: Mapping[str, np.ndarray] | None = None) -> None:
        """Write the records as Parquet, followed by ``extra`` columns; see :func:`write`."""
        write(path, self.codes, self.codebook, extra)


def columns(codes: np.ndarray, block_starts: np.ndarray) -> np.ndarray:
    """Return each answer's one-hot column, of the shape (n, Q) of ``codes``."""
    return codes.astype(np.int64) + block_starts[:-1]


def one_hot(codes: np.ndarray, block_starts: np.ndarray) -> np.ndarray:
    """Return the binary response vectors R, float32 of shape (n, K) (paper, equation 4)."""
    binary = np.zeros((len(codes), int(block_starts[-1])), np.float32)
    np.put_along_axis(binary, columns(codes, block_starts), 1.0, axis=1)
    return binary


def taken(codes: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return a copy of the codes (m, Q) at some rows, which are whole numbers (m,) or a mask."""
    rows = np.flatnonzero(rows) if rows.dtype == bool else rows
    found = room((len(rows), codes.shape[1]), np.int16)
    for at in row_groups(len(rows)):
        found[at] = codes[rows[at]]
    return found


def grouped(codes: np.ndarray, rows: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the codes (m, Q) at some rows, a row group at a time, at least one."""
    for at in row_groups(len(rows)):
        yield codes[rows[at]]


def write(
    path: str | Path, codes: np.ndarray, codebook: Codebook, extra: Mapping[str, np.ndarray] | None = None
) -> None:
    """Write coded records as Parquet.

    Each question is a dictionary column whose values are the codebook's category codes as text,
    all of them, used or not. ``extra`` columns (record, entropy_bits) follow the questions; where an
    array is masked they are blank.
    """
    write_parts(path, [(codes, extra or {})], codebook)


def write_parts(
    path: str | Path, parts: Iterable[tuple[np.ndarray, Mapping[str, np.ndarray]]], codebook: Codebook
) -> None:
    """Write coded records as :func:`write` does, of which one part at a time is held.

    Parameters
    ----------
    parts : codes and further columns of the same records, one part below the other, at least one
    """
    values = [pa.array([c.code for c in q.categories], pa.string()) for q in codebook.questions]
    with ExitStack() as opened:
        writer = None
        for codes, extra in parts:
            for at in row_groups(len(codes)):
                arrays: list[pa.Array] = [
                    pa.DictionaryArray.from_arrays(pa.array(answers, pa.int16()), words)
                    for answers, words in zip(codes[at].T, values, strict=True)
                ]
                more = [pa.array(column[at]) for column in extra.values()]
                table = pa.table([*arrays, *more], names=[*codebook.names, *extra])
                writer = writer or opened.enter_context(
                    pq.ParquetWriter(path, table.schema, compression="zstd")
                )
                writer.write_table(table, tables.ROWS_AT_ONCE)


def read(
    path: str | Path, codebook: Codebook, extra: Sequence[str] = ()
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Read what :func:`write` wrote.

    Returns
    -------
    codes : int16 of shape (n, Q)
    extra : the named further columns

    Raises
    ------
    InputError
        if the file's questions or categories are not the codebook's
    """
    with pq.ParquetFile(path) as file:
        if file.schema_arrow.names[: len(codebook.names)] != codebook.names:
            raise InputError(f"{path}: its columns are not the questions of the codebook")
        codes = room((file.metadata.num_rows, len(codebook.names)), np.int16)
        parts: dict[str, list[np.ndarray]] = {name: [] for name in extra}
        first = 0
        for number in range(file.num_row_groups):
            table = file.read_row_group(number, [*codebook.names, *extra])
            for q, question in enumerate(codebook.questions):
                column = table.column(question.name).unify_dictionaries().combine_chunks()
                codes[first : first + len(table), q] = _indices(column, question, path)
            for name, found in parts.items():
                found.append(table.column(name).to_numpy())
            first += len(table)
    return codes, {name: np.concatenate(found) if found else np.zeros(0) for name, found in parts.items()}


def _indices(column: pa.DictionaryArray, question: Question, path: str | Path) -> np.ndarray:
    if column.null_count:
        raise InputError(f"{path}: {question.name} has blanks, which the codebook does not know")
    return _places(column.dictionary.to_pylist(), question, str(path))[column.indices.to_numpy()]


def _places(values: list[str], question: Question, where: str) -> np.ndarray:
    """Where values stand among a question's categories, int16."""
    place = {category.code: at for at, category in enumerate(question.categories)}
    strangers = sorted(set(values) - set(place))
    if strangers:
        raise InputError(
            f"{where}: {question.name} has the categories {strangers}, which the codebook does not know"
        )
    return np.array([place[value] for value in values], np.int16)


def _codebook_of(frame: "pd.DataFrame") -> Codebook:
    """A codebook with a question for every column."""
    names = list(frame.columns)
    faulty = [name for name in names if not isinstance(name, str) or names.count(name) > 1]
    if faulty or not names:
        raise InputError(f"a frame's columns need names, all different; found {faulty or 'no columns'}")
    return Codebook("frame", tuple(_question_of(frame[name], name) for name in names))


def _question_of(column: "pd.Series", name: str) -> Question:
    if column.dtype.kind == "f":
        raise InputError(
            f"the frame's column {name} holds fractions (a blank makes them of whole numbers); cut it into "
            "classes, or make it categorical"
        )
    values = [str(value) for value in column.astype("category").cat.categories]
    if len(values) > MAX_CATEGORIES:
        raise InputError(f"the frame's column {name} has {len(values):,} values; is it an identifier?")
    if len(set(values)) < len(values) or not values:
        raise InputError(f"the frame's column {name} has {'values written alike' if values else 'no values'}")
    return Question(name, name, name, "as coded", tuple(Category(v, v, v) for v in values))


def _asked(codes: np.ndarray, name: str) -> np.ndarray:
    """The codes of a categorical column, where -1 is a blank; raise InputError if there are any."""
    blanks = np.count_nonzero(codes < 0)
    if blanks:
        raise InputError(
            f"the frame: {name} is blank in {blanks:,} records; give blanks a category of their own, as in "
            f"frame[{name!r}].fillna('blank')"
        )
    return codes
