"""Trace a private model's fidelity along epsilon: an evaluation, whose own results are not private."""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from modp.base import seeds
from modp.base.config import check, load
from modp.base.output import Log, written
from modp.cli.inputs import (
    ask_for_coded,
    ask_for_model,
    ask_for_work,
    coded,
    households_of,
    public_of,
    work_of,
)
from modp.draws import independent
from modp.figures import epsilon, style
from modp.measures import variation
from modp.models.private.fitting import spent
from modp.models.private.recipe import PrivateRecipe
from modp.pums.where import Dataset

RELEASES = BOOTSTRAPS = 5


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
    """Release at every epsilon several times, compare with bootstrap resamples, write and draw."""
    records = coded(options.records, options.codebook)
    rng = seeds.generator(options.seed, "epsilon", "bootstrap")
    ideal = variation.ideal(records, BOOTSTRAPS, rng, options.threads)
    shuffled = records.of(independent.shuffled(records.codes, rng))
    apart = variation.multiples(variation.nearness(records, shuffled, options.threads), ideal)
    lines = []
    for value in options.epsilons:
        recipe = check(options.model | {"epsilon": value}, PrivateRecipe, f"model {options.name}")
        public = public_of(recipe, records.codebook, options.name)
        households = households_of(options) if recipe.of_households else None
        found = []
        for number in range(1, RELEASES + 1):
            name = f"{options.name}, epsilon {value:g}, release {number}"
            work = replace(work_of(options, log), name=name, public=public, households=households)
            released, gate = spent(records, recipe, work)
            measured = variation.nearness(records, records.of(released.codes), options.threads)
            found.append(variation.multiples(measured, ideal))
        means, errors = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / np.sqrt(RELEASES)
        line = {"epsilon": value, "delta": recipe.delta, "rho": float(gate.rho), "releases": RELEASES}
        for key, mean, error, far in zip(variation.KEYS, means, errors, apart, strict=True):
            line |= {key: mean, f"{key}.error": error, f"independent.{key}": far}
        lines.append(line)
        log(f"{options.name}, epsilon {value:g}: median {means[0]:.2f} ± {errors[0]:.2f} x a bootstrap's")
    table = pd.DataFrame(lines)
    with written(options.table) as path:
        table.to_parquet(path, index=False)
    title = f"{load(options.dataset, Dataset).title}\n{options.name}, {len(records):,} records"
    figure = epsilon.draw(table, title)
    style.settle(figure)
    for target in options.out:
        with written(target) as path:
            style.save(figure, path)
