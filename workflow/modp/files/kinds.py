"""Between a file's values and the texts of a column's answers."""

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime, time

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from modp.base.errors import InputError
from modp.base.rows import row_groups
from modp.files.form import Spelling
from modp.files.table import BLANK, Column

AROUND = " \t"
"""What around an answer does not make it another one."""
DECIMAL = re.compile(r"[-+]?\d*\.\d+([eE][-+]?\d+)?")
COMMA = re.compile(r"[-+]?\d*,\d+([eE][-+]?\d+)?")
WHOLE = re.compile(r"[-+]?\d+")


def encoded(
    texts: Sequence[str], places: np.ndarray, into: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, Spelling]:
    """Make of texts the kinds of answers: blanks around them gone, the same ones together, empty ones out.

    Parameters
    ----------
    texts : m texts, some of which may be the same or empty
    places : (n,) integers, the index of each row's text, or ``BLANK``
    into : int32 (n,), to write the new places into; may be ``places``

    Returns
    -------
    kinds : objects (at most m,)
    places : int32 (n,), into ``kinds``
    spelling : how the file writes them: of two spellings of one answer the more frequent one
    """
    raw = np.array(list(texts), object)
    bare = np.array([text.strip(AROUND) for text in raw], object)
    to, kinds = pd.factorize(bare)
    kinds = np.asarray(kinds, object)
    counts = np.zeros(len(raw) + 1, np.int64)
    for at in row_groups(len(places)):
        counts += np.bincount(places[at] + 1, minlength=len(counts))
    spelling = _spelling(raw, bare, counts[1:])
    empty = np.flatnonzero(kinds == "")
    if len(empty):
        to = np.where(to == empty[0], BLANK, to - (to > empty[0]))
        kinds = np.delete(kinds, empty[0])
    to, placed = np.append(to, BLANK), np.empty(len(places), np.int32) if into is None else into
    for at in row_groups(len(places)):
        placed[at] = to[places[at]]
    return kinds, placed, spelling


def _spelling(raw: np.ndarray, bare: np.ndarray, counts: np.ndarray) -> Spelling:
    different = np.flatnonzero(raw != bare)
    if not len(different):
        return Spelling()
    concerned = set(bare[different])
    best: dict[str, tuple[int, str]] = {}
    for text, kind, count in zip(raw, bare, counts, strict=True):
        if kind in concerned and count > best.get(kind, (-1, ""))[0]:
            best[kind] = (int(count), text)
    texts = {kind: text for kind, (_, text) in best.items() if text != kind}
    filled = [text for text, kind in zip(raw, bare, strict=True) if kind]
    lengths, left = {len(text) for text in filled}, all(text == text.rstrip(AROUND) for text in filled)
    right = all(text == text.lstrip(AROUND) for text in filled)
    same = len(lengths) == 1 and (left or right)
    blank = texts.pop("", "")
    return Spelling({} if same else texts, blank, lengths.pop() if same else 0, left and same)


def spelt(kinds: np.ndarray, spelling: Spelling) -> list[str]:
    """Return the texts that a file writes for these answers."""
    texts = [spelling.texts.get(kind, kind) for kind in kinds]
    if spelling.comma:
        texts = [t.replace(".", ",") if DECIMAL.fullmatch(t.strip(AROUND)) else t for t in texts]
    if spelling.width:
        fill = str.rjust if spelling.left else str.ljust
        texts = [fill(text, spelling.width) for text in texts]
    return texts


def has_decimal_commas(kinds: np.ndarray, counts: np.ndarray) -> bool:
    """Whether these answers are numbers with a decimal comma, words for missing ones among them.

    Parameters
    ----------
    kinds, counts : m texts, and how often each occurs

    Returns
    -------
    True if some are like ``12,5``, none is like ``12.5`` or ``1,2,3``, and at least half of the rows
    hold numbers
    """
    commas = np.array([COMMA.fullmatch(kind) is not None for kind in kinds], bool)
    if not commas.any():
        return False
    if any(DECIMAL.fullmatch(kind) or (kind.count(",") > 1 and kind[0].isdigit()) for kind in kinds):
        return False
    numbers = commas | np.array([WHOLE.fullmatch(kind) is not None for kind in kinds], bool)
    return 2 * int(counts[numbers].sum()) >= int(counts.sum())


