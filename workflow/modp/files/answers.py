"""Questions made of columns: codes or words as categories, numbers and dates in classes."""

import math
import re
from collections import Counter
from collections.abc import Callable
from datetime import date
from typing import Any

import numpy as np

from modp.files.cuts import DOUBT, cut_numbers, spikes
from modp.files.days import cut_days, written_as
from modp.files.decision import Decision, Kind
from modp.files.look import RECORDS, Look, least, plain_whole, said, share
from modp.files.naming import joined, told_apart
from modp.survey.numbers import NumbersRecipe, amount

FEW = 20
"""Numbers of so many kinds at most are categories."""

LEVELS = 32
"""Whole numbers of a range no longer than this are categories too where each is given often."""

WIDE = 300
"""Of more kinds than these, the least frequent are one category."""

ROUND = 0.7
"""Numbers with leading zeros are amounts, not codes, if so many records' are multiples of ten."""

MOST_WORDS = 10
"""Answers that are no numbers and may stand among numbers."""

BLANK_LABELS = ("blank", "left blank", "no answer at all")

CODES = re.compile(
    r".*(code|cd|zip|zipcode|postcode|postal|plz|puma|fips|county|tract|gemeinde|ags|isco|isic|nace|naics|sic"
    r"|soc)|(naics|ind|occ|soc|isco|isic|nace|sic)[0-9]*p?|pobp|anc[12]p|lanp|fod[12]p|powsp|migsp"
    r"|puma[0-9]*|st|statefip|state|region|commune|canton|kreis"
)
"""Names, written in one, of numbers that are codes: of occupations, industries, places."""


def as_dates(look: Look) -> Decision | None:
    """Return the decision that a column holds dates, or None."""
    if len(look.kinds) <= FEW and look.answered >= 3 * len(look.kinds):
        return None  # such as the days of a few interviews: categories
    asked = [kind for kind, declared in zip(look.kinds, look.declared, strict=True) if not declared]
    found = written_as(asked, look.column.name) if asked else None
    if found is None:
        return None
    form, ambiguous = found
    recipe = NumbersRecipe(dates=form)
    values = np.array([_or_nan(recipe.value(kind)) for kind in look.kinds])
    return _in_classes(look, values, form, ambiguous)


def as_numbers(look: Look) -> Decision | None:
    """Return the decision that a column holds numbers to be cut into classes, or None.

    They are numbers if they are of more than 20 kinds, or of fewer that mostly occur once or twice and are
    not small; not whole, from a narrow range and often given each, such as levels of education; with at most
    ten kinds of words among them; no codes by name or leading zeros; and without labels that say more than
    the number.
    """
    numeric = ~np.isnan(look.values) & ~look.declared
    words = int(np.isnan(look.values).sum())
    if not numeric.any() or words > min(MOST_WORDS, numeric.sum()) or _are_codes(look):
        return None
    values, counts = _merged_equal(look.values[numeric], look.counts[numeric])
    whole = bool(np.all(values % 1 == 0))
    if len(values) <= FEW and ((whole and np.ptp(values) <= FEW) or np.median(counts) >= 3):
        return None
    if whole and np.ptp(values) < LEVELS and np.median(counts) >= RECORDS:
        return None
    if _labels_say_more(look):
        return None
    return _in_classes(look, look.values, None, False)


def as_categories(look: Look, widest: int = WIDE) -> Decision:
    """Return the decision that a column's answers are categories as they are.

    Up to ``widest`` kinds are a category each; of more, the least frequent together are the last, since the
    time that a model takes grows with the square of the number of categories.
    """
    kinds = _in_order(look)
    label = told_apart({kind: look.label(kind) for kind in kinds})
    counts = dict(zip(look.kinds, look.counts.tolist(), strict=True))
    own = set(kinds)
    if len(kinds) > widest:
        own = set(sorted(kinds, key=lambda kind: -counts[kind])[: widest - 1])
    rare = [kind for kind in kinds if kind not in own]
    whole = all(plain_whole(kind) for kind in kinds)
    made = _whole_categories(kinds, label, rare, look.blanks > 0) if whole else _words(kinds, label, rare)
    recipe = _start(look, list(label.values()))
    if whole and "-1" in own and look.blanks:
        # The code -1 would be that of the blanks as well.
        free = min(int(kind) for kind in kinds) - 1
        made = {free: {"label": recipe.pop("missing"), "values": "blank"}, **made}
    many = f"{len(kinds):,} different answers"
    why = f"{many}, a category each" if len(kinds) > 1 else "one answer, beside blanks"
    if rare:
        records = sum(counts[kind] for kind in rare)
        why = (
            f"{many}: the {widest - 1} most frequent are a category each, the other {len(rare):,} "
            f"({share(records, look.rows)} of the rows) are one"
        )
    return Decision(look.column.name, "categories", why, {**recipe, "categories": made})


