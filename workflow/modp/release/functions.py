"""Questions whose answers follow from others': classes of a number, groups of codes, the same again."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

UNKNOWN = -1
"""Of an answer from which none is known to follow."""


@dataclass(frozen=True)
class Answered:
    """What records answer to a question: texts, objects (n,), and the numbers that these are, or NaN."""

    texts: np.ndarray
    numbers: np.ndarray


@dataclass(frozen=True)
class Function:
    """Which answer follows from another, as true records have it; by the answers to a third question.

    kinds : the answers that follow, m of them
    codes : (m,), the category of each
    words : by answer to the third question -> answer -> the place among kinds
    amounts : by the same -> numbers, rising, and the places of what follows from them
    """

    kinds: tuple[str, ...]
    codes: np.ndarray
    words: Mapping[str, Mapping[str, int]]
    amounts: Mapping[str, tuple[np.ndarray, np.ndarray]]

    def of(self, answered: Answered, by: np.ndarray | None = None) -> np.ndarray:
        """Return what follows from answers (r,), as places among the kinds, ``UNKNOWN`` where nothing does.

        From a number that no true record gives follows what does from the nearest.

        Parameters
        ----------
        by : the same records' answers to the third question, objects (r,)
        """
        found = np.full(len(answered.texts), UNKNOWN)
        for one, rows in _parts(by, len(found)):
            if one not in self.words:
                continue
            rising, places = self.amounts[one]
            numbers = answered.numbers[rows]
            if len(rising):
                nearest = np.searchsorted((rising[1:] + rising[:-1]) / 2, numbers)
                found[rows] = np.where(np.isfinite(numbers), places[nearest], UNKNOWN)
            others = rows[~np.isfinite(numbers)]
            known = pd.Series(answered.texts[others]).map(self.words[one]).fillna(UNKNOWN)
            found[others] = known.to_numpy(np.int64)
        return found

    def answers(self, places: np.ndarray, shown: Callable[[int, str], str]) -> np.ndarray:
        """Return the answers at these places, objects (r,); of each kind what is shown of it.

        Parameters
        ----------
        shown : category, answer -> the answer that stands for it, everywhere the same
        """
        kinds = np.array([*self.kinds, ""], object)
        for at in np.unique(places[places != UNKNOWN]).tolist():
            kinds[at] = shown(int(self.codes[at]), self.kinds[at])
        return kinds[places]


def _parts(by: np.ndarray | None, size: int) -> Sequence[tuple[str, np.ndarray]]:
    """Records by the answer to a third question; all in one part if there is none."""
    if by is None:
        return [("", np.arange(size))]
    which, kinds = pd.factorize(by)
    order = np.argsort(which, kind="stable")
    ends = np.cumsum(np.bincount(which, minlength=len(kinds)))
    return list(zip(kinds.tolist(), np.split(order, ends[:-1]), strict=True))


def learnt(of: Answered, by: np.ndarray | None, follows: np.ndarray, codes: np.ndarray) -> Function:
    """Learn what follows from what.

    Parameters
    ----------
    of : the true records' answers from which others follow
    by : their answers to a third question, objects (n,), where these matter
    follows, codes : (n,), the answers that follow, and their categories
    """
    places, kinds = pd.factorize(follows)
    category = np.zeros(len(kinds), np.int64)
    category[places] = codes
    words, amounts = {}, {}
    for one, rows in _parts(by, len(places)):
        numeric = np.isfinite(of.numbers[rows])
        rising, first = np.unique(of.numbers[rows[numeric]], return_index=True)
        amounts[one] = rising, places[rows[numeric]][first]
        others = rows[~numeric]
        words[one] = dict(zip(of.texts[others].tolist(), places[others].tolist(), strict=True))
    return Function(tuple(map(str, kinds)), category, words, amounts)
