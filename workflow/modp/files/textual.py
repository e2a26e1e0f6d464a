"""Reading and writing delimited text: .csv, .tsv, .txt, alone, compressed or in a zip."""

import gzip
import io
import mmap
import re
import tempfile
import zipfile
import zlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import IO, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from modp.base.errors import InputError
from modp.base.rows import column_rooms
from modp.base.scratch import filling, scratch
from modp.files import delimited
from modp.files.content import NAMES, REFUSED, ending, honest_ending, kind_of_head, largest_unpacked
from modp.files.encoding import Bytes, Encoding, decoded, encoding_of
from modp.files.form import Spelling, TextForm
from modp.files.kinds import COMMA, encoded, has_decimal_commas, spelt
from modp.files.options import DETECTED, TableOptions
from modp.files.table import BLANK, Column, Table

CENSUS_NAME = re.compile(r"(psam_|ss\d\d)[ph]")
BLOCK = 4 << 20
STREAM_BLOCK = 16 << 20
LARGE = 64 << 20
"""Bytes of a text from which on it lies in a file, not in memory."""
ROWS_AT_ONCE = 50_000


def read_text(
    path: Path, packed: bool, options: TableOptions, columns: Collection[str] | None, said: list[str]
) -> tuple[Table, TextForm]:
    """Read a text table, ``packed`` by gzip or not; see :func:`modp.files.read.read`."""
    data = _unpacked(path) if packed else _mapped(path)
    suffix = honest_ending(ending(path), "text")
    plain = suffix.removesuffix(".gz").removesuffix(".GZ")
    suffix = suffix if packed == (suffix != plain) else plain + ".gz" * packed
    return _table(_opened(data, options, str(path)), options, columns, said, suffix)


def _mapped(path: Path) -> Bytes:
    """A file's bytes; of a large one those that it holds when they are looked at."""
    if path.stat().st_size < LARGE:
        return path.read_bytes()
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _unpacked(path: Path) -> Bytes:
    most = largest_unpacked(path.stat().st_size)
    try:
        with gzip.open(path) as file:
            data = _laid_out(cast(IO[bytes], file), most + 1)
    except (gzip.BadGzipFile, EOFError, zlib.error) as failure:
        raise InputError(f"{path} is damaged ({failure}); fetch or make it again") from None
    if len(data) > most:
        raise InputError(f"{path} would unpack to more than {most:,} bytes; refused")
    return data


def _laid_out(file: IO[bytes], most: int) -> Bytes:
    """What is unpacked of a file, at most so many bytes; in a temporary file where it is large."""
    head = file.read(min(most, LARGE))
    if len(head) < LARGE:
        return head
    with filling(), scratch() as whole:
        whole.write(head)
        while whole.tell() < most and (block := file.read(min(STREAM_BLOCK, most - whole.tell()))):
            whole.write(block)
        whole.flush()
        return mmap.mmap(whole.fileno(), 0, access=mmap.ACCESS_READ)


def members_of(archive: zipfile.ZipFile, where: str) -> list[zipfile.ZipInfo]:
    """Return the tables in a zip, in the order of their names: Census's own if there are any.

    Raises
    ------
    InputError
        if there is none, or one would be too large when unpacked
    """
    files = [m for m in archive.infolist() if not m.is_dir()]
    files = [m for m in files if not PurePosixPath(m.filename).name.startswith((".", "_"))]
    members = [m for m in files if m.filename.lower().endswith(".csv")]
    named = [m for m in members if CENSUS_NAME.match(PurePosixPath(m.filename).name.lower())]
    members = named or members  # beside Census's tables a zip may hold a dictionary
    if not members:
        members = [m for m in files if m.filename.lower().endswith((".tsv", ".tab", ".txt"))]
        members = members if len(members) == 1 else []  # one table, or several texts about it
    if not members:
        raise InputError(f"{where} holds no CSV file, only: {', '.join(archive.namelist()) or 'nothing'}")
    for member in members:
        if member.file_size > largest_unpacked(member.compress_size):
            raise InputError(f"{where}/{member.filename} would unpack to {member.file_size:,} bytes; refused")
    return sorted(members, key=lambda m: m.filename.lower())


