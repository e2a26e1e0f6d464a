"""True against synthetic crosstab counts (the paper's Figures 1, 2, 4, 5 and 6)."""

from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from modp.figures import style
from modp.figures.given import Given
from modp.measures.ends import BOOTSTRAP

SMALLEST = 0.8
UNIVARIATE_SMALLEST = 10.0


@dataclass(frozen=True)
class Panel:
    """One table to compare with the true one.

    ``true`` and ``synthetic`` are counts, shape (cells,), scaled to equal totals;
    ``univariate`` marks the cells of a category with itself. ``measures`` are median, mean and
    r.m.s. of |ln ratio| over all cells; ``ratio`` is the median's to that of the bootstrap.
    """

    name: str
    true: np.ndarray
    synthetic: np.ndarray
    univariate: np.ndarray
    records: int
    measures: tuple[float, float, float]
    ratio: float


def crosstabs_figure(given: Given) -> Figure:
    """Draw the crosstabs of the given rows; frames: the accuracy table, then each row's cells."""
    table, *cells = given.frames
    return draw(panels(table, given.names, cells), given.title)


def panels(table: pd.DataFrame, rows: Sequence[str], cells: Sequence[pd.DataFrame]) -> list[Panel]:
    """Return what is drawn of each row.

    Parameters
    ----------
    table : the accuracy table, of which the lines over all cells count
    rows : ``bootstrap`` or ``model/variant``
    cells : of each row, columns first and second (two categories), true and scaled (counts)
    """
    lines = table[table["cells"] == "all"].set_index(["model", "variant"])
    records = int(lines.loc[(BOOTSTRAP, ""), "records"])
    found = []
    for row, part in zip(rows, cells, strict=True):
        model, _, variant = row.partition("/")
        line = lines.loc[(model, variant)]
        found.append(
            Panel(
                row.replace("/", ", "),
                part["true"].to_numpy(),
                part["scaled"].to_numpy(),
                (part["first"].astype(str) == part["second"].astype(str)).to_numpy(),
                records,
                (line["median"], line["mean_abs"], line["rms"]),
                line["ratio_median"],
            )
        )
    return found


def draw(panels: Sequence[Panel], title: str) -> Figure:
    """Draw one panel in counts, or several side by side in probabilities, as the paper does.

    Both axes are logarithmic; one pseudocount is added to every cell, so that empty cells show
    along the lower and left edges. The inset shows the categories' own counts.
    """
    style.use()
    width = style.COLUMN_IN if len(panels) == 1 else 1.9 * style.COLUMN_IN
    figure, axes = plt.subplots(
        1, len(panels), figsize=(width, 1.08 * style.COLUMN_IN), squeeze=False, layout="constrained"
    )
    for axis, panel in zip(axes[0], panels, strict=True):
        _panel(axis, panel, as_probabilities=len(panels) > 1)
    figure.suptitle(title, x=0.01, ha="left", fontweight="bold")
    return figure


def _panel(axis: Axes, panel: Panel, as_probabilities: bool) -> None:
    scale = 1 / panel.records if as_probabilities else 1.0
    pair = ~panel.univariate
    limits = np.array([SMALLEST, 1.03 * panel.records]) * scale
    if as_probabilities:
        limits = 10 ** np.array([np.floor(np.log10(limits[0])), 0])
    axis.loglog(
        (panel.true[pair] + 1) * scale,
        (panel.synthetic[pair] + 1) * scale,
        ".",
        color=style.CELLS,
        markersize=2,
        alpha=0.35,
        markeredgewidth=0,
        rasterized=True,
    )
    _frame(axis, limits)
    what = "probability, (count + 1) / records" if as_probabilities else "count + 1"
    axis.set_xlabel(f"true {what}")
    axis.set_ylabel(f"synthetic {what}")
    against = "" if panel.name == BOOTSTRAP else f" ({panel.ratio:.1f} × bootstrap)"
    median, mean, rms = (f"{value:.3f}" for value in panel.measures)
    axis.set_title(
        f"{panel.name}\n|ln ratio|: median {median}{against}, mean {mean}, r.m.s. {rms}",
        fontweight="normal",
        fontsize=8.5 if as_probabilities else 9.5,
    )

    inset = axis.inset_axes((0.6, 0.07, 0.38, 0.38))
    inset.loglog(
        panel.true[panel.univariate] * scale,
        panel.synthetic[panel.univariate] * scale,
        ".",
        color=style.UNIVARIATE,
        markersize=3,
        markeredgewidth=0,
    )
    _frame(inset, np.array([UNIVARIATE_SMALLEST, 1.15 * panel.records]) * scale)
    inset.tick_params(labelsize=6, pad=1)
    inset.set_title("single answers", fontsize=7, fontweight="normal", pad=2)


def _frame(axis: Axes, limits: np.ndarray) -> None:
    axis.plot(limits, limits, color=style.GUIDE, linewidth=0.7, zorder=0)
    axis.set(xlim=limits, ylim=limits, aspect="equal")
