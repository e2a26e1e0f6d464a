"""The table of interactions: what fits found of three-way effects, modelled or not."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from modp.crosstabs.limits import FALSE_DISCOVERIES
from modp.summaries.printed import Printed, shown

COLUMNS = ["model", "first", "second", "third", "effect", "z", "misfit", "found", "modelled"]

INTERACTIONS_NOTES = (
    "effect: the strongest contrast of the three questions that a model of pairs lacks, linear in the order "
    "of their categories or of one category by the two others; z: its score statistic",
    "misfit: by how many standard deviations of chance the three-way table of a model of pairs misses the "
    "records' own",
    f"found: chance does not explain it, with {FALSE_DISCOVERIES:.0%} of false discoveries in each family of "
    "contrasts; modelled: by its contrasts, by all cells of its table, or not at all: there tables drawn "
    "from the model differ from the records. Triples that were tested and are not here show less",
)


def interactions_table(histories: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return what fits found of three-way effects, a line a model and triple of questions, strongest first.

    Parameters
    ----------
    histories : model -> history of its fit, with what it found among its ``attrs``
    """
    lines = [
        {"model": name, **line}
        for name, history in histories.items()
        for line in history.attrs.get("interactions", ())
    ]
    return pd.DataFrame(lines, columns=COLUMNS)


def printed_interactions(table: pd.DataFrame) -> list[Printed]:
    """Return what was found for people, a part a model."""
    headers = ["questions", "effect", "z", "misfit", "found", "modelled"]
    return [
        Printed(
            f"Three-way effects in {model}", headers, [_printed(line) for line in part.to_dict("records")], 2
        )
        for model, part in table.groupby("model", sort=False)
    ]


def _printed(line: dict[Any, Any]) -> list[str]:
    found = "yes" if line["found"] else "no"
    numbers = [shown(line["z"], "{:.1f}"), shown(line["misfit"], "{:.1f}")]
    return [named(line), line["effect"], *numbers, found, line["modelled"] or "no"]


def named(line: dict[Any, Any]) -> str:
    """Return a line's questions in words."""
    return " × ".join(line[place] for place in ("first", "second", "third"))


def left_out(table: pd.DataFrame, model: str) -> list[str]:
    """Return the effects that were found and that a model does not have, in words, strongest first."""
    own = table[(table["model"] == model) & table["found"] & (table["modelled"] == "")]
    return [f"{named(line)} ({line['effect']})" for line in own.to_dict("records")]
