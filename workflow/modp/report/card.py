"""The card of a model: what it was made of, how good and how private it is, what it is for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import yaml

from modp.models.family import Family
from modp.report.templates import template
from modp.summaries.tables import (
    BOUNDED,
    FORMS,
    LIMITS,
    MEASURES,
    ZEROS,
    Printed,
    bounded,
    printed_privacy,
    row_names,
    shown,
    shown_share,
)
from modp.survey.codebook import Codebook

TREATMENTS = {
    "pass_through": "each true answer kept with probability {}",
    "threshold": "where a record's loss is above this quantile, its next instance taken: {}",
    "remove_zeros": "records that hold a structural zero removed",
    "protect": "records whose effective multiplicity is below {} removed",
    "swap": "answers exchanged between records where the crosstab gains: {}",
    "sweeps": "sweeps from the true records, question by question: {}",
    "start": "the sweeps start from: {}",
}
QUIET = ("model", "name", "instances")
PLAIN = {"start": "records"}


@dataclass(frozen=True)
class Run:
    """What a card is written from.

    ``sources`` holds file, source and sha256 of each source file; ``zeros`` is the parameter; ``table``,
    ``hidden`` and ``three_way`` are the tables of accuracy, privacy and three-way crosstabs of all rows.
    """

    title: str
    codebook: Codebook
    sources: Sequence[Mapping[str, Any]]
    seed: int
    zeros: str
    table: pd.DataFrame
    hidden: pd.DataFrame
    three_way: pd.DataFrame
    metrics: Mapping[str, Any]


def card(
    name: str,
    family: Family,
    parameters: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    run: Run,
    guaranteed: Sequence[str] = (),
) -> str:
    """Return one model's card as Markdown, the same text for the same run.

    Parameters
    ----------
    name : the model
    parameters : what params.yaml says of the model
    rows : what params.yaml says of each row of the accuracy table that is drawn from it
    guaranteed : sentences on what is guaranteed
    """
    hidden = run.hidden[run.hidden["model"] == name]
    return template("card.md.j2").render(
        name=name,
        title=run.title,
        seed=run.seed,
        sources=run.sources,
        codebook=run.codebook,
        records=int(run.table["records"].iloc[0]),
        method=family.method.format(**parameters, zeros=ZEROS[run.zeros]),
        zeros=ZEROS[run.zeros],
        parameters=yaml.safe_dump(_said(parameters), sort_keys=False, allow_unicode=True),
        rows=[(row["name"], treatment(row)) for row in rows],
        accuracy=accuracy(run.table, run.three_way, name),
        privacy=printed_privacy(hidden) if len(hidden) else None,
        other_measures=other_measures(run.metrics, name),
        guaranteed=guaranteed,
    )


SENTENCES = (
    (
        "exact_train",
        100,
        "{} % of the synthetic records equal a true record that nobody else shares; of as many records held "
        "out it is {other} %, which is chance.",
    ),
    (
        "closer_to_train",
        100,
        "{} % of the synthetic records are closer to a record that the model saw than to one it did not. "
        "50 % is no leak.",
    ),
    (
        "distance_auc",
        1,
        "Somebody with the table who must tell which of two people was in the data is right with probability "
        "{}. 0.5 is a coin.",
    ),
    (
        "distance_tpr",
        100,
        "If he may accuse 1 % of the people who were not in it, he finds {} % of those who were. "
        "1 % is no better than chance.",
    ),
    ("likelihood_auc", 1, "With the model's weights instead of the table he is right with probability {}."),
    ("likelihood_tpr", 100, "Accusing 1 % of the others, he then finds {} %."),
    (
        "attribute_leak",
        100,
        "{question} is guessed right from a person's other answers {} percentage points more often for "
        "people who were in the data. 0 is no leak.",
    ),
)
"""Measure of an attack, 100 if in percent, and what it means."""


def statement(
    name: str, run: Run, attacks: pd.DataFrame, holdout: int, guaranteed: Sequence[str] = ()
) -> str:
    """Return the statement on the privacy of one model's tables as Markdown.

    Parameters
    ----------
    name : the model
    attacks : the table of attacks, as :func:`modp.summaries.tables.attacks_table` returns it
    holdout : number of records held out
    guaranteed : sentences on what is guaranteed
    """
    own = attacks[attacks["model"] == name]
    hidden = run.hidden.set_index(row_names(run.hidden))
    rows = [
        (f"{name}/{variant}", [*_of_ranks(hidden.loc[f"{name}/{variant}"]), *_of_attacks(part)])
        for variant, part in own.groupby("variant", sort=False)
    ]
    return template("privacy.md.j2").render(
        name=name,
        title=run.title,
        seed=run.seed,
        train=int(run.table["records"].iloc[0]),
        holdout=holdout,
        rows=rows,
        guaranteed=guaranteed,
    )


def _of_ranks(line: pd.Series) -> list[str]:
    if not line["ranked"]:
        return ["No synthetic record was drawn from a true one, so there is no causal partner to be found."]
    return [
        "The true record that a synthetic one was drawn from is among its ten nearest in "
        f"{shown_share(line['within_10'], line['ranked'])} of {line['ranked']:,} cases (one standard error)."
    ]


def _of_attacks(part: pd.DataFrame) -> list[str]:
    holdout = part[part["measure"] == "exact_holdout"]
    other = _bounded(holdout.iloc[0], 100) if len(holdout) else ""
    sentences = []
    for measure, scale, words in SENTENCES:
        for _, line in part[part["measure"] == measure].iterrows():
            if not np.isnan(line["value"]):
                sentences.append(words.format(_bounded(line, scale), other=other, question=line["question"]))
    return sentences


def _bounded(line: pd.Series, scale: int) -> str:
    return bounded(scale * line[BOUNDED], FORMS[scale], to=" to ")


def _said(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters without those that are not set."""
    said = {k: v for k, v in parameters.items() if v is not None and v != [] and k != "family"}
    return said | {"stages": [_said(stage) for stage in said["stages"]]} if "stages" in said else said


