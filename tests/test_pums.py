import http.server
import json
import threading
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT, shared

from modp.__main__ import main
from modp.base.config import check, load
from modp.base.errors import InputError
from modp.pipeline.params import Params
from modp.pums import fetch as fetching
from modp.pums.read import read
from modp.pums.where import Dataset

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
    values = read([file], ["SCHL", "AGEP"])
    assert values["SCHL"].tolist() == [1, 1, 1, 1, None, -7]
    assert values["SCHL"].dtype == np.int32
    assert values["AGEP"].tolist() == [1, 2, 3, 4, 5, 6]


def test_line_ends_do_not_matter(tmp_path):
    unix = csv_file(tmp_path / "a.csv", "A,B\n1,2\n3,\n")
    dos = tmp_path / "b.csv"
    dos.write_bytes(b"\xef\xbb\xbf" + unix.read_bytes().replace(b"\n", b"\r\n"))
    one, other = (read([f], ["A", "B"]) for f in (unix, dos))
    assert all(one[c].tolist() == other[c].tolist() for c in "AB")


def test_all_csv_members_of_a_zip_are_read_and_nothing_else(tmp_path):
    file = zip_file(
        tmp_path / "z.zip", psam_pusb_csv="A\n3\n", README_pdf="A\n9\n", psam_pusa_csv="A\n1\n2\n"
    )
    assert read([file], ["A"])["A"].tolist() == [1, 2, 3]


def test_a_part_that_is_all_blank_joins_one_that_is_not(tmp_path):
    first = csv_file(tmp_path / "a.csv", "A,B\n1,\n2,\n")
    second = csv_file(tmp_path / "b.csv", "B,A\n7,3\n")
    assert read([first, second], ["A", "B"])["B"].tolist() == [None, None, 7]


def test_parquet_with_floats_and_blanks_reads_like_csv(tmp_path):
    pd.DataFrame({"A": [1.0, np.nan], "B": pd.array([None, 4], "Int64")}).to_parquet(tmp_path / "a.parquet")
    values = read([tmp_path / "a.parquet"], ["A", "B"])
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
        ("a.csv", "SEX,AGEP,MAR\n1,9999999999,1\n", "not a whole number below"),
        ("a.parquet", "PAR0", "cannot be read as Parquet"),
    ],
)
def test_faulty_files_are_refused_with_place_and_reason(tmp_path, name, content, message):
    with pytest.raises(InputError, match=name) as failure:
        read([csv_file(tmp_path / name, content)], ["SEX", "AGEP", "MAR"])
    assert message in str(failure.value)


def test_missing_columns_are_listed_together_with_their_nearest_names(tmp_path):
    with pytest.raises(InputError) as failure:
        read([csv_file(tmp_path / "a.csv", "SEX,AGEPP\n1,2\n")], ["SEX", "AGEP", "XYZ"])
    assert "AGEP; did you mean 'AGEPP'?" in str(failure.value) and "XYZ" in str(failure.value)


def test_a_damaged_member_is_refused_with_its_name(tmp_path):
    path = tmp_path / "z.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("psam_p56.csv", "A\n" + "".join(f"{i * 7919 % 1000}\n" for i in range(20_000)))
    content = bytearray(path.read_bytes())
    content[2000:2020] = bytes(20)
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"z.zip/psam_p56.csv is damaged"):
        read([path], ["A"])


@pytest.mark.parametrize(
    ("values", "found"),
    [
        (pd.Categorical(["1", "02", None]), [1, 2, None]),
        (pd.to_datetime(["2020-01-01"] * 3), None),
        ([[1], [2], [3]], None),
        (pd.Categorical(["x", "1", "2"]), None),
    ],
)
def test_parquet_columns_of_other_types_are_read_or_refused(tmp_path, values, found):
    pd.DataFrame({"A": values}).to_parquet(tmp_path / "a.parquet")
    if found is not None:
        assert read([tmp_path / "a.parquet"], ["A"])["A"].tolist() == found
        return
    with pytest.raises(InputError, match="a.parquet: A "):
        read([tmp_path / "a.parquet"], ["A"])


def test_zip_without_csv_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"holds no CSV file, only: README.pdf"):
        read([zip_file(tmp_path / "z.zip", README_pdf="x")], ["A"])


@pytest.mark.pipeline
def test_wyoming_file_is_read_as_the_census_serves_it(stums):
    values = read([shared("data", "csv_pwy.zip")], stums.columns)
    frame = pd.read_csv(shared("data", "csv_pwy.zip"), usecols=stums.columns)
    assert len(values["SEX"]) == 5861
    for column in stums.columns:
        expected = [None if pd.isna(v) else int(v) for v in frame[column]]
        assert values[column].tolist() == expected


