"""The paper's models: non-self-predicting blades combined by a gate."""

import json
from pathlib import Path

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import nn

from modp.codebook import Codebook
from modp.errors import InputError


class Blades(nn.Module):
    """Parallel minus-one logistic maps, averaged with weights that a gate computes.

    The paper's ``MultiBladeModel``: prediction = sum_b gate_b(R) Sigmoid(L_b R + c_b), where the
    weights of each L_b from a question to itself are zero (its equations 5 and 6). They are
    masked in the forward pass, so that no optimiser step can make a blade predict a question
    from itself. The gate sees the whole record, but only through one number a blade.
    """

    mask: torch.Tensor

    def __init__(self, block_starts: torch.Tensor, blades: int, reduced: int, generator: torch.Generator):
        """Draw the starting weights: Xavier-uniform maps, biases within 1/sqrt(K).

        Parameters
        ----------
        block_starts : first column of each question's block and, last, K
        blades : number of blades
        reduced : width of the gate's hidden layer
        """
        super().__init__()
        size = int(block_starts[-1])
        self.blades = blades
        self.weight = nn.Parameter(torch.empty(size, blades, size))
        self.bias = nn.Parameter(torch.empty(blades, size))
        self.gate_in = nn.Linear(size, reduced)
        self.gate_out = nn.Linear(reduced, blades)
        self.register_buffer("mask", between_questions(block_starts)[:, None, :], persistent=False)
        bound = (6 / (2 * size)) ** 0.5
        with torch.no_grad():
            self.weight.uniform_(-bound, bound, generator=generator).mul_(self.mask)
            self.bias.uniform_(-(size**-0.5), size**-0.5, generator=generator)
            for layer in (self.gate_in, self.gate_out):
                bound = layer.in_features**-0.5
                layer.weight.uniform_(-bound, bound, generator=generator)
                layer.bias.uniform_(-bound, bound, generator=generator)

    def blade_outputs(self, records: torch.Tensor) -> torch.Tensor:
        """Return every blade's prediction, (n, blades, K), for one-hot records (n, K)."""
        size = self.weight.shape[0]
        weight = (self.weight * self.mask).reshape(size, -1)
        affine = torch.addmm(self.bias.reshape(-1), records, weight)
        return torch.sigmoid(affine).reshape(len(records), self.blades, size)

    def gate(self, records: torch.Tensor) -> torch.Tensor:
        """Return the blades' weights, (n, blades), each record's summing to one."""
        return torch.softmax(self.gate_out(torch.relu(self.gate_in(records))), dim=1)

    def forward(self, records: torch.Tensor) -> torch.Tensor:
        """Return predictions in (0, 1), shape (n, K); a question's need not sum to one."""
        outputs = self.blade_outputs(records)
        if self.blades == 1:
            return outputs[:, 0]
        return torch.einsum("nb,nbk->nk", self.gate(records), outputs)


def between_questions(block_starts: torch.Tensor) -> torch.Tensor:
    """Return a (K, K) matrix of ones, zero where both categories belong to one question."""
    sizes = torch.diff(block_starts)
    question = torch.repeat_interleave(torch.arange(len(sizes)), sizes)
    return (question[:, None] != question[None, :]).float()


@torch.no_grad()
def predict(model: Blades, records: np.ndarray, device: torch.device) -> np.ndarray:
    """Return the predictions, float32 (n, K), for one-hot records of the same shape."""
    return model.to(device)(torch.from_numpy(records).to(device)).cpu().numpy()


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


def save(path: Path, model: Blades, codebook_digest: str) -> None:
    """Write a model's weights as safetensors, with its shape and its codebook's digest."""
    weights = {name: value.detach().cpu().contiguous() for name, value in model.state_dict().items()}
    facts = {
        "codebook": codebook_digest,
        "blades": model.blades,
        "reduced": model.gate_in.out_features,
    }
    # One entry, since safetensors writes several in an order that differs from run to run.
    save_file(weights, path, metadata={"modp": json.dumps(facts)})


def load(path: Path, codebook: Codebook) -> Blades:
    """Read a model that :func:`save` wrote.

    Raises
    ------
    InputError
        if the model was trained with another codebook
    """
    with safe_open(path, framework="pt") as file:
        facts = json.loads(file.metadata()["modp"])
        weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    if facts["codebook"] != codebook.digest:
        raise InputError(f"{path} was trained on other questions or categories than the codebook's")
    model = Blades(
        torch.from_numpy(codebook.block_starts),
        facts["blades"],
        facts["reduced"],
        torch.Generator(),
    )
    model.load_state_dict(weights)
    return model
