"""Tables drawn from one of the paper's models: instances, and the rows that are made of them."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch

from modp.base import devices, seeds
from modp.base.errors import InputError
from modp.crosstabs.identical import multiplicity
from modp.crosstabs.pairs import crosstab
from modp.crosstabs.zeros import zeros_of
from modp.draws import independent, postprocess, sequential
from modp.draws.swap import Limits, Problem, swap
from modp.models.blades.network import Blades
from modp.models.blades.recipe import BladesRow, Swap
from modp.models.family import Drawn, Work
from modp.survey import where
from modp.survey.records import Records

ROWS_AT_ONCE = 4096
GATED_AT_ONCE = 1 << 14


def instances(model: Blades, records: Records, number: int, work: Work) -> list[Drawn]:
    """Draw so many tables, in each one synthetic record from every true one, all answers at once."""
    streams = [seeds.generator(work.seed, "synthesize", work.name, str(k + 1)) for k in range(number)]
    drawn: list[list[np.ndarray]] = [[] for _ in streams]
    bits = []
    for chunk, probabilities in _predictions(model, records, work.device):
        bits.append(independent.entropy_bits(probabilities))
        for instance, rng in zip(drawn, streams, strict=True):
            uniform = rng.random(chunk.codes.shape)
            instance.append(independent.independent(probabilities, records.block_starts, uniform))
    entropy = np.ma.array(np.concatenate(bits))
    return [Drawn(np.concatenate(codes), np.ma.arange(len(records)), entropy) for codes in drawn]


def gates(model: Blades, records: Records) -> np.ndarray:
    """Return the weights that the gate gives the blades, record by record: float32 (n, B)."""
    torch.set_num_threads(1)  # sums in one order, whatever the machine's cores
    parts = []
    with torch.no_grad():
        for first in range(0, len(records), GATED_AT_ONCE):
            binary = torch.from_numpy(records[first : first + GATED_AT_ONCE].one_hot)
            parts.append(model.gate(binary).numpy())
    return np.concatenate(parts)


def draw(model: Blades, records: Records, row: BladesRow, work: Work, drawn: Sequence[Drawn]) -> Drawn:
    """Make one row's table: treat instances in the order of :class:`BladesRow`, or sweep.

    Where more records are wanted than treatments leave of the instances, more are drawn and treated.

    Raises
    ------
    InputError
        if more records are wanted and treatments leave none, or no true record meets a condition
    """
    if row.sweeps:
        return _swept(model, records, row.sweeps, row, work)
    parts = [_treated(model, records, row, work, drawn)]
    size = row.size or len(parts[0][0])
    while (have := sum(len(part[0]) for part in parts)) < size:
        if not len(parts[-1][0]):
            raise InputError(f"{row.row}: {size:,} records are wanted, and its treatments leave none")
        again = replace(work, name=f"{row.model} for {row.name}, {len(parts) + 1}")
        more = instances(model, records, row.instances, again)
        parts.append(_treated(model, records, row, again, more))
    if have > size:
        last = len(parts[-1][0])
        rng = seeds.generator(work.seed, "size", work.name)
        some = np.sort(rng.permutation(last)[: size - (have - last)])
        codes, partners, entropies = parts[-1]
        parts[-1] = codes[some], partners[some], entropies[some]
    synthetic, partner, bits = (np.ma.concatenate(columns) for columns in zip(*parts, strict=True))
    synthetic = np.asarray(synthetic)
    if row.swap:
        counts, zeros = crosstab(records), zeros_of(work.zeros, records)
        synthetic = _swapped(Problem(records.of(synthetic), counts, zeros, len(records)), row.swap, work)
        # No one draw made a record whose answers were exchanged, so its entropy is not known.
        bits = np.ma.masked_all(len(synthetic))
    return Drawn(synthetic, np.ma.array(partner), bits)


def _treated(
    model: Blades, records: Records, row: BladesRow, work: Work, drawn: Sequence[Drawn]
) -> tuple[np.ndarray, np.ndarray, np.ma.MaskedArray]:
    """Codes of the records that treatments but swaps leave of instances, their partners and entropies."""
    codes, bits = [instance.codes for instance in drawn], drawn[-1].entropy_bits
    if row.pass_through:
        # A row's first instances have streams of the row's name, further ones their own.
        name = row.row if work.name == row.row else work.name
        for at, instance in enumerate(codes):
            rng = seeds.generator(work.seed, "pass-through", name, str(at + 1))
            codes[at] = independent.pass_through(instance, records.codes, row.pass_through, rng)
        bits = np.ma.array(_mixed_entropy(model, records, row.pass_through, work.device))
    counts, zeros = crosstab(records), zeros_of(work.zeros, records)
    synthetic = codes[0]
    if row.threshold is not None:
        chosen = postprocess.select([records.of(c) for c in codes], counts, row.threshold)
        synthetic = np.stack(codes)[chosen, np.arange(len(records))]
        work.log(f"{row.row}: {np.mean(chosen > 0):.1%} of the records took a later instance")
    keep = _kept(records, records.of(synthetic), bits, zeros, row, work)
    return synthetic[keep], np.flatnonzero(keep), bits[keep]


def _partners(own: np.ndarray, row: BladesRow, work: Work) -> np.ndarray:
    """The true record that each of a row's sweeps begins at, (size,), among some of them."""
    if row.size is None:
        return own
    order = own[seeds.generator(work.seed, "size", work.name).permutation(len(own))]
    again = np.resize(order, max(row.size - len(own), 0))
    return np.concatenate([np.sort(order[: row.size]), again])


