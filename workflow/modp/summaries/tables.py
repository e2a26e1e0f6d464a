"""Tables, metrics and plot data made of the measures of a run's rows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from modp.crosstabs.triples import FEWEST, MOST
from modp.measures.accuracy import Summary, summarise
from modp.measures.crowds import effective_multiplicity
from modp.measures.mixing import RARE, summary
from modp.survey.codebook import Codebook

BOUNDED = ["value", "low", "high"]
FORMS = {1: ".3f", 100: ".2f"}
"""How a measure of an attack is written, and one in percent."""

LIMITS = ("_low", "_high")
"""Endings of the names of metrics that are ends of another one's interval."""

MEASURES = ("median", "mean_abs", "rms")
DIGITS = 6


@dataclass(frozen=True)
class Row:
    """What is known of one row of the accuracy table.

    ``log_ratios`` has one entry a cell i <= j; ``zero_records`` counts the synthetic records that
    hold a structural zero; ``entropy_bits`` is the records' median, None for the bootstrap;
    ``three_way`` summarises the three-way crosstabs.
    """

    model: str
    variant: str
    log_ratios: np.ndarray
    records: int
    zero_records: int
    entropy_bits: float | None
    three_way: Summary


def accuracy_table(rows: Sequence[Row], cell_sets: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """Return the accuracy of every row over every set of cells, with ratios to the first row.

    Parameters
    ----------
    rows : the bootstrap first
    cell_sets : name -> mask over the cells, as :func:`modp.measures.accuracy.cell_sets` returns
    """
    lines = []
    for cells, mask in cell_sets.items():
        ideal = summarise(rows[0].log_ratios[mask])
        for row in rows:
            found = summarise(row.log_ratios[mask])
            lines.append(
                {
                    "model": row.model,
                    "variant": row.variant,
                    "cells": cells,
                    "n_cells": found.cells,
                    **_measures(found, ideal),
                    "records": row.records,
                    "zero_records": row.zero_records,
                    "entropy_bits": row.entropy_bits,
                }
            )
    table = pd.DataFrame(lines)
    return table.astype({"entropy_bits": float, "records": int, "zero_records": int})


def three_way_table(rows: Sequence[Row]) -> pd.DataFrame:
    """Return the accuracy of every row's three-way crosstabs, with ratios to the first row."""
    lines = [
        {
            "model": row.model,
            "variant": row.variant,
            "n_cells": row.three_way.cells,
            **_measures(row.three_way, rows[0].three_way),
        }
        for row in rows
    ]
    return pd.DataFrame(lines)


def _measures(found: Summary, ideal: Summary) -> dict[str, float]:
    """The measures, and their ratios to the ideal's."""
    measures, ideals = ({m: getattr(summary, m) for m in MEASURES} for summary in (found, ideal))
    ratios = {f"ratio_{m}": measures[m] / ideals[m] if ideals[m] > 0 else np.nan for m in MEASURES}
    return measures | ratios


def metrics(
    table: pd.DataFrame, three_way: pd.DataFrame, hidden: pd.DataFrame, attacked: pd.DataFrame
) -> dict[str, Any]:
    """Return the tables as nested numbers: accuracy.<model>.<variant>.<measure>, privacy. … as well.

    Measures of the cells between questions end in ``_between``; ratios are over all cells.

    Parameters
    ----------
    table, three_way, hidden, attacked : as :func:`accuracy_table`, :func:`three_way_table`,
        :func:`privacy_table` and :func:`attacks_table` return them
    """
    accuracy: dict[str, Any] = {}
    privacy: dict[str, Any] = {}
    for line in hidden.to_dict("records"):
        place = _place(privacy, line)
        place |= {m: _number(line[m]) for m in ("entropy_bits", "nearest", "within_10", "median_rank")}
    for line in attacked.to_dict("records"):
        if line["measure"] in HEADLINE:
            place = _place(privacy, line)
            name = "_".join(filter(None, (HEADLINE[line["measure"]], line["question"])))
            place[name] = _number(line["value"])
            place |= {f"{name}{end}": _number(line[end.removeprefix("_")]) for end in LIMITS}
    for line in table.to_dict("records"):
        place = _place(accuracy, line)
        suffix = "" if line["cells"] == "all" else f"_{line['cells']}"
        for measure in MEASURES:
            place[measure + suffix] = _number(line[measure])
        if line["cells"] == "all":
            if line["variant"]:
                place |= {f"ratio_{m}": _number(line[f"ratio_{m}"]) for m in MEASURES}
            place["records"] = line["records"]
            place["zero_records"] = line["zero_records"]
    for line in three_way.to_dict("records"):
        place = _place(accuracy, line)
        place["median_three_way"] = _number(line["median"])
        if line["variant"]:
            place["ratio_median_three_way"] = _number(line["ratio_median"])
    return {"accuracy": accuracy, "privacy": privacy}


def _place(tree: dict[str, Any], line: Mapping[str, Any]) -> dict[str, Any]:
    place = tree.setdefault(line["model"], {})
    return place.setdefault(line["variant"], {}) if line["variant"] else place


def _number(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), DIGITS)


