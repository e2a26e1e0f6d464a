"""Fill the missing answers of a table of one's own: one command, and the tables lie beside it."""

import argparse
import os
from pathlib import Path

from modp.base.errors import InputError
from modp.base.output import Log
from modp.cli.own import Own, ask_for_own
from modp.cli.selected import fitted_questions
from modp.files.form import written_ending
from modp.files.write import write
from modp.release.imputed import Imputed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    ask_for_own(parser)
    parser.add_argument("--times", type=int, default=1, help="completed tables, for multiple imputation")


def run(options: argparse.Namespace, log: Log) -> None:
    """Look, write the two YAML files if they are not there, fill, say."""
    file: Path = options.file
    if options.times < 1:
        raise InputError(f"--times: {options.times} tables are none")
    own = Own.of(options)
    imputed = Imputed.of(own.table, fitted_questions(own.yamls[1], own.dataset), file.name, options.seed)
    for line in imputed.said:
        print(line, flush=True)
    print(
        f"if that is wrong, say 'no_answer: [-1]' (blanks are none) or 'no_answer: []' in {own.yamls[1].name}"
    )
    threads = min(os.cpu_count() or 1, 4)
    made = []
    for number, filled in enumerate(imputed.tables(options.times, options.seed, threads, print), start=1):
        which = f"-{number}" if options.times > 1 else ""
        made.append(own.beside(f".imputed{which}{written_ending(own.form)}"))
        write(made[-1], filled, own.form)
    names = ", ".join(path.name for path in made)
    print(f"wrote {names} beside {file}: true records, with drawn answers among theirs")
