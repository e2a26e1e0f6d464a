"""How fast a stationary model's chains forget the true records, a curve a question."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from modp.figures import style
from modp.figures.given import Given
from modp.measures.mixing import summary

NAMED = 5


def mixing_figure(given: Given) -> Figure:
    """Draw the chains of the given model; frames: their trace."""
    (traced,) = given.frames
    return draw(traced, given.headed)


def draw(traced: pd.DataFrame, title: str) -> Figure:
    """Draw each question's autocorrelation with the true records against the number of sweeps.

    The questions that keep most are named at the right.

    Parameters
    ----------
    traced : one line a question and sweep, as :func:`modp.measures.mixing.trace` returns
    """
    figure, axis = style.single(title, 0.9, width=1.4)
    order = summary(traced.dropna(subset=["kept"]))["question"].tolist()
    slow = dict(zip(order[:NAMED], style.lines(NAMED), strict=False))
    for question in reversed(order):
        part = traced[traced["question"] == question]
        look = slow.get(question, {"color": "0.75", "linestyle": "-"})
        kept = part["kept"].iloc[-1]
        label = f"{question}: {kept:.2f} after {part['sweep'].iloc[-1]}" if question in slow else None
        axis.plot(part["sweep"], part["kept"], linewidth=1.6 if label else 0.8, label=label, **look)
    axis.axhline(0, color=style.GUIDE, linewidth=0.8, zorder=0)
    axis.set(xscale="log", xlabel="sweeps", ylabel="autocorrelation with the true record")
    axis.set_ylim(-0.05, 1.02)
    if slow:
        handles, labels = axis.get_legend_handles_labels()
        figure.legend(
            handles[::-1],
            labels[::-1],
            loc="outside lower left",
            ncols=3,
            frameon=False,
            title="slowest questions",
        )
    changed = traced["changed"].to_numpy(float)
    median = style.median(traced.loc[traced["sweep"] == traced["sweep"].max(), "kept"].to_numpy(float), ".3f")
    share = style.percent(float(np.mean(changed))) if len(changed) else "no"
    style.note(axis, f"{share} of the answers change in a sweep; median question keeps {median} at last")
    return figure
