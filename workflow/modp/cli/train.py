"""Fit a model in stages."""

import argparse
import json
import time
from pathlib import Path

import pandas as pd
import torch
from tqdm import tqdm

from modp import seeds, train
from modp.cli.inputs import coded
from modp.cli.output import Log, written
from modp.config import check
from modp.errors import InputError
from modp.models import blades
from modp.params import BladesModel

QUIET_S = 10.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    parser.add_argument("--records", type=Path, required=True)
    parser.add_argument("--codebook", type=Path, required=True)
    parser.add_argument("--name", required=True, help="the model's name in params.yaml")
    parser.add_argument("--model", type=json.loads, required=True, help="its parameters, as JSON")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--history", type=Path, required=True)
    parser.add_argument("--plot", type=Path, required=True, help="CSV copy of the history for DVC's plots")


def run(options: argparse.Namespace, log: Log) -> None:
    """Train, then write weights and history."""
    codes, codebook = coded(options.records, options.codebook)
    recipe = check(options.model, BladesModel, f"model {options.name}")
    device = blades.device(options.device)
    seed = seeds.integer(options.seed, "train", options.name)
    model = blades.Blades(
        torch.from_numpy(codebook.block_starts),
        recipe.blades,
        recipe.reduced,
        torch.Generator().manual_seed(seed),
    )
    trainer = train.Trainer(
        model,
        codes,
        codebook.block_starts,
        torch.Generator().manual_seed(seeds.integer(options.seed, "shuffle", options.name)),
        options.threads,
        device,
    )
    began = time.perf_counter()
    with _Progress(options.name, recipe, log) as progress:
        try:
            history = trainer.fit(recipe.stages, progress)
        except FloatingPointError as failure:
            raise InputError(f"{options.name}: {failure}; give that stage a smaller learning_rate") from None
    frame = pd.DataFrame(history)
    with written(options.history) as path:
        frame.to_parquet(path, index=False)
    with written(options.plot) as path:
        frame.rename_axis("step").to_csv(path)
    with written(options.weights) as path:
        blades.save(path, model, codebook.digest)
    log(f"{options.name}: trained on {device} in {time.perf_counter() - began:.0f} s")


class _Progress:
    """A bar on a terminal; elsewhere a line now and then; every epoch in the log file."""

    def __init__(self, name: str, recipe: BladesModel, log: Log):
        self.name, self.stages, self.log = name, recipe.stages, log
        self.bar = tqdm(total=sum(s.epochs for s in recipe.stages), desc=name, unit="epoch", disable=None)
        self.said = time.monotonic()

    def __enter__(self) -> "_Progress":
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.close()

    def __call__(self, epoch: train.Epoch) -> None:
        stage = self.stages[epoch.stage - 1]
        text = f"stage {epoch.stage}/{len(self.stages)} {epoch.loss_name}, loss {epoch.loss:.4g}"
        self.bar.set_postfix_str(text, refresh=False)
        self.bar.update()
        line = f"{self.name}: {text}, epoch {epoch.epoch}/{stage.epochs}"
        self.log.only_file(line)
        if self.bar.disable and time.monotonic() - self.said > QUIET_S:
            print(line, flush=True)
            self.said = time.monotonic()
