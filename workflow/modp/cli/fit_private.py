"""Fit a stationary model with a formal guarantee, and draw the one table that it releases."""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from modp.base import seeds
from modp.base.config import check
from modp.base.errors import InputError
from modp.cli.inputs import ask_for_coded, ask_for_model, coded
from modp.cli.output import Log, written
from modp.cli.progress import Progress
from modp.draws import sweeps
from modp.models.private import budget
from modp.models.private import fitting as private
from modp.models.stationary import model as stationary
from modp.pipeline.params import PrivateModel
from modp.survey import records
from modp.survey.codebook import Codebook


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    ask_for_coded(parser)
    ask_for_model(parser)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--history", type=Path, required=True, help="what was measured, and its price")
    parser.add_argument("--out", type=Path, required=True, help="the synthetic records")


def run(options: argparse.Namespace, log: Log) -> None:
    """Spend the budget, fit, write weights, history and records."""
    codes, codebook = coded(options.records, options.codebook)
    recipe = check(options.model, PrivateModel, f"model {options.name}")
    released, gate = fitted(codes, codebook, recipe, options.name, options.seed, options.threads, log)
    history = pd.DataFrame(released.history)
    names = dict(enumerate(codebook.names)) | {-1: None}
    with written(options.history) as path:
        history.replace({"first": names, "second": names}).to_parquet(path, index=False)
    with written(options.weights) as path:
        stationary.save(path, released.model, codebook.digest)
    none = np.ma.masked_all(len(released.codes), np.int64)
    with written(options.out) as path:
        records.write(path, released.codes, codebook, {"record": none, "entropy_bits": released.entropy_bits})
    log(
        f"{options.name}: {len(released.codes):,} records from {len(history) - 1} pair tables, "
        f"({recipe.epsilon:g}, {recipe.delta:g})-differentially private, rho = {float(gate.rho):.4g}"
    )


def fitted(
    codes: np.ndarray, codebook: Codebook, recipe: PrivateModel, name: str, seed: int, threads: int, log: Log
) -> tuple[private.Release, budget.Gate]:
    """Return what a model releases, and the gate with its ledger.

    Raises
    ------
    InputError
        if the codebook holds decile edges that are not said to be public
    """
    _refuse_private_edges(codebook, recipe, name)
    secret = recipe.noise == "secret"
    noise = np.random.default_rng() if secret else seeds.generator(seed, "noise", name)
    starts = codebook.block_starts
    rho = budget.rho_of(recipe.epsilon, recipe.delta)
    gate = budget.Gate(sweeps.crosstab(codes, starts, threads), starts, rho, noise)
    del codes  # nothing but the gate knows them from here on
    settings = private.Settings(selection=recipe.selection, pairs=recipe.pairs, chains=recipe.chains)
    with _Progress(name, log, "table") as progress:
        release = private.release(
            gate,
            starts,
            codebook.stated_zeros,
            settings,
            seeds.integer(seed, "fit_private", name),
            threads,
            progress,
        )
    return release, gate


def _refuse_private_edges(codebook: Codebook, recipe: PrivateModel, name: str) -> None:
    cut = [question.name for question in codebook.questions if question.edges]
    if cut and not recipe.public_edges:
        raise InputError(
            f"{name}: the decile edges of {', '.join(cut)} were computed from the true records, which no "
            "budget pays for. Take a question set without deciles; or, if these edges are known from "
            f"elsewhere, another year's file for instance, say 'public_edges: true' under private.{name}"
        )


class _Progress(Progress):
    """Tells of tables."""

    def __call__(self, line: private.Measured) -> None:
        what = "one-way tables" if line.first < 0 else f"pair {line.first}, {line.second}"
        text = f"{self.name}: {what}, noise {line.sigma:.1f}, surprise {line.surprise:.2f}"
        self.tell(text, text)
