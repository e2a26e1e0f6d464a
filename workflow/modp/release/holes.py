"""Which answers of a table are missing, and which blanks are answers: not asked, not chosen."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from modp.crosstabs.pairs import crosstab
from modp.files.look import RECORDS, share
from modp.files.table import Table
from modp.survey.codebook import Question
from modp.survey.questions import QuestionRecipe, QuestionSet
from modp.survey.records import Records

NEARLY_ALL = 0.99
"""Of a question's blanks, that lie where some answer to another always goes with one: it was not asked."""


@dataclass(frozen=True)
class Found:
    """Which categories are no answers.

    missing : bool (K,), those that are to be filled
    said : sentences on what was taken for what, and why
    """

    missing: np.ndarray
    said: tuple[str, ...]


def found(table: Table, questions: QuestionSet, records: Records) -> Found:
    """Find the categories of coded records that stand for a missing answer.

    Where a question has ``no_answer``, these. Else: what the file declares missing (refused, do not know);
    and blanks, unless they are answers. Blanks are answers where beside them there is one answer alone, as of
    boxes that are ticked; and where nearly all of them lie where some answer to another question is always
    followed by a blank, or where its number is below, or above, those of all who answered: as to questions
    that only some are asked.

    Parameters
    ----------
    table : the records' raw answers
    questions : how they were coded
    """
    codebook = records.codebook
    recipes = {recipe.name: recipe for recipe in questions.questions}
    counts, starts = crosstab(records), codebook.block_starts
    missing, blank = np.zeros((2, starts[-1]), bool)
    said: list[str] = []
    for q, question in enumerate(codebook.questions):
        recipe, block = recipes[question.name], slice(starts[q], starts[q + 1])
        if recipe.no_answer is not None:
            named = set(map(str, recipe.no_answer))
            missing[block] = [category.code in named for category in question.categories]
        else:
            missing[block] = _declared(table, question, records.codes[:, q])
            blank[block] = _of_blanks(question, recipe)
    missing |= blank
    for q, question in enumerate(codebook.questions):
        block = slice(starts[q], starts[q + 1])
        for at in np.flatnonzero(blank[block] & (np.diag(counts)[block] > 0)):
            why = _why_an_answer(counts, records, missing, int(starts[q] + at), q)
            why = why or _why_by_number(table, recipes, records, int(at), q)
            if why:
                said.append(f"{question.name}: blanks are taken for an answer: {why}")
                blank[starts[q] + at] = False
                missing[starts[q] + at] = False
    return Found(missing, (*_filled(records, missing, counts), *said))


def _declared(table: Table, question: Question, codes: np.ndarray) -> np.ndarray:
    """Those categories of a question of which the file declares every answer to be missing."""
    column = table[question.column]
    size = len(question.categories)
    declared = np.array([*(kind in column.missing for kind in column.kinds.tolist()), False], bool)
    there = np.bincount(codes, minlength=size)
    return (np.bincount(codes, declared[column.places], minlength=size) == there) & (there > 0)


def _of_blanks(question: Question, recipe: QuestionRecipe) -> list[bool]:
    """Which category is that of blanks and of nothing else."""
    return [c.values == "blank" and (c.code == "-1" or not recipe.in_words) for c in question.categories]


def _why_an_answer(counts: np.ndarray, records: Records, missing: np.ndarray, at: int, q: int) -> str:
    """Why the blanks of category ``at`` of question ``q`` are no missing answers; nothing if they are."""
    codebook, starts, there = records.codebook, records.block_starts, np.diag(counts)
    block = slice(starts[q], starts[q + 1])
    answers = (there[block] > 0) & ~missing[block]
    if answers.sum() == 1:
        return "beside them there is one answer alone"
    best, found = 0.0, ""
    for r, other in enumerate(codebook.questions):
        if r == q:
            continue
        own = np.arange(starts[r], starts[r + 1])
        always = own[(counts[at, own] == there[own]) & (there[own] >= RECORDS) & ~missing[own]]
        covered = counts[at, always].sum() / there[at]
        if covered >= NEARLY_ALL and covered > best:
            best = covered
            labels = [other.labels[k - starts[r]] for k in always.tolist()]
            more = f" and {len(labels) - 3} more" if len(labels) > 3 else ""
            found = f"all with {other.name} {', '.join(labels[:3])}{more} have one, and nearly nobody else"
    return found


def _why_by_number(
    table: Table, recipes: Mapping[str, QuestionRecipe], records: Records, at: int, q: int
) -> str:
    """The same, of blanks that go with numbers below, or above, those of all who answered."""
    blank = records.codes[:, q] == at
    for r, other in enumerate(records.codebook.questions):
        classes = recipes[other.name].numbers
        if r == q or classes is None:
            continue
        column = table[other.column]
        known = [None if kind in classes.words else classes.value(kind) for kind in column.kinds.tolist()]
        values = np.array([*(np.nan if v is None else v for v in known), np.nan])[column.places]
        if np.isnan(values[~blank]).all():
            continue
        low, high = float(np.nanmin(values[~blank])), float(np.nanmax(values[~blank]))
        for outside, word, end in ((values < low, "below", low), (values > high, "above", high)):
            if outside.sum() >= max(RECORDS, NEARLY_ALL * blank.sum()):
                return f"all with {other.name} {word} {classes.written(end)} have one, and nearly nobody else"
    return ""


def _filled(records: Records, missing: np.ndarray, counts: np.ndarray) -> list[str]:
    """What is missing in each question, the most first."""
    there, n = np.diag(counts), max(len(records), 1)
    lines = []
    for q, question in enumerate(records.codebook.questions):
        first = records.block_starts[q]
        own = [k for k in range(len(question.categories)) if missing[first + k] and there[first + k]]
        total = int(sum(there[first + k] for k in own))
        if own:
            labels = ", ".join(question.labels[k] for k in own)
            lines.append((total, f"{question.name}: {share(total, n)} missing ({labels})"))
    return [text for _, text in sorted(lines, key=lambda line: -line[0])]
