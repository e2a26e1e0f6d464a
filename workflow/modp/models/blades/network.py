"""The paper's models: non-self-predicting blades combined by a gate."""

import json
from pathlib import Path

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import nn

from modp.base import devices
from modp.base.errors import InputError
from modp.models.blades.recipe import Shape
from modp.survey.codebook import Codebook
from modp.survey.records import Records

LARGEST_LOGIT = 30.0
"""Beyond it a softmax in single precision is one or nothing."""


class Blades(nn.Module):
    """Parallel minus-one logistic maps, averaged with weights that a gate computes.

    The paper's ``MultiBladeModel``: prediction = sum_b gate_b(R) Sigmoid(L_b R + c_b), where the
    weights of each L_b from a question to itself are zero (its equations 7 and 8). They are
    masked in the forward pass, so that no optimiser step can make a blade predict a question
    from itself. The gate sees the whole record, but only through one number a blade.
    """

    mask: torch.Tensor
    blocks: torch.Tensor

    def __init__(self, block_starts: torch.Tensor, shape: Shape, generator: torch.Generator):
        """Draw the starting weights: Xavier-uniform maps, biases within 1/sqrt(K).

        Parameters
        ----------
        block_starts : first column of each question's block and, last, K
        """
        super().__init__()
        size, blades = int(block_starts[-1]), shape.blades
        self.shape = shape
        self.blades = blades
        self.weight = nn.Parameter(torch.empty(size, blades, size))
        self.bias = nn.Parameter(torch.empty(blades, size))
        self.gate_in = nn.Linear(size, shape.reduced)
        self.gate_middle = nn.Linear(shape.reduced, shape.reduced) if shape.gate_layers == 3 else None
        self.gate_out = nn.Linear(shape.reduced, blades)
        self.register_buffer("mask", between_questions(block_starts)[:, None, :], persistent=False)
        self.register_buffer("blocks", question_blocks(block_starts), persistent=False)
        bound = (6 / (2 * size)) ** 0.5
        with torch.no_grad():
            self.weight.uniform_(-bound, bound, generator=generator).mul_(self.mask)
            self.bias.uniform_(-(size**-0.5), size**-0.5, generator=generator)
            for layer in (self.gate_in, self.gate_middle, self.gate_out):
                if layer is not None:
                    bound = layer.in_features**-0.5
                    layer.weight.uniform_(-bound, bound, generator=generator)
                    layer.bias.uniform_(-bound, bound, generator=generator)

    def blade_outputs(self, records: torch.Tensor) -> torch.Tensor:
        """Return every blade's prediction, (n, blades, K), for one-hot records (n, K)."""
        size = self.weight.shape[0]
        weight = (self.weight * self.mask).reshape(size, -1)
        affine = torch.addmm(self.bias.reshape(-1), records, weight).reshape(len(records), self.blades, size)
        if self.shape.link == "sigmoid":
            return torch.sigmoid(affine)
        exponentials = torch.exp(affine.clamp(-LARGEST_LOGIT, LARGEST_LOGIT))
        return exponentials / (exponentials @ self.blocks @ self.blocks.T)

    def question(self, records: torch.Tensor, start: int, stop: int) -> torch.Tensor:
        """Return the predictions of the columns of one question alone, (n, stop - start)."""
        weight = (self.weight * self.mask)[:, :, start:stop]
        affine = torch.einsum("nk,kbc->nbc", records, weight) + self.bias[:, start:stop]
        if self.shape.link == "sigmoid":
            outputs = torch.sigmoid(affine)
        else:
            outputs = torch.softmax(affine.clamp(-LARGEST_LOGIT, LARGEST_LOGIT), dim=2)
        return torch.einsum("nb,nbc->nc", self.gate(records), outputs)

    def gate(self, records: torch.Tensor) -> torch.Tensor:
        """Return the blades' weights, (n, blades), each record's summing to one."""
        hidden = torch.relu(self.gate_in(records))
        if self.gate_middle is not None:
            hidden = torch.relu(self.gate_middle(hidden))
        return torch.softmax(self.gate_out(hidden), dim=1)

    def forward(self, records: torch.Tensor) -> torch.Tensor:
        """Return predictions in (0, 1), shape (n, K); with sigmoids a question's need not sum to one."""
        outputs = self.blade_outputs(records)
        if self.blades == 1:
            return outputs[:, 0]
        return torch.einsum("nb,nbk->nk", self.gate(records), outputs)

    @torch.no_grad()
    def predict(self, records: Records) -> np.ndarray:
        """Return the predictions, float32 (n, K), computed where the weights are."""
        binary = torch.from_numpy(records.one_hot).to(self.weight.device)
        return self(binary).cpu().numpy()

    def on(self, device: str) -> "Blades":
        """Move the model to ``auto``, ``cpu``, ``cuda`` or ``cuda:N``; let sums have one order."""
        torch.set_num_threads(1)
        return self.to(devices.device(device))

    def save(self, path: Path, codebook: Codebook) -> None:
        """Write the weights as safetensors, with the model's shape and its codebook's digest."""
        weights = {name: value.detach().cpu().contiguous() for name, value in self.state_dict().items()}
        facts = {"codebook": codebook.digest, **self.shape.model_dump()}
        # One entry, since safetensors writes several in an order that differs from run to run.
        save_file(weights, path, metadata={"modp": json.dumps(facts)})


def question_blocks(block_starts: torch.Tensor) -> torch.Tensor:
    """Return a (K, Q) matrix of ones where the category belongs to the question."""
    sizes = torch.diff(block_starts)
    question = torch.repeat_interleave(torch.arange(len(sizes)), sizes)
    return nn.functional.one_hot(question, len(sizes)).float()


def between_questions(block_starts: torch.Tensor) -> torch.Tensor:
    """Return a (K, K) matrix of ones, zero where both categories belong to one question."""
    blocks = question_blocks(block_starts)
    return 1 - blocks @ blocks.T


def load(path: Path, codebook: Codebook) -> Blades:
    """Read a model that :meth:`Blades.save` wrote.

    Raises
    ------
    InputError
        if the model was trained with another codebook
    """
    with safe_open(path, framework="pt") as file:
        facts = json.loads(file.metadata()["modp"])
        weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    if facts.pop("codebook") != codebook.digest:
        raise InputError(f"{path} was trained on other questions or categories than the codebook's")
    model = Blades(torch.from_numpy(codebook.block_starts), Shape(**facts), torch.Generator())
    model.load_state_dict(weights)
    return model.on("cpu")
