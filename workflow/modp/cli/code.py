"""Turn raw records into coded records and their codebook."""

import argparse
import filecmp
import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from modp.base import seeds
from modp.base.config import load
from modp.base.errors import InputError
from modp.base.output import Log, written
from modp.crosstabs.pairs import crosstab
from modp.pums import raw
from modp.pums.places import fips
from modp.pums.where import Dataset
from modp.survey import coding, holdout
from modp.survey.questions import QuestionSet
from modp.survey.records import Records

SHOWN = 3
"""Households named in a message."""


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
    _require_different([*options.files, *options.held_files], dataset)
    table = raw.filtered(raw.raw_records(options.files, dataset, questions), dataset, log)
    kept = np.ones(len(table[questions.columns[0]]), bool)
    if options.held_files:
        others = raw.filtered(raw.raw_records(options.held_files, dataset, questions), dataset, log)
        _require_other_people(table, others, dataset)
        kept = np.append(kept, np.zeros(len(others[questions.columns[0]]), bool))
        table, others = (raw.prepared(part, dataset, questions, log) for part in (table, others))
        table = {column: np.ma.concatenate([values, others[column]]) for column, values in table.items()}
    else:
        households = table.get(raw.HOUSEHOLD, np.ma.array(np.arange(len(kept))))
        kept = ~holdout.split(households, options.share, seeds.generator(options.seed, "holdout"))
        short = holdout.missed(households, options.share, ~kept)
        if short:
            log(short)
        table = raw.prepared(table, dataset, questions, log)
    if not kept.any():
        raise InputError(f"{dataset.title}: 'holdout: {options.share}' leaves no record to learn from")
    say_unknown = log if dataset.unknown == "category" else None
    jitter = seeds.generator(options.seed, "deciles")
    codes, codebook = coding.code(table, questions, jitter, say_unknown, kept, log)
    held = codes[~kept]
    known = (held != coding.UNKNOWN).all(axis=1)
    codes = codes[kept]
    with written(options.codebook) as path:
        path.write_text(codebook.to_json(), encoding="utf-8")
    with written(options.records) as path:
        Records(codes, codebook).write(path)
    with written(options.holdout) as path:
        Records(held[known], codebook).write(path)
    for cell in codebook.broken(crosstab(Records(codes, codebook))):
        log(f"the question set calls impossible, and the records hold: {cell}")
    if not known.all():
        log(f"{(~known).sum():,} records are not held out, but left out: no other record answers like them")
    log(
        f"{len(codes):,} records, {len(codebook.questions)} questions, "
        f"{codebook.block_starts[-1]} categories ({questions.name}); {known.sum():,} records held out"
    )


def _require_different(files: Sequence[Path], dataset: Dataset) -> None:
    """Raise InputError if two files have the same content, and so the same people twice."""
    for one, other in itertools.combinations(files, 2):
        if one.stat().st_size == other.stat().st_size and filecmp.cmp(one, other, shallow=False):
            raise InputError(
                f"{dataset.title}: {one.name} and {other.name} hold the same bytes, so the same people twice"
                "; take one of them out of the dataset YAML"
            )


def _require_other_people(table: raw.Raw, others: raw.Raw, dataset: Dataset) -> None:
    """Raise InputError if records to hold out are of households that the models learn from."""
    if raw.HOUSEHOLD not in table or raw.HOUSEHOLD not in others:
        return
    found = holdout.in_both(table[raw.HOUSEHOLD], others[raw.HOUSEHOLD])
    if found:
        more = f" and {len(found) - SHOWN:,} more" if len(found) > SHOWN else ""
        raise InputError(
            f"{dataset.title}: the files under 'holdout' are of the households that the models learn from: "
            f"{raw.HOUSEHOLD} {', '.join(found[:SHOWN])}{more} in both. Hold out other people's files, or, "
            "where these are others who only have the same numbers, give them numbers of their own."
        )
