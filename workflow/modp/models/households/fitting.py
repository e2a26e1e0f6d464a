"""The fit of a model of households, with what a recipe says."""

import time

import pandas as pd

from modp.base import seeds
from modp.base.errors import InputError
from modp.models.family import Fitted, Work
from modp.models.households import matching
from modp.models.households.recipe import HouseholdsRecipe, agreeing
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
    places = agreeing(recipe.agree, true.persons.codebook.names)
    seed, most = seeds.integer(work.seed, "fit", work.name), int(true.sizes.max())
    with Sweeps(work.name, work.log, "sweep") as progress:
        try:
            model, history = matching.fit(true, recipe, places, most, seed, work.threads, progress)
        except FloatingPointError as failure:
            raise InputError(f"{work.name}: {failure}; give it smaller steps") from None
    frame = pd.DataFrame(history)
    last = frame.loc[frame["level"] == frame["level"].max(), "bias"].to_numpy()
    frame.attrs["shortfall"] = shortfall(last, recipe, matching.DEFAULTS.window)
    said = filter(None, [swept(frame, time.perf_counter() - began), frame.attrs["shortfall"]])
    return Fitted(model, frame, as_training(frame), "; ".join(said))
