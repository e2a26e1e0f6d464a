"""In which encoding a text is, by what stands before it, by trying, or by a guess."""

import codecs
import mmap
from dataclasses import dataclass

from modp.base.errors import InputError

MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
GUESSED = [
    "cp1252",
    "cp1250",
    "cp1251",
    "cp1253",
    "cp1254",
    "cp1255",
    "cp1256",
    "cp1257",
    "cp932",
    "euc_jp",
    "gb18030",
    "big5",
    "cp949",
    "koi8_r",
    "mac_roman",
]
"""The encodings that tables are found in, from which a guess is taken."""
GUESSED_FROM = 1 << 16
"""Bytes from which an encoding is guessed."""

Bytes = bytes | mmap.mmap
"""A file's bytes, in memory or mapped from it."""


@dataclass(frozen=True)
class Encoding:
    """An encoding by Python's name, the bytes before the text that tell it, and what to say of it."""

    name: str
    mark: bytes = b""
    said: str = ""


def encoding_of(data: Bytes, stated: str | None, where: str, whole: bool = True) -> Encoding:
    """Return in which encoding ``data`` is.

    Parameters
    ----------
    data : a file's bytes, or its first ones if not ``whole``
    stated : the encoding that a person gave; then only its byte order is looked for

    Raises
    ------
    InputError
        if there is no encoding of that name, or the bytes are no text at all
    """
    mark, name = next(((mark, name) for mark, name in MARKS if data[:4].startswith(mark)), (b"", ""))
    if stated is not None:
        return _stated(stated, mark, name, where)
    if mark:
        said = (
            f"{where} is in {name.removesuffix('-le').removesuffix('-be').upper()}" if name[4] != "8" else ""
        )
        return Encoding(name, mark, said)
    wide = _unmarked_wide(data[:4096])
    if wide:
        return Encoding(wide, b"", f"{where} is in UTF-16 without a byte order mark")
    if data[:4096].count(0) * 20 > len(data[:4096]):
        raise InputError(
            f"{where} is no text: it holds bytes of value zero. What is it, and from which program?"
        )
    if is_utf8(data, whole):
        return Encoding("utf-8")
    name = _guess(data)
    return Encoding(
        name,
        b"",
        f"{where} is not in UTF-8; read as {name}, a guess (if letters look wrong, give the 'encoding')",
    )


def _stated(stated: str, mark: bytes, marked: str, where: str) -> Encoding:
    try:
        name = codecs.lookup(stated).name
        "".encode(name)
    except LookupError:
        raise InputError(
            f"{where}: there is no encoding {stated!r}; common ones are utf-8, utf-16, cp1252, "
            "latin-1, cp1251, cp932"
        ) from None
    if name == "utf-8-sig":
        name = "utf-8"
    if name in ("utf-16", "utf-32"):
        if marked.startswith(name):
            return Encoding(marked, mark)
        return Encoding(f"{name}-le")
    return Encoding(name, mark if marked == name else b"")


def _unmarked_wide(head: bytes) -> str:
    even, odd = head[::2].count(0), head[1::2].count(0)
    half = len(head) // 2
    if half > 1 and odd > 0.4 * half and even < 0.05 * half:
        return "utf-16-le"
    return "utf-16-be" if half > 1 and even > 0.4 * half and odd < 0.05 * half else ""


def is_utf8(data: Bytes, whole: bool = True) -> bool:
    """Whether the bytes are UTF-8; if they are not the ``whole`` text, a letter may be cut at the end."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    view = memoryview(data)
    try:
        for start in range(0, len(view), 1 << 22):
            decoder.decode(view[start : start + (1 << 22)])
        decoder.decode(b"", final=whole)
    except UnicodeDecodeError:
        return False
    return True


def _guess(data: Bytes) -> str:
    import charset_normalizer

    data = bytes(data)
    lines = [line for line in data.splitlines(keepends=True) if not line.isascii()]
    sample = b"".join(lines)[:GUESSED_FROM]
    found = charset_normalizer.from_bytes(sample, cp_isolation=GUESSED)
    likely = [name for match in found for name in (match.encoding, *match.could_be_from_charset)]
    for name in ["cp1252"] * ("cp1252" in likely) + likely + ["cp1252", "latin-1"]:
        try:
            data.decode(name)
            return name
        except UnicodeDecodeError:
            continue
    return "latin-1"


def decoded(data: Bytes, encoding: Encoding, where: str) -> str:
    """Return the text of a file's bytes, its mark left out.

    Raises
    ------
    InputError
        naming the encoding, the line and the byte that is not of it
    """
    try:
        return data[len(encoding.mark) :].decode(encoding.name)
    except UnicodeDecodeError as failure:
        raise InputError(bad_byte(data, failure.start + len(encoding.mark), encoding.name, where)) from None


def bad_byte(data: Bytes, at: int, name: str, where: str) -> str:
    """Say which byte, on which line, is not of this encoding."""
    line = data[:at].count(b"\n") + 1
    return (
        f"{where} is not in {name}: line {line:,} holds byte 0x{data[at]:02x} (byte {at:,} of the file), "
        "which is no text there. Give the right 'encoding', or leave it out to have it detected."
    )
