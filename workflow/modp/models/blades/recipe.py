"""What params.yaml says of the paper's models and of the rows drawn from them."""

from typing import Literal

from pydantic import Field, model_validator

from modp.base.config import Strict
from modp.models.family import Recipe, Row, Where


class Stage(Strict):
    """A stage of training: a loss and how long to follow it.

    It ends after ``epochs``, or sooner: after ``patience`` epochs without a better loss, or after
    ``minutes`` (with which a run can no longer be repeated to the bit). The learning rate starts at
    ``learning_rate`` and, with ``schedule: cosine``, falls to zero along a half cosine over the epochs.
    ``specials`` are categories such as ``RAC1P=3`` that ``weighted_mean_square`` counts tenfold;
    ``floor`` and ``pseudocount`` are those of the loss ``z``, by default the paper's 1e-5 and 0.01.
    """

    loss: Literal["mean_square", "weighted_mean_square", "cross_entropy", "z"]
    epochs: int = Field(ge=1)
    minutes: float | None = Field(default=None, gt=0)
    patience: int | None = Field(default=None, ge=1)
    learning_rate: float = Field(gt=0, allow_inf_nan=False)
    schedule: Literal["cosine", "constant"] = "cosine"
    batch: int = Field(default=1024, ge=1)
    specials: list[str] = Field(default_factory=list)
    floor: float | None = Field(default=None, ge=0)
    pseudocount: float | None = Field(default=None, gt=0)

    @model_validator(mode="after")
    def _options_belong_to_the_loss(self) -> "Stage":
        if self.specials and self.loss != "weighted_mean_square":
            raise ValueError("'specials' go with 'loss: weighted_mean_square'")
        if self.loss != "z" and (self.floor, self.pseudocount) != (None, None):
            raise ValueError("'floor' and 'pseudocount' go with 'loss: z'")
        return self


class Shape(Strict):
    """What a model is made of: ``blades`` maps, and a gate of ``gate_layers`` layers of width ``reduced``.

    ``link`` is the paper's ``sigmoid`` of every category by itself, or a ``softmax`` over each question's,
    so that its predictions sum to one.
    """

    blades: int = Field(ge=1)
    reduced: int = Field(ge=1)
    gate_layers: Literal[2, 3] = 2
    link: Literal["sigmoid", "softmax"] = "sigmoid"


STAGES = [
    Stage(loss="mean_square", epochs=8, learning_rate=0.01, batch=256),
    Stage(loss="z", floor=1e-8, pseudocount=0.5, epochs=25, learning_rate=0.003, batch=256),
]
"""How a model is trained where nothing else is said."""


class BladesRecipe(Recipe, Shape):
    """One of the paper's models: ``model_5_15`` has 5 blades and a gate of width 15.

    The gate has two linear layers, or three. ``link: softmax`` makes each question's predictions
    sum to one, instead of the paper's sigmoids. With ``restarts`` the model is fitted from that many
    seeds and the one with the lowest loss in its last stage is kept. Without ``stages`` it is trained to the
    mean square, then to z.
    """

    family: Literal["blades"] = "blades"
    restarts: int = Field(default=1, ge=1)
    stages: list[Stage] = Field(default=STAGES, min_length=1)


class Swap(Strict):
    """Exchange answers between synthetic records where the crosstab gains by it.

    Ends after ``passes`` over all questions and records, or sooner: after a pass that lowers the
    discrepancy by less than the share ``improvement``, or after ``minutes`` (with which a run can no
    longer be repeated to the bit).
    """

    passes: int = Field(default=20, ge=1)
    improvement: float = Field(default=0.001, ge=0, lt=1)
    minutes: float | None = Field(default=None, gt=0)


TREATMENTS = ("pass_through", "instances", "threshold", "remove_zeros", "protect", "swap")


class BladesRow(Row):
    """A table made of a model's instances, or by sweeps.

    Treatments follow in this order: ``pass_through`` (probability that a true answer is kept),
    ``threshold`` (quantile of the record-wise loss above which the next of ``instances`` is
    taken), ``remove_zeros`` (drop records that hold a structural zero), ``protect`` (drop records whose
    effective multiplicity, the number of identical true records times 2 to the bits of entropy, is below
    this limit), ``swap``. With ``sweeps`` the true records are instead redrawn question by question, so
    many times, each given the record's current other answers, structural zeros excluded; with ``where``,
    which names questions and what all records are to answer, only those true ones that answer so, which they
    keep. ``size`` is the number of records that there are in the end: more are drawn from true ones again,
    fewer are some of them.
    """

    pass_through: float = Field(default=0.0, ge=0, lt=1)
    instances: int = Field(default=1, ge=1)
    threshold: float | None = Field(default=None, ge=0, le=1)
    remove_zeros: bool = False
    protect: float | None = Field(default=None, gt=1, allow_inf_nan=False)
    swap: Swap | None = None
    sweeps: int | None = Field(default=None, ge=1)
    where: Where | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _options_go_together(self) -> "BladesRow":
        if (self.threshold is None) != (self.instances == 1):
            raise ValueError("'instances: 2' or more goes with 'threshold', and 'threshold' with it")
        fields = type(self).model_fields
        treatments = [repr(key) for key in TREATMENTS if getattr(self, key) != fields[key].default]
        if self.sweeps and treatments:
            others = ", ".join(treatments)
            raise ValueError(f"'sweeps' redraws the true records; {others} treat instances: write two rows")
        if self.where and not self.sweeps:
            raise ValueError("'where' goes with 'sweeps', which leave given answers as they are")
        return self
