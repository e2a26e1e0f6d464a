import csv
import datetime as dt
import errno
import gzip
import io
import json
import os
import resource
import zipfile
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest
from conftest import shared
from hypothesis import given, settings
from hypothesis import strategies as st

from modp.__main__ import main
from modp.base import rows
from modp.base.errors import InputError
from modp.base.scratch import scratch
from modp.files import content, textual
from modp.files.form import Form, written_ending
from modp.files.options import TableOptions
from modp.files.read import read
from modp.files.table import Table, stacked
from modp.files.write import write
from modp.pums import read as pums

PLAIN = "A,B,C\n01,x,1.5\n2,,\n3,y y,-2\n"


def made(path: Path, data: str | bytes, encoding: str = "utf-8") -> Path:
    path.write_bytes(data if isinstance(data, bytes) else data.encode(encoding))
    return path


def answers(table: Table) -> dict[str, list[str | None]]:
    return {column.name: column.words.tolist() for column in table.columns}


def written_again(path: Path, table: Table, form: Form) -> Path:
    out = path.with_name(f"again{written_ending(form)}")
    write(out, table, form)
    return out


def through(path: Path, **options: str | int) -> tuple[dict[str, list[str | None]], bytes, str]:
    """The answers of a file, the bytes written in its form, and what was said."""
    table, form = read(path, TableOptions(**options))
    out = written_again(path, table, form)
    assert answers(read(out, TableOptions(**options))[0]) == answers(table)
    return answers(table), out.read_bytes(), "\n".join(table.said)


def zipped(path: Path, **members: str) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return path


def assert_same(one: Table, other: Table) -> None:
    for a, b in zip(one.columns, other.columns, strict=True):
        assert a.words.tolist() == b.words.tolist(), a.name
        assert (a.name, a.dtype, a.label, a.labels, a.missing) == (
            b.name,
            b.dtype,
            b.label,
            b.labels,
            b.missing,
        )


# --- delimited text


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        PLAIN.replace(",", ";"),
        PLAIN.replace(",", "\t"),
        PLAIN.replace(",", "|"),
        PLAIN.replace("\n", "\r\n"),
        PLAIN.replace("\n", "\r"),
        PLAIN[:-1],
        "\n\n" + PLAIN,
        "sep=;\n" + PLAIN.replace(",", ";"),
        "\ufeff" + PLAIN,
    ],
)
def test_a_text_table_comes_out_byte_for_byte(tmp_path, text):
    found, again, _ = through(made(tmp_path / "a.csv", text))
    assert found == {"A": ["01", "2", "3"], "B": ["x", None, "y y"], "C": ["1.5", None, "-2"]}
    assert again == text.encode()


@pytest.mark.parametrize(
    ("encoding", "options", "said"),
    [
        ("utf-8", {}, ""),
        ("utf-8-sig", {}, ""),
        ("utf-16", {}, "is in UTF-16"),
        ("utf-16-le", {}, "without a byte order mark"),
        ("utf-16-be", {}, "without a byte order mark"),
        ("utf-32", {}, "is in UTF-32"),
        ("cp1252", {}, "read as cp1252, a guess"),
        ("latin-1", {"encoding": "latin-1"}, ""),
    ],
)
def test_an_encoding_is_detected_named_and_kept(tmp_path, encoding, options, said):
    text = "Straße;Stadt;n\nAm Wall;Köln;1\nÖsterweg;Düsseldorf;2\n"
    found, again, told = through(made(tmp_path / "a.csv", text, encoding), **options)
    assert found == {"Straße": ["Am Wall", "Österweg"], "Stadt": ["Köln", "Düsseldorf"], "n": ["1", "2"]}
    assert again == text.encode(encoding)
    assert said in told and "delimiter is ';'" in told
    assert said or not ("UTF" in told or "guess" in told)


def test_a_bad_byte_names_encoding_line_and_remedy(tmp_path):
    path = made(tmp_path / "a.csv", "A,B\n1,x\n2,Köln\n", "latin-1")
    with pytest.raises(InputError, match=r"a\.csv is not in utf-8: line 3 holds byte 0xf6.*'encoding'"):
        read(path, TableOptions(encoding="utf-8"))
    with pytest.raises(InputError, match="no encoding 'latin-9000'"):
        read(path, TableOptions(encoding="latin-9000"))


def test_labels_in_any_script_come_back(tmp_path):
    text = "日本,العربية,é\nქართული,हिन्दी,😀\nעברית,a\u2028b,\u00a0x\n"
    found, again, _ = through(made(tmp_path / "a.csv", text))
    assert found == {"日本": ["ქართული", "עברית"], "العربية": ["हिन्दी", "a\u2028b"], "é": ["😀", "\u00a0x"]}
    assert again == text.encode()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('"A","SEX, at\nbirth","C ""x"""\n"1","a,b","l1\nl2"\n"2","","q""q"\n', ["1", "a,b", "l1\nl2"]),
        ('A,"B, C",D\n1,"x,y",z\n2,w,"v ""v"""\n', ["1", "x,y", "z"]),
        ('"","A","B"\n"1",3,"x"\n"2",NA,NA\n"3",4,"y"\n', ["1", "3", "x"]),
        ("A;B\n'1';'x'\n", ["'1'", "'x'"]),
    ],
)
def test_quotes_stay_where_they_were(tmp_path, text, found):
    read_back, again, _ = through(made(tmp_path / "a.csv", text))
    assert [column[0] for column in read_back.values()] == found
    assert again == text.encode()


def test_a_decimal_comma_is_a_point_inside_and_a_comma_again(tmp_path):
    text = "A;B;C\n1;12,5;x\n2;;y, z\n3;-0,25;z\n4;7;z\n"
    found, again, said = through(made(tmp_path / "a.csv", text))
    assert found["B"] == ["12.5", None, "-0.25", "7"] and found["C"][1] == "y, z"
    assert again == text.encode()
    assert "numbers have a decimal comma (B)" in said
    found, again, said = through(tmp_path / "a.csv", decimal=".")
    assert found["B"] == ["12,5", None, "-0,25", "7"] and "decimal comma" not in said


