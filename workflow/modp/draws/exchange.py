"""Exchanges between chains: pairs of records swap their answers to a group of linked questions.

A sweep redraws one question at a time. Where answers fix each other, as marital status and presence of
a spouse do, no single one of them can ever change, and a record would keep its true answers for ever.
An exchange moves the whole group at once. It is a Metropolis step of two independent chains (a
crossover, as in parallel tempering and evolutionary Monte Carlo): accepted with the ratio of their joint
probabilities, it leaves the product of their distributions as it is, and every category's count too.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from modp.base.loops import compiled, in_threads
from modp.draws.sweeps import Tables

PAIRS_AT_ONCE = 1 << 13
CONTEXTS = 2
"""Questions outside the group on which the two records agree, so that more exchanges are accepted."""


@dataclass(frozen=True)
class Links:
    """How strongly questions are linked: ``strength``, (Q, Q), symmetric, from 0 to 1."""

    strength: np.ndarray

    def group(self, question: int, least: float) -> np.ndarray:
        """Return the mask (Q,) of questions that chains of links of at least ``least`` lead to."""
        inside = np.zeros(len(self.strength), bool)
        inside[question] = True
        while True:
            grown = inside | (self.strength[inside] >= least).any(axis=0)
            if (grown == inside).all():
                return inside
            inside = grown

    def context(self, group: np.ndarray) -> np.ndarray:
        """Return the questions outside a group that are most strongly linked to it, strongest last."""
        strength = np.where(group, -1.0, self.strength[group].max(axis=0))
        order = np.argsort(strength, kind="stable")
        return order[-min(CONTEXTS, int((~group).sum())) :] if not group.all() else order[:0]


def links(counts: np.ndarray, block_starts: np.ndarray) -> Links:
    """Measure the links between questions by a crosstab, (K, K).

    The strength is the mutual information of two questions over the smaller of their entropies: 1 where
    one answer fixes the other, 0 where they are independent.
    """
    questions = len(block_starts) - 1
    strength = np.zeros((questions, questions))
    total = max(float(np.diag(counts)[: block_starts[1]].sum()), 1.0)
    entropies = [_entropy(np.diag(counts)[a:b] / total) for a, b in itertools.pairwise(block_starts)]
    for q in range(questions):
        for r in range(q):
            table = counts[block_starts[q] : block_starts[q + 1], block_starts[r] : block_starts[r + 1]]
            shared = entropies[q] + entropies[r] - _entropy(table.ravel() / total)
            least = min(entropies[q], entropies[r])
            strength[q, r] = strength[r, q] = np.clip(shared / least, 0, 1) if least > 0 else 0
    return Links(strength)


def _entropy(shares: np.ndarray) -> float:
    shares = shares[shares > 0]
    return float(-(shares * np.log2(shares)).sum())


def exchange(
    codes: np.ndarray,
    model: Tables,
    linked: Links,
    rounds: int,
    rng: np.random.Generator,
    threads: int,
    held: np.ndarray | None = None,
) -> tuple[np.ndarray, float]:
    """Let pairs of records swap groups of answers.

    Each round takes the group of a random question at a random strength of links, and pairs up records
    at random among those that agree on the group's context; neither depends on the answers that may be
    swapped. No record gains a structural zero.

    Parameters
    ----------
    codes : int16 of shape (n, Q); left as it is
    model : a stationary model's tables
    rounds : number of groups, one after the other
    threads : how many threads share the pairs; without influence on the result
    held : bool (n, Q), answers that stay as they are; None for none

    Returns
    -------
    codes : int16 (n, Q)
    accepted : share of the proposed exchanges that were accepted
    """
    codes = np.array(codes, np.int16, order="C")
    laid_out = (model.block_starts, model.weights, model.excluded, model.rows.numbers)
    done = tried = 0
    for group, inner, outer in groups(linked, codes.shape[1], rounds, rng):
        pairs = paired(codes, linked.context(group), rng)
        uniform = rng.random(len(pairs))
        torn = torn_by(group, model)
        parts = [
            (codes, some[i : i + PAIRS_AT_ONCE], moving, rest, chance[i : i + PAIRS_AT_ONCE], torn)
            for some, chance, moving, rest in free(codes, pairs, uniform, inner, outer, held)
            for i in range(0, len(some), PAIRS_AT_ONCE)
        ]
        done += sum(in_threads(lambda part: _exchange_pairs(*part, *laid_out), parts, threads))
        tried += len(pairs)
    return codes, done / max(tried, 1)


def groups(
    linked: Links, questions: int, rounds: int, rng: np.random.Generator
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield a random group for each round, bool (Q,), and which questions move and which stay.

    A group of all questions is passed over. Swapping a group or all the rest is the same but for the rows'
    names: the smaller part moves, so that a row stays with most of its answers and its causal partner means
    something.
    """
    for _ in range(rounds):
        group = linked.group(int(rng.integers(questions)), rng.random())
        if not group.all():
            inner, outer = sorted((np.flatnonzero(group), np.flatnonzero(~group)), key=len)
            yield group, inner, outer


