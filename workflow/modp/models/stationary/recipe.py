"""What params.yaml says of stationary models and of the rows drawn from them."""

from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from modp.crosstabs.cells import Zeros
from modp.models.family import Recipe, Row, Where
from modp.models.stationary.prior import Kind

NATION = "nation"
"""What ``toward`` is called that is the model of this name of all parts of a scattered data set."""


class StationaryRecipe(Recipe):
    """A stationary model: one distribution that reproduces all pair crosstabs, and some three-way ones.

    Chains start at the true records and are swept until their crosstab is the true one up to
    sampling noise: until its bias, in units of sampling variance, is at most ``tolerance``, or no
    longer falls, or for ``most_windows`` times twenty sweeps at each of three sizes of steps.
    ``pair_step`` and ``margin_step`` set the steps of pairs and single categories; a fit that diverges
    halves them and goes on from its best weights. ``damping`` is added to the count of a pair of
    categories, so that pairs of a handful of records are not moved by their noise. After each sweep
    chains exchange groups of linked answers, ``exchanges`` times; without it answers that fix each
    other, as marital status and presence of a spouse do, stay those of the true record. Without a number
    it is three times, of more than 40 questions more often, as their pairs are more. ``chains`` may
    be fewer than the records; without a number they are at most 75,000. At most so many ``triples`` of
    questions get weights of their own, where the three-way tables of a model of pairs miss the true ones by
    more than sampling noise; 0 for pairs alone.

    A ``prior`` keeps weights small, so that the model does not repeat its own records' noise and comes nearer
    to the population: ``student`` and ``gaussian`` learn for each pair of questions how strong it is (the
    first lets single weights be large), ``common`` for all together, ``box`` leaves cells within one standard
    deviation without a weight; with ``none`` the crosstab is the records' own. Effects are ``free`` of the
    prior: the mean of each question, by the order of its categories, given each category of another stays the
    records' own, and only what is left is kept small; ``shrunk`` pulls at all (as it is with ``toward`` and
    ``box``). A pair of answers that fewer
    than ``rare`` records give has no weight of its own. With ``weighted`` the crosstab to reproduce is that
    of the survey weights (``weight`` in the dataset YAML), and all records drawn stand for as many people.
    ``zeros`` is as in the run's parameters, where this model is to differ.

    ``toward`` is the model to whose weights the prior pulls, instead of to zero, so that few records differ
    from many only where they say so (partial pooling): ``nation`` for the model of this name that is fitted
    to all records of a scattered data set, in each of its parts; or the folder of a model of another run,
    of the same codebook. Its structural zeros are taken too.
    """

    family: Literal["stationary"] = "stationary"
    tolerance: float = Field(default=0.02, gt=0)
    most_windows: int = Field(default=6, ge=1)
    pair_step: float = Field(default=3.5, gt=0)
    margin_step: float = Field(default=0.4, gt=0)
    damping: float = Field(default=5.0, ge=0)
    exchanges: int | None = Field(default=None, ge=0)
    chains: int | None = Field(default=None, ge=100)
    triples: int = Field(default=200, ge=0)
    prior: Kind = "none"
    effects: Literal["free", "shrunk"] = "free"
    rare: int = Field(default=0, ge=0)
    weighted: bool = False
    zeros: Zeros | None = None
    toward: str | None = None

    @model_validator(mode="after")
    def _pools_what_can_be_pooled(self) -> Self:
        if self.toward is not None and (self.prior == "none" or self.triples):
            raise ValueError(
                "'toward' is where a prior on weights of pairs pulls to: it needs a 'prior' and 'triples: 0'"
            )
        return self


POPULATION = StationaryRecipe(prior="student", zeros="likely")
"""The model nearest to the people whom the sample stands for."""

IN_ONE_COMMAND = POPULATION.model_copy(update={"chains": 10_000})
"""The same for commands that a person waits for. With 22,000 to 24,000 records its fit takes two thirds of
the time of one chain a record, and tables come as near to people held out. With half as many a fit may not
tell that it has arrived."""


class StationaryRow(Row):
    """Records redrawn one question after the other.

    Each of the ``sweeps`` redraws all questions of every record once, each given the record's current
    other answers, structural zeros excluded. More sweeps leave less of the true record; ``auto`` goes on
    until what is left of it is chance, or no more is lost. ``start: fresh``
    begins with records drawn from the weights alone, which leaves nothing of any true record, but needs
    more sweeps. ``balanced`` sweeps on, chooses among all records drawn so many that their crosstab is the
    one the model expects, without the noise of a draw, and redraws single answers to the same end. ``where``
    names questions and what all records answer to them, each by a category's code, its label or a range of
    the column's own values, or a list of these: all else is drawn given that. ``size`` is the number of
    records, where it is not that of the true ones, or of those of them that answer like ``where``.
    """

    sweeps: int | Literal["auto"]
    start: Literal["records", "fresh"] = "records"
    balanced: bool = False
    where: Where | None = Field(default=None, min_length=1)

    @field_validator("sweeps")
    @classmethod
    def _at_least_one(cls, sweeps: int | Literal["auto"]) -> int | Literal["auto"]:
        if sweeps != "auto" and sweeps < 1:
            raise ValueError("Input should be greater than or equal to 1, or auto")
        return sweeps

    @model_validator(mode="after")
    def _has_something_to_forget(self) -> Self:
        if self.sweeps == "auto" and self.start == "fresh":
            raise ValueError("'sweeps: auto' goes by the true records: with 'start: fresh' say how many")
        return self
