"""Look at a table of one's own and write its dataset YAML and its question set, to be edited."""

import argparse
import os
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from modp.base.config import check
from modp.base.errors import InputError
from modp.base.output import Log, written
from modp.files.columns import decide
from modp.files.content import ending
from modp.files.decision import Decision
from modp.files.options import TableOptions
from modp.files.plan import plan
from modp.files.read import read
from modp.pums.where import DATASETS, QUESTION_SETS

TO_SAY = ("household", "weight", "constant", "identifier", "free text", "many words", "all blank")
"""Kinds of columns of which each is told with its reason."""

PLURAL = {
    "categories": "of categories",
    "numbers": "of numbers",
    "dates": "of dates",
    "weight": "of weights",
    "replicate weight": "of replicate weights",
    "household": "with the key of households",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    ask_for_table(parser)
    parser.add_argument("--name", help="of the data set; by default that of the file")
    parser.add_argument("--folder", type=Path, help="for the two files; by default where they are found")


def ask_for_table(parser: argparse.ArgumentParser) -> None:
    """Declare the table's option, and those that :func:`reading_of` takes."""
    parser.add_argument("file", type=Path, help="the table: CSV, Parquet, Excel, SPSS, Stata, SAS")
    parser.add_argument("--encoding", help="of a text file, where it is not found out: utf-8, cp1252 …")
    parser.add_argument("--delimiter", help="of a text file, one character, where it is not found out")
    parser.add_argument("--decimal", choices=[".", ","], help="sign of a text file's numbers, likewise")
    parser.add_argument("--sheet", help="of an Excel workbook, its name or number; by default the first")


def reading_of(options: argparse.Namespace) -> TableOptions:
    """Return how the table is to be read; raise InputError if that cannot be."""
    sheet = int(options.sheet) if (options.sheet or "").isdecimal() else options.sheet
    said = {"encoding": options.encoding, "delimiter": options.delimiter, "decimal": options.decimal}
    return check({**said, "sheet": sheet}, TableOptions, "the command line")


def run(options: argparse.Namespace, log: Log) -> None:
    """Read, decide, write."""
    reading = reading_of(options)
    table, _ = read(options.file, reading)
    decisions = decide(table)
    name = options.name or name_of(options.file)
    dataset, questions = places(options.file, name, options.folder)
    named = questions.parent == QUESTION_SETS
    texts = plan(table, decisions, seen(options.file), name, reading, None if named else seen(questions))
    there = [path for path in (dataset, questions) if path.exists()]
    if there:
        raise InputError(
            f"{' and '.join(map(str, there))} {'is' if len(there) == 1 else 'are'} there already and would "
            "be overwritten: give another --name or --folder, or remove it"
        )
    write_both((dataset, questions), texts)
    for line in summary(decisions, len(table)):
        print(line)
    called = name if dataset.parent == DATASETS else seen(dataset)
    print(f"wrote {dataset} and {questions}; look at them, then run")
    print(f"  snakemake --cores 2 --config dataset={called}")


def write_both(paths: tuple[Path, Path], texts: tuple[str, str]) -> None:
    """Write the dataset YAML and the question set."""
    for path, text in zip(paths, texts, strict=True):
        with written(path) as part:
            part.write_text(text, encoding="utf-8")


def name_of(file: Path) -> str:
    """Return a data set's name made of a file's: ``My survey (2).csv.gz`` is My_survey_2."""
    return re.sub(r"\W+", "_", file.name.removesuffix(ending(file))).strip("_") or "table"


def places(file: Path, name: str, folder: Path | None) -> tuple[Path, Path]:
    """Return where the dataset YAML and the question set go.

    Without a folder, in a clone they go where the pipeline finds them by name, elsewhere beside the file.
    """
    if folder is None and DATASETS.is_dir():
        return DATASETS / f"{name}.yaml", QUESTION_SETS / f"{name}.yaml"
    beside = folder or file.parent
    return beside / f"{name}.dataset.yaml", beside / f"{name}.questions.yaml"


def seen(path: Path) -> str:
    """Return a path as seen from the current folder, or in full if it lies outside."""
    relative = os.path.relpath(path)
    return Path(path).resolve().as_posix() if relative.startswith("..") else Path(relative).as_posix()


def summary(decisions: Sequence[Decision], rows: int) -> list[str]:
    """Return lines for people: what was taken for what, and why."""
    kinds = Counter(decision.kind for decision in decisions)
    counted = [f"{number} {PLURAL.get(kind, f'left out ({kind})')}" for kind, number in kinds.items()]
    lines = [f"{rows:,} rows, {len(decisions)} columns: {', '.join(counted)}"]
    for kind in TO_SAY:
        lines += [f"  {d.column} ({kind}): {d.why}" for d in decisions if d.kind == kind]
    lines += [f"  {d.column}: {note}" for d in decisions for note in d.notes]
    spikes = [f"{d.column} {', '.join(d.spikes)}" for d in decisions if d.spikes]
    if spikes:
        lines.append(f"  given so often that they are categories of their own: {'; '.join(spikes)}")
    found = holding(decisions)
    lines += [f"  {found}"] if found else []
    if not kinds["household"]:
        lines.append("  no key of households was found: records are held out singly")
    return lines


def holding(decisions: Sequence[Decision]) -> str:
    """Return a line on what holds between columns, empty if nothing does."""
    found = [text for decision in decisions for text in decision.relations]
    return f"holds in every row, and will in every record: {'; '.join(found)}" if found else ""
