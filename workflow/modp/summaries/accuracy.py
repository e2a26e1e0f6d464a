"""The tables of accuracy: over all cells, over those between questions, and over cells of three questions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from modp.crosstabs.limits import FEWEST, MOST
from modp.measures.accuracy import Summary, summarise
from modp.measures.table import ERROR, IN_SAMPLE, NEARER, NOTEBOOK, RATIO, measures_of
from modp.summaries.printed import Printed, cell, row_names, shown, with_ratios

ZEROS = {
    "sample": "no true record holds",
    "likely": "no true record holds though chance would have made some, or that are stated to be impossible",
    "stated": "the question set calls impossible",
}
"""Which pairs of answers are structural zeros, by the parameter ``zeros``."""

CELL_NAMES = {
    "all": "all cells i ≤ j, those inside a question included (as in the paper)",
    "between": "cells of two different questions",
}
NOTEBOOK_CELL_NAMES = {
    "all": "the whole square, those inside a question included (as in the author's notebook)",
    "between": "cells of two different questions, each pair twice",
}

TIMES = f"× is the ratio to the bootstrap resample, the ideal within the sample: {IN_SAMPLE}"

PUBLISHED = "published_"
"""Before the name of a column: the paper's number."""


@dataclass(frozen=True)
class Row:
    """What is known of one row of the accuracy table.

    ``log_ratios`` has one entry a cell i <= j; ``counted`` are the measures of the accuracy table that
    are not of d, by their keys, None where one is not defined; ``three_way`` summarises the three-way
    crosstabs, where they were counted; ``population`` is what :func:`modp.measures.population.population`
    returned, empty where nothing was held out.
    """

    model: str
    variant: str
    log_ratios: np.ndarray
    counted: Mapping[str, float | None]
    three_way: Summary | None = None
    population: Mapping[str, Mapping[str, tuple[float, float]]] = field(default_factory=dict)


def accuracy_table(
    rows: Sequence[Row], cell_sets: Mapping[str, np.ndarray], paper_notebook: bool = False
) -> pd.DataFrame:
    """Return the accuracy of every row over every set of cells, with ratios to the first row.

    Parameters
    ----------
    rows : the bootstrap first
    cell_sets : name -> which cells, as :func:`modp.measures.accuracy.cell_sets` returns
    paper_notebook : whether measures of d are those of the author's notebook
    """
    lines = []
    for cells, some in cell_sets.items():
        found = [summarise(row.log_ratios[some], paper_notebook) for row in rows]
        for row, summary in zip(rows, found, strict=True):
            counted = {m.key: row.counted[m.key] for m in measures_of("accuracy")}
            lines.append(
                {
                    "model": row.model,
                    "variant": row.variant,
                    "cells": cells,
                    "n_cells": summary.cells,
                    **and_ratios(summary, found[0]),
                    **_with_errors(row.population.get(cells, {})),
                    **{key: np.nan if value is None else value for key, value in counted.items()},
                }
            )
    return pd.DataFrame(lines)


def three_way_table(rows: Sequence[Row]) -> pd.DataFrame:
    """Return the accuracy of every row's three-way crosstabs, all counted, with ratios to the first row."""
    found = [row.three_way for row in rows if row.three_way]
    lines = [
        {"model": row.model, "variant": row.variant, "n_cells": own.cells, **and_ratios(own, found[0])}
        for row, own in zip(rows, found, strict=True)
    ]
    return pd.DataFrame(lines)


def and_ratios(found: Summary, ideal: Summary) -> dict[str, float]:
    """Return the measures of d by their keys, and their ratios to the ideal's."""
    keys = [measure.key for measure in measures_of("d")]
    own, best = found.measures, ideal.measures
    ratios = {f"{RATIO}{k}": own[k] / best[k] if best[k] > 0 else np.nan for k in keys}
    return {k: own[k] for k in keys} | ratios


def _with_errors(found: Mapping[str, tuple[float, float]]) -> dict[str, float]:
    """The measures of ``population``, and their standard errors."""
    numbers = {m.key: found.get(m.key, (np.nan, np.nan)) for m in measures_of("population")}
    errors = {f"{key}{ERROR}": error for key, (_, error) in numbers.items()}
    return {key: ratio for key, (ratio, _) in numbers.items()} | errors


