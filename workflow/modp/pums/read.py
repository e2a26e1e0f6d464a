"""Reading PUMS files: the columns needed, from zips, CSVs or Parquet, as whole numbers or words."""

import gzip
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from modp.base.errors import InputError
from modp.files.content import kind_of_file
from modp.files.textual import members_of, opened_stream
from modp.pums import vintages
from modp.pums.stored import Stored, store
from modp.survey.holdout import first_of

LARGEST_NUMBER = np.iinfo(np.int32).max


def read(
    paths: Sequence[Path],
    columns: Sequence[str],
    text: Collection[str] = (),
    optional: Sequence[str] = (),
    key: str | None = None,
) -> Stored:
    """Read columns of PUMS files in batches, and store them where they can be had one by one.

    Parameters
    ----------
    paths : zips (every CSV inside is read), CSVs (of any delimiter or encoding, also compressed by gzip)
        or Parquet files, in the order of the records
    columns : the raw columns needed; where a file has one under another vintage's name
        (``vintages.RENAMES``) it is found there, and its codes are those of the name given here
    text : those of ``columns`` whose answers are words
    optional : columns of numbers to read if every file has them
    key : of ``columns`` or ``optional``, one of which no two files may share a value: the households'

    Returns
    -------
    column name -> int32 of shape (n,), str objects for those in ``text``, float64 for those in
    ``optional``, masked where blank. A number may be written ``1``, ``01``, ``1.0`` or `` 1``.

    A file whose columns are named in lower case is read as if they were in capitals.

    Raises
    ------
    InputError
        if a file is missing, is not what its ending says, lacks columns (all are listed), holds
        something that is not a whole number, or shares values of ``key`` with one before it
    """
    tables: list[pq.ParquetFile] = []
    keys: dict[Path, _Keys] = {}
    wanted = [*columns, *optional]
    for path in paths:
        if not path.exists():
            raise InputError(f"{path}: there is no such file")
        own: list[pq.ParquetFile] = []
        for table in _tables(path):
            table = _in_capitals(table, columns)
            found = vintages.sources(columns, table.names, table.where)
            found |= {c: at for c in optional if (at := vintages.source(c, table.names))}
            wanted = [c for c in wanted if c in found]
            kinds = {
                c: _words if c in text else _numbers if c in optional else _whole_numbers for c in wanted
            }
            own += store(_converted(table, found, kinds))
        if len(paths) > 1 and own and key in wanted:
            file = Stored(own)
            keys[path] = _Keys(file, key, file.marks(key))
            _require_apart(keys, key)
        tables += own
    if not tables:
        raise InputError(f"no records in {', '.join(str(p) for p in paths)}")
    return Stored(tables)


@dataclass(frozen=True)
class _Keys:
    """The words of a file's key, told by their hashes, sorted."""

    file: Stored
    name: str
    marks: np.ndarray

    def shared(self, other: "_Keys") -> list[str]:
        """Return the words that are in another file too, sorted."""
        both = np.intersect1d(self.marks, other.marks, assume_unique=True)
        if not len(both):
            return []
        ours, theirs = (set(keys.file.marked(self.name, both)) for keys in (self, other))
        return sorted(ours & theirs)


def _require_apart(keys: Mapping[Path, _Keys], name: str) -> None:
    """Raise InputError if the last of these files has a key that one before it has."""
    *before, last = keys
    for file in before:
        found = keys[last].shared(keys[file])
        if found:
            raise InputError(
                f"{file} and {last} have households in common: {name} {first_of(found)}. Take one of these "
                "files out of the dataset YAML, or, where these are others who only have the same numbers, "
                "give them numbers of their own"
            )


@dataclass(frozen=True)
class _Table:
    """A table in a file: its name for messages, its columns, and how to read some of them."""

    where: str
    names: Sequence[str]
    batches: Callable[[Collection[str]], Iterable[pa.RecordBatch]]


_Kind = Callable[[pa.Array, str, str, int], np.ma.MaskedArray]
"""What makes answers of a column's text: of its name, the file's, and the number of rows before these."""


def _converted(
    table: _Table, sources: Mapping[str, vintages.Source], kinds: Mapping[str, _Kind]
) -> Iterator[dict[str, np.ma.MaskedArray]]:
    """A table's columns as they are asked for, batch by batch."""
    before = 0
    for batch in table.batches({sources[column].column for column in kinds}):
        found = {}
        for column, kind in kinds.items():
            source = sources[column]
            values = kind(batch[source.column], source.column, table.where, before)
            found[column] = source.recoded(values) if source.recode else values
        before += batch.num_rows
        if batch.num_rows:
            yield found


def _tables(path: Path) -> Iterator[_Table]:
    named = path.name.lower()
    if not named.endswith((".parquet", ".zip", ".csv", ".csv.gz")):
        raise InputError(f"{path}: cannot read this kind of file; give .zip, .csv or .parquet")
    kind = kind_of_file(path) if ".csv" in named[-7:] else named.rsplit(".", 1)[1]
    if kind == "parquet":
        yield _parquet_table(path)
    elif kind == "zip":
        with _opened_zip(path) as archive:
            for member in members_of(archive, str(path)):
                where = f"{path}/{member.filename}"
                with _damage_told(where), archive.open(member) as file:
                    yield _csv_table(file, where)
    elif kind == "excel":
        raise InputError(f"{path} is an Excel workbook; save its sheet as CSV")
    elif kind == "gzip":
        with _damage_told(str(path)), gzip.open(path) as unpacked:
            yield _csv_table(cast(IO[bytes], unpacked), str(path))
    else:
        with path.open("rb") as file:
            yield _csv_table(file, str(path))


