"""What params.yaml says of private models and of the row drawn from each."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from modp.base.config import Strict
from modp.models.family import Recipe, Row, Where

LEAST_EPSILON, MOST_EPSILON = 1e-3, 100.0
LEAST_DELTA = 1e-30
"""Bounds of budgets: beyond them answers hide everything or nothing, and floating-point numbers do not do."""

Epsilon = Annotated[float, Field(ge=LEAST_EPSILON, le=MOST_EPSILON)]
Delta = Annotated[float, Field(ge=LEAST_DELTA, lt=1)]

Selection = Literal["uniform", "proportional", "adaptive"]
"""How the pair tables that a private model measures are chosen."""


class Spending(Strict):
    """On what a budget is spent: which pair tables, how many, and the chains that help to choose them."""

    selection: Selection = "adaptive"
    pairs: float | None = Field(default=None, gt=0)
    chains: int = Field(default=6000, ge=100)


class PrivateRecipe(Recipe, Spending):
    """A stationary pairwise model with a formal guarantee, and the one table that is drawn from it.

    With or without any one record the released table and the model are nearly as likely to come out the
    way they did: (``epsilon``, ``delta``)-differential privacy. ``selection`` says which pair tables are
    measured: ``adaptive`` measures, one after the other, those that the model gets wrong, ``pairs`` times as
    many as there are questions, or as many as the budget and the records bear; ``uniform`` and
    ``proportional`` measure all. Category lists and stated
    structural zeros are taken to be public. Decile edges come from the true records, so that a question set
    with deciles, or one that was made by looking at them, is refused unless ``public_edges`` says that these
    edges and categories are known from elsewhere, from another year's file for instance. ``noise: secret``
    draws the noise from the operating system's entropy: it cannot be repeated. ``seeded`` noise derives from
    the run's seed, and who knows that can take it away. ``chains`` bounds their number while pairs are
    chosen. ``public`` names the results folder of a data set that is public and under the same codebook
    (``codebook`` in the dataset YAML), last year's for instance: the model starts from its records, which
    costs nothing. With ``unit: household`` whole households are protected, not single records; ``most`` says
    of how many records of one at most, and the others of larger ones are left out, by a lot that looks at
    that household alone. Noise is as many times as large.
    """

    family: Literal["private"] = "private"
    epsilon: Epsilon
    delta: Delta
    public_edges: bool = False
    public: str | None = None
    unit: Literal["record", "household"] = "record"
    most: int | None = Field(default=None, ge=1, le=20)
    noise: Literal["secret", "seeded"] = "secret"
    fitted: None = None  # its one table is of the people whom it was fitted to

    @property
    def of_households(self) -> bool:
        """Whether whole households are protected."""
        return self.unit == "household"

    @model_validator(mode="after")
    def _most_is_of_households(self) -> "PrivateRecipe":
        if self.of_households and self.most is None:
            raise ValueError(
                "'unit: household' needs 'most', of how many persons of one household at most records are "
                "taken, as in most: 2"
            )
        if not self.of_households and self.most is not None:
            raise ValueError("'most' is of households: write 'unit: household' too, or leave it out")
        return self


class PrivateRow(Row):
    """The one table that a private model releases.

    With ``size``, so many records: some of them, or more, drawn by sweeps that begin at them. With ``where``,
    as in a row of a stationary model, records of these answers alone. Both are made of what was released,
    without another look at the true records, and the guarantee is as before.
    """

    where: Where | None = Field(default=None, min_length=1)
