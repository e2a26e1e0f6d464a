"""The one table of a private model."""

from collections.abc import Sequence

import numpy as np

from modp.base import devices, seeds
from modp.base.errors import InputError
from modp.draws import fresh
from modp.models.family import Drawn, Work
from modp.models.private.fitting import Released
from modp.models.private.recipe import PrivateRow
from modp.models.stationary.model import sample
from modp.survey import where
from modp.survey.records import Records

SWEEPS = 20
"""From released records to others; 50 where there are none to begin at."""

SWEEPS_OF_FRESH = 50


def draw(model: Released, records: Records, row: PrivateRow, work: Work, _: Sequence[Drawn] = ()) -> Drawn:
    """Return the table that the fit released, or so many records, which no true record is the start of.

    Raises
    ------
    InputError
        if no record can meet the row's condition, or no released one does and no size is given
    """
    codes, bits = model.codes, model.entropy_bits
    if row.size is not None or row.where:
        codes, bits = _others(model, records, row, work)
    return Drawn(codes, np.ma.masked_all(len(codes), np.int64), np.ma.array(bits))


def _others(model: Released, records: Records, row: PrivateRow, work: Work) -> tuple[np.ndarray, np.ndarray]:
    """Records made of the released model and table alone, and their entropies."""
    chains, own = model.model, np.arange(len(model.codes))
    if row.where:
        allowed = where.allowed(row.where, records.codebook)
        chains = chains.given(allowed, records.codebook)
        own = np.flatnonzero(allowed[model.codes + model.model.block_starts[:-1]].all(axis=1))
    size = len(own) if row.size is None else row.size
    rng = seeds.generator(work.seed, "size", work.name)
    if not size:
        raise InputError(f"{work.name}: no released record is like that: say how many to draw ('size: 1000')")
    if size <= len(own):
        some = own[np.sort(rng.permutation(len(own))[:size])]
        return model.codes[some], model.entropy_bits[some]
    sweeps = SWEEPS if len(own) else SWEEPS_OF_FRESH
    if len(own):
        starts = model.codes[np.concatenate([own, np.resize(rng.permutation(own), size - len(own))])]
    else:
        starts = fresh.fresh(chains.tables, size, rng)
    seed, gpu = seeds.integer(work.seed, "sweep", work.name), devices.gpu(work.device)
    codes, bits, _changed = sample(chains, starts, sweeps, seed, work.threads, gpu)
    return codes, bits
