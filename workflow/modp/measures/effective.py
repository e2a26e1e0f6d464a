"""The size of the crowd that a record hides in."""

import numpy as np


def effective_multiplicity(multiplicity: np.ndarray, bits: np.ndarray) -> np.ndarray:
    """Return log10(multiplicity × 2**bits), which cannot overflow (paper, Figure 15).

    Parameters
    ----------
    multiplicity : shape (n,), number of true records identical to each one
    bits : shape (n,), entropy with which each one's synthetic partner was drawn
    """
    return np.log10(multiplicity) + bits * np.log10(2)
