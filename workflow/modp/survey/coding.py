"""Coding: raw columns become codes, by the recipes of a question set."""

import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from modp.base.errors import InputError
from modp.base.rows import room, row_groups
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
    codes = room((len(kept), len(questions.questions)), np.int16)
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
    own = any(c.code == BLANK or c.code.startswith(f"{OWN} ") for q in made for c in q.categories)
    order = tuple(questions.heat_map_order)
    functions = tuple((relation.names[0], relation.names[1]) for relation in questions.functions)
    found = questions.from_records or own
    codebook = Codebook(questions.name, tuple(made), pairs, order, found, functions)
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
    size = len(columns[by_name[codebook.names[0]].source])
    codes = room((size, len(codebook.questions)), np.int16)
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
    int16 (n,), ``UNKNOWN`` where no category takes the answer
    """
    places, here = _code_question(values, recipe, rng, np.ones(len(values), bool), question.edges)
    at = {category.code: k for k, category in enumerate(question.categories)}
    to = np.array([*(at.get(category.code, UNKNOWN) for category in here.categories), UNKNOWN], np.int16)
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
    """Places of the categories, int16 (n,), ``UNKNOWN`` where there is none.

    Deciles are cut at ``known_edges``, if these are given; where there are none, they take no answer.
    """
    if recipe.numbers:
        return _code_numbers(values, recipe, recipe.numbers)
    labels = {c: text if isinstance(text, str) else text.label for c, text in recipe.categories.items()}
    if recipe.missing is not None:
        labels = {MISSING: recipe.missing, **labels}
    cut = None
    if recipe.deciles:
        cut = _cut(values, recipe.deciles, rng, kept, known_edges)
        labels |= _decile_labels(values, cut, kept, recipe)
    order: list[int | str] = list(labels) if recipe.in_words else sorted(labels)
    places = np.empty(len(values), np.int16)
    for at in row_groups(len(values)):
        if recipe.in_words:
            places[at] = _places_of_words(values[at], recipe, order)
        else:
            places[at] = _places_of_numbers(values[at], recipe, order, cut and cut[at])
    if recipe.missing is not None:
        places[np.ma.getmaskarray(values)] = order.index(MISSING)
    categories = tuple(Category(str(c), labels[c], recipe.values_of(c)) for c in order)
    made = DECILES if cut else "merged" if _merges(recipe) else "as coded"
    edges = cut.edges if cut else ()
    return places, Question(recipe.name, recipe.label, recipe.source, made, categories, edges)


def _code_numbers(
    values: np.ma.MaskedArray, recipe: QuestionRecipe, classes: NumbersRecipe
) -> tuple[np.ndarray, Question]:
    places, whole = np.empty(len(values), np.int16), True
    before = 0 if recipe.missing is None else 1
    for at in row_groups(len(values)):
        which, kinds = pd.factorize(values.data[at])
        known, found = numbers.places(classes, [str(kind) for kind in kinds])
        whole &= not np.any(found[np.isfinite(found)] % 1)
        places[at] = np.where(known >= 0, known + before, UNKNOWN)[which]
    categories = numbers.categories(classes, whole, recipe.unit)
    if recipe.missing is not None:
        categories.insert(0, Category(str(MISSING), recipe.missing, "blank"))
    places[np.ma.getmaskarray(values)] = 0 if recipe.missing is not None else UNKNOWN
    question = Question(recipe.name, recipe.label, recipe.source, NUMBERS, tuple(categories), classes.edges)
    return places, question


def _places_of_numbers(
    values: np.ma.MaskedArray, recipe: QuestionRecipe, order: Sequence[int | str], cut: "_Cut | None"
) -> np.ndarray:
    """Places of whole numbers, those of deciles as they are cut."""
    raw, blank = values.filled(0).astype(np.float64), np.ma.getmaskarray(values)
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
    if cut:
        ranked = cut.tenths > 0
        codes[ranked] = cut.tenths[ranked]
        taken |= ranked & (len(cut.edges) > 0)
    return np.where(taken, np.searchsorted(order, codes), UNKNOWN)


def _places_of_words(
    values: np.ma.MaskedArray, recipe: QuestionRecipe, order: Sequence[int | str]
) -> np.ndarray:
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


@dataclass(frozen=True)
class _Cut:
    """Numbers cut into deciles.

    tenths : int8 (n,), 1…10, 0 where a record is in none
    edges : the nine cuts; none if there were no values
    """

    tenths: np.ndarray
    edges: tuple[float, ...]

    def __getitem__(self, at: slice) -> "_Cut":
        """Return those of some rows."""
        return _Cut(self.tenths[at], self.edges)


def _cut(
    values: np.ma.MaskedArray,
    recipe: DecileRecipe,
    rng: np.random.Generator,
    kept: np.ndarray,
    known_edges: tuple[float, ...] | None,
) -> _Cut:
    """Cut raw numbers (n,) into deciles, at ``known_edges`` if these are given."""
    ranked, of = _ranked(values, recipe)
    if known_edges is None:
        parts, found = deciles(of, rng, kept[ranked])
        edges = tuple(found.tolist())
    else:
        parts = _tenths(_jittered(of, np.ones(len(of), bool), rng, rng), np.array(known_edges))
        edges = known_edges
    tenths = np.zeros(len(values), np.int8)
    tenths[ranked] = parts
    return _Cut(tenths, edges)


def _ranked(values: np.ma.MaskedArray, recipe: DecileRecipe) -> tuple[np.ndarray, np.ndarray]:
    """Which of the records (n,) fall into deciles, and the values that these are ranked by."""
    blank = np.ma.getmaskarray(values)
    if recipe.blank_as is not None:
        return np.ones(len(values), bool), np.where(blank, recipe.blank_as, values.data)
    ranked = ~blank & (values.data > 0) if recipe.of == "positive" else ~blank
    return ranked, values.data[ranked]


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
    deciles : int8 1…10 of shape (m,)
    edges : the nine cuts, of the jittered values; empty if there are no values
    """
    kept = np.ones(len(values), bool) if kept is None else kept
    # A stream of their own, so that the kept values' parts do not depend on how many others there are.
    jittered = _jittered(values, kept, rng, rng.spawn(1)[0])
    among = jittered[kept]
    edges = np.quantile(among, np.arange(1, 10) / 10, overwrite_input=True) if len(among) else np.zeros(0)
    return _tenths(jittered, edges), edges


