"""Coding: raw columns become codes, by the recipes of a question set."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from modp.base.errors import InputError
from modp.survey import numbers
from modp.survey.codebook import MAX_CATEGORIES, Category, Codebook, Question
from modp.survey.numbers import NumbersRecipe
from modp.survey.questions import (
    MISSING,
    CategoryRecipe,
    DecileRecipe,
    QuestionRecipe,
    QuestionSet,
)
from modp.survey.records import room

JITTER = 0.01
"""Width in dollars, minutes or hours of the noise that splits ties between deciles."""

EMPTY = "no records"
"""The range of a decile without values."""

UNKNOWN = -1
"""Stands for the place of an answer that no category takes."""

OWN, BLANK = "value", "blank"
"""Codes of categories that the question set does not know: ``value 7``, and that of blanks."""

DECILES, NUMBERS = "deciles", "numbers"
"""How a question is made that has edges."""


def code(
    columns: Mapping[str, np.ma.MaskedArray],
    questions: QuestionSet,
    rng: np.random.Generator,
    say_unknown: Callable[[str], None] | None = None,
    kept: np.ndarray | None = None,
    say: Callable[[str], None] | None = None,
) -> tuple[np.ndarray, Codebook]:
    """Turn raw columns into codes.

    Parameters
    ----------
    columns : raw column name -> integers or words of shape (n,), masked where blank
    questions : the recipe
    rng : splits the ties between deciles
    say_unknown : if given, an answer that no category takes becomes a category of its own, and
        this is told of it; else it is an error
    kept : mask of shape (n,), the records that deciles and categories are made of; all if not given.
        The others, held out, fall into what these made, and change nothing in their codes
    say : if given, is told of values that fill a decile or more

    Returns
    -------
    codes : int16 of shape (n, Q), the index of the category within its question; ``UNKNOWN`` where
        ``say_unknown`` is given and only records that are held out give an answer
    codebook : the questions with the categories' labels

    Raises
    ------
    InputError
        listing every column that holds a value no category takes, with the value and its count
    """
    faults: list[str] = []
    made = []
    if kept is None:
        kept = np.ones(len(columns[questions.questions[0].source]), bool)
    codes = room(len(kept), len(questions.questions))
    for q, recipe in enumerate(questions.questions):
        values = columns[recipe.source]
        places, question = _code_question(values, recipe, rng, kept)
        lost = places == UNKNOWN
        if lost.any():
            said = _unknown_answers(values[lost], recipe)
            if say_unknown is None:
                faults.append(said)
                continue
            places[lost], question = _own_categories(values[lost], question, kept[lost])
            if (lost & kept).any():
                said = _unknown_answers(values[lost & kept], recipe)
                say_unknown(f"not in the question set, a category each:{said}")
        codes[:, q] = places
        made.append(question)
    if faults:
        raise InputError(
            "the data hold answers that the question set "
            f"{questions.name!r} does not know:\n" + "\n".join(faults) + "\n"
            "Add a category for them to the question set, check the vintage of the file, or write "
            "'unknown: category' in the dataset YAML to give each a category of its own."
        )
    pairs = tuple((tuple(one), tuple(other)) for one, other in questions.impossible_pairs)
    cut = [q for q in questions.questions if q.deciles]
    spikes = [f"{q.name} {text}" for q in cut for text in _spikes(columns[q.source], q, kept)]
    if spikes and say is not None:
        say(
            "values that fill a decile or more, where chance says which decile a record falls into (is one "
            f"a code for something else?): {', '.join(spikes)}"
        )
    codebook = Codebook(questions.name, tuple(made), pairs, tuple(questions.heat_map_order))
    return codes, codebook


def apply(
    columns: Mapping[str, np.ma.MaskedArray],
    questions: QuestionSet,
    codebook: Codebook,
    rng: np.random.Generator,
) -> np.ndarray:
    """Turn raw columns into codes of an existing codebook, which was made of other records.

    Deciles are cut at that codebook's edges, and answers that got a category of their own there have it here.
    The question set is that of these records: to have an answer counted under a category of the codebook, it
    lists it among that category's values.

    Parameters
    ----------
    columns : raw column name -> integers or words of shape (n,), masked where blank
    questions : the recipe of these records, with all questions of the codebook
    codebook : what the codes are of
    rng : splits the ties between deciles

    Returns
    -------
    int16 of shape (n, Q), the index of the category within its question; every answer has one

    Raises
    ------
    InputError
        naming the questions that the set lacks or makes otherwise; or listing every question that holds an
        answer which the codebook does not know, with the answer and its count
    """
    by_name = {recipe.name: recipe for recipe in questions.questions}
    _require_made_alike(by_name, codebook)
    faults: list[str] = []
    codes = room(len(columns[by_name[codebook.names[0]].source]), len(codebook.questions))
    for q, question in enumerate(codebook.questions):
        recipe = by_name[question.name]
        values = columns[recipe.source]
        places = places_under(values, recipe, question, rng)
        lost = places == UNKNOWN
        if lost.any():
            faults.append(_unknown_answers(values[lost], recipe))
        codes[:, q] = places
    if faults:
        raise InputError(
            f"the data hold answers that the codebook of {codebook.question_set!r} does not know:\n"
            + "\n".join(faults)
            + f"\nList each in the question set {questions.name!r} among the values of a category that the "
            "codebook has."
        )
    return codes


def _require_made_alike(recipes: Mapping[str, QuestionRecipe], codebook: Codebook) -> None:
    lacking = [name for name in codebook.names if name not in recipes]
    if lacking:
        raise InputError(f"the codebook has questions that the question set lacks: {', '.join(lacking)}")
    other = [q.name for q in codebook.questions if not _made_alike(recipes[q.name], q)]
    if other:
        raise InputError(
            f"the question set cuts numbers into other classes than the codebook has: {', '.join(other)}; "
            "take the cuts and the values apart from the question set that the codebook was made with"
        )


def _made_alike(recipe: QuestionRecipe, question: Question) -> bool:
    """Whether numbers are cut where a codebook's are, with the same values apart; deciles have its edges."""
    made = DECILES if recipe.deciles else NUMBERS if recipe.numbers else None
    if made != (question.made if question.made in (DECILES, NUMBERS) else None):
        return False
    if recipe.numbers is None:
        return True
    here = {code for code in numbers.codes(recipe.numbers) if code.startswith("=")}
    there = {category.code for category in question.categories if category.code.startswith("=")}
    return recipe.numbers.edges == question.edges and here == there


