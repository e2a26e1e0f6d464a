"""Reading and writing Excel workbooks."""

import io
import re
import zipfile
from collections.abc import Collection, Sequence
from datetime import datetime
from pathlib import Path
from typing import IO

import numpy as np

from modp.base.errors import InputError, did_you_mean
from modp.files.content import ending, honest_ending, largest_unpacked
from modp.files.delimited import unique_names
from modp.files.form import ExcelForm, Spelling
from modp.files.kinds import encoded, number_text, spelt, taken, texts_of, told_apart, value_text
from modp.files.options import TableOptions
from modp.files.table import Column, Table

ROWS_OF_FORMATS = 200
"""Rows in which the number format of a column is looked for."""
DAY = re.compile(r"\d{4}-\d\d-\d\d")
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?")


def read_excel(
    path: Path, options: TableOptions, columns: Collection[str] | None, said: list[str]
) -> tuple[Table, ExcelForm]:
    """Read a sheet of a workbook; see :func:`modp.files.read.read`."""
    import openpyxl

    content = io.BytesIO(path.read_bytes())  # a path must end in what openpyxl knows
    try:
        with zipfile.ZipFile(content) as archive:
            size = sum(member.file_size for member in archive.infolist())
        if size > largest_unpacked(path.stat().st_size):
            raise InputError(f"{path} would unpack to {size:,} bytes; refused")
        book = openpyxl.load_workbook(content, read_only=True, data_only=True)
    except (zipfile.BadZipFile, KeyError, ValueError, OSError) as failure:
        raise InputError(f"{path} cannot be read as an Excel workbook: {failure}") from None
    try:
        sheet = book[_sheet(book.sheetnames, options.sheet, path, said)]
        sheet.reset_dimensions()
        title = sheet.title
        values = [list(row) for row in sheet.iter_rows(values_only=True)]
        above = next((at for at, row in enumerate(values) if any(map(_filled, row))), None)
        if above is None:
            raise InputError(f"{path}: the sheet {title!r} is empty")
        last = max(at for at, row in enumerate(values) if any(map(_filled, row)))
        width = max(at + 1 for row in values for at, value in enumerate(row) if _filled(value))
        body = [(row + [None] * (width - len(row)))[:width] for row in values[above + 1 : last + 1]]
        header = ["" if v is None else value_text(v) for v in (values[above] + [None] * width)[:width]]
        names, odd = unique_names(header, f"{path} ({title})")
        formats: dict[str, str] = {}
        for row in sheet.iter_rows(min_row=above + 2, max_row=above + 1 + ROWS_OF_FORMATS):
            for name, cell in zip(names, row, strict=False):
                if cell.value is not None:
                    formats.setdefault(name, cell.number_format)
    finally:
        book.close()
    hollow = [at for at in range(width) if not any(_filled(row[at]) for row in body)]
    for at in _of_formulas(content, title, above, hollow):
        odd.append(
            f"{path} ({title}): {names[at]} holds formulas without their values, so it is blank here; open "
            "the file in a spreadsheet program and save it"
        )
    made, dtypes, words, spelling = [], {}, {}, {}
    for at, name in enumerate(names):
        column, strings, spelled = _column(name, [row[at] for row in body])
        dtypes[name] = column.dtype
        if strings:
            words[name] = strings
        if spelled != Spelling():
            spelling[name] = spelled
        if columns is None or name in columns:
            made.append(column)
    form = ExcelForm(
        honest_ending(ending(path), "excel"),
        tuple(names),
        tuple(header),
        spelling,
        sheet=title,
        above=above,
        formats=formats,
        dtypes=dtypes,
        words=words,
    )
    return Table(tuple(made), (*said, *odd)), form


def _of_formulas(content: IO[bytes], title: str, above: int, columns: Sequence[int]) -> list[int]:
    """Those of the columns that hold formulas; a program that is no spreadsheet saves no values of them."""
    import openpyxl

    if not columns:
        return []
    book = openpyxl.load_workbook(content, read_only=True)
    try:
        rows = list(book[title].iter_rows(min_row=above + 2, max_row=above + 1 + ROWS_OF_FORMATS))
    finally:
        book.close()
    cells = {at: [row[at] for row in rows if at < len(row)] for at in columns}
    return [at for at in columns if any(cell.data_type == "f" for cell in cells[at])]