def read_zip(
    path: Path, options: TableOptions, columns: Collection[str] | None, said: list[str]
) -> tuple[Table, TextForm]:
    """Read the tables in a zip, one below the other; see :func:`modp.files.read.read`."""
    parts: list[_Opened] = []
    names: list[str] = []
    try:
        with zipfile.ZipFile(path) as archive:
            for member in members_of(archive, str(path)):
                where = f"{path}/{member.filename}"
                with archive.open(member) as file:
                    parts.append(_opened(_laid_out(file, member.file_size + 1), options, where))
                names.append(member.filename)
    except (zipfile.BadZipFile, zlib.error, EOFError) as failure:
        raise InputError(f"{path} is damaged or no zip file ({failure}); fetch or make it again") from None
    except (RuntimeError, NotImplementedError) as failure:
        raise InputError(f"{path} cannot be unpacked: {failure}") from None
    first, *others = parts
    for other in others:
        if other.header != first.header:
            raise InputError(
                f"{path} holds tables with different columns ({first.where} and {other.where}); "
                "take the one that is meant out of the zip"
            )
    if others:
        said.append(f"{path} holds {len(parts)} tables of the same columns, read one below the other")
    table, form = _table(first, options, columns, said, ".zip", others)
    inside = PurePosixPath(names[0].replace("\\", "/")).parts
    inner = "/".join(part for part in inside if part not in ("/", ".."))  # nothing outside of a folder
    return table, replace(form, ending=honest_ending(ending(path), "zip"), member=inner)


@dataclass(frozen=True)
class _Opened:
    """A text table whose header is read: the rest as UTF-8, and how it was written."""

    where: str
    header: list[str]
    header_quoted: bool
    rest: memoryview
    delimiter: str
    line_end: str
    ended: bool
    encoding: Encoding
    preamble: str
    said: tuple[str, ...]


def _opened(data: Bytes, options: TableOptions, where: str) -> _Opened:
    kind = kind_of_head(data[: 1 << 12])
    if kind in REFUSED:
        raise InputError(f"{where} is {REFUSED[kind]}")
    if kind in NAMES:
        raise InputError(f"{where} is {NAMES[kind]}, packed once more; unpack it")
    encoding = encoding_of(data, options.encoding, where)
    if encoding.name in ("utf-8", "ascii"):
        if options.encoding is not None or encoding.mark:
            decoded(data, encoding, where)  # a byte that is not of it is refused
        utf8, mark = data, len(encoding.mark)
    else:
        utf8, mark = decoded(data, encoding, where).encode("utf-8", "surrogatepass"), 0
    start = utf8[mark : mark + (1 << 20)].decode("utf-8", "ignore")
    preamble, delimiter, told = _delimiter_of(start, options)
    body = start[len(preamble) :]
    if not body.strip():
        raise InputError(f"{where} is empty")
    fields, end, line_end = next(delimited.records(body, delimiter))
    skip = mark + len((preamble + body[:end]).encode())
    said = [encoding.said] if encoding.said else []
    if told and len(fields) == 1:
        said.append(f"{where}: no delimiter was found, so it is one column; if there is one, state it")
    elif told and delimiter != ",":
        said.append(f"{where}: the delimiter is {_spoken(delimiter)}")
    return _Opened(
        where,
        [delimited.bare(field) for field in fields],
        all(field.startswith('"') for field in fields),
        memoryview(utf8)[skip:],
        delimiter,
        line_end or "\n",
        bool(line_end),
        encoding,
        preamble,
        tuple(said),
    )


