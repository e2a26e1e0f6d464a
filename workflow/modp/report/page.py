"""What report.html says: the headline, captions, tables and how they become one page."""

import base64
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from markdown_it import MarkdownIt
from markupsafe import Markup
from PIL import Image

from modp.summaries.tables import LIMITS, MEASURES, ZEROS, bounded, row_names, shown_share

COLOURS = 256
"""Colours of a picture in the page; the files of the figures keep all of theirs."""

FIRST = ("accuracy", "frontier")


@dataclass(frozen=True)
class Number:
    """One number of the headline, what it is of, and a sentence of meaning."""

    value: str
    name: str
    meaning: str


@dataclass(frozen=True)
class Picture:
    """A figure: its name, what it is of, a sentence, and the picture as base64 of PNG with its size."""

    name: str
    of: str
    caption: str
    png: str
    width: int
    height: int


def closest(table: pd.DataFrame) -> str | None:
    """Return the row whose crosstab errs most nearly as much as a bootstrap resample's.

    The row is chosen whose farthest of three ratios (median, mean, r.m.s. of d, over all cells) is
    nearest to 1: errors far below the bootstrap's median beside others far above it do not count as
    good. None if no row has all three.

    Parameters
    ----------
    table : the accuracy table, as :func:`modp.summaries.tables.accuracy_table` returns it
    """
    part = table[(table["cells"] == "all") & (table["variant"] != "")]
    farthest = np.abs(np.log(part[[f"ratio_{m}" for m in MEASURES]].to_numpy(float))).max(axis=1)
    if not np.isfinite(farthest).any():
        return None
    return str(row_names(part).iloc[int(np.nanargmin(farthest))])


def headline(
    row: str, table: pd.DataFrame, hidden: pd.DataFrame, metrics: Mapping[str, Any], zeros: str
) -> list[Number]:
    """Return what matters of one row: fidelity first, then privacy as far as it was measured.

    Parameters
    ----------
    row : ``model/variant``
    table, hidden : the accuracy and the privacy table
    metrics : metrics.json; ``privacy.<model>.<variant>.closer_to_train`` is shown if it is there
    zeros : the parameter, one of :data:`modp.summaries.tables.ZEROS`
    """
    table = table[table["cells"] == "all"]
    line = table[row_names(table) == row].iloc[0]
    ideal = table.iloc[0]
    found = [
        Number(
            f"{line['ratio_median']:.2f} ×",
            "the ideal’s error",
            f"Half of the crosstab’s cells are within {np.expm1(line['median']):.1%} of the true count; "
            f"those of a bootstrap resample, which differs from the true records by chance alone, within "
            f"{np.expm1(ideal['median']):.1%}. The ratio of the mean errors is "
            f"{line['ratio_mean_abs']:.2f}, of the root mean square ones {line['ratio_rms']:.2f}.",
        ),
        Number(
            f"{line['zero_records']:,} of {line['records']:,}",
            "impossible records",
            f"Synthetic records that hold a pair of answers which {ZEROS[zeros]}.",
        ),
    ]
    line = hidden[row_names(hidden) == row].iloc[0]
    if line["ranked"]:
        found.append(
            Number(
                shown_share(line["within_10"], line["ranked"]),
                "of the causal records found",
                "How often the true record that a synthetic one was drawn from is among its ten nearest. "
                f"For half of them, {line['median_rank']:,.0f} or more true records are as near. "
                "Small is private.",
            )
        )
    closer = [_at(metrics, "privacy", *row.split("/"), f"closer_to_train{end}") for end in ("", *LIMITS)]
    if closer[0] is not None:
        found.append(
            Number(
                bounded(closer, ".3f"),
                "closer to train",
                "How often a synthetic record is nearer to the records it was made from than to as many "
                "that were held out, with its 95 % interval. 0.5 is no leak.",
            )
        )
    return found


def points(table: pd.DataFrame, hidden: pd.DataFrame) -> pd.DataFrame:
    """Return accuracy and privacy of every drawn row, a line a row, for :func:`modp.report.plot.item`."""
    merged = table[table["cells"] == "all"].merge(hidden, on=["model", "variant"])
    return merged[["model", "variant", *(f"ratio_{m}" for m in MEASURES), "within_10"]]


def curves(traced: Sequence[pd.DataFrame], ideal: float) -> pd.DataFrame:
    """Return the frontier's curves for :func:`modp.report.plot.item`.

    Parameters
    ----------
    traced : what the step ``frontier`` writes of each model; its point of independent marginals, which
        is no curve, is left out
    ideal : the bootstrap's median of d
    """
    columns = ["curve", "model", "parameter", "median", "within_10"]
    whole = pd.concat([part[columns] for part in traced]) if traced else pd.DataFrame(columns=columns)
    whole = whole[whole["curve"] != "marginals"]
    return whole.assign(ratio_median=whole["median"] / ideal if ideal > 0 else np.nan)


def _at(tree: Any, *keys: str) -> Any:
    for key in keys:
        tree = tree.get(key) if isinstance(tree, Mapping) else None
    return tree


def picture(name: str, caption: str, of: Sequence[str], png: bytes) -> Picture:
    """Return a figure for the page, in a third of its bytes.

    Parameters
    ----------
    caption : what it shows
    of : the rows or models that it shows
    png : the picture
    """
    whole = Image.open(io.BytesIO(png)).convert("RGB")
    # Of Pillow's ways this one keeps rare colours, such as the far end of a colour bar.
    few = whole.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    packed = io.BytesIO()
    few.save(packed, "PNG", optimize=True)
    content = base64.b64encode(packed.getvalue()).decode()
    shown = ", ".join(dict.fromkeys(of)) if len(of) <= 4 else ""
    return Picture(name, shown, caption, content, whole.width, whole.height)


def in_order(names: Sequence[str]) -> list[str]:
    """Return figures' names in the order of the page: the ones of all rows, then as they came."""
    return [n for n in FIRST if n in names] + [n for n in names if n not in FIRST]


def as_html(markdown: str) -> Markup:
    """Return a table's Markdown page as HTML, its headings two levels down, its tables scrollable.

    HTML in it is shown, not obeyed.
    """
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(markdown)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{int(token.tag[1]) + 2}"
    html = parser.renderer.render(tokens, parser.options, {})
    html = html.replace(
        "<table>", '<div class="scroll" tabindex="0" role="region" aria-label="Table"><table>'
    )
    return Markup(html.replace("</table>", "</table></div>"))
