"""How close the crosstabs come: log discrepancy d, z-value z, blended figure of merit."""

from dataclasses import dataclass

import numpy as np

from modp.crosstabs.cells import within_question

PSEUDOCOUNT = 1.0
D0, Z0 = 0.1, 1.0


def scaled(synthetic: np.ndarray, n_true: int, n_synthetic: int) -> np.ndarray:
    """Return synthetic counts scaled to the number of true records (all NaN if there are none)."""
    if n_synthetic == 0:
        return np.full(synthetic.shape, np.nan)
    return synthetic * (n_true / n_synthetic)


def log_ratio(true: np.ndarray, synthetic: np.ndarray, pseudocount: float = PSEUDOCOUNT) -> np.ndarray:
    """Return ln((C_syn + c) / (C_true + c)), whose size is d (paper, equation 9).

    Both counts are taken as they are: scale them to equal totals first (:func:`scaled`).
    """
    return np.log((synthetic + pseudocount) / (true + pseudocount))


def z_value(
    true: np.ndarray, synthetic: np.ndarray, n_true: int, n_synthetic: int, pseudocount: float = PSEUDOCOUNT
) -> np.ndarray:
    """Return the z statistic of two binomial proportions (paper, equation 8).

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


def figure_of_merit(d: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return 2 / (d0/|d| + z0/|z|) with d0 = 0.1, z0 = 1 (paper, equation 10); 0 where d or z is 0."""
    d, z = np.abs(d), np.abs(z)
    bottom = D0 * z + Z0 * d
    return np.divide(2 * d * z, bottom, out=np.zeros(d.shape), where=bottom != 0)


@dataclass(frozen=True)
class Summary:
    """Median, mean and root mean square of d over a set of cells."""

    cells: int
    median: float
    mean_abs: float
    rms: float


def summarise(log_ratios: np.ndarray) -> Summary:
    """Summarise signed log ratios; the r.m.s. is about zero."""
    d = np.abs(log_ratios)
    return Summary(len(d), float(np.median(d)), float(np.mean(d)), float(np.sqrt(np.mean(d**2))))


def compared(true: np.ndarray, synthetic: np.ndarray, n_true: int, n_synthetic: int) -> Summary:
    """Summarise d over the cells i <= j of two crosstabs (K, K), each of so many records."""
    upper = np.triu_indices(len(true))
    return summarise(log_ratio(true[upper], scaled(synthetic[upper], n_true, n_synthetic)))


def cell_sets(block_starts: np.ndarray) -> dict[str, np.ndarray]:
    """Return the masks, over cells i <= j in row order, of the two sets that tables report.

    ``all`` are the K(K+1)/2 cells of the paper's tables. They include the diagonal and the cells
    inside a question, which are empty in both tables and count as perfect. ``between`` are the
    cells of two different questions.
    """
    upper = np.triu_indices(int(block_starts[-1]))
    between = ~within_question(block_starts)[upper]
    return {"all": np.ones(len(between), bool), "between": between}
