"""Turn raw records into coded records and their codebook."""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np

from modp.base import seeds
from modp.base.config import load
from modp.base.errors import InputError
from modp.base.output import Log, written
from modp.cli import apart
from modp.cli.selected import fitted_questions, selected
from modp.crosstabs.pairs import counts
from modp.pums.where import Dataset, Part
from modp.survey import coding, holdout, weights
from modp.survey.codebook import Codebook
from modp.survey.records import grouped, write_parts

MOST_TOLD = 20
"""Cells that are called impossible and are held: so many are named."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    parser.add_argument("--files", type=Path, nargs="*", default=[], help="raw files, in order")
    parser.add_argument("--dataset", type=Path, required=True, help="the dataset YAML")
    parser.add_argument("--questions", type=Path, required=True, help="the question set YAML")
    parser.add_argument("--held-files", type=Path, nargs="*", default=[], help="raw files to hold out")
    parser.add_argument("--codebook-of", type=Path, nargs="?", help="other records' codebook, to code under")
    parser.add_argument("--share", type=float, default=0.0, help="to hold out where there are none of these")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--records", type=Path, required=True, help="what the models learn from")
    parser.add_argument("--holdout", type=Path, required=True, help="what they never see")
    parser.add_argument("--codebook", type=Path, required=True)
    parser.add_argument("--weights", type=Path, help="households of the former, and weights if there are any")
    parser.add_argument("--parts", type=Path, nargs="?", help="of which part each record is, if scattered")


def run(options: argparse.Namespace, log: Log) -> None:
    """Read, filter, code, write."""
    dataset = load(options.dataset, Dataset)
    if dataset.part:
        _cut(dataset.part, options, log)
        return
    questions = fitted_questions(options.questions, dataset)
    chosen = selected(options.files, options.held_files, dataset, questions, options.share, options.seed, log)
    kept = chosen.kept
    jitter = seeds.generator(options.seed, "deciles")
    if options.codebook_of:
        codebook = Codebook.from_json(options.codebook_of.read_text(encoding="utf-8"))
        codes = coding.apply(chosen.answers, questions, codebook, jitter)
    else:
        say_unknown = log if dataset.unknown == "category" else None
        codes, codebook = coding.code(chosen.answers, questions, jitter, say_unknown, kept, log)
    own, others = np.flatnonzero(kept), np.flatnonzero(~kept)
    known = np.concatenate([(held != coding.UNKNOWN).all(axis=1) for held in grouped(codes, others)])
    with written(options.codebook) as path:
        path.write_text(codebook.to_json(), encoding="utf-8")
    with written(options.records) as path:
        _write(path, codes, own, codebook)
    with written(options.holdout) as path:
        _write(path, codes, others[known], codebook)
    if options.weights:
        with written(options.weights) as path:
            weights.write(path, chosen.households, chosen.weights, chosen.housed)
    if options.parts:
        assert chosen.parts is not None
        with written(options.parts) as path:
            apart.write(path, chosen.parts[kept], chosen.parts[~kept][known])
    found = np.sum([counts(some, codebook.block_starts) for some in grouped(codes, own)], axis=0)
    broken = codebook.broken(found)
    for cell in broken[:MOST_TOLD]:
        log(f"the question set calls impossible, and the records hold: {cell}")
    if len(broken) > MOST_TOLD:
        log(f"and {len(broken) - MOST_TOLD:,} more such cells")
    if not known.all():
        log(f"{(~known).sum():,} records are not held out, but left out: no other record answers like them")
    log(
        f"{len(own):,} records, {len(codebook.questions)} questions, "
        f"{codebook.block_starts[-1]} categories ({questions.name}); {known.sum():,} records held out"
    )


def _write(path: Path, codes: np.ndarray, rows: np.ndarray, codebook: Codebook) -> None:
    write_parts(path, ((some, {}) for some in grouped(codes, rows)), codebook)


def _cut(part: Part, options: argparse.Namespace, log: Log) -> None:
    """Take a part's records out of those that its data set has coded and held out."""
    whole = apart.Whole.of(Path(part.of))
    kept, held = whole.rows(part.called)
    codebook = whole.codebook
    if not len(kept):
        raise InputError(f"{part.of}: no record of the part {part.called!r} is left to learn from")
    with written(options.codebook) as path:
        path.write_text(codebook.to_json(), encoding="utf-8")
    with written(options.records) as path:
        whole.records("records")[kept].write(path)
    with written(options.holdout) as path:
        whole.records("holdout")[held].write(path)
    if options.weights:
        households = holdout.households_of(np.ma.array(whole.households[kept]))
        own = None if whole.weights is None else replace(whole.weights[kept], households=households)
        with written(options.weights) as path:
            weights.write(path, households, own, whole.housed)
    log(f"{part.called}: {len(kept):,} records of {part.of}; {len(held):,} held out")
