"""An interactive plot of fidelity against privacy, a point a row."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from bokeh.embed import json_item
from bokeh.models import ColumnDataSource, FixedTicker, HoverTool, NumeralTickFormatter, Span
from bokeh.plotting import figure
from bokeh.resources import Resources

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("circle", "square", "triangle", "diamond", "inverted_triangle", "hex", "star")
TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)
HEIGHT_PX = 460
LEAST_PERCENT = 0.01
"""Where rows stand whose records were never found, on an axis that has no zero."""


def script() -> str:
    """Return the JavaScript that draws the plot, so that the page needs no network."""
    return "\n".join(Resources(mode="inline", components=["bokeh"]).js_raw)


def item(rows: Sequence[Mapping[str, Any]], target: str) -> dict[str, Any]:
    """Return the plot for ``Bokeh.embed.embed_item``, the same bytes for the same rows.

    Parameters
    ----------
    rows : each with model, variant, ratio_median, ratio_mean_abs, ratio_rms and within_10 (a share)
    target : id of the page's element that it is drawn in
    """
    table = pd.DataFrame(
        rows, columns=["model", "variant", "ratio_median", "ratio_mean_abs", "ratio_rms", "within_10"]
    ).dropna()
    table["percent"] = (100 * table["within_10"]).clip(lower=LEAST_PERCENT)
    drawn = figure(
        x_axis_type="log",
        y_axis_type="log",
        x_axis_label="causal record among the 10 nearest, %",
        y_axis_label="median d, × the bootstrap's",
        height=HEIGHT_PX,
        sizing_mode="stretch_width",
        tools="pan,box_zoom,reset",
        toolbar_location="above",
    )
    drawn.toolbar.logo = None
    # A finger on the plot scrolls the page, until a tool is chosen.
    drawn.toolbar.active_drag = None
    drawn.add_layout(Span(location=1, dimension="width", line_color="#555555", line_dash="dashed"))
    for at, (model, part) in enumerate(table.groupby("model", sort=False)):
        # Plain lists: what the page holds does not depend on how the machine lays out arrays.
        drawn.scatter(
            "percent",
            "ratio_median",
            source=ColumnDataSource({name: part[name].tolist() for name in table.columns}),
            marker=MARKERS[at % len(MARKERS)],
            color=COLOURS[at % len(COLOURS)],
            size=11,
            line_color="white",
            legend_label=str(model),
        )
    drawn.add_tools(
        HoverTool(
            tooltips=[
                ("row", "@model/@variant"),
                ("median, mean, r.m.s.", "@ratio_median{0.00}, @ratio_mean_abs{0.00}, @ratio_rms{0.00} ×"),
                ("among the 10 nearest", "@within_10{0.00 %}"),
            ]
        )
    )
    for axis in drawn.axis:
        axis.formatter = NumeralTickFormatter(format="0.[00]")
        axis.ticker = FixedTicker(ticks=list(TICKS))
    if len(table):
        legend = drawn.legend[0]
        legend.click_policy = "hide"
        legend.ncols = 2
        legend.location = "left"
        drawn.add_layout(legend, "below")
    return _numbered_anew(json_item(drawn, target), {})


def _numbered_anew(value: Any, ids: dict[str, str]) -> Any:
    """Replace Bokeh's identifiers, which count on through a process, by ones that begin at 1."""
    if isinstance(value, list | tuple):
        return [_numbered_anew(part, ids) for part in value]
    if not isinstance(value, dict):
        return value
    return {
        key: ids.setdefault(part, f"p{len(ids) + 1}")
        if key in ("id", "root_id")
        else _numbered_anew(part, ids)
        for key, part in value.items()
    }