def places_under(
    values: np.ma.MaskedArray, recipe: QuestionRecipe, question: Question, rng: np.random.Generator
) -> np.ndarray:
    """Return the places of answers among the categories of other records' question.

    Parameters
    ----------
    values : integers or words (n,), masked where blank
    recipe : how the question is made of them
    question : as other records' codebook has it
    rng : splits the ties between deciles

    Returns
    -------
    integers (n,), ``UNKNOWN`` where no category takes the answer
    """
    places, here = _code_question(values, recipe, rng, np.ones(len(values), bool), question.edges)
    at = {category.code: k for k, category in enumerate(question.categories)}
    to = np.array([*(at.get(category.code, UNKNOWN) for category in here.categories), UNKNOWN])
    found = to[places]
    # What that question's records gave a category of its own.
    lost = np.flatnonzero(found == UNKNOWN)
    which, kinds = pd.factorize(values.data[lost])
    own = np.array([at.get(f"{OWN} {kind}", UNKNOWN) for kind in kinds], np.int64)[which]
    found[lost] = np.where(np.ma.getmaskarray(values)[lost], at.get(BLANK, UNKNOWN), own)
    return found


def _code_question(
    values: np.ma.MaskedArray,
    recipe: QuestionRecipe,
    rng: np.random.Generator,
    kept: np.ndarray,
    known_edges: tuple[float, ...] | None = None,
) -> tuple[np.ndarray, Question]:
    """Places of the categories, shape (n,), ``UNKNOWN`` where there is none.

    Deciles are cut at ``known_edges``, if these are given; where there are none, they take no answer.
    """
    edges = np.zeros(0)
    blank = np.ma.getmaskarray(values)
    labels = {c: text if isinstance(text, str) else text.label for c, text in recipe.categories.items()}
    if recipe.missing is not None:
        labels = {MISSING: recipe.missing, **labels}
    if recipe.numbers:
        return _code_numbers(values, recipe, recipe.numbers)
    if recipe.in_words:
        order: list[int | str] = list(labels)
        places = _places_of_words(values, recipe, order)
    else:
        raw = values.filled(0).astype(np.float64)
        codes, taken = _codes_of_numbers(raw, blank, recipe)
        if recipe.deciles:
            known, of = _decile_values(raw, blank, recipe.deciles)
            if known_edges is None:
                codes[known], edges = deciles(of, rng, kept[known])
            else:
                edges = np.array(known_edges)
                codes[known] = np.searchsorted(edges, of + rng.uniform(0, JITTER, len(of)), side="right") + 1
            taken |= known & (known_edges is None or len(edges) > 0)
            shown = kept[known]
            ranges = _decile_labels(of[shown], blank[known & kept], codes[known & kept], recipe.unit)
            labels = {**labels, **ranges}
        order = sorted(labels)
        places = np.where(taken, np.searchsorted(order, codes), UNKNOWN)
    if recipe.missing is not None:
        places[blank] = order.index(MISSING)
    categories = tuple(Category(str(c), labels[c], recipe.values_of(c)) for c in order)
    made = DECILES if recipe.deciles else "merged" if _merges(recipe) else "as coded"
    return places, Question(recipe.name, recipe.label, recipe.source, made, categories, tuple(edges.tolist()))


