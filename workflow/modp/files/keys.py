"""Columns that are about records, not about people: weights, keys of households, identifiers."""

import re
from collections.abc import Sequence

import numpy as np

from modp.files.look import Look
from modp.files.naming import joined, parts

WEIGHT = re.compile(
    r"(p|h|hh|w|per|pers|person|household|fin|fnl|final|base|basic|design|samp|sample|sampling|survey|post|"
    r"poststrat|pop|population|prob|freq|analysis|calib|calibrated|cross|long|asec|supp|exam)*"
    r"(wt|wts|wgt|wght|wgtp|weight|weights)(final|fin|finl|norm|normed|ppen|s|p|(mec|int)[0-9]yr)?"
    r"|gewicht|hrf|hochrechnungsfaktor|poids|ponderation|ponderador|pondera|factorexpansion|facexp|fexp"
)
"""Names of survey weights, written in one; flags (FPWGTP) and bodies' (birthweight, weight_kg) are none."""

BARE = ("wt", "wts", "wgt", "weight", "weights", "gewicht", "poids")
BODILY = {"height", "hgt", "ht", "bmi", "stature", "groesse", "größe", "taille", "waist"}
"""Beside such a column a bare ``weight`` is that of a body."""

REPLICATE = re.compile(r".*(rep(l|licate)?(wt|wgt|weight)?p?|(wt|wgt|weight)rep|brr|bsw|jkw?|bootw)s?")

HOUSEHOLD = re.compile(
    r"serial(no|number)?|hh|hh(id|idnum|no|nr|num|key|serial)|hid|idhh|hhold(id)?|"
    r"house(hold)?(id|no|nr|num|number|key|serial)?|dwelling(id)?|"
    r"fam(ily)?(id|no|nr|num|number|key)|family|haushalt(s?(id|nr|nummer))?|idmen(age)?|menage|hogar(id)?|"
    r"idhogar"
)
CLUSTER = re.compile(
    r"cluster(id|no|nr|number)?|psu(id|no)?|upm|primarysamplingunit|(village|school|class)id"
)

MOST_IN_HOUSEHOLD = 10
"""Rows that share a household's key, on average, at most."""

MOST_IN_CLUSTER = 100

ENOUGH_GROUPS = 100
"""A key under a name that does not say so has at least so many values."""

IDENTIFIERS = {"id", "uuid", "guid", "key", "nr", "no", "num", "number", "index", "serial", "serialno", "pid"}
IDENTIFIER = re.compile(
    r"(case|resp|respondent|person|pers|record|row|sample|subject|patient|user|ind)?id|.*idnr"
)


def is_weight(look: Look) -> bool:
    """Whether a column holds survey weights: a name that says so, and numbers from zero on that differ."""
    name = joined(look.column.name)
    if not WEIGHT.fullmatch(name) or len(look.kinds) < 2:
        return False
    if name in BARE and any(BODILY & set(parts(other)) for other in look.others):
        return False
    return _all_numbers(look) and float(np.min(look.values)) >= 0


def replicate_weights(looks: Sequence[Look]) -> dict[str, list[str]]:
    """Return the columns of replicate weights: stem -> names, numbered from 0 or 1 on, four at least."""
    found: dict[str, dict[int, Look]] = {}
    for look in looks:
        numbered = re.fullmatch(r"(.*[^0-9])([0-9]+)", look.column.name)
        if numbered:
            found.setdefault(numbered[1], {})[int(numbered[2])] = look
    return {
        stem: [part.column.name for _, part in sorted(group.items())]
        for stem, group in found.items()
        if len(group) >= 4
        and sorted(group) in (list(range(len(group))), list(range(1, len(group) + 1)))
        and _replicate_stem(stem, looks[0].others)
        and all(_all_numbers(part) for part in group.values())
    }


