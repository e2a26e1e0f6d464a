"""Sequential draws: question by question, each given the answers that there are."""

from collections.abc import Callable

import numpy as np

from modp.draws import independent
from modp.survey.records import Records

Predict = Callable[[np.ndarray, int], np.ndarray]
"""(one-hot records (n, K), question) -> that question's predictions (n, categories), not negative."""


def redrawn(
    records: Records,
    excluded: np.ndarray,
    predict: Predict,
    rng: np.random.Generator,
    allowed: np.ndarray | None = None,
) -> tuple[Records, np.ndarray]:
    """Redraw every question once, in random order, given each record's current other answers.

    An answer that would stand beside one it must not meet has probability zero; where nothing is
    left, the record keeps the answer it has. So a record that holds no structural zero gets none.

    Parameters
    ----------
    excluded : bool (K, K), the structural zeros
    allowed : bool (K,), the answers that records may have, as these have; None for all

    Returns
    -------
    records : as many
    bits : shape (n,), entropy of the distributions that were drawn from
    """
    codes, binary, block_starts = records.codes.copy(), records.one_hot, records.block_starts
    forbidden = excluded.astype(np.float32)
    bits = np.zeros(len(codes))
    for q in rng.permutation(codes.shape[1]):
        block = slice(block_starts[q], block_starts[q + 1])
        odds = predict(binary, int(q)).astype(np.float64)
        odds[binary @ forbidden[:, block] > 0] = 0
        if allowed is not None:
            odds[:, ~allowed[block]] = 0
        total = odds.sum(axis=1, keepdims=True)
        stuck = ~(total[:, 0] > 0)
        odds[stuck] = binary[stuck, block]
        probabilities = odds / np.where(stuck[:, None], 1, total)
        bits += independent.entropy_bits(probabilities)
        whole = np.array([0, probabilities.shape[1]])
        drawn = independent.independent(probabilities, whole, rng.random((len(codes), 1)))[:, 0]
        codes[:, q] = drawn
        binary[:, block] = 0
        binary[np.arange(len(codes)), block_starts[q] + drawn] = 1
    return records.of(codes), bits
