"""What a model family is: its recipe, and where its parts are, which are loaded when they are used."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol

from pydantic import Field, StringConstraints

from modp.base.config import Strict
from modp.base.errors import InputError
from modp.base.output import Log

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from modp.crosstabs.cells import Zeros
    from modp.survey.codebook import Codebook
    from modp.survey.households import Codebooks, Households
    from modp.survey.records import Records

Where = dict[str, int | str | list[int | str]]
"""Question -> a category, or a list of such, as :func:`modp.survey.where.allowed` reads it."""

DRAWN_AT_ONCE = 1 << 19
"""Records of a table that are drawn together, where its family can draw some at a time."""

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")]


class Recipe(Strict):
    """What params.yaml says of a model; each family adds keys of its own.

    ``fitted`` names the folder of a model that another run has fitted, which is taken instead of a fit: to
    records of the same codebook (``codebook`` in the dataset YAML).
    """

    family: str
    fitted: str | None = None

    @property
    def of_weights(self) -> bool:
        """Whether the model is fitted to weighted counts."""
        return bool(getattr(self, "weighted", False))

    @property
    def of_households(self) -> bool:
        """Whether a fit to single records asks of which household each is."""
        return False


class Row(Strict):
    """What params.yaml says of a row of the accuracy table: one synthetic table drawn from a model.

    ``size`` is the number of records, where it is not that which a draw has by itself.
    With ``calibrate`` its records get weights that sum to the true weighted totals of all answers to these
    questions, or to all ``margins``.
    """

    model: str
    name: Name
    calibrate: list[str] = Field(default_factory=list)
    size: int | None = Field(default=None, ge=1)

    @property
    def condition(self) -> Where | None:
        """What answers all records of the row have; None where they may have any."""
        return getattr(self, "where", None)

    @property
    def row(self) -> str:
        """The row's name, ``model/name``."""
        return f"{self.model}/{self.name}"


@dataclass(frozen=True)
class Work:
    """How a piece of work is done.

    Of all this only name, seed, zeros, weights, households and public decide the result.

    name : of the model or row, after which its random streams are called
    device : auto, cpu, cuda or cuda:N
    zeros : what counts as a structural zero, as in params.yaml
    weights : survey weights of the true records, for a model that is fitted to weighted counts
    checkpoint : where an interrupted fit leaves its state and finds it again; None for nowhere
    public : records that are no secret, under the same codebook, for families that start from such; None for
        none
    toward : a fitted model of the family that a fit is drawn to, where its recipe says so
    households : int64 (n,), of which household each true record is; None where that is not known
    """

    name: str
    seed: int
    threads: int = 1
    device: str = "auto"
    zeros: Zeros = "sample"
    log: Log = field(default_factory=Log)
    checkpoint: Path | None = None
    weights: np.ndarray | None = None
    public: Records | None = None
    toward: Model | None = None
    households: np.ndarray | None = None


class Model(Protocol):
    """A fitted model: it predicts every answer of a record from the record's other answers."""

    def predict(self, records: Records) -> np.ndarray:
        """Return predictions (n, K), not negative, to be normalised within questions."""
        ...

    def save(self, path: Path, codebook: Codebook) -> None:
        """Write the model as safetensors, with its codebook's digest."""
        ...


@dataclass(frozen=True)
class Fitted:
    """What a fit returns.

    model : a :class:`Model`, or the family's own kind where it is of whole households
    history : what happened, as the family sees it; ``attrs["shortfall"]`` is a sentence, if it has one, on
        what the fit did not reach
    training : the same for plots: columns stage, loss_name, epoch, loss, learning_rate
    said : one line for people
    """

    model: Any
    history: pd.DataFrame
    training: pd.DataFrame
    said: str


@dataclass(frozen=True)
class Drawn:
    """A synthetic table.

    codes : int16 (m, Q)
    record : (m,), masked: the row of the true record that each one was drawn from, where there is one
    entropy_bits : (m,), masked: entropy of what each one was drawn from, where that is known
    weights : float64 (m,), where the records stand for unequal numbers of people
    """

    codes: np.ndarray
    record: np.ma.MaskedArray
    entropy_bits: np.ma.MaskedArray
    weights: np.ndarray | None = None


