"""How standard errors follow from replicate weights."""

from typing import Literal

Variance = Literal["sdr", "brr", "fay", "jk1"]
"""Successive differences, as Census's; balanced repeated replication; Fay's form of it; the jackknife that
leaves one of as many groups out as there are replicates."""


RESAMPLES = 80
"""Resamples that give standard errors where there are no replicate weights: as many as Census has."""


def factor(method: Variance | None, replicates: int, fay: float = 0.0) -> float:
    """Return f in SE² = f Σ (θ_r − θ)², the sum over replicate estimates θ_r of θ.

    Parameters
    ----------
    method : None where the replicates are of a bootstrap, resamples of the households
    replicates : how many there are, R > 0
    fay : the coefficient k of Fay's method, by which half of the weights are multiplied

    Notes
    -----
    4/R: Fay and Train (1995), and Census's "PUMS Accuracy of the Data"; 1/R, 1/(R (1 − k)²) and
    (R − 1)/R: Wolter, Introduction to Variance Estimation (2007), chapters 3 and 4.
    """
    factors = {
        None: 1 / replicates,
        "sdr": 4 / replicates,
        "brr": 1 / replicates,
        "fay": 1 / (replicates * (1 - fay) ** 2),
        "jk1": (replicates - 1) / replicates,
    }
    return factors[method]
