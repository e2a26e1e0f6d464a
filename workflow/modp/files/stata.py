"""Writing Stata's .dta, format 118 (Stata 14 and later), described in Stata's ``help dta``.

pyreadstat's writer stores every whole number in four bytes, and pandas' knows no missing values
but ``.``; here storage types, extended missing values (``.a`` … ``.z``) and the names of value labels stay.
"""

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from modp.base.errors import InputError
from modp.files.form import LabelledForm, Spelling
from modp.files.kinds import spelt
from modp.files.moments import Scale, scale_of
from modp.files.table import BLANK, Column

CODES = {"int8": 65530, "int16": 65529, "int32": 65528, "float": 65527, "double": 65526}
STRL = 32768
LONGEST = 2045
"""Bytes of a text that is not a strL."""
WHOLE = {"int8": (-127, 100), "int16": (-32767, 32740), "int32": (-2147483647, 2147483620)}
FLOATS = {
    "float": (np.uint32, 0x7F000000, 0x800),
    "double": (np.uint64, 0x7FE0000000000000, 0x10000000000),
}
"""The bits of ``.``, and what ``.a``, ``.b`` … add each."""
VALUE_LABEL_DOT = WHOLE["int32"][1] + 1


def write_stata(path: Path, columns: Sequence[Column | None], rows: int, form: LabelledForm) -> None:
    """Write columns (None: blank) as a Stata file; see :func:`modp.files.write.write`."""
    if len(form.names) > np.iinfo(np.uint16).max:
        raise InputError(f"{path}: Stata's format takes at most 65,535 columns")
    long_texts = _LongTexts()
    stored = [
        _text(column, rows, name, at + 1, form, long_texts)
        if form.types[name] == "string"
        else _numbers(column, rows, name, form, str(path))
        for at, (name, column) in enumerate(zip(form.names, columns, strict=True))
    ]
    record = np.dtype([(str(at), array.dtype) for at, (_, array) in enumerate(stored)])
    data = np.empty(rows, record)
    for at, (_, array) in enumerate(stored):
        data[str(at)] = array
    names = form.names
    used = {form.label_set_of.get(name, "") for name in names} - {""}
    parts = [
        (b"variable_types", b"".join(struct.pack("<H", code) for code, _ in stored)),
        (b"varnames", b"".join(_fixed(name, 129) for name in names)),
        (b"sortlist", bytes(2 * (len(names) + 1))),
        (b"formats", b"".join(_fixed(form.formats.get(name) or "%9.0g", 57) for name in names)),
        (b"value_label_names", b"".join(_fixed(form.label_set_of.get(name, ""), 129) for name in names)),
        (b"variable_labels", b"".join(_fixed(form.labels.get(name, ""), 321) for name in names)),
        (b"characteristics", b""),
        (b"data", data.tobytes()),
        (b"strls", long_texts.content),
        (
            b"value_labels",
            b"".join(_label_set(name, form.label_sets[name]) for name in form.label_sets if name in used),
        ),
    ]
    path.write_bytes(_file(parts, len(names), rows, form.title))


def _file(parts: Sequence[tuple[bytes, bytes]], width: int, rows: int, title: str) -> bytes:
    said = title.encode()[:320]
    header = (
        b"<stata_dta><header><release>118</release><byteorder>LSF</byteorder><K>"
        + struct.pack("<H", width)
        + b"</K><N>"
        + struct.pack("<Q", rows)
        + b"</N><label>"
        + struct.pack("<H", len(said))
        + said
        + b"</label><timestamp>\0</timestamp></header>"
    )
    places = [0, len(header)]
    at = len(header) + len(b"<map></map>") + 14 * 8
    pieces = []
    for tag, content in parts:
        places.append(at)
        pieces.append(b"<%b>%b</%b>" % (tag, content, tag))
        at += len(pieces[-1])
    places += [at, at + len(b"</stata_dta>")]
    return header + b"<map>" + struct.pack("<14Q", *places) + b"</map>" + b"".join(pieces) + b"</stata_dta>"


def _fixed(text: str, size: int) -> bytes:
    content = text.encode()[: size - 1].decode("utf-8", "ignore").encode()
    return content.ljust(size, b"\0")


def missing_rank(kind: object) -> int | None:
    """Return 1 … 26 for the extended missing values ``.a`` … ``.z``, None for any other answer."""
    text = str(kind)
    return ord(text[1]) - 96 if len(text) == 2 and text[0] == "." and "a" <= text[1] <= "z" else None


