"""Tables drawn from a stationary model by sweeps: rows, points of the frontier, chains to be followed."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from modp.base import devices, seeds
from modp.base.errors import InputError
from modp.crosstabs.pairs import counts
from modp.draws import balanced, forgetting, fresh, independent, possible
from modp.models.family import Drawn, Work
from modp.models.stationary.model import Stationary, sample
from modp.models.stationary.recipe import StationaryRow
from modp.models.stationary.wide import wideness
from modp.survey import where
from modp.survey.codebook import Codebook
from modp.survey.effective import in_proportion
from modp.survey.records import Records

SWEEPS = (1, 2, 3, 5, 10, 20, 30, 50, 100)

FEWEST_SWEEPS, MOST_SWEEPS = 20, 320
"""Of a row that sweeps until its records are forgotten."""

FALLING = 0.8
"""It goes on while twice as many sweeps leave less than so much of what was remembered."""

STATES, EXPECTED = (30, 200), 400_000
"""States of its chains whose mean crosstab a balanced table is to have: the least and the most, and of how
many records together where that is between."""

POOL, POOLED = 200_000, (4, 30)
"""Records that it is chosen from, if they are of so many states; else the least or the most of these. Of wide
tables, where each record has more cells to be looked at, fewer as the pairs of questions are more."""

APART = 2
"""Sweeps from one state to the next."""


def draw(
    model: Stationary, records: Records, row: StationaryRow, work: Work, _: Sequence[Drawn] = ()
) -> Drawn:
    """Sweep from the true records, or from fresh ones, and return the last state of each chain.

    A balanced row takes its records from that state and some later ones. Where more records are wanted than
    there are true ones, chains begin at true ones more than once; where the model is fitted to weighted
    counts, in proportion to the weights. Under a condition they begin at those that meet it, and never leave
    it.

    Raises
    ------
    InputError
        if no record can meet the condition, or no true one does and chains are to begin there
    """
    is_fresh, own = row.start == "fresh", np.arange(len(records))
    if row.where:
        model, own = _given(model, records, row, work)
        work = work if work.weights is None else replace(work, weights=work.weights[own])
    n = len(own)
    size = row.size or n
    partner = own[_starts(n, size, work)] if n else np.zeros(size, np.int64)
    codes = records.codes[partner]
    if is_fresh:
        codes = fresh.fresh(model.tables, len(partner), seeds.generator(work.seed, "fresh", work.name))
    seed, gpu = seeds.integer(work.seed, "sweep", work.name), devices.gpu(work.device)
    sweeps = FEWEST_SWEEPS if row.sweeps == "auto" else row.sweeps
    swept, bits, _changed = sample(model, codes, sweeps, seed, work.threads, gpu)
    if row.sweeps == "auto":
        swept, bits = _forgotten(model, codes, swept, bits, records.codes, work)
    if row.balanced:
        swept, bits, chain = _balanced(model, swept, bits, size, work)
        partner = partner[chain]
    elif size < n:
        rows = np.sort(seeds.generator(work.seed, "size", work.name).permutation(n)[:size])
        swept, bits, partner = swept[rows], bits[rows], partner[rows]
    return Drawn(swept, np.ma.array(partner, mask=is_fresh), np.ma.array(bits))


def complete(model: Stationary, given: np.ndarray, codebook: Codebook, sweeps: int, work: Work) -> Drawn:
    """Draw the other answers of records of which some are given, which stay as they are.

    As many free chains as records go beside them. Where open answers fix each other no single one can change,
    and a record gets them together by an exchange with such a chain.

    Parameters
    ----------
    given : int (n, Q), ``OPEN`` where an answer is to be drawn
    sweeps : from records that are drawn answer by answer

    Returns
    -------
    n records, in the order of ``given``, without causal partners

    Raises
    ------
    InputError
        if the answers given to a record exclude each other, with its number and the questions
    """
    codes, lost = begun(model, given, work)
    if len(lost):
        impossible(model, given, codebook, int(lost[0]))
    swept, bits = kept_sweeping(model, codes, given != where.OPEN, sweeps, work)
    return Drawn(swept, np.ma.masked_all(len(given), np.int64), np.ma.array(bits))


def begun(model: Stationary, given: np.ndarray, work: Work) -> tuple[np.ndarray, np.ndarray]:
    """Return records to begin at, as :func:`modp.draws.fresh.begun` does."""
    return fresh.begun(model.tables, given, seeds.generator(work.seed, "given", work.name))


def impossible(model: Stationary, given: np.ndarray, codebook: Codebook, row: int) -> None:
    """Raise InputError with the answers of a record that exclude each other."""
    try:
        model.given(possible.allowing(given[row], model.block_starts), codebook)
    except InputError as refused:
        raise InputError(f"record {row + 1} of those given: {refused}") from None


def kept_sweeping(
    model: Stationary, codes: np.ndarray, held: np.ndarray, sweeps: int, work: Work
) -> tuple[np.ndarray, np.ndarray]:
    """Sweep records of which some answers stay, (n, Q), beside as many free chains; codes and entropies."""
    n = len(codes)
    free = fresh.fresh(model.tables, n, seeds.generator(work.seed, "beside", work.name))
    chains, stay = np.concatenate([codes, free]), np.concatenate([held, np.zeros(held.shape, bool)])
    seed, gpu = seeds.integer(work.seed, "sweep", work.name), devices.gpu(work.device)
    swept, bits, _changed = sample(model, chains, sweeps, seed, work.threads, gpu, stay)
    return swept[:n], bits[:n]


def _given(
    model: Stationary, records: Records, row: StationaryRow, work: Work
) -> tuple[Stationary, np.ndarray]:
    """The model of records that meet a row's condition, and which true ones do."""
    allowed = where.allowed(row.where or {}, records.codebook)
    model = model.given(allowed, records.codebook)
    said = where.said(allowed, records.codebook)
    own = records.meeting(allowed)
    if not len(own) and (row.size is None or row.start == "records"):
        raise InputError(
            f"{work.name}: no true record is {said}: say how many are to be drawn, and from the weights "
            "alone, as in 'size: 1000, start: fresh, sweeps: 50'"
        )
    work.log(f"{work.name}: only {said}, as {len(own):,} of {len(records):,} true records are")
    return model, own


