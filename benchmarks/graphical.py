"""Sizes and tables of graphical models of questions, as AIM asks for them, in numpy alone.

A model is a table of log potentials over each of its cliques. AIM asks in each round how large the model
would be with each pair of questions beside, and for its table of each pair; mbi 1.1.0 makes a junction tree
and eliminates all other questions anew for each, in programs that jax compiles one by one. Here all pairs
share one tree. The answers are the same but for rounding.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from scipy.special import logsumexp

Clique = tuple[str, ...]


def neighbours(questions: Iterable[str], cliques: Iterable[Sequence[str]]) -> dict[str, set[str]]:
    """Return for each question those that share a clique with it."""
    near: dict[str, set[str]] = {question: set() for question in questions}
    for clique in cliques:
        for question in clique:
            near[question] |= set(clique) - {question}
    return near


def is_tree(near: Mapping[str, set[str]]) -> bool:
    """Say whether the graph is connected and without circles."""
    seen = set(waiting := [next(iter(near))])
    while waiting:
        waiting += (found := near[waiting.pop()] - seen)
        seen |= found
    return len(seen) == len(near) and sum(map(len, near.values())) == 2 * (len(near) - 1)


def eliminated(sizes: Mapping[str, int], cliques: Iterable[Sequence[str]]) -> dict[str, list[str]]:
    """Return each question, in the order of elimination, with those it is eliminated with.

    First comes the question whose table with its neighbours is smallest, which then become neighbours of each
    other; of a tree, a leaf. So mbi does.
    """
    near = neighbours(sizes, cliques)
    leaves = is_tree(near)

    def cost(question: str) -> int:
        if leaves:
            return len(near[question])
        return math.prod((sizes[other] for other in near[question]), start=sizes[question])

    costs = {question: cost(question) for question in sizes}
    found: dict[str, list[str]] = {}
    while costs:
        question = min(costs, key=costs.__getitem__)
        del costs[question]
        others = near.pop(question)
        found[question] = [other for other in sizes if other in others]
        for other in others:
            near[other] |= others
            near[other] -= {question, other}
        for other in others:
            costs[other] = cost(other)
    return found


def megabytes(sizes: Mapping[str, int], cliques: Iterable[Sequence[str]]) -> float:
    """Return the size of the largest cliques' tables, of 8 bytes a cell, where questions are eliminated."""
    largest: list[set[str]] = []
    for question, others in eliminated(sizes, cliques).items():
        clique = {question, *others}
        # Cliques that a later one lies in do not come: it would have been a neighbour when this one went.
        if not any(clique <= other for other in largest):
            largest.append(clique)
    return sum(math.prod(sizes[question] for question in clique) for clique in largest) * 8 / 2**20


def contracted(wanted: Clique, *factors: tuple[np.ndarray, Clique]) -> np.ndarray:
    """Return the product of tables over cliques, summed over what is not wanted."""
    label: dict[str, int] = {}
    words: list = []
    for table, clique in factors:
        words += [table, [label.setdefault(question, len(label)) for question in clique]]
    return np.einsum(*words, [label[question] for question in wanted])


class Tree:
    """A model's probabilities over the cliques of a tree, from which the table of any pair follows."""

    def __init__(self, sizes: Mapping[str, int], potentials: Mapping[Clique, np.ndarray]):
        self.sizes = sizes
        self.others = {q: tuple(others) for q, others in eliminated(sizes, potentials).items()}
        self.cliques = {question: (question, *others) for question, others in self.others.items()}
        turn = {question: number for number, question in enumerate(self.others)}
        self.parent = {
            question: min(others, key=turn.__getitem__) for question, others in self.others.items() if others
        }
        self.beside: dict[str, list[str]] = {question: [] for question in sizes}
        for child, parent in self.parent.items():
            self.beside[child].append(parent)
            self.beside[parent].append(child)
        self.tables = self._calibrated(potentials, turn)
        self._given: dict[tuple[str, str, Clique], np.ndarray] = {}
        self._pairs: dict[Clique, np.ndarray] = {}

    def table(self, questions: Clique) -> np.ndarray:
        """Return P(questions) of one question or of two, an array of their sizes that sums to 1."""
        if len(questions) == 1:
            return contracted(questions, (self.tables[questions[0]], self.cliques[questions[0]]))
        if questions not in self._pairs:
            self._pairs |= self._carried(questions[0])
        return self._pairs[questions]

    def _calibrated(
        self, potentials: Mapping[Clique, np.ndarray], turn: Mapping[str, int]
    ) -> dict[str, np.ndarray]:
        """The probabilities of each question's clique: messages to the last question, and back."""
        logs = {q: np.zeros([self.sizes[p] for p in clique]) for q, clique in self.cliques.items()}
        for clique, potential in potentials.items():
            home = min(clique, key=turn.__getitem__)
            logs[home] += self._laid(np.asarray(potential, float), clique, self.cliques[home])
        given, tables = {}, {}
        for question, others in self.others.items():
            message = logsumexp(logs[question], axis=0)
            given[question] = np.exp(logs[question] - message)
            if others:
                parent = self.parent[question]
                logs[parent] += self._laid(message, others, self.cliques[parent])
        for question in reversed(self.others):
            tables[question] = given[question]
            if others := self.others[question]:
                parent = self.parent[question]
                tables[question] = given[question] * contracted(
                    others, (tables[parent], self.cliques[parent])
                )
        return tables

    def _laid(self, table: np.ndarray, clique: Clique, wide: Clique) -> np.ndarray:
        """The table with its axes where a wider clique has them."""
        table = table.transpose([clique.index(question) for question in wide if question in clique])
        return table.reshape([self.sizes[question] if question in clique else 1 for question in wide])

    def _shared(self, one: str, other: str) -> Clique:
        """What the cliques of two neighbours of the tree share."""
        return self.others[one if self.parent.get(one) == other else other]

    def _conditional(self, before: str, at: str, wanted: Clique) -> np.ndarray:
        """P(wanted | what the clique shares with the one before), over both."""
        if (before, at, wanted) not in self._given:
            shared = self._shared(before, at)
            joint = contracted((*shared, *wanted), (self.tables[at], self.cliques[at]))
            total = joint.sum(axis=tuple(range(len(shared), joint.ndim)), keepdims=True)
            self._given[before, at, wanted] = np.divide(joint, total, np.zeros_like(joint), where=total > 0)
        return self._given[before, at, wanted]

    def _carried(self, one: str) -> dict[Clique, np.ndarray]:
        """The tables of a question and each other one, carried along the tree from its own clique."""
        found: dict[Clique, np.ndarray] = {}
        waiting: list[tuple[str | None, str, np.ndarray]] = [(None, one, np.ones(()))]
        while waiting:
            before, at, table = waiting.pop()
            clique = self.cliques[at]

            def joint(wanted: Clique, before=before, at=at, table=table, clique=clique) -> np.ndarray:
                if one in clique:
                    return contracted((one, *wanted), (self.tables[at], clique))
                shared = self._shared(before, at)
                new = tuple(question for question in wanted if question not in shared)
                given = self._conditional(before, at, new), (*shared, *new)
                return contracted((one, *wanted), (table, (one, *shared)), given)

            for other in clique:
                if other != one and (one, other) not in found:
                    found[one, other] = joint((other,))
            for after in self.beside[at]:
                if after != before:
                    shared = tuple(question for question in self._shared(at, after) if question != one)
                    waiting.append((at, after, joint(shared)))
        alone = self.table((one,))
        for other in self.sizes:
            if other != one and (one, other) not in found:
                found[one, other] = np.multiply.outer(alone, self.table((other,)))
        return found
