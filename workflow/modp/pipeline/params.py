"""What params.yaml may say: the one place of a run's parameters."""

import re
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, field_validator, model_validator

from modp.base.config import Strict
from modp.base.errors import did_you_mean

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")]

Zeros = Literal["sample", "stated"]
"""What counts as a structural zero: a cell that no true record is in, or what the question set states."""

Selection = Literal["uniform", "proportional", "adaptive"]
"""How the pair tables that a private model measures are chosen."""

BOOTSTRAP = "bootstrap"
RELEASED = "released"
"""The one table drawn from a private model."""

MARGINALS = "marginals"
RESERVED = ("tables", "figures", "measures", "plots", "instances", BOOTSTRAP, MARGINALS)
"""Names of folders and files in a data set's results, which a model therefore cannot have."""


OTHER_FIGURES = ("accuracy", "training", "frontier", "three_way", "risk_fidelity")
"""Figures that every run has, beside the crosstabs that params.yaml lists."""


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


class BladesModel(Strict):
    """One of the paper's models: ``model_5_15`` has 5 blades and a gate of width 15.

    The gate has two linear layers, or three. ``link: softmax`` makes each question's predictions
    sum to one, instead of the paper's sigmoids. With ``restarts`` the model is fitted from that many
    seeds and the one with the lowest loss in its last stage is kept.
    """

    blades: int = Field(ge=1)
    reduced: int = Field(ge=1)
    gate_layers: Literal[2, 3] = 2
    link: Literal["sigmoid", "softmax"] = "sigmoid"
    restarts: int = Field(default=1, ge=1)
    stages: list[Stage] = Field(min_length=1)


class Swap(Strict):
    """Exchange answers between synthetic records where the crosstab gains by it.

    Ends after ``passes`` over all questions and records, or sooner: after a pass that lowers the
    discrepancy by less than the share ``improvement``, or after ``minutes`` (with which a run can no
    longer be repeated to the bit).
    """

    passes: int = Field(default=20, ge=1)
    improvement: float = Field(default=0.001, ge=0, lt=1)
    minutes: float | None = Field(default=None, gt=0)


class Variant(Strict):
    """One row of the accuracy table: a model and how its instances are treated.

    Treatments follow in this order: ``pass_through`` (probability that a true answer is kept),
    ``threshold`` (quantile of the record-wise loss above which the next of ``instances`` is
    taken), ``remove_zeros`` (drop records that hold a structural zero), ``protect`` (drop records whose
    effective multiplicity, the number of identical true records times 2 to the bits of entropy, is below
    this limit), ``swap``.
    """

    model: str
    name: Name
    pass_through: float = Field(default=0.0, ge=0, lt=1)
    instances: int = Field(default=1, ge=1)
    threshold: float | None = Field(default=None, ge=0, le=1)
    remove_zeros: bool = False
    protect: float | None = Field(default=None, gt=1, allow_inf_nan=False)
    swap: Swap | None = None

    @model_validator(mode="after")
    def _threshold_chooses_between_instances(self) -> "Variant":
        if (self.threshold is None) != (self.instances == 1):
            raise ValueError("'instances: 2' or more goes with 'threshold', and 'threshold' with it")
        return self

    @property
    def row(self) -> str:
        """The row's name, ``model/variant``."""
        return f"{self.model}/{self.name}"


class StationaryModel(Strict):
    """A stationary model: one distribution that reproduces all pair crosstabs, and some three-way ones.

    Chains start at the true records and are swept until their crosstab is the true one up to
    sampling noise: until its bias, in units of sampling variance, is at most ``tolerance``, or no
    longer falls, or for ``most_windows`` times twenty sweeps at each of three sizes of steps.
    ``pair_step`` and ``margin_step`` set the steps of pairs and single categories; a fit that diverges
    halves them and goes on from its best weights. ``damping`` is added to the count of a pair of
    categories, so that pairs of a handful of records are not moved by their noise. After each sweep
    chains exchange groups of linked answers, ``exchanges`` times; without it answers that fix each
    other, as marital status and presence of a spouse do, stay those of the true record. ``chains`` may
    be fewer than the records. At most so many ``triples`` of questions get weights of their own, where the
    three-way tables of a model of pairs miss the true ones by more than sampling noise; 0 for pairs alone.
    """

    tolerance: float = Field(default=0.02, gt=0)
    most_windows: int = Field(default=6, ge=1)
    pair_step: float = Field(default=3.5, gt=0)
    margin_step: float = Field(default=0.4, gt=0)
    damping: float = Field(default=5.0, ge=0)
    exchanges: int = Field(default=3, ge=0)
    chains: int | None = Field(default=None, ge=100)
    triples: int = Field(default=200, ge=0)


