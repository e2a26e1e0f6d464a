"""A table of one's own and the two YAML files beside it, with which several commands begin."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from modp.base.config import load
from modp.base.errors import InputError
from modp.cli import init
from modp.files.columns import decide
from modp.files.content import ending
from modp.files.decision import Decision
from modp.files.form import Form
from modp.files.options import DETECTED, TableOptions
from modp.files.plan import plan
from modp.files.read import read
from modp.files.table import Table
from modp.pums.where import Dataset

NAMED = ("household", "weight", "replicate weight")
"""Kinds of columns that are no questions and yet are not left out."""

SHOWN = 4
"""Names of columns in a line."""


def ask_for_own(parser: argparse.ArgumentParser) -> None:
    """Declare the options that :meth:`Own.of` takes."""
    init.ask_for_table(parser)
    parser.add_argument("--seed", type=int, default=20240607, help="everything random derives from it")


@dataclass(frozen=True)
class Own:
    """A table, and what it was taken for.

    file : where it is; ``form`` is how it was written
    yamls : the dataset YAML, whose content ``dataset`` is, and the question set
    """

    file: Path
    table: Table
    form: Form
    yamls: tuple[Path, Path]
    dataset: Dataset

    @classmethod
    def of(cls, options: argparse.Namespace) -> "Own":
        """Look at a table, write the two YAML files if they are not there, say what it was taken for.

        Raises
        ------
        InputError
            if the table cannot be read or planned, the YAML files are of another one, or there is only one
        """
        file: Path = options.file
        if options.seed < 0:
            raise InputError(f"--seed: {options.seed} is below zero")
        stem = file.name.removesuffix(ending(file))
        yamls = file.with_name(f"{stem}.dataset.yaml"), file.with_name(f"{stem}.questions.yaml")
        reading = _reading(options, *yamls)
        table, form = read(file, reading)
        for line in _planned(file, table, reading, *yamls):
            print(line, flush=True)
        dataset = load(yamls[0], Dataset)
        _of_this_file(dataset, yamls[0], file)
        return cls(file, table, form, yamls, dataset)

    def beside(self, name: str) -> Path:
        """Return a path beside the table, of its name without the ending, and ``name``."""
        return self.file.with_name(self.file.name.removesuffix(ending(self.file)) + name)


def _of_this_file(dataset: Dataset, path: Path, file: Path) -> None:
    """Raise InputError if a dataset YAML is of another file."""
    if dataset.names != [file.name]:
        raise InputError(
            f"{path} is of {', '.join(dataset.names)}, not of {file.name}: rename one of the two "
            "tables, so that each has files of its own"
        )


def _reading(options: argparse.Namespace, dataset: Path, questions: Path) -> TableOptions:
    """How the table is read: as the dataset YAML says and nothing else, if both files are there."""
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


def _planned(file: Path, table: Table, reading: TableOptions, dataset: Path, questions: Path) -> list[str]:
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
    found = init.holding(decisions)
    noted = [found, *noted] if found else noted
    return [f"apart, since given so often: {'; '.join(spikes)}", *noted] if spikes else noted
