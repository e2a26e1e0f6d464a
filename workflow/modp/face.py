"""What programs use: models that are fitted to records and sampled, and how accurate the samples are.

The steps of the pipeline call the same functions. With the seed of params.yaml, the names of a model and of
its row, and ``device="cpu"`` on a machine without a GPU, both give the same records.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, Literal, Self, TypeVar, get_args

import numpy as np
import pandas as pd

from modp.base import seeds
from modp.base.config import check
from modp.base.errors import InputError
from modp.base.output import Log, written
from modp.crosstabs.cells import Zeros
from modp.crosstabs.pairs import crosstab
from modp.crosstabs.zeros import zeros_of
from modp.draws import independent
from modp.measures import accuracy, fidelity
from modp.measures.ends import BOOTSTRAP
from modp.measures.pooling import Pooled, pool
from modp.measures.population import Held, population
from modp.models.family import Family, Model, Row, Work
from modp.models.registry import family
from modp.models.stationary import drawing
from modp.models.stationary.model import Stationary as Pairs
from modp.models.stationary.recipe import NATION, StationaryRow
from modp.summaries.accuracy import Row as Measured
from modp.summaries.accuracy import accuracy_table
from modp.survey import where
from modp.survey.codebook import Codebook
from modp.survey.records import Records
from modp.survey.weights import checked
from modp.synthesizer import Synthesizer

__all__ = [
    "Blades",
    "FittedModel",
    "Pooled",
    "Private",
    "Records",
    "Stationary",
    "Synthesizer",
    "Synthetic",
    "compare",
    "pool",
]

R = TypeVar("R", bound=Row)


@dataclass(frozen=True)
class Synthetic(Records):
    """Synthetic records, and how they were drawn, which nobody but the true records' owner may see.

    ``write`` and ``to_frame`` leave that out.

    record : int64 (n,), masked: the row of the true record that each one was drawn from, where there is one
    entropy_bits : float64 (n,), masked: the entropy of what each one was drawn from, where it is known
    """

    record: np.ma.MaskedArray
    entropy_bits: np.ma.MaskedArray


@dataclass(frozen=True)
class FittedModel:
    """A model that was fitted to records, and the codebook of their questions.

    name : its random streams are called after it, as after a model's name in params.yaml
    codebook : of Q questions with K categories in all
    model : the weights
    size : number of records that it was fitted to; None if it was loaded
    history : how the fit went, a line a step; None if it was loaded
    """

    name: str
    codebook: Codebook = field(repr=False)
    model: Model = field(repr=False)
    size: int | None = None
    history: pd.DataFrame | None = field(default=None, repr=False)

    FAMILY: ClassVar[str]

    @classmethod
    def load(cls, path: str | Path, codebook: Codebook, *, name: str | None = None) -> Self:
        """Read a model that :meth:`save`, or the pipeline, wrote.

        Parameters
        ----------
        path : a file of safetensors, such as ``results/sample/stationary/model.safetensors``
        codebook : of the records that it was fitted to
        name : by default that of the model's family

        Raises
        ------
        InputError
            if the model was fitted to other questions or categories than the codebook's
        """
        with cls._torch_as_it_was():
            model = cls._family().load(Path(path), codebook)
        return cls(name or cls.FAMILY, codebook, model)

    def save(self, path: str | Path) -> None:
        """Write the model as safetensors, whole or not at all, with its codebook's digest.

        The codebook itself, which :meth:`load` wants, is not in the file: ``codebook.to_json()`` is its text.
        """
        with written(Path(path)) as temporary:
            self.model.save(temporary, self.codebook)

    def predict(self, records: Records) -> np.ndarray:
        """Return how probable each answer is given the record's other answers.

        Parameters
        ----------
        records : n of them, of the model's codebook

        Returns
        -------
        float64 (n, K), every question's categories summing to one, in the order of ``codebook.columns``

        Raises
        ------
        InputError
            if the records are of other questions or categories
        """
        self._require_own(records)
        return independent.normalised(self.model.predict(records), records.block_starts)

    @classmethod
    def _family(cls) -> Family:
        return family(cls.FAMILY)

    @staticmethod
    def _torch_as_it_was() -> AbstractContextManager[None]:
        """Where a family sets torch's threads for all of a program, put them back."""
        return nullcontext()

    def _require_own(self, records: Records) -> None:
        if records.codebook.digest != self.codebook.digest:
            raise InputError(f"{self.name} was fitted to other questions or categories than these records'")

    @classmethod
    def _fitted(cls, records: Records, work: Work, keys: Mapping[str, object]) -> Self:
        recipe = check({"family": cls.FAMILY, **keys}, cls._family().recipe, f"model {work.name}")
        with cls._torch_as_it_was():
            fitted = cls._family().fit(records, recipe, work)
        work.log(f"{work.name}: {fitted.said}")
        return cls(work.name, records.codebook, fitted.model, len(records), fitted.history)

    def _row(self, kind: type[R], name: str, keys: Mapping[str, object]) -> R:
        return check({"model": self.name, "name": name, **keys}, kind, f"row {self.name}/{name}")

    def _drawn(self, records: Records, row: Row, work: Work) -> Synthetic:
        found = self._family()
        with self._torch_as_it_was():
            wanted = getattr(row, "instances", 0)
            untreated = replace(work, name=self.name)  # they are the model's, whatever the row
            instances = found.instances(self.model, records, wanted, untreated) if wanted else []
            drawn = found.draw(self.model, records, row, work, instances)
        return Synthetic(drawn.codes, self.codebook, drawn.record, drawn.entropy_bits)