@dataclass(frozen=True)
class Family:
    """A model family.

    recipe, row : what params.yaml says of its models, and of each row drawn from one
    method : how its models work, for their cards; keys of the recipe and ``zeros``, the run's or the
        recipe's own, stand in braces
    treatments : how a row's keys are said on a card, with the value in braces; nothing for those not said
    untreated : how a row is called that has none of them
    parts : what the family can do -> where that is, as ``module:function``, so that a step loads, and
        becomes stale with, only what it runs:

        - fit(records, recipe, work) -> Fitted
        - load(path, codebook) -> Model
        - draw(model, records, row, work, instances) -> Drawn
        - instances(model, records, number, work) -> that many Drawn: tables from which rows are made.
          Only where this exists does ``draw`` get any
        - gates(model, records) -> (n, B), shares of a record that belong to each of several parts
        - curve(model, records, instances, work) -> (curve, parameter, codes), points of the frontier
          figure, the most faithful tables not first
        - chains(model, records, work) -> codes, sweep by sweep
        - guarantee(recipe) -> sentences on what is formally guaranteed

    most_rows : how many rows may be drawn from one model; None for any number
    trains : whether its history is of a loss that falls, for the figure of trainings
    excludes_zeros : whether a fit depends on what counts as a structural zero
    separable : whether records of a table can be drawn some at a time, each part as a table of its own
    whole : whether it is of whole households, not of single records. It has parts fit, load, draw and, where
        there is one, guarantee alone then; they take households in place of records, and draw(model,
        households, row, work) returns households, and the row of the true one at which each began, masked
        where there is none
    """

    name: str
    recipe: type[Recipe]
    row: type[Row]
    method: str
    parts: Mapping[str, str]
    treatments: Mapping[str, str] = field(default_factory=dict)
    untreated: str = "drawn from the model"
    most_rows: int | None = None
    trains: bool = True
    excludes_zeros: bool = False
    separable: bool = False
    whole: bool = False

    def can(self, part: str) -> bool:
        """Whether the family has this part."""
        return part in self.parts

    def _part(self, name: str) -> Callable[..., Any]:
        module, _, function = self.parts[name].partition(":")
        return getattr(importlib.import_module(module), function)

    def fit(self, records: Records, recipe: Recipe, work: Work) -> Fitted:
        """Fit a model to true records."""
        return self._part("fit")(records, recipe, work)

    def load(self, path: Path, codebook: Codebook | Codebooks) -> Model:
        """Read a model that was saved; raise InputError if it is of another codebook."""
        return self._part("load")(path, codebook)

    def draw(
        self, model: Model, records: Records, row: Row, work: Work, instances: Sequence[Drawn] = ()
    ) -> Drawn:
        """Draw the table of one row; raise InputError if the family cannot give the size that it wants."""
        drawn: Drawn = self._part("draw")(model, records, row, work, instances)
        if row.size is not None and len(drawn.codes) != row.size:
            raise InputError(f"{row.row}: models of the family {self.name!r} draw no other number of records")
        return drawn

    def draw_in_parts(self, model: Model, records: Records, row: Row, work: Work) -> Iterator[Drawn]:
        """Draw the table of one row as :meth:`draw` does, of which one part at a time is held.

        A table of more than ``DRAWN_AT_ONCE`` records has several parts, if the family is separable; none
        under a condition or of weighted records, of which parts may have none. Each part is begun at its
        share of the true records, in their order, and is balanced by itself where the row is.
        """
        size = row.size or len(records)
        number = -(-max(size, len(records)) // DRAWN_AT_ONCE) if self.separable else 1
        if number == 1 or row.condition or work.weights is not None:
            yield self.draw(model, records, row, work)
            return
        ends = [(len(records) * k // number, size * k // number) for k in range(number + 1)]
        for k, ((first, drawn), (last, wanted)) in enumerate(itertools.pairwise(ends)):
            own = row.model_copy(update={"size": wanted - drawn}) if row.size else row
            part = self.draw(model, records[first:last], own, replace(work, name=f"{work.name}/{k}"))
            yield replace(part, record=part.record + first)

    def draw_whole(
        self, model: Any, true: Households, row: Row, work: Work
    ) -> tuple[Households, np.ndarray | np.ma.MaskedArray]:
        """Draw one row's whole households, and the rows of the true ones at which they began."""
        found: tuple[Households, np.ndarray] = self._part("draw")(model, true, row, work)
        return found

    def instances(self, model: Model, records: Records, number: int, work: Work) -> list[Drawn]:
        """Draw so many tables from which rows are made."""
        return self._part("instances")(model, records, number, work)

    def gates(self, model: Model, records: Records) -> np.ndarray:
        """Return each record's shares, (n, B)."""
        return self._part("gates")(model, records)

    def curve(
        self, model: Model, records: Records, instances: Sequence[Drawn], work: Work
    ) -> Iterator[tuple[str, float, np.ndarray]]:
        """Yield (curve, parameter, codes) for points between faithful and private."""
        return self._part("curve")(model, records, instances, work)

    def chains(self, model: Model, records: Records, work: Work) -> Iterator[np.ndarray]:
        """Yield the records' codes after each sweep in turn."""
        return self._part("chains")(model, records, work)

    def guarantee(self, recipe: Recipe) -> list[str]:
        """Return sentences on what is formally guaranteed, none if nothing is."""
        return self._part("guarantee")(recipe) if self.can("guarantee") else []
