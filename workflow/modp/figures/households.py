"""How near the crosstabs of whole households come: of persons, of persons and households, of members."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from modp.figures import style
from modp.figures.given import Given
from modp.measures.table import RATIO

ROOM = 0.8
"""Of the height of a set of cells, what the rows of the table take."""

PANELS = {
    RATIO: "|ln ratio|, in multiples of a resample\nof whole households",
    "population_": "distance from households held out,\n× the true households' own",
}
"""Begin of the columns that a panel shows, and what it says of them."""


def households_figure(given: Given) -> Figure:
    """Draw median, mean and r.m.s. of d of every set of cells, a line a row; frames: the table."""
    (table,) = given.frames
    style.use()
    cells = list(dict.fromkeys(table["cells"]))
    height = 1.6 + len(cells) * (0.14 + 0.16 * len(given.names))
    figure, axes = plt.subplots(
        1, 2, figsize=(1.9 * style.COLUMN_IN, height), layout="constrained", sharey=True
    )
    for axis, (begin, said) in zip(axes, PANELS.items(), strict=True):
        _panel(axis, table, given, cells, begin)
        axis.set_xlabel(said, size=9)
    axes[0].set_yticks(np.arange(len(cells)), cells)
    axes[0].set_ylim(len(cells) - 0.5, -0.5)
    marks = [
        plt.Line2D([], [], color="0.3", marker=mark, linestyle="", label=style.MEASURE_NAMES[measure])
        for measure, mark in style.MEASURE_MARKS.items()
    ]
    colours = [
        plt.Line2D([], [], linewidth=3, label=name, color=look["color"])
        for name, look in zip(given.shown, style.lines(len(given.names)), strict=True)
    ]
    figure.legend(handles=[*marks, *colours], frameon=False, loc="outside lower center", ncols=3, fontsize=8)
    style.head(figure, f"{given.title}\nwhole households: how near crosstabs come")
    return figure


def _panel(axis: Axes, table: pd.DataFrame, given: Given, cells: list[str], begin: str) -> None:
    axis.axvline(1, color=style.GUIDE, linewidth=0.9, zorder=0)
    for edge in np.arange(len(cells) - 1) + 0.5:
        axis.axhline(edge, color="0.92", linewidth=0.6, zorder=0)
    for k, (name, look) in enumerate(zip(given.names, style.lines(len(given.names)), strict=True)):
        own = table[table["table"] == name].set_index("cells").reindex(cells)
        at = np.arange(len(cells)) + ROOM * ((k + 0.5) / len(given.names) - 0.5)
        columns = [f"{begin}{measure}" for measure in style.MEASURE_MARKS if f"{begin}{measure}" in own]
        if not columns:
            continue
        values = own[columns].to_numpy(float)
        known = np.isfinite(values).all(axis=1)
        low, high = values[known].min(axis=1), values[known].max(axis=1)
        axis.hlines(at[known], low, high, color=look["color"], linewidth=1.2, alpha=0.6)
        for column in columns:
            mark = style.MEASURE_MARKS[column.removeprefix(begin)]
            axis.plot(own[column], at, mark, color=look["color"], markersize=4)
    axis.set_xlim(left=min(0.8, axis.get_xlim()[0]))
    axis.xaxis.set_major_locator(MaxNLocator(6))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}×"))
