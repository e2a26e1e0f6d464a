"""Turn weights that the paper's author published into a model of ours."""

import argparse
from pathlib import Path

from modp.base.output import Log, written
from modp.models.blades import published
from modp.survey.codebook import Codebook


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    parser.add_argument("--checkpoint", type=Path, required=True, help="the author's .sav file")
    parser.add_argument("--codebook", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="model.safetensors")


def run(options: argparse.Namespace, log: Log) -> None:
    """Read, check against the codebook, write."""
    codebook = Codebook.from_json(options.codebook.read_text(encoding="utf-8"))
    model = published.convert(options.checkpoint, codebook)
    with written(options.out) as path:
        model.save(path, codebook)
    log(f"{options.out}: {model.blades} blades")
