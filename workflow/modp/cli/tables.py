"""Summarise a run: tables of questions, accuracy, privacy and answers by blade, metrics, plot data."""

import argparse
import json
import platform
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from modp.base.config import load, read_yaml
from modp.base.errors import InputError, did_you_mean
from modp.base.output import Log, written
from modp.cli.inputs import ask_for_coded, coded
from modp.cli.outputs import write_table
from modp.measures.accuracy import Summary, cell_sets
from modp.measures.ends import MARGINALS
from modp.measures.table import NOTEBOOK, PAPER_NOTEBOOK
from modp.pums.where import Dataset
from modp.summaries import (
    accuracy,
    answers,
    attacks,
    interactions,
    mixing,
    privacy,
    releases,
    utility,
    warnings,
    weighted,
)
from modp.summaries.metrics import metrics
from modp.summaries.printed import Printed, row_names


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    ask_for_coded(parser)
    parser.add_argument("--rows", nargs="+", required=True, help="bootstrap, then model/variant …")
    parser.add_argument("--cells", type=Path, nargs="+", required=True, help="one file a row")
    parser.add_argument("--summaries", type=Path, nargs="+", required=True, help="one file a row")
    parser.add_argument("--privacy", type=Path, nargs="+", required=True, help="one file a row but the first")
    parser.add_argument(
        "--attacks",
        type=Path,
        nargs="+",
        required=True,
        help="a file a row, then marginals, if there",
    )
    parser.add_argument("--releases", type=Path, nargs="*", default=[], help="attacks on several tables")
    parser.add_argument("--releases-of", nargs="*", default=[], help="these rows' names")
    parser.add_argument("--gates", type=Path, nargs="*", default=[], help="weights, for answers by blade")
    parser.add_argument("--mixing", type=Path, nargs="*", default=[], help="traces of stationary models")
    parser.add_argument("--mixing-of", nargs="*", default=[], help="these models' names")
    parser.add_argument("--histories", type=Path, nargs="*", default=[], help="of fits of models with rows")
    parser.add_argument("--histories-of", nargs="*", default=[], help="these models' names")
    parser.add_argument("--weighted", type=Path, nargs="?", help="cells of weighted crosstabs, of all rows")
    parser.add_argument("--estimated", type=Path, nargs="?", help="estimates, of all rows")
    parser.add_argument("--utility", type=Path, nargs="*", default=[], help="measures, estimates")
    parser.add_argument("--published", type=Path, help="the paper's numbers, for the paper's data")
    parser.add_argument("--dataset", type=Path, required=True, help="the dataset YAML, for its title")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--folder", type=Path, required=True, help="for the tables")
    parser.add_argument("--run", type=json.loads, required=True, help="all parameters of the run, as JSON")
    parser.add_argument("--parameters", type=Path, required=True, help="where to keep them")
    parser.add_argument("--metrics", type=Path, required=True)
    parser.add_argument("--warnings", type=Path, required=True, help="row or model -> sentences, as JSON")
    parser.add_argument("--plot", type=Path, required=True, help="CSV copy for DVC's plots")


