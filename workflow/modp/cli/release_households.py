"""Put a row's households into a folder that may leave the house: persons, households, and both joined."""

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import numpy as np
import pandas as pd

from modp.base.config import check, load
from modp.base.errors import InputError
from modp.base.output import Log
from modp.cli.gathered import Gathered, gathered
from modp.cli.inputs import ask_for_coded, ask_for_model, recipe_of
from modp.cli.release import warned_of, written_folder
from modp.cli.selected import Selected, as_in_files, fitted_questions
from modp.cli.values import require_stated
from modp.cli.whole import ask_for_whole, whole
from modp.pums.where import Dataset
from modp.release import households as release
from modp.release.answers import Source, stated
from modp.release.assembled import BESIDES, SERIAL
from modp.release.inside import Inside
from modp.release.values import RARITY
from modp.report import card, page, templates
from modp.summaries import households as summaries
from modp.survey.coding import stated_labels
from modp.survey.households import Households
from modp.survey.questions import QuestionSet
from modp.survey.records import Records


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    ask_for_coded(parser)
    ask_for_whole(parser)
    ask_for_model(parser)
    parser.add_argument("--name", required=True, help="of the model, in params.yaml")
    parser.add_argument("--row", type=json.loads, required=True, help="the row, as JSON")
    parser.add_argument("--synthetic", type=Path, required=True, help="the row's persons")
    parser.add_argument("--home-synthetic", type=Path, required=True, help="their households")
    parser.add_argument("--files", type=Path, nargs="+", required=True, help="raw files, in order")
    parser.add_argument("--share", type=float, required=True, help="of the households that is held out")
    parser.add_argument("--dataset", type=Path, required=True, help="the dataset YAML")
    parser.add_argument("--questions", type=Path, required=True, help="the question set YAML")
    parser.add_argument("--values", choices=get_args(Inside), default="shape", help="inside their class")
    parser.add_argument("--despite-warnings", action="store_true", help="release what is warned of")
    parser.add_argument("--households", type=Path, required=True, help="the table")
    parser.add_argument("--shares", type=Path, required=True, help="the table")
    parser.add_argument("--privacy", type=Path, required=True, help="the table")
    parser.add_argument("--warnings", type=Path, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True, help="the page in the folder that is written")


def run(options: argparse.Namespace, log: Log) -> None:
    """Refuse what is a copy; else assemble, write, explain."""
    row = f"{options.row['model']}/{options.row['name']}"
    warned = warned_of(row, options, log)
    how: Inside = options.values  # noqa: PD011
    if how == "public":
        raise InputError("release: 'values: public' is not known for whole households: take shape or uniform")
    true = whole(options)
    drawn, _ = Households.read(options.synthetic, options.home_synthetic, true.codebook)
    dataset = load(options.dataset, Dataset)
    questions = fitted_questions(options.questions, dataset)
    family, recipe = recipe_of(options)
    guaranteed = family.guarantee(recipe)
    if not guaranteed:
        made = _as_in_files(true, drawn, dataset, questions, options, log)
    elif how == "uniform":
        made = as_stated(drawn, dataset, questions, options.seed, row)
    else:
        made = coded(drawn, questions)
    tables, what, said = made
    text = templates.template("release_households.md.j2").render(
        title=dataset.title,
        homes=len(drawn),
        persons=len(drawn.persons),
        records=None if guaranteed else len(true),
        key=tables["households"].columns[0],
        warnings=[] if guaranteed else warned,
        measured=[] if guaranteed else _measured(row, options),
        guaranteed=guaranteed,
        rarity=RARITY,
        how=how,
        said=said,
        columns=what,
        method=card.method(family, recipe.model_dump(), ""),
        treated=card.treatment(check(options.row, family.row, options.name).model_dump(), family),
    )
    with written_folder(options.out, text) as folder:
        for name, table in tables.items():
            table.to_csv(folder / f"{name}.csv", index=False, lineterminator="\n")
    for line in said:
        log(line)
    log(
        f"{options.out.parent}: {len(drawn):,} households of {len(drawn.persons):,} persons in "
        f"{', '.join(f'{name}.csv' for name in tables)}, and {options.out.name}"
    )


Made = tuple[Mapping[str, pd.DataFrame], Mapping[str, str], Sequence[str]]
"""File -> its rows, column -> what stands in it, and sentences on what was set."""


