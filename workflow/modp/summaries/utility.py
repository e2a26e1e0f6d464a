"""The tables of utility: what learners, numbers and analyses of a synthetic table are worth."""

from collections.abc import Mapping
from typing import Literal

import numpy as np
import pandas as pd

from modp.measures.ends import HELD_OUT, SAMPLE
from modp.measures.estimates import overlap
from modp.measures.table import ERROR, RATIO, measures_of
from modp.measures.weighted import CERTAINTY
from modp.summaries.printed import Printed, cell, row_names, shown, with_ratios

DROP, SKILL, TAUGHT = "drop", "skill", "tstr"
"""Measures of a column: by how much the AUC falls without it; what is learnt of it, and the share of that."""

SHOWN = 3
"""Columns that are named of those that give a table away."""

SAME = ["analysis", "model", "term"]
"""What an estimate is of."""


COLUMNS = ["records", "estimate", "error", "sample", "sample_error", "held", "held_error", "off", "off_held"]
COLUMNS += ["overlap", "agrees", "said"]
"""What is known of an estimate."""


def utility_table(measured: pd.DataFrame, analyses: pd.DataFrame) -> pd.DataFrame:
    """Return the measures of utility by their keys, a line a row.

    Parameters
    ----------
    measured : as the step ``utility`` writes it
    analyses : as :func:`analyses_table` returns it
    """
    lines = []
    for name, part in measured.groupby("row", sort=False):
        model, _, variant = str(name).partition("/")
        alone = part[part["of"] == ""].set_index("measure")
        shares = part.loc[part["measure"] == TAUGHT, "value"].dropna()
        line = {m.key: alone["value"].get(m.key, np.nan) for m in measures_of("learners", "numbers")}
        line |= {f"{key}{ERROR}": alone["error"][key] for key in ("auc_raw", "auc_classes")}
        line |= {"tstr_median": shares.median(), "tstr_worst": shares.min()}
        line |= _of_analyses(analyses[analyses["row"] == name])
        lines.append({"model": model, "variant": variant, **line})
    table = pd.DataFrame(lines)
    for measure in measures_of("numbers"):
        first = table[measure.key].iloc[0]
        table[f"{RATIO}{measure.key}"] = table[measure.key] / first if first else np.nan
    return table


def _of_analyses(part: pd.DataFrame) -> dict[str, float]:
    """The measures of a row's analyses; an estimate that it lacks overlaps with none, and disagrees."""
    known = part[part["sample_error"] > 0]
    if not len(known):
        return {m.key: np.nan for m in measures_of("analyses")}
    return {
        "analyses_off": float(known["off"].abs().median()),
        "analyses_overlap": float(known["overlap"].fillna(0).mean()),
        "analyses_agree": float(known["agrees"].mean()),
        "analyses_held": float(np.sqrt((known["off_held"] ** 2).mean())),
    }


def analyses_table(estimated: pd.DataFrame) -> pd.DataFrame:
    """Return every estimate beside the true records' and the held-out people's, a line a term and row.

    ``off``: from the true records', in standard errors of that one; ``off_held``: from the held-out people's,
    in those of the difference between them and the true records; ``overlap`` of 95 % intervals; ``agrees``:
    whether both or neither are significant at 5 %, and if so of the same sign.

    Parameters
    ----------
    estimated : as :func:`modp.measures.analyses.estimated` returns it, its tables in the column ``row``
    """
    of = {name: part.set_index(SAME) for name, part in estimated.groupby("row", sort=False)}
    if not of:
        return pd.DataFrame(columns=["row", *SAME, *COLUMNS])
    sample, held = (of[name][["estimate", "error"]].to_numpy(float).T for name in (SAMPLE, HELD_OUT))
    parts = []
    for name, part in of.items():
        if name == HELD_OUT:
            continue
        own = part[["estimate", "error"]].to_numpy(float).T
        with np.errstate(divide="ignore", invalid="ignore"):
            off = (own[0] - sample[0]) / sample[1]
            off_held = (own[0] - held[0]) / np.hypot(sample[1], held[1])
        found = {
            "sample": sample[0],
            "sample_error": sample[1],
            "held": held[0],
            "held_error": held[1],
            "off": off,
            "off_held": off_held,
            "overlap": overlap(sample[0], sample[1], own[0], own[1], CERTAINTY),
            "agrees": _signs(own) == _signs(sample),
        }
        parts.append(part.reset_index().assign(**found))
    return pd.concat(parts, ignore_index=True)[["row", *SAME, *COLUMNS]]


def _signs(found: np.ndarray) -> np.ndarray:
    """The sign of what is significant at 5 %, of estimates and errors (2, m); 0 of the rest, NaN of none."""
    with np.errstate(invalid="ignore"):
        signs = np.sign(found[0]) * (np.abs(found[0]) > CERTAINTY * found[1])
    return np.where(np.isnan(found).any(axis=0), np.nan, signs)


