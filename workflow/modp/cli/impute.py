"""Fill the missing answers of a table of one's own: one command, and the tables lie beside it."""

import argparse
import os
from pathlib import Path

from modp.base.config import load
from modp.base.errors import InputError
from modp.base.output import Log
from modp.cli import init
from modp.cli.selected import fitted_questions
from modp.cli.synthesize import of_this_file, planned, reading_of
from modp.files.content import ending
from modp.files.form import written_ending
from modp.files.read import read
from modp.files.write import write
from modp.pums.where import Dataset
from modp.release.imputed import Imputed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    init.ask_for_table(parser)
    parser.add_argument("--times", type=int, default=1, help="completed tables, for multiple imputation")
    parser.add_argument("--seed", type=int, default=20240607, help="everything random derives from it")


def run(options: argparse.Namespace, log: Log) -> None:
    """Look, write the two YAML files if they are not there, fill, say."""
    file: Path = options.file
    if options.times < 1:
        raise InputError(f"--times: {options.times} tables are none")
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
    imputed = Imputed.of(table, fitted_questions(yamls[1], dataset), file.name, options.seed)
    for line in imputed.said:
        print(line, flush=True)
    print(f"if that is wrong, say 'no_answer: [-1]' (blanks are none) or 'no_answer: []' in {yamls[1].name}")
    threads = min(os.cpu_count() or 1, 4)
    made = []
    for number, filled in enumerate(imputed.tables(options.times, options.seed, threads, print), start=1):
        which = f"-{number}" if options.times > 1 else ""
        made.append(file.with_name(f"{stem}.imputed{which}{written_ending(form)}"))
        write(made[-1], filled, form)
    names = ", ".join(path.name for path in made)
    print(f"wrote {names} beside {file}: true records, with drawn answers among theirs")