def with_published(table: pd.DataFrame, published: Mapping[str, Mapping[str, float]]) -> pd.DataFrame:
    """Return the accuracy table with the paper's measures of d of the same rows, over all cells.

    Parameters
    ----------
    published : row (``bootstrap``, or ``model/variant``) -> measure -> number
    """
    names = row_names(table).where(table["cells"] == "all")
    columns = {}
    for key in (measure.key for measure in measures_of("d")):
        numbers = {row: values[key] for row, values in published.items() if key in values}
        columns[f"{PUBLISHED}{key}"] = names.map(numbers)
    return table.assign(**columns)


def accuracy_notes(zeros: str, paper_notebook: bool = False) -> list[str]:
    """Return what the accuracy table's numbers are.

    Parameters
    ----------
    zeros, paper_notebook : the parameters
    """
    counts = (
        "counts as they are" if paper_notebook else "synthetic counts scaled to the number of true records"
    )
    return [
        *([NOTEBOOK] if paper_notebook else []),
        f"d = |ln((C_syn + 1) / (C_true + 1))|, {counts}; {TIMES}",
        "population: mean d from the crosstab of the records held out, as a multiple of the true records' "
        f"own, without the noise that both share, ± one standard error: {NEARER}",
        f"zeros: synthetic records that hold a pair of answers {ZEROS[zeros]}; bits: median entropy a record",
    ]


def three_way_notes(paper_notebook: bool = False) -> list[str]:
    """Return what the numbers of the three-way table are; ``paper_notebook`` is the parameter."""
    d = (
        "d as the paper defines it, though paper_notebook is on"
        if paper_notebook
        else "d as in the accuracy table"
    )
    return [
        f"cells of three questions with at least {FEWEST} true records; of all triples of questions or, "
        f"where there are more, of {MOST:,} chosen at random, the same for every row",
        f"{d}; {TIMES}",
    ]


def printed_accuracy(table: pd.DataFrame, paper_notebook: bool = False) -> list[Printed]:
    """Return the accuracy table for people, one part for each set of cells."""
    of_d, others = measures_of("d"), [m for m in measures_of("population", "accuracy") if m.title]
    names = NOTEBOOK_CELL_NAMES if paper_notebook else CELL_NAMES
    parts = []
    for cells, part in table.groupby("cells", sort=False):
        columns = {m: f"{PUBLISHED}{m.key}" for m in of_d}
        published = {m: c for m, c in columns.items() if c in part and part[c].notna().any()}
        papers = [measure.title for measure in published]
        headers = ["model", "variant", *headers_of_d(), *(measure.title for measure in others)]
        headers += [f"paper: {papers[0]}", *papers[1:]] if papers else []
        rows = [
            [
                line["model"],
                line["variant"],
                *with_ratios(of_d, line),
                *(cell(measure, line) for measure in others),
                *(shown(line[column], measure.form.number) for measure, column in published.items()),
            ]
            for line in part.to_dict("records")
        ]
        caption = f"d over {part['n_cells'].iloc[0]:,} cells: {names[str(cells)]}"
        parts.append(Printed(caption, headers, rows, 2))
    return parts


def headers_of_d() -> list[str]:
    """Return the titles of the measures of d, each followed by that of its ratio."""
    return [title for measure in measures_of("d") for title in (measure.title, "×")]


def printed_three_way(table: pd.DataFrame) -> Printed:
    """Return the accuracy of three-way crosstabs for people."""
    of_d = measures_of("d")
    rows = [[line["model"], line["variant"], *with_ratios(of_d, line)] for line in table.to_dict("records")]
    headers = ["model", "variant", *headers_of_d()]
    return Printed(f"d over {table['n_cells'].iloc[0]:,} cells of three questions", headers, rows, 2)


def judged_by(rows: pd.DataFrame) -> str | None:
    """Return the first measure of d that judges and whose ratio to the bootstrap's is known of some row.

    That of the median is not where more than half of the cells of a bootstrap are exactly the true ones.
    """
    judging = (measure.key for measure in measures_of("d") if measure.judges)
    return next((key for key in judging if rows[f"{RATIO}{key}"].notna().any()), None)
