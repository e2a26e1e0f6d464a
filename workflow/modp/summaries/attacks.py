"""The tables of attacks, and of the risks that Anonymeter finds."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from modp.measures.table import ATTACKS, Measure, measures_of
from modp.summaries.printed import Printed, bounded

BOUNDS = ["value", "low", "high"]

ATTACKS_NOTES = (
    "in brackets: 95 % intervals",
    "train: the records that the models learnt from; holdout: records that they never saw, what a release "
    "says of those it would say of anybody; of train as many at random as there are in the holdout, but "
    "for the first column",
    "bootstrap and marginals are the two ends: true records handed out, and records of independent answers",
    "exact: synthetic records equal to a record that is unique there",
    "closer to train: synthetic records nearer (number of differing answers, ties ½) to a train record than "
    "to one of the holdout; 50 % is no leak. distance: to the nearest record, mean; nearest : second: mean "
    "ratio of the distances to the nearest and the second nearest record; intervals are from random quarters "
    "of synthetic, train and holdout records, without regard to households",
    "membership: an attacker tells train from holdout records by their distance to the nearest synthetic "
    "record; by how much denser synthetic records lie around them than the records of a reference sample, "
    "for which one half of the holdout serves while the other is attacked; or, knowing the model's weights "
    "instead of the table, by the likelihood of their answers under the model's predictions over that under "
    "independent answers; AUC 0.5 and 1 % found are no leak",
    "the 1 % most exposed: of members and as many others together, those whom an attack suspects most; 50 % "
    "members are no leak",
    "guesses: an answer is guessed by the synthetic records that share most of the others; what train "
    "records are guessed better than holdout ones is the leak. without: train records guessed from the "
    "holdout instead. reconstructed: whether the answer is in the upper half (of deciles), or else the "
    "commonest, is solved for all of train by least squares from the synthetic crosstabs of the question "
    "with one and two others; holdout: the same with some of train replaced by the holdout",
    "none of this is a guarantee: a cleverer attacker may find more",
)


ANONYMETER_NOTES = (
    "Anonymeter's risks: by how much more often an attack succeeds on train records than on the holdout, as "
    "a share of what it could; singling out by four questions, linking two halves of the questions, "
    "inferring the attacked question from all others; 500 attacks each, or as many as the holdout allows. "
    "Singled out are records among as many of train, at random, as there are in the holdout, so where the "
    "holdout is smaller, the risk of bootstrap is smaller too",
)


def attacks_table(rows: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return what attacks on each row found, a line a row, measure and, where one is guessed, question.

    Parameters
    ----------
    rows : ``bootstrap``, ``marginals`` or ``model/variant`` -> lines with measure, question, value, low, high
    """
    parts = []
    for name, found in rows.items():
        model, _, variant = name.partition("/")
        parts.append(found.assign(model=model, variant=variant))
    return pd.concat(parts)[["model", "variant", "measure", "question", *BOUNDS]]


def anonymeter_table(rows: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """Return Anonymeter's risks in the lines of :func:`attacks_table`.

    Parameters
    ----------
    rows : ``bootstrap``, ``marginals`` or ``model/variant`` -> risk -> risk, low, high
    """
    found = {}
    for row, risks in rows.items():
        lines = [
            (m.key, "", *(risks[m.key][number] for number in ("risk", "low", "high")))
            for m in measures_of("anonymeter")
        ]
        found[row] = pd.DataFrame(lines, columns=["measure", "question", *BOUNDS])
    return attacks_table(found)


def printed_attacks(table: pd.DataFrame) -> list[Printed]:
    """Return the attacks for people: copies, membership, and guesses of each question."""
    questions = [question for question in table["question"].unique() if question]
    parts = []
    for name, caption in ATTACKS.items():
        for question in questions if name == "guesses" else [""]:
            found = table[table["question"] == question]
            parts.append(_printed(found, caption.format(question=question), measures_of(name)))
    return parts


def printed_anonymeter(table: pd.DataFrame) -> Printed:
    """Return Anonymeter's risks for people."""
    return _printed(table, "Anonymeter", measures_of("anonymeter"))


def _printed(table: pd.DataFrame, caption: str, measures: Sequence[Measure]) -> Printed:
    """One line a row of the run."""
    rows = []
    for (model, variant), part in table.groupby(["model", "variant"], sort=False):
        found = part.set_index("measure")[BOUNDS]
        cells = [_attacked(m, found.loc[m.key]) if m.key in found.index else "" for m in measures]
        rows.append([str(model), str(variant), *cells])
    return Printed(caption, ["model", "variant", *(m.title for m in measures)], rows, 2)


def _attacked(measure: Measure, numbers: pd.Series) -> str:
    return "" if np.isnan(numbers["value"]) else bounded(numbers, measure.form).replace("-", "−")
