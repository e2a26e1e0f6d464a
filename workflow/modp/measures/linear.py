"""Linear reconstruction: a secret of everybody, solved from the crosstabs of a synthetic table.

After Annamalai, Gadotti and Rocher (2024, arXiv:2301.10053). Codes are of shape (n, Q).
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

PAIRED = 10
"""Questions whose pairs are counted, those of the most varied answers, since these divide people most."""

STEPS = 40
"""Of the solution: more fit the synthetic table's chance more closely and find hardly more."""


def singled(answers: np.ndarray, size: int, ordered: bool) -> np.ndarray:
    """Return which of a question's categories are the secret one: bool (size,).

    Parameters
    ----------
    answers : codes (n,)
    ordered : the upper half of the answers, otherwise the commonest one
    """
    counts = np.bincount(answers, minlength=size)
    if ordered:
        return np.cumsum(counts) - counts / 2 > len(answers) / 2
    return np.arange(size) == counts.argmax()


def reconstructed(people: np.ndarray, synthetic: np.ndarray, question: int, secret: np.ndarray) -> np.ndarray:
    """Return how likely each of the people gives a secret answer, from their others and a synthetic table.

    Queries are the numbers of people with a secret answer who share one other answer, and those who share
    two, of the ``PAIRED`` questions that vary most. Each must be the number of people who share them, which
    the attacker knows, times the share of secret answers among the synthetic records that do: a count alone,
    scaled, would also carry the chance of how many records do. Squares are weighted by one over the number of
    people, as their variances are. Then the queries of one question or pair are a projection, and the
    gradient's Lipschitz constant is the number of these.

    Parameters
    ----------
    people, synthetic : codes of the people attacked and of what the attacker has
    secret : bool, of each category of the question

    Returns
    -------
    shape (n,), in [0, 1]: the bounded least squares' solution after ``STEPS`` of FISTA (Beck and Teboulle,
    2009), from the share of secret answers in the synthetic table
    """
    told = secret[synthetic[:, question]].astype(float)
    asked = queries(people, synthetic, question)
    mine = np.array([query.cells(people) for query in asked], np.int64).reshape(-1, len(people))
    size = asked[-1].end if asked else 1
    known, of_theirs, secrets = np.bincount(mine.ravel(), minlength=size), np.zeros(size), np.zeros(size)
    for query in asked:
        # One after the other: of a large table no more is held than one query's cells.
        theirs = query.cells(synthetic)
        of_theirs += np.bincount(theirs, minlength=size)
        secrets += np.bincount(theirs, told, size)
    share = secrets / np.maximum(of_theirs, 1)
    weight = (of_theirs > 0) / np.maximum(known, 1)
    step = 1 / max(len(mine), 1)
    found = np.full(len(people), told.mean())
    ahead, pace = found, 1.0
    for _ in range(STEPS):
        missing = weight * (share * known - _sums(mine, ahead, size))
        before, slower = found, (1 + np.sqrt(1 + 4 * pace**2)) / 2
        found = np.clip(ahead + step * missing[mine].sum(axis=0), 0, 1)
        ahead, pace = found + (pace - 1) / slower * (found - before), slower
    return found


@dataclass(frozen=True)
class Query:
    """The table of one other question, or of two: its cells' numbers go from ``start`` to before ``end``."""

    start: int
    end: int
    first: int
    second: int | None = None
    second_size: int = 1

    def cells(self, codes: np.ndarray) -> np.ndarray:
        """Return which cell everybody is in, int64 (n,)."""
        cell = codes[:, self.first].astype(np.int64)
        if self.second is not None:
            cell *= self.second_size
            cell += codes[:, self.second]
        cell += self.start
        return cell


def queries(people: np.ndarray, synthetic: np.ndarray, question: int) -> list[Query]:
    """Return the tables of one other question, then of two, one after the other."""
    others = [q for q in range(people.shape[1]) if q != question]
    varied = sorted(others, key=lambda q: _entropy(synthetic[:, q]), reverse=True)[:PAIRED]
    highest = [side.max(axis=0, initial=0) for side in (people, synthetic)]
    sizes = (np.maximum(*highest).astype(np.int64) + 1).tolist()
    made: list[Query] = []
    for first, *more in [*((q,) for q in others), *combinations(varied, 2)]:
        start, second_size = made[-1].end if made else 0, sizes[more[0]] if more else 1
        end = start + sizes[first] * second_size
        made.append(Query(start, end, first, more[0] if more else None, second_size))
    return made


def _sums(cell: np.ndarray, numbers: np.ndarray, size: int) -> np.ndarray:
    """Sum of a number of each person over the people in each cell."""
    return np.bincount(cell.ravel(), np.tile(numbers, len(cell)), size)


def _entropy(answers: np.ndarray) -> float:
    shares = np.bincount(answers) / len(answers)
    return float(-(shares * np.log(np.maximum(shares, 1e-300))).sum())
