"""Groups of rows, such as households of persons, picked whole."""

import numpy as np


def members(starts: np.ndarray, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of some groups, those of a group one after the other.

    Parameters
    ----------
    starts : int64 (G + 1,), where each group's rows begin, and the last end
    groups : int64 (m,), each as often as it is named

    Returns
    -------
    rows : int64 (n,)
    begins : int64 (m + 1,), where each named group begins among them
    """
    sizes = np.diff(starts)[groups]
    begins = np.concatenate([[0], np.cumsum(sizes)])
    return np.repeat(starts[groups] - begins[:-1], sizes) + np.arange(begins[-1]), begins
