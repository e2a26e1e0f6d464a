"""How near one synthetic table comes: its crosstab cell by cell against the true one, and what is counted."""

from dataclasses import dataclass

import numpy as np

from modp.draws.postprocess import violations
from modp.measures import accuracy
from modp.survey.records import Records


@dataclass(frozen=True)
class Cells:
    """The cells i <= j of two crosstabs, row by row: arrays (K (K + 1) / 2,).

    first, second : the cell's categories
    true, synthetic : records in it
    scaled : the synthetic ones, were there as many synthetic records as true ones; NaN if there are none
    log_ratio : the signed d (paper, equation 11)
    z : of two proportions (paper, equation 10)
    merit : the blended figure of merit (paper, equation 12)
    """

    first: np.ndarray
    second: np.ndarray
    true: np.ndarray
    synthetic: np.ndarray
    scaled: np.ndarray
    log_ratio: np.ndarray
    z: np.ndarray
    merit: np.ndarray


def cells(
    true: np.ndarray, synthetic: np.ndarray, n_true: int, n_synthetic: int, paper_notebook: bool = False
) -> Cells:
    """Compare two crosstabs (K, K), of so many true records and of so many synthetic ones.

    Parameters
    ----------
    paper_notebook : whether d and the figure of merit are those of the author's notebook
    """
    first, second = np.triu_indices(len(true))
    wanted, found, totals = true[first, second], synthetic[first, second], (n_true, n_synthetic)
    log_ratio = accuracy.log_ratio(wanted, accuracy.scaled(found, *totals, paper_notebook))
    z = accuracy.z_value(wanted, found, *totals)
    merit = accuracy.figure_of_merit(log_ratio, z, paper_notebook)
    return Cells(first, second, wanted, found, accuracy.scaled(found, *totals), log_ratio, z, merit)


def counted(synthetic: Records, entropy_bits: np.ndarray, zeros: np.ndarray) -> dict[str, float | None]:
    """Return the measures of the accuracy table that are not of d, by their keys.

    Parameters
    ----------
    entropy_bits : of each synthetic record, those that are known: (m,), m <= n
    zeros : mask of the structural zeros, bool (K, K)
    """
    return {
        "records": len(synthetic),
        "zero_records": int(violations(synthetic, zeros).sum()),
        "entropy_bits": float(np.median(entropy_bits)) if len(entropy_bits) else None,
    }