def _numbers(
    column: Column | None, rows: int, name: str, form: LabelledForm, where: str
) -> tuple[int, np.ndarray]:
    kinds = column.kinds if column is not None else np.array([], object)
    places = column.places if column is not None else np.full(rows, BLANK)
    ranks = np.array([missing_rank(kind) or 0 for kind in kinds] + [0])
    scale = scale_of("stata", form.formats.get(name, ""))
    values = np.array(
        [0.0 if r else _number(k, scale, name, where) for k, r in zip(kinds, ranks[:-1], strict=True)]
    )
    absent = np.append(ranks[:-1] > 0, True)
    values = np.append(values, 0.0)
    kind = _storage(values[~absent], form.types[name])
    if kind in WHOLE:
        pool = values.astype(np.int64)
        pool[absent] = WHOLE[kind][1] + 1 + ranks[absent]
        return CODES[kind], pool.astype(f"<{np.dtype(kind).str[1:]}")[places]
    bits, dot, step = FLOATS[kind]
    numbers = values.astype(np.float32 if kind == "float" else np.float64)
    pool = numbers.view(bits)
    pool[absent] = (dot + ranks[absent].astype(np.uint64) * np.uint64(step)).astype(bits)
    return CODES[kind], pool.astype(np.dtype(bits).newbyteorder("<"))[places]


def _number(kind: str, scale: Scale | None, name: str, where: str) -> float:
    try:
        return scale.number(kind) if scale else float(kind)
    except ValueError:
        raise InputError(f"{where}: {name} holds numbers; {kind!r} cannot be written there") from None


def _storage(values: np.ndarray, kind: str) -> str:
    """The input's storage type, or the next that holds these values."""
    whole = bool((values == np.rint(values)).all())
    for wider in ("int8", "int16", "int32"):
        lowest, highest = WHOLE[wider]
        fits = whole and bool(((values >= lowest) & (values <= highest)).all())
        if kind == wider:
            if fits:
                return wider
            kind = {"int8": "int16", "int16": "int32", "int32": "double"}[wider]
    return kind if kind == "float" else "double"


class _LongTexts:
    """Texts that stand behind the data (strL), each with the place of its first use."""

    def __init__(self) -> None:
        self.content = b""

    def add(self, text: str, variable: int, observation: int) -> int:
        """Keep a text and return the eight bytes that stand for it in the data."""
        content = text.encode() + b"\0"
        self.content += b"GSO" + struct.pack("<IQBI", variable, observation, 130, len(content)) + content
        return variable | observation << 16


def _text(
    column: Column | None, rows: int, name: str, variable: int, form: LabelledForm, long_texts: _LongTexts
) -> tuple[int, np.ndarray]:
    kinds = column.kinds if column is not None else np.array([], object)
    places = column.places if column is not None else np.full(rows, BLANK)
    spelling = form.spelling.get(name, Spelling())
    texts = [text.encode() for text in [*spelt(kinds, spelling), spelling.blank]]
    width = max([form.widths.get(name, 1), 1, *(len(text) for text in texts)])
    if width <= LONGEST:
        return width, np.array(texts, f"S{width}")[places]
    first = np.full(len(kinds) + 1, -1)
    first[places[::-1]] = np.arange(rows)[::-1]
    pool = [
        long_texts.add(text.decode(), variable, int(row) + 1) if row >= 0 and text else 0
        for text, row in zip(texts, first, strict=True)
    ]
    return STRL, np.array(pool, "<u8")[places]


def _label_set(name: str, labels: Mapping[float | str, str]) -> bytes:
    codes = [
        VALUE_LABEL_DOT + (missing_rank(f".{value}") or 0) if isinstance(value, str) else int(value)
        for value in labels
    ]
    texts = [label.encode()[:32000] + b"\0" for label in labels.values()]
    starts = np.cumsum([0, *(len(text) for text in texts)])[:-1]
    table = struct.pack("<II", len(texts), sum(map(len, texts)))
    table += np.array(starts, "<i4").tobytes() + np.array(codes, "<i4").tobytes() + b"".join(texts)
    return b"<lbl>" + struct.pack("<I", len(table)) + _fixed(name, 129) + b"\0\0\0" + table + b"</lbl>"