class PrivateModel(Strict):
    """A stationary pairwise model with a formal guarantee, and the one table that is drawn from it.

    With or without any one record the released table and the model are nearly as likely to come out the
    way they did: (``epsilon``, ``delta``)-differential privacy. ``selection`` says which pair tables are
    measured: ``adaptive`` measures, one after the other, those that the model gets wrong, ``pairs`` times as
    many as there are questions; ``uniform`` and ``proportional`` measure all. Category lists and stated
    structural zeros are taken to be public. Decile edges come from the true records, so that a question set
    with deciles is refused unless ``public_edges`` says that these edges are known from elsewhere, from
    another year's file for instance. ``noise: secret`` draws the noise from the operating system's
    entropy: it cannot be repeated. ``seeded`` noise derives from the run's seed, and who knows that can take
    it away. ``chains`` bounds their number while pairs are chosen.
    """

    epsilon: float = Field(gt=0, le=100)
    delta: float = Field(gt=0, lt=1)
    selection: Selection = "adaptive"
    pairs: float = Field(default=4.0, gt=0)
    chains: int = Field(default=6000, ge=100)
    public_edges: bool = False
    noise: Literal["secret", "seeded"] = "secret"


class SweptRow(Strict):
    """One row of the accuracy table: records redrawn one question after the other.

    Each of the ``sweeps`` redraws all questions of every record once, each given the record's current
    other answers, structural zeros excluded. More sweeps leave less of the true record. ``start: fresh``
    begins with records drawn from the weights of a stationary model alone, which leaves nothing of any
    true record, but needs more sweeps.
    """

    model: str
    name: Name
    sweeps: int = Field(ge=1)
    start: Literal["records", "fresh"] = "records"

    @property
    def row(self) -> str:
        """The row's name, ``model/name``."""
        return f"{self.model}/{self.name}"


ROW_FIGURES = ("crosstabs", "z_against_d", "merit_histogram", "merit_heatmap", "attack_roc")
DRAWN_FIGURES = ("entropy", "multiplicities", "effective_multiplicity", "causal_rank")
GATE_FIGURES = ("gate_triangle", "gate_histogram", "gate_survival", "co_assignment")
SEVERAL = ("crosstabs", "causal_rank", "co_assignment", "attack_roc")
"""Kinds of figures that show more than one thing."""


class FigureRecipe(Strict):
    """A figure: its kind, and the rows of the accuracy table or the models that it shows.

    ``crosstabs``, ``causal_rank`` and ``attack_roc`` take several rows; ``co_assignment`` takes models
    two by two; the others take one. ``attack_roc`` may show ``marginals`` too, records of independent
    answers. ``entropy``, ``multiplicities``, ``effective_multiplicity`` and ``causal_rank`` are of drawn
    records, which the bootstrap has none of. The ``gate_`` kinds are of models, ``gate_triangle`` of one
    with three blades.
    """

    kind: Literal[
        "crosstabs",
        "z_against_d",
        "merit_histogram",
        "merit_heatmap",
        "attack_roc",
        "entropy",
        "multiplicities",
        "effective_multiplicity",
        "causal_rank",
        "gate_triangle",
        "gate_histogram",
        "gate_survival",
        "co_assignment",
    ]
    of: list[str] = Field(min_length=1)

    @model_validator(mode="after")
    def _number_fits_the_kind(self) -> "FigureRecipe":
        if self.kind == "co_assignment" and len(self.of) % 2:
            raise ValueError("'co_assignment' compares models two by two; 'of' has an odd number")
        if self.kind not in SEVERAL and len(self.of) > 1:
            raise ValueError(f"{self.kind!r} shows one thing; 'of' has {len(self.of)}")
        return self


class AnswersByBlade(Strict):
    """The table of answers by blade: of which model, and of which questions where there are such."""

    model: str
    questions: list[str] = Field(min_length=1)


class Census(Strict):
    """Where Census's files are taken from: its server or a mirror, or a folder of downloads."""

    base_url: str = Field(pattern=r"^https?://")
    downloads: str


