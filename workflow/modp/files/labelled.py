"""Reading and writing files of SPSS, Stata and SAS, with their labels and declared missing answers."""

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from modp.base.errors import InputError
from modp.files.content import ending, honest_ending
from modp.files.form import LabelledForm, Spelling, written_ending
from modp.files.kinds import encoded, number_text, spelt, taken
from modp.files.moments import Scale, scale_of
from modp.files.options import TableOptions
from modp.files.stata import write_stata
from modp.files.table import Column, Table

READERS = {
    "spss": "read_sav",
    "portable": "read_por",
    "stata": "read_dta",
    "sas": "read_sas7bdat",
    "xport": "read_xport",
}
WITH_MISSING = ("spss", "stata", "sas")
"""Formats of which pyreadstat can tell missing answers apart."""
STATA_START, STATA_END = b"<stata_dta>", b"</stata_dta>"
"""Around a file of Stata 13 and later."""
SAS_RECORD = 80
"""Bytes of which a SAS transport file holds a whole number."""
EARLIEST_SPSS = b"01 Jan 00" + b"00:00:00"
SAS_TIME = re.compile(rb"\d\d[A-Z]{3}\d\d:\d\d:\d\d:\d\d")


def read_labelled(
    path: Path, kind: str, options: TableOptions, columns: Collection[str] | None, said: list[str]
) -> tuple[Table, LabelledForm]:
    """Read a file of SPSS, Stata or SAS (``kind``); see :func:`modp.files.read.read`."""
    import pyreadstat

    more: dict[str, object] = {"user_missing": True} if kind in WITH_MISSING else {}
    if options.encoding and kind != "portable":
        more["encoding"] = options.encoding
    read = getattr(pyreadstat, READERS[kind])
    if _cut_short(path, kind):
        raise InputError(f"{path} is cut short; fetch or make it again")
    try:
        _, meta = read(str(path), metadataonly=True, **more)
        names = list(meta.column_names)
        wanted = [name for name in names if columns is None or name in columns]
        more |= {"usecols": wanted, "disable_datetime_conversion": True}
        # pandas' integers cannot be missing: pyreadstat gives a number out of nowhere for `.` beside `.a`
        values, meta_read = read(str(path), output_format="dict", **more) if wanted else ({}, meta)
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, UnicodeDecodeError, ValueError) as failure:
        raise InputError(
            f"{path} cannot be read: {failure}; it may be cut short, or its 'encoding' must be given"
        ) from None
    made, spelling = [], {}
    for name in wanted:
        column, spelled = _column(name, values[name], meta_read, kind)
        made.append(column)
        if spelled != Spelling():
            spelling[name] = spelled
    form = _form(path, kind, meta, meta_read, spelling)
    return Table(tuple(made), tuple(said)), form


def _cut_short(path: Path, kind: str) -> bool:
    """Whether the file lacks its end, where ReadStat would give what is left without a word."""
    size = path.stat().st_size
    if kind == "xport":
        return size % SAS_RECORD != 0
    with path.open("rb") as file:
        marked = file.read(len(STATA_START)) == STATA_START
        file.seek(max(size - len(STATA_END), 0))
        return kind == "stata" and marked and file.read() != STATA_END


def _form(path: Path, kind: str, meta, meta_read, spelling: Mapping[str, Spelling]) -> LabelledForm:  # type: ignore[no-untyped-def]
    names = tuple(meta.column_names)
    with path.open("rb") as file:
        head = file.read(160)
    types = dict(meta.readstat_variable_types)
    inner = 1 if kind == "stata" else 0  # Stata's widths count a closing zero
    return LabelledForm(
        honest_ending(ending(path), kind),
        names,
        names,
        spelling,
        types=types,
        formats={n: shown for n, shown in meta.original_variable_types.items() if shown},
        widths={n: max(w - inner, 1) for n, w in meta.variable_storage_width.items() if types[n] == "string"},
        labels={n: label for n, label in meta.column_names_to_labels.items() if label},
        label_sets=dict(meta.value_labels),
        label_set_of={n: s for n, s in meta.variable_to_label.items() if s in meta.value_labels},
        missing=dict(meta.missing_ranges) or dict(meta_read.missing_ranges),
        measures=dict(meta.variable_measure),
        display_widths=dict(meta.variable_display_width),
        title=meta.file_label or "",
        notes=tuple(meta.notes or ()),
        table_name=meta.table_name or "",
        compression=int.from_bytes(head[72:76], "little" if head[64] in (2, 3) else "big")
        if kind == "spss"
        else 1,
        version=5 if kind == "xport" and b"LIBV8" not in head[:80] else 8,
    )


