"""Records drawn from a stationary model's weights alone, for chains to start at."""

import numpy as np

from modp.draws import possible
from modp.draws.sweeps import Tables
from modp.survey.effective import in_proportion
from modp.survey.where import OPEN

MOST_TRIES = 100


def fresh(model: Tables, n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw records that start from no true one, for chains without a causal partner.

    Parameters
    ----------
    model, rng : as in :func:`begun`
    n : number of records

    Returns
    -------
    codes : int16 (n, Q), without a structural zero

    Raises
    ------
    ValueError
        if there is no record without a structural zero
    """
    codes, lost = begun(model, np.full((n, len(model.block_starts) - 1), OPEN), rng)
    if len(lost):
        raise ValueError(f"{len(lost):,} records could not be drawn without a structural zero")
    return codes


def from_each(model: Tables, n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw records as :func:`fresh` does, as many beginning at each question, answered by its own weights.

    So those few are among them who differ from all others in many answers that exclude those of others, such
    as small children, of whom little is asked: the first answer brings them in, and the others follow. Answer
    by answer in any one order they may be as good as impossible, and sweeps would never come to them.

    Parameters
    ----------
    model, n, rng : as in :func:`fresh`
    """
    starts = model.block_starts
    given = np.full((n, len(starts) - 1), OPEN)
    for q, rows in enumerate(np.array_split(rng.permutation(n), given.shape[1])):
        bias = model.bias[starts[q] : starts[q + 1]].astype(np.float64)
        given[rows, q] = in_proportion(np.exp(bias - bias.max()), len(rows), rng)
    codes, lost = begun(model, given, rng)
    if len(lost):
        codes[lost] = fresh(model, len(lost), rng)
    return codes


def begun(model: Tables, given: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw the other answers of records of which some are given, for chains to start at.

    Each record answers the questions in an order of its batch's own, each given those answered before
    it, by a stationary model's weights of categories and pairs; a record that is left without an allowed
    answer begins again. The distribution is not yet the model's, to which sweeps then take it. A record that
    finds no way in a hundred tries gets the first that a search finds.

    Parameters
    ----------
    model : a stationary model's tables
    given : int (n, Q), the given answers, ``OPEN`` where one is to be drawn

    Returns
    -------
    codes : int16 (n, Q), without a structural zero
    lost : int64, those records that cannot be: their given answers leave no way round the structural zeros
    """
    excluded = model.excluded.astype(bool)
    codes = np.zeros(given.shape, np.int16)
    pending = np.arange(len(given))
    for _ in range(MOST_TRIES):
        drawn, dead = _one_try(model, excluded, given[pending], rng)
        codes[pending[~dead]] = drawn[~dead]
        pending = pending[dead]
        if not len(pending):
            break
    return codes, _searched(codes, pending, given, excluded, model.block_starts)


def _one_try(
    model: Tables, excluded: np.ndarray, known: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Answers (m, Q) of records of known answers, and which of them came to a dead end."""
    block_starts, sizes = model.block_starts, np.diff(model.block_starts)
    logits = np.tile(model.bias.astype(np.float64), (len(known), 1))
    conflicts = np.zeros(logits.shape, bool)
    drawn = np.where(known == OPEN, 0, known).astype(np.int16)
    for q in np.flatnonzero((known != OPEN).any(axis=0)):
        rows = np.flatnonzero(known[:, q] != OPEN)
        column = block_starts[q] + known[rows, q]
        conflicts[rows[conflicts[rows, column]]] = True
        logits[rows] += model.weights[column]
        conflicts[rows] |= excluded[column]
    for q in rng.permutation(len(sizes)):
        block = slice(block_starts[q], block_starts[q + 1])
        scaled = logits[:, block] - logits[:, block].max(axis=1, keepdims=True)
        odds = np.where(conflicts[:, block], 0, np.exp(scaled))
        cumulative = np.cumsum(odds, axis=1)
        uniform = rng.random(len(known))[:, None] * cumulative[:, -1:]
        free = known[:, q] == OPEN
        answer = np.minimum((uniform >= cumulative).sum(axis=1), sizes[q] - 1)
        drawn[free, q] = answer[free]
        column = block_starts[q] + drawn[free, q]
        conflicts[free & (cumulative[:, -1] <= 0)] = True  # a dead end, which stays one
        logits[free] += model.weights[column]
        conflicts[free] |= excluded[column]
    return drawn, np.asarray(conflicts.all(axis=1))


def _searched(
    codes: np.ndarray, pending: np.ndarray, given: np.ndarray, excluded: np.ndarray, block_starts: np.ndarray
) -> np.ndarray:
    """Search a way for those records that found none, in place; return those for which there is none."""
    kinds, which = np.unique(given[pending], axis=0, return_inverse=True)
    lost = np.zeros(len(kinds), bool)
    for at, kind in enumerate(kinds):
        found = possible.completed(excluded, block_starts, possible.allowing(kind, block_starts))
        lost[at] = found is None
        if found is not None:
            codes[pending[which.ravel() == at]] = found
    return pending[lost[which.ravel()]]