def _delimiter_of(text: str, options: TableOptions) -> tuple[str, str, bool]:
    """What stands before the header, the delimiter, and whether that was found out."""
    above = delimited.PREAMBLE.match(text)
    assert above is not None  # it may be empty
    if options.delimiter:
        return above[0], options.delimiter, False
    return above[0], above[1] or delimited.sniffed(text[above.end() :]), True


def _spoken(delimiter: str) -> str:
    return "a tab" if delimiter == "\t" else f"{delimiter!r}"


def _table(
    opened: _Opened,
    options: TableOptions,
    columns: Collection[str] | None,
    said: list[str],
    suffix: str,
    others: Sequence[_Opened] = (),
) -> tuple[Table, TextForm]:
    where = opened.where
    names, odd = delimited.unique_names(opened.header, where)
    width = len(names)
    wanted = [at for at, name in enumerate(names) if columns is None or name in columns]
    answers = _Answers(len(wanted))
    for part in (opened, *others):
        for batch in _parsed(part, width, wanted):
            answers.add(batch)
    text = str(opened.rest[: delimited.QUOTES_SEEN], "utf-8", "ignore")
    quotes = _quoting(text, opened, width)
    made: list[Column] = []
    spelling: dict[str, Spelling] = {}
    commas: list[str] = []
    for at, (texts, places) in zip(wanted, answers.columns(), strict=True):
        kinds, places, spelled = encoded(texts, places, into=places)
        column = Column(names[at], kinds, places)
        spelled = replace(
            spelled,
            quoted=quotes[at].quoted,
            bare=quotes[at].bare,
            blank_quoted=quotes[at].blank_quoted,
        )
        if _commas(column, opened.delimiter, options):
            commas.append(column.name)
            kinds, spelled = _with_points(column.kinds, spelled)
            column = replace(column, kinds=kinds)
        made.append(column)
        spelling[column.name] = spelled
    for at in set(range(width)) - set(wanted):
        spelling[names[at]] = quotes[at]
    if commas and options.decimal is None:
        some = ", ".join(commas[:3]) + (" …" if len(commas) > 3 else "")
        said = [*said, f"{where}: numbers have a decimal comma ({some})"]
    form = TextForm(
        suffix,
        tuple(names),
        tuple(opened.header),
        spelling,
        delimiter=opened.delimiter,
        line_end=opened.line_end,
        encoding=opened.encoding.name,
        mark=opened.encoding.mark,
        preamble=opened.preamble,
        header_quoted=opened.header_quoted,
        ends_with_line=bytes(opened.rest[-1:]) in (b"\n", b"\r") or (not opened.rest and opened.ended),
    )
    told = dict.fromkeys(line for part in (opened, *others) for line in part.said)
    return Table(tuple(made), (*said, *told, *odd)), form


class _Answers:
    """The answers of columns, taken up as they come: the different texts of each, and which every row has."""

    def __init__(self, columns: int):
        self.texts: list[dict[str, int]] = [{} for _ in range(columns)]
        self.file = tempfile.SpooledTemporaryFile(STREAM_BLOCK, prefix="modp-")  # noqa: SIM115
        self.batches: list[int] = []

    def add(self, batch: pa.RecordBatch) -> None:
        """Take up the next rows of the columns."""
        places = np.empty((len(self.texts), len(batch)), np.int32)
        for at, (texts, column) in enumerate(zip(self.texts, batch.columns, strict=True)):
            of = [texts.setdefault(text, len(texts)) for text in column.dictionary.to_pylist()]
            to = np.array([*of, BLANK], np.int32)
            places[at] = to[column.indices.fill_null(BLANK).to_numpy()]
        with filling():
            self.file.write(places.tobytes())
        self.batches.append(len(batch))

    def columns(self) -> Iterator[tuple[list[str], np.ndarray]]:
        """Yield, once, each column's texts, and the place among these of each row's, or ``BLANK``."""
        size, width = np.dtype(np.int32).itemsize, len(self.texts)
        for at, places in enumerate(column_rooms(sum(self.batches), width)):
            row = 0
            for rows in self.batches:
                self.file.seek(size * (row * width + at * rows))
                places[row : row + rows] = np.frombuffer(self.file.read(size * rows), np.int32)
                row += rows
            texts, self.texts[at] = self.texts[at], {}
            yield list(texts), places
        self.file.close()


