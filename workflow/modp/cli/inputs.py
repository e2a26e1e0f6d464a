"""What the steps after coding read: the true records and their codebook."""

from pathlib import Path

import numpy as np

from modp import records
from modp.codebook import Codebook


def coded(records_path: Path, codebook_path: Path) -> tuple[np.ndarray, Codebook]:
    """Return the true codes, int16 (n, Q), and their codebook."""
    codebook = Codebook.from_json(codebook_path.read_text(encoding="utf-8"))
    return records.read(records_path, codebook)[0], codebook
