"""Linear reconstruction: a secret of everybody, solved from the crosstabs of a synthetic table.

After Annamalai, Gadotti and Rocher (2024, arXiv:2301.10053). Codes are of shape (n, Q).
"""

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
    mine, theirs = cells(people, synthetic, question)
    told = secret[synthetic[:, question]].astype(float)
    size = int(max(mine.max(initial=0), theirs.max(initial=0))) + 1
    known, of_theirs = (np.bincount(side.ravel(), minlength=size) for side in (mine, theirs))
    share = _sums(theirs, told, size) / np.maximum(of_theirs, 1)
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


def cells(people: np.ndarray, synthetic: np.ndarray, question: int) -> tuple[np.ndarray, np.ndarray]:
    """Return which cell of each query's table everybody is in: int64 (queries, n), one number a cell.

    Queries are the tables of one other question, then of two.
    """
    everybody = np.concatenate([people, synthetic]).astype(np.int64)
    others = [q for q in range(everybody.shape[1]) if q != question]
    varied = sorted(others, key=lambda q: _entropy(synthetic[:, q]), reverse=True)[:PAIRED]
    sizes = everybody.max(axis=0) + 1
    tables = [everybody[:, q] for q in others]
    tables += [everybody[:, a] * sizes[b] + everybody[:, b] for a, b in combinations(varied, 2)]
    ends = [sizes[q] for q in others] + [sizes[a] * sizes[b] for a, b in combinations(varied, 2)]
    starts = np.cumsum([0, *ends])[:-1]
    numbered = np.array(tables, np.int64).reshape(-1, len(everybody)) + starts[:, None]
    return numbered[:, : len(people)], numbered[:, len(people) :]


def _sums(cell: np.ndarray, numbers: np.ndarray, size: int) -> np.ndarray:
    """Sum of a number of each person over the people in each cell."""
    return np.bincount(cell.ravel(), np.tile(numbers, len(cell)), size)


def _entropy(answers: np.ndarray) -> float:
    shares = np.bincount(answers) / len(answers)
    return float(-(shares * np.log(np.maximum(shares, 1e-300))).sum())
