"""Coefficients of regressions, of the true records, of people held out and of synthetic records."""

import re
from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from modp.figures import style
from modp.figures.given import Given
from modp.measures.ends import BOOTSTRAP, SAMPLE
from modp.measures.weighted import CERTAINTY

WIDEST = 8.0
"""Standard errors at whose end the axis stops, were an estimate farther off."""

LINE_IN, PANEL_IN = 0.17, 0.34
"""Height of a term, and what a panel has besides."""


def analyses_figure(given: Given) -> Figure:
    """Draw all analyses, one below the other; frames: the table of analyses."""
    (table,) = given.frames
    used = table[table["sample_error"] > 0]
    names = [name for name in dict.fromkeys(used["row"]) if name not in (SAMPLE, BOOTSTRAP)]
    rows = {name: label for name, label in zip(given.names, given.shown, strict=True) if name in names}
    inside = used.assign(inside=np.abs(used["off"]) <= CERTAINTY).groupby("row")["inside"].mean()
    found = "; ".join(f"{rows[name]}: {style.percent(float(inside[name]))}" for name in rows)
    title = f"{given.title}\n{found or 'no estimates'} of estimates inside the sample’s 95 % intervals"
    parts = list(used.groupby(["analysis", "model"], sort=False))
    terms = [part["term"].nunique() for _, part in parts] or [1]
    style.use()
    figure, axes = plt.subplots(
        len(terms),
        figsize=(style.COLUMN_IN, 1.3 + sum(terms) * LINE_IN + len(terms) * PANEL_IN),
        layout="constrained",
        sharex=True,
        squeeze=False,
        height_ratios=terms,
    )
    style.head(figure, title)
    for axis, ((analysis, model), part) in zip(axes[:, 0], parts, strict=False):
        _panel(axis, part, rows)
        style.note(axis, f"{analysis}, {model}")
    last = axes[-1, 0]
    if not parts:
        style.absent(last)
    low, high = last.get_xlim()
    last.set_xlim(max(low, -WIDEST), min(high, WIDEST))
    last.set_xlabel("from the sample’s estimate, in its standard errors\nbars: 95 % intervals")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False, fontsize=8)
    return figure


def _panel(axis: Axes, part: pd.DataFrame, rows: Mapping[str, str]) -> None:
    """Draw one analysis, a line a term: the sample's interval as a band, the others' as bars."""
    sample = part[part["row"] == SAMPLE].set_index("term")
    at = np.arange(len(sample), dtype=float)
    axis.axvspan(-CERTAINTY, CERTAINTY, color="0.92", zorder=0, label="sample, 95 % interval")
    axis.axvline(0, color=style.GUIDE, linewidth=0.8, zorder=1)
    held = {"fmt": "D", "markersize": 2.5, "linewidth": 2.2, "color": "0.6", "label": "people held out"}
    _bars(axis, sample, sample[["held", "held_error"]].to_numpy(float), at - 0.3, held)
    offsets = np.linspace(-0.05, 0.3, len(rows)) if len(rows) > 1 else np.full(len(rows), 0.15)
    looks = zip(rows.items(), style.lines(len(rows)), style.MEASURE_MARKS.values(), offsets, strict=False)
    for (row, name), line, mark, offset in looks:
        own = part[part["row"] == row].set_index("term").reindex(sample.index)
        look = {"fmt": mark, "markersize": 3, "linewidth": 0.9, "color": line["color"], "label": name}
        _bars(axis, sample, own[["estimate", "error"]].to_numpy(float), at + offset, look)
    axis.set_yticks(at, [_called(term) for term in sample.index], fontsize=7)
    axis.set_ylim(len(sample) - 0.4, -0.6)


def _bars(
    axis: Axes, sample: pd.DataFrame, found: np.ndarray, at: np.ndarray, look: Mapping[str, Any]
) -> None:
    """Draw estimates and their errors (m, 2) in the sample's standard errors, from its estimates."""
    unit = sample["sample_error"].to_numpy(float)
    from_sample = (found[:, 0] - sample["sample"].to_numpy(float)) / unit
    axis.errorbar(from_sample, at, xerr=CERTAINTY * found[:, 1] / unit, **look)


def _called(term: str) -> str:
    """A term without what only the formula needs: ``SEX 2`` for ``C(SEX)[T.2]``."""
    return re.sub(r"C\((\w+)\)\[(?:T\.)?([^]]*)\]", r"\1 \2", term)
