"""Sweeps on a GPU, question by question over all records at once, and what conditionals miss there."""

import math

import numpy as np
import torch

from modp.crosstabs.gpu_counts import columns_on, one_hot_on
from modp.draws.gibbs import LIMIT
from modp.draws.sweeps import Swept, Tables, key_of, question_order, terms_of

TORCH_ROWS = 1 << 17
"""Records that are taken at a time: two float32 tables of K columns."""


class LaidOut:
    """A stationary model's tables on a device.

    starts : int64 (Q + 1,)
    weights, bias, zeros : float32 (K, K), (K,) and (K, K), the last 1 at structural zeros
    numbers : float32, of :class:`modp.draws.gibbs.Rows`
    """

    def __init__(self, device: torch.device, model: Tables):
        self.starts = torch.from_numpy(model.block_starts).to(device)
        self.weights = torch.from_numpy(model.weights).to(device)
        self.bias = torch.from_numpy(model.bias).to(device)
        self.zeros = torch.from_numpy(model.excluded).to(device, torch.float32)
        self.numbers = torch.from_numpy(model.rows.numbers).to(device)


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
    laid = LaidOut(device, model)
    swept = np.empty(codes.shape, np.int16)
    for first in range(0, len(codes), TORCH_ROWS):
        rows = slice(first, first + TORCH_ROWS)
        answers = columns_on(device, codes[rows], laid.starts)
        fixed = None if held is None else torch.from_numpy(np.asarray(held[rows], bool)).to(device)
        records = one_hot_on(answers, len(laid.bias))
        logits, conflicts = laid.bias + records @ laid.weights, records @ laid.zeros
        for q in order.tolist():
            block = slice(int(model.block_starts[q]), int(model.block_starts[q + 1]))
            allowed = conflicts[:, block] < 0.5
            categories = torch.arange(block.stop - block.start, device=device)
            scores = logits[:, block] + terms_of(model, q, answers, laid.numbers, categories)
            if entropy:
                drawn = _entropy(scores, allowed)
                bits[rows] += (drawn if fixed is None else drawn * ~fixed[:, q]).cpu().numpy()
            race = torch.empty_like(scores).exponential_(generator=generator).clamp_min_(1e-30)
            scores = (scores - race.log()).masked_fill_(~allowed, -torch.inf)
            old = answers[:, q].clone()
            moves = allowed.any(dim=1) if fixed is None else allowed.any(dim=1) & ~fixed[:, q]
            new = torch.where(moves, scores.argmax(dim=1) + block.start, old)
            logits += laid.weights[new] - laid.weights[old]
            conflicts += laid.zeros[new] - laid.zeros[old]
            answers[:, q] = new
        swept[rows] = (answers - laid.starts[:-1]).to(torch.int16).cpu().numpy()
    return Swept(swept, int(np.count_nonzero(swept != codes)), bits if entropy else None)


@torch.no_grad()
def residuals_on(
    device: torch.device, codes: np.ndarray, model: Tables, rows: np.ndarray | None = None
) -> np.ndarray:
    """Sum R ⊗ (R - P) over records, as :func:`modp.draws.sweeps.residuals` does, in float32.

    Returns
    -------
    float64 (K, K)
    """
    chosen = codes if rows is None else codes[rows]
    laid, size = LaidOut(device, model), int(model.block_starts[-1])
    questions = len(laid.starts) - 1
    question = torch.repeat_interleave(torch.arange(questions, device=device), laid.starts.diff())
    total = torch.zeros(size, size, dtype=torch.float64, device=device)
    for first in range(0, len(chosen), TORCH_ROWS):
        answers = columns_on(device, chosen[first : first + TORCH_ROWS], laid.starts)
        records = one_hot_on(answers, size)
        scores = laid.bias + records @ laid.weights
        for q in np.unique(model.rows.terms[:, 1]).tolist():
            block = slice(int(model.block_starts[q]), int(model.block_starts[q + 1]))
            categories = torch.arange(block.stop - block.start, device=device)
            scores[:, block] += terms_of(model, q, answers, laid.numbers, categories)
        odds = (scores - scores.gather(1, answers)[:, question]).clamp_(-float(LIMIT), float(LIMIT)).exp_()
        odds.masked_fill_(records @ laid.zeros > 0.5, 0.0)
        mass = torch.zeros(len(odds), questions, device=device).index_add_(1, question, odds)
        total += (records.T @ (records - odds / mass.clamp_min(1e-30)[:, question])).double()
    return total.cpu().numpy()


def _entropy(logits: torch.Tensor, allowed: torch.Tensor) -> torch.Tensor:
    """Entropy in bits, (n,), of the softmax over the allowed categories; 0 where there are none."""
    logarithms = logits.double().masked_fill(~allowed, -torch.inf).log_softmax(dim=1)
    p = logarithms.exp()
    return -torch.where(p > 0, p * logarithms, 0).sum(dim=1) / math.log(2)
