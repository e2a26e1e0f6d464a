"""Fit a stationary model: chains are swept until their crosstab is the true one."""

import argparse
import hashlib
import time
from pathlib import Path

import numpy as np
import pandas as pd

from modp.base import seeds
from modp.base.config import check
from modp.base.devices import device
from modp.base.errors import InputError
from modp.cli.inputs import ask_for_coded, ask_for_model, coded
from modp.cli.output import Log, written
from modp.cli.progress import Progress
from modp.cli.zeros import ask_for_zeros, zeros_of
from modp.models.stationary import model as stationary
from modp.pipeline.params import StationaryModel

CHECKPOINT_S = 10.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    ask_for_coded(parser)
    ask_for_model(parser)
    ask_for_zeros(parser)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--history", type=Path, required=True)
    parser.add_argument("--plot", type=Path, required=True, help="CSV of the history for DVC's plots")


def run(options: argparse.Namespace, log: Log) -> None:
    """Fit, then write weights and history."""
    codes, codebook = coded(options.records, options.codebook)
    recipe = check(options.model, StationaryModel, f"model {options.name}")
    settings = stationary.Settings(**recipe.model_dump())
    seed = seeds.integer(options.seed, "fit", options.name)
    began = time.perf_counter()
    checkpoint = _Checkpoint(options, recipe, codebook.digest, codes)
    zeros = zeros_of(options.zeros, codes, codebook)
    start = stationary.load_state(checkpoint.path, checkpoint.of)
    if start:
        log(f"{options.name}: going on from sweep {len(start.facts['history'])}")
    with _Progress(options.name, log, "sweep") as progress:
        try:
            model, _, history = stationary.fit(
                codes,
                codebook.block_starts,
                settings,
                seed,
                options.threads,
                progress,
                start,
                checkpoint.keep,
                zeros,
                device(options.device),
            )
        except FloatingPointError as failure:
            raise InputError(f"{options.name}: {failure}; give it smaller steps") from None
    frame = pd.DataFrame(history)
    with written(options.history) as path:
        frame.to_parquet(path, index=False)
    with written(options.plot) as path:
        _as_training(frame).to_csv(path)
    with written(options.weights) as path:
        stationary.save(path, model, codebook.digest)
    checkpoint.path.unlink(missing_ok=True)
    log(
        f"{options.name}: {len(frame)} sweeps in {time.perf_counter() - began:.0f} s, "
        f"bias {frame['bias'].tail(10).mean():.3f} of the sampling variance"
    )


class _Checkpoint:
    """Keeps the state of a fit now and then, for a run that is killed."""

    def __init__(self, options: argparse.Namespace, recipe: StationaryModel, digest: str, codes: np.ndarray):
        self.path = options.weights.with_name(".checkpoint.safetensors")
        what = "\n".join(
            [recipe.model_dump_json(), options.zeros, options.device, digest, str(options.seed), options.name]
        )
        self.of = hashlib.sha256(what.encode() + codes.tobytes()).hexdigest()
        self.saved = time.monotonic()

    def keep(self, state: stationary.State) -> None:
        """Write the state if the last one is older than some seconds."""
        if time.monotonic() - self.saved >= CHECKPOINT_S:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            stationary.save_state(self.path, self.of, state)
            self.saved = time.monotonic()


def _as_training(frame: pd.DataFrame) -> pd.DataFrame:
    """The history in the columns of a training's, for the same plots."""
    columns = {
        "stage": frame["level"],
        "loss_name": "discrepancy",
        "epoch": frame["iteration"],
        "loss": frame["discrepancy"],
        "learning_rate": frame["step"],
    }
    return pd.DataFrame(columns).rename_axis("step")


class _Progress(Progress):
    """Tells of sweeps."""

    def __call__(self, line: stationary.Iteration) -> None:
        text = f"{self.name}: sweep {line.iteration}, discrepancy {line.discrepancy:.3f}"
        text += f", bias {line.bias:.3f}"
        self.tell(text, text)
