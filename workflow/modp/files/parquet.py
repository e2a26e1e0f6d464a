"""Reading and writing Parquet files."""

import json
from collections.abc import Callable, Collection, Sequence
from datetime import date, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from modp.base.errors import InputError
from modp.base.rows import column_rooms
from modp.files.content import ending, honest_ending
from modp.files.delimited import unique_names
from modp.files.form import ParquetForm, Spelling
from modp.files.kinds import column_of_values, number_text, numbers, spelt, trimmed
from modp.files.table import BLANK, Column, Table


def read_parquet(path: Path, columns: Collection[str] | None, said: list[str]) -> tuple[Table, ParquetForm]:
    """Read a Parquet file; see :func:`modp.files.read.read`."""
    try:
        file = pq.ParquetFile(path)
        schema = file.schema_arrow
        names, odd = unique_names(schema.names, str(path))
        simple = [at for at in range(len(names)) if not pa.types.is_nested(schema.field(at).type)]
        wanted = [at for at in simple if columns is None or names[at] in columns]
        whole = file.read() if len(set(schema.names)) < len(names) else None
    except (pa.ArrowException, OSError) as failure:
        raise _damaged(path, failure) from None
    made, spelling, categories, empty = [], {}, {}, list[str]()
    rooms = column_rooms(file.metadata.num_rows, len(wanted))
    for at, into in zip(wanted, rooms, strict=True):
        try:
            array = whole.column(at) if whole else file.read([schema.names[at]]).column(0)
        except (pa.ArrowException, OSError) as failure:
            raise _damaged(path, failure) from None
        if pa.types.is_dictionary(array.type):
            array = array.unify_dictionaries()
            if array.num_chunks:
                categories[names[at]] = array.chunk(0).dictionary
        column, spelled = _column(names[at], array, into)
        if not array.null_count and (column.places == BLANK).any() and column.dtype == "text":
            empty.append(names[at])
        made.append(column)
        if spelled != Spelling():
            spelling[names[at]] = spelled
    for at in sorted(set(range(len(names))) - set(simple)):
        odd.append(f"{path}: {names[at]} is of type {schema.field(at).type} and is left out")
    groups = file.metadata.num_row_groups and file.metadata.num_columns
    compression = file.metadata.row_group(0).column(0).compression if groups else "SNAPPY"
    form = ParquetForm(
        honest_ending(ending(path), "parquet"),
        tuple(names),
        tuple(schema.names),
        spelling,
        schema=schema,
        compression="none" if compression == "UNCOMPRESSED" else compression.lower(),
        categories=categories,
        empty=frozenset(empty),
    )
    return Table(tuple(made), (*said, *odd)), form


def _damaged(path: Path, failure: Exception) -> InputError:
    return InputError(f"{path} cannot be read as Parquet: {failure}; it may be cut short")


def _column(name: str, array: pa.ChunkedArray, into: np.ndarray) -> tuple[Column, Spelling]:
    kind = array.type
    if pa.types.is_dictionary(kind):
        values, text, _ = _readable(array.cast(kind.value_type))
        return column_of_values(name, values, text, "category", into)
    values, text, dtype = _readable(array)
    return column_of_values(name, values, text, dtype, into)


def _readable(array: pa.ChunkedArray) -> tuple[pa.ChunkedArray, Callable[[object], str], str]:
    """The values as what Arrow can tell apart, how one is written, and what they are."""
    kind = array.type
    if pa.types.is_boolean(kind):
        return array, str, "boolean"
    if pa.types.is_integer(kind):
        return array, str, "integer"
    if pa.types.is_floating(kind):
        single = not pa.types.is_float64(kind)
        array = array.cast(pa.float32() if single else kind)
        array = pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array)
        return array, (lambda v: number_text(np.float32(v))) if single else number_text, "number"
    if pa.types.is_decimal(kind):
        return array.cast(pa.string()), lambda v: trimmed(str(v)), "number"
    if pa.types.is_date(kind):
        return array, _iso, "date"
    if pa.types.is_timestamp(kind):
        array = pc.local_timestamp(array) if kind.tz else array
        if pc.all(pc.equal(array, pc.floor_temporal(array, unit="day")), min_count=0).as_py():
            return array.cast(pa.timestamp(kind.unit)).cast(pa.date32(), safe=False), _iso, "date"
        return array.cast(pa.int64()), lambda v: trimmed(str(np.datetime64(v, kind.unit))), "datetime"
    if pa.types.is_duration(kind):
        return array.cast(pa.int64()), str, "integer"
    if pa.types.is_null(kind):
        return array.cast(pa.string()), str, "text"
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return array, lambda v: v.decode("utf-8", "replace"), "text"
    if pa.types.is_time(kind):
        return array.cast(pa.string()), lambda v: trimmed(str(v)), "text"
    return array.cast(pa.string()), str, "text"


