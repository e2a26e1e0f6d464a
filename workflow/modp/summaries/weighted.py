"""The tables of a survey with weights: accuracy of weighted crosstabs, and estimates to publish."""

from collections.abc import Mapping
from dataclasses import asdict

import numpy as np
import pandas as pd

from modp.crosstabs.limits import FEWEST
from modp.measures.accuracy import summarise
from modp.measures.estimates import inside, kept, overlap
from modp.measures.table import measures_of
from modp.measures.weighted import Z90, of_z
from modp.summaries.accuracy import CELL_NAMES, TIMES, and_ratios, headers_of_d
from modp.summaries.printed import Printed, cell, with_ratios
from modp.survey.variance import RESAMPLES

YARDSTICKS = {
    "sdr": "successive differences: SE² = 4/{count} Σ (θ_r − θ)²",
    "brr": "balanced repeated replication: SE² = 1/{count} Σ (θ_r − θ)²",
    "fay": "Fay's method: SE² = 1/({count} (1 − {fay:g})²) Σ (θ_r − θ)²",
    "jk1": "the jackknife: SE² = ({count} − 1)/{count} Σ (θ_r − θ)²",
}
"""How standard errors were found, by the dataset YAML's key ``variance``."""

BOOTSTRAPPED = "resamples of whole households, {count} of them: SE² = 1/{count} Σ (θ_r − θ)²"

PREFIX = "estimates_"
"""How the keys of measures of estimates begin in the table of measures."""


def yardstick(variance: str, count: int, fay: float | None) -> str:
    """Say where standard errors are from.

    Parameters
    ----------
    variance, fay : keys of the dataset YAML
    count : replicate weights of the records; 0 if there are none
    """
    if not count:
        return f"standard errors by {BOOTSTRAPPED.format(count=RESAMPLES)}"
    return (
        f"standard errors by replicate weights and {YARDSTICKS[variance].format(count=count, fay=fay or 0)}"
    )


