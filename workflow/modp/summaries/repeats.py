"""Repeats of a run with other seeds: every number with its mean and standard error."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from modp.measures.table import METRIC, RATIO, THREE_WAY, WEIGHTED, measures_of
from modp.summaries.printed import Printed


@dataclass(frozen=True)
class Spread:
    """What repeats say of one metric: how many there were, their mean and its standard error."""

    runs: int
    mean: float
    error: float


def flat(tree: Any, prefix: str = "") -> dict[str, Any]:
    """Return the leaves of nested mappings and lists by their dotted names.

    An item of a list goes by its ``name``, with its ``model`` before it, if it has one, so that items
    are compared with their likes and not with those that happen to stand at the same place.
    """
    if isinstance(tree, Mapping):
        parts = [(str(key), value) for key, value in tree.items()]
    elif isinstance(tree, Sequence) and not isinstance(tree, str):
        parts = [(_label(item, at), item) for at, item in enumerate(tree)]
    else:
        return {prefix: tree}
    leaves: dict[str, Any] = {}
    for key, value in parts:
        leaves |= flat(value, f"{prefix}.{key}" if prefix else key)
    return leaves


def _label(item: Any, at: int) -> str:
    if not isinstance(item, Mapping) or "name" not in item:
        return str(at)
    return "/".join(str(item[key]) for key in ("model", "name") if key in item)


def gathered(runs: Sequence[Any]) -> pd.DataFrame:
    """Return mean and standard error of every metric, a line a metric.

    Parameters
    ----------
    runs : metrics of each run, as nested numbers; a metric that a run lacks, or that is not defined
        there, counts as missing

    Returns
    -------
    columns metric (its dotted name), runs (that have it), mean, error (the standard error of the
    mean; NaN of fewer than two)
    """
    leaves = [flat(run) for run in runs]
    lines = []
    for metric in dict.fromkeys(name for found in leaves for name in found):
        values = np.array([found[metric] for found in leaves if found.get(metric) is not None], float)
        error = values.std(ddof=1) / math.sqrt(len(values)) if len(values) > 1 else math.nan
        lines.append((metric, len(values), values.mean() if len(values) else math.nan, error))
    return pd.DataFrame(lines, columns=["metric", "runs", "mean", "error"])


def spreads(table: pd.DataFrame) -> dict[str, Spread]:
    """Return the lines of :func:`gathered` by metric."""
    return {row.metric: Spread(row.runs, row.mean, row.error) for row in table.itertuples(index=False)}


def printed(table: pd.DataFrame) -> list[Printed]:
    """Return the chief measures of every row for people, as mean ± standard error."""
    known = spreads(table)
    parts = []
    for kind, wanted in _titles().items():
        rows: dict[str, dict[str, str]] = {}
        for metric, spread in known.items():
            first, *place, measure = metric.split(".")
            if first == kind and measure in wanted:
                rows.setdefault("/".join(place), {})[measure] = _shown(spread)
        measures = [m for m in wanted if any(m in row for row in rows.values())]
        lines = [[name, *(row.get(m, "") for m in measures)] for name, row in rows.items()]
        if lines:
            caption = f"{kind.capitalize()}, mean ± standard error over seeds"
            parts.append(Printed(caption, ["row", *(wanted[m] for m in measures)], lines, 1))
    return parts


def _titles() -> dict[str, dict[str, str]]:
    """The printed tables' measures, as far as a run has them, and their titles; the Parquet file has all."""
    of_d = measures_of("d")
    ratios = {f"{RATIO}{m.name}": f"{m.title} ×" for m in of_d}
    ratios |= {f"{RATIO}{m.name}{THREE_WAY}": f"three-way {m.title} ×" for m in of_d if m.three_way}
    ratios |= {f"{RATIO}{m.name}{WEIGHTED}": f"weighted {m.title} ×" for m in of_d}
    titles: dict[str, dict[str, str]] = {"accuracy": ratios, "privacy": {}, "utility": {}}
    for kind, columns in titles.items():
        columns |= {m.name: m.repeated for m in measures_of() if m.repeated and m.is_in(kind)}
    return titles


def _shown(spread: Spread) -> str:
    if math.isnan(spread.mean):
        return ""
    return METRIC.number.format(spread.mean) + ("" if math.isnan(spread.error) else f" ± {spread.error:.2g}")
