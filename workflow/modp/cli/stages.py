"""Write dvc.yaml for the models and rows of params.yaml."""

import argparse
from pathlib import Path

from modp.base.config import load
from modp.base.output import Log
from modp.pipeline import stages
from modp.pipeline.params import Params


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    parser.add_argument("--params", type=Path, default=Path("params.yaml"))
    parser.add_argument("--out", type=Path, default=Path("dvc.yaml"))


def run(options: argparse.Namespace, log: Log) -> None:
    """Write the file, from the root of the project."""
    params = load(options.params, Params)
    stages.renew(params, options.out)
    log(f"{options.out} is for {len(params.models)} models and {len(params.rows)} rows")
