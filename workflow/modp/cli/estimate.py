"""Make the estimates that a user would publish, from the true records and from every row's."""

import argparse
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from modp.base import seeds
from modp.base.config import load
from modp.base.output import Log, written
from modp.cli.inputs import coded
from modp.cli.selected import as_in_files, fitted_questions, selected_as_coded
from modp.cli.weighing import Weighed, ask_for_rows, true_weights, weighed
from modp.draws import design
from modp.measures.estimates import STATISTICS, Groups, by_group, groups
from modp.pums.where import Dataset
from modp.release.amounts import drawn_amounts, true_amounts
from modp.release.answers import Source, stated, unstated
from modp.survey.records import Records
from modp.survey.variance import RESAMPLES, factor
from modp.survey.weights import Weights


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    ask_for_rows(parser)
    parser.add_argument("--files", type=Path, nargs="+", required=True, help="raw files, in order")
    parser.add_argument("--held-files", type=Path, nargs="*", default=[], help="raw files held out")
    parser.add_argument("--share", type=float, default=0.0, help="held out where there are none of these")
    parser.add_argument("--questions", type=Path, required=True, help="the question set YAML")
    parser.add_argument("--guaranteed", nargs="*", default=[], help="rows with a formal guarantee")
    parser.add_argument("--of", nargs="*", default=[], help="questions with numbers to estimate")
    parser.add_argument("--by", nargs="*", default=[], help="questions whose answers make groups")
    parser.add_argument("--out", type=Path, required=True, help="one line an estimate and row")


def run(options: argparse.Namespace, log: Log) -> None:
    """Read the numbers behind the true answers, draw those of the synthetic ones, estimate."""
    true = coded(options.records, options.codebook)
    of, by = ([name for name in asked if name in true.codebook.names] for asked in (options.of, options.by))
    dataset = load(options.dataset, Dataset)
    weights, of_true = true_weights(options, dataset)
    source = _source(options, true, dataset, log)
    blind = stated(true.codebook, source.questions, dataset)
    amounts = true_amounts(of, source)
    wanted = _estimated(amounts, true, weights, of_true, by)
    of_resamples = factor(None, RESAMPLES)
    parts = []
    for row in weighed(options, true, weights):
        rng = seeds.generator(options.seed, "replicates", row.name)
        own = Weights(row.weights.values, design.replicates(row.weights, rng), row.weights.households)
        guaranteed = row.name in options.guaranteed
        if guaranteed and unstated(row.records.codes, blind):
            log(f"{row.name}: numbers by the true ones, though it has a guarantee, for want of 'bounds'")
            guaranteed = False
        drawn = _amounts(row, amounts, blind if guaranteed else source, options.seed)
        found = _estimated(drawn, row.records, own, of_resamples, by)
        columns = {"synthetic": found["estimate"], "synthetic_error": found["error"]}
        parts.append(wanted.rename(columns={"estimate": "true", "error": "true_error"}).assign(**columns))
        parts[-1].insert(0, "row", row.name)
    with written(options.out) as path:
        pd.concat(parts, ignore_index=True).to_parquet(path, index=False)
    log(f"{len(wanted):,} estimates of {', '.join(of) or 'nothing'} by {', '.join(by) or 'no question'}")


def _source(options: argparse.Namespace, true: Records, dataset: Dataset, log: Log) -> Source:
    """The raw files' columns, as the release of synthetic records reads them."""
    questions = fitted_questions(options.questions, dataset)
    chosen = selected_as_coded(options, true, dataset, questions, log)
    table, _, column_of = as_in_files(options.files, dataset, questions, chosen, ())
    return Source(true, questions, dataset, table, chosen.rows, column_of)


def _amounts(
    row: Weighed, true: Mapping[str, np.ndarray], source: Source, seed: int
) -> Mapping[str, np.ndarray]:
    """A row's numbers: those of the true records that it is made of, or drawn inside their categories."""
    if row.rows is not None:
        return {name: own[row.rows] for name, own in true.items()}
    return drawn_amounts(row.records.codes, list(true), source, seed, "estimates", row.name)


def _estimated(
    amounts: Mapping[str, np.ndarray], records: Records, weights: Weights, of_variance: float, by: list[str]
) -> pd.DataFrame:
    """One line an estimate: what it is, of how many records, estimate and error."""
    parts = [
        pd.DataFrame(columns=["of", "statistic", "by", "group", "label", "records", "estimate", "error"])
    ]
    for name, values in amounts.items():
        for some in groups(records.codes, records.codebook, by):
            counted, found, errors = by_group(values, some, weights.values, weights.replicates, of_variance)
            parts += [
                _lines(name, statistic, some, counted, found[:, s], errors[:, s])
                for s, statistic in enumerate(STATISTICS)
            ]
    return pd.concat(parts[1:] or parts, ignore_index=True)


def _lines(
    name: str, statistic: str, some: Groups, counted: np.ndarray, found: np.ndarray, errors: np.ndarray
) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "of": name,
            "statistic": statistic,
            "by": " × ".join(some.by),
            "group": some.names,
            "label": some.labels,
            "records": counted,
            "estimate": found,
            "error": errors,
        }
    )