def run(options: argparse.Namespace, log: Log) -> None:
    """Gather, summarise, write."""
    records = coded(options.records, options.codebook)
    codebook = records.codebook
    dataset = load(options.dataset, Dataset)
    rows = [
        _row(name, cells, summary)
        for name, cells, summary in zip(options.rows, options.cells, options.summaries, strict=True)
    ]
    facts = {
        "data": f"{dataset.title}: {len(records):,} records, {len(codebook.questions)} questions, "
        f"{codebook.block_starts[-1]} categories ({codebook.question_set})",
        "seed": str(options.seed),
        "machine": f"{platform.system()} {platform.machine()}, "
        f"torch {version('torch')}, numpy {version('numpy')}",
    }
    notebook = options.run[PAPER_NOTEBOOK]
    if notebook:
        facts[PAPER_NOTEBOOK] = f"accuracy: {NOTEBOOK}"
    table = accuracy.accuracy_table(rows, cell_sets(codebook.block_starts, notebook), notebook)
    table = accuracy.with_published(table, _published(options.published, dataset, options.dataset))
    three_way = accuracy.three_way_table(rows)
    hidden = privacy.privacy_table(_read(options.rows[1:], options.privacy))
    known = [*options.rows, MARGINALS][: len(options.attacks)]
    attacked = attacks.attacks_table(_read(known, options.attacks))
    mixed = mixing.mixing_table(_read(options.mixing_of, options.mixing))
    asked = answers.questions_table(codebook)

    def write(name: str, frame: pd.DataFrame, notes: Sequence[str], parts: Sequence[Printed]) -> None:
        heading = f"{name.replace('_', ' ').capitalize()} — {dataset.title}"
        write_table(options.folder / name, frame, heading, facts, notes, parts)

    notes = accuracy.accuracy_notes(options.run["zeros"], notebook)
    write("accuracy", table, notes, accuracy.printed_accuracy(table, notebook))
    notes = accuracy.three_way_notes(notebook)
    write("three_way", three_way, notes, [accuracy.printed_three_way(three_way)])
    histories = _read(options.histories_of, options.histories)
    effects = interactions.interactions_table(histories)
    printed = interactions.printed_interactions(effects)
    write("interactions", effects, interactions.INTERACTIONS_NOTES, printed)
    write("privacy", hidden, privacy.PRIVACY_NOTES, [privacy.printed_privacy(hidden)])
    write("attacks", attacked, attacks.ATTACKS_NOTES, attacks.printed_attacks(attacked))
    if options.releases:
        several = releases.releases_table(_read(options.releases_of, options.releases))
        write("releases", several, releases.RELEASES_NOTES, releases.printed_releases(several))
    write("mixing", mixed, mixing.MIXING_NOTES, mixing.printed_mixing(mixed))
    write("questions", asked, (), [answers.printed_questions(asked)])
    for path in options.gates:
        asked_for, gates = options.run["answers_by_blade"], pd.read_parquet(path).to_numpy()
        answered = answers.answers_by_blade(records, gates, asked_for["questions"])
        write("answers_by_blade", answered, (), answers.printed_answers(answered, asked_for["model"]))
    beside = _weighted(options, dataset, cell_sets(codebook.block_starts), write) if options.weighted else ()
    useful = _useful(options, write) if options.utility else None
    balanced = {f"{row['model']}/{row['name']}" for row in options.run["rows"] if row.get("balanced")}
    warned = warnings.merged(
        warnings.too_few(len(records), attacked),
        warnings.twins(attacked),
        warnings.copies(table, hidden, balanced),
        warnings.shortfalls(histories),
    )
    with written(options.warnings) as path:
        path.write_text(json.dumps(warned, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    with written(options.metrics) as path:
        found = metrics(table, three_way, hidden, attacked, notebook, beside, useful)
        path.write_text(json.dumps(found, indent=1) + "\n")
    with written(options.parameters) as path:
        path.write_text(json.dumps(options.run, indent=1) + "\n")
    with written(options.plot) as path:
        _named_rows(table).to_csv(path, index=False)
    log(f"{options.folder}: {len(rows)} rows")


def _weighted(
    options: argparse.Namespace,
    dataset: Dataset,
    sets: Mapping[str, np.ndarray],
    write: Callable[[str, pd.DataFrame, Sequence[str], Sequence[Printed]], None],
) -> tuple[pd.DataFrame, ...]:
    """Write the tables of a data set with weights, estimates if there are any; return what they measure."""
    errors = weighted.yardstick(dataset.variance, len(dataset.replicate_columns), dataset.fay)
    table = weighted.weighted_table(pd.read_parquet(options.weighted), sets)
    write("accuracy_weighted", table, weighted.weighted_notes(errors), weighted.printed_weighted(table))
    if not options.estimated:
        return (table,)
    estimates = weighted.estimates_table(pd.read_parquet(options.estimated))
    kept = weighted.kept_table(estimates)
    printed = weighted.printed_estimates(estimates, kept)
    write("estimates", estimates, weighted.estimates_notes(errors), printed)
    return table, kept


def _useful(
    options: argparse.Namespace, write: Callable[[str, pd.DataFrame, Sequence[str], Sequence[Printed]], None]
) -> pd.DataFrame:
    """Write the tables of utility and of analyses; return the former."""
    measured, estimated = (pd.read_parquet(path) for path in options.utility)
    analyses = utility.analyses_table(estimated)
    table = utility.utility_table(measured, analyses)
    write("utility", table, utility.utility_notes(), utility.printed_utility(table, measured))
    if len(analyses):
        write("analyses", analyses, utility.analyses_notes(), utility.printed_analyses(analyses))
    return table


def _read(names: Sequence[str], files: Sequence[Path]) -> dict[str, pd.DataFrame]:
    return {name: pd.read_parquet(path) for name, path in zip(names, files, strict=True)}


def _published(path: Path | None, dataset: Dataset, where: Path) -> dict[str, dict[str, float]]:
    """The paper's numbers for this data set, none if it is not the paper's."""
    if path is None or dataset.published is None:
        return {}
    known = read_yaml(path)
    if dataset.published not in known:
        raise InputError(
            f"{where}: published: {dataset.published!r} is not in {path}"
            f"{did_you_mean(dataset.published, known)}"
        )
    return known[dataset.published]


def _row(name: str, cells: Path, summary: Path) -> accuracy.Row:
    model, _, variant = name.partition("/")
    log_ratios = pq.read_table(cells, columns=["log_ratio"])["log_ratio"].to_numpy()
    counted = json.loads(summary.read_text())
    three_way, near = Summary.from_dict(counted.pop("three_way")), counted.pop("population")
    return accuracy.Row(model, variant, log_ratios, counted, three_way, near)


def _named_rows(table: pd.DataFrame) -> pd.DataFrame:
    """The rows over all cells, each under one name, which is what ``dvc plots`` can show."""
    return table.assign(row=row_names(table))[table["cells"] == "all"]
