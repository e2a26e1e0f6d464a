"""Fit a model of any family."""

import argparse
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from modp.base.errors import InputError
from modp.base.output import Log, written
from modp.cli.inputs import (
    ask_for_coded,
    ask_for_model,
    ask_for_work,
    coded,
    households_of,
    public_of,
    recipe_of,
    work_of,
)
from modp.cli.whole import Said, ask_for_whole, whole
from modp.models.family import Family, Recipe


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    ask_for_coded(parser)
    ask_for_model(parser)
    ask_for_work(parser)
    ask_for_whole(parser)
    parser.add_argument("--toward", type=Path, nargs="*", default=[], help="weights that it is drawn to")
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--history", type=Path, required=True)
    parser.add_argument("--plot", type=Path, required=True, help="CSV of the history for DVC's plots")


def run(options: argparse.Namespace, log: Log) -> None:
    """Fit, from a checkpoint if a killed run left one; then write weights and history."""
    # Of whole households where the data set is of such: each family knows what it is fitted to.
    records: Any = whole(options) if options.homes else coded(options.records, options.codebook)
    family, recipe = recipe_of(options)
    if family.whole:
        recipe = _ruled(recipe, Said.read(options.said))
    if recipe.fitted:
        _take(Path(recipe.fitted), family, records.codebook, options)
        log(f"{options.name}: taken from {recipe.fitted}, without a fit")
        return
    work = work_of(options, log, options.weights.with_name(".checkpoint.safetensors"))
    work = replace(work, public=public_of(recipe, records.codebook, options.name))
    if recipe.of_households:
        work = replace(work, households=households_of(options))
    for path in options.toward:
        work = replace(work, toward=family.load(path, records.codebook))
    fitted = family.fit(records, recipe, work)
    with written(options.history) as path:
        fitted.history.to_parquet(path, index=False)
    with written(options.plot) as path:
        fitted.training.rename_axis("step").to_csv(path)
    with written(options.weights) as path:
        fitted.model.save(path, records.codebook)
    assert work.checkpoint
    work.checkpoint.unlink(missing_ok=True)
    log(f"{work.name}: {fitted.said}")


def _ruled(recipe: Recipe, said: Said) -> Recipe:
    """The recipe with what the question set says never occurs among members."""
    return recipe.model_copy(update={"impossible": [*said.members, *getattr(recipe, "impossible", ())]})


def _take(folder: Path, family: Family, codebook: Any, options: argparse.Namespace) -> None:
    """Copy a model of another run; raise InputError if it is not there, or of another codebook."""
    plot = folder.parent / "plots" / "history" / f"{folder.name}.csv"
    files = {options.weights: folder / "model.safetensors", options.history: folder / "history.parquet"}
    files[options.plot] = plot
    lacking = [str(path) for path in files.values() if not path.is_file()]
    if lacking:
        raise InputError(
            f"{options.name}: fitted: {folder} is no folder of a fitted model: "
            f"{', '.join(lacking)} is not there"
        )
    family.load(folder / "model.safetensors", codebook)
    for target, path in files.items():
        with written(target) as part:
            shutil.copyfile(path, part)
