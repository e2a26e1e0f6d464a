"""What the steps after coding read: the true records and their codebook."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from modp import records
from modp.codebook import Codebook

PROVENANCE = ".provenance.json"


def source(provenance: Path) -> dict[str, Any]:
    """Return what is known of a source file: its name as ``file``, and its provenance."""
    return {"file": provenance.name.removesuffix(PROVENANCE)} | json.loads(provenance.read_text())


def coded(records_path: Path, codebook_path: Path) -> tuple[np.ndarray, Codebook]:
    """Return the true codes, int16 (n, Q), and their codebook."""
    codebook = Codebook.from_json(codebook_path.read_text(encoding="utf-8"))
    return records.read(records_path, codebook)[0], codebook
