"""Make synthetic records of a table of one's own: one command, and what it leaves lies beside the table."""

import argparse
import contextlib
import json
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd

from modp.base.config import load
from modp.base.errors import InputError
from modp.base.output import Log, written
from modp.cli import alone, init
from modp.cli.alone import Alone
from modp.files.columns import decide
from modp.files.content import ending
from modp.files.decision import Decision
from modp.files.form import written_ending
from modp.files.options import DETECTED, TableOptions
from modp.files.plan import plan
from modp.files.read import read
from modp.files.table import Table
from modp.pums.where import Dataset
from modp.report import page
from modp.summaries.warnings import FEWEST, lines

NAMED = ("household", "weight", "replicate weight")
"""Kinds of columns that are no questions and yet are not left out."""

SHOWN = 4
"""Names of columns in a line."""

GOOD = {"population_mean_abs": "1 is as near to them as the sample itself", "median": "1 is the ideal"}
PRIVATE = {"closer_to_train": "0.5 is no leak", "within_10": "small is private"}
"""Measures of which the first that is known is said, and how to read it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    init.ask_for_table(parser)
    parser.add_argument("--records", type=int, help="to draw; by default as many as the table has")
    parser.add_argument("--seed", type=int, default=20240607, help="everything random derives from it")
    parser.add_argument(
        "--despite-warnings", action="store_true", help="write the table even if it repeats true records"
    )


def run(options: argparse.Namespace, log: Log) -> None:
    """Look, write the two YAML files if they are not there, run, release, say."""
    file: Path = options.file
    if options.records is not None and options.records < 1:
        raise InputError(f"--records: {options.records} records are none")
    if options.seed < 0:
        raise InputError(f"--seed: {options.seed} is below zero")
    stem = file.name.removesuffix(ending(file))
    yamls = [file.with_name(f"{stem}.{what}.yaml") for what in ("dataset", "questions")]
    reading = reading_of(options, *yamls)
    table, form = read(file, reading)
    for line in planned(file, table, reading, *yamls):
        print(line, flush=True)
    dataset = load(yamls[0], Dataset)
    of_this_file(dataset, yamls[0], file)
    if len(table) < FEWEST and not options.despite_warnings:
        raise InputError(
            f"{file} has {len(table):,} rows, and synthetic records made of fewer than {FEWEST} mostly "
            "repeat the people in it. If you have weighed that, give --despite-warnings"
        )
    held = tuple(map(Path, dataset.holdout.files)) if dataset.holdout else ()
    report = file.with_name(f"{stem}.report.html")
    with _ended_in_order(), tempfile.TemporaryDirectory(prefix="modp-") as folder:
        size = options.records or len(table)
        work = Alone((file,), held, yamls[0], yamls[1], dataset.title, size, options.seed, Path(folder))
        alone.run(work)
        with written(report) as part:
            shutil.copyfile(work.at("report.html"), part)
        for line in _found(work):
            print(line)
        released = alone.release_arguments(work)
        if options.despite_warnings:
            released["despite_warnings"] = []
        try:
            alone.step("release", released, Log(work.at("release.log"), quiet=True))
        except InputError as refused:
            raise InputError(f"{refused}\nWhy stands in {report}") from None
        target = file.with_name(f"{stem}.synthetic{written_ending(form)}")
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


def of_this_file(dataset: Dataset, path: Path, file: Path) -> None:
    """Raise InputError if a dataset YAML is of another file."""
    if dataset.names != [file.name]:
        raise InputError(
            f"{path} is of {', '.join(dataset.names)}, not of {file.name}: rename one of the two "
            "tables, so that each has files of its own"
        )


def reading_of(options: argparse.Namespace, dataset: Path, questions: Path) -> TableOptions:
    """Return how the table is read: as the dataset YAML says and nothing else, if both files are there."""
    said, there = init.reading_of(options), [path for path in (dataset, questions) if path.exists()]
    if len(there) == 1:
        raise InputError(
            f"{there[0]} is there and the other of {dataset.name} and {questions.name} is not: put it back, "
            "or remove this one to have both made anew"
        )
    if not there:
        return said
    kept = load(dataset, Dataset).table or DETECTED
    if said not in (DETECTED, kept):
        raise InputError(
            f"{dataset} is there and says how the table is read: edit 'table' in it, or remove it and "
            f"{questions.name} to have both made anew"
        )
    return kept


def planned(file: Path, table: Table, reading: TableOptions, dataset: Path, questions: Path) -> list[str]:
    """Write the two YAML files if they are not there; return what is said of the table."""
    found = f"{file.name}: {len(table):,} rows, {len(table.columns)} columns"
    if dataset.exists():
        return [f"{found}, taken for what {dataset.name} and {questions.name} say"]
    decisions = decide(table)
    name = init.name_of(file)
    texts = plan(table, decisions, init.seen(file), name, reading, init.seen(questions))
    init.write_both((dataset, questions), texts)
    return [f"{found}: {_taken(decisions)}", f"left out: {_left_out(decisions)}", *_notes(decisions)]


def _taken(decisions: Sequence[Decision]) -> str:
    """How many columns were taken for what, and the names of those of few kinds."""
    kinds: dict[str, list[str]] = {}
    for decision in decisions:
        if decision.recipe or decision.kind in NAMED:
            kinds.setdefault(decision.kind, []).append(decision.column)
    return "; ".join(f"{len(names)} {init.PLURAL[kind]} ({_few(names)})" for kind, names in kinds.items())


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + (" …" if len(names) > SHOWN else "")


def _left_out(decisions: Sequence[Decision]) -> str:
    left = [d for d in decisions if not d.recipe and d.kind not in NAMED]
    return "; ".join(f"{d.column} ({d.why})" for d in left) or "nothing"


def _notes(decisions: Sequence[Decision]) -> list[str]:
    spikes = [f"{d.column} {', '.join(d.spikes)}" for d in decisions if d.spikes]
    noted = [f"look at {d.column}: {note}" for d in decisions for note in d.notes]
    return [f"apart, since given so often: {'; '.join(spikes)}", *noted] if spikes else noted


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