class Stationary(FittedModel):
    """One distribution whose pair crosstabs are the true ones, and three-way ones nearly.

    See :mod:`modp.models.stationary.model` for the equation.
    """

    FAMILY = "stationary"

    @classmethod
    def fit(
        cls,
        records: Records,
        *,
        seed: int = 1,
        name: str = "stationary",
        threads: int | None = None,
        device: str = "cpu",
        zeros: Zeros = "sample",
        progress: bool = False,
        weights: np.ndarray | None = None,
        toward: Self | None = None,
        **recipe: object,
    ) -> Self:
        """Fit a model to the records' crosstabs.

        Parameters
        ----------
        records : the true ones, n of them
        seed : of everything random; the same gives the same model
        name : the random streams are called after it
        threads : without influence on the result; None for every core
        device : cpu, cuda, cuda:N, or auto for a GPU where there is one
        zeros : which pairs of answers are never drawn: ``sample`` for those that no true record holds,
            ``likely`` for those of them that chance does not explain, ``stated`` for those that the question
            set calls impossible
        progress : whether to say on the terminal how far the fit has come
        weights : survey weights of the records, (n,), to fit to the weighted crosstab; draw with them too
        toward : a model of many records, such as a nation's, to whose weights the prior pulls those of these
            few, a state's; both without triples. The prior is ``student`` if nothing else is said
        recipe : keys of :class:`modp.models.stationary.recipe.StationaryRecipe`, as in params.yaml:
            ``prior="student"``, ``tolerance=0.02``, ``triples=0``, ``chains=10000`` …

        Raises
        ------
        InputError
            if a key of the recipe is unknown or its value cannot be used; if there is no GPU as asked for;
            if true records hold what is stated to be impossible; if the fit diverges
        """
        work = _work(name, seed, threads, device, zeros, progress)
        if toward is not None:
            toward._require_own(records)
            recipe = {"prior": "student", "triples": 0, **recipe, "toward": NATION}
            work = replace(work, toward=toward.model)
        keys = recipe if weights is None else {**recipe, "weighted": True}
        return cls._fitted(records, replace(work, weights=_weights(weights, records)), keys)

    def sample(
        self,
        records: Records | None = None,
        *,
        sweeps: int | Literal["auto"] = 20,
        start: Literal["records", "fresh"] | None = None,
        balanced: bool = False,
        n: int | None = None,
        given: pd.DataFrame | Mapping[str, object] | None = None,
        seed: int = 1,
        name: str | None = None,
        threads: int | None = None,
        device: str = "cpu",
        weights: np.ndarray | None = None,
    ) -> Synthetic:
        """Draw records by sweeps, each of which redraws every answer given the record's others.

        Parameters
        ----------
        records : where chains start: the true records, one synthetic one from each, in their order. Without
            any the chains start fresh, from the weights alone, and need more sweeps
        sweeps : at least one; more of them leave less of the true record, ``auto`` as little as can be
        start : ``fresh`` to leave the true records out though they are given
        balanced : whether to choose among more draws, so that the crosstab is the one the model expects,
            without the noise of a draw
        n : how many records to draw; by default as many as are given, or as the model was fitted to
        given : a condition on all records, question -> a category or several, each by its code, its label or
            a range of the column's own values, as in ``{"AGEP": ["60-69"], "SEX": 2}``; or a frame of
            answers, of which each row is given to a record of its own and blanks are left open: then ``n`` is
            by default the number of its rows, and if it is another one rows are taken again. What is given
            stays, all else is drawn given that
        seed, threads, device : as in :meth:`fit`
        name : the random streams are called after it and the model's; ``sweeps-20`` and so on by default, or
            ``balanced``
        weights : survey weights of the records, in proportion to which chains start, for a model that was
            fitted with them

        Returns
        -------
        the synthetic records, with their causal partners unless they started fresh

        Raises
        ------
        InputError
            if the records are of other questions or categories than the model's, a value cannot be used, or
            structural zeros leave no record with the given answers
        """
        if isinstance(given, pd.DataFrame):
            if records is not None or start or balanced or sweeps == "auto":
                raise InputError(
                    "records with answers of their own begin fresh, and there is one for each row: leave "
                    "'records', 'start', 'balanced' and sweeps='auto' out, or give a condition on all, as in "
                    "given={'SEX': 2}"
                )
            work = _work(f"{self.name}/{name or 'given'}", seed, threads, device)
            return self._completed(given, sweeps, n, work)
        begun = start or ("fresh" if records is None else "records")
        name = name or ("balanced" if balanced else f"sweeps-{sweeps}")
        keys: dict[str, object] = {"sweeps": sweeps, "start": begun, "balanced": balanced, "size": n}
        row = self._row(StationaryRow, name, keys | ({"where": dict(given)} if given else {}))
        started = self._started(records, row.start, n)
        if records is None:
            row = row.model_copy(update={"size": len(started)})
        work = replace(_work(row.row, seed, threads, device), weights=_weights(weights, started))
        return self._drawn(started, row, work)

    def _completed(self, given: pd.DataFrame, sweeps: int, n: int | None, work: Work) -> Synthetic:
        codes = where.given(given, self.codebook)
        if not len(codes):
            raise InputError("given: the frame has no rows")
        rows = np.resize(np.arange(len(codes)), len(codes) if n is None else n)
        assert isinstance(self.model, Pairs)
        drawn = drawing.complete(self.model, codes[rows], self.codebook, sweeps, work)
        return Synthetic(drawn.codes, self.codebook, drawn.record, drawn.entropy_bits)

    def _started(self, records: Records | None, start: str, n: int | None) -> Records:
        """The records to start at; for fresh ones only their number counts."""
        if records is not None:
            self._require_own(records)
            return records
        if start != "fresh":
            raise InputError("without true records to start at, chains start fresh: leave 'start' out")
        number = self.size if n is None else n
        if number is None:
            raise InputError(f"{self.name} was loaded: say how many records to draw, as in sample(n=10_000)")
        return _nothing(self.codebook, number)


