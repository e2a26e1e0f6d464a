"""Rules on members of a household: which answers never stand beside each other."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from modp.base.errors import InputError, did_you_mean
from modp.crosstabs.members import Parts, breaking, counts, parts
from modp.survey.codebook import Codebook
from modp.survey.households import ROLES, Codebooks, Households
from modp.survey.questions import chosen

Rule = Mapping[str, str | int | list[int | str]]
"""One or two of a role and its question, ``spouse MAR``, or a question of everybody or of the household,
``TEN``, with the categories that never occur, or never together. Of a role twice, as ``child AGEP`` and
``child SCHL``, two different members are meant; two questions without a role are of one person.
"""


def broken(rules: Sequence[Rule], households: Households) -> dict[str, np.ndarray]:
    """Return which households break rules: each rule that any does, as people write it -> bool (M,).

    Raises
    ------
    InputError
        if a rule cannot be read
    """
    each = dict(_each(rules, households.codebook))
    some = np.flatnonzero(breaking(households, _all(each.values(), households.codebook)))
    found = {}
    for told, cells in each.items():
        mine = np.zeros(len(households), bool)
        mine[some] = breaking(households[some], cells)
        if mine.any():
            found[told] = mine
    return found


def stated(rules: Sequence[Rule], true: Households) -> Parts:
    """Return the cells that rules call impossible, bool.

    Raises
    ------
    InputError
        if a rule cannot be read, or true households hold what it calls impossible
    """
    none = np.full(true.persons.codes.shape[1], -1)
    counted = counts(true, none, int(true.sizes.max()))
    each = dict(_each(rules, true.codebook))
    faults = []
    for told, cells in each.items():
        both = zip(counted[:-1], cells[:-1], strict=True)  # but for agreements, of which no rule is
        held = max(int(of[no].max(initial=0)) for of, no in both)
        if held:
            faults.append(f"{told}: up to {held:,} times in one cell")
    if faults:
        raise InputError("true households hold what is called impossible:\n  " + "\n  ".join(faults))
    return _all(each.values(), true.codebook)


def excluded(rules: Sequence[Rule], books: Codebooks) -> Parts:
    """Return the cells that rules call impossible, bool, whatever true households hold.

    Raises
    ------
    InputError
        if a rule cannot be read
    """
    return _all((cells for _, cells in _each(rules, books)), books)


def _none(books: Codebooks) -> Parts:
    return parts(int(books.persons.block_starts[-1]), int(books.homes.block_starts[-1]), 0, 0, bool)


def _each(rules: Sequence[Rule], books: Codebooks) -> Iterator[tuple[str, Parts]]:
    """Every rule as people write it, and its cells."""
    for rule in rules:
        told = " with ".join(f"{name}: {wanted}" for name, wanted in rule.items())
        try:
            yield told, _cells(rule, books)
        except ValueError as fault:
            raise InputError(f"impossible: {told}: {fault}") from None


def _all(each: Iterable[Parts], books: Codebooks) -> Parts:
    """The cells of some rules together."""
    found = _none(books)
    for cells in each:
        for whole, part in zip(found, cells, strict=True):
            whole |= part
    return found


def _cells(rule: Rule, books: Codebooks) -> Parts:
    """The cells of one rule."""
    if len(rule) not in (1, 2):
        raise ValueError(f"name one or two questions, not {len(rule)}")
    found = _none(books)
    sides = [_side(name, wanted, books) for name, wanted in rule.items()]
    (kind, one), (other_kind, other) = sides[0], sides[-1]
    if len(sides) == 1:
        part = {"home": found.home, "": found.single}.get(kind)
        if part is None:
            found.single[ROLES.index(kind), one] = True
        else:
            part[..., one] = True
        return found
    if {kind, other_kind} == {"home"} or {kind, other_kind} == {""}:
        table = found.between if kind == "home" else found.person
        table[np.ix_(one, other)] = table[np.ix_(other, one)] = True
    elif "home" in (kind, other_kind):
        role, answers, homes = (kind, one, other) if other_kind == "home" else (other_kind, other, one)
        for a in range(len(ROLES)) if role == "" else [ROLES.index(role)]:
            found.own[a][np.ix_(answers, homes)] = True
    elif "" in (kind, other_kind) or (kind == other_kind and kind in ROLES[:2]):
        raise ValueError("name the roles of two different members, or of neither")
    else:
        a, b = ROLES.index(kind), ROLES.index(other_kind)
        found.pair[a, b][np.ix_(one, other)] = True
        found.pair[b, a][np.ix_(other, one)] = True
    return found


def _side(name: str, wanted: str | int | list[int | str], of: Codebooks) -> tuple[str, np.ndarray]:
    """Whose answers a rule's key means, ``home``, a role or nothing for everybody's; and their columns."""
    role, _, question = name.rpartition(" ")
    if role and role not in ROLES:
        raise ValueError(f"there is no role {role!r}{did_you_mean(role, ROLES)}")
    books: dict[str, Codebook] = {role: of.persons}
    if not role:
        books["home"] = of.homes
    for kind, book in books.items():
        if question in book.names:
            at = book.names.index(question)
            codes = [category.code for category in book.questions[at].categories]
            in_words = not all(code.lstrip("-").isdigit() for code in codes)
            meant = chosen(wanted, question, codes, in_words)
            return kind, book.block_starts[at] + np.array([codes.index(code) for code in meant])
    known = [name for book in books.values() for name in book.names]
    raise ValueError(f"there is no question {question!r}{did_you_mean(question, known)}")