def _column(
    name: str,
    values: Sequence[object],
    meta: Any,
    kind: str,
) -> tuple[Column, Spelling]:
    text = meta.readstat_variable_types[name] == "string"
    marked = text or name in meta.missing_user_values
    places, distinct = pd.factorize(np.array(values, object if marked else float))
    found = list(distinct)
    scale = None if text else scale_of(kind, meta.original_variable_types.get(name) or "")
    ranges = meta.missing_ranges.get(name, [])
    declared = [_in_ranges(value, ranges) for value in found]
    if text:
        texts = [str(value) for value in found]
        dtype = "text"
    else:
        single = meta.readstat_variable_types[name] == "float"
        texts, dtype = _numbers(found, declared, scale, single)
    kinds, placed, spelling = encoded(texts, places)
    labels = {
        _label_key(v, text, scale, dtype): str(t) for v, t in meta.variable_value_labels.get(name, {}).items()
    }
    missing = frozenset(t.strip() for t, hit in zip(texts, declared, strict=True) if hit and t.strip())
    if not text and kind in ("stata", "sas"):
        missing = frozenset(t for t, value in zip(texts, found, strict=True) if isinstance(value, str))
    label = meta.column_names_to_labels.get(name) or ""
    return Column(name, kinds, placed, label, labels, missing, dtype), spelling


def _in_ranges(value: object, ranges: Sequence[Mapping[str, float | str]]) -> bool:
    """Whether SPSS declares this value to be missing."""
    if isinstance(value, str):
        return any(str(part["lo"]).strip() == value.strip() for part in ranges)
    return any(
        not isinstance(part["lo"], str) and part["lo"] <= value <= part["hi"]  # type: ignore[operator]
        for part in ranges
    )


def _numbers(
    values: Sequence[object], declared: Sequence[bool], scale: Scale | None, single: bool
) -> tuple[list[str], str]:
    """The texts of a column of numbers, and what they are.

    A missing answer of Stata or SAS is ``.a``, and one that SPSS declares is a number even among dates.
    """
    plain = [not isinstance(v, str) and not d for v, d in zip(values, declared, strict=True)]
    texts = [f".{v}" if isinstance(v, str) else _number(v, single) for v in values]
    if scale is None:
        whole = all(re.fullmatch(r"-?\d+|\..", text) for text in texts)
        return texts, "integer" if whole and values else "number"
    dates = iter(scale.texts([v for v, p in zip(values, plain, strict=True) if p]))  # type: ignore[misc]
    texts = [next(dates) if p else t for t, p in zip(texts, plain, strict=True)]
    return texts, "datetime" if any("T" in text for text in texts) else "date"


def _number(value: object, single: bool) -> str:
    return number_text(np.float32(value) if single else value)  # type: ignore[arg-type]


def _label_key(value: object, text: bool, scale: Scale | None, dtype: str) -> str:
    if text:
        return str(value).strip()
    if isinstance(value, str):
        return f".{value}"
    return number_text(value)


