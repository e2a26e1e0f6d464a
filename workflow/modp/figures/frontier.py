"""Fidelity against privacy: every row as a point, sweeps and pass-through as curves."""

from collections.abc import Iterable, Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from modp.figures import style
from modp.figures.given import Given, Published
from modp.measures.ends import BOOTSTRAP, MARGINALS

NO_CURVE = pd.DataFrame(columns=["curve", "model", "parameter", "median", "within_10"])
"""The curves of a run without a stationary model and without a row that is passed through."""

PAPERS_DATA = "Texas 2022"

SHOWN = {"sweeps": (1, 2, 5, 20, 100), "pass-through": (0.0, 0.3, 0.5, 0.9)}


def frontier_figure(given: Given) -> Figure:
    """Draw the run's frontier; frames: the accuracy and the privacy table, then the curves of each model."""
    table, hidden, *curves = given.frames
    table = table[table["cells"] == "all"]
    rows = table.merge(hidden, on=["model", "variant"])
    points = pd.concat([NO_CURVE, *curves])
    ideal = float(table["median"].iloc[0])
    return draw(points, rows, ideal, papers(given.published), f"{given.title}\nfidelity against privacy")


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
    ideal: float,
    paper: Mapping[str, tuple[float, float]],
    title: str,
) -> Figure:
    """Draw how far from the ideal against how often the causal partner is found.

    Left is private, low is faithful. x is the share of synthetic records whose causal partner is among
    the ten nearest true records, y the median of d as a multiple of a bootstrap resample's.

    Parameters
    ----------
    points : lines of the curves, with columns curve, model, parameter, median and within_10
    rows : the rows of the accuracy table with columns name, median and within_10
    ideal : the bootstrap's median of d
    paper : label -> ratio and share of what the paper reports of its own data
    """
    points = points.assign(ratio=_multiple(points["median"], ideal))
    rows = rows.assign(ratio=_multiple(rows["median"], ideal))
    figure, axis = style.single(title, 1.0, width=1.5)
    curves = [c for c in points.groupby(["curve", "model"], sort=False) if c[0][0] != MARGINALS]
    for (key, part), line in zip(curves, style.lines(max(len(curves), 1)), strict=False):
        curve, model = key
        axis.plot(
            part["within_10"],
            part["ratio"],
            marker=".",
            markersize=5,
            label=f"{model}, {_names(curve)}",
            zorder=2,
            **line,
        )
        _write(axis, part[part["parameter"].isin(SHOWN.get(curve, ()))], curve, line["color"])
    floor = points[points["curve"] == "marginals"].head(1)
    _mark(axis, floor["within_10"], floor["ratio"], "X", style.UNIVARIATE, "independent marginals")
    _mark(axis, rows["within_10"], rows["ratio"], "o", "0.4", "rows of the accuracy table")
    for label, (ratio, share) in paper.items():
        _mark(axis, [share], [ratio], "*", "black", label)
    axis.axhline(1, color=style.GUIDE, linewidth=0.8, zorder=0)
    axis.text(0.99, 1.02, "bootstrap resample", transform=axis.get_yaxis_transform(), ha="right", fontsize=8)
    axis.set_yscale("log")
    axis.set_xscale("symlog", linthresh=0.01, linscale=0.5)
    axis.set_xlim(-0.001, 1.1)
    axis.set_xticks([0, 0.01, 0.1, 1], ["0", "1%", "10%", "100%"])
    axis.set_yticks([0.5, 1, 2, 5, 10, 20], ["0.5×", "1×", "2×", "5×", "10×", "20×"])
    axis.minorticks_off()
    axis.set_xlabel("causal partner among the ten nearest true records, share of synthetic records")
    axis.set_ylabel("median |ln ratio|, multiple of a bootstrap resample's")
    figure.legend(loc="outside lower left", ncols=2, frameon=False, fontsize=8)
    return figure


def _names(curve: str) -> str:
    names = {"sweeps": "number of sweeps", "pass-through": "share of answers passed through"}
    return names.get(curve, curve)


def _multiple(medians: pd.Series, ideal: float) -> pd.Series:
    """The medians as multiples of the ideal, NaN where that is zero."""
    return medians.astype(float) / (ideal if ideal > 0 else float("nan"))


def _write(axis: Axes, part: pd.DataFrame, curve: str, colour: str) -> None:
    for line in part.to_dict("records"):
        text = f"{line['parameter']:.0f}" if curve == "sweeps" else f"{line['parameter']:g}"
        place = (line["within_10"], line["ratio"])
        axis.annotate(
            text, place, xytext=(4, 4), textcoords="offset points", fontsize=7, color=colour, zorder=4
        )


def _mark(axis: Axes, x: Iterable[float], y: Iterable[float], mark: str, colour: str, label: str) -> None:
    axis.plot(
        list(x), list(y), mark, color=colour, markersize=9, markeredgecolor="white", label=label, zorder=3
    )
