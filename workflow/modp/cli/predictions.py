"""A trained model's probabilities, read by the steps that draw."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

from modp.base import devices
from modp.draws import independent
from modp.models.blades import network as blades
from modp.survey import records
from modp.survey.codebook import Codebook

ROWS_AT_ONCE = 4096


class Predictions:
    """A model's probabilities for the true records, a chunk of records at a time."""

    def __init__(self, weights: Path, codes: np.ndarray, codebook: Codebook, device: str):
        """Load the model; ``device`` is auto, cpu, cuda or cuda:N."""
        torch.set_num_threads(1)  # sums in one order, whatever the machine's cores
        self.model = blades.load(weights, codebook)
        self.codes, self.starts = codes, codebook.block_starts
        self.device = devices.device(device)

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield (codes (m, Q), probabilities (m, K) with each question's summing to one)."""
        for first in range(0, len(self.codes), ROWS_AT_ONCE):
            chunk = self.codes[first : first + ROWS_AT_ONCE]
            predictions = blades.predict(self.model, records.one_hot(chunk, self.starts), self.device)
            yield chunk, independent.normalised(predictions, self.starts)
