"""What a figure is drawn from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from modp.base import seeds
from modp.survey.codebook import Codebook

Published = Mapping[str, Mapping[str, Mapping[str, float]]]
"""The paper's numbers: data set -> row -> median, mean and r.m.s. of d and, where it says so, how often
the causal partner is among the ten nearest records."""


@dataclass(frozen=True)
class Given:
    """What the function of a kind of figure is given.

    ``title`` is the data set's. ``names`` are the rows or models that the figure shows, none for one of
    the whole run. ``frames`` are the tables that its kind reads, in the order of
    :attr:`modp.figures.registry.Kind.reads`. ``seed`` is the run's. ``published`` is empty but for
    kinds that ask for it.
    """

    title: str
    names: Sequence[str]
    frames: Sequence[pd.DataFrame]
    codebook: Codebook
    seed: int
    published: Published = field(default_factory=dict)

    @property
    def shown(self) -> list[str]:
        """The rows or models as figures write them: ``model, variant``."""
        return [name.replace("/", ", ") for name in self.names]

    @property
    def headed(self) -> str:
        """The title of a figure of one row or model."""
        return f"{self.title}\n{self.shown[0]}"

    @property
    def rng(self) -> np.random.Generator:
        """A generator of this figure's own, at its beginning."""
        return seeds.generator(self.seed, "figure", *self.names)
