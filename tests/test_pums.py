import http.server
import json
import threading
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT, shared

from modp import pums
from modp.__main__ import main
from modp.config import check, load
from modp.errors import InputError

TEXAS = {"year": 2022, "records": "persons", "states": ["tx"]}


def csv_file(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def zip_file(path: Path, **members: str) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in members.items():
            archive.writestr(name.replace("__", "/").replace("_csv", ".csv").replace("_pdf", ".pdf"), text)
    return path


def test_a_number_may_be_written_in_several_ways(tmp_path):
    file = csv_file(tmp_path / "a.csv", "RT,SCHL,AGEP\nP,01,1\nP,1,2\nP,1.0,3\nP, 1,4\nP,,5\nP,-7,6\n")
    values = pums.read([file], ["SCHL", "AGEP"])
    assert values["SCHL"].tolist() == [1, 1, 1, 1, None, -7]
    assert values["SCHL"].dtype == np.int32
    assert values["AGEP"].tolist() == [1, 2, 3, 4, 5, 6]


def test_line_ends_do_not_matter(tmp_path):
    unix = csv_file(tmp_path / "a.csv", "A,B\n1,2\n3,\n")
    dos = tmp_path / "b.csv"
    dos.write_bytes(b"\xef\xbb\xbf" + unix.read_bytes().replace(b"\n", b"\r\n"))
    one, other = (pums.read([f], ["A", "B"]) for f in (unix, dos))
    assert all(one[c].tolist() == other[c].tolist() for c in "AB")


def test_all_csv_members_of_a_zip_are_read_and_nothing_else(tmp_path):
    file = zip_file(
        tmp_path / "z.zip", psam_pusb_csv="A\n3\n", README_pdf="A\n9\n", psam_pusa_csv="A\n1\n2\n"
    )
    assert pums.read([file], ["A"])["A"].tolist() == [1, 2, 3]


def test_a_part_that_is_all_blank_joins_one_that_is_not(tmp_path):
    first = csv_file(tmp_path / "a.csv", "A,B\n1,\n2,\n")
    second = csv_file(tmp_path / "b.csv", "B,A\n7,3\n")
    assert pums.read([first, second], ["A", "B"])["B"].tolist() == [None, None, 7]


def test_parquet_with_floats_and_blanks_reads_like_csv(tmp_path):
    pd.DataFrame({"A": [1.0, np.nan], "B": pd.array([None, 4], "Int64")}).to_parquet(tmp_path / "a.parquet")
    values = pums.read([tmp_path / "a.parquet"], ["A", "B"])
    assert values["A"].tolist() == [1, None] and values["B"].tolist() == [None, 4]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "SEX,AGEPP\n1,2\n", "lacks 2 of the columns"),
        ("a.csv", "SEX,AGEP,MAR\n1,x7,1\n", "AGEP holds 'x7'"),
        ("a.csv", "SEX,AGEP,MAR\n1,2.5,1\n", "not a whole number"),
        ("a.csv", "SEX,AGEP,MAR\n", "no records"),
        ("a.csv", "SEX,AGEP,MAR\n1,2\n", "cannot be read as CSV"),
        ("a.zip", "<html>403 Forbidden</html>", "damaged or no zip file"),
        ("a.sas7bdat", "", "cannot read this kind of file"),
        ("a.parquet", "PAR0", "cannot be read as Parquet"),
    ],
)
def test_faulty_files_are_refused_with_place_and_reason(tmp_path, name, content, message):
    with pytest.raises(InputError, match=name) as failure:
        pums.read([csv_file(tmp_path / name, content)], ["SEX", "AGEP", "MAR"])
    assert message in str(failure.value)


def test_missing_columns_are_listed_together_with_their_nearest_names(tmp_path):
    with pytest.raises(InputError) as failure:
        pums.read([csv_file(tmp_path / "a.csv", "SEX,AGEPP\n1,2\n")], ["SEX", "AGEP", "XYZ"])
    assert "AGEP; did you mean 'AGEPP'?" in str(failure.value) and "XYZ" in str(failure.value)


def test_zip_without_csv_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"holds no CSV file, only: README.pdf"):
        pums.read([zip_file(tmp_path / "z.zip", README_pdf="x")], ["A"])


def test_wyoming_file_is_read_as_the_census_serves_it(stums):
    values = pums.read([shared("data", "csv_pwy.zip")], stums.columns)
    frame = pd.read_csv(shared("data", "csv_pwy.zip"), usecols=stums.columns)
    assert len(values["SEX"]) == 5861
    for column in stums.columns:
        expected = [None if pd.isna(v) else int(v) for v in frame[column]]
        assert values[column].tolist() == expected


def test_texas_2022_is_where_the_paper_took_it():
    dataset = load(ROOT / "workflow/datasets/stums.yaml", pums.Dataset)
    assert dataset.names == ["csv_ptx.zip"]
    assert dataset.url("csv_ptx.zip") == (
        "https://www2.census.gov/programs-surveys/acs/data/pums/2022/1-Year/csv_ptx.zip"
    )


