"""The tables' numbers as metrics.json has them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from modp.measures.table import (
    ATTACKS,
    BETWEEN,
    ERROR,
    LIMITS,
    PAPER_NOTEBOOK,
    RATIO,
    THREE_WAY,
    WEIGHTED,
    measures_of,
)

DIGITS = 6

CELLS = {"all": "", "between": BETWEEN}
"""What stands after the name of a measure of d, by the set of cells that it is over."""


def metrics(
    table: pd.DataFrame,
    three_way: pd.DataFrame,
    hidden: pd.DataFrame,
    attacked: pd.DataFrame,
    paper_notebook: bool = False,
    weighted: Sequence[pd.DataFrame] = (),
    useful: pd.DataFrame | None = None,
) -> dict[str, Any]:
    """Return the tables as nested numbers: accuracy.<model>.<variant>.<measure>, privacy. …, utility. … too.

    Ratios are over all cells. Where accuracy is the author's notebook's, ``paper_notebook`` stands beside.

    Parameters
    ----------
    table, three_way : as :mod:`modp.summaries.accuracy` makes them
    hidden, attacked : as :func:`modp.summaries.privacy.privacy_table` and
        :func:`modp.summaries.attacks.attacks_table` return them
    paper_notebook : the parameter
    weighted : where there are weights, what :func:`modp.summaries.weighted.weighted_table` returns and, where
        there are estimates, :func:`modp.summaries.weighted.kept_table`
    useful : where it is measured, what :func:`modp.summaries.utility.utility_table` returns
    """
    accuracy = _accuracy(table, three_way)
    if weighted:
        _add_weighted(accuracy, *weighted)
    found = {"accuracy": accuracy, "privacy": _privacy(hidden, attacked)}
    found |= {} if useful is None else {"utility": _utility(useful)}
    return found | ({PAPER_NOTEBOOK: True} if paper_notebook else {})


def _accuracy(table: pd.DataFrame, three_way: pd.DataFrame) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    of_d = measures_of("d")
    for line in table.to_dict("records"):
        place = _place(tree, line)
        for measure in measures_of("d", "population"):
            name = f"{measure.name}{CELLS[line['cells']]}"
            place[name] = number(line[measure.key])
            if measure.form.spread == "error":
                place[f"{name}{ERROR}"] = number(line[f"{measure.key}{ERROR}"])
        if line["cells"] == "all":
            if line["variant"]:
                place |= {f"{RATIO}{m.name}": number(line[f"{RATIO}{m.key}"]) for m in of_d}
            place |= {m.name: number(line[m.key]) for m in measures_of("accuracy") if m.is_in("accuracy")}
    for line in three_way.to_dict("records"):
        place = _place(tree, line)
        for measure in (m for m in of_d if m.three_way):
            place[f"{measure.name}{THREE_WAY}"] = number(line[measure.key])
            if line["variant"]:
                place[f"{RATIO}{measure.name}{THREE_WAY}"] = number(line[f"{RATIO}{measure.key}"])
    return tree


def _add_weighted(tree: dict[str, Any], weighted: pd.DataFrame, *kept: pd.DataFrame) -> None:
    """Put measures of weighted crosstabs and of estimates beside the others."""
    of_d, others = measures_of("d"), measures_of("weighted")
    for line in weighted.to_dict("records"):
        place, after = _place(tree, line), f"{WEIGHTED}{CELLS[line['cells']]}"
        place |= {f"{m.name}{after}": number(line[m.key]) for m in (*of_d, *others)}
        if line["cells"] == "all" and line["variant"]:
            place |= {f"{RATIO}{m.name}{after}": number(line[f"{RATIO}{m.key}"]) for m in of_d}
    for line in (line for summary in kept for line in summary.to_dict("records")):
        _place(tree, line).update({m.name: number(line[m.key]) for m in measures_of("estimates")})


def _privacy(hidden: pd.DataFrame, attacked: pd.DataFrame) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for line in hidden.to_dict("records"):
        place = _place(tree, line)
        place |= {m.name: number(line[m.key]) for m in measures_of("privacy") if m.is_in("privacy")}
    attacks = {m.key: m for m in measures_of(*ATTACKS) if m.metric}
    for line in attacked.to_dict("records"):
        if line["measure"] in attacks:
            name = "_".join(filter(None, (attacks[line["measure"]].name, line["question"])))
            place = _place(tree, line)
            place[name] = number(line["value"])
            place |= {f"{name}{end}": number(line[end.removeprefix("_")]) for end in LIMITS}
    return tree


def _utility(table: pd.DataFrame) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for line in table.to_dict("records"):
        place = _place(tree, line)
        for measure in measures_of("learners", "numbers", "analyses"):
            place[measure.name] = number(line[measure.key])
            if measure.form.spread == "error":
                place[f"{measure.name}{ERROR}"] = number(line[f"{measure.key}{ERROR}"])
        if line["variant"]:
            place |= {f"{RATIO}{m.name}": number(line[f"{RATIO}{m.key}"]) for m in measures_of("numbers")}
    return tree


def _place(tree: dict[str, Any], line: Mapping[str, Any]) -> dict[str, Any]:
    place = tree.setdefault(line["model"], {})
    return place.setdefault(line["variant"], {}) if line["variant"] else place


def number(value: float) -> float | None:
    """Return a number as JSON holds it: whole as it is, rounded, or nothing where it is not defined."""
    if isinstance(value, int):
        return value
    return None if np.isnan(value) else round(float(value), DIGITS)
