"""Measure what released tables are worth to learners and analysts, beside the true records and a resample."""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from modp.base import seeds
from modp.base.config import check, load
from modp.base.output import Log, written
from modp.cli.inputs import ask_for_coded, coded
from modp.cli.selected import as_in_files, fitted_questions, selected_as_coded
from modp.draws.independent import resampled
from modp.measures import learners, numbers
from modp.measures.ends import BOOTSTRAP, HELD_OUT, SAMPLE
from modp.measures.formulas import COLUMNS, Analysis
from modp.measures.frames import at_rows, frames, frames_of_codes, matrices
from modp.pums.where import Dataset
from modp.release import stored
from modp.release.answers import question_of_column
from modp.summaries.utility import DROP, SKILL, TAUGHT
from modp.survey.records import Records

MOST = 10_000
"""Records whose numbers are compared, chosen at random if there are more."""

Line = tuple[str, str, str, float, float]
"""Row, measure, what it is of, value, standard error."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    ask_for_coded(parser)
    parser.add_argument("--holdout", type=Path, required=True, help="records that the models never saw")
    parser.add_argument("--files", type=Path, nargs="+", required=True, help="raw files, in order")
    parser.add_argument("--held-files", type=Path, nargs="*", default=[], help="raw files held out")
    parser.add_argument("--share", type=float, default=0.0, help="held out where there are none of these")
    parser.add_argument("--dataset", type=Path, required=True, help="the dataset YAML")
    parser.add_argument("--questions", type=Path, required=True, help="the question set YAML")
    parser.add_argument("--rows", nargs="+", required=True, help="model/variant …")
    parser.add_argument("--synthetic", type=Path, nargs="+", required=True, help="records, one file a row")
    parser.add_argument("--raw", type=Path, nargs="+", required=True, help="the same as they are released")
    parser.add_argument("--resample", action="store_true", help="also try a resample of the true records")
    parser.add_argument("--most", type=int, default=learners.MOST, help="records that a learner takes")
    parser.add_argument("--targets", nargs="*", default=[], help="to be predicted; else the best to predict")
    parser.add_argument("--analyses", type=json.loads, default=[], help="as params.yaml has them, as JSON")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True, help="one line a measure and row")
    parser.add_argument("--estimates", type=Path, required=True, help="one line a term and row")


@dataclass(frozen=True)
class Tables:
    """What is compared: the true records, a resample of them if wanted, the rows; and the people held out.

    raw, codes : row -> its records, with raw answers and with categories
    others, other_codes : the people held out
    once : questions of which each raw column is written from one
    """

    raw: Mapping[str, pd.DataFrame]
    others: pd.DataFrame
    codes: Mapping[str, pd.DataFrame]
    other_codes: pd.DataFrame
    once: list[str]


def run(options: argparse.Namespace, log: Log) -> None:
    """Read the raw tables, code them alike, let learners and analyses try them."""
    asked = [check(some, Analysis, f"analysis {at + 1}") for at, some in enumerate(options.analyses)]
    tables = _tables(options, log)
    every = {SAMPLE: tables.raw[SAMPLE], HELD_OUT: tables.others, **tables.raw}
    with threadpool_limits(1):  # sums in one order, and a core for the step that runs beside
        lines = [*_told_apart(tables, options), *_taught(tables, options), *_numbers(tables, options.seed)]
        estimates = _estimated(asked, every)
    with written(options.out) as path:
        pd.DataFrame(lines, columns=["row", "measure", "of", "value", "error"]).to_parquet(path, index=False)
    with written(options.estimates) as path:
        estimates.to_parquet(path, index=False)
    told = ", ".join(f"{row} {value:.3f}" for row, measure, _, value, _ in lines if measure == "auc_raw")
    log(f"AUC of a classifier that tells a table from new people: {told}; {len(asked)} analyses")


def _estimated(asked: Sequence[Analysis], tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """All analyses of all tables."""
    if not asked:
        return pd.DataFrame({name: [] for name in COLUMNS})
    from modp.measures import analyses  # slow to load, and most tables do without

    return pd.concat([analyses.estimated(analysis, tables) for analysis in asked], ignore_index=True)


def _tables(options: argparse.Namespace, log: Log) -> Tables:
    true = coded(options.records, options.codebook)
    codebook, dataset = true.codebook, load(options.dataset, Dataset)
    questions = fitted_questions(options.questions, dataset)
    chosen = selected_as_coded(options, true, dataset, questions, log)
    ours, _, column_of = as_in_files(options.files, dataset, questions, chosen, ())
    files = options.held_files or options.files
    theirs, *_ = as_in_files(files, dataset, questions, chosen.others, ())
    parts = [at_rows(ours, chosen.rows), at_rows(theirs, chosen.held)]
    parts += [stored.read(path).table for path in options.raw]
    columns = {q.name: column_of.get(q.column, q.column) for q in codebook.questions}
    own, others, *made = frames(parts, columns, {q.name: q for q in questions.questions})
    held, *drawn = (Records.read(p, codebook).codes for p in (options.holdout, *options.synthetic))
    true_codes, *codes, other_codes = frames_of_codes([true.codes, *drawn, held], codebook, questions)
    raw, in_classes = {SAMPLE: own}, {SAMPLE: true_codes}
    if options.resample:
        rows = resampled(np.arange(len(true)), seeds.generator(options.seed, BOOTSTRAP))
        raw[BOOTSTRAP], in_classes[BOOTSTRAP] = own.iloc[rows], true_codes.iloc[rows]
    raw |= zip(options.rows, made, strict=True)
    in_classes |= zip(options.rows, codes, strict=True)
    once = [codebook.names[q] for q in sorted(question_of_column(codebook, column_of).values())]
    return Tables(raw, others, in_classes, other_codes, once)


def _told_apart(tables: Tables, options: argparse.Namespace) -> Iterator[Line]:
    """How well a classifier tells each table from people held out, raw and in classes; what gives it away."""
    seed, most, others = options.seed, options.most, tables.others[tables.once]
    (*raw, held), nominal = matrices([*(table[tables.once] for table in tables.raw.values()), others])
    (*codes, held_codes), of_codes = matrices([*tables.codes.values(), tables.other_codes])
    for row, own, own_codes in zip(tables.raw, raw, codes, strict=True):
        found = learners.detection(own, held, nominal, seeds.generator(seed, "utility", "raw", row), most)
        yield row, "auc_raw", "", found.auc, found.error
        for name, drop in zip(tables.once, found.drops.tolist(), strict=True):
            yield row, DROP, name, drop, np.nan
        rng = seeds.generator(seed, "utility", "classes", row)
        found = learners.detection(own_codes, held_codes, of_codes, rng, most)
        yield row, "auc_classes", "", found.auc, found.error


def _taught(tables: Tables, options: argparse.Namespace) -> Iterator[Line]:
    """What each table teaches of each target; not the resample, which teaches what the true records do."""
    names, rows = tables.once, [row for row in tables.raw if row != BOOTSTRAP]
    (*raw, held), nominal = matrices([*(tables.raw[row][names] for row in rows), tables.others[names]])
    targets = [names.index(name) for name in options.targets if name in names]
    if not options.targets:
        rng = seeds.generator(options.seed, "utility", "targets")
        targets = learners.predictable(raw[0], nominal, rng)
    for target in targets:
        rng = seeds.generator(options.seed, "utility", "taught", names[target])
        found = learners.taught(raw, held, nominal, target, rng, options.most)
        for row, own in zip(rows, found, strict=True):
            yield row, SKILL, names[target], own.skill, np.nan
            yield row, TAUGHT, names[target], own.share, own.error


def _numbers(tables: Tables, seed: int) -> Iterator[Line]:
    """How far each table's numbers are from those of people held out."""
    some = {
        name: table.iloc[seeds.generator(seed, "utility", "numbers", name).permutation(len(table))[:MOST]]
        for name, table in {HELD_OUT: tables.others, **tables.raw}.items()
    }
    for row in tables.raw:
        found = numbers.compared(some[row][tables.once], some[HELD_OUT][tables.once])
        for measure, value in asdict(found).items():
            yield row, measure, "", value, np.nan
