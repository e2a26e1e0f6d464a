"""Which raw answers a category stands for, by the question set and the edges of deciles: nothing else."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from modp.release.days import DaySpelling
from modp.release.values import NEARLY, Range, Spelling
from modp.survey import numbers
from modp.survey.codebook import Category, Question
from modp.survey.coding import JITTER
from modp.survey.questions import MISSING, QuestionRecipe


def ranges(question: Question, recipe: QuestionRecipe, category: Category) -> list[Range]:
    """Return where the numbers of a category lie; none if it is one of words or of blanks.

    Parameters
    ----------
    question : with its edges, where it has deciles
    recipe : how it was made
    """
    if recipe.numbers:
        found = [part for part in numbers.intervals(recipe.numbers) if part.code == category.code]
        return [Range(part.low, part.high, part.low == part.high) for part in found]
    if recipe.in_words:
        return []
    if _is_decile(recipe, category):
        least = NEARLY if recipe.deciles and recipe.deciles.of == "positive" else -math.inf
        ends = [least, *question.edges, math.inf]
        at = int(category.code)
        return [Range(max(ends[at - 1] - JITTER, least), ends[at])] if at < len(ends) else []
    if category.code.startswith("value "):
        own = float(category.values)
        return [Range(own, own, True)]
    return [Range(low, high, True) for low, high, code in recipe.intervals() if str(code) == category.code]


def bounded(recipe: QuestionRecipe, part: Range) -> Range:
    """Return a category's numbers with the question's bounds in place of ends that are infinite."""
    low, high = recipe.limits
    endless = math.isinf(part.high)
    least = low if math.isinf(part.low) else part.low
    return Range(least, high if endless else part.high, part.closed or endless)


def unstated(question: Question, recipe: QuestionRecipe, k: int) -> str | None:
    """Return why answers of category ``k`` cannot be drawn by the question set alone; None if they can."""
    label, step = question.labels[k], recipe.step or 1
    for part in ranges(question, recipe, question.categories[k]):
        known = bounded(recipe, part)
        if math.isinf(known.low) or math.isinf(known.high):
            return f"{question.name}: {label!r} has an open end; state 'bounds: [LEAST, GREATEST]'"
        first, last = known.multiples(step)
        if first > last and known.low < known.high:
            return f"{question.name}: {label!r} holds no multiple of {step:g}; state a smaller 'step'"
        if known.low > known.high:
            return f"{question.name}: {label!r} is outside of its 'bounds'; state wider ones"
    return None


def _is_decile(recipe: QuestionRecipe, category: Category) -> bool:
    return recipe.deciles is not None and category.code.isdecimal() and int(category.code) >= 1


def words(recipe: QuestionRecipe, category: Category) -> list[str]:
    """Return the words that a category stands for, a blank as the empty text; numbers left aside."""
    of_blanks = MISSING if recipe.in_words else recipe.blank_code()
    if category.code in (str(of_blanks), "blank"):
        return [""]
    if recipe.numbers:
        known = zip(numbers.codes(recipe.numbers), recipe.numbers.words, strict=False)
        return [word for code, word in known if code == category.code]
    if not recipe.in_words:
        return []
    return [word for word, code in recipe.words().items() if code == category.code] or [category.values]


def holds(question: Question, recipe: QuestionRecipe, k: int, values: np.ndarray) -> np.ndarray:
    """Return which of these numbers are of the question's category ``k``, a mask of their shape.

    Of deciles that share a value, at random, each holds it.
    """
    category = question.categories[k]
    found = np.zeros(values.shape, bool)
    for part in ranges(question, recipe, category):
        found |= part.holds(values)
    if recipe.numbers and category.code.isdecimal():
        found &= ~np.isin(values, [recipe.numbers.known(value) for value in recipe.numbers.apart])
    return found


def stated(
    recipe: QuestionRecipe,
    question: Question,
    category: Category,
    size: int,
    rng: np.random.Generator,
    spelling: Spelling | DaySpelling,
    written: Mapping[int, Sequence[int]],
) -> np.ndarray:
    """Draw raw answers that a recipe lists for a category, evenly: no true record has a part in it.

    Of a range without an end its other end is taken, where the question has no bounds.

    Parameters
    ----------
    written : number of the question set -> the file's numbers for it, where these are others

    Returns
    -------
    objects (size,), a blank as the empty text
    """
    options = words(recipe, category)
    parts = [bounded(recipe, part) for part in ranges(question, recipe, category)]
    steps = [recipe.step or 1 if part.low < part.high else 1 for part in parts]
    spans = [part.multiples(step) for part, step in zip(parts, steps, strict=True)]
    closed = [(b if math.isinf(a) else a, a if math.isinf(b) else b) for a, b in spans]
    weights = np.array([*(1 for _ in options), *(b - a + 1 for a, b in closed)], float)
    if not len(weights):
        return np.full(size, category.values, object)
    drawn = np.full(size, "", object)
    which = rng.choice(len(weights), size, p=weights / weights.sum())
    for at in np.unique(which):
        own = np.flatnonzero(which == at)
        if at < len(options):
            drawn[own] = options[at]
            continue
        low, high = closed[at - len(options)]
        chosen = rng.integers(int(low), int(high) + 1, len(own)) * steps[at - len(options)]
        meant = [written.get(number, [number]) for number in chosen.tolist()]
        theirs = [others[int(rng.integers(len(others)))] for others in meant]
        drawn[own] = spelling.write(np.array(theirs, float))
    return drawn