def column_of_values(
    name: str,
    values: pa.ChunkedArray,
    text: Callable[[object], str],
    dtype: str,
    into: np.ndarray,
) -> tuple[Column, Spelling]:
    """Make a column of an Arrow array of any simple type.

    Parameters
    ----------
    text : writes a value
    into : as of :func:`encoded`
    """
    if not len(values):  # Arrow makes no empty array of some dictionaries
        return Column(name, np.array([], object), np.array([], np.int32), dtype=dtype), Spelling()
    array = values.dictionary_encode().unify_dictionaries().combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = array.chunk(0)
    places = pc.fill_null(array.indices.cast(pa.int32()), BLANK).to_numpy(zero_copy_only=False)
    found = array.dictionary.to_pylist()
    if any(value is None for value in found):
        lost = np.array([value is None for value in found] + [True])
        places = np.where(lost[places], BLANK, places)
    kinds, places, spelling = encoded(["" if v is None else text(v) for v in found], places, into)
    return Column(name, kinds, places, dtype=dtype), spelling


def number_text(value: object) -> str:
    """Write a number shortest: ``33``, ``12.5``."""
    if isinstance(value, int):
        return str(value)
    if isinstance(value, np.float32):
        return str(int(value)) if value.is_integer() and abs(value) < 1e7 else str(value)
    number = float(value)  # type: ignore[arg-type]
    return str(int(number)) if number.is_integer() and abs(number) < 1e16 else repr(number)


def trimmed(text: str) -> str:
    """Return a text of a number or of a time of day without the zeros at its end."""
    return text.rstrip("0").rstrip(".") if "." in text else text


def value_text(value: object) -> str:
    """Write a value of Python: ``33``, ``12.5``, ``True``, ``2021-03-31``, ``2021-03-31T12:30:00``."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool | str):
        return str(value)
    if isinstance(value, int | float):
        return number_text(value)
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat()
    return value.isoformat() if isinstance(value, date | time) else str(value)


def told_apart(values: Sequence[object]) -> tuple[np.ndarray, list[object]]:
    """Return the place of each of n values (n,) among the different ones, or ``BLANK`` for None, and these.

    ``1``, ``1.0``, ``True`` and ``"1"`` are four.
    """
    marked = [None if value is None else (type(value), value) for value in values]
    places, distinct = pd.factorize(np.array([*marked, None], object))  # one None, lest it become a matrix
    return places[:-1], [value for _, value in distinct]


def texts_of(values: Sequence[object]) -> tuple[list[str], str]:
    """Return the texts of the different values of a column, and its ``Column.dtype``."""
    types = {type(value) for value in values}
    texts = [value_text(value) for value in values]
    if types == {bool}:
        return texts, "boolean"
    if types and types <= {int, float}:
        return texts, "integer" if not any("." in t or "e" in t or "n" in t for t in texts) else "number"
    if types and all(issubclass(kind, date) for kind in types):
        if not any("T" in text for text in texts):
            return texts, "date"
        return [text if "T" in text else f"{text}T00:00:00" for text in texts], "datetime"
    return texts, "text"


def numbers(kinds: Iterable[str], column: str, where: str) -> np.ndarray:
    """Return answers as float64 (m,); raise InputError if one is not a number."""
    values = []
    for kind in kinds:
        try:
            values.append(float(kind))
        except ValueError:
            raise InputError(f"{where}: {column} holds numbers; {kind!r} cannot be written there") from None
    return np.array(values, float)


def taken(values: Sequence[object], places: np.ndarray, blank: object) -> np.ndarray:
    """Return the value of each row, objects (n,), from those of the kinds and of a blank."""
    pool = np.empty(len(values) + 1, object)
    pool[:-1] = values
    pool[-1] = blank
    return pool[places]
