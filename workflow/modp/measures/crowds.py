"""In how large a crowd a record hides: multiplicities, and the rank of its causal partner."""

import numpy as np

from modp.crosstabs.agreements import at_least


def causal_rank(
    true: np.ndarray, synthetic: np.ndarray, record: np.ndarray, chosen: np.ndarray, backwards: bool = False
) -> np.ndarray:
    """Rank the causal partner of synthetic records among all true ones (paper, Figure 16).

    The distance of two records is the number of their differing answers. A rank is the number of
    true records as close to the synthetic record as its causal partner is, or closer, the partner
    included: 1 says that the partner is nearer than every other true record.

    Parameters
    ----------
    true : codes of shape (n, Q)
    synthetic : codes of shape (m, Q)
    record : shape (m,), the row of ``true`` from which each synthetic record was made
    chosen : rows of ``synthetic`` to rank
    backwards : instead count the synthetic records as close to the true partner as the
        synthetic record is, or closer, itself included, as the published notebook does

    Returns
    -------
    int64 of the shape of ``chosen``: whole numbers, whatever the number of threads
    """
    partner, own = true[record[chosen]], synthetic[chosen]
    agreeing = (partner == own).sum(axis=1)
    table, points = (synthetic, partner) if backwards else (true, own)
    return at_least(table, points, agreeing)
