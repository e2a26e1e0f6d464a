"""Checkpoints: where an interrupted fit stands, kept beside its results."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from modp.base.output import written


def save(
    path: Path, of: str, arrays: Mapping[str, Any], facts: Mapping[str, Any], save_file: Callable
) -> None:
    """Write a checkpoint, whole or not at all.

    Parameters
    ----------
    of : says of which fit it is
    arrays : what ``save_file``, of safetensors.torch or safetensors.numpy, can write
    facts : what JSON can hold
    """
    with written(path) as temporary:
        save_file(dict(arrays), temporary, metadata={"modp": json.dumps({"of": of, "facts": facts})})


def load(path: Path, of: str, framework: str) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Return the arrays (``pt`` or ``np``) and facts at ``path``, or None if there are none of this fit."""
    try:
        with safe_open(path, framework=framework) as file:
            found = json.loads(file.metadata()["modp"])
            if found["of"] != of:
                return None
            return {name: file.get_tensor(name) for name in file.keys()}, found["facts"]  # noqa: SIM118
    except (FileNotFoundError, SafetensorError, KeyError, TypeError, ValueError):
        return None
