"""Fidelity, to the sample and to its population, against privacy: rows as points, sweeps as curves."""

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from modp.figures import style
from modp.figures.given import Given, Published
from modp.measures.ends import BOOTSTRAP, MARGINALS
from modp.measures.table import ERROR

NEAR = "population_mean_abs"
NO_CURVE = pd.DataFrame(columns=["curve", "model", "parameter", "median", NEAR, "within_10"])
"""The curves of a run without a stationary model and without a row that is passed through."""

PAPERS_DATA = "Texas 2022"

SHOWN = {"sweeps": (1, 2, 5, 20, 100), "pass-through": (0.0, 0.3, 0.5, 0.9)}


def frontier_figure(given: Given) -> Figure:
    """Draw the run's frontier; frames: the accuracy and the privacy table, then the curves of each model."""
    table, hidden, *curves = given.frames
    table = table[table["cells"] == "all"]
    rows = table.merge(hidden, on=["model", "variant"])
    points = pd.concat([NO_CURVE, *curves])
    title = f"{given.title}\nfidelity against privacy"
    return draw(points, rows, table.iloc[0], papers(given.published), title)


def papers(published: Published) -> dict[str, tuple[float, float]]:
    """Return label -> ratio and share of the paper's rows of which it says both.

    The ratio is that of the medians of d to the bootstrap's, with the two figures that the paper prints
    of either; the share is how often the causal partner is among the ten nearest true records.
    """
    found = {}
    for rows in published.values():
        for row, said in rows.items():
            if "within_10" in said:
                ratio = float(f"{said['median'] / rows[BOOTSTRAP]['median']:.2g}")
                found[f"paper: {row.removesuffix('/plain')} ({PAPERS_DATA})"] = (ratio, said["within_10"])
    return found


def draw(
    points: pd.DataFrame,
    rows: pd.DataFrame,
    ideal: Mapping[str, float],
    paper: Mapping[str, tuple[float, float]],
    title: str,
) -> Figure:
    """Draw how far from the sample, and from its population, against how often the causal partner is found.

    Left is private, low is faithful. x is the share of synthetic records whose causal partner is among
    the ten nearest true records. y is, above, the median of d as a multiple of a bootstrap resample's, and
    below the mean distance from the records held out as a multiple of the true records' own, with a standard
    error of either side; without records held out there is nothing below.

    Parameters
    ----------
    points : lines of the curves, with columns curve, model, parameter, median, population_mean_abs and
        within_10
    rows : the rows of the accuracy table with columns median, population_mean_abs, its error, and within_10
    ideal : the bootstrap's median and population_mean_abs
    paper : label -> ratio and share of what the paper reports of its own data
    """
    best = ideal["median"] if ideal["median"] > 0 else np.nan
    points, rows = (table.assign(ratio=table["median"].astype(float) / best) for table in (points, rows))
    known = bool(rows[NEAR].notna().any())
    figure, axes = style.stacked(title, 2 if known else 1, 0.8 if known else 1.0, width=1.5)
    _trace(axes[0], points, rows, "ratio", None)
    for label, (ratio, share) in paper.items():
        _mark(axes[0], [share], [ratio], "*", "black", label)
    _level(axes[0], 1, "bootstrap")
    axes[0].set_ylabel("from the sample:\nmedian |ln ratio|, × a bootstrap resample's")
    if known:
        _trace(axes[1], points, rows, NEAR, f"{NEAR}{ERROR}")
        _level(axes[1], ideal[NEAR], "bootstrap")
        _level(axes[1], 1, "the sample")
        axes[1].set_ylabel("from people held out:\nmean |ln ratio|, × the sample's own")
    axes[-1].set_xlabel("causal partner among the ten nearest true records, share of synthetic records")
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside lower left", ncols=2, frameon=False, fontsize=8
    )
    return figure


def _trace(axis: Axes, points: pd.DataFrame, rows: pd.DataFrame, y: str, error: str | None) -> None:
    """Draw the column ``y`` of curves and rows, of rows with the standard error in the column ``error``."""
    axis.set_yscale("log")
    axis.set_xscale("symlog", linthresh=0.01, linscale=0.5)
    axis.set_xlim(-0.001, 1.1)
    axis.set_xticks([0, 0.01, 0.1, 1], ["0", "1%", "10%", "100%"])
    axis.set_yticks([0.5, 1, 2, 5, 10, 20], ["0.5×", "1×", "2×", "5×", "10×", "20×"])
    axis.minorticks_off()
    curves = [c for c in points.groupby(["curve", "model"], sort=False) if c[0][0] != MARGINALS]
    for (key, part), line in zip(curves, style.lines(max(len(curves), 1)), strict=False):
        curve, model = key
        axis.plot(
            part["within_10"],
            part[y],
            marker=".",
            markersize=5,
            label=f"{model}, {_names(curve)}",
            zorder=2,
            **line,
        )
        _write(axis, part[part["parameter"].isin(SHOWN.get(curve, ()))], curve, y, line["color"])
    floor = points[points["curve"] == MARGINALS].head(1)
    _mark(axis, floor["within_10"], floor[y], "X", style.UNIVARIATE, "independent marginals")
    if error:
        axis.errorbar(rows["within_10"], rows[y], rows[error], fmt="none", ecolor="0.4", zorder=3)
    _mark(axis, rows["within_10"], rows[y], "o", "0.4", "rows of the accuracy table")


def _level(axis: Axes, at: float, text: str) -> None:
    """Draw a level that rows are compared with, and name it beside the axes, where no point is."""
    axis.axhline(at, color=style.GUIDE, linewidth=0.8, zorder=0)
    axis.annotate(
        text,
        (1, at),
        xycoords=axis.get_yaxis_transform(),
        xytext=(4, 0),
        textcoords="offset points",
        va="center",
        fontsize=8,
    )


def _names(curve: str) -> str:
    names = {"sweeps": "number of sweeps", "pass-through": "share of answers passed through"}
    return names.get(curve, curve)


def _write(axis: Axes, part: pd.DataFrame, curve: str, y: str, colour: str) -> None:
    for line in part.to_dict("records"):
        text = f"{line['parameter']:.0f}" if curve == "sweeps" else f"{line['parameter']:g}"
        place = (line["within_10"], line[y])
        axis.annotate(
            text, place, xytext=(4, 4), textcoords="offset points", fontsize=7, color=colour, zorder=4
        )


def _mark(axis: Axes, x: Iterable[float], y: Iterable[float], mark: str, colour: str, label: str) -> None:
    axis.plot(
        list(x), list(y), mark, color=colour, markersize=9, markeredgecolor="white", label=label, zorder=3
    )