def test_2020_one_year_files_are_at_their_experimental_address():
    source = {"year": 2020, "records": "housing", "states": ["wy"]}
    dataset = check({"title": "t", "questions": "q", "census": source}, pums.Dataset, "d.yaml")
    assert dataset.url("csv_hwy.zip").endswith("/acs/experimental/2020/data/pums/1-Year/csv_hwy.zip")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"title": "t", "questions": "q"}, "give either 'files'"),
        ({"title": "t", "questions": "q", "file": ["a"]}, "did you mean 'files'"),
        ({"title": "t", "questions": "q", "files": ["a/x.zip", "b/x.zip"]}, "same name: x.zip"),
        (
            {
                "title": "t",
                "questions": "q",
                "census": {**TEXAS, "states": ["TX"]},
            },
            "'tx'",
        ),
        (
            {
                "title": "t",
                "questions": "q",
                "census": {**TEXAS, "year": "2022"},
            },
            "year",
        ),
    ],
)
def test_faulty_datasets_are_refused(content, message):
    with pytest.raises(InputError, match="d.yaml") as failure:
        check(content, pums.Dataset, "d.yaml")
    assert message in str(failure.value)


class Server(http.server.BaseHTTPRequestHandler):
    """Serves what the test put into ``answer``: status, headers, body."""

    answer: tuple[int, dict, bytes] = (404, {}, b"")
    agents: list = []  # noqa: RUF012

    def do_GET(self):
        status, headers, body = self.answer
        self.agents.append(self.headers["User-Agent"])
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def address():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/csv_pwy.zip"
    server.shutdown()
    server.server_close()


def fetch(address: str, folder: Path) -> pums.Provenance:
    return pums.fetch(address, folder / "f.zip", Path("data/downloads/f.zip"), lambda *_: None)


def test_a_good_download_is_kept_with_its_provenance(address, tmp_path):
    body = zip_file(tmp_path / "src.zip", psam_p56_csv="A\n1\n").read_bytes()
    modified = "Wed, 13 Sep 2023 14:00:00 GMT"
    Server.answer = (200, {"Content-Length": str(len(body)), "Last-Modified": modified}, body)
    provenance = fetch(address, tmp_path)
    assert (tmp_path / "f.zip").read_bytes() == body
    assert (provenance.source, provenance.bytes, provenance.modified) == (address, len(body), modified)
    assert provenance.sha256 == pums.sha256(tmp_path / "src.zip")
    assert Server.agents[-1] == pums.USER_AGENT


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ((404, {}, b""), "the server answered 404"),
        ((403, {}, b"<html>403 Forbidden</html>"), "the server answered 403"),
        ((200, {}, b"<html>403 Forbidden</html>"), "it begins with '<html>403 Forbidden</html>'"),
        ((200, {}, b""), "not a zip file"),
        ((200, {"Content-Length": "1000"}, b"PK" * 200), "the connection broke off"),
    ],
)
def test_a_bad_answer_never_becomes_a_file(address, tmp_path, answer, reason):
    Server.answer = answer
    with pytest.raises(InputError) as failure:
        fetch(address, tmp_path)
    message = str(failure.value)
    assert address in message and "data/downloads/f.zip" in message
    assert reason in message
    assert list(tmp_path.iterdir()) == []


def test_no_server_at_all_is_said_at_once(tmp_path):
    with pytest.raises(InputError, match="connection refused"):
        fetch("http://127.0.0.1:9/csv_pwy.zip", tmp_path)


def acquire(tmp_path: Path, dataset: Path, file: str) -> int:
    out = tmp_path / "out" / file
    options = {
        "--dataset": dataset,
        "--file": file,
        "--downloads": tmp_path / "downloads",
        "--out": out,
        "--provenance": f"{out}.provenance.json",
        "--log": tmp_path / "log.txt",
    }
    return main(["acquire", *(str(x) for pair in options.items() for x in pair)])


def test_a_file_fetched_by_hand_is_taken_instead_of_the_network(tmp_path):
    by_hand = tmp_path / "downloads/2022-1-Year/csv_ptx.zip"
    by_hand.parent.mkdir(parents=True)
    zip_file(by_hand, psam_p48_csv="A\n1\n")
    assert acquire(tmp_path, ROOT / "workflow/datasets/stums.yaml", "csv_ptx.zip") == 0
    assert (tmp_path / "out/csv_ptx.zip").read_bytes() == by_hand.read_bytes()
    provenance = json.loads((tmp_path / "out/csv_ptx.zip.provenance.json").read_text())
    assert provenance["source"].startswith("https://www2.census.gov/")


def test_a_local_file_that_is_missing_is_named(tmp_path):
    dataset = tmp_path / "d.yaml"
    dataset.write_text("title: t\nquestions: stums\nfiles: [nowhere/x.zip]\n")
    assert acquire(tmp_path, dataset, "x.zip") == 1
    assert "nowhere/x.zip: there is no such file" in (tmp_path / "log.txt").read_text()
    assert not (tmp_path / "out/x.zip").exists()