def utility_notes() -> list[str]:
    """Return what the numbers of the table of utility are."""
    return [
        "sample: the true records, measured as a synthetic table is; bootstrap: a resample of them, in which "
        "some come twice, which alone gives it away",
        "AUC: how often boosted trees take the synthetic one of two records for synthetic, the other being "
        "of people held out; five folds, as many records of each, ± one standard error; 0.5: nobody can "
        "tell, and what is below is not cut; of raw values, and of the codes that models work with",
        "taught: what boosted trees trained on the table predict of people held out, as a share of what "
        "those trained on the true records do; skill: the share of the mean guess's squared error (of "
        "classes: Brier's score) that is done without; ± one standard error, over the people held out",
        "correlations: of the ranks of any two columns of numbers, mean and greatest difference from people "
        "held out; slope: of the table's on theirs, whose × is the share of correlation kept; quantiles: .1, "
        ".5 and .9 of a number in groups by one other answer, mean difference, in percent of the people held "
        "out; zeros: their share in such groups; rounded: shares of multiples of 5, 100 and 1,000; × is the "
        "multiple of the true records' own difference",
        "analyses: off: median difference from the true records' estimates, in standard errors of these; "
        "overlap: of 95 % intervals, mean; agree: in sign and significance at 5 %; off held out: r.m.s. "
        "difference from people held out, in standard errors of that of the true records, which have about "
        "1. No estimate knows of survey weights",
    ]


def printed_utility(table: pd.DataFrame, measured: pd.DataFrame) -> list[Printed]:
    """Return the table of utility for people, as far as there is something of each part."""
    parts = [_printed("Learners", "learners", table), *_given_away(measured), *_taught(measured)]
    parts += [_printed("Numbers", "numbers", table, ratios=True), _printed("Analyses", "analyses", table)]
    return [part for part in parts if part.rows]


def _printed(
    caption: str, of: Literal["learners", "numbers", "analyses"], table: pd.DataFrame, ratios: bool = False
) -> Printed:
    """The measures of one kind, of rows that have any."""
    measures = measures_of(of)
    known = table[table[[m.key for m in measures]].notna().any(axis=1)]
    headers = [title for m in measures for title in ((m.title, "×") if ratios else (m.title,))]
    rows = [
        [name, *(with_ratios(measures, line) if ratios else (cell(m, line) for m in measures))]
        for name, line in zip(row_names(known), known.to_dict("records"), strict=True)
    ]
    return Printed(caption, ["row", *headers], rows, 1)


def _given_away(measured: pd.DataFrame) -> list[Printed]:
    """The columns without which a table is told least."""
    drops = measured[measured["measure"] == DROP]
    rows = []
    for name, part in drops.groupby("row", sort=False):
        first = part.sort_values("value", ascending=False, kind="stable")[:SHOWN]
        texts = [f"{of} {value:.3f}" for of, value in zip(first["of"], first["value"], strict=True)]
        rows.append([str(name), *texts, *[""] * (SHOWN - len(texts))])
    headers = ["row", "first", "second", "third"]
    return [
        Printed(
            "What gives it away: the AUC is less by, if a column's answers change places", headers, rows, 4
        )
    ]


def _taught(measured: pd.DataFrame) -> list[Printed]:
    """What is learnt of each answer from the true records, and which share of it from each table."""
    skills = measured[(measured["measure"] == SKILL) & (measured["row"] == SAMPLE)]
    shares = measured[(measured["measure"] == TAUGHT) & (measured["row"] != SAMPLE)]
    names = list(dict.fromkeys(shares["row"]))
    rows = []
    for of, skill in zip(skills["of"], skills["value"], strict=True):
        own = shares[shares["of"] == of].set_index("row")
        texts = [
            "" if np.isnan(own["value"][name]) else f"{own['value'][name]:.3f} ± {own['error'][name]:.3f}"
            for name in names
        ]
        rows.append([of, shown(skill, "{:.3f}"), *texts])
    return [
        Printed(
            "What it teaches: skill of the true records, and shares of it",
            ["answer", SAMPLE, *names],
            rows,
            1,
        )
    ]


def analyses_notes() -> list[str]:
    """Return what the numbers of the table of analyses are."""
    return [
        "± is one standard error, robust to unequal spread (HC1; of quantiles by kernels); off: the "
        "difference from the true records' estimate in its standard errors",
        "terms of no estimate have none in one of the tables: no record has it, terms say the same twice, or "
        "the search for it found none; analyses.parquet says which",
    ]


def printed_analyses(table: pd.DataFrame) -> list[Printed]:
    """Return every analysis for people, side by side: a line a term."""
    parts = []
    for (analysis, model), part in table.groupby(["analysis", "model"], sort=False):
        names = [name for name in dict.fromkeys(part["row"]) if name != SAMPLE]
        lines: dict[str, list[str]] = {}
        for line in part[part["row"] == SAMPLE].to_dict("records"):
            lines[line["term"]] = [_with_error(line, "sample"), _with_error(line, "held")]
        for line in part[part["row"] != SAMPLE].to_dict("records"):
            texts = [_with_error(line, "estimate"), shown(line["off"], "{:+.1f}")]
            lines[line["term"]] += texts
        headers = ["term", SAMPLE, HELD_OUT, *(title for name in names for title in (name, "off"))]
        rows = [[term, *texts] for term, texts in lines.items()]
        parts.append(Printed(f"{analysis}: {model}", headers, rows, 1))
    return parts


def _with_error(line: Mapping[str, float], of: str) -> str:
    value, error = line[of], line["error" if of == "estimate" else f"{of}_error"]
    return "" if np.isnan(value) else f"{value:.4g} ± {error:.2g}"
