"""How close three-way crosstabs come: d over cells of three questions."""

import itertools
from dataclasses import dataclass

import numpy as np
import pandas as pd

from modp.crosstabs.limits import FEWEST, MOST
from modp.crosstabs.triples import counts, ends, every, parts
from modp.measures.accuracy import Summary, log_ratio, scaled, summarise
from modp.survey.records import Records


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
    triples = every(questions)
    if len(triples) <= MOST:
        return triples
    return triples[np.sort(rng.choice(len(triples), MOST, replace=False))]


def compare(true: Records, synthetic: Records, triples: np.ndarray, threads: int = 1) -> ThreeWay:
    """Compare three-way crosstabs over cells with at least ``FEWEST`` true records.

    Synthetic counts are scaled to the number of true records; d as in the paper's equation 11 with
    pseudocount 1. Without such cells, or without synthetic records, measures are NaN.

    Parameters
    ----------
    true, synthetic : n records and m, under one codebook
    triples : shape (T, 3)
    """
    lines, ratios, sizes = [], [np.zeros(0)], true.codebook.sizes
    for part in parts(triples, sizes):
        wanted, found = (counts(table.codes, part, sizes, threads) for table in (true, synthetic))
        for triple, (begin, end) in zip(part, itertools.pairwise(ends(part, sizes)), strict=True):
            judged = begin + np.flatnonzero(wanted[begin:end] >= FEWEST)
            ratios.append(log_ratio(wanted[judged], scaled(found[judged], len(true), len(synthetic))))
            median = np.median(np.abs(ratios[-1])) if len(judged) else np.nan
            lines.append((*triple.tolist(), len(judged), median))
    columns = ["first", "second", "third", "cells", "median"]
    return ThreeWay(summarise(np.concatenate(ratios)), pd.DataFrame(lines, columns=columns))
