"""Tables on synthetic households: how near crosstabs come, what a demographer checks, what is given away."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
import pandas as pd

from modp.crosstabs.members import Parts, breaking
from modp.measures import households as measures
from modp.measures.ends import BOOTSTRAP
from modp.measures.population import corrected
from modp.measures.table import BOUNDED, LIMITS
from modp.summaries.metrics import number as rounded
from modp.summaries.printed import Printed, bounded
from modp.summaries.warnings import COPIED
from modp.survey import derived
from modp.survey.households import PARENT, Households
from modp.survey.questions import Derived

OF_SEVERAL = {"2": "two", "3": "three", "4+": "four or more"}
"""Sizes whose copies are warned of, and how they are said."""

MANY = 3
"""From so many members of a role on households are counted together."""

FOUND = 0.5
"""A table is a copy if so much more of its households than chance are found again at one of these sizes."""

RESAMPLES = 3
"""Whole-household resamples, of which the ideal is the mean."""

AGE, FAR = "AGEP", 3
"""Couples are far apart by so many categories of this question."""

GENERATIONS = f"three generations, {PARENT.start} to {PARENT.stop - 1} years apart"
"""What the share is called; ages are the lowest of their categories."""

ALL_PAIRS, IMPOSSIBLE, LARGEST = "all role pairs", "impossible", "4+"
"""Of the measures, those that a run is first judged by."""

DISTANCES = ("median", "mean_abs", "rms")

MEMBERSHIP = tuple(f"membership{end}" for end in ("", *LIMITS))
"""Columns of an estimate and the ends of its interval."""

NOTES = (
    "× are multiples of a resample of whole households: of the median, the mean and the r.m.s. of "
    "|ln((C_syn + 1)/(C_true + 1))| over cells that true households hold. Population are the same "
    "distances from households that no model saw, as multiples of the true ones' own: 1 is as near to them "
    "as the true households are, 1.41 as a resample.",
    "Closer is how often a synthetic household is nearer to a true one than to any held out, 50 % being no "
    "leak; found, how often the true household it began at is among the ten nearest. Membership is the area "
    "under the ROC curve of an attack that suspects those of having been seen whom a synthetic household is "
    "like; 0.5 is no leak. All compare households of the same members, of whom fewest alike says how many "
    "true households there are at least.",
)


@dataclass(frozen=True)
class Drawn:
    """Synthetic households, and the row of the true one at which each began, masked for none: (m,)."""

    households: Households
    record: np.ndarray


def accuracy(
    true: Households,
    tables: Mapping[str, Households],
    rng: np.random.Generator,
    holdout: Households | None = None,
) -> pd.DataFrame:
    """Return how near crosstabs come to the true ones, and to those of households held out.

    Returns
    -------
    a line a table and set of cells, see :func:`modp.measures.households.log_ratios`, the ideal first, a
    resample of whole households: ``median``, ``mean_abs`` and ``rms`` of d over cells that true households
    hold, ``ratio_…``, these over the resample's, and ``population_…``, the distances from the households held
    out as multiples of the true ones' own, without the noise of those held out, see
    :mod:`modp.measures.population`
    """
    resamples = [true[rng.integers(len(true), size=len(true))] for _ in range(RESAMPLES)]
    n, found = len(true), [measures.summarised(measures.log_ratios(true, table)) for table in resamples]
    ideal = {name: {k: float(np.mean([f[name][k] for f in found])) for k in DISTANCES} for name in found[0]}
    own = measures.summarised(measures.log_ratios(holdout, true)) if holdout else {}
    h = len(holdout) if holdout else 0
    lines = [{"table": BOOTSTRAP, "cells": name, **d} | _ratios(d, d) for name, d in ideal.items()]
    for of, table in tables.items():
        near = measures.summarised(measures.log_ratios(true, table))
        far = measures.summarised(measures.log_ratios(holdout, table)) if holdout else {}
        for name, d in near.items():
            line = {"table": of, "cells": name, **d} | _ratios(d, ideal[name])
            if name in own and name in far:
                line |= {f"population_{k}": corrected(far[name][k], own[name][k], n, h) for k in DISTANCES}
            lines.append(line)
    return pd.DataFrame(lines)


def _ratios(own: Mapping[str, float], ideal: Mapping[str, float]) -> dict[str, float]:
    return {f"ratio_{key}": own[key] / ideal[key] if ideal[key] > 0 else np.nan for key in DISTANCES}


def shares(
    tables: Mapping[str, Households], agree: Sequence[str], excluded: Parts, computed: Sequence[Derived] = ()
) -> pd.DataFrame:
    """Return what a demographer would check, a line each, a column a table.

    Parameters
    ----------
    agree : questions of persons
    excluded : bool, cells that are called impossible
    computed : questions that are computed of the members; sums, which are of numbers, are left aside

    Returns
    -------
    The share of households that hold what is called impossible; if ages are asked under Census's name, the
    share of couples whose ages stand far apart, and that of households with three generations, see
    :func:`modp.measures.households.three_generations`; of those of two persons or more, the share whose
    members give one answer to each question of ``agree``; the shares of households by who lives there, as
    ``computed`` asks, and by size
    """
    found = {}
    most = max(int(table.sizes.max()) for table in tables.values())
    for of, table in tables.items():
        lines = {IMPOSSIBLE: float(breaking(table, excluded).mean())}
        if AGE in table.persons.codebook.names:
            far = measures.apart(table, AGE) >= FAR
            lines[f"couples {FAR} or more categories of {AGE} apart"] = (
                float(far.mean()) if len(far) else np.nan
            )
        age = measures.ages(table, AGE)
        if age is not None:
            lines[GENERATIONS] = float(measures.three_generations(table.starts, table.roles, age).mean())
        lines |= {f"one answer to {name}": float(measures.agreeing(table, name).mean()) for name in agree}
        lines |= {label: share for q in computed for label, share in _computed(q, table).items()}
        lines |= {f"{n} persons": float((table.sizes == n).mean()) for n in range(1, most + 1)}
        found[of] = lines
    return pd.DataFrame(found).rename_axis("share").reset_index()


def _computed(question: Derived, table: Households) -> dict[str, float]:
    """The shares of households by a question that is computed of members, but for the number of all."""
    if question.sum is not None or question.number == derived.EVERYBODY:
        return {}
    values = derived.computed(question, table)
    if question.present is not None:
        return {question.label: float(values.mean())}
    each = {f"{question.label}: {k}": float((values == k).mean()) for k in range(MANY)}
    return each | {f"{question.label}: {MANY} or more": float((values >= MANY).mean())}


def privacy(
    true: Households, holdout: Households, tables: Mapping[str, Drawn], rng: np.random.Generator
) -> pd.DataFrame:
    """Return what tables give away of the true households, by the households' size.

    Returns
    -------
    a line a table and size: ``households``; ``fewest``, see :func:`modp.measures.households.fewest`;
    ``closer_to_train``, see :func:`modp.measures.households.closer`; ``within_10`` and its ``chance``, see
    :func:`modp.measures.households.found`; ``membership``, ``membership_low`` and ``membership_high``, see
    :func:`modp.measures.households.suspected`; ``identical`` to a true household, and to one held out,
    ``identical_holdout``
    """
    lines = []
    for of, drawn in tables.items():
        table = drawn.households
        near = measures.closer(true, holdout, table, rng)
        hits = measures.found(true, table, drawn.record)
        # Of random numbers of its own, so that the others are what they are without it.
        attack = measures.suspected(true, holdout, table, rng.spawn(1)[0])
        same, others = (measures.identical(side, table) for side in (true, holdout))
        rarest = measures.fewest(true, table)
        for size, number in measures.numbers(table).items():
            within, chance = hits[size]
            line = {"table": of, "persons": size, "households": number, "fewest": rarest[size]}
            line |= {"closer_to_train": near[size], "within_10": within, "chance": chance}
            line |= dict(zip(MEMBERSHIP, astuple(attack[size]), strict=True))
            lines.append(line | {"identical": same[size], "identical_holdout": others[size]})
    return pd.DataFrame(lines)


def closest(accuracy: pd.DataFrame, warned: Collection[str] = ()) -> str | None:
    """Return the row whose pairs of members come closest to those of the households held out, None for none.

    Parameters
    ----------
    accuracy : as :func:`accuracy` returns it, with households held out
    warned : rows that are never the best
    """
    part = accuracy[(accuracy["cells"] == ALL_PAIRS) & (accuracy["table"] != BOOTSTRAP)]
    part = part[~part["table"].isin(warned)].dropna(subset=["population_mean_abs"])
    return None if part.empty else str(part.sort_values("population_mean_abs")["table"].iloc[0])


def headline(
    row: str, accuracy: pd.DataFrame, shares: pd.DataFrame, privacy: pd.DataFrame
) -> list[tuple[str, str, str, str]]:
    """Return what matters of one row: key, value, what it is of, and a sentence of meaning."""
    pairs = accuracy[accuracy["cells"] == ALL_PAIRS].set_index("table").loc[row]
    large = privacy[privacy["persons"] == LARGEST].set_index("table").loc[row]
    impossible = float(shares.set_index("share").loc[IMPOSSIBLE, row])
    return [
        (
            "ratio_median",
            f"{pairs['ratio_median']:.2f} ×",
            "pairs of members",
            "the median error of crosstabs of two members, over a resample's of whole households; 1 is ideal",
        ),
        (
            "population_mean_abs",
            f"{pairs['population_mean_abs']:.2f}",
            "distance from other households",
            "of crosstabs of two members from those of households held out; the true ones stand at 1, a "
            "resample at 1.41",
        ),
        (
            IMPOSSIBLE,
            f"{impossible:.2%}",
            "impossible",
            "households with members who cannot live together so",
        ),
        (
            "closer_to_train",
            f"{large['closer_to_train']:.1%}",
            f"closer to train, {OF_SEVERAL[LARGEST]} persons",
            "of synthetic households are nearer to a true one than to any held out; 50 % is no leak",
        ),
    ]


def points(accuracy: pd.DataFrame, privacy: pd.DataFrame) -> pd.DataFrame:
    """Return accuracy and privacy of every row, a line each, for :func:`modp.report.plot.item`."""
    near = accuracy[(accuracy["cells"] == ALL_PAIRS) & (accuracy["table"] != BOOTSTRAP)]
    left = privacy[privacy["persons"] == LARGEST]
    found = near.merge(left, on="table")
    found[["model", "variant"]] = found["table"].str.split("/", n=1, expand=True)
    return found[["model", "variant", *(f"ratio_{key}" for key in DISTANCES), "within_10"]]


def metrics(accuracy: pd.DataFrame, shares: pd.DataFrame, privacy: pd.DataFrame) -> dict[str, Any]:
    """Return the tables' numbers as metrics.json has them: accuracy.<model>.<variant>.<cells>.<measure> …."""
    tree: dict[str, Any] = {"accuracy": {}, "privacy": {}, "shares": {}}
    for kind, frame, key, begin in (
        ("accuracy", accuracy, "cells", ""),
        ("privacy", privacy, "persons", "persons "),
    ):
        for line in frame.to_dict("records"):
            place = _place(tree[kind], str(line["table"]))
            place[_key(f"{begin}{line[key]}")] = {
                str(name): rounded(value) for name, value in line.items() if name not in ("table", key)
            }
    for of in shares.columns[1:]:
        names = map(_key, shares["share"])
        _place(tree["shares"], of).update(zip(names, map(rounded, shares[of]), strict=True))
    return tree


