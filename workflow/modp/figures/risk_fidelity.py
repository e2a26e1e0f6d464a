"""Risk against fidelity: how much closer to the records the models saw, and how far from their crosstab."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from modp.figures import style
from modp.figures.given import Given
from modp.measures.ends import BOOTSTRAP, MARGINALS
from modp.summaries.printed import row_names

END = "D"


def risk_fidelity_figure(given: Given) -> Figure:
    """Draw every row of the run; frames: the accuracy table, the attacks, the cells of the marginals."""
    return draw(placed(*given.frames), f"{given.title}\nrisk against fidelity")


def placed(table: pd.DataFrame, attacked: pd.DataFrame, shuffled: pd.DataFrame) -> pd.DataFrame:
    """Return the points that :func:`draw` takes, a line a row of the table of attacks.

    Parameters
    ----------
    table : the accuracy table, of which the lines over all cells count
    attacked : the table of attacks, of which the measure closer_to_train counts
    shuffled : the cells of records of independent answers, which the accuracy table lacks, column log_ratio
    """
    table = table[table["cells"] == "all"]
    medians = dict(zip(row_names(table), table["median"], strict=True))
    medians[MARGINALS] = np.median(np.abs(shuffled["log_ratio"]))
    points = attacked[attacked["measure"] == "closer_to_train"]
    points = points.assign(name=row_names(points), end=points["variant"] == "")
    return points.assign(ratio=points["name"].map(medians) / medians[BOOTSTRAP])


def draw(points: pd.DataFrame, title: str) -> Figure:
    """Draw every row as a numbered point: left is private, low is faithful.

    Parameters
    ----------
    points : columns name, end (whether the row is one of the two ends, the bootstrap and independent
        marginals), ratio (median of d as a multiple of the bootstrap's), and value, low and high of the
        share of synthetic records closer to train
    """
    figure, axis = style.single(title, 1.15, width=1.5)
    points = points[points["value"].notna() & (points["ratio"] > 0)]
    for number, line in enumerate(points.to_dict("records"), start=1):
        colour = style.UNIVARIATE if line["end"] else style.CELLS
        reach = [[line["value"] - line["low"]], [line["high"] - line["value"]]]
        axis.errorbar(
            line["value"],
            line["ratio"],
            xerr=reach,
            color=colour,
            marker=END if line["end"] else "o",
            markersize=5,
            elinewidth=0.8,
            linestyle="none",
            label=f"{number}  {line['name'].replace('/', ', ')}",
        )
        # Beyond one end of the bar and the other in turn, so that neighbours' numbers stay apart.
        left = number % 2 == 0
        axis.annotate(
            str(number),
            (line["low"] if left else line["high"], line["ratio"]),
            xytext=(-3 if left else 3, 0),
            textcoords="offset points",
            ha="right" if left else "left",
            va="center",
            fontsize=8,
            color=colour,
        )
    if points.empty:
        style.absent(axis)
    axis.axvline(0.5, color=style.GUIDE, linewidth=0.8, zorder=0)
    axis.axhline(1, color=style.GUIDE, linewidth=0.8, zorder=0)
    axis.set_yscale("log")
    axis.set_yticks([0.5, 1, 2, 5, 10, 20], ["0.5×", "1×", "2×", "5×", "10×", "20×"])
    axis.minorticks_off()
    axis.xaxis.set_major_formatter(lambda share, _: style.percent(share))
    axis.set_xlabel("synthetic records closer to a record the models saw than to one held out")
    axis.set_ylabel("median |ln ratio|, multiple of a bootstrap resample's")
    handles, labels = axis.get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="outside lower left", ncols=3, frameon=False, fontsize=7.5)
    return figure
