"""Reading any survey file into answers as text."""

from collections.abc import Collection
from pathlib import Path

from modp.base.errors import InputError, did_you_mean
from modp.files.content import ENDINGS, NAMES, REFUSED, ending, kind_of_ending, kind_of_file
from modp.files.form import Form
from modp.files.options import DETECTED, TableOptions
from modp.files.table import Table


def read(
    path: Path, options: TableOptions = DETECTED, columns: Collection[str] | None = None
) -> tuple[Table, Form]:
    """Read a table from a file, whatever program wrote it.

    A file is read for what it holds, not for what its ending says: an Excel workbook named ``.csv`` is
    read as a workbook, which ``Table.said`` tells.

    Parameters
    ----------
    path : a text table (.csv, .tsv, .txt, .tab, each also .gz), a zip of such, Parquet, Excel, SPSS,
        Stata or SAS
    options : where detection would guess wrong
    columns : the names of those to load; None loads all. The form knows all of them

    Returns
    -------
    table : its answers as text, and what was found out about the file
    form : what :func:`modp.files.write.write` needs to write such a file

    Raises
    ------
    InputError
        if the file is missing, empty, damaged or of another kind, its text is not in the encoding that was
        stated, a record has another width than the header, or it lacks one of ``columns``
    """
    if not path.is_file():
        raise InputError(f"{path}: there is no such file")
    if not path.stat().st_size:
        raise InputError(f"{path} is empty")
    said: list[str] = []
    kind = _kind(path, said)
    table, form = _read(path, kind, options, columns, said)
    lost = sorted(set(columns or ()) - set(form.names))
    if lost:
        listing = ", ".join(f"{name}{did_you_mean(name, form.names)}" for name in lost)
        raise InputError(f"{path} lacks {len(lost)} of the columns that are needed: {listing}")
    return table, form


def _kind(path: Path, said: list[str]) -> str:
    """What is in the file, a key of ``content.NAMES``."""
    held, named = kind_of_file(path), kind_of_ending(ending(path))
    if held in REFUSED and not (held == "json" and named == "text"):
        raise InputError(f"{path} is {REFUSED[held]}")
    if held == "json":
        held = None
    if held is None or held not in NAMES:
        if named == "text":
            return "text"
        if named is None:
            known = ", ".join(e for endings in ENDINGS.values() for e in endings if not e.endswith(".gz"))
            raise InputError(f"{path}: cannot read this kind of file; give one of {known} (text also .gz)")
        with path.open("rb") as file:
            start = file.read(24)
        raise InputError(
            f"{path} is not {NAMES[named]}, which its ending stands for: it begins with {start!r}. "
            "It may be damaged, or be a text table that should be named .csv"
        )
    expected = "gzip" if named == "text" and ending(path).lower().endswith(".gz") else named
    if held != expected:
        said.append(f"{path} is {NAMES[held]}, whatever its ending says, and is read as such")
    return held


def _read(
    path: Path, kind: str, options: TableOptions, columns: Collection[str] | None, said: list[str]
) -> tuple[Table, Form]:
    if kind in ("text", "gzip"):
        from modp.files.textual import read_text

        return read_text(path, kind == "gzip", options, columns, said)
    if kind == "zip":
        from modp.files.textual import read_zip

        return read_zip(path, options, columns, said)
    if kind == "parquet":
        from modp.files.parquet import read_parquet

        return read_parquet(path, columns, said)
    if kind == "excel":
        from modp.files.excel import read_excel

        return read_excel(path, options, columns, said)
    from modp.files.labelled import read_labelled

    return read_labelled(path, kind, options, columns, said)
