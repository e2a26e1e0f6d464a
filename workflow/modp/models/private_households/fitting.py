"""The fit of a private model of households: it spends the budget, and draws what it releases."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from modp.base import seeds
from modp.base.progress import Progress
from modp.models.family import Fitted, Work
from modp.models.households import rules
from modp.models.households.model import HouseholdWeights, loaded
from modp.models.households.recipe import agreeing
from modp.models.private import budget, noise
from modp.models.private.fitting import as_training
from modp.models.private.public import refuse_private_edges
from modp.models.private_households import release
from modp.models.private_households.gate import HouseholdGate
from modp.models.private_households.recipe import PrivateHouseholdsRecipe
from modp.survey.households import Codebooks, Households
from modp.survey.records import Records

RELEASED = ("released.persons", "released.homes", "released.starts", "released.roles")
"""The arrays of the released households in a model's file."""


@dataclass(frozen=True)
class Released:
    """All that is released: the model, and the households."""

    model: HouseholdWeights
    households: Households

    def save(self, path: Path, books: Codebooks) -> None:
        """Write model and households into one file of safetensors."""
        own = self.households
        arrays = own.persons.codes, own.homes.codes, own.starts, own.roles
        self.model.save(path, books, dict(zip(RELEASED, arrays, strict=True)))


def load(path: Path, books: Codebooks) -> Released:
    """Read what was released; raise InputError if it is of other codebooks."""
    model, arrays = loaded(path, books)
    persons, homes, starts, roles = (arrays[name] for name in RELEASED)
    records = Records(persons, books.persons), Records(homes, books.homes)
    return Released(model, Households(*records, starts, roles))


def fit(true: Households, recipe: PrivateHouseholdsRecipe, work: Work) -> Fitted:
    """Spend the budget on noisy tables, fit to them, draw the households.

    Raises
    ------
    InputError
        as :func:`spent` does
    """
    released, gate = spent(true, recipe, work)
    history = pd.DataFrame(released.history)
    said = (
        f"{len(released.households):,} households from {len(history) - 2} tables of two answers, "
        f"({recipe.epsilon:g}, {recipe.delta:g})-differentially private for each household, "
        f"rho = {float(gate.rho):.4g}"
    )
    return Fitted(Released(released.model, released.households), history, as_training(history), said)


def spent(
    true: Households, recipe: PrivateHouseholdsRecipe, work: Work
) -> tuple[release.Release, HouseholdGate]:
    """Return what a model releases, and the gate with its ledger.

    Raises
    ------
    InputError
        if a codebook holds decile edges that are not said to be public, the recipe names a question or a
        rule that there is not, or there are households of more persons than it says
    """
    books, name = true.codebook, work.name
    for book in books:
        refuse_private_edges(book, recipe.public_edges, name)
    places = agreeing(recipe.agree, books.persons.names)
    excluded = rules.excluded(recipe.impossible, books)
    secret = recipe.noise == "secret"
    source = noise.Secret() if secret else noise.Seeded(seeds.generator(work.seed, "noise", name))
    rho = budget.rho_of(recipe.epsilon, recipe.delta)
    gate = HouseholdGate(true, places, recipe.most, rho, source, work.threads)
    del true  # nothing but the gate knows them from here on
    settings = release.Settings(tables=recipe.tables, chains=recipe.chains, exchanges=recipe.exchanges)
    seed = seeds.integer(work.seed, "fit_private_households", name)
    with _Progress(name, work.log, "table") as progress:
        found = release.release(
            gate, books, places, recipe.most, excluded, settings, seed, work.threads, progress
        )
    return found, gate


class _Progress(Progress):
    """Tells of tables."""

    def __call__(self, line: release.Measured) -> None:
        text = f"{self.name}: {line.table}, noise {line.sigma:.1f}, surprise {line.surprise:.2f}"
        self.tell(text, text)
