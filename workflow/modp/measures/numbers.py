"""How numbers fare: their correlations, their quantiles and zeros in groups, how they are rounded.

All are of data frames as :func:`modp.measures.frames.frames` makes them, and differences from another one.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from modp.crosstabs.limits import FEWEST
from modp.measures.frames import FEW

QUANTILES = (0.1, 0.5, 0.9)
ROUND = (5, 100, 1000)
"""Of what numbers may be multiples; zeros count apart."""

RARE = 0.01
"""A column has zeros if more than this share of its numbers are, and other numbers likewise."""

ENOUGH = 100
"""Records that have two numbers, of which these are correlated."""

SMALL = 1e-9
"""Variance of ranks below which a column is constant."""

WIDE = 10
"""Multiples of a number are counted in columns whose greatest number is this many times as great."""


@dataclass(frozen=True)
class Numbers:
    """How far the numbers of a table are from those of other people.

    spearman_mean, spearman_max : of the rank correlations of any two columns, the mean and the greatest
        difference
    spearman_slope : that of the table's correlations on the other people's, through zero; as a multiple of
        the true records' it is the share of correlation that is kept
    quantiles : of the quantiles .1, .5 and .9 of a column in a group, the mean difference, as a share of the
        other people's numbers
    zero_shares : of the share of zeros in a group, the mean difference
    rounded : of the shares of multiples of 5, 100 and 1,000, the mean difference
    """

    spearman_mean: float
    spearman_max: float
    spearman_slope: float
    quantiles: float
    zero_shares: float
    rounded: float


def compared(table: pd.DataFrame, others: pd.DataFrame) -> Numbers:
    """Return how far a table's numbers are from other people's; NaN where there is nothing to compare.

    Groups are of one answer to another question of few answers, with 20 numbers on both sides. Quantiles,
    zeros and roundings are of columns with more kinds of numbers than such a question has. As numbers of
    unlike size cannot be averaged, the difference of two quantiles is that of the shares of the other
    people's numbers below them, ties by half.
    """
    names = [name for name in others if not isinstance(others[name].dtype, pd.CategoricalDtype)]
    of_table, of_others = (frame[names].to_numpy(float) for frame in (table, others))
    upper = np.triu_indices(len(names), 1)
    own, wanted = (rank_correlations(values)[upper] for values in (of_table, of_others))
    both = ~np.isnan(own + wanted)
    groups = list(_groups(table, others))
    moved, emptied, rounded = [], [], []
    for q, name in enumerate(names):
        if others[name].nunique() <= FEW:
            continue
        sides = of_table[:, q], of_others[:, q]
        rounded += _roundings(*sides)
        known = np.sort(sides[1][~np.isnan(sides[1])])
        has_zeros = RARE < np.mean(known == 0) < 1 - RARE
        for one, other in (pair for group in groups if group.of != name for pair in group.parted(*sides)):
            below = [_below(known, np.quantile(x, QUANTILES, method="inverted_cdf")) for x in (one, other)]
            moved.append(float(np.mean(np.abs(below[0] - below[1]))))
            if has_zeros:
                emptied.append(float(abs(np.mean(one == 0) - np.mean(other == 0))))
    return Numbers(*_correlated(own[both], wanted[both]), _mean(moved), _mean(emptied), _mean(rounded))


def _correlated(own: np.ndarray, wanted: np.ndarray) -> tuple[float, float, float]:
    """Mean and greatest difference of correlations (p,) from those wanted, and their slope on these."""
    if not wanted.any():
        return np.nan, np.nan, np.nan
    apart = np.abs(own - wanted)
    return float(apart.mean()), float(apart.max()), float(own @ wanted / (wanted @ wanted))


def rank_correlations(values: np.ndarray) -> np.ndarray:
    """Return Spearman's correlations of all columns of numbers (n, P), blanks NaN: (P, P).

    A number's rank is its place among all that its column has. Correlations are over the records that have
    both; NaN where these are fewer than 100, or one of the two is constant among them.
    """
    known = ~np.isnan(values)
    ranks = pd.DataFrame(values).rank(pct=True).fillna(0.5).to_numpy() - 0.5
    ranks, among = ranks * known, known.astype(float)
    n = among.T @ among
    with np.errstate(divide="ignore", invalid="ignore"):
        means = ranks.T @ among / n
        squares = (ranks**2).T @ among / n - means**2
        products = ranks.T @ ranks / n - means * means.T
        found = products / np.sqrt(squares * squares.T)
    varied = np.minimum(squares, squares.T) > SMALL
    return np.where((n >= ENOUGH) & varied, found, np.nan)


@dataclass(frozen=True)
class _Groups:
    """The groups of two tables' records by their answer to one question, as many as there are kinds.

    of : the question
    codes : of each table (n,), the place of the answer, -1 for another one
    """

    of: str
    codes: tuple[np.ndarray, np.ndarray]
    kinds: int

    def parted(self, *sides: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Give the numbers of both tables, NaN left out, group by group where both have enough."""
        kept = [np.where(np.isnan(x), -1, c) for x, c in zip(sides, self.codes, strict=True)]
        for kind in range(self.kinds):
            one, other = (x[own == kind] for x, own in zip(sides, kept, strict=True))
            if min(len(one), len(other)) >= FEWEST:
                yield one, other


def _groups(table: pd.DataFrame, others: pd.DataFrame) -> Iterator[_Groups]:
    for name in others:
        kinds = pd.Index(others[name].dropna().unique())
        if len(kinds) <= FEW:
            codes = (kinds.get_indexer(table[name]), kinds.get_indexer(others[name]))
            yield _Groups(name, codes, len(kinds))


def _below(known: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The share of some numbers, which rise, that are below each of others, ties by half."""
    return (np.searchsorted(known, values, "left") + np.searchsorted(known, values, "right")) / (
        2 * len(known)
    )


def _roundings(one: np.ndarray, other: np.ndarray) -> list[float]:
    """The differences of the shares of multiples among two columns' numbers, (n,) and (m,)."""
    sides = [x[~np.isnan(x) & (x != 0)] for x in (one, other)]
    if not all(map(len, sides)):
        return []
    most = np.abs(sides[1]).max()
    shares = [[np.mean(x % unit == 0) for x in sides] for unit in ROUND if most >= WIDE * unit]
    return [float(abs(a - b)) for a, b in shares]


def _mean(values: list[float]) -> float:
    return float(np.mean(values)) if values else np.nan
