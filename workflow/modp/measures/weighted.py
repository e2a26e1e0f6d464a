"""How near a synthetic table comes to the weighted crosstab, by the true table's own standard errors."""

from dataclasses import dataclass

import numpy as np

from modp.measures import accuracy

Z90 = 1.6448536269514722
"""Standard errors on either side of an estimate that are its 90 % interval, as Census publishes them."""

CERTAINTY = 1.959964
"""Standard errors on either side of a value: bounds of all else are of 95 % intervals."""


@dataclass(frozen=True)
class WeightedCells:
    """The cells i <= j of two weighted crosstabs, row by row: arrays (K (K + 1) / 2,).

    true, error : people in the cell, by the true records' weights, and the standard error
    synthetic : by the synthetic records, scaled to the same total; NaN if there are none
    log_ratio : the signed d (paper, equation 11), of people
    z : by how many standard errors the synthetic table is off
    """

    true: np.ndarray
    error: np.ndarray
    synthetic: np.ndarray
    log_ratio: np.ndarray
    z: np.ndarray


def cells(
    true: np.ndarray, variance: np.ndarray, synthetic: np.ndarray, totals: tuple[float, float], records: int
) -> WeightedCells:
    """Compare two weighted crosstabs.

    One record of mean weight is the pseudocount, so that equal weights give the same d as counts do. z puts
    the true table's standard error in the place of simple random sampling's: it is (synthetic − true) /
    √(SE² + w²), w the mean weight, without which a cell that no replicate changes would have none.

    Parameters
    ----------
    true, variance : (K, K), weighted sums over so many true records, and their variances
    synthetic : (K, K), weighted sums over the synthetic ones
    totals : the sums of all weights, the true records' first
    """
    upper = np.triu_indices(len(true))
    wanted, found, squares = true[upper], synthetic[upper], variance[upper]
    total, others = totals
    scaled = found * (total / others) if others else np.full(found.shape, np.nan)
    one = total / records
    log_ratio = accuracy.log_ratio(wanted, scaled, one)
    z = (scaled - wanted) / np.sqrt(squares + one**2)
    return WeightedCells(wanted, np.sqrt(squares), scaled, log_ratio, z)


def of_z(z: np.ndarray) -> dict[str, float]:
    """Return the measures of z by their keys in the table of measures; without any z, NaN."""
    if not len(z):
        return {"rms_z": np.nan, "inside": np.nan}
    return {"rms_z": float(np.sqrt(np.mean(z**2))), "inside": float(np.mean(np.abs(z) <= Z90))}
