"""What says how a model of households is fitted, and how households are drawn from it."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import Field, model_validator

from modp.base.errors import InputError, did_you_mean
from modp.models.family import Recipe, Row

AGREE = ("RAC1P", "HISP", "LANX", "HHL", "CIT", "NATIVITY")
"""Questions of Census to which members of a household often give one answer."""


def agreeing(asked: Sequence[str] | None, names: Sequence[str]) -> np.ndarray:
    """Return the place of each question of persons among those whose agreement has weights, -1 elsewhere.

    Parameters
    ----------
    asked : what a recipe says under ``agree``; None for those of ``AGREE``
    names : of the questions of persons

    Raises
    ------
    InputError
        if there is no such question
    """
    for name in asked or ():
        if name not in names:
            raise InputError(f"agree: there is no question {name!r}{did_you_mean(name, names)}")
    wanted = [name for name in (AGREE if asked is None else asked) if name in names]
    return np.array([wanted.index(name) if name in wanted else -1 for name in names], np.int64)


class HouseholdsRecipe(Recipe):
    """A model of households: one distribution for each composition, of shared weights.

    Chains start at the true households and are swept until what is counted of them is the true count up to
    sampling noise: until its bias, in units of sampling variance, is at most ``tolerance``, or no longer
    falls, or for ``most_windows`` times twenty sweeps at each size of steps. ``pair_step`` and
    ``margin_step`` set the steps; ``damping`` is added to the counts of pairs. After each sweep households of
    one composition exchange groups of linked answers, ``exchanges`` times. Pairs of two members' answers have
    at most ``member_weights`` weights a household, those of the questions, by roles, whose tables chains miss
    most without; None for all, as by default without a prior. ``prior: student`` keeps the weights between
    members, and between members and household, small, so that the model does not repeat its own records'
    noise. ``zeros`` are the pairs of answers that no household holds, or those of them that chance does not
    explain. All members giving one answer to a question of ``agree`` has a weight of its own; by default of
    race, Hispanic origin, language and citizenship under Census's names.

    ``impossible`` lists rules besides the question set's ``members``, as ``{"spouse MAR": "not 1"}`` or
    ``{"child AGEP": "18..", "householder AGEP": "18"}``: what never occurs, or never together, by role and
    question, by question of everybody, or of the household.
    """

    family: Literal["households"] = "households"
    tolerance: float = Field(default=0.02, gt=0)
    most_windows: int = Field(default=6, ge=1)
    pair_step: float = Field(default=3.5, gt=0)
    margin_step: float = Field(default=0.4, gt=0)
    damping: float = Field(default=5.0, ge=0)
    exchanges: int = Field(default=12, ge=0)
    prior: Literal["none", "student"] = "student"
    zeros: Literal["sample", "likely"] = "likely"
    member_weights: float | None = Field(default=1.5, gt=0)
    agree: list[str] | None = None
    impossible: list[dict[str, str | int | list[int | str]]] = Field(default_factory=list)

    @model_validator(mode="before")
    @classmethod
    def _weighs_all_pairs_without_a_prior(cls, keys: object) -> object:
        """A model without a prior is for the sample's own counts, those of all pairs."""
        if isinstance(keys, dict) and keys.get("prior") == "none":
            return {"member_weights": None, **keys}
        return keys


class HouseholdsRow(Row):
    """Households redrawn one question after the other, ``sweeps`` times, from the true ones.

    With ``composition: kept`` there is one synthetic household of each true one's members. ``resampled``
    draws compositions anew, and none of which there are fewer than ``rare`` true households.
    """

    sweeps: int = Field(default=20, ge=1)
    composition: Literal["kept", "resampled"] = "resampled"
    rare: int = Field(default=10, ge=1)

    @model_validator(mode="after")
    def _asks_for_what_can_be_drawn(self) -> "HouseholdsRow":
        if self.size is not None or self.calibrate:
            raise ValueError("households are as many as the true ones, without 'size' and 'calibrate'")
        return self
