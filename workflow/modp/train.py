"""Staged training of a model, the same to the bit on any number of threads."""

import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from modp.losses import mean_square, z_loss
from modp.models.blades import between_questions
from modp.params import Stage
from modp.records import columns

SHARDS = 4
"""Parts into which a batch is cut. Fixed, so that sums have one order whatever the threads."""

MEMORY = 0.9
"""How much of the running crosstab error one more batch keeps; see :class:`_ZGradient`."""

EVALUATION_ROWS = 4096


@dataclass(frozen=True)
class Epoch:
    """One line of a training history; ``loss`` is over all records, after the epoch."""

    stage: int
    loss_name: str
    epoch: int
    loss: float
    learning_rate: float


class Trainer:
    """Fits a model to one-hot records in stages.

    On the CPU a batch is cut into a fixed number of shards that threads work on, each thread with
    single-threaded arithmetic; their results are added in a fixed order. On a GPU a batch is one
    shard.
    """

    def __init__(
        self,
        model: nn.Module,
        codes: np.ndarray,
        block_starts: np.ndarray,
        generator: torch.Generator,
        threads: int,
        device: torch.device,
    ):
        """Place model and data.

        Parameters
        ----------
        codes : shape (n, Q)
        generator : shuffles the records; on the CPU
        threads : how many shards are worked on at once
        """
        torch.set_num_threads(1)
        self.device = device
        self.model = model.to(device)
        self.generator = generator
        self.columns = torch.from_numpy(columns(codes, block_starts)).to(device)
        self.size = int(block_starts[-1])
        self.between = between_questions(torch.from_numpy(block_starts)).to(device)
        self.shards = SHARDS if device.type == "cpu" else 1
        self.pool = ThreadPoolExecutor(max_workers=max(1, min(threads, self.shards)))
        self.parameters = list(model.parameters())
        self.true = self._sum(self._map(self._true_crosstab, self._all_rows()))

    def fit(self, stages: Sequence[Stage], report: Callable[[Epoch], None]) -> list[Epoch]:
        """Run the stages one after the other, each from the best weights of the one before.

        Returns
        -------
        The history. The model is left with the best weights of the last stage, judged by its
        loss over all records after each epoch.

        Raises
        ------
        FloatingPointError
            if the loss stops being a number
        """
        history: list[Epoch] = []
        for number, stage in enumerate(stages, start=1):
            history += self._run(number, stage, report)
        return history

    def _run(self, number: int, stage: Stage, report: Callable[[Epoch], None]) -> list[Epoch]:
        optimiser = torch.optim.Adam(self.parameters, lr=stage.learning_rate, fused=True)
        batches = math.ceil(len(self.columns) / stage.batch)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, stage.epochs * batches)
        gradient = _ZGradient(self) if stage.loss == "z" else self._mean_square_gradient
        best, kept, history = math.inf, self._weights(), []
        for epoch in range(1, stage.epochs + 1):
            rate = schedule.get_last_lr()[0]
            order = torch.randperm(len(self.columns), generator=self.generator).to(self.device)
            for rows in order.tensor_split(batches):  # of equal size: no tiny last batch
                for parameter, value in zip(self.parameters, gradient(rows), strict=True):
                    parameter.grad = value
                optimiser.step()
                schedule.step()
            loss = self._loss(stage.loss)
            if not math.isfinite(loss):
                raise FloatingPointError(f"stage {number} ({stage.loss}) diverged in epoch {epoch}")
            if loss < best:
                best, kept = loss, self._weights()
            history.append(Epoch(number, stage.loss, epoch, loss, rate))
            report(history[-1])
        self.model.load_state_dict(kept)
        return history

    def _weights(self) -> dict[str, torch.Tensor]:
        return {name: value.clone() for name, value in self.model.state_dict().items()}

    def records(self, rows: torch.Tensor) -> torch.Tensor:
        """Return the one-hot records of some rows, (len(rows), K)."""
        binary = torch.zeros(len(rows), self.size, device=self.device)
        return binary.scatter_(1, self.columns[rows], 1.0)

    def _all_rows(self) -> tuple[torch.Tensor, ...]:
        return torch.arange(len(self.columns), device=self.device).split(EVALUATION_ROWS)

    def _map(self, work: Callable, parts: Iterable) -> Iterable:
        return self.pool.map(work, parts)

    @staticmethod
    def _sum(parts: Iterable[torch.Tensor]) -> torch.Tensor:
        total = None
        for part in parts:
            total = part.double() if total is None else total + part
        assert total is not None
        return total

    def _true_crosstab(self, rows: torch.Tensor) -> torch.Tensor:
        records = self.records(rows)
        return records.T @ records

    def _loss(self, name: str) -> float:
        """The stage's loss over all records, with the present weights."""
        rows = self._all_rows()
        if name == "mean_square":
            return float(self._sum(self._map(self._squares, rows))) / (len(self.columns) * self.size)
        predicted = self._sum(self._map(self._predicted_crosstab, rows))
        return float(z_loss(predicted, self.true, len(self.columns), self.between.double()))

    @torch.no_grad()
    def _squares(self, rows: torch.Tensor) -> torch.Tensor:
        records = self.records(rows)
        return mean_square(self.model(records), records) * records.numel()

    @torch.no_grad()
    def _predicted_crosstab(self, rows: torch.Tensor) -> torch.Tensor:
        predictions = self.model(self.records(rows))
        return predictions.T @ predictions

    def _mean_square_gradient(self, rows: torch.Tensor) -> list[torch.Tensor]:
        def shard(part: torch.Tensor) -> list[torch.Tensor]:
            records = self.records(part)
            loss = mean_square(self.model(records), records) * (len(part) / len(rows))
            return self.gradients(loss)

        return self.added(self._map(shard, self.parts(rows)))

    def parts(self, rows: torch.Tensor) -> list[torch.Tensor]:
        """Cut a batch into its shards."""
        return [part for part in rows.tensor_split(self.shards) if len(part)]

    def gradients(self, output: torch.Tensor, towards: torch.Tensor | None = None) -> list[torch.Tensor]:
        """Return the parameters' gradients, zero for those that play no part."""
        return list(
            torch.autograd.grad(output, self.parameters, towards, allow_unused=True, materialize_grads=True)
        )

    @staticmethod
    def added(gradients: Iterable[list[torch.Tensor]]) -> list[torch.Tensor]:
        """Add the shards' gradients, in the shards' order."""
        return [sum(parts[1:], parts[0]) for parts in zip(*gradients, strict=True)]


