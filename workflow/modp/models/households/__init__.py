"""Whole households: persons who belong together, and their household, in one distribution."""

from modp.models.family import Family
from modp.models.households.recipe import HouseholdsRecipe, HouseholdsRow

FAMILY = Family(
    name="households",
    recipe=HouseholdsRecipe,
    row=HouseholdsRow,
    method="Whole households: one distribution over the answers of persons who belong together and of "
    "their household, with a weight for every pair of answers of a person, of a person and the household "
    "by the person's role, and of two members by their roles, fitted until what is counted of its chains is "
    "the true count up to sampling noise, as far as a prior on the weights ({prior}) lets it. Households are "
    "drawn by sweeps from the true ones, answer by answer; what the question set calls impossible never is.",
    parts={
        "fit": "modp.models.households.fitting:fit",
        "load": "modp.models.households.model:load",
        "draw": "modp.models.households.drawing:draw",
    },
    treatments={
        "sweeps": "sweeps from the true households, question by question: {}",
        "composition": "the members that households have: {}",
        "rare": "compositions that fewer true households have are not drawn: {}",
    },
    untreated="twenty sweeps from the true households, as many of each composition as a resample has",
    whole=True,
)
