"""Run the pipeline once more with another seed, into a folder of its own, and keep its metrics."""

import argparse
import json
import shutil
from pathlib import Path

from modp.base.output import Log, written
from modp.cli import nested


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    parser.add_argument("--parameters", type=Path, required=True, help="of the first run, as JSON")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--folder", type=Path, required=True, help="for this run's results")
    parser.add_argument("--dataset", required=True, help="the data set's name")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True, help="a copy of its metrics.json")


def run(options: argparse.Namespace, log: Log) -> None:
    """Let Snakemake make what the metrics need."""
    parameters = json.loads(options.parameters.read_text(encoding="utf-8"))
    parameters |= {"seed": options.seed, "seeds": 1, "results": options.folder.as_posix()}
    metrics = options.folder / options.dataset / "metrics.json"
    nested.run(
        parameters,
        options.folder / "params.json",
        [metrics.as_posix()],
        options.threads,
        f"the run with seed {options.seed}",
        log,
    )
    with written(options.out) as path:
        shutil.copyfile(metrics, path)
    log(f"seed {options.seed}: {metrics}")
