"""Exchanges between chains on a GPU: all pairs of a round at once."""

import numpy as np
import torch

from modp.draws.exchange import Links
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
    questions = codes.shape[1]
    generator = torch.Generator(device).manual_seed(int(rng.integers(2**62)))
    starts = torch.from_numpy(model.block_starts).to(device)
    answers = torch.from_numpy(np.array(codes, np.int16, order="C")).to(device).long() + starts[:-1]
    laid_out = _LaidOut(device, model)
    stay = None if held is None else torch.from_numpy(np.asarray(held, bool)).to(device)
    done = tried = 0
    for _ in range(rounds):
        group = linked.group(int(rng.integers(questions)), rng.random())
        if group.all():
            continue
        pairs = paired_on(answers, torch.from_numpy(linked.context(group)).to(device), generator)
        uniform = torch.rand(len(pairs), generator=generator, device=device)
        parts = [
            torch.from_numpy(part).to(device) for part in (np.flatnonzero(group), np.flatnonzero(~group))
        ]
        inner, outer = sorted(parts, key=len)
        for some, chance, moving, rest in _free(answers, pairs, uniform, inner, outer, stay):
            for first in range(0, len(some), PAIRS_AT_ONCE):
                at = slice(first, first + PAIRS_AT_ONCE)
                done += laid_out.swap(answers, some[at], moving, rest, chance[at])
        tried += len(pairs)
    return (answers - starts[:-1]).to(torch.int16).cpu().numpy(), done / max(tried, 1)


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


Free = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]


def _free(
    answers: torch.Tensor,
    pairs: torch.Tensor,
    uniform: torch.Tensor,
    inner: torch.Tensor,
    outer: torch.Tensor,
    held: torch.Tensor | None,
) -> list[Free]:
    """Pairs with their uniform numbers, the questions that move and the others, as exchanges have them."""
    if held is None:
        return [(pairs, uniform, inner, outer)]
    one, other = pairs.T
    changes = answers[one] != answers[other]
    stuck = (held[one] | held[other]) & changes
    first, second = (~stuck[:, part].any(dim=1) & changes[:, part].any(dim=1) for part in (inner, outer))
    second &= ~first
    return [(pairs[first], uniform[first], inner, outer), (pairs[second], uniform[second], outer, inner)]


class _LaidOut:
    """A model on a device, and the Metropolis step there."""

    def __init__(self, device: torch.device, model: Tables):
        self.weights = torch.from_numpy(model.weights).to(device)
        self.zeros = torch.from_numpy(model.excluded).to(device, torch.float32)
        self.numbers = torch.from_numpy(model.rows.numbers).to(device)
        self.starts, self.terms = model.block_starts, model.last_terms

    def swap(
        self,
        answers: torch.Tensor,
        pairs: torch.Tensor,
        inner: torch.Tensor,
        outer: torch.Tensor,
        uniform: torch.Tensor,
    ) -> int:
        """Swap the inner answers of pairs of rows, in place, where the ratio allows it; return how many did.

        With u, v a pair's inner answers and i, j its outer ones, each of questions on which they differ, and
        one-hot, the weights change by Σ (v - u)ᵀ W (i - j).
        """
        one, other = answers[pairs[:, 0]], answers[pairs[:, 1]]
        u, v, i, j = (
            self._hot(own, one != other, part)
            for own, part in ((one, inner), (other, inner), (one, outer), (other, outer))
        )
        gain = (((v - u) @ self.weights) * (i - j)).sum(dim=1)
        clashes = ((v @ self.zeros) * i + (u @ self.zeros) * j).sum(dim=1)
        gain += self._torn(one, other, inner)
        swaps = (clashes < 0.5) & ((gain >= 0) | (uniform < gain.exp()))
        rows = pairs[swaps]
        first, second = rows[:, :1], rows[:, 1:]
        answers[first, inner], answers[second, inner] = answers[second, inner], answers[first, inner]
        return int(swaps.sum())

    def _hot(self, own: torch.Tensor, differ: torch.Tensor, part: torch.Tensor) -> torch.Tensor:
        """One-hot answers to some questions, (m, K), of those on which the pair differs."""
        hot = torch.zeros(len(own), len(self.weights), device=own.device)
        return hot.scatter_(1, own[:, part], differ[:, part].float())

    def _torn(self, one: torch.Tensor, other: torch.Tensor, inner: torch.Tensor) -> torch.Tensor:
        """Change of the weights of triples that have questions on both sides, (m,)."""
        moves = np.zeros(one.shape[1], bool)
        moves[inner.cpu().numpy()] = True
        members = moves[self.terms[:, [1, 2, 4]]]
        gain = torch.zeros(len(one), device=one.device)
        for home, q, r, r_step, s, s_step in self.terms[members.any(axis=1) & ~members.all(axis=1)].tolist():
            steps = ((q, 1), (r, r_step), (s, s_step))
            begin = home - int(self.starts[q])
            for own, others in ((one, other), (other, one)):
                was = begin + sum(own[:, question] * step for question, step in steps)
                now = begin + sum((others if moves[x] else own)[:, x] * step for x, step in steps)
                gain += self.numbers[now] - self.numbers[was]
        return gain
