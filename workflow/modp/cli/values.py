"""Draw the answers inside the categories of one row's records: the table as it will be released."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import get_args

import numpy as np

from modp.base.config import load
from modp.base.errors import InputError
from modp.base.output import Log
from modp.cli.inputs import ask_for_coded, ask_for_model, coded, read_drawn, recipe_of
from modp.cli.selected import as_in_files, as_public, fitted_questions, selected_as_coded
from modp.pums.where import Dataset
from modp.release.answers import Source, stated, unstated
from modp.release.assembled import BESIDES, released
from modp.release.drawing import Pool
from modp.release.inside import Inside
from modp.release.public import public_pools
from modp.release.stored import write
from modp.survey.records import Records

SHOWN = 10
"""Reasons in a message."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    ask_for_coded(parser)
    ask_for_model(parser)
    parser.add_argument("--name", required=True, help="of the row, in params.yaml")
    parser.add_argument("--synthetic", type=Path, required=True, help="the row's records")
    parser.add_argument("--files", type=Path, nargs="+", required=True, help="raw files, in order")
    parser.add_argument("--held-files", type=Path, nargs="*", default=[], help="raw files held out")
    parser.add_argument("--share", type=float, default=0.0, help="held out where there are none of these")
    parser.add_argument("--dataset", type=Path, required=True, help="the dataset YAML")
    parser.add_argument("--questions", type=Path, required=True, help="the question set YAML")
    parser.add_argument("--values", choices=get_args(Inside), default="shape", help="inside their class")
    parser.add_argument("--public", type=Path, nargs="?", help="the public table of --values public")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True)


def run(options: argparse.Namespace, log: Log) -> None:
    """Refuse what would break a guarantee; else draw and write."""
    family, recipe = recipe_of(options)
    guaranteed = bool(family.guarantee(recipe))
    how: Inside = options.values
    if (how == "public") != (options.public is not None):
        raise InputError("--values public and --public go together")
    records = coded(options.records, options.codebook)
    drawn = read_drawn(options.synthetic, records.codebook)
    source = _source(options, records, guaranteed, log)
    if guaranteed:
        require_stated(drawn.codes, source, options.name)
    made = released(drawn.codes, source, options.seed, how, drawn.weights, recipe.of_weights)
    write(options.out, made)
    log(f"{options.name}: answers of {len(drawn.codes):,} records drawn inside their categories")


def _source(options: argparse.Namespace, records: Records, guaranteed: bool, log: Log) -> Source:
    """What answers are drawn from: true records or, with a guarantee, what is stated; and a public table."""
    dataset = load(options.dataset, Dataset)
    questions = fitted_questions(options.questions, dataset)
    public: Mapping[str, Sequence[Pool]] = {}
    if guaranteed and options.public is None:
        return stated(records.codebook, questions, dataset)
    if options.public is not None:
        say = log.only_file
        others, table, _, column_of = as_public(options.public, dataset, questions, BESIDES, say)
        answers, codebook = others.answers, records.codebook
        public = public_pools(table, others.rows, answers, questions, codebook, column_of)
        if guaranteed:
            none = records[:0]
            return Source(none, questions, dataset, table, np.zeros(0, np.int64), column_of, public)
    chosen = selected_as_coded(options, records, dataset, questions, log)
    table, _, column_of = as_in_files(options.files, dataset, questions, chosen, BESIDES)
    return Source(records, questions, dataset, table, chosen.rows, column_of, public)


def require_stated(codes: np.ndarray, source: Source, name: str) -> None:
    """Raise InputError where a row's answers would need a look at true records.

    Parameters
    ----------
    codes : (m, Q) of the row ``name``
    source : without true records
    """
    lacking = unstated(codes, source)
    if lacking:
        listing = "".join(f"\n  {why}" for why in lacking[:SHOWN])
        more = f"\n  and {len(lacking) - SHOWN} more" if len(lacking) > SHOWN else ""
        table = "the public table has no answer there, and " if source.public else ""
        raise InputError(
            f"{name} has a formal guarantee, so that nothing inside a category may be taken from the true "
            f"records: {table}the question set does not say what stands there:{listing}{more}\nState that in "
            "the question set, or name a (larger) public table of the input's form in params.yaml, as in "
            "'release: {values: public, public: PATH}'"
        )
