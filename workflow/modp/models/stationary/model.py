"""The stationary model: a distribution that reproduces all pair crosstabs, and some three-way ones.

P(x) ∝ exp(Σ_q c[x_q] + Σ_{q<r} W[x_q, x_r] + Σ_t V_t[x_t1, x_t2, x_t3]), W symmetric, zero inside
questions, -∞ at structural zeros; t are those triples of questions that pairs do not explain. Where its
likelihood is largest, its expected pair crosstabs are those of the data, and among such distributions
it has the largest entropy. A question's distribution given the others is the paper's minus-one map with
a softmax over the question's block, with tied weights.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save_file

from modp.base import seeds
from modp.base.errors import InputError
from modp.draws import exchange, possible, sweeps
from modp.survey import where
from modp.survey.codebook import Codebook
from modp.survey.records import Records

if TYPE_CHECKING:
    import torch

ARRAYS = ("w", "c", "excluded", "strength", "triples", "values", "expected")
"""What a model's file holds of it."""


@dataclass(frozen=True)
class Stationary:
    """A model.

    w : float32 (K, K), symmetric, zero inside questions and at structural zeros
    c : float32 (K,)
    excluded : bool (K, K), symmetric: structural zeros
    block_starts : int64 (Q + 1,)
    exchanges : rounds of exchanges after each sweep, with which the model was fitted
    strength : float64 (Q, Q), how strongly questions are linked in the true records
    triples : int64 (T, 3), triples of questions with weights of their own
    values : float32, those weights, in the order of :func:`modp.crosstabs.triples.counts`
    expected : float32 (K, K), the crosstab that it has, where the fit knows that; else of shape (0, 0)
    """

    w: np.ndarray
    c: np.ndarray
    excluded: np.ndarray
    block_starts: np.ndarray
    exchanges: int = 0
    strength: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    triples: np.ndarray = field(default_factory=lambda: np.zeros((0, 3), np.int64))
    values: np.ndarray = field(default_factory=lambda: np.zeros(0, np.float32))
    expected: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), np.float32))

    @cached_property
    def tables(self) -> sweeps.Tables:
        """The model laid out for :func:`modp.draws.sweeps.sweep`."""
        return sweeps.tables(self.w, self.c, self.excluded, self.block_starts, self.triples, self.values)

    def predict(self, records: Records) -> np.ndarray:
        """Return the odds of each question's categories given the record's other answers.

        Parameters
        ----------
        records : n of them; answers may stand in structural zeros

        Returns
        -------
        float64 (n, K), to be normalised within questions; zero for a category that is in a structural
        zero with another answer
        """
        binary, tables = records.one_hot, self.tables
        logits = (binary @ self.w + self.c).astype(np.float64)
        answers = records.columns
        for q, (start, stop) in enumerate(itertools.pairwise(self.block_starts)):
            block = logits[:, start:stop]
            block += sweeps.terms_of(tables, q, answers, tables.rows.numbers, np.arange(stop - start))
            block -= block.max(axis=1, keepdims=True)
        return np.exp(logits) * (binary @ self.excluded.astype(np.float32) == 0)

    def restricted(self, allowed: np.ndarray) -> Stationary:
        """Return the distribution of those records alone whose answers are all allowed: bool (K,)."""
        excluded = possible.without(self.excluded, self.block_starts, allowed)
        return replace(self, excluded=excluded, expected=np.zeros((0, 0), np.float32))

    def given(self, allowed: np.ndarray, codebook: Codebook) -> Stationary:
        """Return the distribution of those records alone whose answers are all allowed: bool (K,).

        Raises
        ------
        InputError
            if structural zeros leave no such record, with the questions whose answers exclude each other
        """
        found = possible.clash(self.excluded, self.block_starts, allowed)
        if found:
            raise InputError(
                f"no record can have together: {where.said(allowed, codebook, found)}. The model counts such "
                "combinations as structural zeros; 'zeros: likely' or 'zeros: stated' has fewer of them"
            )
        return self.restricted(allowed)

    def step(
        self,
        codes: np.ndarray,
        seed: int,
        number: int,
        threads: int,
        entropy: bool = False,
        parts: int = 1,
        gpu: torch.device | None = None,
        held: np.ndarray | None = None,
    ) -> sweeps.Swept:
        """Sweep once, then let chains exchange linked answers.

        Parameters
        ----------
        codes : int16 of shape (n, Q); left as it is
        seed, number : of the random numbers; the same give the same result
        threads : without influence on the result
        entropy : whether to compute the entropy of what the sweep drew from
        parts : chains exchange only within each of so many parts, which stay independent
        gpu : where to sweep and to exchange, with other random numbers; None for the CPU
        held : bool (n, Q), answers that stay as they are; None for none

        Returns
        -------
        As :func:`modp.draws.sweeps.sweep`; ``changed`` counts what both did.
        """
        tables, swept = self.tables, self.redrawn(codes, seed, number, threads, entropy, gpu, held)
        rng = seeds.generator(seed, "exchange", str(number))
        linked = exchange.Links(self.strength)
        fixed = [None] * parts if held is None else np.array_split(held, parts)
        both = zip(np.array_split(swept.codes, parts), fixed, strict=True)
        if gpu is None:
            moved = [
                exchange.exchange(part, tables, linked, self.exchanges, rng, threads, own)[0]
                for part, own in both
            ]
        else:
            from modp.draws.gpu_exchange import exchange_on  # loads torch, which a CPU does without

            moved = [
                exchange_on(gpu, part, tables, linked, self.exchanges, rng, own)[0] for part, own in both
            ]
        after = np.concatenate(moved)
        return sweeps.Swept(after, int(np.count_nonzero(after != codes)), swept.entropy_bits)

    def redrawn(
        self,
        codes: np.ndarray,
        seed: int,
        number: int,
        threads: int,
        entropy: bool = False,
        gpu: torch.device | None = None,
        held: np.ndarray | None = None,
    ) -> sweeps.Swept:
        """Sweep once, and no more: the first half of :meth:`step`, with its parameters."""
        if gpu is None:
            return sweeps.sweep(codes, self.tables, seed, number, threads, entropy, held)
        from modp.draws.gpu_sweeps import sweep_on  # loads torch, which a CPU does without

        return sweep_on(gpu, codes, self.tables, seed, number, entropy, held)

    def save(self, path: Path, codebook: Codebook, more: Mapping[str, np.ndarray] | None = None) -> None:
        """Write the model as safetensors, with its codebook's digest, and ``more`` arrays beside it."""
        values = {"w": self.w, "c": self.c, "excluded": self.excluded, "strength": self.strength}
        if len(self.triples):
            values |= {"triples": self.triples, "values": self.values}
        if len(self.expected):
            values["expected"] = self.expected
        facts = {"codebook": codebook.digest, "exchanges": self.exchanges}
        # One entry, since safetensors writes several in an order that differs from run to run.
        save_file(values | dict(more or {}), path, metadata={"modp": json.dumps(facts)})


