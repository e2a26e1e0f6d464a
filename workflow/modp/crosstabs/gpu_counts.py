"""Answers on a GPU, and their crosstabs: one-hot, times themselves; cells of triples by their numbers."""

import numpy as np
import torch

from modp.crosstabs.triples import ends

ROWS_AT_ONCE = 1 << 17
"""Records that are taken at a time: their sums of ones are exact in float32."""


def columns_on(device: torch.device, codes: np.ndarray, starts: torch.Tensor) -> torch.Tensor:
    """The columns of answers, int64 (n, Q), of codes (n, Q) and the block starts on the device."""
    return torch.from_numpy(np.ascontiguousarray(codes, np.int16)).to(device).long() + starts[:-1]


def one_hot_on(columns: torch.Tensor, size: int) -> torch.Tensor:
    """Records of one-hot answers, float32 (n, K), of which K is ``size``."""
    return torch.zeros(len(columns), size, device=columns.device).scatter_(1, columns, 1.0)


@torch.no_grad()
def counts_on(device: torch.device, codes: np.ndarray, block_starts: np.ndarray) -> np.ndarray:
    """Count the records in every cell: the same numbers as :func:`modp.crosstabs.pairs.counts`.

    Parameters
    ----------
    codes : int16 of shape (n, Q)

    Returns
    -------
    int64 (K, K)
    """
    starts, size = torch.from_numpy(np.asarray(block_starts, np.int64)).to(device), int(block_starts[-1])
    total = torch.zeros(size, size, dtype=torch.int64, device=device)
    for first in range(0, len(codes), ROWS_AT_ONCE):
        hot = one_hot_on(columns_on(device, codes[first : first + ROWS_AT_ONCE], starts), size)
        total += (hot.T @ hot).round_().long()
    return total.cpu().numpy()


@torch.no_grad()
def triples_on(device: torch.device, codes: np.ndarray, triples: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Count the records in every cell of triples of questions, as :func:`modp.crosstabs.triples.counts`."""
    places = ends(triples, sizes)
    columns = torch.from_numpy(np.ascontiguousarray(codes.T, np.int16)).to(device).long()
    found = torch.zeros(int(places[-1]), dtype=torch.int64, device=device)
    for (q, r, s), first, last in zip(
        triples.tolist(), places[:-1].tolist(), places[1:].tolist(), strict=True
    ):
        cells = (columns[q] * int(sizes[r]) + columns[r]) * int(sizes[s]) + columns[s]
        found[first:last] = torch.bincount(cells, minlength=last - first)
    return found.cpu().numpy()