HEADLINE = {
    "closer_to_train": "closer_to_train",
    "exact_train": "exact_train",
    "exact_holdout": "exact_holdout",
    "distance_auc": "membership_auc",
    "distance_tpr": "membership_tpr",
    "likelihood_auc": "likelihood_auc",
    "likelihood_tpr": "likelihood_tpr",
    "attribute_leak": "attribute_leak",
}
"""The measures of attacks that go into metrics.json, and their names there."""

CELL_NAMES = {
    "all": "all cells i ≤ j, those inside a question included (as in the paper)",
    "between": "cells of two different questions",
}

ZEROS = {"sample": "no true record holds", "stated": "the question set calls impossible"}
"""Which pairs of answers are structural zeros, by the parameter ``zeros``."""


def accuracy_notes(zeros: str) -> list[str]:
    """Return what the accuracy table's numbers are; ``zeros`` is the parameter."""
    return [
        "d = |ln((C_syn + 1) / (C_true + 1))|, synthetic counts scaled to the number of true records; "
        "× is the ratio to the bootstrap resample, the ideal",
        f"zeros: synthetic records that hold a pair of answers {ZEROS[zeros]}; bits: median entropy a record",
    ]


THREE_WAY_NOTES = (
    f"cells of three questions with at least {FEWEST} true records; of all triples of questions or, "
    f"where there are more, of {MOST:,} chosen at random, the same for every row",
    "d as in the accuracy table; × is the ratio to the bootstrap resample, the ideal",
)


@dataclass(frozen=True)
class Printed:
    """A table for people: a caption, headers, and rows of text; the first ``words`` columns are words."""

    caption: str
    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: int

    def markdown(self) -> str:
        """Return the table as Markdown under its caption."""
        rule = ["---" if c < self.words else "--:" for c in range(len(self.headers))]
        lines = [self.headers, rule, *self.rows]
        body = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        return f"## {self.caption}\n\n{body}\n"

    def latex(self) -> str:
        """Return the table as LaTeX, to be set with the package booktabs."""
        columns = "l" * self.words + "r" * (len(self.headers) - self.words)
        lines = [" & ".join(_latex_text(cell) for cell in line) + r" \\" for line in self.rows]
        head = " & ".join(_latex_text(cell) for cell in self.headers) + r" \\"
        return "\n".join(
            [
                r"\begin{table}",
                rf"\caption{{{_latex_text(self.caption)}}}",
                rf"\begin{{tabular}}{{@{{}}{columns}@{{}}}}",
                r"\toprule",
                head,
                r"\midrule",
                *lines,
                r"\bottomrule",
                r"\end{tabular}",
                r"\end{table}",
                "",
            ]
        )


LATEX = {
    **{c: "\\" + c for c in "&%$#_{}"},
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"×": r"$\times$", "≤": r"$\le$", "−": "$-$", "–": "--"},
}