_TEXT = pa.dictionary(pa.int32(), pa.string())


def _parsed(opened: _Opened, width: int, wanted: Sequence[int]) -> Iterator[pa.RecordBatch]:
    """Yield the wanted columns of one text, as dictionaries."""
    if _quotes(opened.rest) % 2:
        delimited.require_closed_quotes(_whole_text(opened), opened.delimiter, opened.where)
    names = [str(at) for at in range(width)]
    if _only_line_ends(opened.rest) and (width > 1 or not opened.rest):
        return
    try:
        with _Unsplit(_After(opened.rest, io.BytesIO())) as source:
            for batch in pyarrow.csv.open_csv(
                source,
                read_options=pyarrow.csv.ReadOptions(column_names=names, block_size=BLOCK),
                parse_options=pyarrow.csv.ParseOptions(
                    delimiter=opened.delimiter, newlines_in_values=True, ignore_empty_lines=width > 1
                ),
                convert_options=pyarrow.csv.ConvertOptions(
                    include_columns=[names[at] for at in wanted] or names[:1],
                    column_types=dict.fromkeys(names, _TEXT),
                    null_values=[""],
                    strings_can_be_null=True,
                ),
            ):
                yield batch.select(range(len(wanted)))  # one is read where none is wanted
    except pa.ArrowInvalid as failure:
        header = len(_header_text(opened))
        delimited.require_widths(_whole_text(opened), opened.delimiter, width, opened.where, header)
        raise InputError(
            f"{opened.where} cannot be read as CSV: {failure}; is a double quote not closed?"
        ) from None


def _quotes(text: memoryview) -> int:
    """How many double quotes a text has."""
    return sum(block.count(b'"') for block in _blocks(text))


def _only_line_ends(text: memoryview) -> bool:
    return not any(block.strip(b"\r\n") for block in _blocks(text))


def _blocks(text: memoryview) -> Iterator[bytes]:
    for first in range(0, len(text), STREAM_BLOCK):
        yield bytes(text[first : first + STREAM_BLOCK])


def _whole_text(opened: _Opened) -> str:
    return _header_text(opened) + str(opened.rest, "utf-8", "replace")


def _header_text(opened: _Opened) -> str:
    """As many lines as stand before the records, for counting them."""
    inside = sum(name.count("\n") for name in opened.header)
    return opened.preamble + "\n" * inside + opened.line_end


def _quoting(text: str, opened: _Opened, width: int) -> list[Spelling]:
    if '"' not in text:
        return [Spelling()] * width
    rows = []
    for fields, end, _ in delimited.records(text, opened.delimiter):
        if len(fields) == width and (end < len(text) or len(text) == len(opened.rest)):
            rows.append(fields)
    return delimited.quoting(rows, width, opened.delimiter)


def _commas(column: Column, delimiter: str, options: TableOptions) -> bool:
    if options.decimal == "." or (options.decimal is None and delimiter == ","):
        return False
    return has_decimal_commas(column.kinds, column.counts)


def _with_points(kinds: np.ndarray, spelling: Spelling) -> tuple[np.ndarray, Spelling]:
    """Answers with a decimal point, and the spelling that gives them their comma back."""

    def pointed(text: str) -> str:
        return text.replace(",", ".") if COMMA.fullmatch(text.strip()) else text

    texts = {pointed(kind): pointed(text) for kind, text in spelling.texts.items()}
    bare = frozenset(pointed(kind) for kind in spelling.bare)
    kinds = np.array([pointed(kind) for kind in kinds], object)
    return kinds, replace(spelling, texts=texts, bare=bare, comma=True)


