"""Weights for synthetic records: values inside the classes of a weight that was a question, and raking."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

PARTS = 10
"""Parts of equal size of a class, between whose ends values are drawn evenly."""

RARITY = 5
"""The mean of so many less one, those next to the least or greatest value of a class, stands for that one."""

MOST_ROUNDS = 500

NEAR = 1e-6
"""Share of a total by which a raked one may miss it."""


def inside(codes: np.ndarray, true: np.ndarray, weights: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw a weight for each synthetic record inside its class of weights.

    The distribution inside a class is that of the true weights there, smoothed: even between its deciles, its
    ends each the mean of a few records, the least and the greatest left aside.

    Parameters
    ----------
    codes : (m,) class of each synthetic record
    true : (n,) class of each true record
    weights : float64 (n,)

    Returns
    -------
    float64 (m,), of the true weights' mean; where a class has no true record, the mean
    """
    drawn = np.empty(len(codes))
    at = rng.random(len(codes)) * PARTS
    for k in np.unique(codes):
        own, here = np.sort(weights[true == k]), codes == k
        if len(own) < 2 * RARITY:
            drawn[here] = own.mean() if len(own) else weights.mean()
            continue
        ends = np.quantile(own, np.linspace(0, 1, PARTS + 1))
        ends = np.clip(ends, own[1:RARITY].mean(), own[-RARITY:-1].mean())
        drawn[here] = np.interp(at[here], np.arange(PARTS + 1), ends)
    return drawn


@dataclass(frozen=True)
class Raked:
    """What :func:`raked` returns.

    weights : float64 (m,)
    off : largest share of a total by which the last round missed it
    empty : (question, category) that have a total and no record to carry it
    """

    weights: np.ndarray
    off: float
    empty: tuple[tuple[int, int], ...]


def raked(weights: np.ndarray, answers: np.ndarray, totals: Sequence[np.ndarray]) -> Raked:
    """Multiply weights by factors, one for each answer, until they sum to stated totals.

    This is raking, or iterative proportional fitting (Deming and Stephan, 1940): of all weights that meet the
    totals those that are nearest to the given ones in relative entropy. Where no record gives an answer, the
    question's other totals are scaled to make up for it.

    Parameters
    ----------
    weights : float64 (m,), not negative
    answers : (m, T), each record's answers to the questions that have totals
    totals : of each such question, the sum of weights for each of its categories
    """
    weights = weights.astype(np.float64)
    wanted, empty = [], []
    for q, asked in enumerate(totals):
        carried = np.bincount(answers[:, q], weights, len(asked)) > 0
        empty += [(q, int(k)) for k in np.flatnonzero(~carried & (asked > 0))]
        kept = np.where(carried, asked, 0.0)
        wanted.append(kept * (asked.sum() / max(kept.sum(), 1e-300)))
    off = np.inf
    for _ in range(MOST_ROUNDS):
        off = 0.0
        for q, asked in enumerate(wanted):
            sums = np.bincount(answers[:, q], weights, len(asked))
            factors = np.divide(asked, sums, out=np.zeros(len(asked)), where=sums > 0)
            off = max(off, float(np.abs(sums - asked)[asked > 0].max(initial=0) / max(asked.sum(), 1e-300)))
            weights *= factors[answers[:, q]]
        if off <= NEAR:
            break
    return Raked(weights, off, tuple(empty))