def _latex_text(text: str) -> str:
    return "".join(LATEX.get(c, c) for c in text)


def row_names(table: pd.DataFrame) -> pd.Series:
    """Return ``bootstrap`` or ``model/variant`` for each line of a table."""
    return table["model"].str.cat(table["variant"], sep="/").str.rstrip("/")


def with_published(table: pd.DataFrame, published: Mapping[str, Sequence[float]]) -> pd.DataFrame:
    """Return the accuracy table with the paper's median, mean and r.m.s. of the same rows, over all cells.

    Parameters
    ----------
    published : row (``bootstrap``, or ``model/variant``) -> three numbers
    """
    names = row_names(table).where(table["cells"] == "all")
    columns = {
        f"published_{m}": names.map({row: values[k] for row, values in published.items()})
        for k, m in enumerate(MEASURES)
    }
    return table.assign(**columns)


def printed_accuracy(table: pd.DataFrame) -> list[Printed]:
    """Return the accuracy table for people, one part for each set of cells."""
    parts = []
    for cells, part in table.groupby("cells", sort=False):
        published = "published_median" in part and part["published_median"].notna().any()
        headers = ["model", "variant", "median", "×", "mean", "×", "r.m.s.", "×", "records", "zeros", "bits"]
        headers += ["paper: median", "mean", "r.m.s."] if published else []
        rows = []
        for line in part.to_dict("records"):
            row = [line["model"], line["variant"]]
            for measure in MEASURES:
                row += [f"{line[measure]:.3f}", f"{line[f'ratio_{measure}']:.2f}"]
            row += [f"{line['records']:,}", f"{line['zero_records']:,}", shown(line["entropy_bits"], ".1f")]
            row += [shown(line[f"published_{m}"], ".3f") for m in MEASURES] if published else []
            rows.append(row)
        caption = f"d over {part['n_cells'].iloc[0]:,} cells: {CELL_NAMES[str(cells)]}"
        parts.append(Printed(caption, headers, rows, 2))
    return parts


def printed_three_way(table: pd.DataFrame) -> Printed:
    """Return the accuracy of three-way crosstabs for people."""
    rows = [
        [
            line["model"],
            line["variant"],
            *(t for m in MEASURES for t in (shown(line[m], ".3f"), shown(line[f"ratio_{m}"], ".2f"))),
        ]
        for line in table.to_dict("records")
    ]
    headers = ["model", "variant", "median", "×", "mean", "×", "r.m.s.", "×"]
    return Printed(f"d over {table['n_cells'].iloc[0]:,} cells of three questions", headers, rows, 2)


def shown(value: float, form: str) -> str:
    """Write a number in this format; nothing if it is not defined."""
    return "" if np.isnan(value) else f"{value:{form}}"


def shown_share(share: float, cases: int) -> str:
    """Write a share of so many cases in percent, ± one standard error; nothing if there are none."""
    if not cases:
        return ""
    return f"{100 * share:.2f} ± {100 * np.sqrt(share * (1 - share) / cases):.2f} %"


def bounded(numbers: Iterable[float], form: str, unit: str = "", to: str = "–") -> str:
    """Write a number and its two bounds in this format, the unit after the number."""
    value, low, high = (f"{number:{form}}" for number in numbers)
    return f"{value}{unit} ({low}{to}{high})"


def questions_table(codebook: Codebook) -> pd.DataFrame:
    """Return the data set's questions (the paper's Table 1 and its supplement's twin)."""
    return pd.DataFrame(
        {
            "question": [q.name for q in codebook.questions],
            "description": [q.label for q in codebook.questions],
            "categories": codebook.sizes,
            "merged": [q.made == "merged" for q in codebook.questions],
            "deciles": [q.made == "deciles" for q in codebook.questions],
        }
    )


