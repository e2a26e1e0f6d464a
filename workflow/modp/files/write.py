"""Writing a table in the form of the file that another was read from."""

from collections.abc import Sequence
from pathlib import Path

from modp.base.errors import InputError
from modp.base.output import written
from modp.files.form import ExcelForm, Form, LabelledForm, ParquetForm, TextForm
from modp.files.table import Column, Table


def write(path: Path, table: Table, form: Form) -> None:
    """Write a table in a file's form: its columns in their order, types, labels, spelling and encoding.

    A file read from an input and written in that input's form says the same as the input; a text table
    of usual making is the same byte for byte.

    Parameters
    ----------
    path : of the file to write, which is there only when it is whole. Its ending should be
        :func:`modp.files.form.written_ending` of ``form``
    table : columns of the form's names; one that is missing is written blank
    form : as :func:`modp.files.read.read` found it

    Raises
    ------
    InputError
        if the table has a column that the form lacks, or an answer that the form's type or encoding
        cannot hold
    """
    unknown = sorted(set(table.names) - set(form.names))
    if unknown:
        raise InputError(f"{path}: the input has no column {', '.join(unknown)}")
    by_name = {column.name: column for column in table.columns}
    columns, rows = [by_name.get(name) for name in form.names], len(table)
    with written(path) as temporary:
        try:
            _write(temporary, columns, rows, form)
        except InputError as failure:
            raise InputError(str(failure).replace(str(temporary), str(path))) from None


def _write(path: Path, columns: Sequence[Column | None], rows: int, form: Form) -> None:
    if isinstance(form, TextForm):
        from modp.files.textual import write_text

        write_text(path, columns, rows, form)
    elif isinstance(form, ParquetForm):
        from modp.files.parquet import write_parquet

        write_parquet(path, columns, rows, form)
    elif isinstance(form, ExcelForm):
        from modp.files.excel import write_excel

        write_excel(path, columns, rows, form)
    elif isinstance(form, LabelledForm):
        from modp.files.labelled import write_labelled

        write_labelled(path, columns, rows, form)
    else:
        raise TypeError(type(form).__name__)
