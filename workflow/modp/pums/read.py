"""Reading PUMS files: the columns needed, from zips, CSVs or Parquet, as whole numbers."""

import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from modp.errors import InputError, did_you_mean

BATCH_BYTES = 16 << 20
LARGEST_NUMBER = np.iinfo(np.int32).max
LARGEST_MEMBER = 8 << 30
"""Bytes of one unpacked CSV; the largest part of a national 5-year file is under 4 GB."""


def read(paths: Sequence[Path], columns: Sequence[str]) -> dict[str, np.ma.MaskedArray]:
    """Read whole-number columns of PUMS files.

    Parameters
    ----------
    paths : zips (every CSV inside is read), CSVs or Parquet files, in the order of the records
    columns : the raw columns needed; others are not read

    Returns
    -------
    column name -> int32 of shape (n,), masked where blank. A number may be written ``1``, ``01``,
    ``1.0`` or `` 1``.

    Raises
    ------
    InputError
        if a file is missing, is not what its ending says, lacks columns (all are listed), or
        holds something that is not a whole number
    """
    parts: dict[str, list[np.ma.MaskedArray]] = {c: [] for c in columns}
    for path in paths:
        if not path.exists():
            raise InputError(f"{path}: there is no such file")
        for where, batches in _tables(path, columns):
            for batch in batches:
                for column in columns:
                    parts[column].append(_whole_numbers(batch[column], column, where))
    arrays = {c: np.ma.concatenate(p) if p else np.ma.array([], np.int32) for c, p in parts.items()}
    if not len(arrays[columns[0]]):
        raise InputError(f"no records in {', '.join(str(p) for p in paths)}")
    return arrays


def _tables(path: Path, columns: Sequence[str]) -> Iterator[tuple[str, Iterable[pa.RecordBatch]]]:
    """Every table in a file, as (its name for messages, its record batches)."""
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        yield str(path), _parquet_batches(path, columns)
    elif suffix == ".csv":
        with path.open("rb") as file:
            yield str(path), _csv_batches(file, columns, str(path))
    elif suffix == ".zip":
        with _opened_zip(path) as archive:
            for member in _data_members(archive, path):
                where = f"{path}/{member.filename}"
                yield where, _member_batches(archive, member, columns, where)
    else:
        raise InputError(f"{path}: cannot read this kind of file; give .zip, .csv or .parquet")


def _member_batches(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, columns: Sequence[str], where: str
) -> Iterator[pa.RecordBatch]:
    try:
        with archive.open(member) as file:
            yield from _csv_batches(file, columns, where)
    except (zipfile.BadZipFile, zlib.error, EOFError) as failure:
        raise InputError(f"{where} is damaged ({failure}); delete the zip and fetch it again") from None
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


def _data_members(archive: zipfile.ZipFile, path: Path) -> list[zipfile.ZipInfo]:
    members = [m for m in archive.infolist() if m.filename.lower().endswith(".csv")]
    members = [m for m in members if not PurePosixPath(m.filename).name.startswith((".", "_"))]
    if not members:
        raise InputError(f"{path} holds no CSV file, only: {', '.join(archive.namelist()) or 'nothing'}")
    for member in members:
        if member.file_size > LARGEST_MEMBER:
            raise InputError(f"{path}/{member.filename} would unpack to {member.file_size:,} bytes; refused")
    return sorted(members, key=lambda m: m.filename.lower())


def _csv_batches(file: IO[bytes], columns: Sequence[str], where: str) -> Iterator[pa.RecordBatch]:
    header = file.readline().decode("utf-8-sig", errors="replace").strip().split(",")
    names = [name.strip().strip('"') for name in header]
    _require(columns, names, where)
    try:
        yield from pyarrow.csv.open_csv(
            file,
            read_options=pyarrow.csv.ReadOptions(column_names=names, block_size=BATCH_BYTES),
            convert_options=pyarrow.csv.ConvertOptions(
                include_columns=list(columns), column_types=dict.fromkeys(columns, pa.string())
            ),
        )
    except pa.ArrowInvalid as failure:
        if "Empty CSV file" not in str(failure):  # a header without records is judged by the caller
            raise InputError(f"{where} cannot be read as CSV: {failure}") from None


def _parquet_batches(path: Path, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    try:
        file = pq.ParquetFile(path)
    except pa.ArrowInvalid as failure:
        raise InputError(f"{path} cannot be read as Parquet: {failure}") from None
    _require(columns, file.schema_arrow.names, str(path))
    yield from file.iter_batches(columns=list(columns))


def _require(columns: Sequence[str], present: Sequence[str], where: str) -> None:
    missing = [c for c in columns if c not in present]
    if missing:
        listing = "\n".join(f"  {c}{did_you_mean(c, present)}" for c in missing)
        raise InputError(f"{where} lacks {len(missing)} of the columns that the questions need:\n{listing}")


def _whole_numbers(array: pa.Array, column: str, where: str) -> np.ma.MaskedArray:
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_string_view(array.type):
        array = array.cast(pa.string())
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        array = _numbers_from_text(array, column, where)
    try:
        values = array.cast(pa.float64(), safe=False)
    except pa.ArrowException:
        raise InputError(f"{where}: {column} is of type {array.type}, which holds no numbers") from None
    blank = pc.fill_null(pc.is_nan(values), True).to_numpy(zero_copy_only=False)
    numbers = np.nan_to_num(pc.fill_null(values, 0.0).to_numpy(zero_copy_only=False))
    odd = ~blank & ((numbers != np.rint(numbers)) | (np.abs(numbers) > LARGEST_NUMBER))
    if odd.any():
        raise InputError(
            f"{where}: {column} holds {numbers[odd][0]:.12g}, which is not a whole number below 2**31"
        )
    return np.ma.array(numbers.astype(np.int32), mask=blank)


def _numbers_from_text(array: pa.Array, column: str, where: str) -> pa.Array:
    trimmed = pc.utf8_trim_whitespace(array)
    filled = pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, trimmed.type), trimmed)
    try:
        return filled.cast(pa.float64())
    except pa.ArrowInvalid:
        number = pc.match_substring_regex(filled, r"^[-+]?\d+(\.\d*)?$")
        bad = filled.filter(pc.invert(pc.fill_null(number, True)))
        example = bad[0].as_py() if len(bad) else "something"
        raise InputError(
            f"{where}: {column} holds {example!r} ({len(bad):,} such values), which is not a number"
        ) from None