def printed_questions(table: pd.DataFrame) -> Printed:
    """Return the questions for people."""
    rows = [
        [
            line["question"],
            line["description"],
            "merged" if line["merged"] else "deciles" if line["deciles"] else "",
            str(line["categories"]),
        ]
        for line in table.to_dict("records")
    ]
    caption = f"Questions: {len(table)}, categories: {table['categories'].sum()}"
    return Printed(caption, ["question", "description", "made", "categories"], rows, 3)


def answers_by_blade(
    codes: np.ndarray, codebook: Codebook, gates: np.ndarray, names: Sequence[str]
) -> pd.DataFrame:
    """Return how the records that a blade takes answer (the paper's Tables 3 and 4).

    A record belongs to the blade with the largest weight.

    Parameters
    ----------
    codes : shape (n, Q)
    gates : shape (n, B)
    names : the questions wanted; those that the codebook lacks are passed over

    Returns
    -------
    one line a question, blade and category: the blade's ``records`` and the ``percent`` of them that
    give the answer, NaN where the blade has none
    """
    top = gates.argmax(axis=1)
    lines = []
    for q, question in enumerate(codebook.questions):
        if question.name not in names:
            continue
        for blade in range(gates.shape[1]):
            counts = np.bincount(codes[top == blade, q], minlength=len(question.categories))
            total = counts.sum()
            for category, count in zip(question.categories, counts, strict=True):
                lines.append(
                    {
                        "question": question.name,
                        "blade": blade + 1,
                        "records": int(total),
                        "category": category.code,
                        "label": category.label,
                        "percent": 100 * count / total if total else np.nan,
                    }
                )
    columns = ["question", "blade", "records", "category", "label", "percent"]
    return pd.DataFrame(lines, columns=columns)


def printed_answers(table: pd.DataFrame, model: str) -> list[Printed]:
    """Return the answers by blade for people, one part a question; blades without records left out."""
    parts = []
    for question, part in table.groupby("question", sort=False):
        wide = part.set_index(["blade", "category"])["percent"].unstack()  # noqa: PD010
        wide = wide[list(dict.fromkeys(part["category"]))].dropna()
        taken = part.groupby("blade")["records"].first()
        rows = [
            [str(blade), f"{taken[blade]:,}", *(f"{value:.0f}" for value in row)]
            for blade, row in zip(wide.index, wide.to_numpy(), strict=True)
        ]
        headers = ["blade", "records", *map(str, wide.columns)]
        parts.append(Printed(f"{question} answers by blade of {model} (percents)", headers, rows, 1))
    return parts


