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
from modp.measures.pooling import inflation
from modp.release import stored
from modp.report import page
from modp.summaries.warnings import FEWEST, lines

GOOD = {"population_mean_abs": "1 is as near to them as the sample itself", "median": "1 is the ideal"}
USEFUL = {"auc_raw": "0.5 is nobody can"}
PRIVATE = {"closer_to_train": "0.5 is no leak", "within_10": "small is private"}
"""Measures of which the first that is known is said, and how to read it."""

MOST_TABLES = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    ask_for_own(parser)
    parser.add_argument("--records", type=int, help="to draw; by default as many as the table has")
    parser.add_argument("--tables", type=int, default=1, help="to draw, from one fit, for modp.pool")
    parser.add_argument(
        "--despite-warnings", action="store_true", help="write the table even if it repeats true records"
    )


def run(options: argparse.Namespace, log: Log) -> None:
    """Look, write the two YAML files if they are not there, run, release, say.

    Of several tables each is measured, and if one is refused, none is written.
    """
    file: Path = options.file
    if options.records is not None and options.records < 1:
        raise InputError(f"--records: {options.records} records are none")
    if not 1 <= options.tables <= MOST_TABLES:
        raise InputError(f"--tables: {options.tables} is not from 1 to {MOST_TABLES}")
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
        given = (file,), held, yamls[0], yamls[1], dataset.title, size, options.seed, Path(folder)
        work = Alone(*given, options.tables)
        alone.run(work)
        with written(report) as part:
            shutil.copyfile(work.at("report.html"), part)
        for line in [*_found(work), *stored.read(work.at(f"{alone.FIRST}/values.parquet")).said]:
            print(line)
        made = [_released(work, row, options.despite_warnings, report) for row in work.rows]
        targets = []
        for number, path in enumerate(made, start=1):
            which = f"-{number}" if len(made) > 1 else ""
            targets.append(own.beside(f".synthetic{which}{written_ending(own.form)}"))
            with written(targets[-1]) as part:
                shutil.copyfile(path, part)
    names = ", ".join(target.name for target in targets)
    print(f"wrote {names}, {report.name} (with true counts: for you alone), {yamls[0].name} and")
    print(f"{yamls[1].name} beside {file}: edit these two and run again for what should be otherwise")


def _released(work: Alone, row: str, despite_warnings: bool, report: Path) -> Path:
    """Release a table into the run's folder; return where it is."""
    arguments = alone.release_arguments(work, row)
    if despite_warnings:
        arguments["despite_warnings"] = []
    try:
        alone.step("release", arguments, Log(work.at("release.log"), quiet=True))
    except InputError as refused:
        raise InputError(f"{refused}\nWhy stands in {report}") from None
    (made,) = (path for path in work.at(f"{row}/release").iterdir() if path.name != "README.md")
    return made


@contextlib.contextmanager
def _ended_in_order() -> Iterator[None]:
    """Let who ends the process (kill, timeout, a batch system) leave no true records in a folder of /tmp."""
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _found(work: Alone) -> list[str]:
    """What was measured, a line each on how good, useful, private and sure it is, and what is warned of."""
    accuracy, privacy = (
        pd.read_parquet(work.at(f"tables/{name}.parquet")) for name in ("accuracy", "privacy")
    )
    metrics = json.loads(work.at("metrics.json").read_text())
    numbers = {n.key: n for n in page.headline(alone.FIRST, accuracy, privacy, metrics, alone.ZEROS)}
    warned = json.loads(work.at("tables/warnings.json").read_text(encoding="utf-8"))
    kinds = {"how good": GOOD, "how useful": USEFUL, "how private": PRIVATE}
    said = [_said(what, numbers, known) for what, known in kinds.items()]
    if work.tables > 1:
        said.append(_together(pd.read_parquet(work.at("tables/releases.parquet"))))
    return [*said, _sure(int(accuracy["records"].iloc[0]), work), *lines(warned)]


def _together(releases: pd.DataFrame) -> str:
    found = releases[releases["measure"] == "density_auc"].sort_values("releases")
    if found["value"].isna().all():
        return "how private together: not measured, for want of records"
    one, all_ = found["value"].iloc[[0, -1]]
    return (
        f"how private together: an attack by all {found['releases'].iloc[-1]} tables tells who was in the "
        f"input with an AUC of {all_:.3f}, by one {one:.3f} (0.5 is no leak)"
    )


def _sure(fitted: int, work: Alone) -> str:
    times = f"{inflation(fitted, work.size, work.tables):.2f}"
    those = (
        "a standard error"
        if work.tables == 1
        else f"one table's standard errors, for the mean of {work.tables},"
    )
    return (
        f"how sure: {those} computed as if records were people must be multiplied by {times}, since "
        f"{work.size:,} records are of a model of {fitted:,} (modp.pool does it)"
    )


def _said(what: str, numbers: Mapping[str, page.Number], known: Mapping[str, str]) -> str:
    found = [(numbers[key], hint) for key, hint in known.items() if key in numbers]
    if not found:
        return f"{what}: not measured, for want of records"
    number, hint = found[0]
    return f"{what}: {number.value} {number.name} ({hint})"
