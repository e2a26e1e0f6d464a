"""Finding out, after a step has failed, which of the files that it was given is damaged."""

import argparse
import json
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

import pyarrow.parquet as pq
from safetensors import safe_open


def files_of(options: argparse.Namespace) -> list[Path]:
    """Return the files that a step's options name and that are there."""
    found: list[Path] = []
    for value in vars(options).values():
        found += [path for path in (value if isinstance(value, list) else [value]) if isinstance(path, Path)]
    return [path for path in found if path.is_file()]


def damaged(paths: Iterable[Path]) -> list[Path]:
    """Return those of the files that cannot be read as what their names' endings say, in order."""
    return [path for path in paths if path.suffix in READERS and not _is_whole(path)]


def _is_whole(path: Path) -> bool:
    try:
        READERS[path.suffix](path)
    except Exception:  # what a library raises of bytes that make no sense is its own affair
        return False
    return True


def _read_json(path: Path) -> None:
    json.loads(path.read_text(encoding="utf-8"))


def _read_model(path: Path) -> None:
    with safe_open(path, framework="np") as file:
        for name in file.keys():  # noqa: SIM118
            file.get_tensor(name)


def _read_zip(path: Path) -> None:
    with zipfile.ZipFile(path) as file:
        if file.testzip():
            raise zipfile.BadZipFile


READERS: dict[str, Callable[[Path], object]] = {
    ".parquet": pq.read_table,
    ".json": _read_json,
    ".safetensors": _read_model,
    ".zip": _read_zip,
}
"""How a file is read whole, by the ending of its name."""
