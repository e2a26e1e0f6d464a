"""The model of whole households: answers of persons who belong together, and of their household.

:mod:`modp.draws.households` has the distribution's equation.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save_file

from modp.base import seeds
from modp.base.errors import InputError
from modp.crosstabs.members import Parts
from modp.draws import households as draws
from modp.draws.exchange import Links
from modp.draws.households import Laid
from modp.survey.households import Codebooks, Households


@dataclass(frozen=True)
class HouseholdWeights:
    """A model.

    weights : finite
    excluded : bool, the structural zeros
    block_starts, home_block_starts : of the questions of persons and of households
    agreeing : int64 (Q,), as in :func:`modp.crosstabs.members.counts`
    strength : float64 (Q + G, Q + G), how strongly questions are linked in the true households
    exchanges : rounds of exchanges after each sweep
    """

    weights: Parts
    excluded: Parts
    block_starts: np.ndarray
    home_block_starts: np.ndarray
    agreeing: np.ndarray
    strength: np.ndarray
    exchanges: int

    @cached_property
    def laid(self) -> Laid:
        """The weights as kernels take them."""
        pairs = zip(self.weights, self.excluded, strict=True)
        weights = Parts(*(np.where(no, -np.inf, w) for w, no in pairs))
        return Laid.of(weights, self.agreeing, self.block_starts, self.home_block_starts)

    @property
    def most(self) -> int:
        """Persons of the largest household."""
        return self.weights.agree.shape[1] - 1

    def save(self, path: Path, books: Codebooks, more: Mapping[str, np.ndarray] | None = None) -> None:
        """Write the model as safetensors, with the codebooks' digests, and ``more`` arrays beside it."""
        values = {f"weights.{name}": part for name, part in self.weights._asdict().items()}
        values |= {f"excluded.{name}": part for name, part in self.excluded._asdict().items()}
        values |= {"agreeing": self.agreeing, "strength": self.strength, **(more or {})}
        facts = {"persons": books.persons.digest, "homes": books.homes.digest, "exchanges": self.exchanges}
        save_file({k: np.ascontiguousarray(v) for k, v in values.items()}, path, {"modp": json.dumps(facts)})

    def step(self, households: Households, seed: int, number: int, threads: int) -> tuple[Households, int]:
        """Sweep once and exchange; return households, and the number of answers that the sweep changed."""
        swept, changed = draws.sweep(households, self.laid, seed, number, threads)
        if self.exchanges:
            rng = seeds.generator(seed, "exchange", str(number))
            swept, _ = draws.exchange(swept, self.laid, Links(self.strength), self.exchanges, rng, threads)
        return swept, changed


def load(path: Path, books: Codebooks) -> HouseholdWeights:
    """Read a model that :meth:`HouseholdWeights.save` wrote.

    Raises
    ------
    InputError
        if the model was fitted with other codebooks
    """
    return loaded(path, books)[0]


def loaded(path: Path, books: Codebooks) -> tuple[HouseholdWeights, dict[str, np.ndarray]]:
    """Read a model and what else is in its file; raise InputError as :func:`load` does."""
    with safe_open(path, framework="np") as file:
        facts = json.loads(file.metadata()["modp"])
        values = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    if (facts["persons"], facts["homes"]) != (books.persons.digest, books.homes.digest):
        raise InputError(f"{path} was fitted to other questions or categories than the codebooks'")
    weights, excluded = (
        Parts(*(values.pop(f"{of}.{name}") for name in Parts._fields)) for of in ("weights", "excluded")
    )
    blocks = books.persons.block_starts, books.homes.block_starts
    own = values.pop("agreeing"), values.pop("strength")
    return HouseholdWeights(weights, excluded, *blocks, *own, facts["exchanges"]), values