class Params(Strict):
    """params.yaml as a whole.

    ``holdout`` is the share of the records, households whole, that no model sees and that attacks are
    measured against; a data set may name files of its own for that. ``attacked`` names questions whose
    answers are guessed from the synthetic records; those that a data set lacks are passed over.
    ``paper_notebook`` measures accuracy as the author's notebook does, where that differs from the paper.
    """

    dataset: str
    census: Census
    seed: int = Field(ge=0)
    device: str
    holdout: float = Field(ge=0, lt=1)
    attacked: list[str]
    seeds: int = Field(ge=1, le=100)
    instances: int = Field(ge=1)
    zeros: Zeros
    paper_notebook: bool = False
    models: dict[Name, BladesModel] = Field(min_length=1)
    stationary: dict[Name, StationaryModel]
    private: dict[Name, PrivateModel]
    variants: list[Variant] = Field(min_length=1)
    swept: list[SweptRow]
    figures: dict[Name, FigureRecipe]
    answers_by_blade: AnswersByBlade
    results: str = Field(default="results", description="folder of the results; repeats have their own")

    @field_validator("device")
    @classmethod
    def _device_is_known(cls, device: str) -> str:
        if not re.fullmatch(r"auto|cpu|cuda(:\d+)?", device):
            raise ValueError(f"device is auto, cpu, cuda or cuda:0, cuda:1 …, not {device!r}")
        return device

    @field_validator("figures")
    @classmethod
    def _figures_are_free(cls, figures: dict[str, FigureRecipe]) -> dict[str, FigureRecipe]:
        for name in figures:
            if name in OTHER_FIGURES or name.startswith("mixing_"):
                raise ValueError(f"a figure {name!r} is drawn by itself; choose another name")
        return figures

    @field_validator("models", "stationary", "private")
    @classmethod
    def _names_are_free(cls, models: dict[str, Any]) -> dict[str, Any]:
        for name in models:
            if name in RESERVED:
                raise ValueError(f"a model cannot be called {name!r}, which names something else there")
        return models

    @model_validator(mode="after")
    def _names_are_known(self) -> "Params":
        for name in self.stationary:
            if name in self.models:
                raise ValueError(f"stationary.{name}: there is a model of that name under 'models'")
        for name in self.private:
            if name in self.models or name in self.stationary:
                raise ValueError(f"private.{name}: there is another model of that name")
        for at, variant in enumerate(self.variants):
            place = f"variants.{at} ({variant.row})"
            self._require_model(place, variant.model)
            if variant.instances > self.instances:
                raise ValueError(
                    f"{place} needs {variant.instances} instances, but 'instances' is {self.instances}"
                )
        for at, swept in enumerate(self.swept):
            known = [*self.models, *self.stationary]
            if swept.model not in known:
                raise ValueError(
                    f"swept.{at} ({swept.row}): no model {swept.model!r} is defined"
                    f"{did_you_mean(swept.model, known)}"
                )
            if swept.start == "fresh" and swept.model not in self.stationary:
                raise ValueError(f"swept.{at} ({swept.row}): 'start: fresh' needs a stationary model")
        for row in self.rows:
            if self.rows.count(row) > 1:
                raise ValueError(f"the row {row} is listed twice under 'variants' and 'swept'")
        for name, figure in self.figures.items():
            self._check_figure(f"figures.{name}", figure)
        self._require_model("answers_by_blade.model", self.answers_by_blade.model)
        return self

    def _check_figure(self, place: str, figure: FigureRecipe) -> None:
        for name in figure.of:
            if figure.kind in GATE_FIGURES:
                self._require_model(place, name)
            elif name not in self.rows and (figure.kind, name) != ("attack_roc", MARGINALS):
                raise ValueError(
                    f"{place}: no row {name!r} among 'variants' and 'swept'{did_you_mean(name, self.rows)}"
                )
            elif figure.kind in DRAWN_FIGURES and name == BOOTSTRAP:
                raise ValueError(f"{place}: {figure.kind!r} is of drawn records, not of the bootstrap")
        if figure.kind == "gate_triangle" and self.models[figure.of[0]].blades != 3:
            raise ValueError(f"{place}: 'gate_triangle' needs a model of three blades")

    def _require_model(self, place: str, name: str) -> None:
        if name not in self.models:
            raise ValueError(
                f"{place}: no model {name!r} is defined under 'models'{did_you_mean(name, self.models)}"
            )

    @property
    def rows(self) -> list[str]:
        """The rows of the accuracy table: the bootstrap, every variant, swept and released table."""
        drawn = [*self.variants, *self.swept]
        return [BOOTSTRAP, *(d.row for d in drawn), *(f"{name}/{RELEASED}" for name in self.private)]