class Blades(FittedModel):
    """The paper's models: blades that predict each answer from the others, combined by a gate."""

    FAMILY = "blades"

    @staticmethod
    def _torch_as_it_was() -> AbstractContextManager[None]:
        return _threads_of_torch()

    @classmethod
    def fit(
        cls,
        records: Records,
        *,
        blades: int = 5,
        reduced: int = 15,
        seed: int = 1,
        name: str | None = None,
        threads: int | None = None,
        device: str = "cpu",
        progress: bool = False,
        **recipe: object,
    ) -> Self:
        """Train a model in its stages.

        Parameters
        ----------
        records : the true ones, n of them
        blades : number of minus-one maps
        reduced : width of the gate's hidden layer
        seed, threads, device, progress : as in :meth:`Stationary.fit`
        name : the random streams are called after it; ``model_5_15`` and so on by default
        recipe : further keys of :class:`modp.models.blades.recipe.BladesRecipe`, as in params.yaml:
            ``stages=[{"loss": "mean_square", "epochs": 20, "learning_rate": 0.01}]``, ``link="softmax"`` …

        Raises
        ------
        InputError
            if a key of the recipe is unknown or its value cannot be used; if there is no GPU as asked for;
            if a stage diverges
        """
        keys = {"blades": blades, "reduced": reduced, **recipe}
        work = _work(name or f"model_{blades}_{reduced}", seed, threads, device, progress=progress)
        return cls._fitted(records, work, keys)

    def sample(
        self,
        records: Records,
        *,
        seed: int = 1,
        name: str = "plain",
        threads: int | None = None,
        device: str = "cpu",
        zeros: Zeros = "sample",
        progress: bool = False,
        n: int | None = None,
        **row: object,
    ) -> Synthetic:
        """Draw one synthetic record from every true one, all answers at once, and treat the table.

        Parameters
        ----------
        records : the true ones
        seed, threads, device, zeros : as in :meth:`Stationary.fit`
        name : the random streams of treatments are called after it and the model's
        progress : whether to say on the terminal what treatments did
        n : how many records there are in the end; by default as many as treatments leave of those given
        row : keys of :class:`modp.models.blades.recipe.BladesRow`, as in params.yaml:
            ``remove_zeros=True``, ``pass_through=0.5``, ``instances=2, threshold=0.5``, ``sweeps=1`` …

        Returns
        -------
        the synthetic records that the treatments left, with their causal partners

        Raises
        ------
        InputError
            if the records are of other questions or categories than the model's, or a key is unknown or its
            value cannot be used
        """
        self._require_own(records)
        checked = self._row(self._family().row, name, row | {"size": n})
        return self._drawn(records, checked, _work(checked.row, seed, threads, device, zeros, progress))


