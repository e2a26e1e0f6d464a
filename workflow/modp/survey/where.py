"""Conditions on answers, as people write them: question -> the categories that it may have."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from modp.base.errors import InputError, did_you_mean
from modp.survey.codebook import Category, Codebook, Question

if TYPE_CHECKING:
    import pandas as pd

OPEN = -1
"""In place of an answer that is not given."""

NUMBER = r"-?\d+(?:\.\d+)?"
SHOWN = 8
"""Categories listed in a message."""


def allowed(where: Mapping[str, object], codebook: Codebook) -> np.ndarray:
    """Return the categories that a condition leaves: bool (K,).

    Parameters
    ----------
    where : question -> a category's code, its label, or a range of raw values such as ``60-69``, ``60..69``
        or ``..19``, which takes the categories that lie in it; or a list of these

    Raises
    ------
    InputError
        if there is no such question or category, with the nearest right name; if a range cuts through a
        category
    """
    mask = np.ones(codebook.block_starts[-1], bool)
    at = {name: q for q, name in enumerate(codebook.names)}
    for name, wanted in where.items():
        if name not in at:
            raise InputError(f"where: there is no question {name!r}{did_you_mean(name, at)}")
        q = at[name]
        parts = wanted if isinstance(wanted, list | tuple | set) else [wanted]
        block = slice(codebook.block_starts[q], codebook.block_starts[q + 1])
        mask[block] = False
        for part in parts:
            mask[block] |= chosen(str(part), codebook.questions[q])
        if not mask[block].any():
            raise InputError(f"where: {name} is left no category: name one, or leave {name} out")
    return mask


def given(frame: "pd.DataFrame", codebook: Codebook) -> np.ndarray:
    """Return the answers that a frame gives: int16 (n, Q), ``OPEN`` where a question is open.

    Parameters
    ----------
    frame : n rows, columns of questions; each value is a category, by its code, its label or a range that
        means it alone; a blank leaves the question open, as a missing column does

    Raises
    ------
    InputError
        if there is no such question or category, or a value means several categories
    """
    codes = np.full((len(frame), len(codebook.questions)), OPEN, np.int16)
    at = {name: q for q, name in enumerate(codebook.names)}
    for name in frame.columns:
        if name not in at:
            raise InputError(f"given: there is no question {name!r}{did_you_mean(name, at)}")
        kinds = frame[name].astype("category").cat
        places = [_only(text_of(value), codebook.questions[at[name]]) for value in kinds.categories]
        codes[:, at[name]] = np.array([*places, OPEN])[kinds.codes.to_numpy()]
    return codes


def _only(part: str, question: Question) -> int:
    places = np.flatnonzero(chosen(part, question))
    if len(places) > 1:
        raise InputError(
            f"given: {question.name}: {part} is {_listed([question.categories[k] for k in places], question)}"
            ", and a record has one answer: give a condition on all records, as in given={'AGEP': [3, 4]}"
        )
    return int(places[0])


def text_of(value: object) -> str:
    """Return a value as people write it: 1.0, which a column with blanks makes of 1, is ``1``."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def chosen(part: str, question: Question) -> np.ndarray:
    """Return the categories of a question that a code, a label or a range means: bool (its categories,).

    Raises
    ------
    InputError
        as :func:`allowed` does
    """
    codes, labels = [c.code for c in question.categories], [label.casefold() for label in question.labels]
    for names, own in ((codes, part), (labels, " ".join(part.split()).casefold())):
        if own in names:
            return np.array([name == own for name in names])
    ends = _ends(part)
    if ends is None:
        near = (
            did_you_mean(part, [*codes, *question.labels]) or f" ({_listed(question.categories, question)})"
        )
        raise InputError(f"where: {question.name} has no category {part!r}{near}")
    inside = np.array([_within(category, *ends) for category in question.categories])
    cut = [c for c, own in zip(question.categories, inside, strict=True) if not own and _meets(c, *ends)]
    if cut:
        raise InputError(
            f"where: {question.name}: {part} cuts through {_listed(cut, question)}: answers are drawn by "
            "category, so give whole ones"
        )
    if not inside.any():
        raise InputError(
            f"where: {question.name} has no category in {part} ({_listed(question.categories, question)})"
        )
    return inside


def said(mask: np.ndarray, codebook: Codebook, questions: Sequence[int] | None = None) -> str:
    """Return in words which categories are left, of these questions or of those that are restricted."""
    parts = []
    for q, question in enumerate(codebook.questions):
        left = mask[codebook.block_starts[q] : codebook.block_starts[q + 1]]
        if (questions is None and not left.all()) or (questions is not None and q in questions):
            kept = [c for c, own in zip(question.categories, left, strict=True) if own]
            parts.append(f"{question.name} {_listed(kept, question)}")
    return "; ".join(parts)


def _listed(categories: Sequence[Category], question: Question) -> str:
    label = {c.code: text for c, text in zip(question.categories, question.labels, strict=True)}
    texts = [c.code if label[c.code] == c.code else f"{c.code} ({label[c.code]})" for c in categories]
    return ", ".join(texts[:SHOWN]) + (f" and {len(texts) - SHOWN} more" if len(texts) > SHOWN else "")


def _ends(part: str) -> tuple[float, float] | None:
    """The ends of a range, or of one number; None if it is none."""
    found = re.fullmatch(rf"\s*({NUMBER})\s*(?:-|–|\.\.)\s*({NUMBER})\s*", part)
    if found:
        low, high = map(float, found.groups())
        return (low, high) if low <= high else None
    found = re.fullmatch(rf"\s*({NUMBER})?\s*\.\.\s*({NUMBER})?\s*", part)
    if found and any(found.groups()):
        return float(found[1] or -math.inf), float(found[2] or math.inf)
    if re.fullmatch(rf"\s*{NUMBER}\s*", part):
        return float(part), float(part)
    return None


def _spans(text: str) -> list[tuple[float, float, bool]]:
    """(low, high, whether high is in it) of a category's raw values; none where they are no numbers."""
    cut = re.fullmatch(r"\[(.+), (.+)\)", text)
    if cut:
        low, high = float(cut[1]), float(cut[2])
        whole = math.isfinite(high) and high % 1 == 0 and (not math.isfinite(low) or low % 1 == 0)
        return [(low, high - 1, True) if whole else (low, high, False)]
    spans = []
    for part in text.removeprefix("=").split(","):
        ends = _ends(part.strip())
        if ends is None:
            return []
        spans.append((*ends, True))
    return spans


def lowest(category: Category) -> float:
    """Return the lowest number of a category's raw values, NaN where they are no numbers."""
    return min((low for low, _, _ in _spans(category.values)), default=math.nan)


def _within(category: Category, low: float, high: float) -> bool:
    spans = _spans(category.values)
    return bool(spans) and all(low <= first and last <= high for first, last, _ in spans)


def _meets(category: Category, low: float, high: float) -> bool:
    return any(
        first <= high and (low <= last if closed else low < last)
        for first, last, closed in _spans(category.values)
    )