def treatment(row: Mapping[str, Any]) -> str:
    """Return in words how a row's table was made from its model.

    A treatment that has no words yet is written as params.yaml has it.
    """
    parts = []
    for key, value in row.items():
        if key in QUIET or value in (None, False, 0) or PLAIN.get(key) == value:
            continue
        said = ", ".join(f"{k} {v}" for k, v in value.items() if v is not None) if key == "swap" else value
        parts.append(TREATMENTS.get(key, f"{key}: {{}}").format(said))
    return "; ".join(parts) or "drawn from the predictions, no treatment"


def accuracy(table: pd.DataFrame, three_way: pd.DataFrame, model: str) -> Printed:
    """Return the accuracy of the bootstrap and of the model's rows, over all cells.

    The last columns are of three-way crosstabs.
    """
    part = table[table["cells"] == "all"].merge(
        three_way[["model", "variant", "median", "ratio_median"]],
        on=["model", "variant"],
        suffixes=("", "_triples"),
    )
    part = part[part["model"].isin([table["model"].iloc[0], model])]
    lines = []
    for name, line in zip(row_names(part), part.to_dict("records"), strict=True):
        numbers = [(line[m], line[f"ratio_{m}"]) for m in MEASURES]
        numbers.append((line["median_triples"], line["ratio_median_triples"]))
        texts = [text for d, ratio in numbers for text in (shown(d, ".3f"), shown(ratio, ".2f"))]
        lines.append([name, *texts, f"{line['records']:,}", f"{line['zero_records']:,}"])
    headers = ["row", "median", "×", "mean", "×", "r.m.s.", "×", "three-way median", "×", "records", "zeros"]
    return Printed(f"d over {part['n_cells'].iloc[0]:,} cells", headers, lines, 1)


def other_measures(metrics: Mapping[str, Any], model: str) -> dict[str, str]:
    """Return variant -> what metrics.json says of privacy beyond the privacy table, with its bounds."""
    known = ("entropy_bits", "nearest", "within_10", "median_rank")
    texts = {}
    for variant, measures in metrics["privacy"].get(model, {}).items():
        numbers = [name for name, value in measures.items() if isinstance(value, int | float)]
        others = [n for n in numbers if n not in known and not n.endswith(LIMITS)]
        if others:
            texts[variant] = ", ".join(f"{name} {_number(name, measures)}" for name in others)
    return texts


def _number(name: str, measures: Mapping[str, Any]) -> str:
    numbers = [measures.get(f"{name}{end}") for end in ("", *LIMITS)]
    return f"{numbers[0]:.4g}" if None in numbers else bounded(numbers, ".4g", to=" to ")
