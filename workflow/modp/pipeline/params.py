"""What params.yaml may say: the one place of a run's parameters."""

import re
from typing import Annotated, Any, Literal, Union

from pydantic import Field, ValidationError, ValidationInfo, field_validator, model_validator

from modp.base.config import Strict, at_place
from modp.base.errors import did_you_mean
from modp.crosstabs.cells import Zeros
from modp.models.family import Family, Name, Recipe, Row
from modp.models.registry import FAMILIES, families, family

BOOTSTRAP = "bootstrap"
MARGINALS = "marginals"
RESERVED = ("tables", "figures", "measures", "plots", "instances", BOOTSTRAP, MARGINALS)
"""Names of folders and files in a data set's results, which a model therefore cannot have."""


OTHER_FIGURES = ("accuracy", "training", "frontier", "three_way", "risk_fidelity")
"""Figures that every run has, beside the crosstabs that params.yaml lists."""


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


class Grids(Strict):
    """Where evaluations are made along a line: ``epsilons`` by ``snakemake epsilon``."""

    epsilons: list[float] = Field(default=[0.1, 0.3, 1.0, 3.0, 10.0], min_length=1)


MODELS = Annotated[Union[tuple(f.recipe for f in families())], Field(discriminator="family")]  # noqa: UP007
ROWS = Union[tuple(f.row for f in families())]  # noqa: UP007
OLD = {
    "stationary": "models go together under 'models', each with its family: 'family: stationary'",
    "private": "models go together under 'models', each with its family: 'family: private'",
    "variants": "rows of the accuracy table go together under 'rows'",
    "swept": "rows of the accuracy table go together under 'rows'; 'sweeps' says that a row is swept",
}
"""Keys that there were, and what is written today."""


class Params(Strict):
    """params.yaml as a whole.

    ``holdout`` is the share of the records, households whole, that no model sees and that attacks are
    measured against; a data set may name files of its own for that. ``attacked`` names questions whose
    answers are guessed from the synthetic records; those that a data set lacks are passed over. Each of
    ``models`` says its ``family``; each of ``rows`` is a synthetic table drawn from one of them, in a way
    that its family knows.
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
    models: dict[Name, MODELS] = Field(min_length=1)  # type: ignore[valid-type]
    rows: list[ROWS]  # type: ignore[valid-type]
    figures: dict[Name, FigureRecipe]
    answers_by_blade: AnswersByBlade | None = None
    grids: Grids = Field(default_factory=Grids)
    results: str = Field(default="results", description="folder of the results; repeats have their own")

    @model_validator(mode="before")
    @classmethod
    def _says_what_became_of_old_keys(cls, values: Any) -> Any:
        old = [f"{key!r} ({OLD[key]})" for key in OLD if key in values]
        if old:
            raise ValueError("keys of an earlier version: " + "; ".join(old))
        return values

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

    @field_validator("models", mode="before")
    @classmethod
    def _models_say_their_family(cls, models: Any) -> Any:
        for name, model in models.items() if isinstance(models, dict) else ():
            if name in RESERVED:
                raise ValueError(f"a model cannot be called {name!r}, which names something else there")
            if isinstance(model, dict) and "family" not in model:
                raise ValueError(f"{name} does not say its family: one of {', '.join(FAMILIES)}")
        return models

    @field_validator("rows", mode="before")
    @classmethod
    def _rows_are_what_their_families_know(cls, rows: Any, info: ValidationInfo) -> Any:
        """Check each row as its model's family wants it; not at all where the models are faulty."""
        models = info.data.get("models")
        if models is None:
            return []
        if not isinstance(rows, list) or not rows:
            raise ValueError("a list of the rows of the accuracy table, at least one")
        return [_row(at, row, models) for at, row in enumerate(rows)]

    @model_validator(mode="after")
    def _names_are_known(self) -> "Params":
        for at, row in enumerate(self.rows):
            wanted = getattr(row, "instances", 1)
            if wanted > self.instances:
                raise ValueError(
                    f"rows.{at} ({row.row}) needs {wanted} instances, but 'instances' is {self.instances}"
                )
        for name, row_names in self.rows_of.items():
            most = self.family_of(name).most_rows
            if most is not None and len(row_names) > most:
                raise ValueError(f"rows: {name} releases one table, but has {len(row_names)} rows")
        for row in self.names:
            if self.names.count(row) > 1:
                raise ValueError(f"the row {row} is listed twice under 'rows'")
        for name, figure in self.figures.items():
            self._check_figure(f"figures.{name}", figure)
        if self.answers_by_blade:
            self._require_gate("answers_by_blade.model", self.answers_by_blade.model)
        return self

    def _check_figure(self, place: str, figure: FigureRecipe) -> None:
        for name in figure.of:
            if figure.kind in GATE_FIGURES:
                self._require_gate(place, name)
            elif name not in self.names and (figure.kind, name) != ("attack_roc", MARGINALS):
                raise ValueError(f"{place}: no row {name!r} among 'rows'{did_you_mean(name, self.names)}")
            elif figure.kind in DRAWN_FIGURES and name == BOOTSTRAP:
                raise ValueError(f"{place}: {figure.kind!r} is of drawn records, not of the bootstrap")
        blades = getattr(self.models.get(figure.of[0]), "blades", 3)
        if figure.kind == "gate_triangle" and blades != 3:
            raise ValueError(f"{place}: 'gate_triangle' needs a model of three blades")

    def _require_gate(self, place: str, name: str) -> None:
        gated = [model for model in self.models if self.family_of(model).can("gates")]
        if name not in gated:
            near = did_you_mean(name, gated)
            raise ValueError(f"{place}: no model {name!r} with a gate is defined under 'models'{near}")

    def family_of(self, name: str) -> Family:
        """Return the family of a model, or of a row's model."""
        recipe: Recipe = self.models[name.partition("/")[0]]
        return family(recipe.family)

    @property
    def names(self) -> list[str]:
        """The names of the rows of the accuracy table: the bootstrap, then those that are drawn."""
        return [BOOTSTRAP, *(row.row for row in self.rows)]

    @property
    def rows_of(self) -> dict[str, list[str]]:
        """Each model's rows."""
        return {name: [r.row for r in self.rows if r.model == name] for name in self.models}


def _row(at: int, row: Any, models: dict[str, Recipe]) -> Any:
    """A row as its model's family wants it, faults at their places."""
    if not isinstance(row, dict) or not isinstance(row.get("model"), str):
        return Row.model_validate(row)
    name = f"rows.{at} ({row['model']}/{row.get('name', '')})"
    if row["model"] not in models:
        raise ValueError(
            f"{name}: no model {row['model']!r} is defined under 'models'{did_you_mean(row['model'], models)}"
        )
    kind = family(models[row["model"]].family).row
    try:
        return kind.model_validate(row)
    except ValidationError as failure:
        raise at_place((at,), failure, kind, row) from None