def test_texas_2022_is_where_the_paper_took_it():
    base = load(ROOT / "params.yaml", Params).census.base_url
    for name, file in [("stums", "csv_ptx.zip"), ("stums-h", "csv_htx.zip")]:
        dataset = load(ROOT / f"workflow/datasets/{name}.yaml", Dataset)
        assert dataset.url(dataset.names[0], base) == (
            f"https://www2.census.gov/programs-surveys/acs/data/pums/2022/1-Year/{file}"
        )


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
        check(content, Dataset, "d.yaml")
    assert message in str(failure.value)


class Server(http.server.BaseHTTPRequestHandler):
    """Gives the scripted answers one after the other, the last one again and again.

    An answer is (status, headers, body); a negative status sends the headers of its absolute
    value and cuts the body off in the middle.
    """

    answers: list = []  # noqa: RUF012
    requests: list = []  # noqa: RUF012

    def do_GET(self):
        self.requests.append(dict(self.headers))
        status, headers, body = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        self.send_response(abs(status))
        for key, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if status < 0 else body)

    def log_message(self, *_):
        pass


@pytest.fixture
def address():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    Server.requests.clear()
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/csv_pwy.zip"
    server.shutdown()
    server.server_close()


@pytest.fixture
def body(tmp_path) -> bytes:
    return zip_file(tmp_path / "src.zip", psam_p56_csv="A\n" + "1\n" * 150_000).read_bytes()


MODIFIED = "Wed, 13 Sep 2023 14:00:00 GMT"
DATED = {"Last-Modified": MODIFIED, "ETag": '"v1"'}


def fetch(address: str, folder: Path, *answers: tuple) -> tuple[fetching.Provenance, list[float]]:
    """Fetch from the scripted server; return the provenance and the pauses between tries."""
    Server.answers = list(answers)
    folder.joinpath("raw").mkdir(exist_ok=True)
    pauses: list[float] = []
    provenance = fetching.fetch(
        address,
        folder / "raw/f.zip",
        Path("data/downloads/f.zip"),
        lambda *_: None,
        lambda _: None,
        pauses.append,
    )
    return provenance, pauses


def kept(body: bytes) -> int:
    """How much is kept of a body that was cut off in the middle: its whole chunks."""
    return len(body) // 2 // fetching.CHUNK * fetching.CHUNK


def left(folder: Path) -> list[str]:
    return sorted(file.name for file in (folder / "raw").iterdir())


def test_a_good_download_is_kept_with_its_provenance(address, tmp_path, body):
    provenance, pauses = fetch(address, tmp_path, (200, DATED, body))
    assert (tmp_path / "raw/f.zip").read_bytes() == body
    assert (provenance.source, provenance.bytes, provenance.modified) == (address, len(body), MODIFIED)
    assert provenance.sha256 == fetching.sha256(tmp_path / "src.zip")
    assert Server.requests[0]["User-Agent"] == fetching.USER_AGENT
    assert left(tmp_path) == ["f.zip"] and pauses == []


@pytest.mark.parametrize(
    "bad",
    [
        (503, {}, b"try later"),
        (429, {}, b""),
        (200, {}, b"<HTML>Reference #97</HTML>"),
        (200, {}, b""),
        (200, {"Content-Length": "100000"}, b"PK" * 200),
    ],
)
def test_a_passing_fault_is_tried_again_with_growing_pauses(address, tmp_path, body, bad):
    _, pauses = fetch(address, tmp_path, bad, bad, (200, {}, body))
    assert pauses == [1, 2]
    assert (tmp_path / "raw/f.zip").read_bytes() == body


def test_the_server_may_say_how_long_to_wait(address, tmp_path, body):
    _, pauses = fetch(address, tmp_path, (429, {"Retry-After": "7"}, b""), (200, {}, body))
    assert pauses == [7]


def test_a_broken_transfer_goes_on_where_it_stopped(address, tmp_path, body):
    fetch(address, tmp_path, (-200, DATED, body), (206, DATED, body[kept(body) :]))
    assert Server.requests[1]["Range"] == f"bytes={kept(body)}-"
    assert Server.requests[1]["If-Range"] == '"v1"'
    assert (tmp_path / "raw/f.zip").read_bytes() == body


def test_a_file_that_changed_during_the_break_starts_anew(address, tmp_path, body):
    fetch(address, tmp_path, (-200, DATED, b"x" * 50), (200, {"ETag": '"v2"'}, body))
    assert (tmp_path / "raw/f.zip").read_bytes() == body


def test_a_server_that_cannot_resume_sends_the_whole_again(address, tmp_path, body):
    fetch(address, tmp_path, (-200, {}, body), (200, {}, body))
    assert "Range" not in Server.requests[1]
    assert (tmp_path / "raw/f.zip").read_bytes() == body


