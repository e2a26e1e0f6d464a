"""Make synthetic records of a table of one's own: one command, and what it leaves lies beside the table."""

import argparse
import contextlib
import json
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd

from modp.base.errors import InputError
from modp.base.output import Log, written
from modp.cli import alone
from modp.cli.alone import Alone
from modp.cli.own import Own, ask_for_own
from modp.files.form import written_ending
from modp.release import stored
from modp.report import page
from modp.summaries.warnings import FEWEST, lines

GOOD = {"population_mean_abs": "1 is as near to them as the sample itself", "median": "1 is the ideal"}
PRIVATE = {"closer_to_train": "0.5 is no leak", "within_10": "small is private"}
"""Measures of which the first that is known is said, and how to read it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    ask_for_own(parser)
    parser.add_argument("--records", type=int, help="to draw; by default as many as the table has")
    parser.add_argument(
        "--despite-warnings", action="store_true", help="write the table even if it repeats true records"
    )


def run(options: argparse.Namespace, log: Log) -> None:
    """Look, write the two YAML files if they are not there, run, release, say."""
    file: Path = options.file
    if options.records is not None and options.records < 1:
        raise InputError(f"--records: {options.records} records are none")
    own = Own.of(options)
    table, dataset, yamls = own.table, own.dataset, own.yamls
    if len(table) < FEWEST and not options.despite_warnings:
        raise InputError(
            f"{file} has {len(table):,} rows, and synthetic records made of fewer than {FEWEST} mostly "
            "repeat the people in it. If you have weighed that, give --despite-warnings"
        )
    held = tuple(map(Path, dataset.holdout.files)) if dataset.holdout else ()
    report = own.beside(".report.html")
    with _ended_in_order(), tempfile.TemporaryDirectory(prefix="modp-") as folder:
        size = options.records or len(table)
        work = Alone((file,), held, yamls[0], yamls[1], dataset.title, size, options.seed, Path(folder))
        alone.run(work)
        with written(report) as part:
            shutil.copyfile(work.at("report.html"), part)
        for line in [*_found(work), *stored.read(work.at("values.parquet")).said]:
            print(line)
        released = alone.release_arguments(work)
        if options.despite_warnings:
            released["despite_warnings"] = []
        try:
            alone.step("release", released, Log(work.at("release.log"), quiet=True))
        except InputError as refused:
            raise InputError(f"{refused}\nWhy stands in {report}") from None
        target = own.beside(f".synthetic{written_ending(own.form)}")
        (made,) = (p for p in work.at("release").iterdir() if p.name != "README.md")
        with written(target) as part:
            shutil.copyfile(made, part)
    print(f"wrote {target.name}, {report.name} (with true counts: for you alone), {yamls[0].name} and")
    print(f"{yamls[1].name} beside {file}: edit these two and run again for what should be otherwise")


@contextlib.contextmanager
def _ended_in_order() -> Iterator[None]:
    """Let who ends the process (kill, timeout, a batch system) leave no true records in a folder of /tmp."""
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _found(work: Alone) -> list[str]:
    """What was measured, a line on how good and one on how private, and what must be said aloud."""
    accuracy, privacy = (
        pd.read_parquet(work.at(f"tables/{name}.parquet")) for name in ("accuracy", "privacy")
    )
    metrics = json.loads(work.at("metrics.json").read_text())
    row = f"{alone.MODEL}/{alone.ROW}"
    numbers = {n.key: n for n in page.headline(row, accuracy, privacy, metrics, alone.ZEROS)}
    warned = json.loads(work.at("tables/warnings.json").read_text(encoding="utf-8"))
    return [_said("how good", numbers, GOOD), _said("how private", numbers, PRIVATE), *lines(warned)]


def _said(what: str, numbers: Mapping[str, page.Number], known: Mapping[str, str]) -> str:
    found = [(numbers[key], hint) for key, hint in known.items() if key in numbers]
    if not found:
        return f"{what}: not measured, for want of records"
    number, hint = found[0]
    return f"{what}: {number.value} {number.name} ({hint})"
