"""What a private model of households guarantees, in plain words."""

import math

from modp.models.private.guarantee import EDGES, NOISE
from modp.models.private_households.recipe import PrivateHouseholdsRecipe

GUARANTEE = (
    "({epsilon:g}, {delta:g})-differential privacy holds for the released households and the model's weights "
    "together, where two data sets are neighbours if one has one whole household more, of at most {most} "
    "persons. Whatever somebody concludes from them, he would have concluded nearly as likely had a given "
    "household not been there: at most {factor:.3g} times as likely or less likely, but for a probability of "
    "{delta:g}.",
    "One whole household is protected, with all of its members at once and what they have in common; each "
    "of them therefore is, too.",
    "Taken to be public: the questions and their categories, the largest number of persons, and what the "
    "question set and the model call impossible{edges}. Nothing else was taken from the true households but "
    "through a counted budget.",
    "What was measured of the households, and every other file of this run, was computed from the true ones "
    "and is not covered: it is for who holds these. Each further release from the same households adds to ε "
    "and δ.",
)


def guarantee(recipe: PrivateHouseholdsRecipe) -> list[str]:
    """Return what a private model of households guarantees, in plain words."""
    facts = {
        "epsilon": recipe.epsilon,
        "delta": recipe.delta,
        "most": recipe.most,
        "factor": math.exp(recipe.epsilon),
        "edges": EDGES if recipe.public_edges else "",
    }
    return [*(sentence.format(**facts) for sentence in GUARANTEE), NOISE[recipe.noise]]
