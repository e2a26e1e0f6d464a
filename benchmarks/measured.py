"""What a command costs, run in a process of its own: wall and processor seconds, peak memory.

Imports nothing large: a process counts the memory of the one that started it as its own, up to its first
instruction.
"""

import argparse
import json
import os
import platform
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
CODED = ("--records", "{at}/records.parquet", "--codebook", "{at}/codebook.json")
"""Options of steps that read coded records, in a folder to be filled in."""

MEASURES = {
    "cells": "cells.parquet",
    "triples": "triples.parquet",
    "summary": "summary.json",
    "crowds": "crowds.parquet",
    "attack": "attack.parquet",
    "roc": "roc.parquet",
}
MEASURED = tuple(word for what, file in MEASURES.items() for word in (f"--{what}", f"{{at}}/{file}"))
"""Options of the step that measures a table: what it writes."""


@dataclass(frozen=True)
class Cost:
    """What one process, and all that it started and waited for, have used.

    wall, processor : seconds; the latter of user and system, of all threads
    peak_mb : most memory that one of the processes held at a time, in MB (1e6 bytes)
    held_mb : the same of the one process alone, without what is mapped from files, which the system takes
        back where memory is short; looked at twenty times a second; 0 without /proc
    """

    wall: float
    processor: float
    peak_mb: float
    held_mb: float = 0.0


HELD_AT = re.compile(r"^RssAnon:\s+(\d+) kB$", re.MULTILINE)
LOOKED_AT = 0.05
"""Seconds between two looks at a process."""


class _Watch(threading.Thread):
    """Looks at what a process holds until it is told to stop."""

    def __init__(self, process: int):
        super().__init__(daemon=True)
        self.status, self.stopped, self.most = Path(f"/proc/{process}/status"), threading.Event(), 0.0

    def run(self) -> None:
        while not self.stopped.wait(LOOKED_AT):
            try:
                found = HELD_AT.search(self.status.read_text(encoding="utf-8"))
            except OSError:
                return
            self.most = max(self.most, int(found[1]) * 1024 / 1e6 if found else 0.0)


class FailedError(RuntimeError):
    """A command that did not end well, and the end of what it printed."""


def run(
    command: Sequence[str | Path],
    log: Path,
    environment: Mapping[str, str] | None = None,
    most: float | None = None,
) -> Cost:
    """Run a command to its end, with what it prints in ``log``; raise FailedError if it fails.

    So does one that takes more than ``most`` wall seconds, which is stopped.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as printed:
        began = time.perf_counter()
        process = subprocess.Popen(
            [str(word) for word in command],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT / "workflow"), **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=subprocess.STDOUT,
        )
        clock = threading.Timer(most or threading.TIMEOUT_MAX, process.kill)
        clock.start()
        watch = _Watch(process.pid)
        watch.start()
        _, status, used = os.wait4(process.pid, 0)
        clock.cancel()
        watch.stopped.set()
        wall = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode == -signal.SIGKILL and most and wall >= most:
        raise FailedError(f"stopped after {most / 60:g} minutes")
    if process.returncode:
        end = "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-15:])
        words = " ".join(map(str, command))
        raise FailedError(f"{words[:200]} ended with status {process.returncode}:\n{end}")
    return Cost(wall, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e6, watch.most)


def modp(*arguments: str | Path) -> list[str]:
    """The command that runs a step of the pipeline."""
    return [sys.executable, "-m", "modp", *map(str, arguments)]


def one_or_table(
    parser: argparse.ArgumentParser,
) -> tuple[argparse.ArgumentParser, argparse.ArgumentParser]:
    """Declare two commands, and return their parsers: to measure one thing, and to gather what was."""
    commands = parser.add_subparsers(dest="command", required=True)
    one, table = commands.add_parser("measure"), commands.add_parser("table")
    table.add_argument("files", nargs="+", type=Path)
    for command in (one, table):
        command.add_argument("--out", type=Path, required=True)
    return one, table


def keep(out: Path, row: dict[str, Any], printed: Callable[[list[dict[str, Any]]], str]) -> None:
    """Write and print what was measured of one thing."""
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(row, indent=1) + "\n", encoding="utf-8")
    print(printed([row]), flush=True)


def gather(out: Path, files: Sequence[Path], printed: Callable[[list[dict[str, Any]]], str]) -> None:
    """Write as Parquet and Markdown, and print, what :func:`keep` kept in these files."""
    import pandas as pd

    rows = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    out.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(rows).to_parquet(out, index=False)
    out.with_suffix(".md").write_text(printed(rows) + "\n", encoding="utf-8")
    print(printed(rows), flush=True)


def machine() -> str:
    """What the numbers were measured on: processor, cores, memory."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return f"{names[0] if names else platform.machine()}, {os.cpu_count()} cores, {memory:.0f} GB"
