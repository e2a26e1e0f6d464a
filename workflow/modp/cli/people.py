"""Whom synthetic tables are attacked about: the same people for every row, so that rows can be compared."""

from dataclasses import dataclass

import numpy as np

from modp.base import seeds
from modp.measures import attacks
from modp.survey.records import Records

MOST = 5_000
"""Synthetic records whose nearest true records are found, and people of either kind who are attacked."""

MOST_REFERENCES = 50_000
"""Train records, and records held out, among which the nearest are found."""

MOST_GUESSED = 2_000
"""People of either kind whose answers are guessed."""

MOST_RECONSTRUCTED = 10_000
"""Train records of which an answer is reconstructed together."""


@dataclass(frozen=True)
class People:
    """True records of both kinds in random order.

    train, holdout : those whom the models saw, and those whom they did not
    known : bool, of the holdout, those whom an attacker may have as a reference sample
    """

    train: Records
    holdout: Records
    known: np.ndarray

    @property
    def level(self) -> int:
        """As many as there are of both."""
        return min(len(self.train), len(self.holdout))

    @property
    def sides(self) -> tuple[Records, Records]:
        """As many members as others, who are attacked."""
        most = min(self.level, MOST)
        return self.train[:most], self.holdout[:most]

    @property
    def unknown(self) -> tuple[Records, Records]:
        """The same of those whom an attacker with a reference sample has not in it."""
        others = self.holdout[~self.known][:MOST]
        level = min(len(self.train), len(others))
        return self.train[:level], others[:level]

    @property
    def reference(self) -> Records:
        """The reference sample."""
        return self.holdout[self.known][:MOST_REFERENCES]


def people(true: Records, held: Records, seed: int) -> tuple[People, np.random.Generator]:
    """Put people in random order; return also the stream that the order was taken from."""
    rng = seeds.generator(seed, "attack")
    orders = [rng.permutation(len(side)) for side in (true, held)]
    return People(true[orders[0]], held[orders[1]], attacks.in_reference(orders[1])), rng