def write_labelled(path: Path, columns: Sequence[Column | None], rows: int, form: LabelledForm) -> None:
    """Write columns (None: blank) for SPSS, Stata or SAS; see :func:`modp.files.write.write`.

    Storage types, formats, labels and declared missing values are the input's. What pyreadstat cannot
    write is left out: alignment and multiple response sets of SPSS, and in SAS transport files the
    difference between ``.`` and ``.A`` … ``.Z``. Stata files are written for Stata 14 and later, without
    notes and characteristics. Texts are in UTF-8.
    """
    suffix = written_ending(form).lower()
    if suffix == ".dta":
        write_stata(path, columns, rows, form)
    elif suffix == ".xpt":
        _write_sas(path, columns, rows, form)
    else:
        _write_spss(path, columns, rows, form)


def _write_spss(path: Path, columns: Sequence[Column | None], rows: int, form: LabelledForm) -> None:
    import pyreadstat

    texts = {name for name in form.names if form.types[name] == "string"}
    labels = {name: dict(form.label_sets[at]) for name, at in form.label_set_of.items()}
    whole = form.compression == 2 or form.ending.lower() == ".zsav"
    _written_by(
        pyreadstat.write_sav,
        _frame(columns, rows, form, "spss", path),
        path,
        form,
        note=list(form.notes) or None,
        compress=whole,
        row_compress=form.compression == 1 and not whole,
        variable_value_labels=labels,
        missing_ranges={
            name: [part["lo"] if name in texts or part["lo"] == part["hi"] else dict(part) for part in ranges]
            for name, ranges in form.missing.items()
        },
        variable_display_width=dict(form.display_widths),
        variable_measure=dict(form.measures),
        variable_format={name: shown for name, shown in form.formats.items() if name not in texts},
    )
    with path.open("r+b") as file:  # the time of writing would make each file another
        file.seek(92)
        file.write(EARLIEST_SPSS)


def _write_sas(path: Path, columns: Sequence[Column | None], rows: int, form: LabelledForm) -> None:
    import pyreadstat

    _written_by(
        pyreadstat.write_xport,
        _frame(columns, rows, form, "sas", path),
        path,
        form,
        table_name=form.table_name or None,
        file_format_version=form.version,
        variable_format=dict(form.formats),
    )
    with path.open("r+b") as file:  # the time of writing would make each file another
        head = file.read(1200)
        for match in SAS_TIME.finditer(head):
            file.seek(match.start())
            file.write(b"01JAN60:00:00:00")


def _written_by(  # type: ignore[no-untyped-def]
    write, frame: pd.DataFrame, path: Path, form: LabelledForm, **more: object
) -> None:
    import pyreadstat

    try:
        write(frame, str(path), file_label=form.title, column_labels=dict(form.labels), **more)
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError) as failure:
        raise InputError(f"{path} cannot be written: {failure}") from None


def _frame(
    columns: Sequence[Column | None], rows: int, form: LabelledForm, kind: str, path: Path
) -> pd.DataFrame:
    arrays = {
        name: _words(column, rows, name, form)
        if form.types[name] == "string"
        else _values(column, rows, scale_of(kind, form.formats.get(name, "")), name, path)
        for name, column in zip(form.names, columns, strict=True)
    }
    return pd.DataFrame(arrays)


def _words(column: Column | None, rows: int, name: str, form: LabelledForm) -> pd.Series:
    if column is None:
        texts = np.full(rows, "", object)
    else:
        spelling = form.spelling.get(name, Spelling())
        texts = taken(spelt(column.kinds, spelling), column.places, spelling.blank)
    if rows:  # the longest text sets the column's width; blanks at the end do not count as text
        short = form.widths.get(name, 1) - len(texts[0].encode())
        texts[0] += " " * max(short, 0)
    return pd.Series(texts, dtype=object)


def _values(column: Column | None, rows: int, scale: Scale | None, name: str, path: Path) -> np.ndarray:
    if column is None:
        return np.full(rows, np.nan)
    values = np.full(len(column.kinds) + 1, np.nan)
    for at, kind in enumerate(column.kinds):
        if kind in column.missing and kind.startswith("."):
            continue  # SAS's special missing values
        try:
            values[at] = scale.number(kind) if scale else float(kind)
        except ValueError:
            raise InputError(f"{path}: {name} holds numbers; {kind!r} cannot be written there") from None
    return values[column.places]