class Private(FittedModel):
    """A stationary model with a formal guarantee, and the one table that was drawn with it.

    docs/privacy.md says what the guarantee means.
    """

    FAMILY = "private"

    @classmethod
    def fit(
        cls,
        records: Records,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        seed: int = 1,
        name: str = "private",
        threads: int | None = None,
        progress: bool = False,
        public: Records | None = None,
        households: np.ndarray | None = None,
        **recipe: object,
    ) -> Self:
        """Spend a budget on noisy crosstabs, fit a model to these alone, draw the table.

        Every fit spends a budget of its own: of several fits to the same people the budgets add up.

        Parameters
        ----------
        records : the true ones; the released table has about as many
        epsilon, delta : of differential privacy, with or without any one record; epsilon from
            0.001 to 100, delta from 1e-30
        seed : of everything but the noise, which comes from the operating system and cannot be repeated
        name, threads, progress : as in :meth:`Stationary.fit`
        public : records that are no secret, under the same codebook, to start from
        households : (n,), a number or name of each record's household, for ``unit="household", most=2``
        recipe : further keys of :class:`modp.models.private.recipe.PrivateRecipe`, as in params.yaml:
            ``selection="adaptive"``, ``public_edges=True``; ``noise="seeded"`` for tests, which anybody who
            knows the seed can take away

        Raises
        ------
        InputError
            if the codebook holds decile edges that are not said to be public; if ``public`` is under
            another codebook; if households are to be protected and are not given, or not one a record; if
            a key is unknown or its value cannot be used
        """
        if households is not None and len(households) != len(records):
            raise InputError(f"{len(records):,} records have {len(households):,} households: give one each")
        if public and public.codebook.digest != records.codebook.digest:
            raise InputError("public records must be under the codebook of the true ones")
        keys = {"epsilon": epsilon, "delta": delta, "public": "public records" if public else None, **recipe}
        work = replace(_work(name, seed, threads, progress=progress), public=public)
        return cls._fitted(records, replace(work, households=households), keys)

    def sample(
        self, n: int | None = None, *, given: Mapping[str, object] | None = None, seed: int = 0
    ) -> Synthetic:
        """Return the one table that is released, which no true record is the start of.

        Parameters
        ----------
        n : so many records instead, some of the released ones or more, drawn by sweeps from these: made of
            what was released alone, with the same guarantee
        given : a condition on all records, as in :meth:`Stationary.sample`
        seed : of those

        Raises
        ------
        InputError
            if a value cannot be used, or no record can be as given
        """
        keys = {"size": n} | ({"where": dict(given)} if given else {})
        row = self._row(self._family().row, "released", keys)
        return self._drawn(_nothing(self.codebook, 0), row, _work(row.row, seed, threads=1))


