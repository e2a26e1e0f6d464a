"""The released table as a Parquet file, from which its measures and its release are made."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from modp.base.output import written
from modp.files.table import BLANK, Column, Table
from modp.release.assembled import Released

TOLD = b"modp.values"
"""The key in the file's metadata of what stands in its columns."""


def write(path: Path, released: Released) -> None:
    """Write a released table: one dictionary column of texts for each of the input's, blanks null.

    What stands in each column, what the input's file says of it and what was set are in the metadata.
    """
    table = released.table
    arrays = [
        pa.DictionaryArray.from_arrays(
            pa.array(column.places, mask=column.places == BLANK), pa.array(column.kinds.tolist(), pa.string())
        )
        for column in table.columns
    ]
    columns = [{key: part for key, part in c.told.items() if key != "kinds"} for c in table.columns]
    told = {"what": dict(released.what), "said": list(released.said), "columns": columns}
    metadata = {TOLD: json.dumps(told, ensure_ascii=False).encode()}
    with written(path) as part:
        pq.write_table(pa.table(arrays, table.names).replace_schema_metadata(metadata), part)


def read(path: Path) -> Released:
    """Read what :func:`write` wrote."""
    stored = pq.read_table(path)
    told = json.loads(stored.schema.metadata[TOLD])
    columns = [_column(*pair) for pair in zip(told["columns"], stored.columns, strict=True)]
    return Released(Table(tuple(columns)), told["what"], told["said"])


def _column(told: Mapping[str, Any], stored: pa.ChunkedArray) -> Column:
    column = stored.unify_dictionaries().combine_chunks()
    places = column.indices.fill_null(BLANK).to_numpy(zero_copy_only=False).astype(np.int32)
    return Column.of({**told, "kinds": column.dictionary.to_pylist()}, places)