def privacy_table(rows: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return what each row's records hide in.

    Parameters
    ----------
    rows : ``model/variant`` -> one line a synthetic record, with entropy_bits, multiplicity,
        causal_rank and causal_rank_backwards (blank for those that were not ranked)
    """
    lines = []
    for name, found in rows.items():
        ranks, backwards = (
            found[column].dropna().to_numpy(float) for column in ("causal_rank", "causal_rank_backwards")
        )
        model, _, variant = name.partition("/")
        known = len(ranks) > 0
        effective = effective_multiplicity(
            found["multiplicity"].to_numpy(float), found["entropy_bits"].to_numpy(float)
        )
        lines.append(
            {
                "model": model,
                "variant": variant,
                "records": len(found),
                "entropy_bits": found["entropy_bits"].median(),
                "log10_effective_multiplicity": float(np.median(effective)) if known else np.nan,
                "ranked": len(ranks),
                "nearest": float(np.mean(ranks <= 1)) if known else np.nan,
                "within_10": float(np.mean(ranks <= 10)) if known else np.nan,
                "median_rank": float(np.median(ranks)) if known else np.nan,
                "within_10_backwards": float(np.mean(backwards <= 10)) if known else np.nan,
            }
        )
    return pd.DataFrame(lines)


def mixing_table(traces: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return how fast each stationary model's chains forget, a line a model and question."""
    parts = [summary(traced).assign(model=name) for name, traced in traces.items()]
    columns = ["model", "question", "changed", "kept", "forgotten", "rare_in", "rare_out"]
    return pd.concat(parts)[columns] if parts else pd.DataFrame(columns=columns)


MIXING_NOTES = (
    "changed: share of answers that one sweep changes; kept: autocorrelation with the true record after "
    "the last sweep followed; forgotten: the sweep from which on it is below 0.1",
    f"rare in, rare out: share of records that a sweep takes into, or out of, categories below {RARE:.0%}",
    "a question that is not forgotten is held by structural zeros: where no chain of allowed changes leads "
    "from one answer to another, as from child to adult, a record keeps its side for ever",
)


def printed_mixing(table: pd.DataFrame) -> list[Printed]:
    """Return the speed of forgetting for people, a part a model, the slowest question first."""
    headers = ["question", "changed", "kept", "forgotten", "rare in", "rare out"]
    parts = []
    for model, part in table.groupby("model", sort=False):
        rows = [
            [
                line["question"],
                f"{line['changed']:.1%}",
                shown(line["kept"], ".3f"),
                shown(line["forgotten"], ".0f") or "not",
                shown(line["rare_in"], ".2%"),
                shown(line["rare_out"], ".1%"),
            ]
            for line in part.to_dict("records")
        ]
        parts.append(Printed(f"Chains of {model}", headers, rows, 1))
    return parts


PRIVACY_NOTES = (
    "effective multiplicity: identical true records times 2^bits; median",
    "nearest, within 10: how often at most 1, or 10, true records are as close to a synthetic record as "
    "the true record that it was drawn from (Hamming distance; that one counted), ± one standard error",
    "within 10 backwards: the same the other way round, how often at most 10 synthetic records are as close "
    "to the true record as the one drawn from it",
    "none of this is a guarantee",
)


def printed_privacy(table: pd.DataFrame) -> Printed:
    """Return the privacy table for people."""
    rows = []
    for line in table.to_dict("records"):
        effective = line["log10_effective_multiplicity"]
        rows.append(
            [
                line["model"],
                line["variant"],
                shown(line["entropy_bits"], ".1f"),
                "" if np.isnan(effective) else f"10^{effective:.1f}",
                *(
                    shown_share(line[n], line["ranked"])
                    for n in ("nearest", "within_10", "within_10_backwards")
                ),
                shown(line["median_rank"], ",.0f"),
            ]
        )
    headers = ["model", "variant", "bits", "effective multiplicity", "nearest", "within 10"]
    headers += ["within 10 backwards", "median rank"]
    return Printed("Causal partners", headers, rows, 2)


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
    return pd.concat(parts)[["model", "variant", "measure", "question", "value", "low", "high"]]


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
    "record, or, knowing the model's weights instead of the table, by the likelihood of their answers under "
    "the model's predictions over that under independent answers; AUC 0.5 and 1 % found are no leak",
    "guesses: an answer is guessed by the synthetic records that share most of the others; what train "
    "records are guessed better than holdout ones is the leak. without: train records guessed from the "
    "holdout instead",
    "none of this is a guarantee: a cleverer attacker may find more",
)


def printed_attacks(table: pd.DataFrame) -> list[Printed]:
    """Return the attacks for people: copies, membership, and guesses of each question."""
    parts = [
        (
            "Copies and nearest records",
            "",
            {
                "exact: all of train": ("exact", 100),
                "exact: train": ("exact_train", 100),
                "exact: holdout": ("exact_holdout", 100),
                "closer to train": ("closer_to_train", 100),
                "distance: train": ("distance_train", 1),
                "distance: holdout": ("distance_holdout", 1),
                "nearest : second, train": ("ratio_train", 1),
                "nearest : second, holdout": ("ratio_holdout", 1),
            },
        ),
        (
            "Membership",
            "",
            {
                "distance: AUC": ("distance_auc", 1),
                "distance: found at 1 % false alarms": ("distance_tpr", 100),
                "likelihood: AUC": ("likelihood_auc", 1),
                "likelihood: found at 1 % false alarms": ("likelihood_tpr", 100),
            },
        ),
    ]
    guesses = {
        "train": ("attribute_members", 100),
        "holdout": ("attribute_others", 100),
        "leak": ("attribute_leak", 100),
        "train, without": ("attribute_without", 100),
        "commonest answer": ("attribute_majority", 100),
    }
    questions = [question for question in table["question"].unique() if question]
    parts += [(f"Guesses of {question}", question, guesses) for question in questions]
    return [_printed_measures(table[table["question"] == q], caption, m) for caption, q, m in parts]


