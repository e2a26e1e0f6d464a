"""The accuracy of single crosstab cells: d, z and their blend (the paper's Figures 7, 8 and 9)."""

from collections.abc import Sequence
from typing import Literal

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from modp.figures import style
from modp.figures.given import Given
from modp.measures.accuracy import D0, Z0

D_LIMIT, D_BIN = 0.5, 0.008
Z_LIMIT, Z_BIN = 12.0, 0.15
LEVELS = (0.5, 1, 2, 3)
MERIT_LIMIT, MERIT_BINS = 3.0, 150
HEAT_LIMIT = 6.0
FEW_TO_MANY = LinearSegmentedColormap.from_list(
    "few to many", ["#1446A0", "#4A8FD0", "#A79FB5", "#E2734F", "#B10F1E"]
)
LABEL_PT = 6.0


def z_against_d_figure(given: Given) -> Figure:
    """Draw z against d of the given row; frames: its cells."""
    (cells,) = given.frames
    d, z, true = (cells[column].to_numpy() for column in ("log_ratio", "z", "true"))
    return z_against_d(d, z, true, given.headed)


def merit_histogram_figure(given: Given) -> Figure:
    """Draw the distribution of the figure of merit of the given row; frames: its cells."""
    (cells,) = given.frames
    return merit_histogram(cells["merit"].to_numpy(), given.headed)


def merit_heatmap_figure(given: Given) -> Figure:
    """Draw the figure of merit of every cell of the given row; frames: its cells."""
    (cells,) = given.frames
    book = given.codebook
    matrix = symmetric(cells["merit"].to_numpy(), int(book.block_starts[-1]))
    return merit_heatmap(matrix, book.names, book.block_starts, book.heat_map_order, given.headed)


def symmetric(upper: np.ndarray, size: int) -> np.ndarray:
    """Return the symmetric matrix (size, size) of its cells i <= j, which come row by row."""
    matrix = np.zeros((size, size))
    matrix[np.triu_indices(size)] = upper
    return np.maximum(matrix, matrix.T)


def z_against_d(d: np.ndarray, z: np.ndarray, true_counts: np.ndarray, title: str) -> Figure:
    """Draw each cell's z-value against its log discrepancy (Figure 7).

    d from 0 to 0.5, z from 0 to 12; the histograms, in bins of 0.008 and 0.15, hold all cells
    within the limit of their own axis. Colours go from the smallest true count (blue) to the
    largest (red) by rank. The curves are the blended figure of merit at 0.5, 1, 2 and 3.

    Parameters
    ----------
    d, z : shape (cells,), of either sign; cells with NaN are left out
    true_counts : shape (cells,)
    """
    style.use()
    layout = ConstrainedLayoutEngine(w_pad=0.02, h_pad=0.02, wspace=0, hspace=0)
    figure = plt.figure(figsize=(style.COLUMN_IN, style.COLUMN_IN), layout=layout)
    style.head(figure, title)
    grid = figure.add_gridspec(2, 2, width_ratios=(4, 1), height_ratios=(1, 4), wspace=0, hspace=0)
    axis = figure.add_subplot(grid[1, 0])
    above = figure.add_subplot(grid[0, 0], sharex=axis)
    right = figure.add_subplot(grid[1, 1], sharey=axis)
    known = np.isfinite(d) & np.isfinite(z)
    d, z, true_counts = np.abs(d[known]), np.abs(z[known]), true_counts[known]

    _cells(axis, d, z, true_counts)
    _contours(axis)
    axis.set(xlim=(0, D_LIMIT), ylim=(0, Z_LIMIT), xlabel="log discrepancy d", ylabel="z-value z")
    _marginal(above, d, D_LIMIT, D_BIN, "vertical")
    _marginal(right, z, Z_LIMIT, Z_BIN, "horizontal")
    _colour_key(figure.add_subplot(grid[0, 1]), true_counts)
    beyond = (d > D_LIMIT) | (z > Z_LIMIT)
    style.note(
        above,
        f"median d {style.median(d, '.3f')}, median z {style.median(z, '.2f')};\n"
        f"{style.share(beyond)} of {len(d):,} cells lie outside the axes",
    )
    return figure


