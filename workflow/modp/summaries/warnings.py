"""What must be said of a run aloud: tables that are copies of their records, fits that did not arrive."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from modp.measures.table import RATIO

if TYPE_CHECKING:
    import pandas as pd

COPIED = 0.05
"""A table is a copy if so much more of it than chance sits nearest to the records that it was drawn from."""

REPEATED = 0.8
"""A table is a copy if its mean error in the sample is so small a part of a bootstrap resample's."""


def copies(table: pd.DataFrame, hidden: pd.DataFrame, balanced: Collection[str]) -> dict[str, list[str]]:
    """Return, for the rows that are copies of the true records, why.

    Parameters
    ----------
    table, hidden : the accuracy and the privacy table
    balanced : rows whose noise was taken out, which may come nearer to the sample than chance
    """
    everything = table[table["cells"] == "all"]
    records = int(everything["records"].iloc[0])
    found: dict[str, list[str]] = {}
    for line in hidden.to_dict("records"):
        if line["nearest"] - 1 / max(records, 1) > COPIED:
            found.setdefault(_name(line), []).append(
                f"copies people: {line['nearest']:.1%} of its records are nearest to the very record they "
                f"were drawn from (by chance one of {records:,})"
            )
    ratio = f"{RATIO}mean_abs"
    for line in everything.to_dict("records"):
        if line["variant"] and _name(line) not in balanced and line[ratio] < REPEATED:
            found.setdefault(_name(line), []).append(
                f"copies the sample: its crosstab is {line[ratio]:.2f} times as far from the records' as a "
                "resample's, nearer than chance lets other people's be"
            )
    return found


def _name(line: Mapping[Hashable, Any]) -> str:
    return f"{line['model']}/{line['variant']}"


def shortfalls(histories: Mapping[str, pd.DataFrame]) -> dict[str, list[str]]:
    """Return, for the models whose fit did not arrive, what it says about it.

    Parameters
    ----------
    histories : model -> history of its fit, with the sentence among its ``attrs``
    """
    said = {name: history.attrs.get("shortfall") for name, history in histories.items()}
    return {name: [sentence] for name, sentence in said.items() if sentence}


def lines(warnings: Mapping[str, Sequence[str]]) -> list[str]:
    """Return warnings for people, a line each."""
    return [f"{name}: {sentence}" for name, sentences in warnings.items() for sentence in sentences]


def of_model(model: str, warnings: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    """Return those about a model or its rows."""
    return {name: said for name, said in warnings.items() if name.partition("/")[0] == model}