ANONYMETER = {
    "singling_out": "singling out",
    "linkability": "linkability",
    "inference": "inference",
}
"""The risks that Anonymeter measures."""

ANONYMETER_NOTES = (
    "Anonymeter's risks: by how much more often an attack succeeds on train records than on the holdout, as "
    "a share of what it could; singling out by four questions, linking two halves of the questions, "
    "inferring the attacked question from all others; 500 attacks each, or as many as the holdout allows. "
    "Singled out are records among as many of train, at random, as there are in the holdout, so where the "
    "holdout is smaller, the risk of bootstrap is smaller too",
)


def anonymeter_table(rows: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """Return Anonymeter's risks in the lines of :func:`attacks_table`.

    Parameters
    ----------
    rows : ``bootstrap``, ``marginals`` or ``model/variant`` -> risk -> risk, low, high
    """
    found = {}
    for row, risks in rows.items():
        lines = [
            (name, "", risks[name]["risk"], risks[name]["low"], risks[name]["high"]) for name in ANONYMETER
        ]
        found[row] = pd.DataFrame(lines, columns=["measure", "question", "value", "low", "high"])
    return attacks_table(found)


def printed_anonymeter(table: pd.DataFrame) -> Printed:
    """Return Anonymeter's risks for people."""
    measures = {header: (name, 100) for name, header in ANONYMETER.items()}
    return _printed_measures(table, "Anonymeter", measures)


def _printed_measures(table: pd.DataFrame, caption: str, measures: Mapping[str, tuple[str, int]]) -> Printed:
    """One line a row of the run; ``measures`` is header -> measure, and 100 to show it in percent."""
    rows = []
    for (model, variant), part in table.groupby(["model", "variant"], sort=False):
        found = part.set_index("measure")
        cells = [
            _attacked(found.loc[name], scale) if name in found.index else ""
            for name, scale in measures.values()
        ]
        rows.append([str(model), str(variant), *cells])
    return Printed(caption, ["model", "variant", *measures], rows, 2)


def _attacked(line: pd.Series, scale: int) -> str:
    if np.isnan(line["value"]):
        return ""
    unit = " %" if scale == 100 else ""
    return bounded(scale * line[BOUNDED], FORMS[scale], unit).replace("-", "−")


def document(heading: str, facts: Mapping[str, str], notes: Sequence[str], parts: Sequence[Printed]) -> str:
    """Return a Markdown page: heading, facts, notes, tables."""
    lines = [f"# {heading}", "", *(f"- {key}: {value}" for key, value in facts.items())]
    lines += [f"- {note}" for note in notes]
    return "\n".join(lines) + "\n\n" + "\n".join(part.markdown() for part in parts)


def headline(metrics_tree: Mapping[str, Any]) -> list[str]:
    """Return a few lines that say how close each row came, for the end of a run."""
    lines = [f"{'median |ln ratio|, all cells':<38}{'d':>7}{'× ideal':>9}"]
    for model, content in metrics_tree["accuracy"].items():
        variants = {"": content} if "median" in content else content
        for variant, measured in variants.items():
            name = f"{model}/{variant}" if variant else f"{model} (the ideal)"
            d, ratio = measured["median"], measured["ratio_median"] if variant else 1.0
            lines.append(
                f"  {name:<36}{'n/a' if d is None else f'{d:.3f}':>7}"
                f"{'n/a' if ratio is None else f'{ratio:.2f}':>9}"
            )
    return lines