@contextmanager
def _damage_told(where: str) -> Iterator[None]:
    try:
        yield
    except (zipfile.BadZipFile, gzip.BadGzipFile, zlib.error, EOFError) as failure:
        raise InputError(f"{where} is damaged ({failure}); delete the file and fetch it again") from None
    except (RuntimeError, NotImplementedError) as failure:
        raise InputError(f"{where} cannot be unpacked: {failure}") from None


@contextmanager
def _opened_zip(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except zipfile.BadZipFile as failure:
        raise InputError(
            f"{path} is damaged or no zip file ({failure}); delete it and fetch it again"
        ) from None


def _csv_table(file: IO[bytes], where: str) -> _Table:
    stream = opened_stream(file, where)
    names = [name.strip() for name in stream.header]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"{where} has two columns of the same name: {', '.join(twice)}")

    def batches(columns: Collection[str]) -> Iterator[pa.RecordBatch]:
        with _damage_told(where):
            yield from stream.batches(names, columns)

    return _Table(where, names, batches)


def _in_capitals(table: _Table, columns: Sequence[str]) -> _Table:
    """The table with its columns' names in capitals, if only so it has any of those wanted."""
    spelt = {name.upper(): name for name in table.names}
    if len(spelt) < len(table.names) or not any(c in spelt and c not in table.names for c in columns):
        return table
    if any(c in table.names for c in columns):
        return table

    def batches(wanted: Collection[str]) -> Iterator[pa.RecordBatch]:
        for batch in table.batches([spelt[name] for name in wanted]):
            yield batch.rename_columns([name.upper() for name in batch.schema.names])

    return _Table(table.where, list(spelt), batches)


def _parquet_table(path: Path) -> _Table:
    try:
        file = pq.ParquetFile(path)
    except pa.ArrowInvalid as failure:
        raise InputError(f"{path} cannot be read as Parquet: {failure}") from None
    return _Table(str(path), file.schema_arrow.names, lambda c: file.iter_batches(columns=sorted(c)))


def _words(array: pa.Array, column: str, where: str, before: int) -> np.ma.MaskedArray:
    """Strings of few kinds, each kind held once."""
    if not pa.types.is_dictionary(array.type):
        try:
            array = array.cast(pa.string()).dictionary_encode()
        except pa.ArrowException:
            raise InputError(f"{where}: {column} is of type {array.type}, which holds no words") from None
    kinds = np.array([("" if k is None else str(k).strip()) for k in array.dictionary.to_pylist()], object)
    blank_at = len(kinds)
    indices = pc.fill_null(array.indices.cast(pa.int64()), blank_at).to_numpy(zero_copy_only=False)
    values = np.append(kinds, "")[indices]
    return np.ma.array(values, mask=values == "")


def _numbers(array: pa.Array, column: str, where: str, before: int) -> np.ma.MaskedArray:
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_string_view(array.type):
        array = array.cast(pa.string())
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        array = _numbers_from_text(array, column, where, before)
    try:
        values = array.cast(pa.float64(), safe=False)
    except pa.ArrowException:
        raise InputError(f"{where}: {column} is of type {array.type}, which holds no numbers") from None
    blank = pc.fill_null(pc.is_nan(values), True).to_numpy(zero_copy_only=False)
    return np.ma.array(np.nan_to_num(pc.fill_null(values, 0.0).to_numpy(zero_copy_only=False)), mask=blank)


def _whole_numbers(array: pa.Array, column: str, where: str, before: int) -> np.ma.MaskedArray:
    values = _numbers(array, column, where, before)
    numbers = values.data
    odd = ~values.mask & ((numbers != np.rint(numbers)) | (np.abs(numbers) > LARGEST_NUMBER))
    if odd.any():
        raise InputError(
            f"{where}: {column} holds {numbers[odd][0]:.12g}, which is not a whole number below 2**31"
        )
    return np.ma.array(numbers.astype(np.int32), mask=values.mask)


def _numbers_from_text(array: pa.Array, column: str, where: str, before: int) -> pa.Array:
    trimmed = pc.utf8_trim_whitespace(array)
    filled = pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, trimmed.type), trimmed)
    try:
        numbers = filled.cast(pa.float64())
        if not pc.any(pc.is_nan(numbers)).as_py():
            return numbers
        raise pa.ArrowInvalid("not a number, spelt out")
    except pa.ArrowInvalid:
        number = pc.match_substring_regex(filled, r"^[-+]?\d+(\.\d*)?([eE][-+]?\d+)?$")
        bad = np.flatnonzero(~pc.fill_null(number, True).to_numpy(zero_copy_only=False))
        place = (
            f"{filled[int(bad[0])].as_py()!r} in row {before + int(bad[0]) + 1:,}"
            if len(bad)
            else "something"
        )
        raise InputError(
            f"{where}: {column} holds {place} ({len(bad):,} such values), which is not a number"
        ) from None
