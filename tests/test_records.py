import errno
import os
import tempfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import codebook_of, codes_of, records_of
from hypothesis import given
from hypothesis import strategies as st

from modp.base import rows as tables
from modp.base.errors import InputError
from modp.survey import records


def test_parquet_columns_are_dictionaries_of_all_category_codes(tmp_path):
    codebook, codes = codebook_of(2, 4), np.array([[0, 1], [0, 1]], np.int16)
    extra = {"record": np.array([5, 6]), "entropy_bits": np.array([1.5, 2.5])}
    records.write(tmp_path / "r.parquet", codes, codebook, extra)

    table = pq.read_table(tmp_path / "r.parquet")
    assert table.column_names == ["A", "B", "record", "entropy_bits"]
    assert pa.types.is_dictionary(table.schema.field("B").type)
    frame = pd.read_parquet(tmp_path / "r.parquet")
    assert frame["B"].cat.categories.tolist() == ["1", "2", "3", "4"]
    assert frame["B"].tolist() == ["2", "2"]
    assert frame["record"].tolist() == [5, 6]


@given(st.integers(0, 50), st.integers(0, 2**32 - 1))
def test_what_is_written_is_read_again(tmp_path_factory, n, seed):
    codebook = codebook_of(1, 3, 300)
    rng = np.random.default_rng(seed)
    codes = codes_of(codebook.sizes, n, rng)
    path = tmp_path_factory.mktemp("records") / "r.parquet"
    records.write(path, codes, codebook)
    assert (records.read(path, codebook)[0] == codes).all()


def test_records_of_another_codebook_are_refused(tmp_path):
    records.write(tmp_path / "r.parquet", np.array([[0, 3]], np.int16), codebook_of(2, 4))
    with pytest.raises(InputError, match=r"B has the categories \['4'\]"):
        records.read(tmp_path / "r.parquet", codebook_of(2, 3))
    with pytest.raises(InputError, match="not the questions"):
        records.read(tmp_path / "r.parquet", codebook_of(2, 4, 2))


def test_one_hot_has_a_single_one_in_each_block():
    codebook = codebook_of(2, 3)
    binary = records.one_hot(np.array([[1, 0], [0, 2]]), codebook.block_starts)
    assert binary.tolist() == [[0, 1, 1, 0, 0], [1, 0, 0, 0, 1]]


def test_row_groups_are_read_one_after_the_other(tmp_path, monkeypatch):
    whole = records_of(codes_of((3, 5), 25, np.random.default_rng(1)), (3, 5))
    extra = {"record": np.ma.array(np.arange(25), mask=np.arange(25) == 21), "entropy_bits": np.ones(25)}
    monkeypatch.setattr(tables, "ROWS_AT_ONCE", 10)
    whole.write(tmp_path / "r.parquet", extra)
    assert pq.ParquetFile(tmp_path / "r.parquet").num_row_groups == 3
    codes, found = records.read(tmp_path / "r.parquet", whole.codebook, ["record", "entropy_bits"])
    assert np.array_equal(codes, whole.codes) and np.array_equal(found["entropy_bits"], np.ones(25))
    assert np.isnan(found["record"][21]) and np.array_equal(
        np.delete(found["record"], 21), extra["record"].compressed()
    )


def test_large_tables_lie_in_files_and_hold_the_same(tmp_path, monkeypatch):
    small = records_of(codes_of((3, 5), 25, np.random.default_rng(1)), (3, 5))
    rows = np.random.default_rng(2).permutation(25)
    monkeypatch.setattr(tables, "ROWS_AT_ONCE", 4)
    monkeypatch.setattr(tables, "HELD", 10)
    small.write(tmp_path / "r.parquet")
    codes, _ = records.read(tmp_path / "r.parquet", small.codebook)
    assert not codes.flags.owndata and np.array_equal(codes, small.codes)
    codes[0, 0] = codes[0, 0]  # can be written to
    assert np.array_equal(small[rows].codes, small.codes[rows])
    assert np.array_equal(small[rows > 3].codes, small.codes[rows > 3])
    assert np.array_equal(small[4:9].codes, small.codes[4:9])
    allowed = np.array([1, 0, 1, 1, 1, 0, 1, 1], bool)
    slow = [i for i, (a, b) in enumerate(small.codes.tolist()) if a != 1 and b != 2]
    assert small.meeting(allowed).tolist() == slow


def test_parts_of_a_table_are_written_one_below_the_other(tmp_path):
    whole = records_of(codes_of((3, 5), 25, np.random.default_rng(1)), (3, 5))
    whole.write(tmp_path / "whole.parquet", {"entropy_bits": np.arange(25.0)})
    some = (slice(0, 9), slice(9, 9), slice(9, 25))
    parts = ((whole.codes[at], {"entropy_bits": np.arange(25.0)[at]}) for at in some)
    records.write_parts(tmp_path / "parts.parquet", parts, whole.codebook)
    one, other = (pq.read_table(tmp_path / f"{name}.parquet") for name in ("whole", "parts"))
    assert one.equals(other)


def test_a_disk_without_room_for_a_large_table_is_named(tmp_path, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tables, "HELD", 10)
    monkeypatch.setattr(tables.os, "posix_fallocate", full, raising=False)
    with pytest.raises(InputError, match=rf"{tempfile.gettempdir()} cannot be written: No space left"):
        tables.room((11, 2), np.int16)
    with pytest.raises(InputError, match=rf"{tempfile.gettempdir()} cannot be written: No space left"):
        next(tables.column_rooms(11, 1))
    assert tables.room((10, 2), np.int16).shape == (10, 2)


def test_where_no_folder_takes_temporary_files_it_is_said(monkeypatch):
    def none() -> str:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp']")

    monkeypatch.setattr(tables, "HELD", 10)
    monkeypatch.setattr(tempfile, "gettempdir", none)
    with pytest.raises(InputError, match=r"no temporary file can be used: No usable .*TMPDIR"):
        tables.room((11, 2), np.int16)
