"""How the gate shares the records out among a model's blades (the paper's Figures 3, 10, 11 and 12)."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import MaxNLocator

from modp.figures import style
from modp.figures.given import Given

HALF, HEIGHT = 0.5, 3**0.5 / 2
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [HALF, HEIGHT]])
ALONE = 0.9
WEIGHT_BINS = 100
WEIGHT_LIMITS = 1e-4, 1.2
RANKS = ("largest", "second", "third", "fourth")
EXAMPLES = ((0, 0.7), (2, 0.01))
FEW_CELLS = 80


def gate_triangle_figure(given: Given) -> Figure:
    """Draw the gate of the given model of three blades; frames: its weights."""
    return triangle(_only(given), given.headed)


def gate_histogram_figure(given: Given) -> Figure:
    """Draw how often the given model's weights occur; frames: its weights."""
    return weight_histogram(_only(given), given.headed)


def gate_survival_figure(given: Given) -> Figure:
    """Draw the ordered weights of the given model; frames: its weights."""
    return survival(_only(given), given.headed)


def co_assignment_figure(given: Given) -> Figure:
    """Draw the given models two by two; frames: the weights of each."""
    weights = [frame.to_numpy() for frame in given.frames]
    return co_assignment(two_by_two(given.names, weights), given.title)


def _only(given: Given) -> np.ndarray:
    (frame,) = given.frames
    return frame.to_numpy()


def two_by_two(
    names: Sequence[str], weights: Sequence[np.ndarray]
) -> list[tuple[str, np.ndarray, str, np.ndarray]]:
    """Return the first model beside the second, the third beside the fourth, and so on."""
    named = list(zip(names, weights, strict=True))
    return [(*first, *second) for first, second in zip(named[::2], named[1::2], strict=True)]


def triangle(weights: np.ndarray, title: str) -> Figure:
    """Draw the weights of a model of three blades in a triangle (Figure 3).

    The nearer a record is to a corner, the more that blade counts in predicting it. Of more than
    20,000 records every tenth is drawn; the shares are of all records.

    Parameters
    ----------
    weights : shape (n, 3), each row summing to one
    """
    figure, axis = style.single(title, 1.0)
    weights = _known(weights)
    x, y = (style.thinned(weights) @ CORNERS).T
    axis.plot(*CORNERS[[0, 1, 2, 0]].T, color=style.GUIDE, linewidth=0.8, zorder=0)
    axis.plot(
        x,
        y,
        ".",
        color=style.CELLS,
        markersize=3,
        alpha=0.35,
        markeredgewidth=0,
        rasterized=True,
        clip_on=False,
        gid="records",
    )
    for blade, (corner, below) in enumerate(zip(CORNERS, (True, True, False), strict=True)):
        axis.annotate(
            f"blade {blade + 1}\nalone: {style.share(weights[:, blade] > ALONE)}",
            corner,
            xytext=(0, -7 if below else 7),
            textcoords="offset points",
            ha="center",
            va="top" if below else "bottom",
        )
    if not len(weights):
        axis.text(HALF, HEIGHT / 3, "no records", ha="center", color=style.GUIDE)
    axis.set(xlim=(-0.1, 1.1), ylim=(-0.13, HEIGHT + 0.13), aspect="equal")
    axis.set_axis_off()
    style.note(
        axis,
        f"{style.share(np.any(weights > ALONE, axis=1))} of the records weigh one blade above {ALONE:g},\n"
        f"{style.share(np.all(weights > 0.1, axis=1))} weigh all three above 0.1",
    )
    return figure


def weight_histogram(weights: np.ndarray, title: str) -> Figure:
    """Draw how often each weight occurs, all blades together (Figure 10): 0 to 1 in 100 bins.

    Parameters
    ----------
    weights : shape (n, B)
    """
    figure, axis = style.single(title, 0.66)
    values = weights[np.isfinite(weights)]
    edges = np.linspace(0, 1, WEIGHT_BINS + 1)
    counts = np.histogram(values, edges)[0]
    axis.stairs(counts, edges, baseline=None, color=style.CELLS, linewidth=1.2)
    axis.set_ylim(max(0.7, 0.7 * counts.min()), 1.5 * max(counts.max(), 2))
    axis.set(yscale="log", xlim=(0, 1), xlabel="weight of a blade", ylabel="weights per 0.01")
    if not len(values):
        style.absent(axis)
    style.note(
        axis,
        f"{style.share(values < 0.01)} below 0.01, {style.share((values >= 0.1) & (values <= 0.9))} "
        f"from 0.1 to 0.9, {style.share(values > 0.99)} above 0.99",
    )
    return figure


