"""Exchanges between chains on a GPU: all pairs of a round at once."""

import numpy as np
import torch

from modp.crosstabs.gpu_counts import columns_on
from modp.draws.exchange import Links, free, groups, torn_by
from modp.draws.gpu_sweeps import LaidOut
from modp.draws.sweeps import Tables

PAIRS_AT_ONCE = 1 << 16
"""Pairs that are taken at a time: some float32 tables of K columns."""


@torch.no_grad()
def exchange_on(
    device: torch.device,
    codes: np.ndarray,
    model: Tables,
    linked: Links,
    rounds: int,
    rng: np.random.Generator,
    held: np.ndarray | None = None,
) -> tuple[np.ndarray, float]:
    """Let pairs of records swap groups of answers, as :func:`modp.draws.exchange.exchange` does.

    The groups are the same, from other random numbers the pairs of records and what they do.

    Parameters
    ----------
    codes : int16 of shape (n, Q); left as it is
    rng : for the groups, and for the seed of the numbers of ``device``
    held : bool (n, Q), answers that stay as they are; None for none

    Returns
    -------
    codes : int16 (n, Q)
    accepted : share of the proposed exchanges that were accepted
    """
    generator = torch.Generator(device).manual_seed(int(rng.integers(2**62)))
    laid = LaidOut(device, model)
    answers = columns_on(device, codes, laid.starts)
    stay = None if held is None else torch.from_numpy(np.asarray(held, bool)).to(device)
    done = tried = 0
    for group, *parts in groups(linked, codes.shape[1], rounds, rng):
        pairs = paired_on(answers, torch.from_numpy(linked.context(group)).to(device), generator)
        uniform = torch.rand(len(pairs), generator=generator, device=device)
        torn = torn_by(group, model)
        inner, outer = (torch.from_numpy(part).to(device) for part in parts)
        for some, chance, moving, rest in free(answers, pairs, uniform, inner, outer, stay):
            for first in range(0, len(some), PAIRS_AT_ONCE):
                at = slice(first, first + PAIRS_AT_ONCE)
                done += swap(answers, laid, some[at], moving, rest, chance[at], torn)
        tried += len(pairs)
    return (answers - laid.starts[:-1]).to(torch.int16).cpu().numpy(), done / max(tried, 1)


def paired_on(answers: torch.Tensor, context: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Pairs of rows, (m, 2), that agree on the context's questions, at random among those."""
    n, device = len(answers), answers.device
    order = torch.randperm(n, generator=generator, device=device)
    keys = torch.zeros(n, dtype=torch.int64, device=device)
    for question in context.tolist():
        keys = keys * (int(answers[:, question].max()) + 1 if n else 1) + answers[:, question]
    keys, sorting = keys[order].sort(stable=True)
    order, row = order[sorting], torch.arange(n, device=device)
    same = keys[1:] == keys[:-1]
    begins = torch.where(torch.cat([row[:1] == 0, ~same]), row, 0)
    place = row - begins.cummax(dim=0).values
    left = torch.nonzero((place[:-1] % 2 == 0) & same)[:, 0]
    return torch.stack([order[left], order[left + 1]], dim=1)


def swap(
    answers: torch.Tensor,
    laid: LaidOut,
    pairs: torch.Tensor,
    inner: torch.Tensor,
    outer: torch.Tensor,
    uniform: torch.Tensor,
    torn: np.ndarray,
) -> int:
    """Swap the inner answers of pairs of rows, in place, where the ratio allows it; return how many did.

    With u, v a pair's inner answers and i, j its outer ones, each of questions on which they differ, and
    one-hot, the weights of pairs change by Σ (v - u)ᵀ W (i - j).
    """
    one, other = answers[pairs[:, 0]], answers[pairs[:, 1]]
    u, v, i, j = (
        _hot(own, one != other, part, len(laid.bias))
        for own, part in ((one, inner), (other, inner), (one, outer), (other, outer))
    )
    gain = (((v - u) @ laid.weights) * (i - j)).sum(dim=1)
    clashes = ((v @ laid.zeros) * i + (u @ laid.zeros) * j).sum(dim=1)
    gain += _torn_gain(laid, one, other, inner, torn)
    swaps = (clashes < 0.5) & ((gain >= 0) | (uniform < gain.exp()))
    rows = pairs[swaps]
    first, second = rows[:, :1], rows[:, 1:]
    answers[first, inner], answers[second, inner] = answers[second, inner], answers[first, inner]
    return int(swaps.sum())


def _hot(own: torch.Tensor, differ: torch.Tensor, part: torch.Tensor, size: int) -> torch.Tensor:
    """One-hot answers to some questions, (m, K), of those on which the pair differs."""
    hot = torch.zeros(len(own), size, device=own.device)
    return hot.scatter_(1, own[:, part], differ[:, part].float())


def _torn_gain(
    laid: LaidOut, one: torch.Tensor, other: torch.Tensor, inner: torch.Tensor, torn: np.ndarray
) -> torch.Tensor:
    """Change of the weights of triples that have questions on both sides, (m,)."""
    moves, starts = set(inner.tolist()), laid.starts.tolist()
    gain = torch.zeros(len(one), device=one.device)
    for home, q, r, r_step, s, s_step in torn.tolist():
        steps, begin = ((q, 1), (r, r_step), (s, s_step)), home - starts[q]
        for own, others in ((one, other), (other, one)):
            was = begin + sum(own[:, x] * step for x, step in steps)
            now = begin + sum((others if x in moves else own)[:, x] * step for x, step in steps)
            gain += laid.numbers[now] - laid.numbers[was]
    return gain
