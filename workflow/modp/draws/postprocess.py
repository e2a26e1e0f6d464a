"""What is done to drawn instances: choosing between them, removing structural zeros."""

from collections.abc import Sequence

import numpy as np

from modp.crosstabs.pairs import crosstab, record_sums
from modp.survey.records import Records


def select(instances: Sequence[Records], true_counts: np.ndarray, threshold: float) -> np.ndarray:
    """Choose one instance for every record (paper, section on post-processing).

    A record's loss is the sum of ln((C_syn + 1) / (C_true + 1)) over those cells of its own (binary)
    crosstab, diagonal included, that the first instance over-populates. A record whose loss exceeds
    the ``threshold`` quantile takes the next instance, and so on; the last is taken unchecked.

    Parameters
    ----------
    instances : n records each, at least two
    true_counts : the true crosstab, (K, K)
    threshold : quantile of the first instance's losses, the paper's is 0.5

    Returns
    -------
    chosen : integers of shape (n,), the index of the instance to take
    """
    first = instances[0]
    excess = np.log((crosstab(first) + 1) / (true_counts + 1)).clip(min=0)
    losses = _losses(first, excess)
    limit = np.quantile(losses, threshold)
    chosen = np.zeros(len(first), np.int64)
    for k, instance in enumerate(instances[1:], start=1):
        pending = np.flatnonzero(losses > limit)
        chosen[pending] = k
        losses[pending] = _losses(instance[pending], excess)
    return chosen


def _losses(records: Records, excess: np.ndarray) -> np.ndarray:
    """Sum over i, j of r_i r_j excess_ij for each record r: both triangles and the diagonal."""
    single = excess.diagonal()[records.columns].sum(axis=1)
    return 2 * record_sums(records, excess) + single


def violations(records: Records, zeros: np.ndarray) -> np.ndarray:
    """Return the mask, shape (n,), of records that hold a structural zero."""
    return record_sums(records, zeros) > 0


def deficient(multiplicity: np.ndarray, bits: np.ndarray, limit: float) -> np.ndarray:
    """Return the mask, shape (n,), of the records that hide in too small a crowd of either kind.

    These are the records whose effective multiplicity, multiplicity × 2**bits, is below
    ``limit``; the paper speaks of rows "deficient in both kinds" without giving a limit.
    """
    return np.log2(multiplicity) + bits < np.log2(limit)
