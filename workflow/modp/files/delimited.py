"""Tables of delimited text: where their fields end, what their header says, how each column is quoted.

Quotes are double quotes, and one inside quotes is doubled, as spreadsheets, R, pandas, SAS and SPSS write.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from modp.base.errors import InputError
from modp.files.form import Spelling

DELIMITERS = ",;\t|"
"""Those that are recognised; any other must be stated."""
SNIFFED_RECORDS = 100
SNIFFED = 1 << 15
"""Characters from which the delimiter is told."""
QUOTES_SEEN = 1 << 18
"""Characters from which it is told which columns are quoted."""
PREAMBLE = re.compile(r"[\r\n]*(?:sep=(.)(\r\n|\n|\r))?", re.IGNORECASE)
"""Empty lines, and the line by which Excel is told the delimiter."""


@lru_cache
def _field(delimiter: str) -> re.Pattern[str]:
    other = rf"[^{re.escape(delimiter)}\r\n]*"
    return re.compile(rf'("[^"]*(?:""[^"]*)*"{other}|{other})({re.escape(delimiter)}|\r\n|\n|\r|\Z)')


def records(text: str, delimiter: str) -> Iterator[tuple[list[str], int, str]]:
    """Split a text into records.

    Yields
    ------
    the fields of a record with their quotes, where it ends (with its line end), and that line end
    """
    field, at, fields = _field(delimiter), 0, list[str]()
    while at < len(text):
        match = field.match(text, at)
        assert match is not None  # a field may be empty
        fields.append(match[1])
        at = match.end()
        if match[2] != delimiter:
            yield fields, at, match[2]
            fields = []
    if fields:
        yield [*fields, ""], at, ""


def bare(field: str) -> str:
    """Return what a field says, its quotes taken off."""
    match = re.fullmatch(r'"((?:[^"]|"")*)"(.*)', field, re.DOTALL)
    return match[1].replace('""', '"') + match[2] if match else field


def quoted(text: str) -> str:
    """Return a field in quotes."""
    return '"' + text.replace('"', '""') + '"'


def must_be_quoted(text: str, delimiter: str) -> bool:
    """Whether a field would be torn without quotes."""
    return any(mark in text for mark in (delimiter, '"', "\n", "\r"))


def sniffed(text: str) -> str:
    """Return the delimiter of a text; a comma where it holds none, as a table of one column."""
    head = text[:SNIFFED]
    lines = head.splitlines(keepends=True)
    if len(text) > SNIFFED and len(lines) > 1:
        lines.pop()
    present = [mark for mark in DELIMITERS if mark in lines[0]] if lines else []
    if len(present) < 2:
        return present[0] if present else ","
    import clevercsv

    try:
        dialect = clevercsv.Sniffer().sniff("".join(lines[:SNIFFED_RECORDS]), delimiters=DELIMITERS)
        found = dialect.delimiter if dialect else ""
    except clevercsv.Error:
        found = ""
    return found if found in present else max(present, key=lambda mark: len(next(records(head, mark))[0]))


def unique_names(header: Sequence[str], where: str) -> tuple[list[str], list[str]]:
    """Return names that are not empty and differ, and what was said of those that had to be made."""
    names: list[str] = []
    said: list[str] = []
    given = {name.strip() for name in header}
    for at, written in enumerate(header):
        name = written.strip()
        if not name:
            name = _free(f"column_{at + 1}", given | set(names))
            said.append(f"{where}: column {at + 1} has no name in the header; it is called {name} here")
        elif name in names:
            name = _free(name, given | set(names), start=2)
            said.append(f"{where}: column {at + 1} is a second {written.strip()!r}; it is called {name} here")
        names.append(name)
    return names, said


def _free(name: str, taken: set[str], start: int = 1) -> str:
    tries = [name] if start == 1 else []
    at = 2
    while not tries or tries[-1] in taken:
        tries.append(f"{name}_{at}")
        at += 1
    return tries[-1]


def quoting(rows: Sequence[Sequence[str]], width: int, delimiter: str) -> list[Spelling]:
    """Tell how each of ``width`` columns is quoted, from some records with their quotes."""
    columns = [_quoting([row[at] for row in rows], delimiter) for at in range(width)]
    answered = [quoted for quoted, _, _ in columns if quoted is not None]
    blanks = [blank for _, _, blank in columns if blank is not None]
    all_quoted = bool(answered) and all(answered)
    usual = bool(blanks) and 2 * sum(blanks) > len(blanks)
    if not blanks:
        usual = all_quoted and not any(unquoted for _, unquoted, _ in columns)
    return [
        Spelling(
            quoted=all_quoted if quoted is None else quoted,
            bare=unquoted,
            blank_quoted=usual if blank is None else blank,
        )
        for quoted, unquoted, blank in columns
    ]


def _quoting(fields: Sequence[str], delimiter: str) -> tuple[bool | None, frozenset[str], bool | None]:
    blanks = [field == '""' for field in fields if field in ("", '""')]
    blank = 2 * sum(blanks) > len(blanks) if blanks else None
    filled = [field for field in fields if field not in ("", '""')]
    needless = [f for f in filled if f[0] == '"' and not must_be_quoted(bare(f), delimiter)]
    if not filled or (len(needless) == 0 and any(f[0] == '"' for f in filled) and len(filled) < 3):
        return None, frozenset(), blank
    unquoted = [field for field in filled if field[0] != '"']
    if len(needless) <= len(unquoted) / 2:
        return False, frozenset(), blank
    return True, frozenset(field.strip() for field in unquoted), blank


def require_closed_quotes(text: str, delimiter: str, where: str) -> None:
    """Raise InputError naming the first line of ``text`` on which a quote is opened and nowhere closed."""
    at = 0
    for fields, end, _ in records(text, delimiter):
        if any(field.startswith('"') and bare(field) == field for field in fields):
            raise InputError(
                f"{where} cannot be read as CSV: line {1 + _line_ends(text[:at]):,} opens a double quote "
                "that is not closed"
            )
        at = end


def require_widths(text: str, delimiter: str, width: int, where: str, skip: int) -> None:
    """Raise InputError naming the first record whose number of values is not the header's.

    Parameters
    ----------
    text : the whole text, of which the first ``skip`` characters (the header) are left out
    """
    line = 1 + _line_ends(text[:skip])
    at = skip
    for fields, end, _ in records(text[skip:], delimiter):
        if len(fields) != width and fields != [""]:
            raise InputError(wrong_width(where, f"line {line:,}", len(fields), width))
        line += _line_ends(text[at : skip + end])
        at = skip + end


def wrong_width(where: str, line: str, found: int, width: int) -> str:
    """Say that a record has another number of values than the header has names."""
    hint = ""
    if width == 1:
        hint = " (is it a title? delete what stands above the columns' names)"
    elif found == width + 1:
        hint = " (does the header lack a name for the rows' names, or does each row end with a delimiter?)"
    return (
        f"{where} cannot be read as CSV: {line} has {found:,} value{'s' * (found != 1)}, "
        f"the header {width:,} name{'s' * (width != 1)}{hint}; a value with a delimiter inside must "
        "stand in double quotes"
    )


def _line_ends(text: str) -> int:
    return text.count("\n") + text.count("\r") - text.count("\r\n")
