"""Records drawn from a stationary model's weights alone, for chains to start at."""

import numpy as np

from modp.draws.sweeps import Tables

MOST_TRIES = 100


def fresh(model: Tables, n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw records that start from no true one, for chains without a causal partner.

    Each record answers the questions in an order of its batch's own, each given those answered before
    it, by a stationary model's weights of categories and pairs; a record that is left without an allowed
    answer begins again. The distribution is not yet the model's, to which sweeps then take it.

    Parameters
    ----------
    model : a stationary model's tables
    n : number of records

    Returns
    -------
    codes : int16 (n, Q), without a structural zero

    Raises
    ------
    ValueError
        if some records could not be completed in a hundred tries
    """
    block_starts, excluded = model.block_starts, model.excluded.astype(bool)
    sizes = np.diff(block_starts)
    codes = np.zeros((n, len(sizes)), np.int16)
    pending = np.arange(n)
    for _ in range(MOST_TRIES):
        logits = np.tile(model.bias.astype(np.float64), (len(pending), 1))
        conflicts = np.zeros(logits.shape, bool)
        drawn = np.zeros((len(pending), len(sizes)), np.int16)
        for q in rng.permutation(len(sizes)):
            block = slice(block_starts[q], block_starts[q + 1])
            scaled = logits[:, block] - logits[:, block].max(axis=1, keepdims=True)
            odds = np.where(conflicts[:, block], 0, np.exp(scaled))
            cumulative = np.cumsum(odds, axis=1)
            uniform = rng.random(len(pending))[:, None] * cumulative[:, -1:]
            drawn[:, q] = np.minimum((uniform >= cumulative).sum(axis=1), sizes[q] - 1)
            column = block_starts[q] + drawn[:, q]
            conflicts[cumulative[:, -1] <= 0] = True  # a dead end, which stays one
            logits += model.weights[column]
            conflicts |= excluded[column]
        dead = conflicts.all(axis=1)
        codes[pending[~dead]] = drawn[~dead]
        pending = pending[dead]
        if not len(pending):
            return codes
    raise ValueError(f"{len(pending):,} records could not be drawn without a structural zero")
