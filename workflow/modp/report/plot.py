"""An interactive plot of fidelity against privacy: a point a row, and curves along sweeps or pass-through."""

from typing import Any

import numpy as np
import pandas as pd
from bokeh.core.types import ID
from bokeh.embed import json_item
from bokeh.models import ColumnDataSource, FixedTicker, HoverTool, NumeralTickFormatter
from bokeh.models.annotations import Span
from bokeh.models.renderers import DataRenderer
from bokeh.plotting import figure
from bokeh.resources import Resources

from modp.measures.table import RATIO, measures_of
from modp.summaries.accuracy import judged_by

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("circle", "square", "triangle", "diamond", "inverted_triangle", "hex", "star")
TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)
HEIGHT_PX = 460
LEAST_PERCENT = 0.01
"""Where rows stand whose records were never found, on an axis that has no zero."""


def script() -> str:
    """Return the JavaScript that draws the plot, so that the page needs no network."""
    return "\n".join(Resources(mode="inline", components=["bokeh"]).js_raw)


def item(rows: pd.DataFrame, curves: pd.DataFrame, target: str) -> dict[str, Any]:
    """Return the plot for ``Bokeh.embed.embed_item``, the same bytes for the same numbers.

    Parameters
    ----------
    rows : with columns model, variant, ratio_median and those of the other measures of d, and within_10
        (a share); the first ratio that is known of some row is drawn
    curves : with columns curve, model, parameter, ratio_median and within_10
    target : id of the page's element that it is drawn in
    """
    key = judged_by(rows) or "median"
    ratio = f"{RATIO}{key}"
    if ratio not in curves:
        curves = curves.iloc[:0].assign(**{ratio: np.nan})
    rows, curves = (table.dropna(subset=[ratio, "within_10"]) for table in (rows, curves))
    drawn = figure(
        x_axis_type="log",
        y_axis_type="log",
        x_axis_label="causal record among the 10 nearest, %",
        y_axis_label=f"{next(m.title for m in measures_of('d') if m.key == key)} d, × the bootstrap's",
        height=HEIGHT_PX,
        sizing_mode="stretch_width",
        tools="pan,box_zoom,reset",
        toolbar_location="above",
    )
    drawn.toolbar.logo = None
    # A finger on the plot scrolls the page, until a tool is chosen.
    drawn.toolbar.active_drag = None
    drawn.add_layout(Span(location=1, dimension="width", line_color="#555555", line_dash="dashed"))
    models = list(dict.fromkeys([*rows["model"], *curves["model"]]))
    looks = {m: (COLOURS[k % len(COLOURS)], MARKERS[k % len(MARKERS)]) for k, m in enumerate(models)}
    steps: list[DataRenderer] = []
    for (_, model), part in curves.groupby(["curve", "model"], sort=False):
        look: dict[str, Any] = {"source": _source(part), "color": looks[model][0], "alpha": 0.7}
        drawn.line("percent", ratio, line_width=1.5, **look)
        steps.append(drawn.scatter("percent", ratio, size=5, **look))
    points: list[DataRenderer] = [
        drawn.scatter(
            "percent",
            ratio,
            source=_source(part),
            marker=looks[model][1],
            color=looks[model][0],
            size=11,
            line_color="white",
            legend_label=str(model),
        )
        for model, part in rows.groupby("model", sort=False)
    ]
    of_d = measures_of("d")
    ratios = ", ".join(f"@{RATIO}{measure.key}{{0.00}}" for measure in of_d) + " ×"
    among = ("among the 10 nearest", "@within_10{0.00 %}")
    drawn.add_tools(
        HoverTool(
            renderers=points,
            tooltips=[("row", "@model/@variant"), (", ".join(m.title for m in of_d), ratios), among],
        ),
        HoverTool(
            renderers=steps,
            tooltips=[("@model, @curve", "@parameter"), (key, f"@{ratio}{{0.00}} ×"), among],
        ),
    )
    for axis in drawn.axis:
        axis.formatter = NumeralTickFormatter(format="0.[00]")
        axis.ticker = FixedTicker(ticks=list(TICKS))
    if points:
        legend = drawn.legend[0]
        legend.click_policy = "hide"
        legend.ncols = 2
        legend.location = "left"
        drawn.add_layout(legend, "below")
    return _numbered_anew(json_item(drawn, ID(target)), {})


def _source(part: pd.DataFrame) -> ColumnDataSource:
    """Plain lists: what the page holds does not depend on how the machine lays out arrays."""
    part = part.assign(percent=(100 * part["within_10"]).clip(lower=LEAST_PERCENT))
    return ColumnDataSource({name: part[name].tolist() for name in part.columns})


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
