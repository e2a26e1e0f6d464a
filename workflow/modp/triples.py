"""Three-way crosstabs: counts of triples of answers, true and synthetic."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from modp.accuracy import Summary, log_ratio, summarise

MOST = 2000
"""Triples of questions that are counted; a random sample of so many if there are more."""

FEWEST = 20
"""True records that a cell must have to be judged; smaller ones are mostly noise."""


@dataclass(frozen=True)
class ThreeWay:
    """How close the three-way crosstabs come.

    ``cells`` summarises d over all cells judged; ``triples`` has a line a triple of questions, by
    their indices ``first`` < ``second`` < ``third``, with its number of ``cells`` and their ``median``.
    """

    cells: Summary
    triples: pd.DataFrame


def chosen(questions: int, rng: np.random.Generator) -> np.ndarray:
    """Return triples of questions, shape (T, 3), all of them or a random sample of ``MOST``."""
    every = np.array(list(itertools.combinations(range(questions), 3)), np.int64).reshape(-1, 3)
    if len(every) <= MOST:
        return every
    return every[np.sort(rng.choice(len(every), MOST, replace=False))]


def counts(codes: np.ndarray, triple: Sequence[int], sizes: np.ndarray) -> np.ndarray:
    """Count the records in every cell of one triple of questions.

    Parameters
    ----------
    codes : shape (n, Q)
    sizes : number of categories of each question, shape (Q,)

    Returns
    -------
    int64 of shape (sizes[first] * sizes[second] * sizes[third],), the last question's fastest
    """
    a, b, c = triple
    cell = (codes[:, a].astype(np.int64) * sizes[b] + codes[:, b]) * sizes[c] + codes[:, c]
    return np.bincount(cell, minlength=sizes[a] * sizes[b] * sizes[c])


def compare(true: np.ndarray, synthetic: np.ndarray, sizes: np.ndarray, triples: np.ndarray) -> ThreeWay:
    """Compare three-way crosstabs over cells with at least ``FEWEST`` true records.

    Synthetic counts are scaled to the number of true records; d as in the paper's equation 9 with
    pseudocount 1. Without such cells, or without synthetic records, measures are NaN.

    Parameters
    ----------
    true, synthetic : codes of shape (n, Q) and (m, Q)
    triples : shape (T, 3)
    """
    lines, ratios = [], [np.zeros(0)]
    scale = len(true) / len(synthetic) if len(synthetic) else np.nan
    for triple in triples:
        wanted = counts(true, triple, sizes)
        judged = wanted >= FEWEST
        found = counts(synthetic, triple, sizes)[judged] * scale
        ratios.append(log_ratio(wanted[judged], found))
        median = np.median(np.abs(ratios[-1])) if judged.any() else np.nan
        lines.append((*triple.tolist(), int(judged.sum()), median))
    every = np.concatenate(ratios)
    summary = summarise(every) if len(every) else Summary(0, np.nan, np.nan, np.nan)
    columns = ["first", "second", "third", "cells", "median"]
    return ThreeWay(summary, pd.DataFrame(lines, columns=columns))
