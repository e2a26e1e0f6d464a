"""The fit of a private model: it spends the budget, and draws the one table that it releases."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from modp.base import seeds
from modp.base.errors import InputError
from modp.base.progress import Progress
from modp.crosstabs.pairs import crosstab
from modp.models.family import Fitted, Work
from modp.models.private import budget, noise, release
from modp.models.private.public import refuse_private_edges, start_of
from modp.models.private.recipe import PrivateRecipe, Spending
from modp.models.private.unit import taken
from modp.models.stationary.model import Stationary, loaded
from modp.survey.codebook import Codebook
from modp.survey.records import Records


@dataclass(frozen=True)
class Released:
    """All that is released: the model, and the one table.

    codes : int16 (n, Q)
    entropy_bits : (n,), of the distributions that the last sweep drew from
    """

    model: Stationary
    codes: np.ndarray
    entropy_bits: np.ndarray

    def predict(self, records: Records) -> np.ndarray:
        """Return the odds of each question's categories given the record's other answers, (n, K)."""
        return self.model.predict(records)

    def save(self, path: Path, codebook: Codebook) -> None:
        """Write model and table into one file of safetensors."""
        table = {"released": self.codes, "entropy_bits": self.entropy_bits}
        self.model.save(path, codebook, table)


def load(path: Path, codebook: Codebook) -> Released:
    """Read what was released; raise InputError if it is of another codebook."""
    model, table = loaded(path, codebook)
    return Released(model, table["released"], table["entropy_bits"])


def fit(records: Records, recipe: PrivateRecipe, work: Work) -> Fitted:
    """Spend the budget on noisy tables, fit to them, draw the table.

    Raises
    ------
    InputError
        if the codebook holds decile edges that are not said to be public, or households are to be
        protected and those of the records are not known
    """
    released, gate = spent(records, recipe, work)
    history = pd.DataFrame(released.history)
    names = dict(enumerate(records.codebook.names)) | {-1: None}
    said = (
        f"{len(released.codes):,} records from {len(history) - 1} pair tables, "
        f"({recipe.epsilon:g}, {recipe.delta:g})-differentially private, rho = {float(gate.rho):.4g}"
    )
    model = Released(released.model, released.codes, released.entropy_bits)
    return Fitted(model, history.replace({"first": names, "second": names}), as_training(history), said)


def as_training(history: pd.DataFrame) -> pd.DataFrame:
    """Return a fit's history as the figure of all models' training takes it."""
    return pd.DataFrame(
        {
            "stage": 1,
            "loss_name": "surprise",
            "epoch": np.arange(len(history)),
            "loss": history["surprise"],
            "learning_rate": 0.0,
        }
    )


def spent(records: Records, recipe: PrivateRecipe, work: Work) -> tuple[release.Release, budget.Gate]:
    """Return what a model releases, and the gate with its ledger; raise InputError as :func:`fit` does."""
    codebook, name = records.codebook, work.name
    refuse_private_edges(codebook, recipe.public_edges, name)
    secret = recipe.noise == "secret"
    source = noise.Secret() if secret else noise.Seeded(seeds.generator(work.seed, "noise", name))
    rho = budget.rho_of(recipe.epsilon, recipe.delta)
    most = 1
    if recipe.most is not None:
        records, most = _of_households(records, recipe.most, work), recipe.most
    gate = budget.Gate(crosstab(records, work.threads), codebook.block_starts, rho, source, most)
    del records  # nothing but the gate knows them from here on
    settings = release.Settings(**recipe.model_dump(include=set(Spending.model_fields)))
    seed, zeros = seeds.integer(work.seed, "fit_private", name), codebook.stated_zeros
    start = None
    if work.public:
        start = start_of(work.public, zeros, seeds.integer(seed, "public"), work.threads)
    with _Progress(name, work.log, "table") as progress:
        found = release.release(
            gate, codebook.block_starts, zeros, settings, seed, work.threads, progress, start
        )
    return found, gate


def _of_households(records: Records, most: int, work: Work) -> Records:
    """The records that are taken of households; the log says how many are not, which is for the office."""
    if work.households is None:
        raise InputError(
            f"{work.name}: 'unit: household' protects households, and of which one each record is, is not "
            "known; name the column of their key in the dataset YAML, as in household: SERIALNO"
        )
    rows = taken(records.codes, work.households, most, work.seed)
    work.log(
        f"{work.name}: {len(rows):,} of {len(records):,} records are taken, at most {most} of a household "
        "(true numbers, which no budget pays for: not to be told)"
    )
    return records[rows]


class _Progress(Progress):
    """Tells of tables."""

    def __call__(self, line: release.Measured) -> None:
        what = "one-way tables" if line.first < 0 else f"pair {line.first}, {line.second}"
        text = f"{self.name}: {what}, noise {line.sigma:.1f}, surprise {line.surprise:.2f}"
        self.tell(text, text)
