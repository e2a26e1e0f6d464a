"""Between pandas' data frames and tables of answers as text."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date, datetime, time
from decimal import Decimal

import numpy as np
import pandas as pd
from pandas.api import types

from modp.base.errors import InputError
from modp.files.delimited import unique_names
from modp.files.kinds import AROUND, encoded, number_text, taken, texts_of, told_apart, trimmed
from modp.files.table import BLANK, Column, Table

WHERE = "the data frame"
MAKERS: Mapping[type, Callable[[str], object]] = {
    bool: lambda text: _truth(text),
    int: int,
    float: float,
    Decimal: Decimal,
    date: date.fromisoformat,
    datetime: datetime.fromisoformat,
    time: time.fromisoformat,
    pd.Timestamp: pd.Timestamp,
    str: str,
}
"""How an answer becomes a value of a column of objects."""


def table_of(frame: pd.DataFrame) -> Table:
    """Return the answers of a data frame of n rows; its index is left aside.

    Raises
    ------
    InputError
        if it is no frame, has no columns, or one holds what is no single value, such as lists
    """
    if not isinstance(frame, pd.DataFrame):
        raise InputError(f"a pandas data frame is wanted, not a {type(frame).__name__}")
    if not frame.shape[1]:
        raise InputError(f"{WHERE} has no columns")
    names, said = _names(frame)
    return Table(tuple(_column(name, frame.iloc[:, at]) for at, name in enumerate(names)), tuple(said))


def _names(frame: pd.DataFrame) -> tuple[list[str], list[str]]:
    return unique_names([str(name) for name in frame.columns], WHERE)


def _column(name: str, series: pd.Series) -> Column:
    if isinstance(series.dtype, pd.CategoricalDtype):
        codes, categories = series.cat.codes.to_numpy(), series.cat.categories
        used = np.isin(np.arange(len(categories)), codes)
        places = np.append(np.cumsum(used) - 1, BLANK)[codes]
        texts, _ = _texts(categories[used])
        dtype = "category"
    else:
        places, distinct = _distinct(series, name)
        texts, dtype = _texts(distinct)
    kinds, placed, _ = encoded(texts, places)
    return Column(name, kinds, placed, dtype=dtype)


def _distinct(series: pd.Series, name: str) -> tuple[np.ndarray, pd.Index]:
    """The place of each row's value among the different ones, and these."""
    if not _of_objects(series.dtype):
        return series.factorize()
    missing = series.isna().to_numpy()
    try:
        places, distinct = told_apart([None if m else v for v, m in zip(series, missing, strict=True)])
    except TypeError as failure:
        raise InputError(f"{WHERE}: {name} holds values that are none by themselves ({failure})") from None
    return places, pd.Index(distinct, dtype=object)


def _of_objects(dtype: object) -> bool:
    """Whether the column's values are any objects of Python (or of a type that no other way is for)."""
    numeric = types.is_bool_dtype(dtype) or (
        types.is_numeric_dtype(dtype) and not types.is_complex_dtype(dtype)
    )
    return not (numeric or isinstance(dtype, pd.StringDtype) or _of_times(dtype))


def _of_times(dtype: object) -> bool:
    return isinstance(dtype, pd.DatetimeTZDtype) or (isinstance(dtype, np.dtype) and dtype.kind in "mM")


def _texts(values: pd.Index) -> tuple[list[str], str]:
    """The texts of different values, none missing, and what they are."""
    dtype = values.dtype
    if types.is_bool_dtype(dtype):
        return [str(bool(value)) for value in values], "boolean"
    if types.is_integer_dtype(dtype):
        return [str(int(value)) for value in values], "integer"
    if types.is_float_dtype(dtype):
        known = values.to_numpy()
        return [number_text(v if known.dtype == np.float32 else float(v)) for v in known], "number"
    if _of_times(dtype):
        return _texts_of_times(values)
    return texts_of(list(values))


def _texts_of_times(values: pd.Index) -> tuple[list[str], str]:
    if isinstance(values, pd.TimedeltaIndex):
        return [str(value) for value in values.asi8], "integer"
    assert isinstance(values, pd.DatetimeIndex)
    local = values.tz_localize(None)
    texts = np.datetime_as_string(local.to_numpy()).tolist()
    if (local == local.normalize()).all():
        return [text.partition("T")[0] for text in texts], "date"
    return [trimmed(text) for text in texts], "datetime"