def _replicate_stem(stem: str, names: Sequence[str]) -> bool:
    name = joined(stem)
    bodily = name in BARE and any(BODILY & set(parts(other)) for other in names)
    return bool(WEIGHT.fullmatch(name) or REPLICATE.fullmatch(name)) and not bodily


def household(looks: Sequence[Look]) -> tuple[str, str] | None:
    """Return the column of the key that members of a household, or of another cluster, share, and why.

    Households come before other clusters, and a name that says so before a key that only behaves so.
    """
    for named, most, what in (
        (HOUSEHOLD, MOST_IN_HOUSEHOLD, "a household"),
        (CLUSTER, MOST_IN_CLUSTER, "a cluster"),
    ):
        for look in looks:
            if named.fullmatch(joined(look.column.name)) and 1.05 <= _group(look) <= most:
                return look.column.name, f"the key that members of {what} share, by its name"
    for look in looks:
        if _behaves_like_key(look):
            return look.column.name, "the key that members of a household share, by its values"
    return None


def _group(look: Look) -> float:
    """How many rows share a value, on average; 0 where blanks are many, or there are too few values."""
    few = len(look.kinds) < 2 or look.blanks > 0.1 * look.rows
    return 0.0 if few else look.answered / len(look.kinds)


def _behaves_like_key(look: Look) -> bool:
    """Whether rows with one value follow one another, in small groups, and the values are like keys."""
    if look.blanks or len(look.kinds) < ENOUGH_GROUPS or not 1.05 <= _group(look) <= MOST_IN_HOUSEHOLD:
        return False
    if look.counts.max() > 3 * MOST_IN_HOUSEHOLD:
        return False
    runs = 1 + int(np.count_nonzero(np.diff(look.in_order)))
    return runs == len(look.kinds) and (_running(look, 1.0) or _same_width(look, 5))


def identifier(look: Look) -> str | None:
    """Return why a column is an identifier, or None if it is none.

    It is one if its name says so and nearly all answers differ; if nearly all are different codes; or if all
    are different whole numbers that run on, rise from row to row, are equally long, or are a thousand.
    """
    different = len(look.kinds) / max(look.answered, 1)
    if different < 0.9 or len(look.kinds) < 2:
        return None
    says_so = bool(set(parts(look.column.name)[-1:]) & IDENTIFIERS) or any(
        pattern.fullmatch(joined(look.column.name)) for pattern in (IDENTIFIER, HOUSEHOLD)
    )
    text = np.isnan(look.values).sum() > len(look.kinds) / 2
    if says_so and different >= 0.95 and (text or look.whole):
        return "an identifier: its name says so, and nearly every row has another"
    if look.answered < 20 or look.column.dtype in ("date", "datetime"):
        return None
    if text:
        return "an identifier or a name: nearly every row has another"
    if not look.whole or different < 1 or np.isnan(look.values).any():
        return None
    if _running(look, 1.2):
        return "an identifier: every row has another whole number, and they run on"
    rising = look.answered >= 100 and bool(np.all(np.diff(look.row_values) > 0))
    if rising:
        return "an identifier: its whole numbers rise from row to row"
    if _same_width(look, 8) or look.answered >= 1000:
        return "an identifier: every row has another whole number"
    return None


def _running(look: Look, gaps: float) -> bool:
    """Whether the values are whole numbers of a range that is at most ``gaps`` times as long."""
    if np.isnan(look.values).any() or not look.whole:
        return False
    return float(np.ptp(look.values)) < gaps * len(look.kinds)


def _same_width(look: Look, letters: int) -> bool:
    """Whether all values are codes or whole numbers of one length, at least so many letters."""
    widths = {len(kind) for kind in look.kinds}
    coded = all(re.fullmatch(r"[A-Za-z0-9-]*[0-9][A-Za-z0-9-]*", kind) for kind in look.kinds)
    return len(widths) == 1 and min(widths) >= letters and coded


def _all_numbers(look: Look) -> bool:
    return bool(look.kinds) and not np.isnan(look.values).any()
