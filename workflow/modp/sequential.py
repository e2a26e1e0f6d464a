"""Sequential draws from a blades model: question by question, each given the answers before it."""

from collections.abc import Callable

import numpy as np

from modp.records import one_hot

Predict = Callable[[np.ndarray, int], np.ndarray]
"""(one-hot records (n, K), question) -> that question's predictions (n, categories), not negative."""


def sweep(
    codes: np.ndarray,
    block_starts: np.ndarray,
    excluded: np.ndarray,
    predict: Predict,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Redraw every question once, in random order, given each record's current other answers.

    An answer that would stand beside one it must not meet has probability zero; where nothing is
    left, the record keeps the answer it has. So a record that holds no structural zero gets none.

    Parameters
    ----------
    codes : shape (n, Q)
    excluded : bool (K, K), the structural zeros

    Returns
    -------
    codes : of the same shape
    bits : shape (n,), entropy of the distributions that were drawn from
    """
    codes = codes.copy()
    binary = one_hot(codes, block_starts)
    forbidden = excluded.astype(np.float32)
    bits = np.zeros(len(codes))
    for q in rng.permutation(codes.shape[1]):
        block = slice(block_starts[q], block_starts[q + 1])
        odds = predict(binary, int(q)).astype(np.float64)
        odds[binary @ forbidden[:, block] > 0] = 0
        total = odds.sum(axis=1, keepdims=True)
        stuck = ~(total[:, 0] > 0)
        odds[stuck] = binary[stuck, block]
        probabilities = odds / np.where(stuck[:, None], 1, total)
        logs = np.log2(probabilities, out=np.zeros_like(probabilities), where=probabilities > 0)
        bits -= (probabilities * logs).sum(axis=1)
        cumulative = np.cumsum(probabilities, axis=1)
        cumulative /= cumulative[:, -1:]
        drawn = (rng.random(len(codes))[:, None] >= cumulative).sum(axis=1)
        codes[:, q] = drawn
        binary[:, block] = 0
        binary[np.arange(len(codes)), block_starts[q] + drawn] = 1
    return codes, bits
