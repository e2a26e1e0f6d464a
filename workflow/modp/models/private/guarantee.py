"""What a private model guarantees, in plain words."""

import math

from modp.models.private.recipe import PrivateRecipe

GUARANTEE = (
    "({epsilon:g}, {delta:g})-differential privacy holds for the released table and the model's weights "
    "together, where two sets of records to be fitted are neighbours if one has one {unit} more. Whatever "
    "somebody concludes from them, he would have concluded nearly as likely had a given {unit} not been "
    "there: at most {factor:.3g} times as likely or less likely, but for a probability of {delta:g}.",
    "{whom}",
    "Taken to be public: the questions and their categories, the structural zeros that the question set "
    "states{edges}{public}. Nothing else was taken from the true records but through a counted budget.",
    "What was measured of the table, and every other file of this run, was computed from the true records "
    "and is not covered: it is for who holds these. Each further release from the same records adds to ε "
    "and δ.",
)
WHOM = {
    "record": "One record is protected, not a household: for four people of one the factor is the fourth "
    "power.",
    "household": "A household is protected with all of its records, of which {most} at most were taken, by a "
    "lot that looks at that household alone: the table is of these, so that people of larger households are "
    "rarer in it than they were. How many were left out is not told.",
}
EDGES = ", and the edges of deciles and whatever was found by looking, which params.yaml says is no secret"
"""What is taken to be public besides, where a recipe says so."""

NOISE = {
    "secret": "The noise was drawn from the operating system's entropy, by OpenDP's exact samplers.",
    "seeded": "THE NOISE DERIVES FROM THE RUN'S SEED: who knows or guesses it can take the noise away, and "
    "then nothing is guaranteed. Before a release set `noise: secret` in `params.yaml`.",
}


def guarantee(recipe: PrivateRecipe) -> list[str]:
    """Return what a private model guarantees, in plain words."""
    facts = {
        "unit": recipe.unit,
        "whom": WHOM[recipe.unit].format(most=recipe.most),
        "epsilon": recipe.epsilon,
        "delta": recipe.delta,
        "factor": math.exp(recipe.epsilon),
        "edges": EDGES if recipe.public_edges else "",
        "public": f", and the table that the model starts from, {recipe.public}" if recipe.public else "",
    }
    return [*(sentence.format(**facts) for sentence in GUARANTEE), NOISE[recipe.noise]]
