"""The fit of one of the paper's models, from one or several seeds, that can be interrupted."""

import hashlib
import math
import time

import pandas as pd
import torch

from modp.base import devices, seeds
from modp.base.errors import InputError
from modp.base.progress import Progress
from modp.models.blades import training
from modp.models.blades.network import Blades
from modp.models.blades.recipe import BladesRecipe, Shape
from modp.models.family import Fitted, Work
from modp.survey.records import Records

CHECKPOINT_S = 10.0
NOTHING: tuple[float, dict[str, torch.Tensor], list[training.Epoch]] = (math.inf, {}, [])


def fit(records: Records, recipe: BladesRecipe, work: Work) -> Fitted:
    """Train a model in its stages, from a checkpoint if a killed fit left one.

    Raises
    ------
    InputError
        if a stage diverges, or mentions a category that there is not
    """
    began = time.perf_counter()
    with _Progress(work, recipe) as progress:
        fitting = _Fitting(records, recipe, work)
        try:
            weights, history = fitting.best_of_restarts(progress)
        except FloatingPointError as failure:
            raise InputError(f"{work.name}: {failure}; give that stage a smaller learning_rate") from None
    fitting.model.load_state_dict(weights)
    frame = pd.DataFrame(history)
    seconds = time.perf_counter() - began
    return Fitted(fitting.model, frame, frame, f"trained on {fitting.device} in {seconds:.0f} s")


class _Fitting:
    """One model's fit."""

    def __init__(self, records: Records, recipe: BladesRecipe, work: Work):
        self.records, self.recipe, self.work = records, recipe, work
        self.device = devices.device(work.device)
        what = [recipe.model_dump_json(), records.codebook.digest, str(work.seed), work.name]
        what += [torch.__version__, self.device.type]
        self.of = hashlib.sha256("\n".join(what).encode() + records.codes.tobytes()).hexdigest()
        self.saved = time.monotonic()

    def best_of_restarts(self, progress: "_Progress") -> tuple[dict[str, torch.Tensor], list[training.Epoch]]:
        """Return the weights with the lowest last loss, and their history."""
        checkpoint = self.work.checkpoint
        found = training.load_state(checkpoint, self.of) if checkpoint else None
        best, first = NOTHING, 0
        if found:
            self.work.log(f"{self.work.name}: going on from epoch {len(found.facts['history'])}")
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
        work, stream = self.work, (self.work.name, *([str(restart)] if restart else []))
        seed = seeds.integer(work.seed, "train", *stream)
        shape = Shape(**self.recipe.model_dump(include=set(Shape.model_fields)))
        starts = torch.from_numpy(self.records.block_starts)
        self.model = Blades(starts, shape, torch.Generator().manual_seed(seed))
        shuffler = torch.Generator().manual_seed(seeds.integer(work.seed, "shuffle", *stream))
        return training.Trainer(self.model, self.records, shuffler, work.threads, self.device)

    def _keep(self, state: training.State, restart: int, best: tuple) -> None:
        checkpoint = self.work.checkpoint
        if not checkpoint or time.monotonic() - self.saved < CHECKPOINT_S:
            return
        loss, weights, history = best
        state.tensors |= {f"kept.{name}": value for name, value in weights.items()}
        state.facts |= {
            "restart": restart,
            "kept": loss if weights else None,
            "kept_history": [vars(epoch) for epoch in history],
        }
        training.save_state(checkpoint, self.of, state)
        self.saved = time.monotonic()

    @staticmethod
    def _unpacked(found: training.State) -> tuple[float, dict[str, torch.Tensor], list[training.Epoch]]:
        kept = {k.removeprefix("kept."): v for k, v in found.tensors.items() if k.startswith("kept.")}
        history = [training.Epoch(**line) for line in found.facts["kept_history"]]
        return (found.facts["kept"], kept, history) if kept else NOTHING


class _Progress(Progress):
    """Tells of epochs."""

    def __init__(self, work: Work, recipe: BladesRecipe):
        super().__init__(work.name, work.log, "epoch", recipe.restarts * sum(s.epochs for s in recipe.stages))
        self.stages = recipe.stages

    def __call__(self, epoch: training.Epoch) -> None:
        stage, seconds = self.stages[epoch.stage - 1], time.monotonic() - self.began
        text = f"stage {epoch.stage}/{len(self.stages)} {epoch.loss_name}, loss {epoch.loss:.4g}"
        self.tell(text, f"{self.name}: {text}, epoch {epoch.epoch}/{stage.epochs}, after {seconds:.1f} s")
