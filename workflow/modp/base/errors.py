"""Errors that are meant to be read by a person."""

import difflib
from collections.abc import Iterable


class InputError(Exception):
    """Something the user gave (a file, a column, a key) cannot be used.

    The message says what is wrong, where, and what to do; it is shown without a traceback.
    """


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the nearest of ``known``, or an empty string."""
    spelt = {str(k).casefold(): str(k) for k in known}
    near = difflib.get_close_matches(str(word).casefold(), spelt, n=1, cutoff=0.5)
    return f"; did you mean {spelt[near[0]]!r}?" if near else ""
