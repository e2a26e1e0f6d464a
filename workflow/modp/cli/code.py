"""Turn raw records into coded records and their codebook."""

import argparse
from pathlib import Path

import numpy as np

from modp.base import seeds
from modp.base.config import load
from modp.base.errors import InputError
from modp.cli.output import Log, written
from modp.crosstabs.pairs import crosstab
from modp.pums import filters, vintages
from modp.pums.places import fips
from modp.pums.read import read
from modp.pums.where import Dataset
from modp.survey import coding, holdout, records
from modp.survey.questions import QuestionSet

Raw = dict[str, np.ma.MaskedArray]

HOUSEHOLD = "SERIALNO"
"""The column with the household's number, in Census's files."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    parser.add_argument("--files", type=Path, nargs="+", required=True, help="raw files, in order")
    parser.add_argument("--dataset", type=Path, required=True, help="the dataset YAML")
    parser.add_argument("--questions", type=Path, required=True, help="the question set YAML")
    parser.add_argument("--held-files", type=Path, nargs="*", default=[], help="raw files to hold out")
    parser.add_argument("--share", type=float, default=0.0, help="to hold out where there are none of these")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--records", type=Path, required=True, help="what the models learn from")
    parser.add_argument("--holdout", type=Path, required=True, help="what they never see")
    parser.add_argument("--codebook", type=Path, required=True)


def run(options: argparse.Namespace, log: Log) -> None:
    """Read, filter, code, write."""
    dataset = load(options.dataset, Dataset)
    questions = load(options.questions, QuestionSet).fitted(
        dataset.faithful, dataset.leave_out, fips(dataset.state_question)
    )
    dataset.agrees_with(questions.records)
    raw = _filtered(_read(options.files, dataset, questions), dataset, log)
    kept = np.ones(len(raw[questions.columns[0]]), bool)
    if options.held_files:
        others = _filtered(_read(options.held_files, dataset, questions), dataset, log)
        kept = np.append(kept, np.zeros(len(others[questions.columns[0]]), bool))
        raw, others = (_prepared(part, dataset, questions, log) for part in (raw, others))
        raw = {column: np.ma.concatenate([values, others[column]]) for column, values in raw.items()}
    else:
        households = raw.get(HOUSEHOLD, np.ma.array(np.arange(len(kept))))
        kept = ~holdout.split(households, options.share, seeds.generator(options.seed, "holdout"))
        raw = _prepared(raw, dataset, questions, log)
    if not kept.any():
        raise InputError(f"{dataset.title}: 'holdout: {options.share}' leaves no record to learn from")
    say_unknown = log if dataset.unknown == "category" else None
    codes, codebook = coding.code(raw, questions, seeds.generator(options.seed, "deciles"), say_unknown, kept)
    held = codes[~kept]
    known = (held != coding.UNKNOWN).all(axis=1)
    codes = codes[kept]
    with written(options.codebook) as path:
        path.write_text(codebook.to_json(), encoding="utf-8")
    with written(options.records) as path:
        records.write(path, codes, codebook)
    with written(options.holdout) as path:
        records.write(path, held[known], codebook)
    for cell in codebook.broken(crosstab(codes, codebook.block_starts)):
        log(f"the question set calls impossible, and the records hold: {cell}")
    if not known.all():
        log(f"{(~known).sum():,} records are not held out, but left out: no other record answers like them")
    log(
        f"{len(codes):,} records, {len(codebook.questions)} questions, "
        f"{codebook.block_starts[-1]} categories ({questions.name}); {known.sum():,} records held out"
    )


def _read(files: list[Path], dataset: Dataset, questions: QuestionSet) -> Raw:
    """The questions' columns and, where the files have them, those that help to read them."""
    helpful = vintages.helpful(questions.columns)
    helpful += [column for name in dataset.keep for column in filters.columns(name)]
    optional = [c for c in dict.fromkeys([*helpful, HOUSEHOLD]) if c not in questions.columns]
    return read(files, questions.columns, [*questions.columns_of_words, HOUSEHOLD], optional)


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
