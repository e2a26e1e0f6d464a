"""What of a household is computed of its members, and never drawn."""

import numpy as np

from modp.base.errors import InputError, did_you_mean
from modp.survey.households import ROLES, Households
from modp.survey.questions import Derived, chosen

EVERYBODY = "persons"
"""What ``number`` says for all members."""


def computed(question: Derived, households: Households) -> np.ndarray:
    """Return what each household answers to a question that is computed of codes: int64 (M,).

    Parameters
    ----------
    question : one of ``number`` or ``present``; ``sum`` is of numbers, see :func:`summed`

    Raises
    ------
    InputError
        if it names a role or a category that there is not
    """
    if question.number is not None:
        if question.number == EVERYBODY:
            return households.sizes
        of = _of_role(question.number, question, households)
        return np.bincount(households.household, of, len(households)).astype(np.int64)
    assert question.present is not None
    members = _of_role(question.present, question, households) if isinstance(question.present, str) else None
    if members is None:
        members = _who_answer(question, households)
    return (np.bincount(households.household, members, len(households)) > 0).astype(np.int64)


def _of_role(role: str, question: Derived, households: Households) -> np.ndarray:
    if role not in ROLES:
        raise InputError(f"derived: {question.name}: there is no role {role!r}{did_you_mean(role, ROLES)}")
    return households.roles == ROLES.index(role)


def _who_answer(question: Derived, households: Households) -> np.ndarray:
    """Who gives one of the answers that ``present`` names, bool (N,)."""
    assert isinstance(question.present, dict)
    ((name, wanted),) = question.present.items()
    role, _, asked = name.rpartition(" ")
    at = households.persons.codebook.names.index(asked)
    codes = [category.code for category in households.persons.codebook.questions[at].categories]
    in_words = not all(code.lstrip("-").isdigit() for code in codes)
    try:
        meant = [codes.index(code) for code in chosen(wanted, asked, codes, in_words)]
    except ValueError as fault:
        raise InputError(f"derived: {question.name}: {fault}") from None
    found = np.isin(households.persons.codes[:, at], meant)
    return found & _of_role(role, question, households) if role else found


def summed(amounts: np.ndarray, households: Households) -> np.ndarray:
    """Return the sum of what a household's members answer, float64 (M,); NaN where none of them does.

    Parameters
    ----------
    amounts : float64 (N,), NaN where a person has none
    """
    known = np.isfinite(amounts)
    of, size = households.household, len(households)
    sums = np.bincount(of, np.where(known, amounts, 0.0), size)
    return np.where(np.bincount(of, known, size) > 0, sums, np.nan)
