"""Sweeps on a GPU: question by question over all records at once."""

import math

import numpy as np
import torch

from modp.draws.sweeps import Swept, Tables, key_of, question_order, terms_of

TORCH_ROWS = 1 << 17
"""Records that are taken at a time: two float32 tables of K columns."""


@torch.no_grad()
def sweep_on(
    device: torch.device,
    codes: np.ndarray,
    model: Tables,
    seed: int,
    number: int,
    entropy: bool = False,
    held: np.ndarray | None = None,
) -> Swept:
    """Sweep question by question over all records at once, for a GPU.

    The same distribution as :func:`sweep`, from other random numbers.

    Parameters
    ----------
    codes : int16 of shape (n, Q); left as it is
    seed, number : of the random numbers, which are those of ``device``
    entropy, held : as in :func:`sweep`
    """
    order = question_order(seed, number, codes.shape[1])
    generator = torch.Generator(device).manual_seed(int(key_of(seed, number) >> np.uint64(1)))
    bits = np.zeros(len(codes) if entropy else 0)
    starts = torch.from_numpy(model.block_starts).to(device)
    weights, bias = torch.from_numpy(model.weights).to(device), torch.from_numpy(model.bias).to(device)
    zeros = torch.from_numpy(model.excluded).to(device, torch.float32)
    numbers = torch.from_numpy(model.rows.numbers).to(device)
    swept = np.empty(codes.shape, np.int16)
    for first in range(0, len(codes), TORCH_ROWS):
        rows = slice(first, first + TORCH_ROWS)
        answers = torch.from_numpy(codes[rows].astype(np.int64)).to(device) + starts[:-1]
        fixed = None if held is None else torch.from_numpy(np.asarray(held[rows], bool)).to(device)
        records = torch.zeros(len(answers), len(bias), device=device).scatter_(1, answers, 1.0)
        logits, conflicts = bias + records @ weights, records @ zeros
        for q in order.tolist():
            block = slice(int(model.block_starts[q]), int(model.block_starts[q + 1]))
            allowed = conflicts[:, block] < 0.5
            categories = torch.arange(block.stop - block.start, device=device)
            scores = logits[:, block] + terms_of(model, q, answers, numbers, categories)
            if entropy:
                drawn = _entropy(scores, allowed)
                bits[rows] += (drawn if fixed is None else drawn * ~fixed[:, q]).cpu().numpy()
            race = torch.empty_like(scores).exponential_(generator=generator).clamp_min_(1e-30)
            scores = (scores - race.log()).masked_fill_(~allowed, -torch.inf)
            old = answers[:, q].clone()
            moves = allowed.any(dim=1) if fixed is None else allowed.any(dim=1) & ~fixed[:, q]
            new = torch.where(moves, scores.argmax(dim=1) + block.start, old)
            logits += weights[new] - weights[old]
            conflicts += zeros[new] - zeros[old]
            answers[:, q] = new
        swept[rows] = (answers - starts[:-1]).to(torch.int16).cpu().numpy()
    return Swept(swept, int(np.count_nonzero(swept != codes)), bits if entropy else None)


def _entropy(logits: torch.Tensor, allowed: torch.Tensor) -> torch.Tensor:
    """Entropy in bits, (n,), of the softmax over the allowed categories; 0 where there are none."""
    logarithms = logits.double().masked_fill(~allowed, -torch.inf).log_softmax(dim=1)
    p = logarithms.exp()
    return -torch.where(p > 0, p * logarithms, 0).sum(dim=1) / math.log(2)
