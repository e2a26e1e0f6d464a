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
"""True standard errors at which an estimate is drawn that is farther off."""


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
    statistics = list(dict.fromkeys(used["statistic"])) or ["mean"]
    groups = list(dict.fromkeys(zip(used["of"], used["by"], used["label"], strict=True)))
    height = max(1.6 + len(groups) * (0.14 + 0.06 * len(shown)), 2.4)
    size = (0.7 * style.COLUMN_IN * (0.6 + len(statistics)), height)
    figure, axes = plt.subplots(
        1, len(statistics), figsize=size, layout="constrained", sharey=True, squeeze=False
    )
    style.head(figure, title)
    for axis, statistic in zip(axes[0], statistics, strict=True):
        _panel(axis, used[used["statistic"] == statistic], groups, shown)
        axis.set_title(statistic)
    axes[0, 0].set_yticks(range(len(groups)), [_called(*group) for group in groups], fontsize=8)
    axes[0, 0].invert_yaxis()
    figure.supxlabel("(synthetic − true) / true standard error", fontsize=9)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False, fontsize=8)
    return figure


def _panel(axis: Axes, part: pd.DataFrame, groups: Sequence[tuple], shown: Mapping[str, str]) -> None:
    axis.axvspan(-Z90, Z90, color="0.9", zorder=0)
    axis.axvline(0, color=style.GUIDE, linewidth=0.8, zorder=1)
    place = {group: at for at, group in enumerate(groups)}
    offsets = np.linspace(-0.25, 0.25, len(shown)) if len(shown) > 1 else np.zeros(1)
    for (row, name), line, offset in zip(shown.items(), style.lines(len(shown)), offsets, strict=False):
        own = part[part["row"] == row]
        at = [place[key] for key in zip(own["of"], own["by"], own["label"], strict=True)]
        off = ((own["synthetic"] - own["true"]) / own["true_error"]).to_numpy(float)
        bars = Z90 * (own["synthetic_error"] / own["true_error"]).to_numpy(float)
        inside = f"{name}: {style.share(own['inside'].to_numpy(bool))} inside"
        axis.errorbar(
            np.clip(off, -WIDEST, WIDEST),
            np.array(at, float) + offset,
            xerr=bars,
            fmt="o",
            markersize=3,
            linewidth=0.9,
            color=line["color"],
            label=inside,
        )
    axis.set_xlim(-WIDEST - 0.5, WIDEST + 0.5)
    if part.empty:
        style.absent(axis)


def _called(of: str, by: str, label: str) -> str:
    return f"{of}, all" if not by else f"{by}: {label}"
