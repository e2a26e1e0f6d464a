"""Tables, metrics and plot data made of the measures of a run's rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from modp.accuracy import summarise

MEASURES = ("median", "mean_abs", "rms")
DIGITS = 6


@dataclass(frozen=True)
class Row:
    """What is known of one row of the accuracy table.

    ``log_ratios`` has one entry a cell i <= j; ``zero_records`` counts the synthetic records that
    hold a structural zero; ``entropy_bits`` is the records' median, None for the bootstrap.
    """

    model: str
    variant: str
    log_ratios: np.ndarray
    records: int
    zero_records: int
    entropy_bits: float | None


def accuracy_table(rows: Sequence[Row], cell_sets: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """Return the accuracy of every row over every set of cells, with ratios to the first row.

    Parameters
    ----------
    rows : the bootstrap first
    cell_sets : name -> mask over the cells, as :func:`modp.accuracy.cell_sets` returns
    """
    lines = []
    for cells, mask in cell_sets.items():
        ideal = summarise(rows[0].log_ratios[mask])
        for row in rows:
            found = summarise(row.log_ratios[mask])
            measures = {m: getattr(found, m) for m in MEASURES}
            ratios = {f"ratio_{m}": _ratio(getattr(found, m), getattr(ideal, m)) for m in MEASURES}
            lines.append(
                {
                    "model": row.model,
                    "variant": row.variant,
                    "cells": cells,
                    "n_cells": found.cells,
                    **measures,
                    **ratios,
                    "records": row.records,
                    "zero_records": row.zero_records,
                    "entropy_bits": row.entropy_bits,
                }
            )
    table = pd.DataFrame(lines)
    return table.astype({"entropy_bits": float, "records": int, "zero_records": int})


def _ratio(found: float, ideal: float) -> float:
    return found / ideal if ideal > 0 else np.nan


def metrics(table: pd.DataFrame) -> dict[str, Any]:
    """Return the accuracy table as nested numbers: accuracy.<model>.<variant>.<measure>.

    Measures of the cells between questions end in ``_between``; ratios are over all cells.
    """
    accuracy: dict[str, Any] = {}
    privacy: dict[str, Any] = {}
    for line in table.to_dict("records"):
        place = _place(accuracy, line)
        suffix = "" if line["cells"] == "all" else f"_{line['cells']}"
        for measure in MEASURES:
            place[measure + suffix] = _number(line[measure])
        if line["cells"] == "all":
            if line["variant"]:
                place |= {f"ratio_{m}": _number(line[f"ratio_{m}"]) for m in MEASURES}
            place["records"] = line["records"]
            place["zero_records"] = line["zero_records"]
            if not np.isnan(line["entropy_bits"]):
                _place(privacy, line)["entropy_bits"] = _number(line["entropy_bits"])
    return {"accuracy": accuracy, "privacy": privacy}


def _place(tree: dict[str, Any], line: Mapping[str, Any]) -> dict[str, Any]:
    place = tree.setdefault(line["model"], {})
    return place.setdefault(line["variant"], {}) if line["variant"] else place


def _number(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), DIGITS)


CELL_NAMES = {
    "all": "all cells i ≤ j, those inside a question included (as in the paper)",
    "between": "cells of two different questions",
}


def accuracy_markdown(table: pd.DataFrame, heading: str, facts: Mapping[str, str]) -> str:
    """Return the accuracy table as Markdown, one part for each set of cells."""
    lines = [f"# {heading}", ""]
    lines += [f"- {key}: {value}" for key, value in facts.items()]
    lines += [
        "- d = |ln((C_syn + 1) / (C_true + 1))|, synthetic counts scaled to the number of true records; "
        "× is the ratio to the bootstrap resample, the ideal",
        "- zeros: synthetic records that hold a pair of answers no true record holds; "
        "bits: median entropy a record",
        "",
    ]
    for cells, part in table.groupby("cells", sort=False):
        lines += [f"## d over {part['n_cells'].iloc[0]:,} cells: {CELL_NAMES[str(cells)]}", ""]
        lines += ["| model | variant | median | × | mean | × | r.m.s. | × | records | zeros | bits |"]
        lines += ["|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"]
        for line in part.to_dict("records"):
            numbers = []
            for measure in MEASURES:
                numbers += [f"{line[measure]:.3f}", f"{line[f'ratio_{measure}']:.2f}"]
            bits = "" if np.isnan(line["entropy_bits"]) else f"{line['entropy_bits']:.1f}"
            zeros = f"{line['zero_records']:,}"
            cells_ = [line["model"], line["variant"], *numbers, f"{line['records']:,}", zeros, bits]
            lines.append("| " + " | ".join(cells_) + " |")
        lines.append("")
    return "\n".join(lines)


def headline(metrics_tree: Mapping[str, Any]) -> list[str]:
    """Return a few lines that say how close each row came, for the end of a run."""
    lines = [f"{'median |ln ratio|, all cells':<38}{'d':>7}{'× ideal':>9}"]
    for model, content in metrics_tree["accuracy"].items():
        variants = {"": content} if "median" in content else content
        for variant, measured in variants.items():
            name = f"{model}/{variant}" if variant else f"{model} (the ideal)"
            d, ratio = measured["median"], measured["ratio_median"] if variant else 1.0
            lines.append(
                f"  {name:<36}{'n/a' if d is None else f'{d:.3f}':>7}"
                f"{'n/a' if ratio is None else f'{ratio:.2f}':>9}"
            )
    return lines
