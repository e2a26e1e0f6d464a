"""PUMS files: where they are, how they are fetched, checked and read."""

import hashlib
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
import requests
from pydantic import Field, model_validator

from modp.config import Strict
from modp.errors import InputError, did_you_mean

CENSUS = "https://www2.census.gov/programs-surveys/acs"
USER_AGENT = "Mozilla/5.0 (compatible; modp synthetic data pipeline)"
TIMEOUT_S = (5, 60)
CHUNK = 1 << 20
BATCH_BYTES = 16 << 20
LARGEST_MEMBER = 8 << 30
"""Bytes of one unpacked CSV; the largest part of a national 5-year file is under 4 GB."""


class CensusSource(Strict):
    """Files of the Census Bureau's server."""

    year: int = Field(ge=2017)
    span: Literal["1-Year", "5-Year"] = "1-Year"
    records: Literal["persons", "housing"]
    states: list[str] = Field(min_length=1)

    @model_validator(mode="after")
    def _states_are_postal_codes(self) -> "CensusSource":
        for state in self.states:
            if not re.fullmatch("[a-z]{2}", state):
                raise ValueError(f"state {state!r}: write the postal code in small letters, as in 'tx'")
        return self

    @property
    def folder(self) -> str:
        """The server's folder below the root, such as ``data/pums/2022/1-Year``."""
        if (self.year, self.span) == (2020, "1-Year"):
            return "experimental/2020/data/pums/1-Year"
        return f"data/pums/{self.year}/{self.span}"

    @property
    def by_hand(self) -> str:
        """The folder, below that of downloads, for files that a person fetched."""
        return f"{self.year}-{self.span}"

    @property
    def files(self) -> list[str]:
        """The zips' names, in the order of the states."""
        return [f"csv_{self.records[0]}{state}.zip" for state in self.states]


class Dataset(Strict):
    """Where a data set's records come from and which question set codes them.

    Exactly one of ``files`` (paths relative to the folder in which the pipeline runs) and
    ``census`` is given.
    """

    title: str
    questions: str
    files: list[str] = Field(default_factory=list)
    census: CensusSource | None = None

    @model_validator(mode="after")
    def _one_source(self) -> "Dataset":
        if bool(self.files) == bool(self.census):
            raise ValueError("give either 'files' (a list of paths) or 'census'")
        names = self.names
        twice = sorted({n for n in names if names.count(n) > 1})
        if twice:
            raise ValueError(f"two files of the same name: {', '.join(twice)}")
        return self

    @property
    def names(self) -> list[str]:
        """The source files' names without folders, in the order in which they are read."""
        return self.census.files if self.census else [PurePosixPath(f).name for f in self.files]

    def path(self, name: str) -> str | None:
        """Return the local path of the source file ``name``, or None if it must be fetched."""
        return None if self.census else self.files[self.names.index(name)]

    def url(self, name: str) -> str:
        """Return the address of the source file ``name``."""
        assert self.census is not None
        return f"{CENSUS}/{self.census.folder}/{name}"


DATASETS = Path("workflow/datasets")
QUESTION_SETS = Path("workflow/questions")


def dataset_path(name: str) -> str:
    """Return the dataset YAML that ``name`` means: one of workflow/datasets, or a path."""
    return _named_or_path(name, DATASETS, "data set")


def question_set_path(name: str) -> str:
    """Return the question set YAML that ``name`` means: one of workflow/questions, or a path."""
    return _named_or_path(name, QUESTION_SETS, "question set")


def _named_or_path(name: str, folder: Path, what: str) -> str:
    path = Path(name) if name.endswith((".yaml", ".yml")) else folder / f"{name}.yaml"
    if not path.is_file():
        known = sorted(p.stem for p in folder.glob("*.yaml"))
        raise InputError(
            f"there is no {what} {name!r}{did_you_mean(name, known)} "
            f"(known: {', '.join(known)}; a path to a YAML file works too)"
        )
    return path.as_posix()


