"""Estimates that a user would publish, true and synthetic ones side by side."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from modp.crosstabs.limits import FEWEST
from modp.figures import style
from modp.figures.given import Given
from modp.measures.weighted import Z90

WIDEST = 12.0
"""True standard errors at whose end the axis stops, were an estimate farther off."""


def estimates_figure(given: Given) -> Figure:
    """Draw the given rows' estimates; frames: the table of estimates."""
    (table,) = given.frames
    shown = dict(zip(given.names, given.shown, strict=True))
    return draw(table, shown, f"{given.title}\nestimates from synthetic records, in true standard errors")


def draw(table: pd.DataFrame, shown: Mapping[str, str], title: str) -> Figure:
    """Draw how far synthetic estimates are from true ones, a panel a statistic, a line a group.

    The band is the true 90 % interval, bars are the synthetic ones. Groups are those by no question or one.

    Parameters
    ----------
    table : as :func:`modp.summaries.weighted.estimates_table` returns it
    shown : rows of the accuracy table, and how they are called
    """
    style.use()
    used = table[(table["records"] >= FEWEST) & (table["true_error"] > 0)]
    used = used[~used["by"].str.contains(" × ") & used["row"].isin(list(shown))]
    statistics = list(dict.fromkeys(table["statistic"])) or ["mean"]
    groups = list(dict.fromkeys(zip(used["of"], used["by"], used["label"], strict=True)))
    height = max(1.6 + len(groups) * (0.14 + 0.06 * len(shown)), 2.4)
    size = (0.7 * style.COLUMN_IN * (0.6 + len(statistics)), height)
    figure, axes = plt.subplots(
        1, len(statistics), figsize=size, layout="constrained", sharex=True, sharey=True, squeeze=False
    )
    style.head(figure, title)
    for axis, statistic in zip(axes[0], statistics, strict=True):
        _panel(axis, used[used["statistic"] == statistic], groups, shown)
        axis.set_title(statistic)
    first, middle = axes[0, 0], axes[0, len(statistics) // 2]
    first.set_yticks(range(len(groups)), [_called(*group) for group in groups], fontsize=8)
    first.set_ylim(max(len(groups), 1) - 0.5, -0.5)
    low, high = first.get_xlim()
    first.set_xlim(max(low, -WIDEST), min(high, WIDEST))
    middle.set_xlabel("(synthetic − true) / true standard error")
    handles = first.get_legend_handles_labels()[0]
    inside = {row: used.loc[used["row"] == row, "inside"].to_numpy(bool) for row in shown}
    labels = [f"{name}: {style.share(inside[row])} inside" for row, name in shown.items()]
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    return figure


def _panel(axis: Axes, part: pd.DataFrame, groups: Sequence[tuple], shown: Mapping[str, str]) -> None:
    """Draw one statistic: every row's estimates about the true ones, a line a group."""
    axis.axvspan(-Z90, Z90, color="0.9", zorder=0)
    axis.axvline(0, color=style.GUIDE, linewidth=0.8, zorder=1)
    place = {group: at for at, group in enumerate(groups)}
    offsets = np.linspace(-0.25, 0.25, len(shown)) if len(shown) > 1 else np.zeros(1)
    for (row, name), line, offset in zip(shown.items(), style.lines(len(shown)), offsets, strict=False):
        own = part[part["row"] == row]
        at = [place[key] for key in zip(own["of"], own["by"], own["label"], strict=True)]
        axis.errorbar(
            ((own["synthetic"] - own["true"]) / own["true_error"]).to_numpy(float),
            np.array(at, float) + offset,
            xerr=Z90 * (own["synthetic_error"] / own["true_error"]).to_numpy(float),
            fmt="o",
            markersize=3,
            linewidth=0.9,
            color=line["color"],
            label=name,
        )
    if part.empty:
        style.absent(axis)


def _called(of: str, by: str, label: str) -> str:
    return f"{of}, all" if not by else f"{by}: {label}"
