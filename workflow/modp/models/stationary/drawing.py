"""Tables drawn from a stationary model by sweeps: rows, points of the frontier, chains to be followed."""

from collections.abc import Iterator, Sequence

import numpy as np

from modp.base import devices, seeds
from modp.draws import fresh, independent
from modp.models.family import Drawn, Work
from modp.models.stationary.model import Stationary, sample
from modp.models.stationary.recipe import StationaryRow
from modp.survey.records import Records

SWEEPS = (1, 2, 3, 5, 10, 20, 30, 50, 100)


def draw(
    model: Stationary, records: Records, row: StationaryRow, work: Work, _: Sequence[Drawn] = ()
) -> Drawn:
    """Sweep from the true records, or from fresh ones, and return the last state of each chain."""
    codes, is_fresh = records.codes, row.start == "fresh"
    if is_fresh:
        codes = fresh.fresh(model.tables, len(records), seeds.generator(work.seed, "fresh", work.name))
    seed = seeds.integer(work.seed, "sweep", work.name)
    swept, bits, _changed = sample(model, codes, row.sweeps, seed, work.threads, devices.gpu(work.device))
    return Drawn(swept, np.ma.array(np.arange(len(records)), mask=is_fresh), np.ma.array(bits))


def curve(
    model: Stationary, records: Records, _: Sequence[Drawn], work: Work
) -> Iterator[tuple[str, float, np.ndarray]]:
    """Yield (curve, number of sweeps, codes), first of independent answers."""
    rng = seeds.generator(work.seed, "frontier", work.name)
    yield "marginals", 0.0, independent.shuffled(records.codes, rng)
    for number, codes in enumerate(_chains(model, records, "frontier", work), start=1):
        if number in SWEEPS:
            yield "sweeps", float(number), codes
        if number == max(SWEEPS):
            return


def chains(model: Stationary, records: Records, work: Work) -> Iterator[np.ndarray]:
    """Yield the codes after one sweep from the records, two, and so on without end."""
    return _chains(model, records, "mixing", work)


def _chains(model: Stationary, records: Records, stream: str, work: Work) -> Iterator[np.ndarray]:
    seed, codes, number = seeds.integer(work.seed, stream, work.name), records.codes, 0
    while True:
        number += 1
        codes = model.step(codes, seed, number, work.threads).codes
        yield codes