def test_padding_stays(tmp_path):
    text = "ID,L,R,N\n007,ab  ,  1,1\n010,c   , 10,01\n100,defg,100,1\n"
    found, again, _ = through(made(tmp_path / "a.csv", text))
    assert found == {"ID": ["007", "010", "100"], "L": ["ab", "c", "defg"], "R": ["1", "10", "100"]} | {
        "N": ["1", "01", "1"]
    }
    assert again == text.encode()


@pytest.mark.parametrize(
    "word", ["NA", "None", "null", "nan", "NaN", "N/A", "#N/A", "inf", "-", "TRUE", "1e5"]
)
def test_a_word_that_means_nothing_elsewhere_is_an_answer_here(tmp_path, word):
    for path in (
        made(tmp_path / "a.csv", f"A,B\n{word},1\n,2\nx,3\n"),
        workbook(tmp_path / "a.xlsx", [["A", "B"], [word, 1], [None, 2], ["x", 3]]),
        frame_file(tmp_path / "a.parquet", pd.DataFrame({"A": [word, None, "x"], "B": [1, 2, 3]})),
    ):
        found, _, _ = through(path)
        assert found == {"A": [word, None, "x"], "B": ["1", "2", "3"]}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A,B\n", {"A": [], "B": []}),
        ("A,B", {"A": [], "B": []}),
        ("A\n", {"A": []}),
        ("A,B\n1,2\n", {"A": ["1"], "B": ["2"]}),
        ("A,B\n1,2", {"A": ["1"], "B": ["2"]}),
        ("A,B\n,\n,\n", {"A": [None, None], "B": [None, None]}),
        ("A\n1\n\n3\n", {"A": ["1", None, "3"]}),
        ('A\n"1"\n""\n"3"\n', {"A": ["1", None, "3"]}),
    ],
)
def test_tables_of_few_rows_and_columns(tmp_path, text, found):
    got, again, _ = through(made(tmp_path / "a.csv", text))
    assert got == found and again == text.encode()


def test_names_are_made_where_the_header_lacks_them_and_the_header_stays(tmp_path):
    text = "A,A,,A_2, \n1,2,3,4,5\n"
    found, again, said = through(made(tmp_path / "a.csv", text))
    assert list(found) == ["A", "A_3", "column_3", "A_2", "column_5"]
    assert again == text.encode()
    assert "column 2 is a second 'A'; it is called A_3 here" in said
    assert "column 3 has no name in the header" in said


def test_odd_names_are_names(tmp_path):
    text = 'it\'s {x},a/b,..,日本,"x""y",-1\n1,2,3,4,5,6\n'
    found, again, _ = through(made(tmp_path / "a.csv", text))
    assert list(found) == ["it's {x}", "a/b", "..", "日本", 'x"y', "-1"] and again == text.encode()


def test_one_column_is_said_to_be_one(tmp_path):
    _, _, said = through(made(tmp_path / "a.csv", "A B C\n1 2 3\n"))
    assert "no delimiter was found" in said
    found, again, said = through(tmp_path / "a.csv", delimiter=" ")
    assert found == {"A": ["1"], "B": ["2"], "C": ["3"]} and again == b"A B C\n1 2 3\n" and not said


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("A,B,C\n1,2,3\n1,2\n", "line 3 has 2 values, the header 3 names"),
        ("A,B\n1,2\n1,2,3\n", "line 3 has 3 values, the header 2 names"),
        ('"AGE, years",SEX,AGEP\n33,1,2,9\n', "line 2 has 4 values, the header 3 names"),
        ('A,"B\nC"\n"x\ny",2\n1,2,3\n', "line 5 has 3 values, the header 2 names"),
        ("My survey of 2021\nA,B\n1,2\n", "is it a title"),
        ('A,B\n1,2\n3,"4\n5,6\n', "line 3 opens a double quote that is not closed"),
        ("A,B\n1,\0\n", "is no text"),
        ("<!DOCTYPE html><html>", "is a web page"),
        ('{"A": 1}', "is JSON"),
        ("%PDF-1.7", "is a PDF"),
    ],
)
def test_what_is_no_table_is_refused_with_the_line_or_the_kind(tmp_path, text, message):
    with pytest.raises(InputError, match=message) as refusal:
        read(made(tmp_path / "a.csv", text))
    assert "a.csv" in str(refusal.value)


def test_a_quote_inside_of_a_value_is_no_fault(tmp_path):
    found, _, _ = through(made(tmp_path / "a.csv", 'A,B\n1,5" pipe\n2,x\n'))
    assert found["B"] == ['5" pipe', "x"]


def test_some_columns_are_read_and_the_others_written_blank(tmp_path):
    path = made(tmp_path / "a.csv", PLAIN)
    table, form = read(path, columns=["C", "A"])
    assert table.names == ["A", "C"] and form.names == ("A", "B", "C")
    assert written_again(path, table, form).read_text() == "A,B,C\n01,,1.5\n2,,\n3,,-2\n"
    with pytest.raises(InputError, match="lacks 1 of the columns that are needed: AGEE"):
        read(path, columns=["AGEE"])


def test_only_columns_of_the_form_and_letters_of_its_encoding_are_written(tmp_path):
    _, form = read(made(tmp_path / "a.csv", "Straße\nWall\n", "cp1252"))
    other, other_form = read(made(tmp_path / "b.csv", "Straße\n日\n"))
    out = tmp_path / "c.csv"
    with pytest.raises(InputError, match="'日' cannot be written in cp1252"):
        write(out, other, form)
    with pytest.raises(InputError, match="has no column A"):
        write(out, read(made(tmp_path / "d.csv", "A\n1\n"))[0], other_form)
    assert not out.exists() and not list(tmp_path.glob(".*"))


cell = st.text(st.characters(exclude_categories=("Cs", "Cc")) | st.sampled_from(',;"\n\t'), max_size=6)


