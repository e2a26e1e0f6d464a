"""Trace a private model's fidelity along epsilon: an evaluation, whose own results are not private."""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from modp.base import seeds
from modp.base.config import check, load
from modp.cli.fit_private import fitted
from modp.cli.inputs import ask_for_coded, ask_for_model, coded
from modp.cli.output import Log, written
from modp.draws import independent, sweeps
from modp.figures import epsilon, style
from modp.measures import accuracy
from modp.measures.table import measures_of
from modp.pipeline.params import PrivateModel
from modp.pums.where import Dataset

BOOTSTRAPS = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    ask_for_coded(parser)
    parser.add_argument("--dataset", type=Path, required=True, help="the dataset YAML, for its title")
    ask_for_model(parser)
    parser.add_argument("--epsilons", type=float, nargs="+", required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--table", type=Path, required=True, help="one line an epsilon")
    parser.add_argument("--out", type=Path, nargs="+", required=True, help="the figure, by its endings")


def run(options: argparse.Namespace, log: Log) -> None:
    """Fit at every epsilon, compare with bootstrap resamples, write and draw."""
    codes, codebook = coded(options.records, options.codebook)
    starts, n = codebook.block_starts, len(codes)
    keys = [measure.key for measure in measures_of("d")]
    true = sweeps.crosstab(codes, starts, options.threads)

    def found(records: np.ndarray) -> np.ndarray:
        near = accuracy.compared(true, sweeps.crosstab(records, starts, options.threads), n, len(records))
        return np.array([near.measures[key] for key in keys])

    rng = seeds.generator(options.seed, "epsilon", "bootstrap")
    ideal = np.mean([found(codes[rng.integers(0, n, n)]) for _ in range(BOOTSTRAPS)], axis=0)
    shuffled = found(independent.shuffled(codes, rng)) / ideal
    lines = []
    for value in options.epsilons:
        recipe = check(options.model | {"epsilon": value}, PrivateModel, f"model {options.name}")
        name = f"{options.name}, epsilon {value:g}"
        released, gate = fitted(codes, codebook, recipe, name, options.seed, options.threads, log)
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
