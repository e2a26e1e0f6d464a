"""Drawing answers from predicted probabilities, their entropy, and pass-through."""

import itertools

import numpy as np


def normalised(predictions: np.ndarray, block_starts: np.ndarray) -> np.ndarray:
    """Scale predictions so that each question's sum to one.

    Parameters
    ----------
    predictions : shape (n, K), not negative

    Returns
    -------
    float64 of shape (n, K). A question whose predictions are all zero becomes uniform.
    """
    probabilities = predictions.astype(np.float64)
    for start, stop in itertools.pairwise(block_starts):
        block = probabilities[:, start:stop]
        total = block.sum(axis=1, keepdims=True)
        block[:] = np.where(total > 0, block / np.where(total > 0, total, 1), 1 / (stop - start))
    return probabilities


def independent(probabilities: np.ndarray, block_starts: np.ndarray, uniform: np.ndarray) -> np.ndarray:
    """Draw every question of every record on its own (the paper's ``instantiate``).

    Parameters
    ----------
    probabilities : shape (n, K), each question's block summing to one
    uniform : shape (n, Q), uniform in [0, 1)

    Returns
    -------
    codes : int16 of shape (n, Q)
    """
    codes = np.empty(uniform.shape, np.int16)
    for q, (start, stop) in enumerate(itertools.pairwise(block_starts)):
        cumulative = np.cumsum(probabilities[:, start:stop], axis=1)
        cumulative /= cumulative[:, -1:]
        codes[:, q] = (uniform[:, q, None] >= cumulative).sum(axis=1)
    return codes


def mixed(probabilities: np.ndarray, true: np.ndarray, p: float) -> np.ndarray:
    """Return the distribution of an answer that is the true one with probability ``p``.

    Parameters
    ----------
    probabilities : shape (n, K), each question's block summing to one
    true : shape (n, K), the true records' one-hot blocks
    """
    return p * true + (1 - p) * probabilities


def entropy_bits(probabilities: np.ndarray) -> np.ndarray:
    """Return each record's entropy in bits, summed over its questions: shape (n,)."""
    logs = np.log2(probabilities, out=np.zeros(probabilities.shape), where=probabilities > 0)
    return -np.einsum("ij,ij->i", probabilities, logs)


def pass_through(drawn: np.ndarray, true: np.ndarray, p: float, rng: np.random.Generator) -> np.ndarray:
    """Replace each drawn answer by the true one with probability ``p`` (paper: randomized responses).

    Parameters
    ----------
    drawn, true : codes of shape (n, Q), row by row of the same record
    """
    return np.where(rng.random(drawn.shape) < p, true, drawn)


def shuffled(codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Permute each question's answers (n, Q) by themselves: the marginals stay, all else goes."""
    return np.column_stack([rng.permutation(column) for column in codes.T])


def resampled(codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw as many records (n, Q) as there are, with replacement: a bootstrap resample."""
    return codes[rng.integers(0, len(codes), len(codes))]