def sample(
    model: Stationary,
    codes: np.ndarray,
    sweeps: int,
    seed: int,
    threads: int,
    gpu: torch.device | None = None,
    held: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw records by sweeping from given ones, which they replace row by row.

    Parameters
    ----------
    codes : int16 of shape (n, Q), without structural zeros: true records, or a fit's chains
    sweeps : number of sweeps, at least one; each takes a record further from where it started
    held : bool (n, Q), answers that stay as they are; None for none

    Returns
    -------
    codes : int16 (n, Q)
    entropy_bits : float64 (n,), entropy of the distributions that the last sweep drew from
    changed : float64 (sweeps,), share of answers that each sweep changed
    """
    if sweeps < 1:
        raise ValueError(f"a sample needs at least one sweep, not {sweeps}")
    key = seeds.integer(seed, "stationary", "sample")
    changed = np.empty(sweeps)
    for number in range(sweeps):
        last = number == sweeps - 1
        swept = model.step(codes, key, number, threads, entropy=last, gpu=gpu, held=held)
        codes, changed[number] = swept.codes, swept.changed / max(codes.size, 1)
    assert swept.entropy_bits is not None
    return codes, swept.entropy_bits, changed


def load(path: Path, codebook: Codebook) -> Stationary:
    """Read a model that :meth:`Stationary.save` wrote.

    Raises
    ------
    InputError
        if the model was fitted with another codebook
    """
    return loaded(path, codebook)[0]


def loaded(path: Path, codebook: Codebook) -> tuple[Stationary, dict[str, np.ndarray]]:
    """Read a model and what else is in its file; raise InputError as :func:`load` does."""
    with safe_open(path, framework="np") as file:
        facts = json.loads(file.metadata()["modp"])
        values = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    if facts["codebook"] != codebook.digest:
        raise InputError(f"{path} was fitted to other questions or categories than the codebook's")
    own = {key: values.pop(key) for key in ARRAYS if key in values}
    model = Stationary(**own, exchanges=facts["exchanges"], block_starts=codebook.block_starts)
    return model, values
