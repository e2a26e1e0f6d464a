"""Missing answers drawn given a record's other answers."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from modp.models.family import Work
from modp.models.stationary import drawing, fitting
from modp.models.stationary.model import Stationary
from modp.models.stationary.recipe import IN_ONE_COMMAND, StationaryRecipe
from modp.survey.codebook import Codebook
from modp.survey.records import Records
from modp.survey.where import OPEN

ROUNDS = 3
"""Times that the model is fitted again, to records completed by the one before."""

SWEEPS = 20
"""From one completed table to the next."""


@dataclass(frozen=True)
class Holes:
    """Records with missing answers.

    records : n of them, in which a missing answer is a category too
    missing : bool (K,), those categories
    """

    records: Records
    missing: np.ndarray

    @property
    def places(self) -> np.ndarray:
        """Which answers are missing: bool (n, Q)."""
        return self.missing[self.records.columns]


def impute(
    holes: Holes,
    times: int,
    work: Work,
    recipe: StationaryRecipe = IN_ONE_COMMAND,
    rounds: int = ROUNDS,
    said: Callable[[str], None] = lambda _: None,
) -> Iterator[np.ndarray]:
    """Draw completed tables from a model of the records.

    The first model is fitted to the records as they are, a missing answer a category like others, and the
    answers are drawn from it with these categories excluded. That model cannot tell how two answers go
    together without a third that is missing; so, as in stochastic EM (Celeux and Diebolt, 1985), it is fitted
    again to the completed records, of the categories that are answers, and they are drawn again, ``rounds``
    times. The tables are states of the last model's chains, ``SWEEPS`` sweeps apart.

    Parameters
    ----------
    times : number of tables
    said : is told of records whose own answers structural zeros exclude, in which missing ones are drawn
        without these

    Yields
    ------
    int16 (n, Q), codes without a missing answer, the others as they were
    """
    true, places = holes.records, holes.places
    own = np.flatnonzero(places.any(axis=1))
    among = _Answers.of(holes)
    model = _fitted(true, recipe, work, 0).restricted(among.answered)
    given = np.where(places, OPEN, true.codes)[own].astype(np.int16)
    codes, lost = drawing.begun(model, given, work)
    if len(lost):
        said(f"{len(lost):,} records are filled without structural zeros, which leave them no answer")
        without = replace(model, excluded=np.zeros_like(model.excluded)).restricted(among.answered)
        codes[lost] = drawing.begun(without, given[lost], work)[0]
    held = ~places[own]
    completed = true.codes.copy()
    completed[own] = drawing.kept_sweeping(model, codes, held, SWEEPS, work)[0]
    completed = among.to(completed)
    for number in range(1, rounds + 1):
        model = _fitted(Records(completed, among.codebook), recipe, work, number)
        again = replace(work, name=f"{work.name}/{number}")
        completed[own] = drawing.kept_sweeping(model, completed[own], held, SWEEPS, again)[0]
    for number in range(1, times + 1):
        yield among.back(completed)
        if number < times:
            again = replace(work, name=f"{work.name}/table-{number + 1}")
            completed[own] = drawing.kept_sweeping(model, completed[own], held, SWEEPS, again)[0]


def _fitted(records: Records, recipe: StationaryRecipe, work: Work, number: int) -> Stationary:
    fitted = fitting.fit(records, recipe, replace(work, name=f"{work.name}/fit-{number}")).model
    assert isinstance(fitted, Stationary)
    return fitted


@dataclass(frozen=True)
class _Answers:
    """The categories that are answers and that somebody gives, for a model of these alone.

    answered : bool (K,), which ones
    starts : of the blocks of all categories
    codebook : of those that are answers
    """

    answered: np.ndarray
    starts: np.ndarray
    codebook: Codebook

    @staticmethod
    def of(holes: Holes) -> "_Answers":
        """Look at records with missing answers."""
        codebook, size = holes.records.codebook, len(holes.missing)
        answered = ~holes.missing & (np.bincount(holes.records.columns.ravel(), minlength=size) > 0)
        kept = {name for name, own in zip(codebook.columns, answered, strict=True) if own}
        questions = tuple(
            replace(q, categories=tuple(c for c in q.categories if f"{q.name}={c.code}" in kept))
            for q in codebook.questions
        )
        pairs = [tuple(tuple(n for n in side if n in kept) for side in pair) for pair in codebook.impossible]
        impossible = tuple((one, other) for one, other in pairs if one and other)
        less = replace(codebook, questions=questions, impossible=impossible)
        return _Answers(answered, codebook.block_starts[:-1], less)

    def to(self, codes: np.ndarray) -> np.ndarray:
        """Return codes of all categories as codes of these."""
        at = np.cumsum(self.answered) - 1
        return (at[codes + self.starts] - self.codebook.block_starts[:-1]).astype(np.int16)

    def back(self, codes: np.ndarray) -> np.ndarray:
        """Return codes of these as codes of all categories."""
        columns = np.flatnonzero(self.answered)[codes + self.codebook.block_starts[:-1]]
        return (columns - self.starts).astype(np.int16)
