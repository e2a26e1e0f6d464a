"""Put one row's drawn answers into a folder that may leave the house, in the input's own form."""

import argparse
import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pandas as pd

from modp.base.config import check, load
from modp.base.errors import InputError
from modp.base.output import Log, room_for
from modp.cli.inputs import ask_for_coded, ask_for_model, coded, recipe_of
from modp.cli.selected import fitted_questions, form_of
from modp.files.form import Form, TextForm, written_ending
from modp.files.write import write
from modp.models.family import Family, Recipe, Row
from modp.models.stationary.recipe import StationaryRow
from modp.pums.where import Dataset
from modp.release.assembled import BESIDES
from modp.release.inside import Inside
from modp.release.readme import About, readme
from modp.release.stored import read
from modp.report import card, page
from modp.summaries.accuracy import ZEROS
from modp.summaries.interactions import left_out
from modp.summaries.warnings import EVERY
from modp.survey.records import Records


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    ask_for_coded(parser)
    ask_for_model(parser)
    parser.add_argument("--name", required=True, help="of the model, in params.yaml")
    parser.add_argument("--row", type=json.loads, required=True, help="the row, as JSON")
    parser.add_argument("--drawn", type=Path, required=True, help="the row's answers, of the step values")
    parser.add_argument("--files", type=Path, nargs="+", required=True, help="raw files, in order")
    parser.add_argument("--dataset", type=Path, required=True, help="the dataset YAML")
    parser.add_argument("--questions", type=Path, required=True, help="the question set YAML")
    parser.add_argument("--values", choices=get_args(Inside), default="shape", help="inside their class")
    parser.add_argument("--public", type=Path, nargs="?", help="the public table of --values public")
    parser.add_argument("--despite-warnings", action="store_true", help="release what is warned of")
    parser.add_argument("--accuracy", type=Path, required=True, help="the table")
    parser.add_argument("--privacy", type=Path, required=True, help="the table")
    parser.add_argument("--interactions", type=Path, required=True, help="the table")
    parser.add_argument("--metrics", type=Path, required=True)
    parser.add_argument("--warnings", type=Path, required=True)
    parser.add_argument("--zeros", choices=list(ZEROS), required=True, help="what counts as such")
    parser.add_argument("--out", type=Path, required=True, help="the page in the folder that is written")


def run(options: argparse.Namespace, log: Log) -> None:
    """Refuse what is a copy; else write what was drawn, and explain.

    With a guarantee nothing that was computed of the true records stands in the folder: no measure, no
    warning, nor the form of their file.
    """
    row = f"{options.row['model']}/{options.row['name']}"
    family, recipe = recipe_of(options)
    warned = warned_of(row, options, log)
    guaranteed = family.guarantee(recipe)
    records = coded(options.records, options.codebook)
    made = read(options.drawn)
    dataset = load(options.dataset, Dataset)
    files = [path for path in [options.public] if path] if guaranteed else options.files
    if files:
        form = form_of(files, dataset, fitted_questions(options.questions, dataset), BESIDES)
    else:
        form = TextForm(".csv", tuple(made.table.names), tuple(made.table.names))
    file = _file_name(files, form, options.dataset)
    about = _about(row, family, recipe, records, dataset, options)
    if guaranteed:
        about = replace(about, records=None, measured=(), guaranteed=guaranteed)
    else:
        about = replace(about, warnings=warned)
    text = readme(file, made, form.names, about)
    form = _of_one_table(form, file) if len(files) > 1 else form
    with written_folder(options.out, text) as folder:
        write(folder / file, made.table, form)
    for line in made.said:
        log(line)
    log(f"{options.out.parent}: {len(made.table):,} records in {file}, and {options.out.name}")


def warned_of(row: str, options: argparse.Namespace, log: Log) -> list[str]:
    """Return what is warned of about a row; raise InputError unless it is to be released despite that."""
    warnings = json.loads(options.warnings.read_text(encoding="utf-8"))
    found = [*warnings.get(EVERY, ()), *warnings.get(row, ())]
    if found and not options.despite_warnings:
        listing = "".join(f"\n  {sentence}" for sentence in found)
        raise InputError(
            f"{row} is not released:{listing}\nIf you have weighed that, give --despite-warnings, or, where "
            "params.yaml says what is released, name the row there under release: despite_warnings"
        )
    for sentence in found:
        log(f"{row} is released although it {sentence}")
    return found


def _file_name(files: Sequence[Path], form: Form, dataset_yaml: Path) -> str:
    """The input's name where it is one file; of several, or none that may be looked at, the data set's."""
    ending = written_ending(form)
    if len(files) != 1:
        return dataset_yaml.name.removesuffix(".yaml").removesuffix(".yml") + ending
    name = files[0].name
    return name.removesuffix(form.ending) + ending


def _about(
    row: str, family: Family, recipe: Recipe, records: Records, dataset: Dataset, options: argparse.Namespace
) -> About:
    hidden = pd.read_parquet(options.privacy)
    metrics = json.loads(options.metrics.read_text())
    parameters = recipe.model_dump()
    zeros = ZEROS[parameters.get("zeros") or options.zeros]
    method = card.method(family, parameters, zeros)
    checked = check(options.row, family.row, row)
    treated = card.treatment(checked.model_dump(), family)
    return About(
        title=dataset.title,
        records=len(records),
        questions=len(records.codebook.questions),
        method=f"{method} This table: {treated}.",
        measured=page.headline(row, pd.read_parquet(options.accuracy), hidden, metrics, options.zeros),
        guaranteed=(),
        warnings=(),
        how=options.values,
        balanced=_balanced(checked, recipe),
        unknown=tuple(left_out(pd.read_parquet(options.interactions), options.name)),
    )


def _balanced(row: Row, recipe: Recipe) -> bool | None:
    """Whether a row's records are balanced; None where intervals from them follow no rule that we know.

    One is known of stationary models that are fitted to all records alike (:mod:`modp.measures.pooling`).
    """
    if not isinstance(row, StationaryRow) or row.condition is not None or recipe.of_weights:
        return None
    return row.balanced


@contextmanager
def written_folder(page: Path, text: str) -> Iterator[Path]:
    """Write a page's folder whole or not at all, with nothing in it but the page and what is put there.

    Parameters
    ----------
    page : its path, in the folder
    text : what it says
    """
    folder = page.parent
    part = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    with room_for(folder):
        part.mkdir(parents=True)
        try:
            yield part
            (part / page.name).write_text(text, encoding="utf-8")
            shutil.rmtree(folder, ignore_errors=True)
            part.rename(folder)
        finally:
            shutil.rmtree(part, ignore_errors=True)


def _of_one_table(form: Form, file: str) -> Form:
    """The form where what was in several files goes into one: a zip's table is called like the zip."""
    if isinstance(form, TextForm) and form.member:
        return replace(form, member=Path(file).stem + ".csv")
    return form
