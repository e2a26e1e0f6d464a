import datetime as dt
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from conftest import shared

from modp.base.errors import InputError
from modp.files.frames import frame_of, table_of
from modp.files.read import read
from modp.files.table import BLANK, Table

DAYS = pd.to_datetime(["2021-03-31", None, "1900-01-01"])
MOMENTS = pd.to_datetime(["2021-03-31 12:00:00.5", None, "2020-01-01"], format="ISO8601")
LONDON = pd.to_datetime(["2021-10-31 00:30", "2021-07-01 12:00", None]).tz_localize(
    "Europe/London", ambiguous=True
)

COLUMNS = {
    "int64": ([3, 1, 3], "integer", ["3", "1", "3"]),
    "int8": (np.array([3, -1, 3], "int8"), "integer", ["3", "-1", "3"]),
    "uint64": (np.array([3, 1, 2**64 - 1], "uint64"), "integer", ["3", "1", str(2**64 - 1)]),
    "Int64": (pd.array([3, None, 2**62 + 1], "Int64"), "integer", ["3", None, str(2**62 + 1)]),
    "UInt8": (pd.array([3, None, 255], "UInt8"), "integer", ["3", None, "255"]),
    "float64": ([1.5, np.nan, 3], "number", ["1.5", None, "3"]),
    "float32": (np.array([0.1, np.nan, 3], "float32"), "number", ["0.1", None, "3"]),
    "Float32": (pd.array([0.1, None, 3], "Float32"), "number", ["0.1", None, "3"]),
    "bool": ([True, False, True], "boolean", ["True", "False", "True"]),
    "boolean": (pd.array([True, None, False], "boolean"), "boolean", ["True", None, "False"]),
    "str": (["01", "NA", None], "text", ["01", "NA", None]),
    "empty": (["01", "", ""], "text", ["01", None, None]),
    "string": (pd.array(["a", None, "日本 "], "string"), "text", ["a", None, "日本"]),
    "object": (np.array(["a", None, " b"], object), "text", ["a", None, "b"]),
    "object of nan": (np.array(["a", np.nan, "b"], object), "text", ["a", None, "b"]),
    "mixed": (np.array([1, "x", True], object), "text", ["1", "x", "True"]),
    "truth with gaps": (np.array([True, None, False], object), "boolean", ["True", None, "False"]),
    "whole with gaps": (np.array([1, None, 7], object), "integer", ["1", None, "7"]),
    "date": (
        np.array([dt.date(2020, 1, 2), None, dt.date(1899, 1, 1)], object),
        "date",
        ["2020-01-02", None, "1899-01-01"],
    ),
    "decimal": (np.array([Decimal("1.50"), None, Decimal(2)], object), "text", ["1.50", None, "2"]),
    "day": (DAYS, "date", ["2021-03-31", None, "1900-01-01"]),
    "moment": (MOMENTS, "datetime", ["2021-03-31T12:00:00.5", None, "2020-01-01T00:00:00"]),
    "nanosecond": (MOMENTS.as_unit("ns"), "datetime", ["2021-03-31T12:00:00.5", None, "2020-01-01T00:00:00"]),
    "second": (DAYS.as_unit("s"), "date", ["2021-03-31", None, "1900-01-01"]),
    "zone": (LONDON, "datetime", ["2021-10-31T00:30:00", "2021-07-01T12:00:00", None]),
    "duration": (pd.to_timedelta(["1D", None, "2s"]).as_unit("s"), "integer", ["86400", None, "2"]),
    "category": (pd.Categorical(["x", None, "y"], ["z", "y", "x"]), "category", ["x", None, "y"]),
    "ordered": (
        pd.Categorical(["x", None, "y"], ["z", "y", "x"], ordered=True),
        "category",
        ["x", None, "y"],
    ),
    "codes": (pd.Categorical([7, 8, 7], [9, 8, 7]), "category", ["7", "8", "7"]),
    "true or not": (pd.Categorical([True, None, True]), "category", ["True", None, "True"]),
    "days": (pd.Categorical(DAYS), "category", ["2021-03-31", None, "1900-01-01"]),
    "bins": (pd.cut([1, 5, 9], [0, 4, 10]), "category", ["(0, 4]", "(4, 10]", "(4, 10]"]),
    "arrow": (pd.array([1, None, 3], pd.ArrowDtype(pa.int32())), "integer", ["1", None, "3"]),
    "arrow text": (pd.array(["a", None, "b"], pd.ArrowDtype(pa.string())), "text", ["a", None, "b"]),
    "arrow day": (
        pd.array([dt.date(2020, 1, 2), None], pd.ArrowDtype(pa.date32())).take([0, 1, 0]),
        "date",
        ["2020-01-02", None, "2020-01-02"],
    ),
    "month": (pd.PeriodIndex(["2020-01", "NaT", "2021-12"], freq="M"), "text", ["2020-01", None, "2021-12"]),
    "nothing": (np.array([None, None, None], object), "text", [None, None, None]),
    "never": ([np.nan, np.nan, np.nan], "number", [None, None, None]),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_of_any_type_becomes_texts_and_itself_again(name):
    values, dtype, texts = COLUMNS[name]
    frame = pd.DataFrame({"A": values})
    table = table_of(frame)
    assert table["A"].words.tolist() == texts and table["A"].dtype == dtype
    assert len(set(table["A"].kinds)) == len(table["A"].kinds) and table["A"].counts.all()
    pd.testing.assert_frame_equal(frame_of(table, frame), frame)


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("places", [[], [2], [2, 0, 0, 1, 2]])
def test_other_rows_keep_the_type(name, places):
    frame = pd.DataFrame({"A": COLUMNS[name][0]})
    table = table_of(frame)
    drawn = Table(tuple(replace(c, places=c.places[np.array(places, int)]) for c in table.columns))
    pd.testing.assert_frame_equal(frame_of(drawn, frame), frame.iloc[places].reset_index(drop=True))


@pytest.mark.parametrize("name", COLUMNS)
def test_a_frame_without_rows_keeps_its_types(name):
    frame = pd.DataFrame({"A": COLUMNS[name][0]}).iloc[:0]
    pd.testing.assert_frame_equal(frame_of(table_of(frame), frame), frame)


def test_columns_keep_names_and_order_and_the_index_is_new():
    frame = pd.DataFrame([[1, "x", 2.5, True]], index=["row"], columns=["b", 7, "", "b"])
    table = table_of(frame)
    assert table.names == ["b", "7", "column_3", "b_2"]
    assert "column 3 has no name" in "".join(table.said)
    mixed = Table(table.columns[::-1])
    pd.testing.assert_frame_equal(frame_of(mixed, frame), frame.reset_index(drop=True))


def test_answers_that_the_frame_did_not_hold_are_of_its_types():
    frame = pd.DataFrame(
        {
            "i": [1, 2],
            "f": [1.5, 2],
            "s": ["a", "b"],
            "o": np.array([1, None], object),
            "d": np.array([dt.date(2020, 1, 1), None], object),
            "t": DAYS[:2],
            "c": pd.Categorical(["a", "b"], ordered=True),
        }
    )
    new = {"i": "7", "f": "0.25", "s": "z", "o": "7", "d": "2021-02-03", "t": "2021-02-03", "c": "z"}
    columns = (
        replace(c, kinds=np.array([new[c.name]], object), places=np.zeros(1, np.int32))
        for c in table_of(frame).columns
    )
    made = frame_of(Table(tuple(columns)), frame)
    assert made.iloc[0].tolist() == [7, 0.25, "z", 7, dt.date(2021, 2, 3), pd.Timestamp("2021-02-03"), "z"]
    assert made.drop(columns="c").dtypes.equals(frame.drop(columns="c").dtypes)
    assert made["c"].cat.categories.tolist() == ["a", "b", "z"] and made["c"].cat.ordered


def test_of_two_spellings_and_two_sorts_of_blank_the_usual_one_comes_back():
    frame = pd.DataFrame({"A": ["x ", "x ", "x", "", "", None]})
    assert frame_of(table_of(frame), frame)["A"].tolist() == ["x ", "x ", "x ", "", "", ""]


def test_a_column_that_is_lacking_is_blank():
    frame = pd.DataFrame({"A": [1, 2], "B": [1, 2], "C": [True, False], "D": ["a", "b"], "E": DAYS[[0, 2]]})
    made = frame_of(Table(table_of(frame).columns[:1]), frame)
    assert made["A"].tolist() == [1, 2] and made.drop(columns="A").isna().all(axis=None)
    assert [str(made[c].dtype) for c in "ABC"] == ["int64", "Int64", "boolean"]
    assert made[["D", "E"]].dtypes.equals(frame[["D", "E"]].dtypes)


def test_a_blank_among_whole_numbers_makes_them_nullable():
    frame = pd.DataFrame({"A": np.array([1, 2], "int8")})
    column = replace(table_of(frame)["A"], places=np.array([1, BLANK], np.int32))
    assert frame_of(Table((column,)), frame)["A"].equals(pd.Series([2, None], dtype="Int8"))


@pytest.mark.parametrize(
    ("values", "answer", "message"),
    [
        ([1, 2], "x", "A is of type int64: .*'x'"),
        (np.array([1, 2], "int8"), "300", "A is of type int8"),
        ([True, False], "1", "'1' is neither True nor False"),
        (DAYS, "yesterday", "A is of type datetime64"),
        (pd.Categorical([1, 2]), "x", "A is of type int64: .*'x'"),
    ],
)
def test_an_answer_that_a_type_cannot_hold_is_refused(values, answer, message):
    frame = pd.DataFrame({"A": values})
    column = replace(table_of(frame)["A"], kinds=np.array([answer], object), places=np.zeros(1, np.int32))
    with pytest.raises(InputError, match=message):
        frame_of(Table((column,)), frame)


def test_what_is_no_table_of_answers_is_refused():
    with pytest.raises(InputError, match="has no columns"):
        table_of(pd.DataFrame(index=[1, 2]))
    with pytest.raises(InputError, match="A holds values that are none by themselves"):
        table_of(pd.DataFrame({"A": [[1], [2]]}))
    frame = pd.DataFrame({"A": [1]})
    with pytest.raises(InputError, match="the data frame has no column B"):
        frame_of(table_of(frame.rename(columns={"A": "B"})), frame)


def test_a_frame_says_the_same_as_its_file(tmp_path):
    frame = pd.DataFrame(
        {
            name: values
            for name, (values, _, _) in COLUMNS.items()
            if name
            not in ("mixed", "bins", "month", "codes", "days", "true or not", "decimal", "object of nan")
        }
    )
    frame.to_parquet(tmp_path / "a.parquet")
    for one, other in zip(table_of(frame).columns, read(tmp_path / "a.parquet")[0].columns, strict=True):
        assert one.words.tolist() == other.words.tolist(), one.name
        assert one.dtype == other.dtype or one.name == "nothing", one.name


@pytest.mark.pipeline
def test_a_real_frame_comes_back():
    frame = pd.read_parquet(shared("data", "person_2021_ak_wv_wy.parquet"))
    pd.testing.assert_frame_equal(frame_of(table_of(frame), frame), frame)