def merit_histogram(merit: np.ndarray, title: str) -> Figure:
    """Draw the distribution of the blended figure of merit over cells (Figure 8): 0 to 3, 150 bins.

    Parameters
    ----------
    merit : shape (cells,); NaN is left out
    """
    figure, axis = style.single(title, 0.66)
    values = merit[np.isfinite(merit)]
    edges = np.linspace(0, MERIT_LIMIT, MERIT_BINS + 1)
    axis.stairs(np.histogram(values, edges)[0], edges, color=style.CELLS, linewidth=1.2)
    axis.set(xlim=(0, MERIT_LIMIT), xlabel="blended figure of merit", ylabel="cells per 0.02")
    axis.set_ylim(bottom=0)
    if not len(values):
        style.absent(axis)
    style.note(
        axis,
        f"median {style.median(values, '.2f')}; {style.share(values <= 1)} of the cells at most 1, "
        f"{style.share(values > MERIT_LIMIT)} beyond {MERIT_LIMIT:g}",
    )
    return figure


def merit_heatmap(
    merit: np.ndarray, names: Sequence[str], block_starts: np.ndarray, order: Sequence[str], title: str
) -> Figure:
    """Draw the figure of merit of every cell of the crosstab, question by question (Figure 9).

    The scale is the paper's, 0 to 6, and low is good. The colours are not: its green to red
    cannot be told apart by everybody, so blue stands for good here.

    Parameters
    ----------
    merit : shape (K, K); NaN shows grey
    names : the questions' names, in the order of their blocks
    block_starts : shape (Q + 1,), first column of each block and, last, K
    order : names of questions in the order to draw them; the others follow in their own
        order, and names that the table lacks are passed over
    """
    questions = drawn_order(names, order)
    columns = np.concatenate([np.arange(block_starts[q], block_starts[q + 1]) for q in questions])
    sizes = np.diff(block_starts)[questions]
    edges = np.concatenate([[0], np.cumsum(sizes)])

    figure, axis = style.single(title, 1.3, width=1.25)
    colours = plt.get_cmap("RdYlBu_r").with_extremes(bad="0.7")
    image = axis.imshow(
        merit[np.ix_(columns, columns)],
        cmap=colours,
        vmin=0,
        vmax=HEAT_LIMIT,
        interpolation="nearest",
        extent=(0, edges[-1], edges[-1], 0),
    )
    axis.set_xticks(edges, [])
    axis.set_yticks(edges, [])
    axis.tick_params(length=3, width=0.5)
    _name_blocks(axis, [names[q] for q in questions], (edges[:-1] + edges[1:]) / 2, edges[-1])
    figure.colorbar(
        image,
        cax=axis.inset_axes((0, -0.05, 1, 0.025)),
        orientation="horizontal",
        extend="max",
        label="blended figure of merit (low is good)",
    )
    known = merit[np.isfinite(merit)]
    style.note(axis, f"median {style.median(known, '.2f')}; {style.share(known <= 1)} of the cells at most 1")
    return figure


def drawn_order(names: Sequence[str], order: Sequence[str]) -> list[int]:
    """Return the questions' indices in the order given; those it lacks follow in their own."""
    known = list(names)
    first = [known.index(name) for name in dict.fromkeys(order) if name in known]
    return first + [q for q in range(len(known)) if q not in set(first)]


def contour(level: float, d: np.ndarray) -> np.ndarray:
    """Return the z at which the figure of merit of ``d`` equals ``level``, NaN where there is none.

    2 / (d0/d + z0/z) = level, solved for z (paper, equation 12).
    """
    rest = 2 / level - np.divide(D0, d, out=np.full(np.shape(d), np.inf), where=d > 0)
    return np.divide(Z0, rest, out=np.full(np.shape(d), np.nan), where=rest > 0)


def _cells(axis: Axes, d: np.ndarray, z: np.ndarray, true_counts: np.ndarray) -> None:
    if not len(d):
        axis.text(0.5, 0.5, "no cells", transform=axis.transAxes, ha="center", color=style.GUIDE)
        return
    axis.scatter(
        d,
        z,
        s=3,
        c=_rank(true_counts),
        cmap=FEW_TO_MANY,
        vmin=0,
        vmax=1,
        alpha=0.75,
        linewidths=0,
        rasterized=True,
    )


