"""Staged training of a model, the same to the bit on any number of threads."""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import nn

from modp.base import checkpoint
from modp.base.errors import InputError, did_you_mean
from modp.models.blades.losses import cross_entropy, mean_square, rarity_weights, z_loss
from modp.models.blades.network import between_questions, question_blocks
from modp.models.blades.recipe import Stage
from modp.survey.records import Records

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


@dataclass
class State:
    """Where a training stands after an epoch: enough to go on to the same end.

    ``tensors`` hold the weights, the stage's best weights, the optimiser's and the shuffler's
    states; ``facts`` the numbers, and the history so far.
    """

    tensors: dict[str, torch.Tensor]
    facts: dict[str, Any]


def save_state(path: Path, of: str, state: State) -> None:
    """Write a state, whole or not at all; ``of`` says of which training it is."""
    tensors = {name: value.detach().cpu().contiguous() for name, value in state.tensors.items()}
    checkpoint.save(path, of, tensors, state.facts, save_file)


def load_state(path: Path, of: str) -> State | None:
    """Return the state at ``path``, or None if there is none of this training."""
    found = checkpoint.load(path, of, "pt")
    return State(*found) if found else None


class Trainer:
    """Fits a model to one-hot records in stages.

    On the CPU a batch is cut into a fixed number of shards that threads work on, each thread with
    single-threaded arithmetic; their results are added in a fixed order. On a GPU a batch is one
    shard, and products of matrices are made in TF32.
    """

    def __init__(
        self,
        model: nn.Module,
        records: Records,
        generator: torch.Generator,
        threads: int,
        device: torch.device,
    ):
        """Place model and data.

        Parameters
        ----------
        generator : shuffles the records; on the CPU
        threads : how many shards are worked on at once
        """
        torch.set_num_threads(1)
        torch.set_float32_matmul_precision("high")  # says nothing to the CPU
        self.device = device
        self.model = model.to(device)
        self.generator = generator
        self.names, block_starts = records.codebook.columns, records.block_starts
        self.columns = torch.from_numpy(records.columns).to(device)
        self.size = int(block_starts[-1])
        self.between = between_questions(torch.from_numpy(block_starts)).to(device)
        self.blocks = question_blocks(torch.from_numpy(block_starts)).to(device)
        self.shards = SHARDS if device.type == "cpu" else 1
        workers = min(threads, self.shards)
        self.pool = ThreadPoolExecutor(max_workers=workers) if workers > 1 else None
        self.parameters = list(model.parameters())
        self.true = self._sum(self._map(self._true_crosstab, self._all_rows()))

    def fit(
        self,
        stages: Sequence[Stage],
        report: Callable[[Epoch], None],
        start: State | None = None,
        keep: Callable[[State], None] | None = None,
    ) -> list[Epoch]:
        """Run the stages one after the other, each from the best weights of the one before.

        Parameters
        ----------
        report : told of every epoch
        start : the state of an interrupted fit of the same stages, to go on from
        keep : given the state after every epoch

        Returns
        -------
        The history. The model is left with the best weights of the last stage, judged by its
        loss over all records after each epoch.

        Raises
        ------
        FloatingPointError
            if the loss stops being a number
        InputError
            if a stage mentions a category that there is not
        """
        history = [Epoch(**line) for line in start.facts["history"]] if start else []
        for number, stage in enumerate(stages, start=1):
            if start and number < start.facts["stage"]:
                continue
            run = _StageRun(self, number, stage)
            if start and number == start.facts["stage"]:
                run.resume(start)
            run.go(history, report, keep)
        return history

    def gradient(self, stage: Stage) -> "Callable[[torch.Tensor], list[torch.Tensor]]":
        """Return what computes the gradients of a stage's loss from a batch's rows."""
        if stage.loss == "z":
            return _ZGradient(self, stage)
        loss = self._rowwise(stage)

        def of(rows: torch.Tensor) -> list[torch.Tensor]:
            def shard(part: torch.Tensor) -> list[torch.Tensor]:
                records = self.records(part)
                return self.gradients(loss(self.model(records), records) * (len(part) / len(rows)))

            return self.added(self._map(shard, self.parts(rows)))

        return of

    def loss(self, stage: Stage) -> float:
        """Return the stage's loss over all records, with the present weights."""
        rows = self._all_rows()
        if stage.loss == "z":
            predicted = self._sum(self._map(self._predicted_crosstab, rows))
            n, between = len(self.columns), self.between.double()
            return float(z_loss(predicted, self.true, n, between, **_z_options(stage)))
        loss = self._rowwise(stage)

        @torch.no_grad()
        def summed(part: torch.Tensor) -> torch.Tensor:
            records = self.records(part)
            return loss(self.model(records), records) * len(part)

        return float(self._sum(self._map(summed, rows))) / len(self.columns)

    def _rowwise(self, stage: Stage) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
        """A loss that is a mean over records, of (predictions, records)."""
        if stage.loss == "mean_square":
            return mean_square
        if stage.loss == "cross_entropy":
            return lambda predictions, records: cross_entropy(predictions, records, self.blocks)
        weights = rarity_weights(self.true.diagonal(), self._indices(stage.specials)).float()
        return lambda predictions, records: mean_square(predictions, records, weights)

    def _indices(self, names: Sequence[str]) -> list[int]:
        for name in names:
            if name not in self.names:
                raise InputError(f"specials: no category is called {name!r}{did_you_mean(name, self.names)}")
        return [self.names.index(name) for name in names]

    def weights(self) -> dict[str, torch.Tensor]:
        """Return a copy of the model's weights, on the CPU."""
        return {name: value.detach().cpu().clone() for name, value in self.model.state_dict().items()}

    def records(self, rows: torch.Tensor) -> torch.Tensor:
        """Return the one-hot records of some rows, (len(rows), K)."""
        binary = torch.zeros(len(rows), self.size, device=self.device)
        return binary.scatter_(1, self.columns[rows], 1.0)

    def _all_rows(self) -> tuple[torch.Tensor, ...]:
        return torch.arange(len(self.columns), device=self.device).split(EVALUATION_ROWS)

    def _map(self, work: Callable, parts: Iterable) -> Iterable:
        return self.pool.map(work, parts) if self.pool else map(work, parts)

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

    @torch.no_grad()
    def _predicted_crosstab(self, rows: torch.Tensor) -> torch.Tensor:
        predictions = self.model(self.records(rows))
        return predictions.T @ predictions

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