def _in_classes(look: Look, values: np.ndarray, form: str | None, ambiguous: bool) -> Decision | None:
    """Numbers or dates, (m,), NaN where a kind is none, in classes; None if none is left for a class."""
    known = ~np.isnan(values)
    telling = _telling_labels(look)
    own = {
        float(value): look.label(kind)
        for kind, value, declared in zip(look.kinds, values, look.declared, strict=True)
        if not np.isnan(value) and (declared or (not form and kind in telling))
        if form is None or value == int(value)
    }
    usual = known & ~np.isin(values, list(own))
    if not usual.any():
        return None
    numbers, counts = _merged_equal(values[usual], look.counts[usual])
    odd = {
        value: why for value, why in spikes(numbers, counts).items() if form is None or value == int(value)
    }
    odd = {} if len(odd) == len(numbers) else odd
    rest = np.isin(numbers, list(odd), invert=True)
    smallest = least(int(counts.sum()))
    if form:
        cuts, unit = cut_days(numbers[rest], counts[rest], smallest)
    else:
        cuts, unit = cut_numbers(numbers[rest], counts[rest], smallest), ""
    write: Callable[[float], int | float | str] = _written_day if form else _written
    apart = {**own, **{value: _written_day(value) if form else said(value) for value in odd}}
    words = [kind for kind, number in zip(look.kinds, known, strict=True) if not number]
    labels = told_apart(
        {**{write(v): apart[v] for v in sorted(apart)}, **{word: look.label(word) for word in sorted(words)}}
    )
    content: dict[str, Any] = {"dates": form} if form else {}
    content["cuts"] = [write(cut) for cut in cuts]
    content["apart"] = {write(value): labels[write(value)] for value in sorted(apart)}
    content["words"] = {word: labels[word] for word in sorted(words)}
    recipe = _start(look, list(labels.values()))
    recipe["numbers"] = {key: part for key, part in content.items() if part or key == "cuts"}
    remarks = {value: _said_day(value, text) if form else text for value, text in odd.items()}
    why = _why(len(numbers), len(cuts) + 1, unit, list(remarks.values()), own, words, form)
    ends = (numbers[0], numbers[-1])
    doubted = [text for v, text in remarks.items() if DOUBT in text or (v in ends and v != 0)]
    notes = [f"{text} is a category of its own" for text in doubted]
    if ambiguous:
        notes.append(f"every date could be read with day and month the other way round; taken is {form}")
        why += f"; {notes[-1]}"
    usual_spikes = tuple(text for text in remarks.values() if text not in doubted)
    kind: Kind = "dates" if form else "numbers"
    return Decision(look.column.name, kind, why, recipe, tuple(notes), usual_spikes)


def _why(
    kinds: int,
    classes: int,
    unit: str,
    apart: list[str],
    own: dict[float, str],
    words: list[str],
    form: str | None,
) -> str:
    if form:
        why = f"{kinds:,} different dates, written {form}, in {_classes(classes)} by {unit}"
    else:
        why = f"{kinds:,} different numbers, cut at round places near quantiles into {_classes(classes)}"
    if apart:
        why += f"; apart: {', '.join(apart)}"
    if own:
        why += f"; {len(own)} that the file labels or declares missing, a category each"
    if words:
        why += f"; beside them the word{'s' * (len(words) > 1)} {', '.join(sorted(words))}"
    return why


def _said_day(value: float, remark: str) -> str:
    return _written_day(value) + remark[remark.index(" (") :].replace("numbers", "dates")


def _classes(number: int) -> str:
    return "one class" if number == 1 else f"{number} classes"


