"""Whole households with a formal guarantee, of which one whole household is the unit."""

from modp.models.family import Family
from modp.models.private_households.recipe import PrivateHouseholdsRecipe, PrivateHouseholdsRow

FAMILY = Family(
    name="private_households",
    recipe=PrivateHouseholdsRecipe,
    row=PrivateHouseholdsRow,
    method="Whole households, with a formal guarantee for each: one distribution over the answers of persons "
    "who belong together and of their household, with a weight for every pair of answers whose table was "
    "measured, fitted to tables with Gaussian noise alone, to each of which a household adds one at most. "
    "Households are the fit's last chains, of as many members as noisy counts say, which began at draws from "
    "noisy one-way tables; there is no true household that one was drawn from. What the question set calls "
    "impossible never is drawn.",
    parts={
        "fit": "modp.models.private_households.fitting:fit",
        "load": "modp.models.private_households.fitting:load",
        "draw": "modp.models.private_households.drawing:draw",
        "guarantee": "modp.models.private_households.guarantee:guarantee",
    },
    untreated="the fit's last chains, the one table that is released",
    most_rows=1,
    trains=False,
    whole=True,
)