class _ZGradient:
    """The gradient of the z-loss over all records, estimated from batches.

    The loss depends on the whole crosstab, to which a batch is a noisy guide: squared, its
    sampling noise would be minimised instead of the error. So the error of the predicted
    crosstab (predicted minus true, of the same records) is averaged over past batches, the loss
    is differentiated at that average, and the batch carries the derivative to the weights.
    """

    def __init__(self, trainer: Trainer):
        self.trainer = trainer
        self.error = torch.zeros_like(trainer.true, dtype=torch.float32)
        self.weight = 0.0

    def __call__(self, rows: torch.Tensor) -> list[torch.Tensor]:
        trainer, n = self.trainer, len(self.trainer.columns)
        forward = list(trainer._map(self._forward, trainer.parts(rows)))
        error = trainer.added([[e] for _, e in forward])[0] / len(rows)
        self.error = MEMORY * self.error + (1 - MEMORY) * error
        self.weight = MEMORY * self.weight + (1 - MEMORY)
        slope = self._slope(n) * (2 * n / len(rows))

        def backward(part: tuple[torch.Tensor, torch.Tensor]) -> list[torch.Tensor]:
            predictions = part[0]
            return trainer.gradients(predictions, predictions.detach() @ slope)

        return trainer.added(trainer._map(backward, forward))

    def _forward(self, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        records = self.trainer.records(rows)
        predictions = self.trainer.model(records)
        seen = predictions.detach()
        return predictions, seen.T @ seen - records.T @ records

    def _slope(self, n: int) -> torch.Tensor:
        """Derivative of the loss by the predicted crosstab, a symmetric (K, K) matrix."""
        true = self.trainer.true.float()
        predicted = (true + self.error * (n / self.weight)).clamp_(min=0).requires_grad_()
        loss = z_loss(predicted, true, n, self.trainer.between)
        return torch.autograd.grad(loss, predicted)[0]