def weighted_table(cells: pd.DataFrame, cell_sets: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """Return the accuracy of every row's weighted crosstab over every set of cells, and ratios.

    Parameters
    ----------
    cells : as the step ``weigh`` writes them, the resample of the design first
    cell_sets : name -> mask of the cells, as :func:`modp.measures.accuracy.cell_sets` returns
    """
    names = list(dict.fromkeys(cells["row"].astype(str)))
    parts = {name: cells[cells["row"] == name] for name in names}
    lines = []
    for of, some in cell_sets.items():
        found = {name: summarise(part["log_ratio"].to_numpy()[some]) for name, part in parts.items()}
        for name, part in parts.items():
            model, _, variant = name.partition("/")
            there = part["true"].to_numpy()[some] > 0
            lines.append(
                {
                    "model": model,
                    "variant": variant,
                    "cells": of,
                    "n_cells": found[name].cells,
                    **and_ratios(found[name], found[names[0]]),
                    **of_z(part["z"].to_numpy()[some][there]),
                }
            )
    return pd.DataFrame(lines)


def weighted_notes(errors: str) -> list[str]:
    """Return what the numbers of the weighted table are; ``errors`` is what :func:`yardstick` says."""
    return [
        "people instead of records: C is the sum of the weights in a cell, the synthetic ones scaled to the "
        f"same total, and d = |ln((C_syn + w) / (C_true + w))|, w the mean weight of a true record; {TIMES}. "
        "The bootstrap here is a resample of the design: households whole, their weights with them",
        errors,
        "z: (C_syn − C_true) / √(SE² + w²), over cells with a true record; inside: the share of these with "
        f"|z| ≤ {Z90:.3f}, the 90 % interval, in which a resample, that errs by chance alone, has about 90 %",
    ]


def printed_weighted(table: pd.DataFrame) -> list[Printed]:
    """Return the weighted table for people, one part for each set of cells."""
    of_d, others = measures_of("d"), measures_of("weighted")
    headers = ["model", "variant", *headers_of_d(), *(measure.title for measure in others)]
    parts = []
    for cells, part in table.groupby("cells", sort=False):
        rows = [
            [line["model"], line["variant"], *with_ratios(of_d, line), *(cell(m, line) for m in others)]
            for line in part.to_dict("records")
        ]
        caption = f"weighted d over {part['n_cells'].iloc[0]:,} cells: {CELL_NAMES[str(cells)]}"
        parts.append(Printed(caption, headers, rows, 2))
    return parts


def estimates_table(estimated: pd.DataFrame) -> pd.DataFrame:
    """Return the estimates, one line each and row, with whether the synthetic one is inside and intervals.

    Parameters
    ----------
    estimated : as the step ``estimate`` writes them
    """
    numbers = [estimated[c].to_numpy(float) for c in ("true", "true_error", "synthetic", "synthetic_error")]
    with np.errstate(divide="ignore", invalid="ignore"):
        width = numbers[3] / numbers[1]
    return estimated.assign(inside=inside(*numbers[:3]), overlap=overlap(*numbers), width=width)


def kept_table(estimates: pd.DataFrame) -> pd.DataFrame:
    """Return how well every row keeps the estimates, by the measures' keys: a line a row.

    Parameters
    ----------
    estimates : as :func:`estimates_table` returns them
    """
    lines = []
    for name, part in estimates.groupby("row", sort=False):
        model, _, variant = str(name).partition("/")
        columns = ("records", "true", "true_error", "synthetic", "synthetic_error")
        found = kept(*(part[column].to_numpy(float) for column in columns))
        measured = {f"{PREFIX}{key}": value for key, value in asdict(found).items() if key != "estimates"}
        lines.append({"model": model, "variant": variant, "n_estimates": found.estimates, **measured})
    keys = [measure.key for measure in measures_of("estimates")]
    return pd.DataFrame(lines, columns=["model", "variant", "n_estimates", *keys])


def estimates_notes(errors: str) -> list[str]:
    """Return what the numbers of the table of estimates are; ``errors`` is what :func:`yardstick` says."""
    return [
        f"± is one standard error; of true estimates: {errors}; of synthetic ones: by {RESAMPLES} resamples "
        "of the synthetic records, since whoever has these alone has nothing else",
        "synthetic numbers are drawn inside their category, as a release draws them; records without a "
        "number are left out; the row bootstrap is a resample of the design",
        "inside: the share of synthetic estimates inside the true 90 % interval; overlap: the mean share "
        "that the two intervals have in common; width: the median ratio of their widths, synthetic to true; "
        f"of groups with at least {FEWEST} true records",
    ]


def printed_estimates(estimates: pd.DataFrame, summary: pd.DataFrame) -> list[Printed]:
    """Return how well estimates are kept, and those by no question or one, for people."""
    measures = measures_of("estimates")
    rows = [
        [line["model"], line["variant"], f"{line['n_estimates']:,}", *(cell(m, line) for m in measures)]
        for line in summary.to_dict("records")
    ]
    headers = ["model", "variant", "estimates", *(measure.title for measure in measures)]
    parts = [Printed("How well estimates are kept", headers, rows, 2)]
    few = estimates[(estimates["records"] >= FEWEST) & ~estimates["by"].str.contains(" × ")]
    for (of, statistic), part in few.groupby(["of", "statistic"], sort=False):
        parts.append(_side_by_side(f"{of}: {statistic}", part))
    return parts


def _side_by_side(caption: str, part: pd.DataFrame) -> Printed:
    """One statistic's estimates, true and of every row: a line a group."""
    rows: dict[tuple[str, str], list[str]] = {}
    for line in part.to_dict("records"):
        group = (line["by"], line["label"])
        texts = rows.setdefault(group, [*group, _with_error(line["true"], line["true_error"])])
        texts.append(_with_error(line["synthetic"], line["synthetic_error"]))
    names = list(dict.fromkeys(part["row"].astype(str)))
    return Printed(caption, ["by", "group", "true", *names], list(rows.values()), 2)


def _with_error(value: float, error: float) -> str:
    return "" if np.isnan(value) else f"{value:,.0f} ± {error:,.0f}"
