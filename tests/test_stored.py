"""Raw columns on the disk are those that were stored."""

import errno
import os
import tempfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modp.base import rows
from modp.base.columns import Made, at_rows
from modp.base.errors import InputError
from modp.pums import stored
from modp.pums.stored import Stored, store

WORDS = st.lists(st.sampled_from(["a", "b b", "é", ""]), min_size=1, max_size=40)


def masked(values: list, kind: type) -> np.ma.MaskedArray:
    found = np.array(values, kind)
    return np.ma.array(found, mask=(found == "") if kind is object else (found == 0))


@given(st.lists(WORDS, min_size=1, max_size=4), st.integers(1, 50))
def test_columns_come_back_row_below_row(batches, at_once):
    tables = [
        [
            {
                "words": masked(words, object),
                "whole": masked([len(word) for word in words], np.int32),
                "parts": masked([len(word) / 3 for word in words], np.float64),
            }
            for words in (batch, batch[::-1])
        ]
        for batch in batches
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "ROWS_AT_ONCE", at_once)
        found = Stored([file for table in tables for file in store(table)])
    parts = [batch for table in tables for batch in table]
    assert list(found) == ["words", "whole", "parts"] and len(found) == 3
    for name, column in found.items():
        wanted = np.ma.concatenate([part[name] for part in parts])
        assert column.dtype == wanted.dtype
        assert np.array_equal(column.mask, np.ma.getmaskarray(wanted)) and column.tolist() == wanted.tolist()
    words, numbers = found["words"], found.numbered("words")
    kinds = list(dict.fromkeys(words.compressed().tolist()))
    assert numbers.tolist() == [None if word is None else kinds.index(word) for word in words.tolist()]
    marks = found.marks("words")
    assert len(marks) == len(kinds) and found.marked("words", marks) == sorted(kinds)
    assert found.marked("words", marks[:0]) == []


def test_columns_that_one_table_lacks_are_left_out():
    one = {"a": masked([1, 2], np.int32), "b": masked([3, 4], np.int32)}
    found = Stored([*store([one]), *store([{"b": masked([5], np.int32)}])])
    assert list(found) == ["b"] and found["b"].tolist() == [3, 4, 5]
    with pytest.raises(KeyError):
        found["a"]
    assert store([]) == []


def test_columns_are_made_when_they_are_asked_for():
    asked = []
    made = Made(["a"], lambda name: asked.append(name) or masked([1, 0, 3], np.int32))
    some = at_rows(made, np.array([2, 1]))
    assert asked == [] and "a" in some and "b" not in some
    assert some["a"].tolist() == [3, None] and asked == ["a"]
    with pytest.raises(KeyError):
        some["b"]


def test_a_disk_without_room_for_raw_columns_is_named(monkeypatch):
    class Full:
        def __init__(self, *_: object, **__: object):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(stored.pq, "ParquetWriter", Full)
    with pytest.raises(InputError, match=rf"{tempfile.gettempdir()} cannot be written: No space left"):
        store([{"a": masked([1, 2], np.int32)}])
