"""Conditions on answers, as people write them: question -> the categories that it may have."""

import math
import re
from collections.abc import Mapping, Sequence

import numpy as np

from modp.base.errors import InputError, did_you_mean
from modp.survey.codebook import Category, Codebook, Question

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


def _spans(category: Category) -> list[tuple[float, float, bool]]:
    """(low, high, whether high is in it) of a category's raw values; none where they are no numbers."""
    cut = re.fullmatch(r"\[(.+), (.+)\)", category.values)
    if cut:
        low, high = float(cut[1]), float(cut[2])
        whole = math.isfinite(high) and high % 1 == 0 and (not math.isfinite(low) or low % 1 == 0)
        return [(low, high - 1, True) if whole else (low, high, False)]
    spans = []
    for part in category.values.removeprefix("=").split(","):
        ends = _ends(part.strip())
        if ends is None:
            return []
        spans.append((*ends, True))
    return spans


def _within(category: Category, low: float, high: float) -> bool:
    spans = _spans(category)
    return bool(spans) and all(low <= first and last <= high for first, last, _ in spans)


def _meets(category: Category, low: float, high: float) -> bool:
    return any(
        first <= high and (low <= last if closed else low < last) for first, last, closed in _spans(category)
    )
