"""A public table as the start of a private model: last year's file, or another state's.

It costs nothing, since nothing of it is secret: a stationary model is fitted to it, whose weights are where
those of the private model start and what its prior pulls them to. What the private records' noisy answers
do not contradict stays the public table's: the tables never measured, and what is empty.
"""

from dataclasses import dataclass

import numpy as np

from modp.base.errors import InputError
from modp.draws import postprocess
from modp.models.stationary import matching
from modp.models.stationary.model import Stationary
from modp.survey.codebook import Codebook
from modp.survey.coding import NUMBERS
from modp.survey.records import Records

FEWEST, MOST_CHAINS = 100, 20_000
"""Public records that a start needs, and chains of its fit."""


@dataclass(frozen=True)
class Start:
    """A fitted model of pairs, and the states of its chains, int16 (m, Q)."""

    model: Stationary
    chains: np.ndarray


def start_of(public: Records, excluded: np.ndarray, seed: int, threads: int) -> Start:
    """Fit a model to public records; those that hold an excluded pair of answers are left out.

    Parameters
    ----------
    excluded : bool (K, K), symmetric: pairs of answers that stated rules exclude

    Raises
    ------
    InputError
        if that leaves too few
    """
    allowed = public[~postprocess.violations(public, excluded)]
    if len(allowed) < FEWEST:
        raise InputError(
            f"public: of its {len(public):,} records only {len(allowed):,} are without answers that the "
            f"question set says exclude each other, and a start needs {FEWEST}: is it of the same questions?"
        )
    settings = matching.Settings(prior="student", triples=0, chains=min(len(allowed), MOST_CHAINS))
    model, chains, _ = matching.fit(allowed, settings, seed, threads, lambda _: None, excluded=excluded)
    return Start(model, chains)


def refuse_private_edges(codebook: Codebook, public: bool, name: str) -> None:
    """Raise InputError if what a codebook holds was found by looking at records.

    Parameters
    ----------
    public : whether model ``name`` says that decile edges, and such categories, are public
    """
    cut = [question.name for question in codebook.questions if question.edges and question.made != NUMBERS]
    if public or not (cut or codebook.from_records):
        return
    if cut:
        what = f"the decile edges of {', '.join(cut)} were computed from the true records"
        instead = "Take a question set without deciles; or, if these edges are"
    else:
        what = f"categories of {codebook.question_set!r} were found by looking at the true records"
        instead = "Take a question set that was made without them; or, if these categories are"
    raise InputError(
        f"{name}: {what}, which no budget pays for. {instead} known from elsewhere, another year's file for "
        f"instance, say 'public_edges: true' under models.{name}"
    )
