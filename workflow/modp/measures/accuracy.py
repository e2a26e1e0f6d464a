"""How close the crosstabs come: log discrepancy d, z-value z, blended figure of merit."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from modp.crosstabs.cells import within_question

PSEUDOCOUNT = 1.0
D0, Z0 = 0.1, 1.0


def scaled(synthetic: np.ndarray, n_true: int, n_synthetic: int, paper_notebook: bool = False) -> np.ndarray:
    """Return synthetic counts scaled to the number of true records (all NaN if there are none).

    The notebook compares them as they are, of however many records: ``paper_notebook`` leaves them so.
    """
    if n_synthetic == 0:
        return np.full(synthetic.shape, np.nan)
    return synthetic * (1.0 if paper_notebook else n_true / n_synthetic)


def log_ratio(true: np.ndarray, synthetic: np.ndarray, pseudocount: float = PSEUDOCOUNT) -> np.ndarray:
    """Return ln((C_syn + c) / (C_true + c)), whose size is d (paper, equation 11).

    Both counts are taken as they are: scale them to equal totals first (:func:`scaled`).
    """
    return np.log((synthetic + pseudocount) / (true + pseudocount))


def z_value(
    true: np.ndarray, synthetic: np.ndarray, n_true: int, n_synthetic: int, pseudocount: float = PSEUDOCOUNT
) -> np.ndarray:
    """Return the z statistic of two binomial proportions (paper, equation 10).

    ``synthetic`` are counts among ``n_synthetic`` records, not scaled. The pseudocount is added
    to the true count and, in proportion to the number of records, to the synthetic one, so that
    equal proportions have z = 0. Where the pooled variance vanishes, z is 0; without synthetic
    records it is NaN.
    """
    if n_synthetic == 0:
        return np.full(true.shape, np.nan)
    n1 = true + pseudocount
    n2 = synthetic + pseudocount * n_synthetic / n_true
    pooled = (n1 + n2) / (n_true + n_synthetic)
    variance = pooled * (1 - pooled) * (1 / n_true + 1 / n_synthetic)
    difference = n2 / n_synthetic - n1 / n_true
    return np.divide(
        difference, np.sqrt(np.maximum(variance, 0)), out=np.zeros(true.shape), where=variance > 0
    )


def figure_of_merit(d: np.ndarray, z: np.ndarray, paper_notebook: bool = False) -> np.ndarray:
    """Return 2 / (d0/|d| + z0/|z|) with d0 = 0.1, z0 = 1 (paper, equation 12); 0 where d or z is 0.

    The notebook, and with it the paper's Figures 8 and 9, leave the factor 2 out.
    """
    d, z = np.abs(d), np.abs(z)
    bottom = D0 * z + Z0 * d
    factor = 1 if paper_notebook else 2
    return np.divide(factor * d * z, bottom, out=np.zeros(d.shape), where=bottom != 0)


OF_D: dict[str, Callable[[np.ndarray], float]] = {
    "median": lambda log_ratios: np.median(np.abs(log_ratios)),
    "mean_abs": lambda log_ratios: np.mean(np.abs(log_ratios)),
    "rms": lambda log_ratios: np.sqrt(np.mean(log_ratios**2)),
}
"""Measures of signed log ratios, by their keys in the table of measures; the r.m.s. is about zero."""

OF_NOTEBOOK: dict[str, Callable[[np.ndarray], float]] = {"rms": np.std}
"""Those that are others in the author's notebook: its r.m.s. is about the mean of the signed log ratios."""


@dataclass(frozen=True)
class Summary:
    """Measures of d over so many cells, by their keys in the table of measures."""

    cells: int
    measures: Mapping[str, float]

    @classmethod
    def from_dict(cls, content: Mapping[str, float]) -> "Summary":
        """Return what :meth:`to_dict` wrote."""
        return cls(int(content["cells"]), {key: content[key] for key in content if key != "cells"})

    def to_dict(self) -> dict[str, float]:
        """Return cells and measures side by side, as they stand in files."""
        return {"cells": self.cells, **self.measures}


def summarise(log_ratios: np.ndarray, paper_notebook: bool = False) -> Summary:
    """Summarise signed log ratios; without any, measures are NaN."""
    measured = OF_D | OF_NOTEBOOK if paper_notebook else OF_D
    known = len(log_ratios) > 0
    return Summary(
        len(log_ratios), {key: float(of(log_ratios)) if known else np.nan for key, of in measured.items()}
    )


def compared(true: np.ndarray, synthetic: np.ndarray, n_true: int, n_synthetic: int) -> Summary:
    """Summarise d over the cells i <= j of two crosstabs (K, K), each of so many records."""
    upper = np.triu_indices(len(true))
    return summarise(log_ratio(true[upper], scaled(synthetic[upper], n_true, n_synthetic)))


def cell_sets(block_starts: np.ndarray, paper_notebook: bool = False) -> dict[str, np.ndarray]:
    """Return the masks, over cells i <= j in row order, of the two sets that tables report.

    ``all`` are the K(K+1)/2 cells of the paper's tables. They include the diagonal and the cells
    inside a question, which are empty in both tables and count as perfect. ``between`` are the
    cells of two different questions. The notebook takes the whole square: with ``paper_notebook`` the
    sets are indices instead of masks, those of i < j twice.
    """
    first, second = np.triu_indices(int(block_starts[-1]))
    between = ~within_question(block_starts)[first, second]
    masks = {"all": np.ones(len(between), bool), "between": between}
    if not paper_notebook:
        return masks
    times = np.where(first == second, 1, 2)
    return {name: np.repeat(np.arange(len(mask)), times * mask) for name, mask in masks.items()}
