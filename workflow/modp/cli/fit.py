"""Fit a model of any family."""

import argparse
from pathlib import Path

from modp.base.output import Log, written
from modp.cli.inputs import ask_for_coded, ask_for_model, ask_for_work, coded, recipe_of, work_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    ask_for_coded(parser)
    ask_for_model(parser)
    ask_for_work(parser)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--history", type=Path, required=True)
    parser.add_argument("--plot", type=Path, required=True, help="CSV of the history for DVC's plots")


def run(options: argparse.Namespace, log: Log) -> None:
    """Fit, from a checkpoint if a killed run left one; then write weights and history."""
    records = coded(options.records, options.codebook)
    family, recipe = recipe_of(options)
    work = work_of(options, log, options.weights.with_name(".checkpoint.safetensors"))
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