def compare(
    records: Records,
    synthetic: Records | Mapping[str, Records],
    *,
    seed: int = 1,
    zeros: Zeros = "sample",
    paper_notebook: bool = False,
    holdout: Records | None = None,
) -> pd.DataFrame:
    """Return the table of accuracy (the paper's Table 2), as the pipeline writes it to ``accuracy.parquet``.

    Parameters
    ----------
    records : the true ones, n of them
    synthetic : records of the same codebook, of any number; or several such tables by their names, in which a
        slash parts model and variant
    seed : of the bootstrap resample, the ideal
    zeros : which pairs of answers are counted as structural zeros, as in :meth:`Stationary.fit`
    paper_notebook : whether d is that of the author's notebook
    holdout : records of other people of the same population, of the same codebook, whom the models never saw

    Returns
    -------
    two lines a table, the bootstrap's first: over ``all`` cells i <= j, and over those ``between`` questions.
    ``median``, ``mean_abs`` and ``rms`` are of d = |ln((C_syn + 1) / (C_true + 1))| (paper, equation 11),
    synthetic counts scaled to n; ``ratio_…`` are their ratios to the bootstrap's. ``population_…`` are the
    distances from the holdout as multiples of the true records' own, with standard errors, NaN without one
    (:mod:`modp.measures.population`). ``zero_records`` hold a structural zero; ``entropy_bits`` is the median
    entropy a record, NaN where it is not known

    Raises
    ------
    InputError
        if synthetic records or the holdout are of other questions or categories than the true ones, or true
        records hold what is stated to be impossible
    """
    counts, sets = crosstab(records), accuracy.cell_sets(records.block_starts)
    excluded = zeros_of(_known(zeros), records, counts)
    resampled = independent.resampled(records.codes, seeds.generator(seed, BOOTSTRAP))
    tables = synthetic if isinstance(synthetic, Mapping) else {"synthetic": synthetic}
    tables = {BOOTSTRAP: records.of(resampled), **tables}
    held = records[:0] if holdout is None else holdout
    for name, table in (*tables.items(), ("holdout", held)):
        if table.codebook.digest != records.codebook.digest:
            raise InputError(f"{name}: of other questions or categories than the true records")
    groups = Held.of(held, seeds.generator(seed, "population"))
    rows = []
    for name, table in tables.items():
        model, _, variant = name.partition("/")
        bits = table.entropy_bits.compressed() if isinstance(table, Synthetic) else np.zeros(0)
        totals = len(records), len(table)
        cells = fidelity.cells(counts, crosstab(table), *totals, paper_notebook)
        near = population(cells.synthetic, totals[1], cells.true, totals[0], groups, sets)
        counted = fidelity.counted(table, bits, excluded)
        rows.append(Measured(model, variant, cells.log_ratio, counted, population=near))
    return accuracy_table(rows, accuracy.cell_sets(records.block_starts, paper_notebook), paper_notebook)


def _work(
    name: str,
    seed: int,
    threads: int | None,
    device: str = "cpu",
    zeros: Zeros = "sample",
    progress: bool = False,
) -> Work:
    cores = threads or os.cpu_count() or 1
    return Work(name, seed, cores, device, _known(zeros), Log(quiet=not progress))


def _weights(weights: np.ndarray | None, records: Records) -> np.ndarray | None:
    """The records' weights as numbers to count with; raise InputError if they cannot be."""
    if weights is None:
        return None
    values = np.asarray(weights, np.float64)
    if values.shape != (len(records),):
        raise InputError(f"weights of shape {values.shape} for {len(records):,} records: give one for each")
    return checked({"weights": np.ma.array(values)}, "weights", (), np.arange(len(records)))[0]


def _known(zeros: Zeros) -> Zeros:
    if zeros not in get_args(Zeros):
        raise InputError(f"zeros is {' or '.join(get_args(Zeros))}, not {zeros!r}")
    return zeros


def _nothing(codebook: Codebook, n: int) -> Records:
    """So many records that say nothing of anybody."""
    return Records(np.zeros((n, len(codebook.questions)), np.int16), codebook)


@contextmanager
def _threads_of_torch() -> Iterator[None]:
    import torch  # models without it are fitted and sampled without it

    before = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(before)
