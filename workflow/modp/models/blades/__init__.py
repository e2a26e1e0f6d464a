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
)
