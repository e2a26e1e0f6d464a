"""Fetching PUMS files: streamed, resumed, checked, whole or not at all."""

import hashlib
import re
import time
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import requests

from modp.base.errors import InputError

USER_AGENT = "Mozilla/5.0 (compatible; modp synthetic data pipeline)"
TIMEOUT_S = (5, 60)
PAUSES_S = (1, 2, 4, 8)
LONGEST_PAUSE_S = 60
CHUNK = 1 << 16
LARGEST_DOWNLOAD = 8 << 30

NO_SERVER = {
    "Failed to resolve": "its name cannot be resolved",
    "Connection refused": "connection refused",
    "Network is unreachable": "network is unreachable",
    "No route to host": "no route to host",
}
"""Failures that a second try seconds later does not mend, in the words of the libraries and in ours."""


@dataclass(frozen=True)
class Provenance:
    """What is known of an acquired file; ``modified`` is the server's date, where it gave one."""

    source: str
    bytes: int
    sha256: str
    modified: str | None


def sha256(path: Path) -> str:
    """Return the file's sha256 as hexadecimal text."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class _FaultError(Exception):
    """The server's answer is not the file; ``again`` if another try may bring it."""

    def __init__(self, reason: str, again: bool, pause_s: float = 0):
        super().__init__(reason)
        self.again, self.pause_s = again, pause_s


def fetch(
    url: str,
    target: Path,
    by_hand: Path,
    progress: Callable[[int, int | None], None],
    say: Callable[[str], None] = print,
    sleep: Callable[[float], None] = time.sleep,
) -> Provenance:
    """Download ``url`` to ``target``, whole or not at all.

    What has arrived lies beside ``target`` as ``.part``; after a break the rest is asked for, if
    the server still has the same file. 429, 5xx, silence, short and wrong bodies are tried again
    with growing pauses; other refusals, and a network that is not there, are not.

    Parameters
    ----------
    url : the address
    target : where the file shall lie
    by_hand : where a user may put the file instead, named in the message when fetching fails
    progress : called with the bytes received so far and, where known, the bytes to come in all
    say : told of every further try
    sleep : waits so many seconds

    Raises
    ------
    InputError
        with the address, the reason and what to do by hand
    """
    part = target.with_name(target.name + ".part")
    for pause in (*PAUSES_S, None):
        try:
            modified = _download(url, part, progress)
            break
        except _FaultError as fault:
            if pause is None or not fault.again:
                raise InputError(
                    f"could not fetch {url}\n"
                    f"  reason: {fault}\n"
                    f"  by hand: open that address in a browser, save the file as {by_hand}\n"
                    "  and run the same command again; nothing else needs to be changed."
                ) from None
            wait = min(max(pause, fault.pause_s), LONGEST_PAUSE_S)
            say(f"{fault}; trying again in {wait:g} s")
            sleep(wait)
    digest, size = sha256(part), part.stat().st_size
    part.rename(target)
    _validator(part).unlink(missing_ok=True)
    return Provenance(url, size, digest, modified)


def _download(url: str, part: Path, progress: Callable[[int, int | None], None]) -> str | None:
    """One try; return the server's date of the file. A broken transfer leaves ``part`` for the next."""
    headers = {"User-Agent": USER_AGENT, "Accept-Encoding": "identity"}
    mark = _validator(part)
    if part.exists() and mark.exists():
        headers |= {"Range": f"bytes={part.stat().st_size}-", "If-Range": mark.read_text()}
    try:
        with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT_S) as answer:
            _judge(answer, part)
            _receive(answer, part, mark, progress)
            modified = answer.headers.get("Last-Modified")
    except requests.Timeout:
        raise _FaultError("the server did not answer in time", again=True) from None
    except requests.exceptions.ChunkedEncodingError:
        raise _FaultError("the connection broke off before the whole file had arrived", again=True) from None
    except requests.ConnectionError as failure:
        known = [ours for theirs, ours in NO_SERVER.items() if theirs in str(failure)]
        reason = known[0] if known else str(failure).rsplit(":", 1)[-1].strip(" )'\"")
        raise _FaultError(f"no connection to the server ({reason})", again=not known) from None
    except requests.RequestException as failure:
        raise _FaultError(str(failure), again=False) from None
    _check_zip(part)
    return modified


def _validator(part: Path) -> Path:
    """The file that holds the ETag or date of what ``part`` is a part of."""
    return part.with_name(part.name + ".of")


def _judge(answer: requests.Response, part: Path) -> None:
    status = answer.status_code
    if status == 416:
        _discard(part)
        raise _FaultError("the part that had arrived is not of the server's file", again=True)
    if status not in (200, 206):
        wait = answer.headers.get("Retry-After", "")
        raise _FaultError(
            f"the server answered {status} {answer.reason}",
            again=status == 429 or status >= 500,
            pause_s=float(wait) if wait.isdigit() else 0,
        )


def _receive(
    answer: requests.Response, part: Path, mark: Path, progress: Callable[[int, int | None], None]
) -> None:
    goes_on = answer.status_code == 206
    received = part.stat().st_size if goes_on else 0
    length = answer.headers.get("Content-Length")
    expected = received + int(length) if length else None
    if expected is not None and expected > LARGEST_DOWNLOAD:
        raise _FaultError(f"the server offers {expected:,} bytes, more than any PUMS file", again=False)
    version = answer.headers.get("ETag") or answer.headers.get("Last-Modified")
    if version and not version.startswith("W/"):
        mark.write_text(version)
    else:
        mark.unlink(missing_ok=True)
    with part.open("ab" if goes_on else "wb") as file:
        for chunk in answer.iter_content(CHUNK):
            received += len(chunk)
            if received > LARGEST_DOWNLOAD:
                raise _FaultError(f"the server sends more than {LARGEST_DOWNLOAD:,} bytes", again=False)
            file.write(chunk)
            progress(received, expected)
    if expected is not None and received != expected:
        raise _FaultError(f"only {received:,} of {expected:,} bytes arrived", again=True)


def require_zip(path: Path) -> None:
    """Raise InputError if the file is no zip, as when a browser has saved an error page."""
    if not zipfile.is_zipfile(path):
        raise InputError(f"{path} is not a zip file; it begins with {_beginning(path)!r}")


def require_members(path: Path, expected: Sequence[str]) -> None:
    """Raise InputError if a zip of Census's lacks a part, or is of another place or kind of records.

    A zip none of whose members is named as Census names them is let through.
    """
    with zipfile.ZipFile(path) as archive:
        names = [PurePosixPath(name).name.lower() for name in archive.namelist()]
    named = sorted(name for name in names if re.fullmatch(r"psam_[ph](\d\d|us[a-z])\.csv", name))
    if named and named != sorted(expected):
        raise InputError(f"{path} should hold {', '.join(expected)}, but holds {', '.join(named)}")


def _beginning(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(40).decode("latin-1").strip()


def _check_zip(part: Path) -> None:
    if not zipfile.is_zipfile(part):
        start = _beginning(part)
        _discard(part)
        raise _FaultError(f"what arrived is not a zip file; it begins with {start!r}", again=True)


def _discard(part: Path) -> None:
    part.unlink(missing_ok=True)
    _validator(part).unlink(missing_ok=True)
