"""Total variation between tables of two and of three questions, and the measures by which releases compare.

The total variation distance of two tables of shares is half the sum of their absolute differences: the share
of records that would have to change. It is what AIM and MST make small, while d looks at every cell alike.
"""

import itertools

import numpy as np

from modp.crosstabs import triples
from modp.crosstabs.pairs import crosstab
from modp.measures import three_way
from modp.measures.accuracy import OF_D, cell_sets, log_ratio, scaled, summarise
from modp.survey.records import Records

KEYS = (*(f"{cells}.{key}" for cells in ("all", "between") for key in OF_D), "pair_tvd", "three_way_tvd")
"""Names of what :func:`nearness` measures."""


def of_pairs(true: np.ndarray, other: np.ndarray, block_starts: np.ndarray) -> float:
    """Return the mean total variation distance over pairs of questions.

    Parameters
    ----------
    true, other : crosstabs (K, K), each of any number of records
    block_starts : shape (Q + 1,)
    """
    first = slice(int(block_starts[0]), int(block_starts[1]))
    shares = [table / max(np.trace(table[first, first]), 1) for table in (true, other)]
    away = np.abs(shares[0] - shares[1])
    starts = np.asarray(block_starts[:-1], np.int64)
    sums = np.add.reduceat(np.add.reduceat(away, starts, axis=0), starts, axis=1)
    return float(sums[np.triu_indices(len(starts), 1)].mean() / 2)


def of_triples(true: Records, other: Records, chosen: np.ndarray, threads: int = 1) -> float:
    """Return the mean total variation distance over triples of questions, shape (T, 3)."""
    sizes = true.codebook.sizes
    total = 0.0
    for part in triples.parts(chosen, sizes):
        one, two = (triples.counts(r.codes, part, sizes, threads) / max(len(r), 1) for r in (true, other))
        total += float(np.abs(one - two).sum())
    return total / 2 / max(len(chosen), 1)


def nearness(true: Records, other: Records, threads: int = 1) -> np.ndarray:
    """Measure how near a table is to the true one: float64, in the order of ``KEYS``.

    Median, mean and r.m.s. of d over ``all`` cells i <= j and over those ``between`` questions, counts scaled
    to equal totals; total variation distances, over all triples or a fixed random sample of them.
    """
    one, two = (crosstab(records, threads) for records in (true, other))
    ratios = log_ratio(one, scaled(two, len(true), len(other)))[np.triu_indices(len(one))]
    of_d = [summarise(ratios[cells]).measures.values() for cells in cell_sets(true.block_starts).values()]
    chosen = three_way.chosen(len(true.codebook.questions), np.random.default_rng(0))
    pair, three = of_pairs(one, two, true.block_starts), of_triples(true, other, chosen, threads)
    return np.array([*itertools.chain(*of_d), pair, three])


def multiples(measured: np.ndarray, ideal: np.ndarray) -> np.ndarray:
    """Return measures in the order of ``KEYS``: of d as multiples of the ideal's, the others themselves."""
    of_d = np.array(["tvd" not in key for key in KEYS])
    return np.where(of_d, measured / np.where(of_d, ideal, 1), measured)


def ideal(true: Records, bootstraps: int, rng: np.random.Generator, threads: int = 1) -> np.ndarray:
    """Return the mean :func:`nearness` of bootstrap resamples."""
    n = len(true)
    resamples = (true[rng.integers(0, n, n)] for _ in range(bootstraps))
    return np.mean([nearness(true, resample, threads) for resample in resamples], axis=0)
