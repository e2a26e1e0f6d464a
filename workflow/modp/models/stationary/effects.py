"""Effects of pairs of questions on which no prior pulls: what is linear in the ordered categories.

A prior that pulls every cell's weight to zero also pulls at what many cells say together: how the mean of
one question moves from category to category of another. Here a weight is w_ij = a_i + b_j + s_i v_j + u_i
t_j + r_ij in the block of two questions, with scores u, v of their categories (the row and column effects of
Goodman's association model, 1979), and the prior is on r alone. a and b are the categories' own. So where
the fit ends, the mean score of either question given each category of the other is the records' own, and r
holds what is left.

Slopes have a weak prior of their own. Of a pair with a question of two categories hardly anything else is
left.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from modp.base.loops import compiled, in_threads
from modp.crosstabs.cells import question_of

ROUNDS = 4
"""Times that rows and columns are fitted in turn."""

SPREAD = 0.05
"""Scores in a row of a pair's block whose variance is less tell nothing of a slope; a question's have 1."""

RIDGE = 1.0
"""Inverse variance of the normal prior on slopes: weakly informative, so that a category of a
few records, which may all answer alike, has a slope at all. One of hundreds hardly feels it."""

ROWS = 64
"""Categories that a thread takes at a time."""

COMPONENTS = 3
"""Principal components that are looked at for what questions have in common."""

FASTER = 3.0
"""Steps of effects, in those of single cells of as many records. They are means of many cells."""


def scores(counts: np.ndarray, block_starts: np.ndarray) -> np.ndarray:
    """Return each category's score: its place in the question, centred and scaled by the margins, (K,).

    A blank has the place that it has among the categories. Scored as no place on the scale it leaves to the
    prior how often a question is answered at all.

    Parameters
    ----------
    counts : (K,), records that give each answer; a question that all answer alike has scores of zero
    """
    starts, question = np.asarray(block_starts[:-1]), question_of(block_starts)
    place = (np.arange(len(counts)) - starts[question]).astype(float)
    n = np.maximum(np.add.reduceat(counts, starts), 1e-12)
    centred = place - (np.add.reduceat(counts * place, starts) / n)[question]
    spread = np.sqrt(np.add.reduceat(counts * centred**2, starts) / n)[question]
    return np.divide(centred, spread, out=np.zeros(len(counts)), where=spread > 0)


def amplification(codes: np.ndarray, score: np.ndarray, block_starts: np.ndarray) -> float:
    """Return by how much steps of all pairs' effects add up along what questions share, at least 1.

    With u a principal component of the scores, it is the variance of the sum of u_q u_r s_q s_r over pairs of
    questions, as a multiple of what it would be were the products uncorrelated; of the first three components
    the greatest. A step of each pair by itself, as long as Newton's, is so many times too long together.

    Parameters
    ----------
    codes : (n, Q), of at most so many records as are needed to estimate a variance
    """
    s = score[codes + np.asarray(block_starts[:-1])]
    _, vectors = np.linalg.eigh(s.T @ s)
    found = [1.0]
    for u in vectors.T[: -1 - COMPONENTS : -1]:
        squares = (s * u) ** 2
        own = squares.sum(axis=1)
        apart = ((own**2 - (squares**2).sum(axis=1)) / 2).mean()
        found.append(float((((s @ u) ** 2 - own) / 2).var() / apart) if apart > 0 else 1.0)
    return max(found)


Steps = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Effects:
    """Which effects of pairs are free of a prior.

    score : (K,), zeros where nothing is to be free
    free : bool (K, K), cells that have weights
    movable : bool (K, Q), rows of a pair's block of which no weight is held at zero
    block_starts : int64 (Q + 1,)
    """

    score: np.ndarray
    free: np.ndarray
    movable: np.ndarray
    block_starts: np.ndarray
    threads: int = 1

    @staticmethod
    def of(
        score: np.ndarray, free: np.ndarray, held: np.ndarray, block_starts: np.ndarray, threads: int
    ) -> "Effects":
        """Return the effects of categories with these scores.

        Parameters ---------- free, held : bool (K, K), symmetric: cells that have weights, and possible ones
        whose weights stay zero
        """
        starts = np.asarray(block_starts, np.int64)
        movable = ~np.logical_or.reduceat(held, starts[:-1], axis=1)
        return Effects(score, free, movable, starts, threads)

    def split(
        self, weights: np.ndarray, stiffness: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Take the categories' own weights out of those of pairs, and tell the effects from the rest.

        The parts are those that leave the least for a prior of this stiffness to pull at: the sum over cells
        of stiffness times rest squared is least.

        Parameters
        ----------
        weights, stiffness : float64 (K, K), symmetric

        Returns
        -------
        weights : (K, K), without the categories' own
        gained : (K,), what is to be added to the categories' weights
        effects : (K, K), of these weights what no prior pulls at but the one on slopes
        slopes : (K, Q), each category's for the scores of each other question
        """
        stiff = np.where(self.free, stiffness, 0.0)
        rest, own, slopes = weights.copy(), *np.zeros((2, *self.movable.shape))
        starts, questions = self.block_starts, len(self.block_starts) - 1

        def work(q: int) -> None:
            _split(rest, own, slopes, stiff, self.score, self.movable, starts, q, ROUNDS, SPREAD, RIDGE)

        in_threads(work, range(questions), self.threads)
        between = own[:, question_of(starts)]
        centred = np.where(self.free, weights - (between + between.T), weights)
        found = self.free if self.score.any() else np.zeros_like(self.free)
        effects = np.where(found, centred - _mirrored(rest), 0.0)
        return centred, own.sum(axis=1), effects, slopes

    def step(
        self,
        missing: np.ndarray,
        margins: np.ndarray,
        target: np.ndarray,
        seen: np.ndarray,
        slopes: np.ndarray,
        ridge: float,
        steps: Steps,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return what weights gain by a step of each category's effects, (K, K), and these slopes, (K, Q).

        Parameters
        ----------
        missing, target, seen : (K, K), counts: missing in the chains, wanted, and what a step is measured by
        margins : (K,), relative discrepancies of the categories, which are not the pairs' to mend
        slopes : (K, Q), of now
        ridge : :data:`RIDGE`, in these counts
        steps : information of effects, (K, Q), in records -> the share of a Newton step to be taken
        """
        gradient, size, centre = np.zeros((3, *self.movable.shape))
        arrays = missing, margins, target, seen, self.free, self.score, self.block_starts

        def work(first: int) -> None:
            _gradient(*arrays, first, first + ROWS, gradient, size, centre)

        in_threads(work, range(0, len(self.score), ROWS), self.threads)
        change = steps(size) * (gradient - ridge * slopes) / (size + ridge)
        change[size == 0] = 0.0
        question = question_of(self.block_starts)
        part = change[:, question] * (self.score - centre[:, question])
        return np.where(self.free, part + part.T, 0.0), change


def _mirrored(upper: np.ndarray) -> np.ndarray:
    """A symmetric matrix of what stands above the diagonal."""
    above = np.triu(upper, 1)
    return above + above.T


@compiled
def _fit_line(rest, stiff, score, slope_so_far, spread, ridge):
    """Take a level and a slope out of one row or column of a block, in place; return what was taken.

    Both are zero where nothing is stiff.
    """
    s0 = s1 = s2 = b0 = b1 = 0.0
    for j in range(len(rest)):
        k = stiff[j]
        s0 += k
        s1 += k * score[j]
        s2 += k * score[j] * score[j]
        b0 += k * rest[j]
        b1 += k * rest[j] * score[j]
    if s0 <= 0:
        return 0.0, 0.0
    inside, cross = s2 - s1 * s1 / s0, b1 - b0 * s1 / s0
    slope = 0.0
    if inside > spread * s0:
        slope = (cross - ridge * slope_so_far) / (inside + ridge)
    level = (b0 - slope * s1) / s0
    for j in range(len(rest)):
        rest[j] -= level + slope * score[j]
    return level, slope


@compiled
def _split(rest, own, slopes, stiff, score, movable, starts, q, rounds, spread, ridge):
    """Fit the blocks of question q and each later one; see :meth:`Effects.split`."""
    a, b = starts[q], starts[q + 1]
    for r in range(q + 1, len(starts) - 1):
        c, d = starts[r], starts[r + 1]
        for _ in range(rounds):
            for i in range(a, b):
                if movable[i, r]:
                    line = rest[i, c:d], stiff[i, c:d], score[c:d]
                    level, slope = _fit_line(*line, slopes[i, r], spread, ridge)
                    own[i, r] += level
                    slopes[i, r] += slope
            for j in range(c, d):
                if movable[j, q]:
                    line = rest[a:b, j], stiff[a:b, j], score[a:b]
                    level, slope = _fit_line(*line, slopes[j, q], spread, ridge)
                    own[j, q] += level
                    slopes[j, q] += slope


@compiled
def _gradient(missing, margins, target, seen, free, score, starts, first, last, gradient, size, centre):
    """Gradients, information and mean scores of some categories' effects; see :meth:`Effects.step`."""
    for i in range(first, min(last, len(score))):
        for q in range(len(starts) - 1):
            total = weighted = 0.0
            for j in range(starts[q], starts[q + 1]):
                if free[i, j]:
                    total += seen[i, j]
                    weighted += seen[i, j] * score[j]
            if total > 0:
                mean = weighted / total
                top = bottom = 0.0
                for j in range(starts[q], starts[q + 1]):
                    if free[i, j]:
                        away = score[j] - mean
                        top += away * (missing[i, j] - target[i, j] * (margins[i] + margins[j]))
                        bottom += away * away * seen[i, j]
                gradient[i, q], size[i, q], centre[i, q] = top, bottom, mean
