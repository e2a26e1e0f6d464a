"""The weights that the paper's author published: torch archives, read without running their code."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from modp.base.errors import InputError
from modp.models.blades.network import Blades
from modp.models.blades.recipe import Shape
from modp.survey.codebook import Codebook

ALLOWED: list[Callable[..., Any] | tuple[Callable[..., Any], str]] = [
    (np._core.multiarray._reconstruct, "numpy.core.multiarray._reconstruct"),  # type: ignore[attr-defined]
    (np.ndarray, "numpy.ndarray"),
    (np.dtype, "numpy.dtype"),
    type(np.dtype(np.int64)),
]
"""All that a published archive needs beyond tensors: an array of integers, its block starts."""


def convert(path: Path, codebook: Codebook) -> Blades:
    """Read a published ``.sav`` checkpoint as one of our models.

    Parameters
    ----------
    path : a torch archive of a dict with ``model_state_dict`` and ``config``
    codebook : the questions in the author's order, for STUMS those of ``questions: stums``

    Raises
    ------
    InputError
        if the file is no such archive, holds anything but tensors, arrays and plain values, or is of
        other blocks of categories than the codebook's
    """
    content = _read(path)
    try:
        weights, starts = content["model_state_dict"], np.asarray(content["config"]["in_block_starts"])
        number, reduced = content["config"]["num_blades"], content["config"]["reduced_features"]
    except (KeyError, TypeError):
        raise InputError(f"{path} lacks 'model_state_dict' or its 'config', so it is no such model") from None
    if starts.tolist() != codebook.block_starts.tolist():
        raise InputError(
            f"{path} is of {len(starts) - 1} questions and {starts[-1]} categories, the codebook of "
            f"{len(codebook.questions)} and {codebook.block_starts[-1]}, or of others"
        )
    shape = Shape(blades=number, reduced=reduced)
    model = Blades(torch.from_numpy(codebook.block_starts), shape, torch.Generator())
    model.load_state_dict(
        {
            "weight": torch.stack([weights[f"blades.{b}.weight"] for b in range(number)], dim=1),
            "bias": torch.stack([weights[f"blades.{b}.bias"] for b in range(number)]),
            "gate_in.weight": weights["weight_calculator.fc1.weight"],
            "gate_in.bias": weights["weight_calculator.fc1.bias"],
            "gate_out.weight": weights["weight_calculator.fc2.weight"],
            "gate_out.bias": weights["weight_calculator.fc2.bias"],
        }
    )
    return model


def _read(path: Path) -> dict[str, Any]:
    try:
        with torch.serialization.safe_globals(ALLOWED):
            return torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file") from None
    except Exception as failure:  # torch raises a dozen kinds for what is not a safe archive
        raise InputError(f"{path} is no archive of weights alone: {str(failure).splitlines()[0]}") from None