def _starts(n: int, size: int, work: Work) -> np.ndarray:
    """The true record that each chain begins at: each once and, where there are to be more, again.

    With weights as often as its weight says.
    """
    if work.weights is not None:
        return in_proportion(work.weights, max(size, n), seeds.generator(work.seed, "starts", work.name))
    again = seeds.generator(work.seed, "starts", work.name).permutation(n)
    return np.concatenate([np.arange(n), np.resize(again, max(size - n, 0))])


def _forgotten(
    model: Stationary, start: np.ndarray, swept: np.ndarray, bits: np.ndarray, true: np.ndarray, work: Work
) -> tuple[np.ndarray, np.ndarray]:
    """Sweep on, twice as far each time, until the records that chains began at are forgotten."""
    rng, gpu = seeds.generator(work.seed, "forgotten", work.name), devices.gpu(work.device)
    rows = np.sort(rng.permutation(len(true))[: forgetting.CHAINS])
    left, before, sweeps = forgetting.remembered(start, swept, rows, true), math.inf, FEWEST_SWEEPS
    enough = forgetting.chance(len(true), len(rows))
    while left > enough and left < FALLING * before and sweeps < MOST_SWEEPS:
        key = seeds.integer(work.seed, "sweep", work.name, str(sweeps))
        swept, bits, _changed = sample(model, swept, sweeps, key, work.threads, gpu)
        before, left, sweeps = left, forgetting.remembered(start, swept, rows, true), 2 * sweeps
    ended = "" if left <= enough else ", and no more is forgotten" if sweeps < MOST_SWEEPS else ", the most"
    by_chance = min(forgetting.NEAREST / max(len(true), 1), 1.0)
    work.log(
        f"{work.name}: {sweeps} sweeps{ended}, after which {left:.2%} of the records that chains began "
        f"at are among the {forgetting.NEAREST} nearest (by chance {by_chance:.2%})"
    )
    return swept, bits


def _balanced(
    model: Stationary, swept: np.ndarray, bits: np.ndarray, size: int, work: Work
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Choose ``size`` records among these and later ones of their chains, and mend them.

    Say also whose chain each is.
    """
    n, gpu, starts = len(swept), devices.gpu(work.device), model.block_starts
    kept = int(np.clip(POOL / wideness(len(starts) - 1) ** 2 // max(n, 1), *POOLED))
    # One place for all states, of which there is no room for two where records are millions.
    drawn, every_bits = np.empty((kept * n, swept.shape[1]), swept.dtype), np.empty(kept * n, bits.dtype)
    drawn[:n], every_bits[:n] = swept, bits
    known = len(model.expected) > 0
    every = kept if known else int(np.clip(EXPECTED // max(n, 1), *STATES))
    total = 0.0 if known else counts(swept, starts, work.threads).astype(float)
    for number in range(1, every):
        key = seeds.integer(work.seed, "pool", work.name, str(number))
        swept, bits, _changed = sample(model, swept, APART, key, work.threads, gpu)
        if not known:
            total += counts(swept, starts, work.threads)
        if number < kept:
            own = slice(number * n, (number + 1) * n)
            drawn[own], every_bits[own] = swept, bits
    rng = seeds.generator(work.seed, "balanced", work.name)
    if known:
        expected = model.expected * (size / np.diag(model.expected)[: starts[1]].sum())
    else:
        expected = total * (size / (n * every))
    rows = balanced.chosen(drawn, expected, size, starts, rng, work.threads)
    rows = rows[np.argsort(rows % max(n, 1), kind="stable")]
    key = seeds.integer(work.seed, "mended", work.name)

    def redraw(codes: np.ndarray, held: np.ndarray, number: int) -> np.ndarray:
        return model.redrawn(codes, key, number, work.threads, gpu=gpu, held=held).codes

    codes = balanced.mended(drawn[rows], expected, redraw, starts, rng, work.threads)
    return codes, every_bits[rows], rows % max(n, 1)


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