def _code_numbers(
    values: np.ma.MaskedArray, recipe: QuestionRecipe, classes: NumbersRecipe
) -> tuple[np.ndarray, Question]:
    blank = np.ma.getmaskarray(values)
    which, kinds = pd.factorize(values.data)
    known, found = numbers.places(classes, [str(kind) for kind in kinds])
    whole = not np.any(found[np.isfinite(found)] % 1)
    categories = numbers.categories(classes, whole, recipe.unit)
    places = known[which]
    if recipe.missing is not None:
        categories.insert(0, Category(str(MISSING), recipe.missing, "blank"))
        places = np.where(known >= 0, known + 1, UNKNOWN)[which]
    places[blank] = 0 if recipe.missing is not None else UNKNOWN
    question = Question(recipe.name, recipe.label, recipe.source, NUMBERS, tuple(categories), classes.edges)
    return places, question


def _codes_of_numbers(
    raw: np.ndarray, blank: np.ndarray, recipe: QuestionRecipe
) -> tuple[np.ndarray, np.ndarray]:
    """Category codes (n,), and which of the records have one; deciles come later."""
    codes = np.zeros(len(raw), np.int64)
    taken = np.zeros(len(raw), bool)
    intervals = recipe.intervals()
    if intervals:
        low, high, target = (np.array(part) for part in zip(*intervals, strict=True))
        at = np.searchsorted(low, raw, side="right") - 1
        taken = ~blank & (at >= 0) & (raw <= high[np.maximum(at, 0)])
        codes[taken] = target[at[taken]]
    of_blanks = recipe.blank_code()
    if of_blanks is not None:
        codes[blank] = of_blanks
        taken |= blank
    return codes, taken


def _places_of_words(values: np.ma.MaskedArray, recipe: QuestionRecipe, order: list[int | str]) -> np.ndarray:
    place = {word: order.index(code) for word, code in recipe.words().items()}
    which, kinds = pd.factorize(values.data)
    places = np.array([place.get(kind, UNKNOWN) for kind in kinds], np.int64)[which]
    places[np.ma.getmaskarray(values)] = UNKNOWN
    return places


def _own_categories(
    values: np.ma.MaskedArray, question: Question, kept: np.ndarray
) -> tuple[np.ndarray, Question]:
    """Give each kind of unknown answers (m,) that kept records give a category after the question's own."""
    blank = np.ma.getmaskarray(values)
    found = np.unique(values[kept].compressed())
    extra = [Category(f"{OWN} {v}", f"{v}, not in the question set", str(v)) for v in found.tolist()]
    if (blank & kept).any():
        extra.append(Category(BLANK, "blank, not in the question set", "blank"))
    before = len(question.categories)
    if before + len(extra) > MAX_CATEGORIES:
        raise InputError(
            f"{question.column} would have {before + len(extra):,} categories, more than {MAX_CATEGORIES}: "
            "is it an identifier? Leave it out, or merge its values in the question set."
        )
    places = np.full(len(values), before + len(found) if (blank & kept).any() else UNKNOWN)
    which = pd.Index(found).get_indexer(values.compressed())
    places[~blank] = np.where(which >= 0, before + which, UNKNOWN)
    return places, replace(question, categories=(*question.categories, *extra))


