"""Checkpoints: where an interrupted training stands, kept beside its results."""

import json
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from modp.train import State


def save(path: Path, of: str, state: State) -> None:
    """Write a checkpoint, whole or not at all; ``of`` says of which training it is."""
    temporary = path.with_name(path.name + ".part")
    tensors = {name: value.detach().cpu().contiguous() for name, value in state.tensors.items()}
    save_file(tensors, temporary, metadata={"modp": json.dumps({"of": of, "facts": state.facts})})
    temporary.replace(path)


def load(path: Path, of: str) -> State | None:
    """Return the checkpoint at ``path``, or None if there is none of this training."""
    try:
        with safe_open(path, framework="pt") as file:
            found = json.loads(file.metadata()["modp"])
            if found["of"] != of:
                return None
            return State({name: file.get_tensor(name) for name in file.keys()}, found["facts"])  # noqa: SIM118
    except (FileNotFoundError, SafetensorError, KeyError, TypeError, ValueError):
        return None
