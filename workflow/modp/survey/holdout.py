"""Holding records out: the people whom no model sees, for whom a release cannot be blamed."""

import numpy as np
import pandas as pd


def split(households: np.ma.MaskedArray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Choose households at random to be held out.

    Parameters
    ----------
    households : shape (n,), the name of each record's household; a blank one is its own household
    share : of the records, at most so many are held out

    Returns
    -------
    mask of shape (n,): the records held out. Those of a household stay together.
    """
    names, _ = pd.factorize(households.data)
    blank = np.ma.getmaskarray(households)
    names[blank] = len(names) + np.arange(blank.sum())
    _, household, sizes = np.unique(names, return_inverse=True, return_counts=True)
    order = rng.permutation(len(sizes))
    taken = np.zeros(len(sizes), bool)
    taken[order] = np.cumsum(sizes[order]) <= round(share * len(names))
    return taken[household]
