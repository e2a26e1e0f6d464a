"""What becomes of each column of anybody's table."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from modp.files import keys
from modp.files.answers import WIDE, as_categories, as_dates, as_numbers
from modp.files.decision import Decision, size
from modp.files.look import Look, share
from modp.files.naming import question_names
from modp.files.relations import relations
from modp.files.table import Table
from modp.survey.codebook import MAX_CATEGORIES

ENOUGH = 1500
"""Categories altogether that a table is held to by merging rare answers of its widest columns."""

NARROW = 60
"""Categories that each column keeps nevertheless."""

LONG = 25
"""Letters of an answer, on average, from which on it is no code but a text."""


def decide(table: Table) -> list[Decision]:
    """Return what becomes of each column, in the table's order.

    A column is left out where it says nothing (all blank, constant) or where each answer is one person's
    (identifiers, free text) or there are too many words; weights and the key of households are told by
    name and by behaviour; all others become questions, of categories, numbers or dates. A table of more than
    1,500 categories gets fewer, as :func:`_narrowed` says. What holds between columns in all rows is found by
    :func:`modp.files.relations.relations`.
    """
    names = tuple(table.names)
    looks = [
        Look(column, name, names) for column, name in zip(table.columns, question_names(names), strict=True)
    ]
    known = [look for look in looks if left_out(look) is None]
    about = {decision.column: decision for decision in about_records(known)}
    decisions = [about.get(look.column.name) or decide_one(look) for look in looks]
    decisions = _narrowed(looks, decisions)
    found = relations(looks, decisions)
    return [replace(decision, relations=tuple(found.get(decision.column, ()))) for decision in decisions]


def _narrowed(looks: Sequence[Look], decisions: list[Decision]) -> list[Decision]:
    """Decisions with rare answers merged where the table has too many categories for a quick fit.

    Every column may have as many categories as keep the table within 1,500, but 60 at least, 300 at most.
    """
    sizes = np.array([size(decision) for decision in decisions])
    wide = np.array([decision.kind == "categories" for decision in decisions])
    limits = range(WIDE, NARROW - 1, -1)
    held = (limit for limit in limits if np.where(wide, np.minimum(sizes, limit), sizes).sum() <= ENOUGH)
    limit = next(held, NARROW)
    return [
        as_categories(look, limit) if decision.kind == "categories" and len(look.kinds) > limit else decision
        for look, decision in zip(looks, decisions, strict=True)
    ]


def about_records(looks: Sequence[Look]) -> list[Decision]:
    """Return the decisions on weights, replicate weights and the key of households."""
    found: dict[str, Decision] = {}
    for stem, members in keys.replicate_weights(looks).items():
        why = f"replicate weights, {stem}… numbered from {members[0].removeprefix(stem)} on"
        found |= {name: Decision(name, "replicate weight", why) for name in members}
    for look in looks:
        name = look.column.name
        if name not in found and keys.is_weight(look):
            found[name] = Decision(name, "weight", "a survey weight, by its name and its positive numbers")
    key = keys.household([look for look in looks if look.column.name not in found])
    if key:
        name, why = key
        look = next(look for look in looks if look.column.name == name)
        rows = look.answered / len(look.kinds)
        why = f"{why}: {len(look.kinds):,} values, {rows:.1f} rows each, held out together"
        found[name] = Decision(name, "household", why)
    return list(found.values())


def decide_one(look: Look) -> Decision:
    """Return what becomes of a column that is neither a weight nor the key of households."""
    rules: list[Callable[[Look], Decision | None]] = [
        left_out, as_dates, as_identifier, as_numbers, as_free_text, as_many_words,
    ]  # fmt: skip
    found = (rule(look) for rule in rules)
    return next((decision for decision in found if decision), None) or as_categories(look)


def left_out(look: Look) -> Decision | None:
    """Return the decision that a column says nothing: it is all blank, or the same in every row."""
    if not look.kinds:
        return Decision(look.column.name, "all blank", "no row has an answer")
    if len(look.kinds) == 1 and not look.blanks and look.rows > 1:
        return Decision(look.column.name, "constant", "the same answer in every row")
    return None


def as_identifier(look: Look) -> Decision | None:
    """Return the decision that a column identifies rows, or None."""
    if _is_text(look):
        return None
    why = keys.identifier(look)
    return Decision(look.column.name, "identifier", why) if why else None


def as_free_text(look: Look) -> Decision | None:
    """Return the decision that people wrote what they liked: long answers, most of them different."""
    different = len(look.kinds) / look.answered
    if look.answered < 10 or different < 0.5 or not _is_text(look):
        return None
    why = f"free text: {share(len(look.kinds), look.answered)} of the answers differ, and they are long"
    return Decision(look.column.name, "free text", why)


def as_many_words(look: Look) -> Decision | None:
    """Return the decision that a column has more different answers than a question may have, or None."""
    if len(look.kinds) <= MAX_CATEGORIES:
        return None
    why = (
        f"{len(look.kinds):,} different words or codes, more than {MAX_CATEGORIES:,}; "
        "merge them into fewer in the file to keep the column"
    )
    return Decision(look.column.name, "many words", why)


def _is_text(look: Look) -> bool:
    """Whether answers are long and of several words, not of a few letters as codes and names are."""
    words = [kind for kind, number in zip(look.kinds, ~np.isnan(look.values), strict=True) if not number]
    if len(words) < len(look.kinds) / 2:
        return False
    letters = sum(map(len, words)) / len(words)
    spaces = sum(word.count(" ") for word in words) / len(words)
    return letters >= LONG and spaces >= 2
