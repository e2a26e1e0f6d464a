"""The form of a file: what is needed, beside the answers, to write a table that looks like it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from modp.files.content import kind_of_ending


@dataclass(frozen=True)
class Spelling:
    """How a file spells the answers of one column where that differs from ``Column.kinds``.

    texts : answer -> its text in the file, with the blanks around it
    blank : how an empty answer is written
    width : the number of characters to which every answer is filled with blanks, 0 if they are not
    left : whether these blanks stand before the answer
    comma : whether numbers are written with a decimal comma
    quoted : whether each answer stands in quotes; if not, only those that must
    bare : answers that stand without quotes where the others have them, such as R's ``NA``
    blank_quoted : whether an empty answer is written as two quotes
    """

    texts: Mapping[str, str] = field(default_factory=dict)
    blank: str = ""
    width: int = 0
    left: bool = False
    comma: bool = False
    quoted: bool = False
    bare: frozenset[str] = frozenset()
    blank_quoted: bool = False


@dataclass(frozen=True)
class Form:
    """The form of a file of k columns, which are known even where they were not loaded.

    ending : of a file of this form, such as ``.csv.gz``
    names : of the columns, as in ``Table`` (unique)
    header : of the columns, as the file has them (some may be empty, or the same)
    spelling : of the columns that were loaded, where the file writes text
    """

    ending: str
    names: tuple[str, ...]
    header: tuple[str, ...]
    spelling: Mapping[str, Spelling] = field(default_factory=dict)


@dataclass(frozen=True)
class TextForm(Form):
    """The form of a table of delimited text, alone, compressed or in a zip.

    delimiter, line_end : as the file has them
    encoding, mark : Python's name of the encoding, and the bytes before the text that tell it (BOM)
    preamble : what stands before the header, such as Excel's ``sep=;``
    header_quoted : whether each name of the header stands in quotes, also where it is empty
    ends_with_line : whether the last record is followed by a line's end
    member : name in the zip, if it is one
    """

    delimiter: str = ","
    line_end: str = "\n"
    encoding: str = "utf-8"
    mark: bytes = b""
    preamble: str = ""
    header_quoted: bool = False
    ends_with_line: bool = True
    member: str = ""


@dataclass(frozen=True)
class ParquetForm(Form):
    """The form of a Parquet file.

    schema : with pandas' own remarks
    compression : of its pages
    categories : column -> the categories that its type lists, also those that nobody chose
    empty : columns of text whose blanks are empty texts, not nulls
    """

    schema: pa.Schema = field(default_factory=lambda: pa.schema([]))
    compression: str = "snappy"
    categories: Mapping[str, pa.Array] = field(default_factory=dict)
    empty: frozenset[str] = frozenset()


@dataclass(frozen=True)
class ExcelForm(Form):
    """The form of a sheet of a workbook.

    sheet : its title
    above : number of empty rows above the header
    formats : column -> the number format of its cells
    dtypes : column -> its ``Column.dtype``
    words : column -> those of its answers that look like numbers, dates or truth values and are text
    """

    sheet: str = "Sheet1"
    above: int = 0
    formats: Mapping[str, str] = field(default_factory=dict)
    dtypes: Mapping[str, str] = field(default_factory=dict)
    words: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class LabelledForm(Form):
    """The form of a file of SPSS, Stata or SAS.

    types : column -> how the file stores it: ``double``, ``float``, ``int32``, ``int16``, ``int8`` or
        ``string``
    formats : column -> its display format, such as ``F8.2``, ``%td`` or ``DATE9``
    widths : column -> bytes of a text
    labels : column -> what the file says that it is
    label_sets : name -> value -> label, as the file has them
    label_set_of : column -> name of its set
    missing : column -> SPSS's declared missing values and ranges
    measures, display_widths : of SPSS's variable view
    title, notes, table_name : of the file
    compression : of an SPSS file: 0 none, 1 of rows, 2 of the whole (zsav)
    version : of a SAS transport file, 5 or 8
    """

    types: Mapping[str, str] = field(default_factory=dict)
    formats: Mapping[str, str] = field(default_factory=dict)
    widths: Mapping[str, int] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    label_sets: Mapping[str, Mapping[float | str, str]] = field(default_factory=dict)
    label_set_of: Mapping[str, str] = field(default_factory=dict)
    missing: Mapping[str, list[Mapping[str, float | str]]] = field(default_factory=dict)
    measures: Mapping[str, str] = field(default_factory=dict)
    display_widths: Mapping[str, int] = field(default_factory=dict)
    title: str = ""
    notes: tuple[str, ...] = ()
    table_name: str = ""
    compression: int = 0
    version: int = 8


INSTEAD = {"sas": ".xpt", "portable": ".sav"}
"""Endings for kinds that nobody can write, or only without their labels."""


def written_ending(form: Form) -> str:
    """Return the ending of a file that :func:`modp.files.write.write` writes in this form.

    That is the input's own, but ``.xpt`` for a SAS data set, whose form only SAS can write, and ``.sav``
    for an SPSS portable file, which would lose its labels.
    """
    return INSTEAD.get(kind_of_ending(form.ending) or "", form.ending)
