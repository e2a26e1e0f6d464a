"""How a file is to be read, where that is not found out by itself."""

from typing import Literal

from modp.base.config import Strict


class TableOptions(Strict):
    """What a dataset YAML may say of its file: ``encoding``, ``delimiter``, ``decimal`` sign, ``sheet``.

    What is not said is found out.
    """

    encoding: str | None = None
    delimiter: str | None = None
    decimal: Literal[".", ","] | None = None
    sheet: str | int | None = None