def _z_options(stage: Stage) -> dict[str, float]:
    """The z-loss's floor and pseudocount, where the stage departs from the paper's."""
    return {k: v for k in ("floor", "pseudocount") if (v := getattr(stage, k)) is not None}


class _StageRun:
    """One stage of a fit: its optimiser, its best weights, how far it has come."""

    def __init__(self, trainer: Trainer, number: int, stage: Stage):
        self.trainer, self.number, self.stage = trainer, number, stage
        self.optimiser = torch.optim.Adam(trainer.parameters, lr=stage.learning_rate, fused=True)
        self.batches = math.ceil(len(trainer.columns) / stage.batch)
        self.gradient = trainer.gradient(stage)
        self.best, self.kept = math.inf, trainer.weights()
        self.done, self.stale, self.seconds = 0, 0, 0.0

    def go(
        self,
        history: list[Epoch],
        report: Callable[[Epoch], None],
        keep: Callable[[State], None] | None,
    ) -> None:
        """Run the epochs that remain; leave the model with the stage's best weights."""
        while not self._finished():
            began = time.monotonic()
            rate = self._epoch()
            self.done += 1
            loss = self.trainer.loss(self.stage)
            if not math.isfinite(loss):
                raise FloatingPointError(
                    f"stage {self.number} ({self.stage.loss}) diverged in epoch {self.done}"
                )
            self.stale += 1
            if loss < self.best:
                self.best, self.kept, self.stale = loss, self.trainer.weights(), 0
            history.append(Epoch(self.number, self.stage.loss, self.done, loss, rate))
            self.seconds += time.monotonic() - began
            report(history[-1])
            if keep:
                keep(self._state(history))
        self.trainer.model.load_state_dict(self.kept)

    def _finished(self) -> bool:
        stage = self.stage
        return (
            self.done >= stage.epochs
            or (stage.patience is not None and self.stale >= stage.patience)
            or (stage.minutes is not None and self.seconds >= 60 * stage.minutes)
        )

    def _epoch(self) -> float:
        """Go once through the records; return the first step's learning rate."""
        trainer = self.trainer
        order = torch.randperm(len(trainer.columns), generator=trainer.generator).to(trainer.device)
        batches = order.tensor_split(self.batches)  # of equal size: no tiny last batch
        for number, rows in enumerate(batches):
            self._set_rate((self.done + number / self.batches) / self.stage.epochs)
            for parameter, value in zip(trainer.parameters, self.gradient(rows), strict=True):
                parameter.grad = value
            self.optimiser.step()
        return self._rate(self.done / self.stage.epochs)

    def _rate(self, part: float) -> float:
        """The learning rate when a part of the stage has passed."""
        if self.stage.schedule == "constant":
            return self.stage.learning_rate
        return self.stage.learning_rate * (1 + math.cos(math.pi * part)) / 2

    def _set_rate(self, part: float) -> None:
        for group in self.optimiser.param_groups:
            group["lr"] = self._rate(part)

    def _state(self, history: list[Epoch]) -> State:
        tensors = {f"weights.{name}": value for name, value in self.trainer.weights().items()}
        tensors |= {f"best.{name}": value for name, value in self.kept.items()}
        for number, moments in self.optimiser.state_dict()["state"].items():
            tensors |= {f"adam.{number}.{name}": value.clone() for name, value in moments.items()}
        tensors["shuffler"] = self.trainer.generator.get_state()
        facts = {
            "stage": self.number,
            "done": self.done,
            "stale": self.stale,
            "best": self.best,
            "seconds": self.seconds,
            "history": [asdict(epoch) for epoch in history],
        }
        if isinstance(self.gradient, _ZGradient):
            tensors["z.error"] = self.gradient.error.clone()
            facts["z.weight"] = self.gradient.weight
        return State(tensors, facts)

    def resume(self, state: State) -> None:
        """Take up the stage where ``state`` was kept."""

        def part(prefix: str) -> dict[str, torch.Tensor]:
            return {k.removeprefix(prefix): v for k, v in state.tensors.items() if k.startswith(prefix)}

        self.trainer.model.load_state_dict(part("weights."))
        self.kept = part("best.")
        moments: dict[int, dict[str, torch.Tensor]] = {}
        for name, value in part("adam.").items():
            number, _, what = name.partition(".")
            moments.setdefault(int(number), {})[what] = value
        groups = self.optimiser.state_dict()["param_groups"]
        self.optimiser.load_state_dict({"state": moments, "param_groups": groups})
        self.trainer.generator.set_state(state.tensors["shuffler"])
        facts = state.facts
        self.done, self.stale = facts["done"], facts["stale"]
        self.best, self.seconds = facts["best"], facts["seconds"]
        if isinstance(self.gradient, _ZGradient):
            self.gradient.error = state.tensors["z.error"].to(self.trainer.device)
            self.gradient.weight = facts["z.weight"]


class _ZGradient:
    """The gradient of the z-loss over all records, estimated from batches.

    The loss depends on the whole crosstab, to which a batch is a noisy guide: squared, its
    sampling noise would be minimised instead of the error. So the error of the predicted
    crosstab (predicted minus true, of the same records) is averaged over past batches, the loss
    is differentiated at that average, and the batch carries the derivative to the weights.
    """

    def __init__(self, trainer: Trainer, stage: Stage):
        self.trainer = trainer
        self.stage = stage
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
        loss = z_loss(predicted, true, n, self.trainer.between, **_z_options(self.stage))
        return torch.autograd.grad(loss, predicted)[0]
