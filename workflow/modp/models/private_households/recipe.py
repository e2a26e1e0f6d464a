"""What says how a model of households with a guarantee is fitted; of its row nothing is to be said."""

from typing import Literal

from pydantic import Field, model_validator

from modp.models.family import Recipe, Row
from modp.models.private.recipe import Delta, Epsilon


class PrivateHouseholdsRecipe(Recipe):
    """A model of whole households with a formal guarantee, and the households that are drawn from it.

    With or without any one household of at most ``most`` persons, all its members with it, the released
    households and the model are nearly as likely to come out the way they did: (``epsilon``, ``delta``)-
    differential privacy. Measured are how many households there are of each composition, one-way tables, and
    one after the other tables that the model gets wrong, ``tables`` times as many as there are questions of
    households and of each role, or as many as the budget and the households bear. ``public_edges`` and
    ``noise`` are as in the family private, ``agree``, ``exchanges`` and ``impossible`` as in the family
    households; structural zeros are those alone that these rules and the question set state. ``chains``
    bounds their number while tables are chosen.
    """

    family: Literal["private_households"] = "private_households"
    epsilon: Epsilon
    delta: Delta
    most: int = Field(default=8, ge=1, le=20)
    public_edges: bool = False
    noise: Literal["secret", "seeded"] = "secret"
    tables: float | None = Field(default=None, gt=0)
    chains: int = Field(default=4000, ge=100)
    exchanges: int = Field(default=3, ge=0)
    agree: list[str] | None = None
    impossible: list[dict[str, str | int | list[int | str]]] = Field(default_factory=list)
    fitted: None = None  # its households are of those whom it was fitted to


class PrivateHouseholdsRow(Row):
    """The households that a private model of households releases."""

    @model_validator(mode="after")
    def _is_all_that_is_released(self) -> "PrivateHouseholdsRow":
        if self.size is not None or self.calibrate:
            raise ValueError("the released households are as many as the fit drew: no 'size', no 'calibrate'")
        return self