def frame_of(table: Table, like: pd.DataFrame) -> pd.DataFrame:
    """Return a table of n rows as a data frame that looks like another.

    Parameters
    ----------
    table : columns that ``like`` has, as :func:`table_of` names them
    like : the frame whose columns, their order and types, spelling of texts and sort of blank are taken

    Returns
    -------
    a frame of n rows and all columns of ``like``. One that the table lacks is blank; where a type has no
    blank (``int64``, ``bool``) and one is needed, the column is of pandas' type of that name that has
    (``Int64``, ``boolean``). A category that is not among those of ``like`` is added as the last.

    Raises
    ------
    InputError
        if the table has a column that ``like`` lacks, or an answer that the column's type cannot hold
    """
    names, _ = _names(like)
    unknown = sorted(set(table.names) - set(names))
    if unknown:
        raise InputError(f"{WHERE} has no column {', '.join(unknown)}")
    by_name = {column.name: column for column in table.columns}
    blank = np.full(len(table), BLANK, np.int32)
    made = [
        _series(by_name.get(name, Column(name, np.array([], object), blank)), like.iloc[:, at])
        for at, name in enumerate(names)
    ]
    frame = pd.DataFrame(dict(enumerate(made)), index=pd.RangeIndex(len(table)))
    frame.columns = like.columns
    return frame


def _series(column: Column, like: pd.Series) -> pd.Series:
    try:
        if isinstance(like.dtype, pd.CategoricalDtype):
            return _categorical(column, like.dtype)
        if _of_objects(like.dtype) or isinstance(like.dtype, pd.StringDtype):
            return _objects(column, like)
        values = _values(column.kinds, like.dtype)
    except (ValueError, ArithmeticError, TypeError) as failure:
        raise InputError(f"{WHERE}: {column.name} is of type {like.dtype}: {failure}") from None
    blank = bool((column.places == BLANK).any())
    if blank and isinstance(like.dtype, np.dtype) and like.dtype.kind in "iub":
        return pd.Series(pd.array(values.to_numpy()).take(column.places, allow_fill=True))
    return pd.Series(values.array.take(column.places, allow_fill=blank), dtype=like.dtype)


def _values(kinds: np.ndarray, dtype: object) -> pd.Series:
    """The values of answers (m,), of a type of numbers, truth values or times."""
    if types.is_bool_dtype(dtype):
        return pd.Series([_truth(kind) for kind in kinds], dtype=dtype)
    if types.is_integer_dtype(dtype):
        return pd.Series([int(kind) for kind in kinds], dtype=dtype)
    if types.is_float_dtype(dtype):
        return pd.Series([float(kind) for kind in kinds], dtype=dtype)
    if isinstance(dtype, np.dtype) and dtype.kind == "m":
        return pd.Series(np.array([int(kind) for kind in kinds], np.int64).view(dtype))
    assert isinstance(dtype, np.dtype | pd.DatetimeTZDtype)
    unit = np.datetime_data(dtype)[0] if isinstance(dtype, np.dtype) else dtype.unit
    moments = pd.Series(np.array(list(kinds), f"M8[{unit}]"))
    if isinstance(dtype, np.dtype):
        return moments
    early = np.ones(len(moments), bool)  # of an hour that comes twice, the first
    return moments.dt.tz_localize(dtype.tz, ambiguous=early, nonexistent="shift_forward").astype(dtype)


def _truth(text: str) -> bool:
    if text not in ("True", "False"):
        raise ValueError(f"{text!r} is neither True nor False")
    return text == "True"


def _categorical(column: Column, dtype: pd.CategoricalDtype) -> pd.Series:
    values = _series(replace(column, places=np.arange(len(column.kinds))), pd.Series(dtype.categories))
    categories = dtype.categories.append(pd.Index(values[~values.isin(dtype.categories)]))
    codes = np.append(categories.get_indexer(pd.Index(values)), BLANK)[column.places]
    return pd.Series(
        pd.Categorical.from_codes(codes, categories.astype(dtype.categories.dtype), dtype.ordered)
    )


def _objects(column: Column, like: pd.Series) -> pd.Series:
    """Answers as the values that ``like`` has for them; others become values of its usual type."""
    places, distinct = _distinct(like, column.name)
    missing = places == BLANK
    counts = np.bincount(places[~missing], minlength=len(distinct))
    texts = _texts(distinct)[0]
    seen: dict[str, object] = {}
    for at in np.argsort(-counts, kind="stable"):  # of several spellings the most frequent
        seen.setdefault(texts[at].strip(AROUND), distinct[at])
    empty = sum(count for count, text in zip(counts, texts, strict=True) if not text.strip(AROUND))
    blank = like[missing].iloc[0] if missing.any() else None
    if empty > missing.sum():
        blank = seen[""]
    usual = type(distinct[int(counts.argmax())]) if len(distinct) else str
    values = [seen[kind] if kind in seen else MAKERS.get(usual, usual)(kind) for kind in column.kinds]
    return pd.Series(taken(values, column.places, blank), dtype=like.dtype)
