"""What a file is: told by its first bytes, not by its ending."""

import zipfile
from pathlib import Path
from typing import IO

HEAD = 1 << 16
"""Bytes that are looked at."""
LARGEST = 8 << 30
"""Bytes of one table when unpacked."""
UNPACKED = 1 << 30
"""Bytes up to which it does not matter how few they were when packed."""
TIMES = 200
"""How many times larger than packed a table is, at most."""

ENDINGS = {
    "text": (".csv", ".tsv", ".txt", ".tab", ".csv.gz", ".tsv.gz", ".txt.gz", ".tab.gz"),
    "zip": (".zip",),
    "parquet": (".parquet", ".pq"),
    "excel": (".xlsx", ".xlsm"),
    "spss": (".sav", ".zsav"),
    "portable": (".por",),
    "stata": (".dta",),
    "sas": (".sas7bdat",),
    "xport": (".xpt",),
}
"""The endings of each kind of file that can be read; a kind's first is the usual one."""

NAMES = {
    "text": "a text table",
    "gzip": "a gzip-compressed file",
    "zip": "a zip archive",
    "parquet": "a Parquet file",
    "excel": "an Excel workbook",
    "spss": "an SPSS file",
    "portable": "an SPSS portable file",
    "stata": "a Stata file",
    "sas": "a SAS data set",
    "xport": "a SAS transport file",
}

REFUSED = {
    "old excel": "an Excel workbook of the old kind (.xls) or under a password; save it as .xlsx without one",
    "opendocument": "an OpenDocument spreadsheet; save it as .xlsx or .csv",
    "html": "a web page; what was fetched is not the table but a page about it, or a refusal",
    "xml": "an XML document; save the table as .csv or .xlsx",
    "json": "JSON; save the table as .csv or .parquet",
    "pdf": "a PDF document; a table can be taken from .csv, .xlsx, .sav, .dta, .sas7bdat or .parquet",
    "feather": "an Arrow or Feather file; save it as .parquet",
    "r": "an R file; save the data frame as .parquet or .csv",
    "sqlite": "an SQLite database; export the table as .csv",
    "bzip2": "compressed by bzip2; unpack it, or compress it by gzip",
    "xz": "compressed by xz; unpack it, or compress it by gzip",
    "zstd": "compressed by zstd; unpack it, or compress it by gzip",
    "rar": "a RAR archive; unpack it",
    "7z": "a 7-Zip archive; unpack it",
}
"""Kinds that are recognised only to be refused, with what they are and the remedy."""

MAGIC = (
    (b"\x1f\x8b", "gzip"),
    (b"PAR1", "parquet"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "old excel"),
    (b"$FL2@(#)", "spss"),
    (b"$FL3@(#)", "spss"),
    (b"<stata_dta>", "stata"),
    (b"HEADER RECORD*******LIB", "xport"),
    (b"\0" * 12 + b"\xc2\xea\x81\x60", "sas"),
    (b"%PDF-", "pdf"),
    (b"ARROW1", "feather"),
    (b"FEA1", "feather"),
    (b"RDX", "r"),
    (b"RDA", "r"),
    (b"SQLite format 3\0", "sqlite"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\0", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"Rar!", "rar"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
)
OLD_STATA = frozenset({102, 103, 104, 105, 108, 110, 111, 112, 113, 114, 115})


def ending(path: Path) -> str:
    """Return the ending of a file's name as it is written there, ``.csv.gz`` as a whole."""
    suffixes = path.suffixes
    double = len(suffixes) > 1 and suffixes[-1].lower() == ".gz"
    return "".join(suffixes[-2:]) if double else path.suffix


def kind_of_ending(name: str) -> str | None:
    """Return the kind of file (a key of ``ENDINGS``) that an ending stands for, or None."""
    return next((kind for kind, endings in ENDINGS.items() if name.lower() in endings), None)


def honest_ending(ending: str, kind: str) -> str:
    """Return ``ending`` if it is one of this kind of file, else the kind's usual one."""
    return ending if ending.lower() in ENDINGS[kind] else ENDINGS[kind][0]


def largest_unpacked(packed: int) -> int:
    """Return to how many bytes so many may unpack; more are no table, but made to fill the memory."""
    return min(LARGEST, max(UNPACKED, TIMES * packed))


def kind_of_file(path: Path) -> str | None:
    """Return what ``path`` holds: a key of ``NAMES`` or ``REFUSED``; None for text or what is not known."""
    with path.open("rb") as file:
        head = file.read(HEAD)
        kind = kind_of_head(head)
        return _kind_of_zip(file) if kind == "zip" else kind


def kind_of_head(head: bytes) -> str | None:
    """Return what begins with ``head``, as :func:`kind_of_file` does; an Excel workbook is a zip here."""
    if head.startswith(b"PK\x03\x04") or head.startswith(b"PK\x05\x06"):
        return "zip"
    for magic, kind in MAGIC:
        if head.startswith(magic):
            return kind
    if b"SPSS PORT FILE" in head[:200]:
        return "portable"
    if len(head) > 3 and head[0] in OLD_STATA and head[1] in (1, 2) and head[2] == 1 and head[3] == 0:
        return "stata"
    return _kind_of_markup(head)


def _kind_of_markup(head: bytes) -> str | None:
    start = head[:512].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if start.startswith((b"<!doctype html", b"<html", b"<head", b"<body", b"<table")):
        return "html"
    if start.startswith(b"<?xml"):
        return "html" if b"<html" in start else "xml"
    return "json" if start.startswith((b'{"', b'[{"', b"[{\n", b"{\n", b"[\n")) else None


def _kind_of_zip(file: IO[bytes]) -> str:
    try:
        with zipfile.ZipFile(file) as archive:
            names = archive.namelist()
    except zipfile.BadZipFile:
        return "zip"
    if any(name.startswith("xl/") for name in names):
        return "excel"
    return "opendocument" if "mimetype" in names and "content.xml" in names else "zip"
