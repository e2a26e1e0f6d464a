"""The paper's models: non-self-predicting blades combined by a gate."""

from modp.models.blades.recipe import BladesRecipe, BladesRow
from modp.models.family import Family

FAMILY = Family(
    name="blades",
    recipe=BladesRecipe,
    row=BladesRow,
    method="The paper's. {blades} blades each predict every question of a record from its other answers, "
    "never from the answer itself; a gate that sees the record mixes them. Answers are drawn from the "
    "predictions, all at once unless a row says otherwise.",
    parts={
        "fit": "modp.models.blades.fitting:fit",
        "load": "modp.models.blades.network:load",
        "instances": "modp.models.blades.drawing:instances",
        "draw": "modp.models.blades.drawing:draw",
        "gates": "modp.models.blades.drawing:gates",
        "curve": "modp.models.blades.curve:pass_through",
    },
    treatments={
        "size": "{:,} records",
        "pass_through": "each true answer kept with probability {}",
        "instances": "",
        "threshold": "where a record's loss is above this quantile, its next instance taken: {}",
        "remove_zeros": "records that hold a structural zero removed",
        "protect": "records whose effective multiplicity is below {} removed",
        "swap": "answers exchanged between records where the crosstab gains: {}",
        "where": "only records of {}",
        "sweeps": "sweeps from the true records, question by question: {}",
    },
    untreated="drawn from the predictions, no treatment",
)