def test_a_later_run_goes_on_with_what_an_earlier_one_left(address, tmp_path, body):
    with pytest.raises(InputError, match="broke off"):
        fetch(address, tmp_path, *[(-200, DATED, body)] * 5)
    assert left(tmp_path) == ["f.zip.part", "f.zip.part.of"]
    fetch(address, tmp_path, (206, DATED, body[kept(body) :]))
    assert (tmp_path / "raw/f.zip").read_bytes() == body


@pytest.mark.parametrize(
    ("answer", "reason", "tries"),
    [
        ((404, {}, b""), "the server answered 404", 1),
        ((403, {}, b"<html>403 Forbidden</html>"), "the server answered 403", 1),
        ((503, {}, b""), "the server answered 503", 5),
        ((200, {}, b"<html>403 Forbidden</html>"), "it begins with '<html>403 Forbidden</html>'", 5),
        ((200, {"Content-Length": str(1 << 40)}, b"PK"), "more than any PUMS file", 1),
    ],
)
def test_a_bad_answer_never_becomes_a_file(address, tmp_path, answer, reason, tries):
    with pytest.raises(InputError) as failure:
        fetch(address, tmp_path, answer)
    message = str(failure.value)
    assert address in message and "data/downloads/f.zip" in message
    assert reason in message
    assert len(Server.requests) == tries
    assert left(tmp_path) == []


def test_no_server_at_all_is_said_at_once(tmp_path):
    with pytest.raises(InputError, match="connection refused"):
        fetch("http://127.0.0.1:9/csv_pwy.zip", tmp_path, ())


def acquire(tmp_path: Path, dataset: Path, file: str, base_url: str = "http://127.0.0.1:9") -> int:
    out = tmp_path / "out" / file
    options = {
        "--dataset": dataset,
        "--file": file,
        "--base-url": base_url,
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
    assert provenance["source"] == "http://127.0.0.1:9/data/pums/2022/1-Year/csv_ptx.zip"


def test_a_mirror_may_be_asked_instead_of_census(tmp_path, address):
    good = zip_file(tmp_path / "good.zip", psam_p48_csv="A\n1\n").read_bytes()
    Server.answers = [(200, {}, good)]
    mirror = address.rsplit("/", 1)[0]
    assert acquire(tmp_path, ROOT / "workflow/datasets/stums.yaml", "csv_ptx.zip", mirror) == 0
    assert (tmp_path / "out/csv_ptx.zip").read_bytes() == good
    provenance = json.loads((tmp_path / "out/csv_ptx.zip.provenance.json").read_text())
    assert provenance["source"] == f"{mirror}/data/pums/2022/1-Year/csv_ptx.zip"


def test_another_states_zip_is_not_kept(tmp_path, address):
    Server.answers = [(200, {}, zip_file(tmp_path / "wrong.zip", psam_p56_csv="A\n1\n").read_bytes())]
    mirror = address.rsplit("/", 1)[0]
    assert acquire(tmp_path, ROOT / "workflow/datasets/stums.yaml", "csv_ptx.zip", mirror) == 1
    assert "should hold psam_p48.csv, but holds psam_p56.csv" in (tmp_path / "log.txt").read_text()
    assert not list((tmp_path / "out").iterdir())


def test_a_page_saved_by_a_browser_is_not_taken_for_a_zip(tmp_path):
    by_hand = tmp_path / "downloads/2022-1-Year/csv_ptx.zip"
    by_hand.parent.mkdir(parents=True)
    by_hand.write_text("<html>403 Forbidden</html>")
    assert acquire(tmp_path, ROOT / "workflow/datasets/stums.yaml", "csv_ptx.zip") == 1
    assert "downloads/2022-1-Year/csv_ptx.zip is not a zip file" in (tmp_path / "log.txt").read_text()
    assert not (tmp_path / "out/csv_ptx.zip").exists()


def test_a_file_that_is_not_the_pinned_one_stops_with_both_hashes(tmp_path):
    source = zip_file(tmp_path / "x.zip", a_csv="A\n1\n")
    dataset = tmp_path / "d.yaml"
    dataset.write_text(f"title: t\nquestions: stums\nfiles: [{source}]\nsha256: {{x.zip: '{'0' * 64}'}}\n")
    assert acquire(tmp_path, dataset, "x.zip") == 1
    said = (tmp_path / "log.txt").read_text()
    assert "0" * 64 in said and fetching.sha256(source) in said
    assert not (tmp_path / "out/x.zip").exists()
    dataset.write_text(dataset.read_text().replace("0" * 64, fetching.sha256(source)))
    assert acquire(tmp_path, dataset, "x.zip") == 0


def test_a_local_file_that_is_missing_is_named(tmp_path):
    dataset = tmp_path / "d.yaml"
    dataset.write_text("title: t\nquestions: stums\nfiles: [nowhere/x.zip]\n")
    assert acquire(tmp_path, dataset, "x.zip") == 1
    assert "nowhere/x.zip: there is no such file" in (tmp_path / "log.txt").read_text()
    assert not (tmp_path / "out/x.zip").exists()