class _After(io.RawIOBase):
    """What was read of a file already, then the rest of it."""

    def __init__(self, start: bytes | memoryview, file: IO[bytes]):
        self.start, self.file = start, file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:  # type: ignore[no-untyped-def]
        data = self.start[: len(buffer)] or self.file.read(len(buffer))
        self.start = self.start[len(data) :]
        buffer[: len(data)] = data
        return len(data)


class _Unsplit(io.RawIOBase):
    """A file of which no read ends between the two characters of a line end.

    Where a block ends so, Arrow loses the second one, also of an answer in quotes. Once it is closed, nothing
    is read any more: Arrow's thread may go on for a moment, and a file that lies below may be gone.
    """

    def __init__(self, file: IO[bytes] | pa.NativeFile | io.RawIOBase):
        self.file, self.held = file, b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if self.closed:
            return b""
        data = self.file.read(size - len(self.held))
        if self.held:
            data, self.held = self.held + data, b""
        if data.endswith(b"\r") and len(data) > 1:
            self.held = self.file.read(1)
            if self.held == b"\n":
                data, self.held = data[:-1], b"\r\n"
        return data


@dataclass(frozen=True)
class Stream:
    """A text table that is read in batches: its header, and the rest of the file."""

    where: str
    header: tuple[str, ...]
    delimiter: str
    encoding: str
    rest: IO[bytes]

    def _utf8(self) -> IO[bytes] | pa.NativeFile:
        if self.encoding in ("utf-8", "ascii"):
            return self.rest
        return pa.transcoding_input_stream(pa.PythonFile(self.rest, "r"), self.encoding, "utf8")

    def batches(self, names: Sequence[str], wanted: Collection[str]) -> Iterator[pa.RecordBatch]:
        """Read some columns as texts, blank where empty, once.

        Parameters
        ----------
        names : of all columns, which must differ
        wanted : those to read

        Raises
        ------
        InputError
            naming the line whose number of values is not the header's
        """
        odd: list[pyarrow.csv.InvalidRow] = []

        def keep(row: pyarrow.csv.InvalidRow) -> str:
            odd.append(row)
            return "error"

        try:
            yield from pyarrow.csv.open_csv(
                _Unsplit(self._utf8()),
                read_options=pyarrow.csv.ReadOptions(
                    column_names=names, block_size=STREAM_BLOCK, use_threads=False
                ),
                parse_options=pyarrow.csv.ParseOptions(
                    delimiter=self.delimiter, newlines_in_values=True, invalid_row_handler=keep
                ),
                convert_options=pyarrow.csv.ConvertOptions(
                    include_columns=sorted(wanted), column_types=dict.fromkeys(wanted, pa.string())
                ),
            )
        except UnicodeDecodeError:
            raise InputError(f"{self.where} is not in {self.encoding} throughout; save it in UTF-8") from None
        except pa.ArrowInvalid as failure:
            if odd and odd[0].number is not None:
                line = f"line {odd[0].number + 1:,}"
                said = delimited.wrong_width(self.where, line, odd[0].actual_columns, len(names))
                raise InputError(said) from None
            if "invalid UTF8" in str(failure):
                raise InputError(
                    f"{self.where} is not in UTF-8 throughout; save it in that encoding"
                ) from None
            if "Empty CSV file" not in str(failure):  # a header without records is judged by the caller
                raise InputError(f"{self.where} cannot be read as CSV: {failure}") from None


