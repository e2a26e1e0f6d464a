"""Estimates that a user would publish: totals, means and medians by groups, with standard errors."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from modp.crosstabs.limits import FEWEST
from modp.measures.weighted import Z90
from modp.survey.codebook import Codebook

STATISTICS = ("total", "mean", "median")


@dataclass(frozen=True)
class Groups:
    """Groups of records by their answers to some questions: all by none, else by each combination.

    by : the questions' names
    names : of the g groups: ``SEX=1, AGEP=3``
    labels : what these answers mean
    index : int64 (n,), each record's group
    """

    by: tuple[str, ...]
    names: Sequence[str]
    labels: Sequence[str]
    index: np.ndarray


def groups(codes: np.ndarray, codebook: Codebook, by: Sequence[str]) -> list[Groups]:
    """Return all records as one group, the groups by each question, and those by all of them together.

    Parameters
    ----------
    codes : (n, Q)
    by : questions of the codebook
    """
    sets = [(), *((name,) for name in by)]
    if len(by) > 1:
        sets.append(tuple(by))
    return [_grouped(codes, codebook, some) for some in sets]


def _grouped(codes: np.ndarray, codebook: Codebook, by: tuple[str, ...]) -> Groups:
    places = [codebook.names.index(name) for name in by]
    questions = [codebook.questions[q] for q in places]
    index = np.zeros(len(codes), np.int64)
    for q, question in zip(places, questions, strict=True):
        index = index * len(question.categories) + codes[:, q]
    combined = list(itertools.product(*(question.categories for question in questions)))
    names = [", ".join(f"{n}={c.code}" for n, c in zip(by, some, strict=True)) for some in combined]
    labels = [", ".join(c.label for c in some) for some in combined]
    return Groups(by, names if by else ["all"], labels if by else ["all"], index)


def estimates(values: np.ndarray, weights: np.ndarray) -> dict[str, np.ndarray]:
    """Return total, mean and median of some records' values by each of several weights, float64 (S,) each.

    The median is the least value that the records up to it, in their order, have half of the weight by.

    Parameters
    ----------
    values : (n,), n > 0
    weights : (n, S), some negative if need be
    """
    order = np.argsort(values, kind="stable")
    rising, sums = values[order], np.cumsum(weights[order], axis=0, dtype=np.float64)
    total = rising @ weights[order]
    at = np.argmax(sums >= sums[-1] / 2, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return {"total": total, "mean": total / sums[-1], "median": rising[at]}


def by_group(
    values: np.ndarray, groups: Groups, weights: np.ndarray, replicates: np.ndarray, factor: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Estimate a number in each group, by the records that have one.

    Parameters
    ----------
    values : (n,), NaN where a record has none
    groups : of the n records, g of them
    weights, replicates : (n,) and (n, R), R > 0
    factor : as :func:`modp.survey.variance.factor` returns

    Returns
    -------
    records : int64 (g,), that have the number
    found : float64 (g, statistics), NaN where there are none
    errors : their standard errors, √(f Σ (θ_r − θ)²)
    """
    size = len(groups.names)
    records = np.zeros(size, np.int64)
    found, errors = np.full((2, size, len(STATISTICS)), np.nan)
    known = np.isfinite(values)
    for g in range(size):
        own = np.flatnonzero(known & (groups.index == g))
        records[g] = len(own)
        if len(own):
            every = estimates(values[own], np.column_stack([weights[own], replicates[own]]))
            for s, statistic in enumerate(STATISTICS):
                theta = every[statistic]
                found[g, s] = theta[0]
                errors[g, s] = np.sqrt(factor * np.sum((theta[1:] - theta[0]) ** 2))
    return records, found, errors


def inside(true: np.ndarray, error: np.ndarray, synthetic: np.ndarray) -> np.ndarray:
    """Return which synthetic estimates lie in the true ones' 90 % intervals; one that is NaN does not."""
    return np.abs(synthetic - true) <= Z90 * error


def overlap(
    true: np.ndarray, error: np.ndarray, synthetic: np.ndarray, own: np.ndarray, z: float = Z90
) -> np.ndarray:
    """Return the overlap of intervals: the mean of its shares in the one and in the other, 0 if none.

    Karr, Kohnen, Oganian, Reiter and Sanil, The American Statistician 60 (2006), equation 5, but not below
    0. An interval without width, as medians of rounded numbers have, is shared whole if it lies in the other.

    Parameters
    ----------
    true, error, synthetic, own : estimates and their standard errors, of one shape
    z : standard errors on either side of an estimate that are its interval; by default that of 90 %
    """
    high = np.minimum(true + z * error, synthetic + z * own)
    low = np.maximum(true - z * error, synthetic - z * own)
    shared = np.maximum(high - low, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        of_true = np.where(error > 0, shared / (2 * z * error), high >= low)
        of_own = np.where(own > 0, shared / (2 * z * own), high >= low)
    return (of_true + of_own) / 2


@dataclass(frozen=True)
class Kept:
    """How well estimates are kept, over so many of them.

    inside : the share inside the true 90 % interval
    overlap : the mean overlap of intervals
    width : the median ratio of their widths, synthetic to true
    """

    estimates: int
    inside: float
    overlap: float
    width: float


def kept(
    records: np.ndarray, true: np.ndarray, error: np.ndarray, synthetic: np.ndarray, own: np.ndarray
) -> Kept:
    """Summarise estimates of groups of at least ``FEWEST`` true records whose true interval has a width.

    Parameters
    ----------
    records, true, error, synthetic, own : (m,), true records, estimates and their standard errors
    """
    used = (records >= FEWEST) & (error > 0)
    if not used.any():
        return Kept(0, np.nan, np.nan, np.nan)
    true, error, synthetic, own = true[used], error[used], synthetic[used], own[used]
    shares = overlap(true, error, synthetic, own)
    return Kept(
        int(used.sum()),
        float(np.mean(inside(true, error, synthetic))),
        float(np.mean(np.nan_to_num(shares))),
        float(np.median(np.nan_to_num(own / error))),
    )
