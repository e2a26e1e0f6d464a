"""How close every row comes to the ideal, in one picture."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from modp.figures import style
from modp.figures.given import Given

TICKS = (0.5, 1, 2, 3, 5, 7, 10, 15, 20, 30, 50)


def overview_figure(given: Given) -> Figure:
    """Draw every row of the run; frames: the accuracy table."""
    (table,) = given.frames
    return draw(table, f"{given.title}\ndistance of each variant from the ideal (1×)")


def draw(table: pd.DataFrame, title: str) -> Figure:
    """Draw median, mean and r.m.s. of d as ratios to the bootstrap's, a line a row.

    Parameters
    ----------
    table : the accuracy table; its cells between questions are drawn
    """
    style.use()
    part = table[table["cells"] == "between"].iloc[::-1]
    names = [f"{m} {v}".strip() for m, v in zip(part["model"], part["variant"], strict=True)]
    height = max(1.1 + 0.3 * len(part), 2.4)  # less leaves no room beside title and legend
    figure, axis = plt.subplots(figsize=(1.25 * style.COLUMN_IN, height), layout="constrained")
    at = np.arange(len(part))
    ratios = part[[f"ratio_{m}" for m in style.MEASURE_NAMES]]
    axis.hlines(at, ratios.min(axis=1), ratios.max(axis=1), color="0.8", linewidth=1.5, zorder=1)
    axis.axvline(1, color=style.GUIDE, linewidth=0.9, zorder=0)
    for measure, name in style.MEASURE_NAMES.items():
        axis.plot(
            ratios[f"ratio_{measure}"],
            at,
            style.MEASURE_MARKS[measure],
            color=style.MEASURE_COLOURS[measure],
            label=name,
        )
    axis.set_xscale("log")
    axis.xaxis.set_major_locator(FixedLocator(TICKS))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}×"))
    # Of a few records a ratio can be nothing, or undefined.
    values = ratios.to_numpy(float)
    shown = values[np.isfinite(values) & (values > 0)]
    axis.set_xlim(0.85 * min([1, *shown]), 1.15 * max([1, *shown]))
    axis.set_yticks(at, names)
    axis.set_xlabel(
        "|ln ratio| over cells between questions,\nin multiples of a bootstrap resample's", size=9
    )
    figure.suptitle(title, x=0.01, ha="left", fontweight="bold")
    figure.legend(title="over cells", frameon=False, loc="outside lower center", ncols=3)
    return figure
