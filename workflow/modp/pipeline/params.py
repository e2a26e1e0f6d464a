"""What params.yaml may say: the one place of a run's parameters."""

import re
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, Union

from pydantic import Field, ValidationError, ValidationInfo, field_validator, model_validator

from modp.base.config import Strict, at_place
from modp.base.errors import InputError, did_you_mean
from modp.crosstabs.cells import Zeros
from modp.figures import registry
from modp.figures.registry import Of, Shows
from modp.measures.ends import BOOTSTRAP, MARGINALS, SAMPLE
from modp.measures.formulas import Analysis
from modp.models.family import Family, Name, Recipe, Row
from modp.models.private.recipe import Epsilon
from modp.models.registry import FAMILIES, families, family
from modp.release.inside import Inside

FOLDERS = ("tables", "figures", "measures", "plots", "instances", "gates", "frontier", "epsilon", "repeats")
RESERVED = (
    *FOLDERS,
    *("parts", "scattered", "anonymeter", "peers", "records", "holdout", "weights"),
    BOOTSTRAP,
    MARGINALS,
    SAMPLE,
)
"""Names of folders and files in a data set's results, which a model therefore cannot have."""


class FigureRecipe(Strict):
    """A figure: its kind, and the rows of the accuracy table or the models that it shows.

    Of what a figure may be, and of how many, depends on its kind; see :mod:`modp.figures.registry`.
    """

    kind: str = Field(description=registry.described(), json_schema_extra={"enum": [*registry.asked_for()]})
    of: list[str] = Field(min_length=1)

    @field_validator("kind")
    @classmethod
    def _kind_is_known(cls, kind: str) -> str:
        known = registry.asked_for()
        if kind not in known:
            near = did_you_mean(kind, known) or f" (known here: {', '.join(known)})"
            raise ValueError(f"there is no kind of figure {kind!r} to ask for{near}")
        return kind

    @model_validator(mode="after")
    def _number_fits_the_kind(self) -> "FigureRecipe":
        shows = registry.KINDS[self.kind].shows
        if shows is Shows.PAIRS and len(self.of) % 2:
            raise ValueError(f"{self.kind!r} compares models two by two; 'of' has an odd number")
        if shows is Shows.ONE and len(self.of) > 1:
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


class Released(Strict):
    """What "snakemake release" puts into folders that may leave the house, in the input's own form.

    ``rows`` of the accuracy table. Numbers are drawn inside their class from its smoothed shape, or
    ``uniform``; or all answers from those of their category in a table that is ``public``, of the input's
    form. Of a row with a formal guarantee they are drawn evenly inside the bounds that the question set
    states, unless there is a public table; whole households with one are released as category codes unless
    values are ``uniform``. A row that is warned of, as a copy for instance, is refused unless it stands under
    ``despite_warnings`` too.
    """

    rows: list[str] = Field(default_factory=list)
    values: Inside = "shape"
    public: str | None = None
    despite_warnings: list[str] = Field(default_factory=list)

    @model_validator(mode="after")
    def _says_what_goes_together(self) -> "Released":
        for name in self.despite_warnings:
            if name not in self.rows:
                near = did_you_mean(name, self.rows)
                raise ValueError(f"'despite_warnings' names {name!r}, which is not released{near}")
        if (self.values == "public") != (self.public is not None):
            raise ValueError("'values: public' and 'public' (the path of a table) go together")
        return self


class Scattered(Strict):
    """What "snakemake scattered" makes of every part of a data set that says ``scatter``: these ``rows``."""

    rows: list[str] = Field(default_factory=list)


class Grids(Strict):
    """Where evaluations are made along a line: ``epsilons`` by ``snakemake epsilon``.

    ``peer_minutes`` is how long another method may take at each by ``snakemake peers_dp``.
    """

    epsilons: list[Epsilon] = Field(default=[0.1, 0.3, 1.0, 3.0, 10.0], min_length=1)
    peer_minutes: int = Field(default=10, ge=1)


