"""The fit of a model of households, with what a recipe says."""

import time

import numpy as np
import pandas as pd

from modp.base import seeds
from modp.base.errors import InputError, did_you_mean
from modp.models.family import Fitted, Work
from modp.models.households import matching
from modp.models.households.recipe import AGREE, HouseholdsRecipe
from modp.models.stationary.fitting import Sweeps, as_training, shortfall, swept
from modp.survey.households import Households


def fit(true: Households, recipe: HouseholdsRecipe, work: Work) -> Fitted:
    """Sweep chains from the true households until what is counted of them is the true count.

    The history has a line a sweep, the fields of :class:`modp.models.stationary.matching.Iteration`.

    Raises
    ------
    InputError
        if the recipe names a question that there is not, if true households hold what it calls impossible,
        or the fit diverges at any step
    """
    began = time.perf_counter()
    agreeing = _agreeing(true, recipe)
    seed, most = seeds.integer(work.seed, "fit", work.name), int(true.sizes.max())
    with Sweeps(work.name, work.log, "sweep") as progress:
        try:
            model, history = matching.fit(true, recipe, agreeing, most, seed, work.threads, progress)
        except FloatingPointError as failure:
            raise InputError(f"{work.name}: {failure}; give it smaller steps") from None
    frame = pd.DataFrame(history)
    last = frame.loc[frame["level"] == frame["level"].max(), "bias"].to_numpy()
    frame.attrs["shortfall"] = shortfall(last, recipe, matching.DEFAULTS.window)
    said = filter(None, [swept(frame, time.perf_counter() - began), frame.attrs["shortfall"]])
    return Fitted(model, frame, as_training(frame), "; ".join(said))


def _agreeing(true: Households, recipe: HouseholdsRecipe) -> np.ndarray:
    """The place of each question of persons among those whose agreement has weights, -1 elsewhere."""
    names = true.persons.codebook.names
    for name in recipe.agree or ():
        if name not in names:
            raise InputError(f"agree: there is no question {name!r}{did_you_mean(name, names)}")
    wanted = [name for name in (AGREE if recipe.agree is None else recipe.agree) if name in names]
    return np.array([wanted.index(name) if name in wanted else -1 for name in names], np.int64)
