"""How close a private model comes, against the epsilon of its guarantee."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from modp.figures import style

TICKS = (0.5, 1, 1.5, 2, 3, 5, 7, 10, 15, 20, 30, 50)


PEER_LINES: tuple[tuple[str | tuple[int, tuple[int, ...]], str], ...] = (
    ("--", "white"),
    ("-.", "black"),
    ((0, (6, 2, 1, 2, 1, 2)), "silver"),
)
"""Of other methods in turn: their lines, and what fills their marks."""


def draw(table: pd.DataFrame, title: str, peers: Mapping[str, pd.DataFrame] | None = None) -> Figure:
    """Draw the three measures of d as multiples of a bootstrap resample's against ε, both on log axes.

    Parameters
    ----------
    table : columns epsilon and delta; all.median, all.mean_abs and all.rms, means over releases, as ratios;
        all.median.error …, their standard errors; and independent.all.median …, the ratios of records whose
        answers are independent
    peers : other methods by name, with the same columns but the last; each drawn in its own kind of line
    """
    figure, axis = style.single(title, 0.75)
    for measure, name in style.MEASURE_NAMES.items():
        colour = style.MEASURE_COLOURS[measure]
        mark = style.MEASURE_MARKS[measure]
        ratio, error = table[f"all.{measure}"], table[f"all.{measure}.error"]
        axis.errorbar(table["epsilon"], ratio, error, marker=mark, color=colour, label=name, capsize=2)
        axis.axhline(table[f"independent.all.{measure}"].iloc[0], color=colour, linestyle=":", linewidth=1)
    for (name, lines), (dashes, fill) in zip((peers or {}).items(), PEER_LINES, strict=False):
        for measure, colour in style.MEASURE_COLOURS.items():
            ratio, error = lines[f"all.{measure}"], lines[f"all.{measure}.error"].fillna(0)
            drawn = axis.errorbar(lines["epsilon"], ratio, error, color=colour, linestyle=dashes, capsize=2)
            drawn.lines[0].set(marker=style.MEASURE_MARKS[measure], markerfacecolor=fill)
        axis.plot([], [], color=style.GUIDE, linestyle=dashes, marker="o", markerfacecolor=fill, label=name)
    axis.plot([], [], color=style.GUIDE, linestyle=":", linewidth=1, label="independent answers")
    axis.axhline(1, color=style.GUIDE, linewidth=0.9, label="bootstrap resample", zorder=0)
    axis.set(xscale="log", yscale="log")
    axis.xaxis.set_major_locator(FixedLocator(list(table["epsilon"])))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axis.yaxis.set_major_locator(FixedLocator(TICKS))
    axis.yaxis.set_minor_locator(NullLocator())
    axis.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}×"))
    axis.set_xlabel(f"ε, with δ = {table['delta'].iloc[0]:g} (smaller is more private)")
    axis.set_ylabel("|ln ratio|, multiple of a bootstrap's")
    style.note(
        axis,
        ", ".join(f"{e:g}: {r:.2f}×" for e, r in zip(table["epsilon"], table["all.median"], strict=True)),
    )
    figure.legend(loc="outside lower left", ncols=3, frameon=False, fontsize=8, handlelength=3)
    return figure