def opened_stream(file: IO[bytes], where: str) -> Stream:
    """Read the header of a text table that is too large to be held whole; ``where`` names it.

    Raises
    ------
    InputError
        if it is empty, or holds something else than text
    """
    head = file.read(1 << 20)
    kind = kind_of_head(head)
    if kind:
        raise InputError(f"{where} is {REFUSED.get(kind) or NAMES[kind] + ', no CSV; save it as such'}")
    encoding = encoding_of(head, None, where, whole=False)
    text = head[len(encoding.mark) :].decode(encoding.name, "ignore")
    preamble, delimiter, _ = _delimiter_of(text, DETECTED)
    if not text.strip():
        raise InputError(f"{where} is empty")
    fields, end, _ = next(delimited.records(text[len(preamble) :], delimiter))
    skip = len(encoding.mark) + len(text[: len(preamble) + end].encode(encoding.name))
    header = tuple(delimited.bare(field) for field in fields)
    rest = io.BufferedReader(_After(head[skip:], file), STREAM_BLOCK)
    return Stream(where, header, delimiter, encoding.name, rest)


def write_text(path: Path, columns: Sequence[Column | None], rows: int, form: TextForm) -> None:
    """Write columns (None: blank) as delimited text; see :func:`modp.files.write.write`."""
    if form.member:
        info = zipfile.ZipInfo(form.member)
        info.compress_type = zipfile.ZIP_DEFLATED
        with zipfile.ZipFile(path, "w") as archive, archive.open(info, "w", force_zip64=True) as file:
            _write_table(file, columns, rows, form)
    elif form.ending.lower().endswith(".gz"):
        with (
            path.open("wb") as raw,
            gzip.GzipFile("", "wb", mtime=0, fileobj=raw) as packed,
            io.BufferedWriter(packed, 1 << 20) as file,
        ):
            _write_table(file, columns, rows, form)
    else:
        with path.open("wb") as file:
            _write_table(file, columns, rows, form)


def _write_table(file: IO[bytes], columns: Sequence[Column | None], rows: int, form: TextForm) -> None:
    header = form.delimiter.join(
        delimited.quoted(name)
        if form.header_quoted or delimited.must_be_quoted(name, form.delimiter)
        else name
        for name in form.header
    )
    file.write(form.mark + _bytes(form.preamble + header, form))
    if rows or form.ends_with_line:
        file.write(_bytes(form.line_end, form))
    fields = [
        _fields(column, form.spelling.get(name, Spelling()), form.delimiter)
        for name, column in zip(form.names, columns, strict=True)
    ]
    for start in range(0, rows, ROWS_AT_ONCE):
        stop = min(start + ROWS_AT_ONCE, rows)
        parts = [
            pc.take(
                texts,
                pa.array(np.full(stop - start, len(texts) - 1) if c is None else _at(c, start, stop, texts)),
            )
            for texts, c in zip(fields, columns, strict=True)
        ]
        lines = pc.binary_join_element_wise(*parts, form.delimiter).to_pylist()
        text = form.line_end.join(lines)
        last = stop == rows and not form.ends_with_line
        file.write(_bytes(text + ("" if last else form.line_end), form))


def _at(column: Column, start: int, stop: int, texts: pa.Array) -> np.ndarray:
    places = column.places[start:stop]
    return np.where(places < 0, len(texts) - 1, places)


def _fields(column: Column | None, spelling: Spelling, delimiter: str) -> pa.Array:
    """The fields of a column's kinds as they stand in the file, and after them that of a blank."""
    kinds = column.kinds if column is not None else np.array([], object)
    texts = [
        delimited.quoted(text)
        if (spelling.quoted and kind not in spelling.bare) or delimited.must_be_quoted(text, delimiter)
        else text
        for kind, text in zip(kinds, spelt(kinds, spelling), strict=True)
    ]
    blank = delimited.quoted(spelling.blank) if spelling.blank_quoted else spelling.blank
    return pa.array([*texts, blank], pa.string())


def _bytes(text: str, form: TextForm) -> bytes:
    try:
        return text.encode(form.encoding)
    except UnicodeEncodeError as failure:
        raise InputError(
            f"{text[failure.start]!r} cannot be written in {form.encoding}, the encoding of the input; "
            "save the input in UTF-8"
        ) from None
