"""Turn raw records into coded records and their codebook."""

import argparse
from pathlib import Path

import numpy as np

from modp import coding, records, seeds
from modp.cli.output import Log, written
from modp.config import load
from modp.crosstab import crosstab
from modp.errors import InputError
from modp.pums import filters, vintages
from modp.pums.places import fips
from modp.pums.read import read
from modp.pums.where import Dataset
from modp.questions import QuestionSet

Raw = dict[str, np.ma.MaskedArray]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    parser.add_argument("--files", type=Path, nargs="+", required=True, help="raw files, in order")
    parser.add_argument("--dataset", type=Path, required=True, help="the dataset YAML")
    parser.add_argument("--questions", type=Path, required=True, help="the question set YAML")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--records", type=Path, required=True)
    parser.add_argument("--codebook", type=Path, required=True)


def run(options: argparse.Namespace, log: Log) -> None:
    """Read, filter, code, write."""
    dataset = load(options.dataset, Dataset)
    questions = load(options.questions, QuestionSet).fitted(
        dataset.faithful, dataset.leave_out, fips(dataset.state_question)
    )
    dataset.agrees_with(questions.records)
    raw = _filtered(_read(options.files, dataset, questions), dataset, log)
    raw = _prepared(raw, dataset, questions, log)
    say_unknown = log if dataset.unknown == "category" else None
    codes, codebook = coding.code(raw, questions, seeds.generator(options.seed, "deciles"), say_unknown)
    with written(options.codebook) as path:
        path.write_text(codebook.to_json(), encoding="utf-8")
    with written(options.records) as path:
        records.write(path, codes, codebook)
    for cell in codebook.broken(crosstab(codes, codebook.block_starts)):
        log(f"the question set calls impossible, and the records hold: {cell}")
    log(
        f"{len(codes):,} records, {len(codebook.questions)} questions, "
        f"{codebook.block_starts[-1]} categories ({questions.name})"
    )


def _read(files: list[Path], dataset: Dataset, questions: QuestionSet) -> Raw:
    """The questions' columns and, where the files have them, those that help to read them."""
    helpful = vintages.helpful(questions.columns)
    helpful += [column for name in dataset.keep for column in filters.columns(name)]
    optional = [c for c in dict.fromkeys(helpful) if c not in questions.columns]
    return read(files, questions.columns, questions.columns_of_words, optional)


def _filtered(raw: Raw, dataset: Dataset, log: Log) -> Raw:
    for name in dataset.keep:
        kept = filters.passes(name, raw, dataset.title)
        log(f"{name} ({filters.FILTERS[name].meaning}): {len(kept):,} records in, {kept.sum():,} out")
        raw = {column: values[kept] for column, values in raw.items()}
        if not kept.any():
            raise InputError(f"{dataset.title}: the filter {name!r} leaves no record")
    return raw


def _prepared(raw: Raw, dataset: Dataset, questions: QuestionSet, log: Log) -> Raw:
    """The questions' columns, without what a vintage writes among the answers."""
    vintages.require_complete(raw, dataset.title, dataset.vintage)
    prepared = {}
    for column in questions.columns:
        listed = {code for q in questions.questions if q.source == column for code in q.listed}
        values, said = vintages.answers_only(column, raw[column], listed)
        prepared[column] = vintages.in_one_years_dollars(column, values, raw, dataset.vintage)
        for line in said:
            log(line)
        if prepared[column] is not values:
            log(f"{column}: adjusted by {vintages.FACTORS[column]} to one year's dollars")
    return prepared
