"""Write the card of one model, and the statement on its privacy."""

import argparse
import json
from pathlib import Path
from typing import get_args

import pandas as pd
import pyarrow.parquet as pq

from modp.base.config import load
from modp.base.output import Log, written
from modp.cli.inputs import ask_for_model, recipe_of, source
from modp.crosstabs.cells import Zeros
from modp.pums.where import Dataset
from modp.report import card
from modp.survey.codebook import Codebook


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    parser.add_argument("--dataset", type=Path, required=True, help="the dataset YAML, for its title")
    parser.add_argument("--codebook", type=Path, required=True)
    parser.add_argument("--provenance", type=Path, nargs="+", required=True, help="one file a source")
    parser.add_argument("--name", required=True, help="the model's name")
    ask_for_model(parser)
    parser.add_argument("--rows", nargs="*", default=[], help="JSON: the parameters of each of its rows")
    parser.add_argument("--accuracy", type=Path, required=True)
    parser.add_argument("--privacy", type=Path, required=True)
    parser.add_argument("--three-way", type=Path, required=True)
    parser.add_argument("--metrics", type=Path, required=True)
    parser.add_argument("--warnings", type=Path, required=True)
    parser.add_argument("--attacks", type=Path, required=True, help="the table of attacks")
    parser.add_argument("--holdout", type=Path, required=True, help="the records held out")
    parser.add_argument("--statement", type=Path, required=True)
    parser.add_argument("--zeros", choices=get_args(Zeros), required=True, help="what counts as such")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True)


def run(options: argparse.Namespace, log: Log) -> None:
    """Gather, say, write."""
    found = card.Run(
        title=load(options.dataset, Dataset).title,
        codebook=Codebook.from_json(options.codebook.read_text(encoding="utf-8")),
        sources=[source(path) for path in options.provenance],
        seed=options.seed,
        zeros=options.zeros,
        table=pd.read_parquet(options.accuracy),
        hidden=pd.read_parquet(options.privacy),
        three_way=pd.read_parquet(options.three_way),
        metrics=json.loads(options.metrics.read_text()),
        warnings=json.loads(options.warnings.read_text(encoding="utf-8")),
    )
    rows = [json.loads(row) for row in options.rows]
    family, recipe = recipe_of(options)
    guaranteed = family.guarantee(recipe)
    text = card.card(options.name, family, options.model, rows, found, guaranteed)
    with written(options.out) as path:
        path.write_text(text, encoding="utf-8")
    attacks = pd.read_parquet(options.attacks)
    held = pq.read_metadata(options.holdout).num_rows
    with written(options.statement) as path:
        path.write_text(card.statement(options.name, found, attacks, held, guaranteed), encoding="utf-8")
    log(f"{options.out} and {options.statement} written")
