"""One look for every figure: sizes for a printed column, colours that everybody can tell apart."""

from pathlib import Path

import matplotlib
import seaborn as sns
from matplotlib.figure import Figure

CELLS = "#0072B2"
UNIVARIATE = "#D55E00"
GUIDE = "0.45"
MEASURE_COLOURS = {"median": "#0072B2", "mean_abs": "#E69F00", "rms": "#CC79A7"}
MEASURE_MARKS = {"median": "o", "mean_abs": "s", "rms": "D"}
MEASURE_NAMES = {"median": "median", "mean_abs": "mean", "rms": "r.m.s."}
COLUMN_IN = 5.2
DPI = 200


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
    figure.draw_without_rendering()
    figure.set_layout_engine("none")


def save(figure: Figure, path: Path) -> None:
    """Write the figure; the same data give the same bytes, so no date goes into the file."""
    metadata = {"CreationDate": None} if path.suffix == ".pdf" else {}
    figure.savefig(path, dpi=DPI, metadata=metadata)
