"""The card of a model: what it was made of, how good and how private it is, what it is for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import yaml

from modp.measures.table import (
    ATTACKS,
    IN_SAMPLE,
    LIMITS,
    METRIC,
    NEARER,
    NOTEBOOK,
    PAPER_NOTEBOOK,
    Measure,
    measures_of,
)
from modp.models.family import Family
from modp.report.templates import template
from modp.summaries.accuracy import ZEROS, headers_of_d
from modp.summaries.attacks import BOUNDS
from modp.summaries.printed import Printed, bounded, cell, row_names, with_ratios
from modp.summaries.privacy import printed_privacy
from modp.summaries.warnings import lines, of_model
from modp.survey.codebook import Codebook


@dataclass(frozen=True)
class Run:
    """What a card is written from.

    ``sources`` holds file, source and sha256 of each source file; ``zeros`` is the parameter; ``table``,
    ``hidden`` and ``three_way`` are the tables of accuracy, privacy and three-way crosstabs of all rows;
    ``warnings`` what must be said aloud of rows and models.
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
    warnings: Mapping[str, Sequence[str]] = field(default_factory=dict)


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
        warnings=lines(of_model(name, run.warnings)),
        sources=run.sources,
        codebook=run.codebook,
        records=int(run.table["records"].iloc[0]),
        method=method(family, parameters, ZEROS[parameters.get("zeros") or run.zeros]),
        zeros=ZEROS[run.zeros],
        notebook=NOTEBOOK if PAPER_NOTEBOOK in run.metrics else "",
        parameters=yaml.safe_dump(_said(parameters), sort_keys=False, allow_unicode=True),
        rows=[(row["name"], treatment(row, family)) for row in rows],
        population=f"{NEARER}. By contrast, {IN_SAMPLE}",
        accuracy=accuracy(run.table, run.three_way, name),
        privacy=printed_privacy(hidden) if len(hidden) else None,
        other_measures=other_measures(run.metrics, name),
        useful=useful(run.metrics, name),
        guaranteed=guaranteed,
    )


def statement(
    name: str, run: Run, attacks: pd.DataFrame, holdout: int, guaranteed: Sequence[str] = ()
) -> str:
    """Return the statement on the privacy of one model's tables as Markdown.

    Parameters
    ----------
    name : the model
    attacks : the table of attacks, as :func:`modp.summaries.attacks.attacks_table` returns it
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
    facts = line.to_dict()
    return [
        m.sentence.format(value=cell(m, facts), **facts)
        for m in measures_of("privacy")
        if m.sentence and not np.isnan(facts[m.key])
    ]


def _of_attacks(part: pd.DataFrame) -> list[str]:
    known = measures_of(*ATTACKS)
    lines = {m.key: part[part["measure"] == m.key].to_dict("records") for m in known}
    texts = {m.key: _bounded(line, m) for m in known for line in lines[m.key] if not line["question"]}
    return [
        m.sentence.format(value=_bounded(line, m), question=line["question"], **texts)
        for m in known
        if m.sentence
        for line in lines[m.key]
        if not np.isnan(line["value"])
    ]


def _bounded(line: Mapping[str, float], measure: Measure) -> str:
    return bounded((line[bound] for bound in BOUNDS), measure.form, to=" to ", unit=False)


def _said(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters without those that are not set."""
    said = {k: v for k, v in parameters.items() if v is not None and v != [] and k != "family"}
    return said | {"stages": [_said(stage) for stage in said["stages"]]} if "stages" in said else said


WEIGHTED = (
    " It is fitted to counts weighted by the survey weights, scaled to the records' effective number: its "
    "records all stand for as many people, and are to be compared with weighted tables."
)
"""What a model is that is fitted to weighted counts."""


def method(family: Family, parameters: Mapping[str, Any], zeros: str) -> str:
    """Return in words how a model works, of its recipe's parameters and what is a structural zero."""
    said = family.method.format(**{**parameters, "zeros": zeros})
    return said + (WEIGHTED if parameters.get("weighted") else "")


def treatment(row: Mapping[str, Any], family: Family) -> str:
    """Return in words how a row's table was made from its model: what differs from the family's defaults.

    A key for which the family has no words is written as params.yaml has it.
    """
    parts = []
    for key, value in row.items():
        words, known = family.treatments.get(key, f"{key}: {{}}"), family.row.model_fields.get(key)
        if key == "calibrate" and value:
            parts.append(f"weights raked to the true weighted totals of: {', '.join(value)}")
        if key in ("model", "name", "calibrate") or not words or (known and value == known.default):
            continue
        if isinstance(value, Mapping):
            value = ", ".join(f"{k} {v}" for k, v in value.items() if v is not None)
        parts.append(words.format(value))
    return "; ".join(parts) or family.untreated


def accuracy(table: pd.DataFrame, three_way: pd.DataFrame, model: str) -> Printed:
    """Return the accuracy of the bootstrap and of the model's rows, over all cells.

    After the measures of d come those of three-way crosstabs, then, of what the accuracy table prints
    besides, that which the privacy table does not have.
    """
    of_d = measures_of("d")
    triples = [m for m in of_d if m.three_way]
    others = [m for m in measures_of("population", "accuracy") if m.title and "privacy" not in m.tables]
    part = table[(table["cells"] == "all") & table["model"].isin([table["model"].iloc[0], model])]
    three = dict(zip(row_names(three_way), three_way.to_dict("records"), strict=True))
    lines = [
        [
            name,
            *with_ratios(of_d, line),
            *with_ratios(triples, three[name]),
            *(cell(measure, line) for measure in others),
        ]
        for name, line in zip(row_names(part), part.to_dict("records"), strict=True)
    ]
    headers = ["row", *headers_of_d(), *(t for m in triples for t in (f"three-way {m.title}", "×"))]
    headers += [measure.title for measure in others]
    return Printed(f"d over {part['n_cells'].iloc[0]:,} cells", headers, lines, 1)


def other_measures(metrics: Mapping[str, Any], model: str) -> dict[str, str]:
    """Return variant -> what metrics.json says of privacy beyond the privacy table, with its bounds."""
    known = [measure.name for measure in measures_of("privacy")]
    texts = {}
    for variant, measures in metrics["privacy"].get(model, {}).items():
        numbers = [name for name, value in measures.items() if isinstance(value, int | float)]
        others = [n for n in numbers if n not in known and not n.endswith(LIMITS)]
        if others:
            texts[variant] = ", ".join(f"{name} {_number(name, measures)}" for name in others)
    return texts


def useful(metrics: Mapping[str, Any], model: str) -> dict[str, str]:
    """Return variant -> what metrics.json says of utility, by the names of its measures; none of most."""
    known = {m.name: m for m in measures_of("learners", "numbers", "analyses")}
    texts = {}
    for variant, found in metrics.get("utility", {}).get(model, {}).items():
        there = [m for name, m in known.items() if found.get(name) is not None]
        texts[variant] = ", ".join(f"{m.name} {cell(m, found)}" for m in there)
    return texts


def _number(name: str, measures: Mapping[str, Any]) -> str:
    numbers = [measures.get(f"{name}{end}") for end in ("", *LIMITS)]
    known = [number for number in numbers if number is not None]
    whole = len(known) == len(numbers)
    return bounded(known, METRIC, to=" to ") if whole else METRIC.number.format(numbers[0])
