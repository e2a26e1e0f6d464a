"""Bring persons and their households together, code them, and hold whole households out."""

import argparse
from pathlib import Path

from modp.base.config import load
from modp.base.errors import InputError
from modp.base.output import Log, written
from modp.cli.gathered import gathered
from modp.cli.selected import fitted_questions
from modp.cli.whole import Said
from modp.pums.where import Dataset
from modp.survey import derived


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    parser.add_argument("--files", type=Path, nargs="+", required=True, help="raw files, in order")
    parser.add_argument("--dataset", type=Path, required=True, help="the dataset YAML")
    parser.add_argument("--questions", type=Path, required=True, help="the question set YAML")
    parser.add_argument("--share", type=float, required=True, help="of the households to hold out")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--records", type=Path, required=True, help="persons that the models learn from")
    parser.add_argument("--homes", type=Path, required=True, help="their households")
    parser.add_argument("--holdout", type=Path, required=True, help="persons that they never see")
    parser.add_argument("--home-holdout", type=Path, required=True, help="their households")
    parser.add_argument("--codebook", type=Path, required=True, help="of persons")
    parser.add_argument("--home-codebook", type=Path, required=True, help="of households")
    parser.add_argument("--said", type=Path, required=True, help="what the question set says of members")


def run(options: argparse.Namespace, log: Log) -> None:
    """Read, join, code, write."""
    if not options.share:
        raise InputError(
            "holdout: what synthetic households give away is measured against true ones that no model saw: "
            "give a share above 0"
        )
    dataset = load(options.dataset, Dataset)
    questions = fitted_questions(options.questions, dataset)
    found = gathered(options.files, dataset, questions, options.share, options.seed, log)
    for question in questions.derived:
        if question.sum is None:
            derived.computed(question, found.train)  # whether it can be, which a release would be late to say
    found.train.write(options.records, options.homes)
    found.holdout.write(options.holdout, options.home_holdout)
    books = found.train.codebook
    texts = {
        options.codebook: books.persons.to_json(),
        options.home_codebook: books.homes.to_json(),
        options.said: Said.of(questions).model_dump_json(indent=1) + "\n",
    }
    for target, text in texts.items():
        with written(target) as path:
            path.write_text(text, encoding="utf-8")
    asked = [
        f"{len(book.names)} questions of {of} with {book.block_starts[-1]} categories"
        for of, book in (("persons", books.persons), ("households", books.homes))
    ]
    log(
        f"{len(found.train):,} households of {len(found.train.persons):,} persons; {' and '.join(asked)}; "
        f"{len(found.holdout):,} households held out"
    )
