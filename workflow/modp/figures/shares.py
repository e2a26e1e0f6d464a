"""What a demographer checks of whole households: shares, true beside synthetic."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from modp.figures import style
from modp.figures.given import Given

TRUE = "true"
"""The column of the true households."""

TICKS = (0, 0.01, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1)


def shares_figure(given: Given) -> Figure:
    """Draw every share as a line, true and of each row, on an axis of square roots; frames: the table."""
    (table,) = given.frames
    style.use()
    known = table[table[[TRUE, *given.names]].notna().any(axis=1)]
    at = np.arange(len(known))
    height = 1.3 + 0.24 * len(known)
    figure, axis = plt.subplots(figsize=(1.5 * style.COLUMN_IN, height), layout="constrained")
    for line in at:
        axis.axhline(line, color="0.92", linewidth=0.6, zorder=0)
    axis.plot(known[TRUE], at, "|", color="black", markersize=13, markeredgewidth=1.6, label="true")
    marks = tuple(style.MEASURE_MARKS.values())
    looks = style.lines(len(given.names))
    for k, (name, shown, look) in enumerate(zip(given.names, given.shown, looks, strict=True)):
        mark = marks[k % len(marks)]
        axis.plot(known[name], at, mark, color=look["color"], markersize=4.5, alpha=0.8, label=shown)
    axis.set_yticks(at, known["share"])
    axis.set_ylim(len(known) - 0.5, -0.5)
    axis.set_xscale("function", functions=(lambda x: np.sqrt(np.maximum(x, 0)), np.square))
    high = float(np.nanmax(known[[TRUE, *given.names]].to_numpy(float), initial=0.01))
    axis.set_xlim(-0.0005, min(1.1 * high, 1.0))
    axis.set_xticks([tick for tick in TICKS if tick <= 1.1 * high])
    axis.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{100 * x:g} %"))
    axis.set_xlabel("of the households that it is about", size=9)
    figure.legend(frameon=False, loc="outside lower center", ncols=3, fontsize=8)
    style.head(figure, f"{given.title}\nwhole households: what a demographer checks")
    return figure
