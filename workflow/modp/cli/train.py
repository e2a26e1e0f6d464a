"""Fit a model in stages."""

import argparse
import hashlib
import math
import time
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from modp.base import devices, seeds
from modp.base.config import check
from modp.base.errors import InputError
from modp.cli.inputs import ask_for_coded, ask_for_model, coded
from modp.cli.output import Log, written
from modp.cli.progress import Progress
from modp.models.blades import network as blades
from modp.models.blades import training
from modp.pipeline.params import BladesModel
from modp.survey.codebook import Codebook

CHECKPOINT_S = 10.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    ask_for_coded(parser)
    ask_for_model(parser)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--history", type=Path, required=True)
    parser.add_argument("--plot", type=Path, required=True, help="CSV copy of the history for DVC's plots")
    parser.add_argument("--timing", type=Path, help="CSV of the seconds that each epoch took")


def run(options: argparse.Namespace, log: Log) -> None:
    """Train, from a checkpoint if a killed run left one; then write weights and history."""
    codes, codebook = coded(options.records, options.codebook)
    recipe = check(options.model, BladesModel, f"model {options.name}")
    began = time.perf_counter()
    with _Progress(options.name, recipe, log) as progress:
        fitting = _Fitting(options, recipe, codes, codebook, log)
        try:
            weights, history = fitting.best_of_restarts(progress)
        except FloatingPointError as failure:
            raise InputError(f"{options.name}: {failure}; give that stage a smaller learning_rate") from None
    frame = pd.DataFrame(history)
    with written(options.history) as path:
        frame.to_parquet(path, index=False)
    with written(options.plot) as path:
        frame.rename_axis("step").to_csv(path)
    if options.timing:
        with written(options.timing) as path:
            pd.DataFrame(progress.times).to_csv(path, index=False)
    fitting.model.load_state_dict(weights)
    with written(options.weights) as path:
        blades.save(path, fitting.model, codebook.digest)
    fitting.checkpoint.unlink(missing_ok=True)
    log(f"{options.name}: trained on {fitting.device} in {time.perf_counter() - began:.0f} s")


class _Fitting:
    """One model's fit, from one or several seeds, that can be interrupted."""

    def __init__(
        self,
        options: argparse.Namespace,
        recipe: BladesModel,
        codes: np.ndarray,
        codebook: Codebook,
        log: Log,
    ):
        self.options, self.recipe, self.codes, self.codebook, self.log = options, recipe, codes, codebook, log
        self.device = devices.device(options.device)
        self.checkpoint = options.weights.with_name(".checkpoint.safetensors")
        what = [recipe.model_dump_json(), codebook.digest, str(options.seed), options.name]
        what += [torch.__version__, self.device.type]
        self.of = hashlib.sha256("\n".join(what).encode() + codes.tobytes()).hexdigest()
        self.saved = time.monotonic()

    def best_of_restarts(self, progress: "_Progress") -> tuple[dict[str, torch.Tensor], list[training.Epoch]]:
        """Return the weights with the lowest last loss, and their history."""
        found = training.load_state(self.checkpoint, self.of)
        best: tuple[float, dict[str, torch.Tensor], list[training.Epoch]] = (math.inf, {}, [])
        first = 0
        if found:
            self.log(f"{self.options.name}: going on from epoch {len(found.facts['history'])}")
            first, best = found.facts["restart"], self._unpacked(found)
        for restart in range(first, self.recipe.restarts):
            trainer = self._trainer(restart)

            def keep(state: training.State, restart: int = restart, best: tuple = best) -> None:
                self._keep(state, restart, best)

            history = trainer.fit(self.recipe.stages, progress, found if restart == first else None, keep)
            last = min(e.loss for e in history if e.stage == len(self.recipe.stages))
            if last < best[0]:
                best = last, trainer.weights(), history
        return best[1], best[2]

    def _trainer(self, restart: int) -> training.Trainer:
        stream = (self.options.name, *([str(restart)] if restart else []))
        seed = seeds.integer(self.options.seed, "train", *stream)
        shape = blades.Shape(**self.recipe.model_dump(include=set(blades.Shape.__dataclass_fields__)))
        starts = self.codebook.block_starts
        self.model = blades.Blades(torch.from_numpy(starts), shape, torch.Generator().manual_seed(seed))
        shuffler = torch.Generator().manual_seed(seeds.integer(self.options.seed, "shuffle", *stream))
        return training.Trainer(
            self.model, self.codes, starts, shuffler, self.options.threads, self.device, self.codebook.columns
        )

    def _keep(self, state: training.State, restart: int, best: tuple) -> None:
        if time.monotonic() - self.saved < CHECKPOINT_S:
            return
        loss, weights, history = best
        state.tensors |= {f"kept.{name}": value for name, value in weights.items()}
        state.facts |= {
            "restart": restart,
            "kept": loss if weights else None,
            "kept_history": [vars(epoch) for epoch in history],
        }
        self.checkpoint.parent.mkdir(parents=True, exist_ok=True)
        training.save_state(self.checkpoint, self.of, state)
        self.saved = time.monotonic()

    @staticmethod
    def _unpacked(found: training.State) -> tuple[float, dict[str, torch.Tensor], list[training.Epoch]]:
        kept = {k.removeprefix("kept."): v for k, v in found.tensors.items() if k.startswith("kept.")}
        history = [training.Epoch(**line) for line in found.facts["kept_history"]]
        return (found.facts["kept"], kept, history) if kept else (math.inf, {}, [])


class _Progress(Progress):
    """Tells of epochs, and keeps when each was over."""

    def __init__(self, name: str, recipe: BladesModel, log: Log):
        super().__init__(name, log, "epoch", recipe.restarts * sum(s.epochs for s in recipe.stages))
        self.stages = recipe.stages
        self.times: list[dict[str, float]] = []

    def __call__(self, epoch: training.Epoch) -> None:
        stage = self.stages[epoch.stage - 1]
        text = f"stage {epoch.stage}/{len(self.stages)} {epoch.loss_name}, loss {epoch.loss:.4g}"
        self.times.append(
            {"stage": epoch.stage, "epoch": epoch.epoch, "seconds": round(time.monotonic() - self.began, 3)}
        )
        self.tell(text, f"{self.name}: {text}, epoch {epoch.epoch}/{stage.epochs}")
