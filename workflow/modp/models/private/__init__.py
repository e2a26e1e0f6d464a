"""The stationary model with a formal guarantee."""

from modp.models.family import Family
from modp.models.private.recipe import PrivateRecipe, PrivateRow

FAMILY = Family(
    name="private",
    recipe=PrivateRecipe,
    row=PrivateRow,
    method="Stationary, with a formal guarantee: one distribution over records with a weight for every pair "
    "of answers whose table was measured ({selection} selection), fitted to one-way and pair tables with "
    "Gaussian noise alone. Records are the fit's last chains, which began at draws from the noisy "
    "one-way tables; there is no true record that one was drawn from.",
    parts={
        "fit": "modp.models.private.fitting:fit",
        "load": "modp.models.private.fitting:load",
        "draw": "modp.models.private.drawing:draw",
        "guarantee": "modp.models.private.guarantee:guarantee",
    },
    treatments={
        "where": "only records of {}",
        "size": "{:,} records, drawn from the released model alone",
    },
    untreated="the fit's last chains, the one table that is released",
    most_rows=1,
    trains=False,
)