@dataclass(frozen=True)
class Provenance:
    """What is known of an acquired file; ``modified`` is the server's date, where it gave one."""

    source: str
    bytes: int
    sha256: str
    modified: str | None


def sha256(path: Path) -> str:
    """Return the file's sha256 as hexadecimal text."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fetch(url: str, target: Path, by_hand: Path, progress: Callable[[int, int | None], None]) -> Provenance:
    """Download ``url`` to ``target``, whole or not at all.

    Parameters
    ----------
    url : the address
    target : where the file shall lie; written under a temporary name and renamed
    by_hand : where a user may put the file instead, named in the message when fetching fails
    progress : called with the bytes received so far and, where known, the bytes to come in all

    Raises
    ------
    InputError
        with the address, the reason and what to do by hand
    """
    part = target.with_name(target.name + ".part")
    try:
        with requests.get(url, headers={"User-Agent": USER_AGENT}, stream=True, timeout=TIMEOUT_S) as answer:
            if answer.status_code != 200:
                raise _RefusedError(f"the server answered {answer.status_code} {answer.reason}")
            expected = int(answer.headers["Content-Length"]) if "Content-Length" in answer.headers else None
            received = 0
            with part.open("wb") as file:
                for chunk in answer.iter_content(CHUNK):
                    file.write(chunk)
                    received += len(chunk)
                    progress(received, expected)
            modified = answer.headers.get("Last-Modified")
        if expected is not None and received != expected:
            raise _RefusedError(f"only {received:,} of {expected:,} bytes arrived")
        _check_zip(part)
    except (requests.RequestException, _RefusedError, InputError) as failure:
        part.unlink(missing_ok=True)
        raise InputError(
            f"could not fetch {url}\n"
            f"  reason: {_short(failure)}\n"
            f"  by hand: open that address in a browser, save the file as {by_hand}\n"
            "  and run the same command again; nothing else needs to be changed."
        ) from None
    digest, size = sha256(part), part.stat().st_size
    part.rename(target)
    return Provenance(url, size, digest, modified)


class _RefusedError(Exception):
    """The server's answer is not the file."""


def _short(failure: Exception) -> str:
    if isinstance(failure, requests.ConnectTimeout | requests.ReadTimeout):
        return "the server did not answer in time"
    if isinstance(failure, requests.exceptions.ChunkedEncodingError):
        return "the connection broke off before the whole file had arrived"
    if isinstance(failure, requests.ConnectionError):
        return f"no connection to the server ({_root_cause(failure)})"
    return str(failure)


def _root_cause(failure: BaseException) -> str:
    """The last sentence of nested connection errors, which is the only one a person can use."""
    text = str(failure)
    for mark in ("Failed to resolve", "Connection refused", "timed out", "Network is unreachable"):
        if mark in text:
            return (
                mark[0].lower() + mark[1:] if mark != "Failed to resolve" else "its name cannot be resolved"
            )
    return text.rsplit(":", 1)[-1].strip(" )'\"")


def _check_zip(path: Path) -> None:
    if not zipfile.is_zipfile(path):
        start = path.read_bytes()[:40].decode("latin-1").strip()
        raise InputError(f"what arrived is not a zip file; it begins with {start!r}")


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
                with archive.open(member) as file:
                    yield where, _csv_batches(file, columns, where)
    else:
        raise InputError(f"{path}: cannot read this kind of file; give .zip, .csv or .parquet")


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
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        array = _numbers_from_text(array, column, where)
    values = array.cast(pa.float64(), safe=False)
    blank = pc.fill_null(pc.is_nan(values), True).to_numpy(zero_copy_only=False)
    numbers = np.nan_to_num(pc.fill_null(values, 0.0).to_numpy(zero_copy_only=False))
    odd = ~blank & (numbers != np.rint(numbers))
    if odd.any():
        raise InputError(f"{where}: {column} holds {numbers[odd][0]!r}, which is not a whole number")
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