class Estimates(Strict):
    """What a user would publish of a weighted table: totals, means and medians.

    ``of`` questions with numbers, all records together, ``by`` each of these questions' answers, and by all
    of them combined. Questions that a data set lacks are passed over.
    """

    of: list[str] = Field(default=["PINCP"])
    by: list[str] = Field(default=["ST", "SEX", "AGEP"])


class Utility(Strict):
    """Of which ``rows`` it is measured what the released table is worth to learners and to analysts.

    ``targets`` are questions that learners predict; ``auto`` are those that can be predicted best. Rows and
    questions that there are not are passed over.
    """

    rows: list[str] = Field(default_factory=list)
    targets: Literal["auto"] | list[str] = "auto"


DataOfBenchmarks = dict[Literal["nist", "florida", "households", "wide_households", "columns"], str]
DATA_OF_BENCHMARKS: DataOfBenchmarks = {
    "nist": "tests/datasets/nist-2019.yaml",
    "florida": "tests/datasets/fl-2024.yaml",
    "households": "tests/datasets/fl-2024-households.yaml",
    "wide_households": "tests/datasets/fl-2024-households-wide.yaml",
    "columns": "../shared/data/csv_pwy.zip",
}
"""What budgets call a data set -> its dataset YAML, of "columns" a file of which all columns are taken."""

if TYPE_CHECKING:
    MODELS: TypeAlias = Recipe
    ROWS: TypeAlias = Row