@settings(max_examples=60)
@given(
    rows=st.lists(st.tuples(cell, cell, cell), max_size=5),
    header=st.tuples(cell, cell, cell).filter(lambda names: "".join(names).strip(' ;,"\t\n')),
)
def test_any_text_that_pythons_writer_writes_is_read_as_it_was(tmp_path_factory, rows, header):
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows([header, *rows])
    table, form = read(path, TableOptions(delimiter=",", encoding="utf-8", decimal="."))
    assert list(form.header) == list(header)
    wanted = [[value.strip(" \t") or None for value in column] for column in zip(*rows, strict=True)]
    assert [column.words.tolist() for column in table.columns] == (wanted or [[], [], []])


def test_rows_of_several_tables_are_put_below_each_other(tmp_path):
    parts = [
        read(made(tmp_path / f"{i}.csv", text))[0] for i, text in enumerate(["A,B\n1,\n2,x\n", "A,B\n2,y\n"])
    ]
    assert answers(stacked(parts)) == {"A": ["1", "2", "2"], "B": [None, "x", "y"]}
    with pytest.raises(ValueError, match="not the same"):
        stacked([parts[0], read(made(tmp_path / "c.csv", "A\n1\n"))[0]])


# --- packed


def test_gzip_stays_gzip_whatever_the_ending_says(tmp_path):
    packed = gzip.compress(PLAIN.encode())
    for name, said in (("a.csv.gz", ""), ("a.csv", "is a gzip-compressed file, whatever its ending says")):
        path = made(tmp_path / name, packed)
        table, form = read(path)
        assert said in "".join(table.said)
        out = written_again(path, table, form)
        assert out.name == "again.csv.gz" and gzip.decompress(out.read_bytes()) == PLAIN.encode()
    with pytest.raises(InputError, match="is damaged"):
        read(made(tmp_path / "b.csv.gz", gzip.compress(PLAIN.encode() * 50)[:-20]))
    with pytest.raises(InputError, match="is a Parquet file, packed once more"):
        read(made(tmp_path / "c.csv.gz", gzip.compress(b"PAR1....")))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_line_end_within_an_answer_stays_whole_wherever_a_block_of_the_text_ends(
    tmp_path, monkeypatch, end
):
    texts = [['"a\r\nb"', '"\r"', "c"][k % 3] for k in range(40)]
    path = made(tmp_path / "a.csv", end.join(["A", *texts, ""]).encode())
    expected = [["a\r\nb", "\r", "c"][k % 3] for k in range(40)]
    for block in range(20, 40):
        monkeypatch.setattr(textual, "BLOCK", block)
        monkeypatch.setattr(textual, "STREAM_BLOCK", block)
        assert read(path)[0]["A"].words.tolist() == expected
        with path.open("rb") as file:
            stream = textual.opened_stream(file, "a.csv")
            assert [a for batch in stream.batches(["A"], ["A"]) for a in batch["A"].to_pylist()] == expected


def test_nothing_is_read_of_a_text_any_more_once_it_is_done_with():
    below = io.BytesIO(b"abcdef")
    with textual._Unsplit(below) as source:
        assert source.read(2) == b"ab"
    assert source.read(2) == b"" and below.read() == b"cdef"


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "zip", "marked", "utf-16"])
def test_large_texts_lie_in_files_and_hold_the_same(tmp_path, monkeypatch, kind):
    lines = (f'0{i % 7},"{"é" * (i % 3)}, {i % 5}",{i / 4 if i % 9 else ""}\n' for i in range(999))
    text = "A,B,C\n" + "".join(lines)
    data = text.encode(kind) if kind == "utf-16" else ("\ufeff" * (kind == "marked") + text).encode()
    if kind == "zip":
        path = zipped(tmp_path / "t.zip", **{"a.csv": text, "b.csv": text[:700]})
    else:
        packed = gzip.compress(data, mtime=0) if kind == "csv.gz" else data
        path = made(tmp_path / ("t.csv.gz" if kind == "csv.gz" else "t.csv"), packed)
    (small, form), written = read(path), through(path)
    monkeypatch.setattr(textual, "LARGE", 100)
    monkeypatch.setattr(textual, "BLOCK", 1000)
    monkeypatch.setattr(textual, "STREAM_BLOCK", 150)
    monkeypatch.setattr(rows, "HELD", 200)
    monkeypatch.setattr(rows, "ROWS_AT_ONCE", 128)
    table, again = read(path)
    assert_same(table, small)
    assert again == form and not table["A"].places.flags.owndata
    assert [column.kinds.tolist() for column in table.columns] == [c.kinds.tolist() for c in small.columns]
    assert through(path) == written
    with pytest.raises(InputError, match="line 1,001"):
        read(made(tmp_path / "bad.csv", text + "1,2\n"))
    with pytest.raises(InputError, match="line 1,001 has 4 values"):
        read(made(tmp_path / "bad.csv", text + "1,os error 28,3,4\n"))
    assert read(path, columns=())[1] == form


def open_files() -> list[int]:
    """The numbers of the files that this process has open, with the folder that lists them."""
    return [int(path.name) for path in Path("/dev/fd").iterdir()]


