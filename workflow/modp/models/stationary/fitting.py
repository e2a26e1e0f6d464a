"""The fit of a stationary model, that can be interrupted."""

import hashlib
import time
from typing import Any, Protocol

import numpy as np
import pandas as pd

from modp.base import devices, seeds
from modp.base.errors import InputError
from modp.base.progress import Progress
from modp.crosstabs.contrasts import Tested
from modp.crosstabs.zeros import zeros_of
from modp.models.family import Fitted, Work
from modp.models.stationary import matching
from modp.models.stationary.model import Stationary
from modp.models.stationary.recipe import NATION, StationaryRecipe
from modp.survey.codebook import Codebook
from modp.survey.records import Records

CHECKPOINT_S = 10.0

NEAR = 0.5
"""Bias, in units of the sampling variance, that is no shortfall where a model knows its expected crosstab:
then tables get that, and only what pairs do not say is the chains'."""

MODELLED = ("", "contrasts", "table")
"""How a triple is modelled, by :attr:`modp.crosstabs.contrasts.Tested.modelled`."""


def fit(records: Records, recipe: StationaryRecipe, work: Work) -> Fitted:
    """Sweep chains until their crosstab is the true one, from a checkpoint if a killed fit left one.

    Raises
    ------
    InputError
        if the fit diverges at any step, is to be drawn to a model that is not of pairs alone, or there are no
        weights for a model of weighted counts
    """
    if recipe.weighted and work.weights is None:
        raise InputError(f"{work.name}: 'weighted' needs the records' survey weights, and none were given")
    began = time.perf_counter()
    toward = work.toward
    assert toward is None or isinstance(toward, Stationary)
    if toward is None and recipe.toward not in (None, NATION):
        raise InputError(f"{work.name}: toward: the model in {recipe.toward} is not given to the fit")
    if toward is not None and len(toward.triples):
        raise InputError(f"{work.name}: toward: that model has triples too; fit it with 'triples: 0'")
    checkpoint = _Checkpoint(records, recipe, work)
    start = checkpoint.found()
    if start:
        work.log(f"{work.name}: going on from sweep {len(start.facts['history'])}")
    tested: list[Tested] = []
    with Sweeps(work.name, work.log, "sweep") as progress:
        try:
            model, _, history = matching.fit(
                records,
                matching.Settings(**recipe.model_dump()),
                seeds.integer(work.seed, "fit", work.name),
                work.threads,
                progress,
                start,
                checkpoint.keep,
                zeros_of(recipe.zeros or work.zeros, records),
                devices.gpu(work.device),
                work.weights,
                toward,
                tested.append,
            )
        except FloatingPointError as failure:
            raise InputError(f"{work.name}: {failure}; give it smaller steps") from None
    frame = pd.DataFrame(history)
    last = frame.loc[frame["level"] == frame["level"].max(), "bias"].to_numpy()
    enough = max(recipe.tolerance, NEAR) if len(model.expected) else recipe.tolerance
    frame.attrs["shortfall"] = shortfall(last, recipe, matching.Settings().window, enough)
    frame.attrs["interactions"] = interactions(tested[0], records.codebook)
    said = "; ".join(filter(None, [swept(frame, time.perf_counter() - began), frame.attrs["shortfall"]]))
    return Fitted(model, frame, as_training(frame), said)


def swept(history: pd.DataFrame, seconds: float) -> str:
    """Return in one line how a fit went.

    Parameters
    ----------
    history : a line a sweep, the fields of :class:`modp.models.stationary.matching.Iteration`
    """
    bias = history["bias"].tail(10).mean()
    return f"{len(history)} sweeps in {seconds:.0f} s, bias {bias:.3f} of the sampling variance"


def interactions(tested: Tested, codebook: Codebook) -> list[dict[str, Any]]:
    """Return what a fit found of three-way effects, a line a triple of questions, for people and files.

    Parameters
    ----------
    tested : from :func:`modp.models.stationary.matching.fit`
    """
    lines = []
    for t, triple in enumerate(tested.triples.tolist()):
        place, category = tested.effect[t].tolist()
        effect = "linear"
        if place >= 0:
            question = codebook.questions[triple[place]]
            effect = f"{question.name}={question.categories[category].code}"
        lines.append(
            dict(zip(("first", "second", "third"), (codebook.names[q] for q in triple), strict=True))
            | {
                "effect": effect,
                "z": round(float(tested.z[t]), 1),
                "misfit": round(float(tested.misfit[t]), 1),
            }
            | {"found": bool(tested.found[t]), "modelled": MODELLED[int(tested.modelled[t])]}
        )
    return lines


class Ends(Protocol):
    """What a recipe says of when a fit ends."""

    @property
    def tolerance(self) -> float: ...  # noqa: D102

    @property
    def most_windows(self) -> int: ...  # noqa: D102


def shortfall(bias: np.ndarray, recipe: Ends, window: int, enough: float | None = None) -> str:
    """Return a sentence if a fit's bias stayed above what is enough beyond noise, or nothing.

    Parameters
    ----------
    bias : of each sweep of the last level
    window : sweeps of a window; the last two are judged, their noise by the spread from sweep to sweep, taken
        twice since sweeps are not independent
    enough : None for the recipe's tolerance
    """
    enough = recipe.tolerance if enough is None else enough
    last = bias[-2 * window :]
    if len(last) < 2 * window:
        return ""
    mean, error = last.mean(), 2 * last.std(ddof=1) / np.sqrt(len(last))
    if mean - 2 * error <= enough:
        return ""
    at_the_bound = len(bias) >= recipe.most_windows * window
    what = "allow it more windows (most_windows)" if at_the_bound else "it fell no more; ask fewer questions"
    return (
        f"its fit ended before it arrived: the crosstab's bias is {mean:.2f} of the sampling variance, not "
        f"{enough:g}; {what}"
    )


class _Checkpoint:
    """Keeps the state of a fit now and then, for a run that is killed."""

    def __init__(self, records: Records, recipe: StationaryRecipe, work: Work):
        what = [recipe.model_dump_json(), work.zeros, work.device, records.codebook.digest]
        what += [str(work.seed), work.name]
        self.path = work.checkpoint
        digest = hashlib.sha256("\n".join(what).encode())
        toward = work.toward.w if isinstance(work.toward, Stationary) else None
        for data in (records.codes, toward, work.weights):
            if data is not None:
                digest.update(np.ascontiguousarray(data).data)
        self.of = digest.hexdigest()
        self.saved = time.monotonic()

    def found(self) -> matching.State | None:
        """Return the state that was kept of this fit, if there is one."""
        return matching.load_state(self.path, self.of) if self.path else None

    def keep(self, state: matching.State) -> None:
        """Write the state if the last one is older than some seconds."""
        if self.path and time.monotonic() - self.saved >= CHECKPOINT_S:
            matching.save_state(self.path, self.of, state)
            self.saved = time.monotonic()


def as_training(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the history in the columns of a training's, for the same plots."""
    columns = {
        "stage": frame["level"],
        "loss_name": "discrepancy",
        "epoch": frame["iteration"],
        "loss": frame["discrepancy"],
        "learning_rate": frame["step"],
    }
    return pd.DataFrame(columns)


class Sweeps(Progress):
    """Tells of a fit's sweeps."""

    def __call__(self, line: matching.Iteration) -> None:
        """Say how the chains stand after a sweep."""
        text = f"{self.name}: sweep {line.iteration}, discrepancy {line.discrepancy:.3f}"
        text += f", bias {line.bias:.3f}"
        self.tell(text, text)