def _place(tree: dict[str, Any], table: str) -> dict[str, Any]:
    """Where a table's numbers stand: under its model and variant."""
    for part in table.split("/"):
        tree = tree.setdefault(part, {})
    return tree


def _key(text: str) -> str:
    return re.sub(r"[^0-9A-Za-z]+", "_", text).strip("_")


def copies(privacy: pd.DataFrame) -> dict[str, list[str]]:
    """Return, for the tables that copy true households, why: by size, since most of the small are alike.

    Parameters
    ----------
    privacy : as :func:`privacy` returns it
    """
    found: dict[str, list[str]] = {}
    for line in privacy[privacy["persons"].isin(OF_SEVERAL)].to_dict("records"):
        of = f"of its households of {OF_SEVERAL[line['persons']]} persons"
        twins = line["identical"] - line["identical_holdout"]
        if line["within_10"] - line["chance"] > FOUND:
            said = (
                f"copies households: {line['within_10']:.0%} {of} have the true one that they began at among "
                f"the ten nearest (by chance {line['chance']:.0%})"
            )
            found.setdefault(str(line["table"]), []).append(said)
        if twins > COPIED:
            said = f"copies households: {twins:.0%} more {of} equal a true one than equal one held out"
            found.setdefault(str(line["table"]), []).append(said)
    return found