def _sheet(titles: Sequence[str], wanted: str | int | None, path: Path, said: list[str]) -> str:
    if not titles:
        raise InputError(f"{path} holds no sheet")
    if wanted is None:
        if len(titles) > 1:
            said.append(
                f"{path} has {len(titles)} sheets ({', '.join(titles)}); the first, {titles[0]}, is read"
            )
        return titles[0]
    if isinstance(wanted, int):
        if not 1 <= wanted <= len(titles):
            raise InputError(f"{path} has {len(titles)} sheets, counted from 1; there is no sheet {wanted}")
        return titles[wanted - 1]
    if wanted not in titles:
        raise InputError(
            f"{path} has no sheet {wanted!r}{did_you_mean(wanted, titles)} (it has: {', '.join(titles)})"
        )
    return wanted


def _filled(value: object) -> bool:
    return value is not None and value != ""


def _column(name: str, values: Sequence[object]) -> tuple[Column, frozenset[str], Spelling]:
    """A column, and those of its answers that are text but look like something else."""
    places, distinct = told_apart([value if _filled(value) else None for value in values])
    texts, dtype = texts_of(distinct)
    kinds, placed, spelling = encoded(texts, places)
    strings = frozenset(
        value.strip() for value in distinct if isinstance(value, str) and not _plain(value.strip())
    )
    return Column(name, kinds, placed, dtype=dtype), strings, spelling


def _plain(text: str) -> bool:
    """Whether a text would be written as text."""
    return isinstance(_value(text), str)


def _value(text: str) -> object:
    """What an answer is in a cell: a number, a date, a truth value or text."""
    if text in ("True", "False"):
        return text == "True"
    if DAY.fullmatch(text) or MOMENT.fullmatch(text):
        try:
            return datetime.fromisoformat(text)
        except ValueError:
            return text
    try:
        number = float(text)
    except ValueError:
        return text
    if number_text(number) == text:
        return int(text) if number.is_integer() and abs(number) < 1e15 else number
    return text


def write_excel(path: Path, columns: Sequence[Column | None], rows: int, form: ExcelForm) -> None:
    """Write columns (None: blank) as a workbook of one sheet; see :func:`modp.files.write.write`."""
    import openpyxl
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.writer.excel import ExcelWriter

    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet(form.sheet)
    for _ in range(form.above):
        sheet.append([])
    sheet.append([name or None for name in form.header])
    formats = [form.formats.get(name, "General") for name in form.names]
    cells = [_cells(column, rows, form) for column in columns]
    for row in zip(*cells, strict=True):
        written = []
        for value, shown in zip(row, formats, strict=True):
            if shown == "General" or value is None or isinstance(value, str):
                written.append(value)
                continue
            cell = WriteOnlyCell(sheet, value)
            cell.number_format = shown
            written.append(cell)
        sheet.append(written)
    stamp = datetime(2000, 1, 1)
    book.properties.created = book.properties.modified = stamp
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as whole:
        ExcelWriter(book, whole).write_data()  # what the book's own save does, but for the time of today
    with zipfile.ZipFile(content) as stamped, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member in stamped.namelist():  # the time of writing would make each file another
            archive.writestr(zipfile.ZipInfo(member), stamped.read(member), zipfile.ZIP_DEFLATED)


def _cells(column: Column | None, rows: int, form: ExcelForm) -> np.ndarray:
    if column is None:
        return np.full(rows, None, object)
    words = form.words.get(column.name, frozenset())
    texts = spelt(column.kinds, form.spelling.get(column.name, Spelling()))
    values = [
        text if kind in words else (value if not isinstance(value := _value(kind), str) else text)
        for kind, text in zip(column.kinds, texts, strict=True)
    ]
    return taken(values, column.places, None)