def survival(weights: np.ndarray, title: str) -> Figure:
    """Draw what share of the records has a larger largest, second, third, fourth weight (Figure 11).

    The weight's axis is logarithmic, from 10^-4 to 1.2. A model with fewer blades has fewer curves.

    Parameters
    ----------
    weights : shape (n, B)
    """
    figure, axis = style.single(title, 0.66)
    weights = _known(weights)
    ordered = np.sort(weights, axis=1)[:, ::-1]
    at = np.geomspace(*WEIGHT_LIMITS, 500)
    for rank, line in zip(range(min(len(RANKS), weights.shape[1])), style.lines(len(RANKS)), strict=False):
        larger = len(weights) - np.searchsorted(np.sort(ordered[:, rank]), at, side="right")
        axis.plot(at, larger / max(len(weights), 1), label=RANKS[rank], **line)
    axis.set(xscale="log", xlim=WEIGHT_LIMITS, ylim=(0, 1.02), xlabel="weight w")
    axis.set_ylabel("share of records with a larger one")
    axis.legend(title="weight", frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    if not len(weights):
        style.absent(axis)
    said = [
        f"{RANKS[rank]} above {value:g}: {style.share(ordered[:, rank] > value)}"
        for rank, value in EXAMPLES
        if rank < weights.shape[1]
    ]
    style.note(axis, "; ".join(said) + " of the records")
    return figure


def co_assignment(pairs: Sequence[tuple[str, np.ndarray, str, np.ndarray]], title: str) -> Figure:
    """Draw how two models share the same records out, a panel a pair (Figure 12).

    A cell counts the records that both models give to one blade, with a weight above 0.9; black
    is none. Numbers are written in where there is room for them.

    Parameters
    ----------
    pairs : name and weights (n, A) of one model, name and weights (n, B) of another, row by row
        of the same records
    """
    style.use()
    width = style.COLUMN_IN if len(pairs) == 1 else 1.9 * style.COLUMN_IN
    figure, axes = plt.subplots(
        1,
        len(pairs),
        figsize=(width, 0.9 * style.COLUMN_IN),
        squeeze=False,
        layout=ConstrainedLayoutEngine(wspace=0.06),
    )
    style.head(figure, title)
    for axis, (name_a, a, name_b, b) in zip(axes[0], pairs, strict=True):
        counts = _joint(a, b)
        image = axis.imshow(
            counts,
            cmap="magma",
            vmin=0,
            vmax=max(counts.max(), 1),
            origin="lower",
            aspect="auto",
            interpolation="nearest",
        )
        axis.set_xticks(range(a.shape[1]), range(1, a.shape[1] + 1))
        axis.set_yticks(range(b.shape[1]), range(1, b.shape[1] + 1))
        axis.set(xlabel=f"blade of {name_a}", ylabel=f"blade of {name_b}")
        both = f"{style.percent(counts.sum() / len(a))} of the records" if len(a) else "no records"
        style.note(axis, f"{both} have a weight above {ALONE:g} in both")
        _write_counts(axis, counts, width / len(pairs))
        figure.colorbar(
            image,
            ax=axis,
            label="records",
            ticks=MaxNLocator(6, integer=True),
            format="{x:,.0f}",
            fraction=0.05,
            pad=0.02,
            aspect=30,
        )
    return figure


def _known(weights: np.ndarray) -> np.ndarray:
    """Return the records that have all their weights."""
    return weights[np.isfinite(weights).all(axis=1)]


def _joint(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Count the records of each (blade of b, blade of a) that have a weight above 0.9 in both."""
    return ((b > ALONE).T.astype(np.float64) @ (a > ALONE)).round().astype(np.int64)


def _write_counts(axis: Axes, counts: np.ndarray, width: float) -> None:
    texts = [f"{count:,}" for count in counts.flat]
    room = 0.65 * width * 72 / counts.shape[1]
    size = min(8.0, room / (0.6 * max(map(len, texts))))
    if counts.size > FEW_CELLS or size < 4.5:
        return
    for (y, x), text in zip(np.ndindex(counts.shape), texts, strict=True):
        colour = "0.5" if counts[y, x] == 0 else "white" if counts[y, x] < 0.6 * counts.max() else "black"
        axis.text(x, y, text, ha="center", va="center", fontsize=size, color=colour)
