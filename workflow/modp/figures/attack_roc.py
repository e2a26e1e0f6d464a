"""ROC curves of the attacks on membership: who was among the records that the models saw."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from modp.figures import style
from modp.figures.given import Given
from modp.measures.attacks import FALSE_ALARMS

LEAST = 1e-3
SHOWN = np.geomspace(LEAST, 1, 400)
"""False alarms at which curves are drawn; between two corners the attacker tosses a coin."""

TITLES = {
    "distance": "distance to the nearest synthetic record",
    "density": "density against a reference sample",
    "likelihood": "likelihood under the model's weights",
}


def attack_roc_figure(given: Given) -> Figure:
    """Draw the attacks on the given rows; frames: each row's ROC curves."""
    curves = dict(zip(given.shown, given.frames, strict=True))
    return draw(curves, f"{given.title}: attacks on membership")


def draw(curves: Mapping[str, pd.DataFrame], title: str) -> Figure:
    """Draw how many members an attacker finds at each rate of false alarms, a panel an attack.

    Parameters
    ----------
    curves : row -> corners of its ROC curves, columns attack, fpr and tpr
    """
    style.use()
    size = (2.6 * style.COLUMN_IN, 0.95 * style.COLUMN_IN)
    figure, axes = style.plt.subplots(1, len(TITLES), figsize=size, layout="constrained", sharey=True)
    style.head(figure, title)
    for axis, (attack, name) in zip(axes, TITLES.items(), strict=True):
        for (row, curve), line in zip(curves.items(), style.lines(len(curves)), strict=True):
            part = curve[curve["attack"] == attack]
            if len(part):
                area = np.trapezoid(part["tpr"], part["fpr"])
                found = np.interp(SHOWN, part["fpr"], part["tpr"])
                axis.plot(SHOWN, found, label=f"{row}: {area:.2f}", **line)
        _frame(axis, name)
    axes[0].set_ylabel("members found")
    return figure


def _frame(axis: Axes, name: str) -> None:
    axis.plot([LEAST, 1], [LEAST, 1], color=style.GUIDE, linewidth=0.8, zorder=0)
    axis.axvline(FALSE_ALARMS, color=style.GUIDE, linewidth=0.8, linestyle=":", zorder=0)
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlim(LEAST, 1)
    axis.set_ylim(LEAST, 1.1)
    ticks = [0.001, 0.01, 0.1, 1]
    labels = [style.percent(tick) for tick in ticks]
    axis.set_xticks(ticks, labels)
    axis.set_yticks(ticks, labels)
    axis.minorticks_off()
    axis.set_xlabel("others taken for members")
    style.note(axis, name)
    if axis.get_legend_handles_labels()[0]:
        axis.legend(title="area under the curve", loc="lower right", fontsize=8, title_fontsize=8)
    else:
        style.absent(axis)
