"""Where tensors are computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from modp.base.errors import InputError

if TYPE_CHECKING:
    import torch


def device(name: str) -> torch.device:
    """Return the device that ``auto``, ``cpu``, ``cuda`` or ``cuda:N`` names.

    Raises
    ------
    InputError
        if a GPU is asked for and there is none
    """
    import torch

    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise InputError(f"device: {name} was asked for, but torch finds no GPU; write 'auto' or 'cpu'")
    return torch.device(name)


def gpu(name: str) -> torch.device | None:
    """Return the GPU that ``name`` stands for, None for a CPU; torch is loaded only to look for one.

    Raises
    ------
    InputError
        as :func:`device` does
    """
    if name.partition(":")[0] == "cpu":
        return None
    found = device(name)
    return None if found.type == "cpu" else found