@contextmanager
def so_many_files_more(files: int):
    """As where a system lets a process have few files open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(open_files()) + files, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_large_table_may_have_more_columns_than_a_process_may_have_files(tmp_path, monkeypatch):
    monkeypatch.setattr(rows, "HELD", 10)
    names = [f"Q{q}" for q in range(300)]
    text = "".join(",".join(f"{q * r % 7}" for q in range(300)) + "\n" for r in range(20))
    path = made(tmp_path / "wide.csv", ",".join(names) + "\n" + text)
    with so_many_files_more(100):
        table = stacked([read(path)[0] for _ in range(3)])
    assert table["Q5"].words.tolist() == [f"{5 * r % 7}" for r in range(20)] * 3
    assert table["Q299"].words.tolist() == [f"{299 * r % 7}" for r in range(20)] * 3
    assert not table["Q299"].places.flags.owndata


def test_a_file_of_columns_goes_with_the_last_of_them(monkeypatch):
    monkeypatch.setattr(rows, "HELD", 10)
    before = len(open_files())
    columns = list(rows.column_rooms(20, rows.TOGETHER + 1))
    for at, column in enumerate(columns):
        column[:] = at
    assert [column.tolist() for column in columns] == [[at] * 20 for at in range(len(columns))]
    assert len(open_files()) == before + 2
    (other,) = rows.column_rooms(20, 1)
    other[:] = -1
    assert columns[-1].tolist() == [len(columns) - 1] * 20
    del columns, column
    assert len(open_files()) == before + 1
    assert [len(some) for some in rows.column_rooms(5, 3)] == [5, 5, 5]


def test_answers_with_many_line_ends_take_no_more_room_than_others(tmp_path, monkeypatch):
    monkeypatch.setattr(rows, "HELD", 10)
    taken = []
    mapped = rows._mapped
    monkeypatch.setattr(rows, "_mapped", lambda size: taken.append(size) or mapped(size))
    path = made(tmp_path / "a.csv", "A,B\n" + '"x\n\n\n\n\n",1\n' * 30)
    assert read(path)[0]["A"].words.tolist() == ["x\n\n\n\n\n"] * 30
    assert taken == [2 * 30 * 4]


def test_where_temporary_files_cannot_be_mapped_it_is_said_what_to_do(monkeypatch):
    def none(*_: object) -> None:
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))

    monkeypatch.setattr(rows, "HELD", 10)
    monkeypatch.setattr(rows.mmap, "mmap", none)
    with pytest.raises(InputError, match=r"Cannot allocate memory; let the process have more memory"):
        rows.room((20, 1), np.int16)
    with so_many_files_more(1), pytest.raises(InputError, match=r"Too many open files; let processes have"):
        [scratch() for _ in range(3)]


def test_a_zip_as_census_gives_it_comes_back_with_its_member(tmp_path):
    text = "RT,SERIALNO,AGEP,PWGTP\nP,2021GQ0000123,01,00012\nP,2021HU0000001,,00105\n"
    path = zipped(tmp_path / "csv_pwy.zip", **{"psam_p56.csv": text, "readme.pdf": "%PDF", "notes.csv": "x"})
    table, form = read(path)
    out = written_again(path, table, form)
    with zipfile.ZipFile(out) as archive:
        assert archive.namelist() == ["psam_p56.csv"] and archive.read("psam_p56.csv").decode() == text
    before = out.read_bytes()
    assert written_again(path, table, form).read_bytes() == before


def test_tables_of_one_zip_are_read_below_each_other(tmp_path):
    path = zipped(tmp_path / "a.zip", **{"b.csv": "S;A\n2;02\n", "a.csv": "S,A\n1,01\n"})
    found, _, said = through(path)
    assert found == {"S": ["1", "2"], "A": ["01", "02"]}
    assert "holds 2 tables" in said and "b.csv: the delimiter is ';'" in said
    with pytest.raises(InputError, match="different columns"):
        read(zipped(tmp_path / "b.zip", **{"a.csv": "S,A\n1,01\n", "b.csv": "S,B\n2,02\n"}))


@pytest.mark.parametrize(
    ("inside", "outside"),
    [
        ("../../x.csv", "x.csv"),
        ("/etc/x.csv", "etc/x.csv"),
        ("a\\..\\x.csv", "a/x.csv"),
        ("data/x.csv", "data/x.csv"),
    ],
)
def test_no_member_that_is_written_leads_out_of_a_folder(tmp_path, inside, outside):
    path = zipped(tmp_path / "a.zip", **{inside: "A,B\n1,2\n"})
    table, form = read(path)
    assert zipfile.ZipFile(written_again(path, table, form)).namelist() == [outside]
    assert {p.name for p in tmp_path.iterdir()} == {"a.zip", "again.zip"}


@pytest.mark.parametrize("name", ["a.csv.gz", "a.zip", "a.xlsx"])
def test_what_would_fill_the_memory_is_refused(tmp_path, monkeypatch, name):
    monkeypatch.setattr(content, "UNPACKED", 1 << 20)
    text = "A,B\n" + "1,2\n" * (1 << 20)
    path = tmp_path / name
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(text.encode()))
    else:
        zipped(path, **{"a.csv" if name == "a.zip" else "xl/a.xml": text})
    with pytest.raises(InputError, match=r"would unpack to .* bytes; refused"):
        read(path)


def test_faulty_zips_are_refused(tmp_path):
    path = zipped(tmp_path / "a.zip", **{"psam_p56.csv": PLAIN * 20})
    whole = path.read_bytes()
    turned = bytearray(whole)
    turned[60] ^= 255
    for data in (whole[:-40], whole[: len(whole) // 2], bytes(turned)):
        with pytest.raises(InputError, match=r"b\.zip is damaged"):
            read(made(tmp_path / "b.zip", data))
    with pytest.raises(InputError, match=r"holds no CSV file, only: x\.pdf"):
        read(zipped(tmp_path / "c.zip", **{"x.pdf": "%PDF"}))
    with pytest.raises(InputError, match="holds no CSV file, only: nothing"):
        read(zipped(tmp_path / "d.zip"))
    with pytest.raises(InputError, match=r"d\.zip/a\.csv is empty"):
        read(zipped(tmp_path / "d.zip", **{"a.csv": ""}))


# --- Parquet


def frame_file(path: Path, frame: pd.DataFrame) -> Path:
    frame.to_parquet(path)
    return path


def wide_frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "int": [1, 2, 3],
            "Int": pd.array([1, None, 3], "Int64"),
            "float": [1.5, np.nan, 3],
            "Float": pd.array([1.5, None, 2], "Float32"),
            "bool": [True, False, True],
            "Bool": pd.array([True, None, False], "boolean"),
            "text": ["01", "NA", None],
            "string": pd.array(["a", None, "b "], "string"),
            "words": pd.Categorical(["x", None, "y"], ["z", "y", "x"], ordered=True),
            "day": pd.to_datetime(["2021-03-31", None, "1900-01-01"]),
            "moment": pd.to_datetime(["2021-03-31 12:00:00.5", None, "2020-01-01"], format="ISO8601"),
            "zone": pd.to_datetime(["2021-07-31 12:00", "2020-01-01 00:00", None]).tz_localize(
                "Europe/Berlin"
            ),
            "date": [dt.date(2020, 1, 2), None, dt.date(1899, 1, 1)],
            "small": np.array([1, -2, 3], "int8"),
            "large": np.array([1, 2, 2**64 - 1], "uint64"),
            "single": np.array([0.1, 0.2, np.nan], "float32"),
            "nothing": [None, None, None],
            "lasting": pd.to_timedelta(["1D", "2s", None]),
        }
    )


def test_pandas_reads_back_from_parquet_what_it_wrote(tmp_path):
    frame = wide_frame()
    path = frame_file(tmp_path / "a.parquet", frame)
    table, form = read(path)
    assert [(c.name, c.dtype) for c in table.columns if c.dtype != "integer"] == [
        ("float", "number"),
        ("Float", "number"),
        ("bool", "boolean"),
        ("Bool", "boolean"),
        ("text", "text"),
        ("string", "text"),
        ("words", "category"),
        ("day", "date"),
        ("moment", "datetime"),
        ("zone", "datetime"),
        ("date", "date"),
        ("single", "number"),
        ("nothing", "text"),
    ]
    assert table["single"].words.tolist() == ["0.1", "0.2", None]
    assert table["day"].words.tolist() == ["2021-03-31", None, "1900-01-01"]
    assert table["moment"].words.tolist() == ["2021-03-31T12:00:00.5", None, "2020-01-01T00:00:00"]
    back = pd.read_parquet(written_again(path, table, form))
    blank = back["string"].isna().tolist()
    assert blank == [False, True, False]
    pd.testing.assert_frame_equal(back, frame)


@pytest.mark.parametrize("rows", [0, 1])
def test_parquet_of_no_or_one_row(tmp_path, rows):
    frame = wide_frame().iloc[:rows]
    path = frame_file(tmp_path / "a.parquet", frame)
    table, form = read(path)
    assert len(table) == rows
    pd.testing.assert_frame_equal(pd.read_parquet(written_again(path, table, form)), pd.read_parquet(path))


def test_arrows_other_types_come_back(tmp_path):
    held = pa.table(
        {
            "decimal": pa.array([1, 2], pa.decimal128(10, 2)),
            "large": pa.array(["a", None], pa.large_string()),
            "view": pa.array(["a", "b"], pa.string_view()),
            "time": pa.array([dt.time(1, 2), None]),
            "half": pa.array([1, 2], pa.float16()),
            "milli": pa.array([dt.date(2020, 1, 1), None], pa.date64()),
            "dictionary": pa.array(["a", "b"]).dictionary_encode(),
            "list": pa.array([[1], None]),
        }
    )
    pq.write_table(held, tmp_path / "a.parquet")
    table, form = read(tmp_path / "a.parquet")
    assert any("list is of type list" in line and "left out" in line for line in table.said)
    back = pq.read_table(written_again(tmp_path / "a.parquet", table, form))
    assert back.drop_columns("list").equals(pq.read_table(tmp_path / "a.parquet").drop_columns("list"))
    assert back["list"].null_count == 2


def test_an_index_a_second_name_and_damage_in_parquet(tmp_path):
    frame = pd.DataFrame({"A": [1, 2]}, index=pd.Index(["x", "y"], name="k"))
    path = frame_file(tmp_path / "a.parquet", frame)
    table, form = read(path)
    pd.testing.assert_frame_equal(pd.read_parquet(written_again(path, table, form)), frame)
    pq.write_table(pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]), tmp_path / "b.parquet")
    found, _, said = through(tmp_path / "b.parquet")
    assert found == {"a": ["1"], "a_2": ["2"]} and "second 'a'" in said
    with pytest.raises(InputError, match="cannot be read as Parquet.*cut short"):
        read(made(tmp_path / "c.parquet", path.read_bytes()[:-30]))


def test_an_answer_that_the_type_cannot_hold_names_column_and_file(tmp_path):
    _, form = read(frame_file(tmp_path / "a.parquet", pd.DataFrame({"A": [1, 2]})))
    words, _ = read(made(tmp_path / "b.csv", "A\nx\n"))
    with pytest.raises(InputError, match=r"[/\\]out\.parquet: A is of type int64 in the input: .*'x'"):
        write(tmp_path / "out.parquet", words, form)


# --- Excel


def workbook(path: Path, rows: list[list[object]], *more: str) -> Path:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for title in more:
        book.create_sheet(title).append([title])
    book.save(path)
    return path


SHEET = [
    ["int", "text", "float", "bool", "day", "moment", "mixed"],
    [1, "01", 1.5, True, dt.datetime(2021, 3, 31), dt.datetime(2021, 3, 31, 12, 30), "x"],
    [2, None, 2, False, dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1), 7],
    [3, "1", None, None, None, None, "7.0"],
]


def test_a_sheet_does_not_tell_when_it_was_written(tmp_path, monkeypatch):
    table, form = read(workbook(tmp_path / "a.xlsx", SHEET))
    moments = iter([dt.datetime(2001, 1, 1), dt.datetime(2002, 2, 2)])
    clock = SimpleNamespace(now=lambda tz=None: next(moments))
    monkeypatch.setattr(
        openpyxl.writer.excel, "datetime", SimpleNamespace(datetime=clock, timezone=dt.timezone)
    )
    one = written_again(tmp_path / "a.xlsx", table, form).read_bytes()
    assert written_again(tmp_path / "a.xlsx", table, form).read_bytes() == one


def test_a_sheet_keeps_what_its_cells_are(tmp_path):
    path = workbook(tmp_path / "a.xlsx", SHEET)
    table, form = read(path)
    assert {c.name: c.dtype for c in table.columns} == {
        "int": "integer",
        "text": "text",
        "float": "number",
        "bool": "boolean",
        "day": "date",
        "moment": "datetime",
        "mixed": "text",
    }
    assert table["text"].words.tolist() == ["01", None, "1"]
    assert table["day"].words.tolist() == ["2021-03-31", "2020-01-01", None]
    assert table["moment"].words.tolist() == ["2021-03-31T12:30:00", "2020-01-01T00:00:00", None]
    out = written_again(path, table, form)
    rows = [list(row) for row in openpyxl.load_workbook(out).active.iter_rows(values_only=True)]
    assert rows == SHEET
    assert [[type(v) for v in row] for row in rows[1:]] == [[type(v) for v in row] for row in SHEET[1:]]
    assert openpyxl.load_workbook(out).active["E2"].number_format == "yyyy-mm-dd h:mm:ss"
    before = out.read_bytes()
    assert written_again(path, table, form).read_bytes() == before
    assert {member.date_time for member in zipfile.ZipFile(out).infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_a_workbook_named_csv_is_read_as_one(tmp_path):
    path = made(tmp_path / "a.csv", workbook(tmp_path / "a.xlsx", SHEET).read_bytes())
    table, form = read(path)
    assert table["int"].words.tolist() == ["1", "2", "3"]
    assert table.said == (f"{path} is an Excel workbook, whatever its ending says, and is read as such",)
    assert written_ending(form) == ".xlsx"


def test_a_sheet_is_taken_by_name_or_number(tmp_path):
    path = workbook(tmp_path / "a.xlsx", SHEET, "Two", "Three")
    assert "has 3 sheets (Sheet, Two, Three); the first, Sheet, is read" in through(path)[2]
    assert read(path, TableOptions(sheet="Two"))[0].names == ["Two"]
    assert read(path, TableOptions(sheet=3))[0].names == ["Three"]
    with pytest.raises(InputError, match="no sheet 'Too'; did you mean 'Two'"):
        read(path, TableOptions(sheet="Too"))
    with pytest.raises(InputError, match="there is no sheet 4"):
        read(path, TableOptions(sheet=4))


def test_formulas_without_values_are_said(tmp_path):
    found, _, said = through(
        workbook(tmp_path / "a.xlsx", [["A", "B", "C"], [1, "=A2*2", None], [2, "=A3*2", None]])
    )
    assert found == {"A": ["1", "2"], "B": [None, None], "C": [None, None]}
    assert "B holds formulas without their values" in said and "C holds" not in said


def test_odd_sheets(tmp_path):
    rows = [[], [], ["A", None, "A", 5], [1, 2, "x", None], [], [3, 4, "y", None], [None, None]]
    found, _, said = through(workbook(tmp_path / "a.xlsx", rows))
    assert found == {"A": ["1", None, "3"], "column_2": ["2", None, "4"], "A_2": ["x", None, "y"]} | {
        "5": [None, None, None]
    }
    assert "column 2 has no name" in said and "second 'A'" in said
    assert through(workbook(tmp_path / "b.xlsx", [["A", "B"]]))[0] == {"A": [], "B": []}
    with pytest.raises(InputError, match="the sheet 'Sheet' is empty"):
        read(workbook(tmp_path / "c.xlsx", []))
    whole = (tmp_path / "a.xlsx").read_bytes()
    with pytest.raises(InputError, match=r"d\.xlsx is damaged"):
        read(made(tmp_path / "d.xlsx", whole[:-300]))
    with pytest.raises(InputError, match="cannot be read as an Excel workbook"):
        read(zipped(tmp_path / "e.xlsx", **{"xl/a": "x"}))


# --- SPSS, Stata, SAS


def spss(path: Path, **more: bool) -> Path:
    frame = pd.DataFrame(
        {
            "Q1": [1.0, 2, 9, None, 98],
            "W": [1.5, 2.25, -1, None, 3],
            "T": ["a", "01", "", "ü", "zz "],
            "D": [dt.date(2021, 3, 31), dt.date(2020, 1, 1), None, dt.date(1900, 1, 1), dt.date(2020, 2, 29)],
            "K": ["x", "n", "NA", "", "x"],
        }
    )
    pyreadstat.write_sav(
        frame,
        str(path),
        file_label="Survey",
        column_labels={"Q1": "How – ö?"},
        variable_value_labels={
            "Q1": {1: "yes", 2: "no", 9: "refused", 98: "don't know"},
            "K": {"x": "日本", "n": "no"},
        },
        missing_ranges={"Q1": [9, {"lo": 90, "hi": 99}], "W": [-1], "K": ["NA"]},
        variable_measure={"Q1": "nominal"},
        variable_format={"Q1": "F3.0"},
        **more,
    )
    return path


@pytest.mark.parametrize(
    ("name", "more"), [("a.sav", {}), ("a.sav", {"row_compress": True}), ("a.zsav", {"compress": True})]
)
def test_spss_keeps_labels_and_declared_missing_answers(tmp_path, name, more):
    path = spss(tmp_path / name, **more)
    table, form = read(path)
    asked = table["Q1"]
    assert asked.words.tolist() == ["1", "2", "9", None, "98"] and asked.dtype == "integer"
    assert asked.label == "How – ö?" and asked.missing == {"9", "98"}
    assert asked.labels == {"1": "yes", "2": "no", "9": "refused", "98": "don't know"}
    assert table["W"].missing == {"-1"} and table["K"].missing == {"NA"}
    assert table["K"].labels == {"x": "日本", "n": "no"}
    assert table["D"].dtype == "date" and table["D"].words[0] == "2021-03-31"
    out = written_again(path, table, form)
    again, again_form = read(out)
    assert_same(table, again)
    assert again_form == form
    (was, meta), (now, other) = (pyreadstat.read_sav(p, user_missing=True) for p in (path, out))
    pd.testing.assert_frame_equal(now, was)
    for what in (
        "column_names",
        "column_names_to_labels",
        "variable_value_labels",
        "missing_ranges",
        "original_variable_types",
        "variable_measure",
        "file_label",
    ):
        assert getattr(other, what) == getattr(meta, what), what
    before = out.read_bytes()
    assert written_again(path, table, form).read_bytes() == before


def stata(path: Path, **more: object) -> Path:
    frame = pd.DataFrame(
        {
            "q": [1, 2, "a", "z", None],
            "i": np.array([1, 2, 3, 4, 5], "int32"),
            "f": [1.5, np.nan, 2, 3, 4],
            "s": ["a", "", "ü", "x", "y"],
        }
    )
    labels = {"q": {1: "one", 2: "two", "a": "refused", "z": "don't know"}}
    pyreadstat.write_dta(
        frame,
        str(path),
        file_label="Survey",
        column_labels={"q": "Asked?"},
        variable_value_labels=labels,
        missing_user_values={"q": ["a", "z"]},
        **more,
    )
    return path


def test_stata_keeps_labels_and_extended_missing_answers(tmp_path):
    path = stata(tmp_path / "a.dta")
    table, form = read(path)
    asked = table["q"]
    assert asked.words.tolist() == ["1", "2", ".a", ".z", None] and asked.missing == {".a", ".z"}
    assert asked.labels == {"1": "one", "2": "two", ".a": "refused", ".z": "don't know"}
    assert asked.label == "Asked?" and asked.dtype == "integer"
    out = written_again(path, table, form)
    again, again_form = read(out)
    assert_same(table, again)
    assert again_form == form
    (was, meta), (now, other) = (pyreadstat.read_dta(str(p), user_missing=True) for p in (path, out))
    pd.testing.assert_frame_equal(now, was)
    for what in ("variable_value_labels", "column_names_to_labels", "readstat_variable_types", "file_label"):
        assert getattr(other, what) == getattr(meta, what), what


def test_pandas_reads_back_from_stata_what_it_wrote(tmp_path):
    frame = pd.DataFrame(
        {
            "c": pd.Categorical(["lo", "hi", "lo"], ["lo", "hi"], ordered=True),
            "d": pd.to_datetime(["2021-01-02", "2020-01-01", None]),
            "m": pd.to_datetime(["2021-01-01", "2020-02-01", None]),
            "i8": np.array([1, 2, 3], "int8"),
            "i16": np.array([1, 2, 3], "int16"),
            "f4": np.array([1.1, 2, 3], "float32"),
            "s": ["a", "b", ""],
            "texts": ["x" * 3000, "", "x" * 3000],
        }
    )
    path = tmp_path / "a.dta"
    stamp = dt.datetime(2020, 1, 1)
    frame.to_stata(
        path,
        write_index=False,
        convert_dates={"d": "td", "m": "tm"},
        version=118,
        convert_strl=["texts"],
        time_stamp=stamp,
    )
    table, form = read(path)
    assert table["d"].words.tolist() == ["2021-01-02", "2020-01-01", None] and table["d"].dtype == "date"
    assert table["m"].words.tolist() == ["2021-01-01", "2020-02-01", None]
    assert table["f4"].words.tolist() == ["1.1", "2", "3"]
    pd.testing.assert_frame_equal(pd.read_stata(written_again(path, table, form)), pd.read_stata(path))


@pytest.mark.parametrize("version", [5, 8])
def test_sas_transport_files_keep_names_labels_and_formats(tmp_path, version):
    frame = pd.DataFrame(
        {"Q1": [1.0, 2, None], "T": ["a", "01", ""], "D": [dt.date(2021, 3, 31), None, dt.date(1959, 1, 1)]}
    )
    path = tmp_path / "a.xpt"
    pyreadstat.write_xport(
        frame, str(path), column_labels={"Q1": "Asked?"}, table_name="TAB", file_format_version=version
    )
    table, form = read(path)
    assert answers(table) == {
        "Q1": ["1", "2", None],
        "T": ["a", "01", None],
        "D": ["2021-03-31", None, "1959-01-01"],
    }
    assert table["Q1"].label == "Asked?"
    out = written_again(path, table, form)
    again, again_form = read(out)
    assert_same(table, again)
    assert again_form == form
    pd.testing.assert_frame_equal(pyreadstat.read_xport(str(out))[0], pyreadstat.read_xport(str(path))[0])


@pytest.mark.parametrize("name", ["a.sav", "a.dta", "a.xpt"])
def test_labelled_files_of_no_row(tmp_path, name):
    writer = {".sav": pyreadstat.write_sav, ".dta": pyreadstat.write_dta, ".xpt": pyreadstat.write_xport}
    writer[name[1:]](
        pd.DataFrame({"A": pd.Series([], dtype=float), "T": pd.Series([], dtype=str)}), str(tmp_path / name)
    )
    assert through(tmp_path / name)[0] == {"A": [], "T": []}


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9, 0.99])
@pytest.mark.parametrize("name", ["a.sav", "a.zsav", "a.dta", "a.xpt"])
def test_a_file_that_is_cut_short_is_refused(tmp_path, name, share):
    path = tmp_path / name
    if name == "a.dta":
        stata(path)
    elif name == "a.xpt":
        pyreadstat.write_xport(pd.DataFrame({"Q": [1.0, 2, 3]}), str(path))
    else:
        spss(path, compress=name == "a.zsav")
    data = path.read_bytes()
    with pytest.raises(InputError, match="cut short|damaged"):
        read(made(path, data[: int(len(data) * share) | 1]))


def test_a_file_is_read_for_what_it_is(tmp_path):
    sav = spss(tmp_path / "a.sav").read_bytes()
    for name in ("b.csv", "b.dta", "b.parquet", "b"):
        table, form = read(made(tmp_path / name, sav))
        assert table.names == ["Q1", "W", "T", "D", "K"] and written_ending(form) == ".sav"
        assert "is an SPSS file, whatever its ending says" in table.said[0]


@pytest.mark.parametrize(
    "name", ["a.xlsx", "a.sav", "a.dta", "a.sas7bdat", "a.xpt", "a.parquet", "a.zip", "a.por"]
)
def test_text_under_another_kinds_ending_is_refused_with_the_remedy(tmp_path, name):
    with pytest.raises(InputError, match=r"which its ending stands for.*should be named \.csv"):
        read(made(tmp_path / name, PLAIN))


def test_files_of_no_kind_or_missing_are_refused(tmp_path):
    with pytest.raises(InputError, match="cannot read this kind of file; give one of .csv"):
        read(made(tmp_path / "a.dat", PLAIN))
    with pytest.raises(InputError, match="there is no such file"):
        read(tmp_path / "b.csv")
    with pytest.raises(InputError, match="save it as .xlsx"):
        read(made(tmp_path / "a.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100)))


# --- from the outside: the PUMS reader and the step that codes


OUTSIDE = {
    "semicolon": b"SEX;AGEP\n1;33\n2;\n",
    "tab": b"SEX\tAGEP\n1\t33\n2\t\n",
    "utf-16": "SEX,AGEP\n1,33\n2,\n".encode("utf-16"),
    "utf-8 with a mark": "SEX,AGEP\n1,33\n2,\n".encode("utf-8-sig"),
    "gzip": gzip.compress(b"SEX,AGEP\n1,33\n2,\n"),
    "line break in a name": b'"SEX, at\nbirth",SEX,AGEP\n9,1,33\n9,2,\n',
    "delimiter in a name": b'SEX,AGEP,"SEX, at birth"\n1,33,9\n2,,9\n',
    "delimiter in a value": b'SEX,AGEP,N\n1,33,"a, b"\n2,,"c\nd"\n',
}


@pytest.mark.parametrize("data", [*OUTSIDE.values(), b"sex,agep\n1,33\n2,\n"], ids=[*OUTSIDE, "lower case"])
def test_census_columns_are_found_in_a_csv_of_any_making(tmp_path, data):
    found = pums.read([made(tmp_path / "a.csv", data)], ["SEX", "AGEP"])
    assert found["SEX"].tolist() == [1, 2] and found["AGEP"].tolist() == [33, None]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('AGEP,"SEX, at birth"\n33,1\n', "(?s)lacks 1 of the columns.*SEX"),
        ('"AGE, years",SEX,AGEP\n33,1,2,9\n', "line 2 has 4 values, the header 3 names"),
        ("SEX,AGEP,SEX\n1,2,1\n", "two columns of the same name: SEX"),
    ],
)
@pytest.mark.parametrize("threads", [1, 2])
def test_census_columns_are_never_read_from_another_field(tmp_path, text, message, threads):
    before = pa.cpu_count()
    pa.set_cpu_count(threads)
    try:
        with pytest.raises(InputError, match=message):
            pums.read([made(tmp_path / "a.csv", text)], ["SEX", "AGEP"])
    finally:
        pa.set_cpu_count(before)


def test_census_columns_in_a_workbook_named_csv_are_refused_with_the_remedy(tmp_path):
    path = made(tmp_path / "a.csv", workbook(tmp_path / "a.xlsx", [["SEX"], [1]]).read_bytes())
    with pytest.raises(InputError, match="is an Excel workbook; save its sheet as CSV"):
        pums.read([path], ["SEX"])


QUESTIONS = """
name: t
title: t
records: persons
questions:
- {name: SEX, label: sex, categories: {1: m, 2: f}}
- name: AGE
  label: age
  column: "AGE, in years"
  categories: {33: young, 0: {label: not known, values: blank}}