def _iso(value: object) -> str:
    assert isinstance(value, date)
    return value.isoformat()


def write_parquet(path: Path, columns: Sequence[Column | None], rows: int, form: ParquetForm) -> None:
    """Write columns (None: blank) as a Parquet file; see :func:`modp.files.write.write`."""
    arrays, fields = [], []
    for field, column in zip(form.schema, columns, strict=True):
        array = pa.nulls(rows, field.type) if column is None else _array(column, field.type, form, path)
        arrays.append(array)
        fields.append(field.with_nullable(field.nullable or array.null_count > 0))
    schema = pa.schema(fields, _with_rows(form.schema.metadata, rows))
    pq.write_table(pa.Table.from_arrays(arrays, schema=schema), path, compression=form.compression)


def _with_rows(metadata: dict[bytes, bytes] | None, rows: int) -> dict[bytes, bytes] | None:
    """The schema's remarks, in which pandas counts the rows of a plain index."""
    if not metadata or b"pandas" not in metadata:
        return metadata
    remarks = json.loads(metadata[b"pandas"])
    for index in remarks.get("index_columns", []):
        if isinstance(index, dict) and index.get("kind") == "range":
            index["stop"] = index["start"] + rows * index["step"]
    return {**metadata, b"pandas": json.dumps(remarks).encode()}


def _array(column: Column, kind: pa.DataType, form: ParquetForm, where: Path) -> pa.Array:
    places = pa.array(column.places, mask=column.places == BLANK)
    if pa.types.is_dictionary(kind):
        listed = form.categories.get(column.name, pa.array([], kind.value_type))
        values = _values(column, kind.value_type, form, where)
        new = values.filter(pc.invert(pc.is_in(values, listed.cast(values.type))))
        listed = pa.concat_arrays([listed.cast(values.type), new])
        to = pc.index_in(values, listed)
        indices = pc.take(to, places).cast(kind.index_type)
        return pa.DictionaryArray.from_arrays(indices, listed, ordered=kind.ordered)
    plain = pa.string() if pa.types.is_string_view(kind) else kind  # Arrow takes nothing from a view
    array = pc.take(_values(column, plain, form, where), places)
    return (pc.fill_null(array, "") if column.name in form.empty else array).cast(kind)


def _values(column: Column, kind: pa.DataType, form: ParquetForm, where: Path) -> pa.Array:
    """The values of a column's kinds, of a file's type."""
    kinds = column.kinds
    try:
        if pa.types.is_boolean(kind):
            return pa.array([{"true": True, "false": False}[k.lower()] for k in kinds], kind)
        if pa.types.is_integer(kind) or pa.types.is_duration(kind):
            wide = kind if kind == pa.uint64() else pa.int64()
            return pa.array([_whole(k) for k in kinds], wide).cast(kind)
        if pa.types.is_floating(kind):
            return pa.array(numbers(kinds, column.name, str(where)), pa.float64()).cast(kind)
        if pa.types.is_date(kind):
            return pa.array([date.fromisoformat(k[:10]) for k in kinds], pa.date32()).cast(kind)
        if pa.types.is_timestamp(kind):
            moments = np.array(list(kinds), f"datetime64[{kind.unit}]")
            values = pa.array(moments, pa.timestamp(kind.unit))
            zone = {"ambiguous": "earliest", "nonexistent": "latest"}
            return pc.assume_timezone(values, kind.tz, **zone) if kind.tz else values
        if pa.types.is_null(kind):
            return pa.nulls(len(kinds))
        texts = pa.array(spelt(kinds, form.spelling.get(column.name, Spelling())), pa.string())
        if pa.types.is_time(kind):
            return pa.array([datetime.fromisoformat(f"1970-01-01T{k}").time() for k in kinds], kind)
        return texts.cast(kind)
    except (ValueError, KeyError, pa.ArrowException) as failure:
        raise InputError(f"{where}: {column.name} is of type {kind} in the input: {failure}") from None


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        number = float(text)
        if not number.is_integer():
            raise ValueError(f"{text!r} is not a whole number") from None
        return int(number)