def coded(
    drawn: Households, questions: QuestionSet
) -> tuple[dict[str, pd.DataFrame], dict[str, str], Sequence[str]]:
    """Return households as category codes alone, which need no look at true answers."""
    recipes = {recipe.name: recipe for recipe in questions.questions}
    persons, homes = drawn.to_frames()
    what = {
        "SERIALNO": "number of the household",
        "SPORDER": "number of the person in the household",
        "ROLE": "what the person is in the household",
        "NP": "number of persons",
    }
    for book in drawn.codebook:
        for question in book.questions:
            labels = stated_labels(question, recipes[question.name])
            categories = zip(question.categories, labels, strict=True)
            told = "; ".join(f"{category.code} = {label}" for category, label in categories)
            what[question.name] = f"{question.label}: {told}"
    tables = {"persons": persons, "households": homes, "joined": persons.merge(homes, on="SERIALNO")}
    return tables, what, ()


def as_stated(drawn: Households, dataset: Dataset, questions: QuestionSet, seed: int, row: str) -> Made:
    """Return households with answers drawn by what the question set says, without a look at true ones."""
    key = dataset.household or SERIAL
    persons = stated(drawn.codebook.persons, questions.of_level("person"), dataset)
    homes = stated(drawn.codebook.homes, questions.of_level("household"), dataset, key)
    for records, source in ((drawn.persons, persons), (drawn.homes, homes)):
        require_stated(records.codes, source, row)
    return _frames(release.released(drawn, persons, homes, questions.derived, seed, "uniform"))


def _as_in_files(
    true: Households,
    drawn: Households,
    dataset: Dataset,
    questions: QuestionSet,
    options: argparse.Namespace,
    log: Log,
) -> Made:
    """Households in the files' own columns and codes; else as :func:`coded`."""
    found = gathered(options.files, dataset, questions, options.share, options.seed, log.only_file)
    if len(found.train) != len(true) or len(found.train.persons) != len(true.persons):
        raise InputError(
            f"{options.records} has {len(true):,} households, and the files give {len(found.train):,} now: "
            "they have changed since; run the pipeline again"
        )
    persons, homes = sources(found, dataset, questions)
    return _frames(release.released(drawn, persons, homes, questions.derived, options.seed, options.values))


def _frames(made: release.Released) -> Made:
    tables = {"persons": made.persons, "households": made.homes, "joined": made.joined}
    frames = {
        name: pd.DataFrame({c.name: c.words.filled("") for c in table.columns})
        for name, table in tables.items()
    }
    return frames, made.what, made.said


def sources(found: Gathered, dataset: Dataset, questions: QuestionSet) -> tuple[Source, Source]:
    """Return the raw answers of the true persons, and of their households."""
    together = found.home_files == found.files
    persons = _Side("person", found.files, found.rows, found.every_row, found.train.persons, release.OF_HOMES)
    others = release.OF_PERSONS if together else ()
    files = found.home_files, found.home_rows, found.every_home_row
    homes = _Side("household", *files, found.train.homes, others)
    return _source(persons, found, dataset, questions), _source(homes, found, dataset, questions)


@dataclass(frozen=True)
class _Side:
    """Persons, or households: where the true ones stand in the files, and what is not theirs there."""

    level: str
    files: Sequence[Path]
    rows: np.ndarray
    every: np.ndarray
    records: Records
    others: Sequence[str]


def _source(side: _Side, found: Gathered, dataset: Dataset, questions: QuestionSet) -> Source:
    own = questions.of_level(side.level)
    answers = {column: found.answers[side.level][column][side.every] for column in own.columns}
    every = np.ones(len(side.every), bool)
    chosen = Selected(answers, every, side.every, np.arange(len(side.every)))
    table, _, column_of = as_in_files(side.files, dataset, own, chosen, BESIDES)
    wanted = [dataset.household or SERIAL, *(column_of.get(c, c) for c in own.columns)]
    kept = release.of_level(table, side.every, wanted, side.others)
    place = np.full(len(table), -1, np.int64)
    place[side.every] = np.arange(len(side.every))
    return Source(side.records, own, dataset, kept, place[side.rows], column_of)


def _measured(row: str, options: argparse.Namespace) -> list[page.Number]:
    tables = (pd.read_parquet(path) for path in (options.households, options.shares, options.privacy))
    return [page.Number(*parts) for parts in summaries.headline(row, *tables)]