def _jittered(
    values: np.ndarray, kept: np.ndarray, rng: np.random.Generator, rng_of_others: np.random.Generator
) -> np.ndarray:
    """Values (m,) with the jitter that splits ties, float64."""
    found = np.empty(len(values))
    for at in row_groups(len(values)):
        mine, part = kept[at], values[at].astype(np.float64)
        part[mine] += rng.uniform(0, JITTER, mine.sum())
        part[~mine] += rng_of_others.uniform(0, JITTER, (~mine).sum())
        found[at] = part
    return found


def _tenths(jittered: np.ndarray, edges: np.ndarray) -> np.ndarray:
    found = np.empty(len(jittered), np.int8)
    for at in row_groups(len(jittered)):
        found[at] = np.searchsorted(edges, jittered[at], side="right") + 1
    return found


def _decile_labels(
    values: np.ma.MaskedArray, cut: _Cut, kept: np.ndarray, recipe: QuestionRecipe
) -> dict[int | str, str]:
    """Decile -> the range of the kept records' values that it holds, for people."""
    lows, highs, blanks = np.full(11, np.inf), np.full(11, -np.inf), np.zeros(11, bool)
    for at in row_groups(len(values)):
        tenths, blank = cut.tenths[at] * kept[at], np.ma.getmaskarray(values[at])
        blanks |= np.bincount(tenths[blank], minlength=11) > 0
        np.minimum.at(lows, tenths[~blank], values.data[at][~blank])
        np.maximum.at(highs, tenths[~blank], values.data[at][~blank])
    ranges = [_decile_range(lows[k], highs[k], bool(blanks[k]), recipe.unit) for k in range(1, 11)]
    told: dict[int | str, str] = {}
    for k, text in enumerate(ranges, start=1):
        parts, part = ranges.count(text), ranges[:k].count(text)
        alike = parts > 1 and text != EMPTY
        told[k] = f"decile {k}: {text}" + (f" (part {part} of {parts}, at random)" if alike else "")
    return told


def stated_labels(question: Question, recipe: QuestionRecipe) -> list[str]:
    """Return a question's labels by its recipe and the edges of deciles, without those that records made."""
    labels = {category.code: category.label for category in question.categories}
    if recipe.numbers:
        whole = (recipe.step or 1) % 1 == 0
        labels |= {c.code: c.label for c in numbers.categories(recipe.numbers, whole, recipe.unit)}
    ends = np.rint([-np.inf, *question.edges, np.inf]).tolist() if question.made == DECILES else []
    for k, (low, high) in enumerate(itertools.pairwise(ends), start=1):
        part = numbers.Interval(str(k), low, high)
        labels[str(k)] = f"decile {k}: {numbers.label(NumbersRecipe(), part, False, recipe.unit)}"
    return [labels[category.code] for category in question.categories]


def _decile_range(low: float, high: float, blanks: bool, unit: str | None) -> str:
    if low > high:
        return "not asked" if blanks else EMPTY
    least, most = _amount(low, unit), _amount(high, unit)
    known = least if least == most else f"{least}–{most}"
    suffix = f" {unit}" if unit in ("minutes", "hours") else ""
    return f"{'not asked or ' if blanks else ''}{known}{suffix}"


def _spikes(values: np.ma.MaskedArray, recipe: QuestionRecipe, kept: np.ndarray) -> list[str]:
    """The values that make up a tenth or more of those that a question cuts into deciles, for people."""
    assert recipe.deciles is not None
    counts, blanks = Counter[float](), dict[float, bool]()
    for at in row_groups(len(values)):
        ranked, of = _ranked(values[at], recipe.deciles)
        found, first, some = np.unique(of[kept[at][ranked]], return_index=True, return_counts=True)
        of_blanks = np.ma.getmaskarray(values[at])[ranked & kept[at]][first]
        counts.update(dict(zip(found.tolist(), some.tolist(), strict=True)))
        blanks = dict(zip(found.tolist(), of_blanks.tolist(), strict=True)) | blanks
    total = counts.total()
    return [
        f"{'blank' if blanks[v] else _amount(v, recipe.unit)} ({counts[v] / total:.0%})"
        for v in sorted(counts)
        if counts[v] > 1 and counts[v] >= total / 10
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
