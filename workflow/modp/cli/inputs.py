"""What the steps after coding read: the true records, their codebook, a model's parameters."""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from modp.survey import records
from modp.survey.codebook import Codebook

PROVENANCE = ".provenance.json"

FAMILIES = ("blades", "stationary")
"""What weights can be of; those of a private model are a stationary one's."""


def source(provenance: Path) -> dict[str, Any]:
    """Return what is known of a source file: its name as ``file``, and its provenance."""
    return {"file": provenance.name.removesuffix(PROVENANCE)} | json.loads(provenance.read_text())


def ask_for_model(parser: argparse.ArgumentParser) -> None:
    """Declare the options for a model of params.yaml."""
    parser.add_argument("--name", required=True, help="the model's name in params.yaml")
    parser.add_argument("--model", type=json.loads, required=True, help="its parameters, as JSON")


def ask_for_coded(parser: argparse.ArgumentParser) -> None:
    """Declare the options that :func:`coded` takes."""
    parser.add_argument("--records", type=Path, required=True)
    parser.add_argument("--codebook", type=Path, required=True)


def coded(records_path: Path, codebook_path: Path) -> tuple[np.ndarray, Codebook]:
    """Return the true codes, int16 (n, Q), and their codebook."""
    codebook = Codebook.from_json(codebook_path.read_text(encoding="utf-8"))
    return records.read(records_path, codebook)[0], codebook