def _merges(recipe: QuestionRecipe) -> bool:
    return any(isinstance(c, CategoryRecipe) for c in recipe.categories.values())


def _decile_values(raw: np.ndarray, blank: np.ndarray, recipe: DecileRecipe) -> tuple[np.ndarray, np.ndarray]:
    """Which records fall into deciles, and the values they are ranked by."""
    if recipe.blank_as is not None:
        return np.ones(len(raw), bool), np.where(blank, recipe.blank_as, raw)
    taken = ~blank & (raw > 0) if recipe.of == "positive" else ~blank
    return taken, raw[taken]


def deciles(
    values: np.ndarray, rng: np.random.Generator, kept: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Cut values into ten parts of equal size, ties split at random.

    Parameters
    ----------
    values : shape (m,)
    rng : draws the jitter, uniform in (0, 0.01), that splits ties
    kept : mask of shape (m,), the values that the parts are of equal size in; all if not given

    Returns
    -------
    deciles : integers 1…10 of shape (m,)
    edges : the nine cuts, of the jittered values; empty if there are no values
    """
    kept = np.ones(len(values), bool) if kept is None else kept
    jittered = values.astype(np.float64)
    jittered[kept] += rng.uniform(0, JITTER, kept.sum())
    # A stream of their own, so that the kept values' parts do not depend on how many others there are.
    jittered[~kept] += rng.spawn(1)[0].uniform(0, JITTER, (~kept).sum())
    edges = np.quantile(jittered[kept], np.arange(1, 10) / 10) if kept.any() else np.zeros(0)
    return np.searchsorted(edges, jittered, side="right") + 1, edges


def _decile_labels(
    values: np.ndarray, blank: np.ndarray, which: np.ndarray, unit: str | None
) -> dict[int | str, str]:
    """Decile -> the range of values it holds, for people."""
    ranges = [_decile_range(values[which == k], blank[which == k], unit) for k in range(1, 11)]
    told: dict[int | str, str] = {}
    for k, text in enumerate(ranges, start=1):
        parts, part = ranges.count(text), ranges[:k].count(text)
        alike = parts > 1 and text != EMPTY
        told[k] = f"decile {k}: {text}" + (f" (part {part} of {parts}, at random)" if alike else "")
    return told


def _decile_range(values: np.ndarray, blank: np.ndarray, unit: str | None) -> str:
    if not len(values):
        return EMPTY
    parts = ["not asked"] if blank.any() else []
    known = values[~blank]
    if len(known):
        low, high = (_amount(v, unit) for v in (known.min(), known.max()))
        parts.append(low if low == high else f"{low}–{high}")
    suffix = f" {unit}" if unit in ("minutes", "hours") and len(known) else ""
    return " or ".join(parts) + suffix


def _spikes(values: np.ma.MaskedArray, recipe: QuestionRecipe, kept: np.ndarray) -> list[str]:
    """The values that make up a tenth or more of those that a question cuts into deciles, for people."""
    assert recipe.deciles is not None
    blank = np.ma.getmaskarray(values)
    known, of = _decile_values(values.filled(0).astype(np.float64), blank, recipe.deciles)
    found, first, counts = np.unique(of[kept[known]], return_index=True, return_counts=True)
    blanks = blank[known & kept][first]
    total = counts.sum()
    return [
        f"{'blank' if b else _amount(v, recipe.unit)} ({count / total:.0%})"
        for v, b, count in zip(found, blanks, counts, strict=True)
        if count > 1 and count >= total / 10
    ]


def _amount(value: float, unit: str | None) -> str:
    sign = "−" if value < 0 else ""
    return f"{sign}{'$' if unit == '$' else ''}{abs(value):,.0f}"


def _unknown_answers(values: np.ma.MaskedArray, recipe: QuestionRecipe) -> str:
    blank = int(np.ma.getmaskarray(values).sum())
    found, counts = np.unique(values.compressed(), return_counts=True)
    parts = [f"{v} ({c:,} records)" for v, c in zip(found[:5].tolist(), counts[:5].tolist(), strict=True)]
    if len(found) > 5:
        parts.append(f"and {len(found) - 5} more values")
    if blank:
        parts.append(f"blank ({blank:,} records)")
    column = "" if recipe.source == recipe.name else f" (column {recipe.source})"
    return f"  {recipe.name}{column}: {', '.join(parts)}"