def _start(look: Look, labels: list[str]) -> dict[str, Any]:
    """Name, label, column and what blanks are."""
    name = look.column.name
    recipe: dict[str, Any] = {"name": look.name, "label": look.column.label or name or look.name}
    if look.name != name:
        recipe["column"] = name
    if look.blanks:
        recipe["missing"] = next((text for text in BLANK_LABELS if text not in labels), "(blank)")
    return recipe


def _whole_categories(
    kinds: list[str], label: dict[str, str], rare: list[str], blanks: bool
) -> dict[int | str, Any]:
    made: dict[int | str, Any] = {int(kind): label[kind] for kind in kinds if kind not in set(rare)}
    if rare:
        free = max(int(kind) for kind in kinds) + 1
        made[free] = {"label": _others(label), "values": ", ".join(rare)}
    return made


def _words(kinds: list[str], label: dict[str, str], rare: list[str]) -> dict[int | str, Any]:
    made: dict[int | str, Any] = {}
    merged = set(rare)
    for kind in kinds:
        if kind in merged:
            continue
        if re.match(r"(-1|blank|value .*)$", kind, re.DOTALL):
            # As a key this would have a meaning of its own.
            made[_free(f"answer {kind}", kinds)] = {"label": label[kind], "values": [kind]}
        else:
            made[kind] = label[kind]
    if rare:
        made[_free("other", kinds)] = {"label": _others(label), "values": rare}
    return made


def _free(key: str, kinds: list[str]) -> str:
    while key in kinds:
        key += "_"
    return key


def _others(label: dict[str, str]) -> str:
    return _free("other (less frequent)", list(label.values()))


def _in_order(look: Look) -> list[str]:
    """The kinds: in the file's order of categories, else numbers by size, then words; missing ones last."""
    if look.column.dtype == "category" and len(look.column.labels) == 0:
        order = {kind: at for at, kind in enumerate(look.kinds)}
        return sorted(look.kinds, key=lambda kind: (kind in look.column.missing, order[kind]))
    number = dict(zip(look.kinds, look.values.tolist(), strict=True))
    return sorted(
        look.kinds,
        key=lambda kind: (
            kind in look.column.missing,
            math.isnan(number[kind]),
            0.0 if math.isnan(number[kind]) else number[kind],
            [int(part) if part.isdecimal() else 0 for part in re.findall(r"[0-9]+|[^0-9]+", kind)],
            kind,
        ),
    )


def _are_codes(look: Look) -> bool:
    """Whether whole numbers are codes: by their name, or by leading zeros.

    Leading zeros alone also pad amounts to one width. Such are more than 300 kinds, or mostly round.
    """
    whole = bool((np.isnan(look.values) | (look.values % 1 == 0)).all())
    if whole and CODES.fullmatch(joined(look.column.name)):
        return True
    if not any(kind[:1] == "0" and kind[1:2].isdecimal() for kind in look.kinds):
        return False
    rounded = look.counts[look.values % 10 == 0].sum() >= ROUND * look.answered
    return not (len(look.kinds) > WIDE or (len(look.kinds) > FEW and rounded))


def _labels_say_more(look: Look) -> bool:
    """Whether most numbers have labels that say more than the number."""
    return len(_telling_labels(look)) >= 0.8 * len(look.kinds)


def _telling_labels(look: Look) -> set[str]:
    """The kinds whose labels say more than the number itself and a unit that most labels have."""
    given = look.labels
    labels = {kind: given[kind].strip() for kind in look.kinds if given.get(kind)} if given else {}
    after = {kind: text.removeprefix(kind).strip() for kind, text in labels.items() if text.startswith(kind)}
    unit, often = next(iter(Counter(after.values()).most_common(1)), ("", 0))
    unit = unit if often > len(labels) / 2 else ""
    return {kind for kind in labels if kind not in after or not unit.startswith(after[kind])}


def _merged_equal(values: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Different numbers, ascending, with their counts: 1 and 1.0 are one."""
    numbers, at = np.unique(values, return_inverse=True)
    return numbers, np.bincount(at, counts, len(numbers)).astype(np.int64)


def _written(value: float) -> int | float:
    text = amount(value)
    return int(text) if re.fullmatch(r"-?[0-9]+", text) else float(value)


def _written_day(value: float) -> str:
    return date.fromordinal(int(value)).isoformat()


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value
