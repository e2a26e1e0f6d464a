"""Fidelity against privacy along the share of true answers that are passed through."""

from collections.abc import Iterator, Sequence

import numpy as np

from modp.base import seeds
from modp.draws import independent
from modp.models.family import Drawn, Model, Work
from modp.survey.records import Records

KEPT = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


def pass_through(
    _: Model, records: Records, instances: Sequence[Drawn], work: Work
) -> Iterator[tuple[str, float, np.ndarray]]:
    """Yield (curve, share of answers passed through, codes), first of independent answers."""
    rng = seeds.generator(work.seed, "frontier", work.name)
    yield "marginals", 0.0, independent.shuffled(records.codes, rng)
    for p in KEPT:
        yield "pass-through", p, independent.pass_through(instances[0].codes, records.codes, p, rng)
