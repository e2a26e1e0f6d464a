"""What report.html says: the headline, captions, tables and how they become one page."""

import base64
import io
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from markdown_it import MarkdownIt
from markupsafe import Markup
from PIL import Image

from modp.measures.table import RATIO, Measure, measures_of, of_population
from modp.summaries.accuracy import ZEROS, judged_by
from modp.summaries.printed import cell, row_names

COLOURS = 256
"""Colours of a picture in the page; the files of the figures keep all of theirs."""

FIRST = ("accuracy", "households", "frontier")


@dataclass(frozen=True)
class Number:
    """One number of the headline, its measure's key, what it is of, and a sentence of meaning."""

    key: str
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


def closest(table: pd.DataFrame, copies: Collection[str] = ()) -> tuple[str | None, bool]:
    """Return the row that comes closest, and whether to the people held out.

    Where their crosstab was compared, that is the row of the smallest mean distance from it. Else it is the
    row whose crosstab errs most nearly as much as a bootstrap resample's: whose farthest of three ratios
    (median, mean, r.m.s. of d, over all cells: those that judge in the table of measures) is nearest to 1,
    since errors far below the bootstrap's median beside others far above it do not count as good. None if no
    row has these.

    Parameters
    ----------
    table : the accuracy table, as :func:`modp.summaries.accuracy.accuracy_table` returns it
    copies : rows that are never the best, since they copy their records
    """
    part = table[(table["cells"] == "all") & (table["variant"] != "")]
    part = part[~row_names(part).isin(copies)]
    ratios = part[[f"{RATIO}{m.key}" for m in measures_of("d") if m.judges]].to_numpy(float)
    within = np.abs(np.log(ratios)).max(axis=1)
    distances = part[of_population().key].to_numpy(float)
    by_population = bool(np.isfinite(distances).any())
    judged = distances if by_population else within
    if not np.isfinite(judged).any():
        return None, False
    return str(row_names(part).iloc[int(np.nanargmin(judged))]), by_population


def headline(
    row: str, table: pd.DataFrame, hidden: pd.DataFrame, metrics: Mapping[str, Any], zeros: str
) -> list[Number]:
    """Return what matters of one row: fidelity first, then privacy as far as it was measured.

    Parameters
    ----------
    row : ``model/variant``
    table, hidden : the accuracy and the privacy table
    metrics : metrics.json
    zeros : the parameter, one of :data:`modp.summaries.accuracy.ZEROS`
    """
    facts = _facts(row, table, hidden, metrics, zeros)
    of_d = judged_by(pd.DataFrame([facts]))
    told = [m for m in measures_of() if _defined(m, facts) and (not m.judges or m.key == of_d)]
    parts = [(m.key, m.headline) for m in told if m.headline]
    return [Number(key, p.value.format(**facts), p.name, p.meaning.format(**facts)) for key, p in parts]


def guarantees(parameters: Mapping[str, Any]) -> list[str]:
    """Return a sentence on each row that comes with a formal guarantee, and whom that protects."""
    found = []
    for row in parameters["rows"]:
        recipe = parameters["models"][row["model"]]
        if "epsilon" not in recipe:
            continue
        whom = (
            f"whole households, of which at most {recipe['most']} records each were taken"
            if recipe.get("unit") == "household"
            else "single records, not households"
        )
        but = ". Its noise derives from the seed, so that this holds of trials only"
        found.append(
            f"{row['model']}/{row['name']} is ({recipe['epsilon']:g}, {recipe['delta']:g})-differentially "
            f"private: a guarantee that protects {whom}{but if recipe['noise'] == 'seeded' else ''}."
        )
    return found


def _facts(
    row: str, table: pd.DataFrame, hidden: pd.DataFrame, metrics: Mapping[str, Any], zeros: str
) -> dict[str, Any]:
    """What is known of a row, by the names that the headlines of the table of measures use."""
    table = table[table["cells"] == "all"]
    accurate = table[row_names(table) == row].iloc[0].to_dict()
    private = hidden[row_names(hidden) == row].iloc[0].to_dict()
    useful = _at(metrics, "utility", *row.split("/")) or {}
    return {
        **(_at(metrics, "privacy", *row.split("/")) or {}),
        **useful,
        **private,
        **accurate,
        "written": {
            **{measure.key: cell(measure, private) for measure in measures_of("privacy")},
            **{measure.key: cell(measure, accurate) for measure in measures_of("population")},
            **{m.key: cell(m, useful) for m in measures_of("learners") if useful.get(m.key) is not None},
        },
        "within": np.expm1(accurate["median"]),
        "ideal_within": np.expm1(table["median"].iloc[0]),
        "zeros": ZEROS[zeros],
    }


def _defined(measure: Measure, facts: Mapping[str, Any]) -> bool:
    value = facts.get(measure.key, facts.get(measure.name))
    return value is not None and not np.isnan(value)


def points(table: pd.DataFrame, hidden: pd.DataFrame) -> pd.DataFrame:
    """Return accuracy and privacy of every drawn row, a line a row, for :func:`modp.report.plot.item`."""
    merged = table[table["cells"] == "all"].merge(hidden, on=["model", "variant"])
    return merged[["model", "variant", *(f"{RATIO}{m.key}" for m in measures_of("d")), "within_10"]]


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
    few.save(packed, "PNG", compress_level=7)  # a level more takes thrice as long, for 3 % fewer bytes
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
