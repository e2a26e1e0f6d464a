"""What programs use for whole households: a model that is fitted to them and sampled, and a comparison."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Self

import numpy as np
import pandas as pd

from modp.base import seeds
from modp.base.config import check
from modp.base.errors import InputError
from modp.base.output import Log, written
from modp.models.family import Work
from modp.models.households import drawing, fitting
from modp.models.households.model import HouseholdWeights, load
from modp.models.households.recipe import HouseholdsRecipe, HouseholdsRow
from modp.summaries import households as summaries
from modp.survey.codebook import Codebook
from modp.survey.households import Codebooks, Households


@dataclass(frozen=True)
class SyntheticHouseholds(Households):
    """Synthetic households, and where they began, which nobody but the true ones' owner may see.

    ``to_frames`` leaves that out.

    record : int64 (m,), the row of the true household from which each one was drawn
    """

    record: np.ndarray


@dataclass(frozen=True)
class HouseholdModel:
    """One distribution of persons who belong together and of their household.

    :mod:`modp.draws.households` has the equation.

    name : its random streams are called after it
    persons, homes : the codebooks of the questions of persons and of households
    model : the weights
    history : how the fit went, a line a sweep; None if it was loaded
    """

    name: str
    persons: Codebook = field(repr=False)
    homes: Codebook = field(repr=False)
    model: HouseholdWeights = field(repr=False)
    history: pd.DataFrame | None = field(default=None, repr=False)

    @classmethod
    def fit(
        cls,
        households: Households,
        *,
        seed: int = 1,
        name: str = "households",
        threads: int | None = None,
        progress: bool = False,
        **recipe: object,
    ) -> Self:
        """Fit a model to true households.

        Parameters
        ----------
        households : the true ones
        seed : of everything random; the same gives the same model
        name : the random streams are called after it
        threads : without influence on the result; None for every core
        progress : whether to say on the terminal how far the fit has come
        recipe : keys of :class:`modp.models.households.recipe.HouseholdsRecipe`: ``prior="none"``,
            ``agree=["RACE"]``, ``impossible=[{"spouse MAR": "not 1"}]`` …

        Raises
        ------
        InputError
            if a key of the recipe is unknown or its value cannot be used, if true households hold what is
            called impossible, or if the fit diverges
        """
        work = _work(name, seed, threads, progress)
        checked = check(dict(recipe), HouseholdsRecipe, f"model {work.name}")
        fitted = fitting.fit(households, checked, work)
        work.log(f"{work.name}: {fitted.said}")
        return cls(work.name, *households.codebook, fitted.model, fitted.history)

    def sample(
        self,
        households: Households,
        *,
        sweeps: int = 20,
        composition: Literal["kept", "resampled"] = "resampled",
        rare: int = 10,
        seed: int = 1,
        threads: int | None = None,
    ) -> SyntheticHouseholds:
        """Draw households by sweeps from the true ones, as many as there are of them.

        Parameters
        ----------
        households : the true ones, at which chains begin
        sweeps : at least one; more of them leave less of the true household
        composition : ``kept`` for the members that each true household has, ``resampled`` for those of a
            resample, without compositions of which there are fewer than ``rare`` true households
        seed, threads : as in :meth:`fit`

        Raises
        ------
        InputError
            if the households are of other questions or categories than the model's, one is larger than any
            that the model was fitted to, or a value cannot be used
        """
        if households.codebook.digest != Codebooks(self.persons, self.homes).digest:
            raise InputError(
                f"{self.name} was fitted to other questions or categories than these households'"
            )
        if households.sizes.max() > self.model.most:
            raise InputError(f"{self.name} was fitted to households of {self.model.most} persons at most")
        keys = {
            "model": self.name,
            "name": f"sweeps-{sweeps}",
            "sweeps": sweeps,
            "composition": composition,
            "rare": rare,
        }
        row = check(keys, HouseholdsRow, f"row {self.name}")
        work = _work(row.row, seed, threads)
        drawn, record = drawing.draw(self.model, households, row, work)
        return SyntheticHouseholds(drawn.persons, drawn.homes, drawn.starts, drawn.roles, record)

    def save(self, path: str | Path) -> None:
        """Write the model as safetensors, whole or not at all, with its codebooks' digests."""
        with written(Path(path)) as temporary:
            self.model.save(temporary, Codebooks(self.persons, self.homes))

    @classmethod
    def load(cls, path: str | Path, households: Households, *, name: str = "households") -> Self:
        """Read a model that was saved.

        Parameters
        ----------
        households : any of the same questions and categories

        Raises
        ------
        InputError
            if it was fitted to other questions or categories
        """
        books = households.codebook
        return cls(name, *books, load(Path(path), books))


def compare_households(
    households: Households,
    synthetic: Households | Mapping[str, Households],
    *,
    holdout: Households | None = None,
    seed: int = 1,
) -> pd.DataFrame:
    """Return how near crosstabs come: of persons, of persons and their household, and of members by roles.

    Parameters
    ----------
    households : the true ones
    synthetic : households of the same questions, or several such tables by their names
    holdout : other true households, which no model saw
    seed : of the resamples of whole households, the ideal

    Returns
    -------
    as :func:`modp.summaries.households.accuracy`
    """
    tables = synthetic if isinstance(synthetic, Mapping) else {"synthetic": synthetic}
    return summaries.accuracy(households, tables, seeds.generator(seed, "bootstrap"), holdout)


def household_privacy(
    households: Households,
    synthetic: SyntheticHouseholds | Mapping[str, SyntheticHouseholds],
    holdout: Households,
    *,
    seed: int = 1,
) -> pd.DataFrame:
    """Return what synthetic households give away of the true ones, by the number of persons.

    Returns
    -------
    as :func:`modp.summaries.households.privacy`
    """
    tables = synthetic if isinstance(synthetic, Mapping) else {"synthetic": synthetic}
    drawn = {name: summaries.Drawn(table, table.record) for name, table in tables.items()}
    return summaries.privacy(households, holdout, drawn, seeds.generator(seed, "closest"))


def _work(name: str, seed: int, threads: int | None, progress: bool = False) -> Work:
    return Work(name, seed, threads or os.cpu_count() or 1, log=Log(quiet=not progress))
