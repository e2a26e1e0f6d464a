"""What params.yaml may say: the one place of a run's parameters."""

import re
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, field_validator, model_validator

from modp.config import Strict
from modp.errors import did_you_mean

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")]

BOOTSTRAP = "bootstrap"
RESERVED = ("tables", "figures", "measures", "plots", "instances", BOOTSTRAP)
"""Names of folders and files in a data set's results, which a model therefore cannot have."""


OTHER_FIGURES = ("accuracy", "training")
"""Figures that every run has, beside the crosstabs that params.yaml lists."""


class Stage(Strict):
    """A stage of training: a loss and how long to follow it.

    The learning rate starts at ``learning_rate`` and falls to zero along a half cosine.
    """

    loss: Literal["mean_square", "z"]
    epochs: int = Field(ge=1)
    learning_rate: float = Field(gt=0, allow_inf_nan=False)
    batch: int = Field(default=1024, ge=1)


class BladesModel(Strict):
    """One of the paper's models: ``model_5_15`` has 5 blades and a gate of width 15."""

    blades: int = Field(ge=1)
    reduced: int = Field(ge=1)
    stages: list[Stage] = Field(min_length=1)


class Variant(Strict):
    """One row of the accuracy table: a model and how its instances are treated.

    Treatments follow in this order: ``pass_through`` (probability that a true answer is kept),
    ``threshold`` (quantile of the record-wise loss above which the next of ``instances`` is
    taken), ``remove_zeros`` (drop records that hold a structural zero).
    """

    model: str
    name: Name
    pass_through: float = Field(default=0.0, ge=0, lt=1)
    instances: int = Field(default=1, ge=1)
    threshold: float | None = Field(default=None, ge=0, le=1)
    remove_zeros: bool = False

    @model_validator(mode="after")
    def _threshold_chooses_between_instances(self) -> "Variant":
        if (self.threshold is None) != (self.instances == 1):
            raise ValueError("'instances: 2' or more goes with 'threshold', and 'threshold' with it")
        return self

    @property
    def row(self) -> str:
        """The row's name, ``model/variant``."""
        return f"{self.model}/{self.name}"


class Census(Strict):
    """Where Census's files are taken from: its server or a mirror, or a folder of downloads."""

    base_url: str = Field(pattern=r"^https?://")
    downloads: str


class Params(Strict):
    """params.yaml as a whole."""

    dataset: str
    census: Census
    seed: int = Field(ge=0)
    device: str
    instances: int = Field(ge=1)
    models: dict[Name, BladesModel] = Field(min_length=1)
    variants: list[Variant] = Field(min_length=1)
    figures: dict[Name, Annotated[list[str], Field(min_length=1)]]

    @field_validator("device")
    @classmethod
    def _device_is_known(cls, device: str) -> str:
        if not re.fullmatch(r"auto|cpu|cuda(:\d+)?", device):
            raise ValueError(f"device is auto, cpu, cuda or cuda:0, cuda:1 …, not {device!r}")
        return device

    @field_validator("figures")
    @classmethod
    def _figures_are_free(cls, figures: dict[str, list[str]]) -> dict[str, list[str]]:
        for name in figures:
            if name in OTHER_FIGURES:
                raise ValueError(f"a figure {name!r} is drawn by itself; choose another name")
        return figures

    @field_validator("models")
    @classmethod
    def _names_are_free(cls, models: dict[str, BladesModel]) -> dict[str, BladesModel]:
        for name in models:
            if name in RESERVED:
                raise ValueError(f"a model cannot be called {name!r}, which names something else there")
        return models

    @model_validator(mode="after")
    def _names_are_known(self) -> "Params":
        rows = self.rows
        for at, variant in enumerate(self.variants):
            place = f"variants.{at} ({variant.row})"
            if variant.model not in self.models:
                raise ValueError(
                    f"{place}: no model {variant.model!r} is defined under 'models'"
                    f"{did_you_mean(variant.model, self.models)}"
                )
            if variant.row in rows[: at + 1]:
                raise ValueError(f"{place} is listed twice")
            if variant.name == "instances":
                raise ValueError(f"{place}: 'instances' is the name of a folder; choose another")
            if variant.instances > self.instances:
                raise ValueError(
                    f"{place} needs {variant.instances} instances, but 'instances' is {self.instances}"
                )
        for figure, panels in self.figures.items():
            for panel in panels:
                if panel not in rows:
                    raise ValueError(
                        f"figures.{figure}: no row {panel!r} among 'variants'{did_you_mean(panel, rows)}"
                    )
        return self

    @property
    def rows(self) -> list[str]:
        """The rows of the accuracy table: the bootstrap, then every variant."""
        return [BOOTSTRAP, *(v.row for v in self.variants)]
