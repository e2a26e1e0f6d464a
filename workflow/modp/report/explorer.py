"""Every cell of every row's crosstab, packed for the page that lets people look at them."""

import base64
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from modp.survey.codebook import Codebook

WORST = 20
STEPS = 32_767
UNKNOWN = -32_768


@dataclass(frozen=True)
class Cells:
    """One row's crosstab, all arrays with one entry a cell i <= j in row order.

    ``synthetic`` are counts as they are, ``records`` the number of synthetic records; ``log_ratio`` and
    ``z`` are signed; ``merit`` is the blended figure of merit.
    """

    synthetic: np.ndarray
    records: int
    log_ratio: np.ndarray
    z: np.ndarray
    merit: np.ndarray


def content(codebook: Codebook, n_true: int, true: np.ndarray, rows: Mapping[str, Cells]) -> dict[str, Any]:
    """Return what the page's script needs, ready for JSON.

    Parameters
    ----------
    n_true : number of true records
    true : true counts, shape (K(K+1)/2,)
    rows : name of the row -> its cells
    """
    return {
        "questions": [
            {
                "name": q.name,
                "label": q.label,
                "categories": [[c.code, label] for c, label in zip(q.categories, q.labels, strict=True)],
            }
            for q in codebook.questions
        ],
        "starts": codebook.block_starts.tolist(),
        "records": n_true,
        "true": packed_counts(true),
        "rows": [
            {
                "name": name,
                "records": cells.records,
                "synthetic": packed_counts(cells.synthetic),
                "d": packed_sizes(cells.log_ratio),
                "z": packed_sizes(cells.z),
                "worst": worst(cells.merit),
            }
            for name, cells in rows.items()
        ],
    }


def packed_counts(counts: np.ndarray) -> str:
    """Return counts as base64 of deflated little-endian uint32."""
    return _deflated(counts.astype("<u4"))


def packed_sizes(values: np.ndarray) -> dict[str, Any]:
    """Return signed numbers as base64 of deflated little-endian int16, and what a step is worth.

    They are within half a step, the largest size / 65,534, of what they were; NaN is -32,768.
    """
    known = np.isfinite(values)
    step = float(np.abs(values[known]).max(initial=0.0)) / STEPS or 1.0
    steps = np.where(known, np.round(np.where(known, values, 0) / step), UNKNOWN)
    return {"step": step, "steps": _deflated(steps.astype("<i2"))}


def _deflated(integers: np.ndarray) -> str:
    return base64.b64encode(zlib.compress(integers.tobytes(), 7)).decode()


def worst(merit: np.ndarray) -> list[list[float]]:
    """Return [number of the cell, figure of merit] of the worst cells, the worst first."""
    merit = np.nan_to_num(merit)
    order = np.argsort(-merit, kind="stable")[:WORST]
    return [[int(k), round(float(merit[k]), 3)] for k in order if merit[k] > 0]
