"""The table of a scattered data set: how near and how private each part is, and all of them together."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from modp.measures.table import NEARER, RATIO, measures_of
from modp.summaries.printed import Printed, shown

TOGETHER = "all together"
"""The title of the line of all parts."""

NOTES = (
    "× : |ln ratio| as a multiple of a bootstrap resample's, of the part's own records for a part",
    f"population: {NEARER}; a part is compared with its own people held out",
    f"{TOGETHER}: the parts' synthetic records in one table, against all true records",
)


def gathered(
    found: Mapping[str, Any],
    together: Any,
    rows: Sequence[str],
    sizes: Mapping[str, int],
    titles: Mapping[str, str],
) -> pd.DataFrame:
    """Return all metrics of every part and row, a line each, those of all together last.

    Parameters
    ----------
    found : part -> its metrics.json
    together : metrics.json of all parts' synthetic records
    rows : of the accuracy table, as ``model/name``
    sizes : part -> number of true records
    titles : part -> how it is called for people, where its name is not that

    Returns
    -------
    columns part (empty for all together), title, row, true_records, then the metrics by their names
    """
    lines = []
    for row in rows:
        for part, tree in [*sorted(found.items()), ("", together)]:
            size = sizes[part] if part else sum(sizes[name] for name in found)
            title = titles.get(part, part) if part else TOGETHER
            line: dict[str, Any] = {"part": part, "title": title, "row": row, "true_records": size}
            lines.append(line | _leaves(tree, row))
    return pd.DataFrame(lines)


def _leaves(tree: Any, row: str) -> dict[str, float]:
    model, _, name = row.partition("/")
    of = [tree[kind].get(model, {}).get(name, {}) for kind in ("accuracy", "privacy")]
    return {key: math.nan if value is None else value for part in of for key, value in part.items()}


def printed(table: pd.DataFrame) -> list[Printed]:
    """Return the chief measures for people, a table a row of the accuracy table."""
    wanted = {f"{RATIO}{m.name}": f"{m.title} ×" for m in measures_of("d") if m.judges}
    wanted |= {m.name: m.repeated for m in measures_of() if m.repeated and m.metric}
    there = {name: title for name, title in wanted.items() if name in table}
    parts = []
    for row, lines in table.groupby("row", sort=False):
        texts = [
            [line["title"], f"{line['true_records']:,}", *(shown(line[name], "{:.3g}") for name in there)]
            for line in lines.to_dict("records")
        ]
        parts.append(Printed(str(row), ["part", "records", *there.values()], texts, 1))
    return parts
