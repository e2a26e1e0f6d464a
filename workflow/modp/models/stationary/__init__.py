"""The stationary model: one distribution whose crosstabs are the true ones."""

from modp.models.family import Family
from modp.models.stationary.recipe import StationaryRecipe, StationaryRow

FAMILY = Family(
    name="stationary",
    recipe=StationaryRecipe,
    row=StationaryRow,
    method="Stationary: one distribution over records with a weight for every pair of answers, and for the "
    "answers to some triples of questions, fitted until the crosstab of its chains is the true one up to "
    "sampling noise, as far as a prior on the weights ({prior}) lets it. Records are drawn by sweeps from "
    "the true ones, question by question, each given "
    "the record's current other answers; pairs of answers that {zeros} are never drawn.",
    parts={
        "fit": "modp.models.stationary.fitting:fit",
        "load": "modp.models.stationary.model:load",
        "draw": "modp.models.stationary.drawing:draw",
        "curve": "modp.models.stationary.drawing:curve",
        "chains": "modp.models.stationary.drawing:chains",
    },
    treatments={
        "sweeps": "sweeps from the true records, question by question: {}",
        "start": "the sweeps start from: {}",
        "where": "only records of {}",
        "size": "{:,} records",
        "balanced": "chosen among more draws, and single answers redrawn, so that their crosstab is the "
        "expected one",
    },
    excludes_zeros=True,
    separable=True,
)