else:
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
    that its family knows. ``paper_notebook`` measures accuracy as the author's notebook does, where that
    differs from the paper. With ``releases`` above one attacks are also made on so many tables of each row
    together, drawn one as the other, as somebody could make who has them all. ``utility`` says of which rows
    it is measured what they are worth to learners and analysts, ``analyses`` what the latter compute.
    ``benchmarks`` names the dataset YAMLs of the real data that ``snakemake benchmarks`` measures on where it
    is there.
    """

    dataset: str
    census: Census
    seed: int = Field(ge=0)
    device: str
    holdout: float = Field(ge=0, lt=1)
    attacked: list[str]
    seeds: int = Field(ge=1, le=100)
    instances: int = Field(ge=1)
    releases: int = Field(default=1, ge=1, le=20)
    zeros: Zeros
    paper_notebook: bool = False
    models: dict[Name, MODELS] = Field(min_length=1)
    rows: list[ROWS]
    figures: dict[Name, FigureRecipe]
    answers_by_blade: AnswersByBlade | None = None
    grids: Grids = Field(default_factory=Grids)
    estimates: Estimates = Field(default_factory=Estimates)
    utility: Utility = Field(default_factory=Utility)
    analyses: list[Analysis] = Field(default_factory=list)
    release: Released = Field(default_factory=Released)
    scattered: Scattered = Field(default_factory=Scattered)
    benchmarks: DataOfBenchmarks = Field(default=DATA_OF_BENCHMARKS)
    results: str = Field(default="results", description="folder of the results; repeats have their own")

    @model_validator(mode="before")
    @classmethod
    def _says_what_became_of_old_keys(cls, values: Any) -> Any:
        old = [f"{key!r} ({OLD[key]})" for key in OLD if key in values]
        if old:
            raise ValueError("keys of an earlier version: " + "; ".join(old))
        return values

    @field_validator("answers_by_blade", mode="before")
    @classmethod
    def _an_emptied_key_asks_for_nothing(cls, answers: Any) -> Any:
        return answers or None

    @field_validator("analyses")
    @classmethod
    def _analyses_are_told_apart(cls, analyses: list[Analysis]) -> list[Analysis]:
        names = [analysis.name for analysis in analyses]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two analyses are called {name!r}")
        return analyses

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
            if registry.is_taken(name):
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
        for name in self.names:
            if self.names.count(name) > 1:
                raise ValueError(f"the row {name} is listed twice under 'rows'")
        for name, figure in self.figures.items():
            self._check_figure(f"figures.{name}", figure)
        if self.answers_by_blade:
            self._require_gate("answers_by_blade.model", self.answers_by_blade.model)
        return self

    def _check_figure(self, place: str, figure: FigureRecipe) -> None:
        of = registry.KINDS[figure.kind].of
        for name in figure.of:
            if name.partition("/")[0] in self.models and self.family_of(name).whole:
                raise ValueError(
                    f"{place}: {name} is of whole households, of which each run draws its figures"
                )
            if of in (Of.GATES, Of.GATES_OF_THREE):
                self._require_gate(place, name)
            elif name not in self.names and (of, name) != (Of.ROWS_AND_ENDS, MARGINALS):
                raise ValueError(f"{place}: no row {name!r} among 'rows'{did_you_mean(name, self.names)}")
            elif of is Of.DRAWN_ROWS and name == BOOTSTRAP:
                raise ValueError(f"{place}: {figure.kind!r} is of drawn records, not of the bootstrap")
        if of is Of.GATES_OF_THREE and getattr(self.models[figure.of[0]], "blades", None) != 3:
            raise ValueError(f"{place}: {figure.kind!r} needs a model of three blades")

    def _require_gate(self, place: str, name: str) -> None:
        gated = [model for model in self.models if self.family_of(model).can("gates")]
        if name not in gated:
            near = did_you_mean(name, gated)
            raise ValueError(f"{place}: no model {name!r} with a gate is defined under 'models'{near}")

    def of(self, whole: bool) -> "Params":
        """Return the parameters of a run on whole households, or on single records: its models and rows.

        Raises
        ------
        InputError
            if there is no model of such
        """
        models = {name: model for name, model in self.models.items() if self.family_of(name).whole == whole}
        rows = [row for row in self.rows if row.model in models]
        for key, found in (("models", models), ("rows", rows)):
            if not found:
                what = (
                    "of whole households (family: households or private_households)"
                    if whole
                    else "of single records"
                )
                raise InputError(f"params.yaml: {key!r} has none that is {what}, which this data set needs")
        if whole and (self.seeds > 1 or self.releases > 1):
            raise InputError("params.yaml: whole households are made once: write seeds: 1 and releases: 1")
        others = {row.row for row in self.rows if row.model not in models}
        release = {
            key: [name for name in getattr(self.release, key) if name not in others]
            for key in ("rows", "despite_warnings")
        }
        only: dict[str, Any] = {"figures": {}, "answers_by_blade": None} if whole else {}
        return self.model_copy(
            update={
                "models": models,
                "rows": rows,
                "release": self.release.model_copy(update=release),
                **only,
            }
        )

    def family_of(self, name: str) -> Family:
        """Return the family of a model, or of a row's model."""
        recipe: Recipe = self.models[name.partition("/")[0]]
        return family(recipe.family)

    @property
    def names(self) -> list[str]:
        """The names of the rows of the accuracy table: the bootstrap, then those that are drawn."""
        return [BOOTSTRAP, *(row.row for row in self.rows)]

    @property
    def useful(self) -> list[str]:
        """The rows whose utility is measured; none drawn under a condition, which is of other people."""
        return [row.row for row in self.rows if row.row in self.utility.rows and not row.condition]

    @property
    def repeatable(self) -> list[str]:
        """The names of the rows that can be drawn more than once: the bootstrap, and most drawn ones."""
        return [n for n in self.names if n == BOOTSTRAP or self.family_of(n).most_rows is None]

    @property
    def rows_of(self) -> dict[str, list[str]]:
        """Each model's rows."""
        return {name: [r.row for r in self.rows if r.model == name] for name in self.models}


def _row(at: int, row: Any, models: dict[str, Recipe]) -> Any:
    """A row as its model's family wants it, faults at their places."""
    if not isinstance(row, dict) or not isinstance(row.get("model"), str):
        raise ValueError(f"rows.{at} does not say of which model it is, as in {{model: NAME, name: NAME}}")
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
