"""What must be said of a run aloud: copies of true records, fits that did not arrive, too few records."""

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

MOST = 0.5
"""A table is a copy if so much of it equals true records that are like no other."""

FEWEST = 100
"""Of fewer records no table is fit to leave the house. Of 38 questions of the embedded sample the stationary
model without a prior repeats true records that are like no other in all of 20 synthetic records, in 90 % of
50, 59 % of 100, 29 % of 200 and 12 % of 500."""

EVERY = "every table"
"""Stands for all rows and models."""


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


def twins(attacked: pd.DataFrame) -> dict[str, list[str]]:
    """Return, for the rows of which most records are true ones again, that they are.

    Parameters
    ----------
    attacked : the table of attacks
    """
    exact = attacked[(attacked["measure"] == "exact") & (attacked["variant"] != "")]
    return {
        _name(line): [
            f"copies people: {line['value']:.0%} of its records equal a true record that is like no other"
        ]
        for line in exact.to_dict("records")
        if line["value"] > MOST
    }


def too_few(records: int, attacked: pd.DataFrame) -> dict[str, list[str]]:
    """Return what is to be said of all tables where there are too few records to make or to judge them.

    Parameters
    ----------
    records : number of true records
    attacked : the table of attacks
    """
    said = []
    if records < FEWEST:
        said.append(
            f"made of fewer than {FEWEST} records ({records:,}): such a table mostly repeats the people in "
            "it. Do not publish it"
        )
    of_people = attacked[(attacked["measure"] == "closer_to_train") & (attacked["variant"] != "")]
    if len(of_people) and of_people["value"].isna().all():
        said.append(
            "what attacks find was not measured, for want of records held out; nobody knows what it tells of "
            "the people in it"
        )
    return {EVERY: said} if said else {}


def merged(*parts: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return the warnings of several kinds together, those of all tables first."""
    names = dict.fromkeys([EVERY, *(name for part in parts for name in part)])
    found = {name: [sentence for part in parts for sentence in part.get(name, ())] for name in names}
    return {name: said for name, said in found.items() if said}


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
    """Return those about a model or its rows, and about all."""
    return {name: said for name, said in warnings.items() if name.partition("/")[0] in (model, EVERY)}
