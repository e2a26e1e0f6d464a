"""What a data set may say about its table where detection would guess wrong."""

from typing import Literal

from pydantic import Field

from modp.base.config import Strict


class TableOptions(Strict):
    """How a table is to be read; what is left out is detected.

    ``encoding``, ``delimiter`` and ``decimal`` are of a text file (.csv, .tsv …), ``sheet`` (a name, or
    a number from 1) is of an Excel workbook.
    """

    encoding: str | None = None
    delimiter: str | None = Field(default=None, min_length=1, max_length=1)
    decimal: Literal[".", ","] | None = None
    sheet: str | int | None = None


DETECTED = TableOptions()
"""Nothing is stated, all is detected."""