def _kept(
    true: Records, synthetic: Records, bits: np.ndarray, zeros: np.ndarray, row: BladesRow, work: Work
) -> np.ndarray:
    """The mask of the records that a row keeps."""
    keep = np.ones(len(synthetic), bool)
    if row.remove_zeros:
        keep = ~postprocess.violations(synthetic, zeros)
        work.log(f"{row.row}: {np.mean(~keep):.1%} of the records held a structural zero and were removed")
    if row.protect is not None:
        exposed = postprocess.deficient(multiplicity(true.codes), np.asarray(bits), row.protect)
        keep &= ~exposed
        work.log(f"{row.row}: {np.mean(exposed):.1%} of the records hide in a crowd below {row.protect:g}")
    return keep


def _swapped(problem: Problem, limits: Swap, work: Work) -> np.ndarray:
    """The records after swaps, as far as the limits go."""
    seconds = 60 * limits.minutes if limits.minutes else math.inf
    return swap(
        problem,
        Limits(limits.passes, seconds, limits.improvement),
        seeds.generator(work.seed, "swap", work.name),
        devices.device(work.device),
        lambda number, left: work.log.only_file(f"{work.name}: pass {number}, discrepancy {left:.6g}"),
    )


def _mixed_entropy(model: Blades, records: Records, p: float, device: str) -> np.ndarray:
    """Entropy of answers that are the true ones with probability p, else drawn."""
    return np.concatenate(
        [
            independent.entropy_bits(independent.mixed(probabilities, chunk.one_hot, p))
            for chunk, probabilities in _predictions(model, records, device)
        ]
    )


def _predictions(model: Blades, records: Records, device: str) -> Iterator[tuple[Records, np.ndarray]]:
    """Yield some of the records and their probabilities (m, K), each question's summing to one."""
    model = model.on(device)
    for first in range(0, len(records), ROWS_AT_ONCE):
        chunk = records[first : first + ROWS_AT_ONCE]
        yield chunk, independent.normalised(model.predict(chunk), records.block_starts)


def _swept(model: Blades, records: Records, sweeps: int, row: BladesRow, work: Work) -> Drawn:
    """Sweep from true records, from those that meet the row's condition if it has one."""
    model = model.on(work.device)
    allowed = where.allowed(row.where, records.codebook) if row.where else None
    own = np.arange(len(records))
    if allowed is not None:
        own = records.meeting(allowed)
        said = where.said(allowed, records.codebook)
        if not len(own):
            raise InputError(f"{work.name}: no true record, where sweeps begin, is {said}")
        work.log(f"{work.name}: only {said}, as {len(own):,} of {len(records):,} true records are")
    partners = _partners(own, row, work)
    starts, device = records.block_starts, model.weight.device
    zeros = zeros_of(work.zeros, records)
    rng = seeds.generator(work.seed, "sweep", work.name)

    @torch.no_grad()
    def predict(binary: np.ndarray, question: int) -> np.ndarray:
        chunk = torch.from_numpy(binary).to(device)
        return model.question(chunk, int(starts[question]), int(starts[question + 1])).cpu().numpy()

    swept = records[partners]
    for _ in range(sweeps):
        swept, bits = sequential.redrawn(swept, zeros, predict, rng, allowed)
    return Drawn(swept.codes, np.ma.array(partners), np.ma.array(bits))
