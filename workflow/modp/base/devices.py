"""Where tensors are computed."""

import torch

from modp.base.errors import InputError


def device(name: str) -> torch.device:
    """Return the device that ``auto``, ``cpu``, ``cuda`` or ``cuda:N`` names.

    Raises
    ------
    InputError
        if a GPU is asked for and there is none
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise InputError(f"device: {name} was asked for, but torch finds no GPU; write 'auto' or 'cpu'")
    return torch.device(name)
