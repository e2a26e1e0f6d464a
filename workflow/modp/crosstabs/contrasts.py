"""Score tests of three-way effects: single contrasts of a triple of questions that pairs do not explain.

A model of pairs fitted to n records lacks a three-way effect f(x_q, x_r, x_s) if the mean of f in the
records is not that of the model. Where f is what a weighted projection on all functions of two of the three
questions leaves, the difference of the means does not depend, to first order, on how well the pairs are
fitted, and under the null hypothesis its variance is Var(f) (1/n + 1/m), with m records drawn from the model
(Rao's score test). f is a product of scores, linear by linear by linear, or of one category's indicator and
two scores. The rate of false discoveries is controlled (Benjamini and Hochberg, 1995).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from modp.base.loops import compiled, in_threads
from modp.crosstabs import triples as three_way
from modp.crosstabs.limits import FALSE_DISCOVERIES

CANDIDATES = 600
"""Triples whose tables are looked at: those with the largest statistics before projection."""

SUPPORT = 30.0
"""Records that a contrast rests on at least: n (E f²)² / E f⁴."""

MOST_OF_ONE = 3
"""Contrasts of one triple, at most; each next one is tested as far as the ones before do not explain it."""

LEFT = 0.1
"""Share of its variance that the contrasts before must leave of one that is looked at again."""

ROUNDS = 6
"""Of the projection, which takes out the means given each pair of questions in turn."""


Triple = tuple[int, ...]
"""Three questions, rising."""


@dataclass(frozen=True)
class Contrast:
    """One three-way effect that was found.

    triple : its questions
    category : (question's place in the triple, category) where it is one category's, None where it is
        linear in all three
    z : its score statistic
    direction : float64 (c1 c2 c3,), f in the triple's cells, of unit variance and orthogonal to all functions
        of two of its questions
    """

    triple: Triple
    category: tuple[int, int] | None
    z: float
    direction: np.ndarray


def candidates(
    true: np.ndarray,
    drawn: np.ndarray,
    score: np.ndarray,
    block_starts: np.ndarray,
    weights: np.ndarray | None = None,
    threads: int = 1,
) -> np.ndarray:
    """Return triples in falling order of their largest statistic before projection, (T, 3).

    Parameters
    ----------
    true, drawn : codes (n, Q) of the records, and (m, Q) of records drawn from the model
    score : (K,), of the categories, centred and scaled in each question
    weights : (n,), of the records, which sum to the number that they are worth
    """
    questions = true.shape[1]
    sides = [_Side.of(true, score, block_starts, weights), _Side.of(drawn, score, block_starts, None)]
    error = sum(1 / side.weights.sum() for side in sides)

    def largest_with(q: int) -> np.ndarray:
        own = score[block_starts[q] : block_starts[q + 1], None, None]
        (mean, square), (expected, of_model) = (side.moments(q, len(own)) for side in sides)
        variance = (square + of_model) / 2 * error
        linear = np.abs((own * (mean - expected)).sum(axis=0)) / _root((own**2 * variance).sum(axis=0))
        single = (np.abs(mean - expected) / _root(variance)).max(axis=0)
        return np.maximum(linear, single)

    largest = np.array(in_threads(largest_with, range(questions), threads))
    every = three_way.every(questions)
    a, b, c = every.T
    best = np.max([largest[a, b, c], largest[b, a, c], largest[c, a, b]], axis=0)
    return every[np.argsort(-best, kind="stable")[:CANDIDATES]]


def _root(variance: np.ndarray) -> np.ndarray:
    return np.sqrt(np.where(variance > 0, variance, np.inf))


@dataclass(frozen=True)
class _Side:
    """Records as codes and as scores, float32 (n, Q), and what they are worth, (n,)."""

    codes: np.ndarray
    scores: np.ndarray
    weights: np.ndarray

    @staticmethod
    def of(
        codes: np.ndarray, score: np.ndarray, block_starts: np.ndarray, weights: np.ndarray | None
    ) -> "_Side":
        own = score[codes + np.asarray(block_starts[:-1])].astype(np.float32)
        return _Side(codes, own, np.ones(len(codes)) if weights is None else weights)

    def moments(self, q: int, categories: int) -> np.ndarray:
        """Means over all records of products of two scores in each category of q, and of their squares.

        (2, c, Q, Q), the upper triangles of the last two.
        """
        size = self.scores.shape[1]
        sums = np.zeros((2, categories, size, size))
        compiled(_add_products)(np.ascontiguousarray(self.codes[:, q]), self.scores, self.weights, sums)
        return sums / self.weights.sum()


def _add_products(codes, scores, weights, sums):
    for i in range(len(codes)):
        k = codes[i]
        for r in range(scores.shape[1]):
            for s in range(r + 1, scores.shape[1]):
                product = np.float64(scores[i, r] * scores[i, s])
                sums[0, k, r, s] += weights[i] * product
                sums[1, k, r, s] += weights[i] * product * product


def tested(
    some: np.ndarray,
    true: np.ndarray,
    drawn: np.ndarray,
    n: float,
    m: float,
    score: np.ndarray,
    block_starts: np.ndarray,
) -> list["Test"]:
    """Return the tests of the contrasts of some triples, a :class:`Test` each.

    Parameters
    ----------
    some : (T, 3)
    true, drawn : counts of their cells, as :func:`modp.crosstabs.triples.counts` returns them
    n, m : of how many records
    score : (K,), of the categories, centred and scaled in each question
    """
    sizes = np.diff(block_starts)
    places = three_way.ends(some, sizes)
    tests = []
    for t, triple in enumerate(some):
        own = slice(places[t], places[t + 1])
        one, other = (side[own].reshape(sizes[triple]) for side in (true, drawn))
        of_each = [score[block_starts[q] : block_starts[q + 1]] for q in triple]
        tests.append(Test.of(triple, one, other, n, m, of_each))
    return tests


def found(tests: Sequence["Test"], sizes: np.ndarray) -> list[Contrast]:
    """Return the contrasts that chance does not explain, triple by triple.

    False discoveries are controlled in four families: linear contrasts and those of single categories, of
    triples with a question of two categories and of others. The first are few, and what analysts look for:
    whether an effect is another one in each of two groups.

    Parameters
    ----------
    tests : of the triples with the largest statistics of all
    sizes : (Q,), categories of each question
    """
    chosen = []
    for grouped, every in number(sizes).items():
        own = [test for test in tests if bool((sizes[test.triple] == 2).any()) == grouped]
        statistics = [np.array([abs(test.z[0]) for test in own]), _joined([abs(test.z[1:]) for test in own])]
        bounds = [threshold(z, family) for z, family in zip(statistics, every, strict=True)]
        chosen += [contrast for test in own for contrast in test.chosen(*bounds)]
    return sorted(chosen, key=lambda contrast: contrast.triple)


def _joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.zeros(0), *parts])


def threshold(z: np.ndarray, every: int) -> float:
    """Return the least |z| that is a discovery, infinite if none is (Benjamini and Hochberg, 1995).

    Parameters
    ----------
    z : absolute values of the most extreme ones of a family's tests
    every : number of all of the family
    """
    falling = np.sort(z)[::-1]
    p = np.array([math.erfc(x / math.sqrt(2)) for x in falling])
    passed = np.flatnonzero(p <= FALSE_DISCOVERIES * np.arange(1, len(p) + 1) / max(every, 1))
    return float(falling[passed[-1]]) if len(passed) else math.inf


def number(sizes: np.ndarray) -> dict[bool, tuple[int, int]]:
    """Return how many contrasts there are, linear and of single categories, of all triples of questions.

    Whether a question of the triple has two categories -> both numbers. A category of such a one is linear.
    """
    wide = sizes[sizes > 2]
    linear, without = math.comb(len(sizes), 3), math.comb(len(wide), 3)
    single = math.comb(max(len(sizes) - 1, 0), 2) * int(wide.sum())
    among_wide = math.comb(max(len(wide) - 1, 0), 2) * int(wide.sum())
    return {True: (linear - without, single - among_wide), False: (without, among_wide)}


@dataclass
class Test:
    """The contrasts of one triple, tested.

    directions : (F, c1, c2, c3), projected, of unit variance
    z : (F,); 0 where too few records make a contrast
    named : each one's category, as in :class:`Contrast`
    p : (c1, c2, c3), shares of records; ``gap``: the records' shares less the model's
    error : the standard error of the mean of a direction under ``gap``
    """

    triple: np.ndarray
    directions: np.ndarray
    z: np.ndarray
    named: list[tuple[int, int] | None]
    p: np.ndarray
    gap: np.ndarray
    error: float

    @staticmethod
    def of(
        triple: np.ndarray,
        true: np.ndarray,
        drawn: np.ndarray,
        n: float,
        m: float,
        score: Sequence[np.ndarray],
    ) -> "Test":
        """Test all contrasts of a triple with these tables, (c1, c2, c3), and its questions' scores."""
        p, gap = (true + drawn) / (n + m), true / n - drawn / m
        f, named = _products(score)
        f = projected(f, p)
        variance = (f**2 * p).sum(axis=(1, 2, 3))
        f /= np.sqrt(np.where(variance > 1e-9, variance, np.inf))[:, None, None, None]
        support = n / np.maximum((f**4 * p).sum(axis=(1, 2, 3)), 1e-12)
        error = math.sqrt(1 / n + 1 / m)
        difference = (f * gap).sum(axis=(1, 2, 3))
        z = np.where((support >= SUPPORT) & (variance > 1e-9), difference / error, 0.0)
        return Test(triple, f, z, named, p, gap, error)

    @property
    def strongest(self) -> tuple[float, tuple[int, int]]:
        """Its greatest statistic, and of which question's place and category it is; -1 where linear."""
        at = int(np.argmax(np.abs(self.z)))
        return float(self.z[at]), self.named[at] or (-1, -1)

    def chosen(self, linear: float, single: float) -> list[Contrast]:
        """Contrasts with |z| of at least their family's bound, the greatest first.

        Each next one is tested as far as those before do not explain it.
        """
        found: list[Contrast] = []
        f, z = self.directions.copy(), self.z.copy()
        bound = np.where([name is None for name in self.named], linear, single)
        while len(found) < MOST_OF_ONE and (np.abs(z) >= bound).any():
            at = int(np.argmax(np.where(np.abs(z) >= bound, np.abs(z), 0)))
            a, b, c = map(int, self.triple)
            found.append(Contrast((a, b, c), self.named[at], float(z[at]), f[at].ravel().copy()))
            shared = (f * f[at] * self.p).sum(axis=(1, 2, 3), keepdims=True)
            f = f - shared * f[at]
            left = (f**2 * self.p).sum(axis=(1, 2, 3))
            alive = (left > LEFT) & (self.z != 0)
            f /= np.sqrt(np.where(alive, left, np.inf))[:, None, None, None]
            z = np.where(alive, (f * self.gap).sum(axis=(1, 2, 3)) / self.error, 0.0)
        return found


def _products(score: Sequence[np.ndarray]) -> tuple[np.ndarray, list[tuple[int, int] | None]]:
    """Linear by linear by linear, then each category by linear by linear: (F, c1, c2, c3), and names."""
    u, v, w = score
    f = [u[:, None, None] * v[:, None] * w]
    named: list[tuple[int, int] | None] = [None]
    for place, own in enumerate(score):
        if len(own) == 2:
            continue  # a category of two is linear
        for k in range(len(own)):
            sides = list(score)
            sides[place] = (np.arange(len(own)) == k).astype(float)
            f.append(sides[0][:, None, None] * sides[1][:, None] * sides[2])
            named.append((place, k))
    return np.array(f), named


def projected(f: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return what functions of two of the three questions do not explain of f, by backfitting.

    Parameters
    ----------
    f : (F, c1, c2, c3)
    p : (c1, c2, c3), weights of the cells
    """
    f = f.copy()
    sums = [p.sum(axis=axis, keepdims=True) for axis in range(3)]
    for _ in range(ROUNDS):
        for axis, total in enumerate(sums):
            mean = (f * p).sum(axis=axis + 1, keepdims=True) / np.where(total > 0, total, 1.0)
            f -= mean
    return f


@dataclass(frozen=True)
class Tested:
    """What was found of T triples that were looked at, in falling order of evidence.

    triples : int64 (T, 3)
    effect : int64 (T, 2), of the strongest contrast: the place in the triple of the question of which it is
        one category's, and this; -1 and -1 where it is linear in all three
    z : float64 (T,), its score statistic
    misfit : float64 (T,), by how much the table misses the true one (:func:`modp.crosstabs.triples.misfit`)
    found : bool (T,), whether chance does not explain it
    modelled : int64 (T,), 0 where it has no weights, 1 where its contrasts have, 2 where all its cells have
    """

    triples: np.ndarray = field(default_factory=lambda: np.zeros((0, 3), np.int64))
    effect: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    z: np.ndarray = field(default_factory=lambda: np.zeros(0))
    misfit: np.ndarray = field(default_factory=lambda: np.zeros(0))
    found: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))
    modelled: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))

    def __len__(self) -> int:
        """Return the number of triples."""
        return len(self.triples)


@dataclass(frozen=True)
class Directions:
    """Contrasts of the triples that have weights, as directions in these triples' cells.

    values : float64, one contrast after the other
    cells : int64 of the same length, places of the cells
    begins : int64 (C + 1,), where each contrast begins and ends
    """

    values: np.ndarray
    cells: np.ndarray
    begins: np.ndarray

    @staticmethod
    def of(contrasts: Sequence[Contrast], chosen: np.ndarray, sizes: np.ndarray) -> "Directions":
        """Return the directions of contrasts, all of them of triples ``chosen``, (T, 3)."""
        places = three_way.ends(chosen, sizes)
        at = {tuple(map(int, triple)): t for t, triple in enumerate(chosen)}
        cells = [np.arange(places[at[c.triple]], places[at[c.triple] + 1]) for c in contrasts]
        begins = np.cumsum([0, *(len(own) for own in cells)]).astype(np.int64)
        values = np.concatenate([np.zeros(0), *(c.direction for c in contrasts)])
        return Directions(values, np.concatenate([np.zeros(0, np.int64), *cells]), begins)

    def __len__(self) -> int:
        """Return the number of contrasts."""
        return len(self.begins) - 1

    def sums(self, cells: np.ndarray, power: int = 1) -> np.ndarray:
        """Return each contrast's sum over its cells of direction, or its ``power``, times a number: (C,)."""
        if not len(self):
            return np.zeros(0)
        return np.add.reduceat(self.values**power * cells[self.cells], self.begins[:-1])

    def along(self, weights: np.ndarray, size: int) -> np.ndarray:
        """Return what contrasts of these weights, (C,), add to each of ``size`` cells."""
        moved = np.repeat(weights, np.diff(self.begins))
        return np.bincount(self.cells, self.values * moved, size)


NONE = Directions(np.zeros(0), np.zeros(0, np.int64), np.zeros(1, np.int64))
"""No contrasts."""
