"""Trace a private model's fidelity along epsilon: an evaluation, whose own results are not private."""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from modp.base import seeds
from modp.base.config import check, load
from modp.base.output import Log, written
from modp.cli.inputs import ask_for_coded, ask_for_model, ask_for_work, coded, work_of
from modp.crosstabs.pairs import crosstab
from modp.draws import independent
from modp.figures import epsilon, style
from modp.measures import accuracy
from modp.measures.table import measures_of
from modp.models.private.fitting import spent
from modp.models.private.recipe import PrivateRecipe
from modp.pums.where import Dataset

BOOTSTRAPS = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    ask_for_coded(parser)
    parser.add_argument("--dataset", type=Path, required=True, help="the dataset YAML, for its title")
    ask_for_model(parser)
    ask_for_work(parser)
    parser.add_argument("--epsilons", type=float, nargs="+", required=True)
    parser.add_argument("--table", type=Path, required=True, help="one line an epsilon")
    parser.add_argument("--out", type=Path, nargs="+", required=True, help="the figure, by its endings")


def run(options: argparse.Namespace, log: Log) -> None:
    """Fit at every epsilon, compare with bootstrap resamples, write and draw."""
    records = coded(options.records, options.codebook)
    n, true = len(records), crosstab(records, options.threads)
    keys = [measure.key for measure in measures_of("d")]

    def found(codes: np.ndarray) -> np.ndarray:
        near = accuracy.compared(true, crosstab(records.of(codes), options.threads), n, len(codes))
        return np.array([near.measures[key] for key in keys])

    rng = seeds.generator(options.seed, "epsilon", "bootstrap")
    ideal = np.mean([found(records.codes[rng.integers(0, n, n)]) for _ in range(BOOTSTRAPS)], axis=0)
    shuffled = found(independent.shuffled(records.codes, rng)) / ideal
    lines = []
    for value in options.epsilons:
        recipe = check(options.model | {"epsilon": value}, PrivateRecipe, f"model {options.name}")
        name = f"{options.name}, epsilon {value:g}"
        released, gate = spent(records, recipe, replace(work_of(options, log), name=name))
        ratios = found(released.codes) / ideal
        lines.append(
            {"epsilon": value, "delta": recipe.delta, "rho": float(gate.rho)}
            | dict(zip(keys, ratios, strict=True))
            | {f"independent_{key}": ratio for key, ratio in zip(keys, shuffled, strict=True)}
        )
        log(f"{name}: median |ln ratio| {ratios[0]:.2f} x a bootstrap's")
    table = pd.DataFrame(lines)
    with written(options.table) as path:
        table.to_parquet(path, index=False)
    title = f"{load(options.dataset, Dataset).title}\n{options.name}, {n:,} records"
    figure = epsilon.draw(table, title)
    style.settle(figure)
    for target in options.out:
        with written(target) as path:
            style.save(figure, path)