def torn_by(group: np.ndarray, model: Tables) -> np.ndarray:
    """Return those of a model's ``last_terms`` whose questions are partly in a group, partly not."""
    members = group[model.last_terms[:, [1, 2, 4]]]
    return model.last_terms[members.any(axis=1) & ~members.all(axis=1)]


def _keys(answers: np.ndarray) -> np.ndarray:
    """Number each combination of a row's answers, (n,), in few bits, which sort faster."""
    keys = np.zeros(len(answers), np.int64)
    for column in answers.T[::-1]:
        keys = keys * (int(column.max(initial=0)) + 1) + column
    return keys.astype(np.min_scalar_type(int(keys.max(initial=0))))


def paired(codes: np.ndarray, context: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Pairs of rows, (m, 2), that agree on the context's questions, at random among those."""
    order = rng.permutation(len(codes))
    keys = _keys(codes[:, context])[order]
    sorting = np.argsort(keys, kind="stable")
    order, keys = order[sorting], keys[sorting]
    same = keys[1:] == keys[:-1]
    # Cut runs of equal keys into pairs of neighbours.
    first = np.concatenate([[True], ~same])
    place = np.arange(len(codes)) - np.maximum.accumulate(np.where(first, np.arange(len(codes)), 0))
    left = np.flatnonzero((place[:-1] % 2 == 0) & same)
    return np.column_stack([order[left], order[left + 1]])


def free(
    codes: Any, pairs: Any, uniform: Any, inner: Any, outer: Any, held: Any
) -> list[tuple[Any, Any, Any, Any]]:
    """Pairs with their uniform numbers, the questions that move and the others.

    The smaller part moves where some of its answers would change and none of these is held, else the larger
    one. That is so before an exchange if it is after it, so that the distribution stays. All are arrays of
    NumPy, or on a device of torch; ``held`` may be None.
    """
    if held is None:
        return [(pairs, uniform, inner, outer)]
    one, other = pairs.T
    changes = codes[one] != codes[other]
    stuck = (held[one] | held[other]) & changes
    first, second = (~stuck[:, part].any(axis=1) & changes[:, part].any(axis=1) for part in (inner, outer))
    second &= ~first
    return [
        (pairs[first], uniform[first], inner, outer),
        (pairs[second], uniform[second], outer, inner),
    ]


@compiled
def _torn_gain(codes, a, b, moves, starts, triples, numbers):
    """Change of the two records' weights of triples that have questions on both sides."""
    gain = 0.0
    for t in range(len(triples)):
        q, r, s = triples[t, 1], triples[t, 2], triples[t, 4]
        was_a = was_b = now_a = now_b = triples[t, 0] - starts[q]
        for question, step in ((q, 1), (r, triples[t, 3]), (s, triples[t, 5])):
            one = (starts[question] + codes[a, question]) * step
            other = (starts[question] + codes[b, question]) * step
            was_a += one
            was_b += other
            now_a += other if moves[question] else one
            now_b += one if moves[question] else other
        gain += numbers[now_a] + numbers[now_b] - numbers[was_a] - numbers[was_b]
    return gain


@compiled
def _exchange_pairs(codes, pairs, inner, outer, uniform, torn, starts, weights, excluded, numbers):
    """Exchange where the Metropolis ratio allows it; return how many did."""
    done = 0
    moves = np.zeros(codes.shape[1], np.bool_)
    moves[inner] = True
    for p in range(len(pairs)):
        a, b = pairs[p, 0], pairs[p, 1]
        gain = 0.0
        allowed = True
        for q in inner:
            u, v = starts[q] + codes[a, q], starts[q] + codes[b, q]
            if u == v:
                continue
            for r in outer:
                i, j = starts[r] + codes[a, r], starts[r] + codes[b, r]
                if i == j:
                    continue
                if excluded[v, i] or excluded[u, j]:
                    allowed = False
                    break
                gain += weights[v, i] + weights[u, j] - weights[u, i] - weights[v, j]
            if not allowed:
                break
        if allowed:
            gain += _torn_gain(codes, a, b, moves, starts, torn, numbers)
        if allowed and (gain >= 0 or uniform[p] < np.exp(gain)):
            for q in inner:
                codes[a, q], codes[b, q] = codes[b, q], codes[a, q]
            done += 1
    return done