def _rank(counts: np.ndarray) -> np.ndarray:
    """Return ranks from 0 to 1; equal counts share their mean rank."""
    _, group, sizes = np.unique(counts, return_inverse=True, return_counts=True)
    middle = np.cumsum(sizes) - (sizes + 1) / 2
    return middle[group] / max(len(counts) - 1, 1)


def _contours(axis: Axes) -> None:
    for level in LEVELS:
        top = D0 / (2 / level - Z0 / Z_LIMIT)
        d = np.concatenate([np.linspace(top, 2 * top, 200), np.linspace(2 * top, D_LIMIT, 100)])
        axis.plot(d, contour(level, d), color="black", linewidth=0.9, gid=f"merit {level:g}")
        z = 0.955 * Z_LIMIT
        axis.text(
            D0 / (2 / level - Z0 / z),
            z,
            f"{level:g}",
            fontsize=7.5,
            ha="center",
            va="center",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
        )
    axis.text(
        D0 / (2 / LEVELS[-1] - Z0 / z) + 0.012, z, "figure of merit", fontsize=7.5, ha="left", va="center"
    )


def _marginal(
    axis: Axes,
    values: np.ndarray,
    limit: float,
    width: float,
    orientation: Literal["vertical", "horizontal"],
) -> None:
    edges = np.arange(0, limit + width, width)
    counts = np.histogram(values, edges)[0]
    axis.stairs(counts, edges, orientation=orientation, fill=True, color="0.6")
    shared, counted = (axis.xaxis, axis.yaxis) if orientation == "vertical" else (axis.yaxis, axis.xaxis)
    shared.set_tick_params(labelbottom=False, labelleft=False)
    counted.set_tick_params(labelsize=7)
    set_limit = axis.set_ylim if orientation == "vertical" else axis.set_xlim
    set_limit(0, 1.05 * max(counts.max(), 1))
    (axis.set_ylabel if orientation == "vertical" else axis.set_xlabel)("cells", fontsize=8)


def _colour_key(axis: Axes, true_counts: np.ndarray) -> None:
    """Draw the colours with the true counts that they stand for."""
    axis.imshow(
        np.linspace(0, 1, 64)[:, None], cmap=FEW_TO_MANY, aspect="auto", origin="lower", extent=(0, 1, 0, 1)
    )
    axis.set_box_aspect(5)
    axis.set_xticks([])
    axis.yaxis.tick_right()
    marks = np.array([0, 0.5, 1])
    counts = np.quantile(true_counts, marks) if len(true_counts) else np.zeros(3)
    axis.set_yticks(marks, [f"{count:,.0f}" for count in counts], fontsize=7)
    axis.tick_params(length=2, pad=2)
    axis.set_title("true count", fontsize=8, fontweight="normal", loc="center", pad=4)


def _name_blocks(axis: Axes, names: Sequence[str], centres: np.ndarray, size: int) -> None:
    """Write the names right of their blocks, spread where the blocks are too thin for them."""
    height_pt = 1.05 * style.COLUMN_IN * 72
    places = _spread(centres, min(1.15 * LABEL_PT / height_pt * size, size / len(names)), size)
    for name, centre, place in zip(names, centres, places, strict=True):
        line = [(1.0, centre), (1.01, centre), (1.035, place), (1.045, place)]
        axis.plot(
            *zip(*line, strict=True),
            transform=axis.get_yaxis_transform(),
            color="0.5",
            linewidth=0.4,
            clip_on=False,
        )
        axis.text(
            1.05, place, name, transform=axis.get_yaxis_transform(), fontsize=LABEL_PT, va="center_baseline"
        )


def _spread(centres: np.ndarray, gap: float, size: float) -> np.ndarray:
    """Return the places nearest to the sorted ``centres`` that are ``gap`` apart and within 0 … size.

    Pool-adjacent-violators on centres minus their number times the gap.
    """
    shift = gap * np.arange(len(centres))
    blocks: list[list[float]] = []
    for value in centres - shift:
        blocks.append([value, 1])
        while len(blocks) > 1 and blocks[-2][0] >= blocks[-1][0]:
            mean, count = blocks.pop()
            before, more = blocks[-1]
            blocks[-1] = [(mean * count + before * more) / (count + more), count + more]
    level = np.concatenate([np.full(int(count), mean) for mean, count in blocks])
    return np.clip(level, gap / 2, max(gap / 2, size - gap / 2 - shift[-1])) + shift
