"""One look for every figure: sizes for a printed column, colours that everybody can tell apart."""

import itertools
import textwrap
from collections.abc import Iterator
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.figure import Figure

from modp.measures.table import measures_of

CELLS = "#0072B2"
UNIVARIATE = "#D55E00"
GUIDE = "0.45"
MEASURE_NAMES = {measure.key: measure.title for measure in measures_of("d")}
MEASURE_COLOURS = dict(
    zip(MEASURE_NAMES, ("#0072B2", "#E69F00", "#CC79A7", "#009E73", "#D55E00", "#56B4E9"), strict=False)
)
MEASURE_MARKS = dict(zip(MEASURE_NAMES, ("o", "s", "D", "^", "v", "P"), strict=False))
COLUMN_IN = 5.2
DPI = 200
MANY = 20_000
LETTERS_AN_INCH = 9.0
DASHES = ("-", (0, (4, 1.5)), (0, (1, 1)), (0, (3, 1, 1, 1)))


def use() -> None:
    """Set the look for the figures drawn next, without a display."""
    matplotlib.use("Agg")
    sns.set_theme(
        context="paper",
        style="ticks",
        font_scale=1.05,
        rc={"axes.titleweight": "bold", "axes.titlelocation": "left", "pdf.fonttype": 42},
    )


def settle(figure: Figure) -> None:
    """Compute the layout once, which saving in each format would do again."""
    engine = figure.get_layout_engine()
    if engine:
        engine.execute(figure)
    figure.set_layout_engine("none")


def save(figure: Figure, path: Path) -> None:
    """Write the figure; the same data give the same bytes, so no date goes into the file.

    The canvases are asked themselves, since ``savefig`` draws every figure twice.
    """
    if path.suffix == ".pdf":
        FigureCanvasPdf(figure).print_pdf(path, metadata={"CreationDate": None})
    else:
        figure.set_dpi(DPI)
        FigureCanvasAgg(figure).print_png(path)


def close(figure: Figure) -> None:
    """Forget the figure, which pyplot keeps in memory until it is told."""
    plt.close(figure)


def single(title: str, height: float, width: float = 1.0) -> tuple[Figure, Axes]:
    """Begin a figure of one panel under its title; height and width are in columns."""
    use()
    size = (width * COLUMN_IN, height * COLUMN_IN)
    figure, axis = plt.subplots(figsize=size, layout="constrained")
    head(figure, title)
    return figure, axis


def stacked(title: str, panels: int, height: float, width: float = 1.0) -> tuple[Figure, list[Axes]]:
    """Begin a figure of panels over one another, with one x axis; sizes, of one panel, are in columns."""
    use()
    size = (width * COLUMN_IN, panels * height * COLUMN_IN)
    figure, axes = plt.subplots(panels, figsize=size, layout="constrained", sharex=True, squeeze=False)
    head(figure, title)
    return figure, list(axes[:, 0])


def head(figure: Figure, title: str) -> None:
    """Write the title over the figure, at its left edge, on as many lines as it needs."""
    letters = int(LETTERS_AN_INCH * figure.get_figwidth())
    lines = [part for line in title.split("\n") for part in textwrap.wrap(line, letters)]
    figure.suptitle("\n".join(lines), x=0.01, ha="left", fontweight="bold")


def note(axis: Axes, text: str) -> None:
    """Write the numbers that matter right above the axes."""
    axis.set_title(text, fontweight="normal", fontsize=9.5)


def absent(axis: Axes) -> None:
    """Say that there is nothing to draw."""
    box = {"facecolor": "white", "edgecolor": "none"}
    middle = axis.transAxes
    axis.text(
        0.5, 0.5, "no records", color=GUIDE, bbox=box, zorder=5, ha="center", va="center", transform=middle
    )


def percent(share: float) -> str:
    """Write a share such as 0.0123 as ``1.2%``; only a whole is called 100%."""
    if 0.995 <= share < 1:
        return ">99%"
    return f"{100 * share:.2g}%" if share < 0.0995 else f"{100 * share:.0f}%"


def share(mask: np.ndarray) -> str:
    """Write the share of true values, a dash where there are none at all."""
    return percent(float(mask.mean())) if mask.size else "–"


def median(values: np.ndarray, form: str = ".3g") -> str:
    """Write the median, a dash where there are no values."""
    return format(float(np.median(values)), form) if values.size else "–"


def thinned(values: np.ndarray) -> np.ndarray:
    """Return every tenth row where there are more than 20,000, as the paper's scatters do."""
    return values[::10] if len(values) > MANY else values


def lines(count: int) -> Iterator[dict]:
    """Return a colour and a dash for each of so many curves."""
    colours = sns.color_palette("colorblind", count)
    for colour, dash in zip(colours, itertools.cycle(DASHES), strict=False):
        yield {"color": colour, "linestyle": dash}