def printed(accuracy: pd.DataFrame, shares: pd.DataFrame, privacy: pd.DataFrame) -> list[Printed]:
    """Return the three tables for people."""
    near = [
        (line["table"], line["cells"], _three(line, "ratio"), _three(line, "population"))
        for line in accuracy[accuracy["table"] != BOOTSTRAP].to_dict("records")
    ]
    told = [
        (line["share"], *(f"{line[name]:.2%}" for name in shares.columns[1:]))
        for line in shares.to_dict("records")
    ]
    left = [
        (
            line["table"],
            line["persons"],
            f"{line['households']:,}",
            f"{line['fewest']:,}",
            *(_percent(line[name], 1) for name in ("closer_to_train", "within_10", "chance")),
            "" if np.isnan(line[MEMBERSHIP[0]]) else bounded([line[name] for name in MEMBERSHIP], BOUNDED),
            *(_percent(line[name], 2) for name in ("identical", "identical_holdout")),
        )
        for line in privacy.to_dict("records")
    ]
    said = ("closer", "found", "by chance", "membership", "identical", "identical to one held out")
    return [
        Printed("Crosstabs", ("table", "cells", "×", "population"), near, 2),
        Printed("Shares of households", ("share", *shares.columns[1:]), told, 1),
        Printed("What is given away", ("table", "persons", "households", "fewest alike", *said), left, 2),
    ]


def _percent(share: float, digits: int) -> str:
    return "" if np.isnan(share) else f"{share:.{digits}%}"


def _three(line: Mapping[str, float], what: str) -> str:
    """Median, mean and r.m.s., where they are known."""
    found = [line.get(f"{what}_{key}", np.nan) for key in DISTANCES]
    return "" if np.isnan(found).any() else " / ".join(f"{x:.2f}" for x in found)