"""
OWN = [["SEX", "AGE, in years"], [1, 33], [2, None]]
OWN_TEXT = 'SEX,"AGE, in years"\n1,33\n2,\n'


def coding_of(path: Path) -> list[str]:
    """The words that code this file, a table of one's own."""
    folder = path.parent
    made(folder / "q.yaml", QUESTIONS)
    made(folder / "d.yaml", f"title: t\nquestions: q\ntable: {{}}\nfiles: [{json.dumps(str(path))}]\n")
    words = ["code", "--files", path, "--dataset", folder / "d.yaml", "--seed", 1]
    words += ["--questions", folder / "q.yaml", "--records", folder / "r.parquet"]
    return list(map(str, [*words, "--holdout", folder / "h.parquet", "--codebook", folder / "c.json"]))


@pytest.mark.parametrize(
    "data",
    [
        OWN_TEXT.encode(),
        OWN_TEXT.replace(",33", ";33").replace(',"', ';"').replace("2,", "2;").encode("utf-16"),
        gzip.compress(OWN_TEXT.encode()),
        None,
    ],
    ids=["quoted header", "semicolon and utf-16", "gzip", "workbook"],
)
def test_a_table_of_ones_own_is_coded_whatever_made_it(tmp_path, data):
    data = data or workbook(tmp_path / "a.xlsx", OWN).read_bytes()
    assert main(coding_of(made(tmp_path / "a.csv", data))) == 0
    assert pd.read_parquet(tmp_path / "r.parquet").to_numpy().tolist() == [["1", "33"], ["2", "0"]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('SEX,"AGE, in years"\n1,33,4\n', "line 2 has 3 values, the header 2 names"),
        (
            "sex,AGE\n1,33\n",
            "lacks 2 of the columns that the question set names:\n  SEX; did you mean 'sex'?",
        ),
        ('SEX,"AGE, in years"\n1,33.5\n', "AGE, in years holds '33.5', which is not a whole number"),
        ('SEX,"AGE, in years"\n', "has a header and no records"),
    ],
)
def test_a_table_of_ones_own_that_cannot_be_coded_is_refused_in_a_sentence(tmp_path, capsys, text, message):
    assert main(coding_of(made(tmp_path / "a.csv", text))) == 1
    said = capsys.readouterr().err
    assert message in said and str(tmp_path / "a.csv") in said


# --- real files


@pytest.mark.pipeline
def test_census_file_of_wyoming_comes_back_column_by_column(tmp_path):
    path = shared("data", "csv_pwy.zip")
    table, form = read(path)
    out = tmp_path / "csv_pwy.zip"
    write(out, table, form)
    with zipfile.ZipFile(path) as was, zipfile.ZipFile(out) as now:
        assert now.namelist() == ["psam_p56.csv"]
        assert now.read("psam_p56.csv") == was.read("psam_p56.csv")
    assert table["PUMA"].kinds[0].startswith("00") and table["SERIALNO"].kinds[0].startswith("20")


def test_a_file_of_words_comes_back_byte_for_byte(tmp_path):
    path = shared("data", "nist_national2019_raw.csv")
    table, form = read(path)
    assert written_again(tmp_path / path.name, table, form).read_bytes() == path.read_bytes()
