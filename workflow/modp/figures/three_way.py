"""How close crosstabs of three questions come, a curve a row of the accuracy table."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from modp.figures import style
from modp.figures.given import Given


def three_way_figure(given: Given) -> Figure:
    """Draw the errors of the given rows' triples; frames: the triples of each."""
    return draw(medians(given.shown, given.frames), f"{given.title}\ncrosstabs of three questions")


def medians(names: Sequence[str], triples: Sequence[pd.DataFrame]) -> dict[str, np.ndarray]:
    """Return name -> the median d of each triple that has one, of columns median."""
    known = [frame["median"].dropna().to_numpy() for frame in triples]
    return dict(zip(names, known, strict=True))


def draw(medians: Mapping[str, np.ndarray], title: str) -> Figure:
    """Draw, for each row, the share of triples of questions whose median d is at most x.

    Parameters
    ----------
    medians : row -> median of d over the cells of each triple, any length
    """
    figure, axis = style.single(title, 1.0, width=1.5)
    for (name, values), line in zip(medians.items(), style.lines(max(len(medians), 1)), strict=False):
        values = np.sort(values)
        share = np.arange(1, len(values) + 1) / max(len(values), 1)
        middle = f"{np.median(values):.3f}" if len(values) else "n/a"
        axis.step(values, share, where="post", label=f"{name}: {middle}", **line)
    axis.set(xscale="log", ylim=(0, 1), xlabel="median d of a triple of questions")
    axis.set_ylabel("share of triples with at most x")
    figure.legend(loc="outside right upper", frameon=False, fontsize=8, title="median over triples")
    return figure
