"""What programs use for whole households: a model that is fitted to them and sampled, and a comparison."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Self, TypeVar

import numpy as np
import pandas as pd

from modp.base import seeds
from modp.base.config import check
from modp.base.errors import InputError
from modp.base.output import Log, written
from modp.models.family import Fitted, Recipe, Work
from modp.models.households import drawing, fitting
from modp.models.households.model import HouseholdWeights, load
from modp.models.households.recipe import HouseholdsRecipe, HouseholdsRow
from modp.models.private_households import fitting as private_fitting
from modp.models.private_households.fitting import Released
from modp.models.private_households.guarantee import guarantee as in_words
from modp.models.private_households.recipe import PrivateHouseholdsRecipe
from modp.summaries import households as summaries
from modp.survey.codebook import Codebook
from modp.survey.households import Codebooks, Households

R = TypeVar("R", bound=Recipe)


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
        _, fitted = _fitted(households, recipe, HouseholdsRecipe, fitting.fit, work)
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


@dataclass(frozen=True)
class PrivateHouseholds:
    """A model of whole households with a formal guarantee, and the households that were drawn with it.

    docs/households.md says what is protected. Every fit spends a budget of its own: of several fits to the
    same people the budgets add up.

    name : its random streams are called after it
    persons, homes : the codebooks of the questions of persons and of households
    released : the weights, and the households
    guarantee : what holds, in plain words; empty if it was loaded
    history : how the fit went, a line for each table that was measured; None if it was loaded
    """

    name: str
    persons: Codebook = field(repr=False)
    homes: Codebook = field(repr=False)
    released: Released = field(repr=False)
    guarantee: tuple[str, ...] = field(default=(), repr=False)
    history: pd.DataFrame | None = field(default=None, repr=False)

    @classmethod
    def fit(
        cls,
        households: Households,
        *,
        epsilon: float,
        delta: float = 1e-5,
        seed: int = 1,
        name: str = "private_households",
        threads: int | None = None,
        progress: bool = False,
        **recipe: object,
    ) -> Self:
        """Spend a budget on noisy tables, fit a model to these alone, draw the households.

        Parameters
        ----------
        households : the true ones
        epsilon, delta : of differential privacy, with or without any one household; epsilon from
            0.001 to 100, delta from 1e-30
        seed : of everything but the noise, which comes from the operating system and cannot be repeated
        name, threads, progress : as in :meth:`HouseholdModel.fit`
        recipe : further keys of
            :class:`modp.models.private_households.recipe.PrivateHouseholdsRecipe`: ``most=8``,
            ``public_edges=True``, ``impossible=[{"spouse MAR": "not 1"}]``; ``noise="seeded"`` for tests,
            which anybody who knows the seed can take away

        Raises
        ------
        InputError
            if a codebook holds decile edges that are not said to be public, there are households of more
            persons than ``most``, a key is unknown or its value cannot be used
        """
        work = _work(name, seed, threads, progress)
        keys = {"epsilon": epsilon, "delta": delta, **recipe}
        checked, fitted = _fitted(households, keys, PrivateHouseholdsRecipe, private_fitting.fit, work)
        said = tuple(in_words(checked))
        return cls(work.name, *households.codebook, fitted.model, said, fitted.history)

    def sample(self) -> Households:
        """Return the households that are released, of which no true one is the start."""
        return self.released.households

    def save(self, path: str | Path) -> None:
        """Write model and households as safetensors, whole or not at all, with their codebooks' digests."""
        with written(Path(path)) as temporary:
            self.released.save(temporary, Codebooks(self.persons, self.homes))

    @classmethod
    def load(cls, path: str | Path, households: Households, *, name: str = "private_households") -> Self:
        """Read what was saved, as :meth:`HouseholdModel.load` does."""
        books = households.codebook
        return cls(name, *books, private_fitting.load(Path(path), books))


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
    synthetic: Households | Mapping[str, Households],
    holdout: Households,
    *,
    seed: int = 1,
) -> pd.DataFrame:
    """Return what synthetic households give away of the true ones, by the number of persons.

    Where it is not known which true household one was drawn from, as with a guarantee, nothing is found.

    Returns
    -------
    as :func:`modp.summaries.households.privacy`
    """
    tables = synthetic if isinstance(synthetic, Mapping) else {"synthetic": synthetic}
    drawn = {name: summaries.Drawn(table, _record(table)) for name, table in tables.items()}
    return summaries.privacy(households, holdout, drawn, seeds.generator(seed, "closest"))


def _fitted(
    households: Households,
    keys: Mapping[str, object],
    kind: type[R],
    step: Callable[[Households, R, Work], Fitted],
    work: Work,
) -> tuple[R, Fitted]:
    """Check a recipe's keys, fit by a family's step, and say how that went."""
    checked = check(dict(keys), kind, f"model {work.name}")
    fitted = step(households, checked, work)
    work.log(f"{work.name}: {fitted.said}")
    return checked, fitted


def _record(table: Households) -> np.ndarray:
    return table.record if isinstance(table, SyntheticHouseholds) else np.ma.masked_all(len(table), np.int64)


def _work(name: str, seed: int, threads: int | None, progress: bool = False) -> Work:
    return Work(name, seed, threads or os.cpu_count() or 1, log=Log(quiet=not progress))
