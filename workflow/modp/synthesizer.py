"""A table in, synthetic tables out: what ``modp synthesize`` does, for frames in a program."""

import io
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
import pyarrow as pa
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from modp.base import seeds
from modp.base.config import check, load, parsed
from modp.base.errors import InputError, did_you_mean
from modp.base.output import Log, written
from modp.files.columns import decide
from modp.files.frames import frame_of, table_of
from modp.files.options import DETECTED
from modp.files.plan import as_yaml, plan
from modp.files.raw import raw
from modp.files.table import BLANK, Column, Table
from modp.models.family import Model, Work
from modp.models.registry import family
from modp.models.stationary.drawing import complete
from modp.models.stationary.model import Stationary
from modp.models.stationary.recipe import POPULATION, StationaryRow
from modp.pums.where import Dataset
from modp.release import drawing
from modp.release.answers import Source
from modp.release.assembled import released
from modp.release.drawing import Asked, Pool
from modp.release.imputed import Imputed
from modp.survey import coding, where
from modp.survey.codebook import Codebook
from modp.survey.questions import QuestionSet
from modp.survey.records import Records

MODEL = "population"
EXAMPLES = 30
"""Answers that are kept for each category, from which samples take theirs where synthetic records are few."""

SWEEPS = 20
"""Sweeps of a sample; it starts at synthetic records, whose chains have forgotten the true ones."""

SWEEPS_OF_FRESH = 50
"""Of one that starts at records drawn answer by answer, beside those that are given."""

FORMAT, VERSION = "modp.synthesizer", "2"


class Synthesizer:
    """Synthetic tables of a frame's columns and dtypes, from a model of its rows.

    Follows scikit-learn's conventions: what is given is kept as it is, what was learnt ends in ``_``.

    Parameters
    ----------
    questions : a question set, or the path of its YAML file, in place of the one that is found by looking
        at the frame (:func:`modp.files.columns.decide`)
    seed : of the fit
    threads : without influence on the result; None for every core

    Attributes
    ----------
    decisions_ : what was taken for what, a decision a column; empty where ``questions`` were given
    questions_ : the question set
    codebook_ : its categories
    """

    decisions_: list[Any]
    questions_: QuestionSet
    codebook_: Codebook

    def __init__(
        self, questions: QuestionSet | str | Path | None = None, *, seed: int = 1, threads: int | None = None
    ):
        """Keep what is given."""
        self.questions, self.seed, self.threads = questions, seed, threads

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return what was given."""
        return {"questions": self.questions, "seed": self.seed, "threads": self.threads}

    def set_params(self, **params: Any) -> Self:
        """Change what was given; raise ValueError if there is no such parameter."""
        unknown = sorted(set(params) - set(self.get_params()))
        if unknown:
            raise ValueError(f"Synthesizer has no parameter {', '.join(unknown)}")
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def fit(self, X: pd.DataFrame, y: object = None) -> Self:  # noqa: N803
        """Learn from a frame.

        Parameters
        ----------
        X : true records, n of them
        y : not used

        Raises
        ------
        InputError
            if the frame cannot be synthesised, with the reason
        """
        table = table_of(X)
        self._look(table)
        rng = seeds.generator(self.seed, "deciles")
        codes, self.codebook_ = coding.code(raw(table, self.questions_, "the frame"), self.questions_, rng)
        records = Records(codes, self.codebook_)
        found = family(POPULATION.family)
        self._model = found.fit(records, POPULATION, self._work(MODEL, self.seed)).model
        row = StationaryRow(model=MODEL, name="balanced", sweeps="auto", balanced=True)
        drawn = found.draw(self._model, records, row, self._work(row.row, self.seed), [])
        source = Source(records, self.questions_, self._dataset, table, np.arange(len(table)))
        self._keep(X, drawn.codes, source)
        return self

    def sample(
        self,
        n: int | None = None,
        seed: int = 1,
        given: pd.DataFrame | Mapping[str, object] | None = None,
    ) -> pd.DataFrame:
        """Draw synthetic records: a frame of the columns, their order and dtypes of the one that was fitted.

        No true record is looked at again: chains start at synthetic records, and numbers inside their classes
        are those of synthetic records that answer alike.

        Parameters
        ----------
        n : number of records; by default as many as were fitted, or are given
        seed : another one gives other records
        given : answers that stay while all others are drawn given them. Of a frame with some of the columns
            each row is given to a record of its own, in its order, and blanks are left open; with another
            ``n`` rows are taken again. A mapping is a condition on all records, question -> a category or
            several, each by its code, its label, or a range of the column's own values, as in
            ``{"age": ["60-69"], "sex": "f"}``

        Raises
        ------
        InputError
            if there is no such column or answer, or answers exclude each other
        """
        self._require_fitted()
        if isinstance(given, pd.DataFrame):
            return self._completed(given, n, seed)
        codes = self._drawn(n, seed, given)
        return frame_of(released(codes, self._source(), seed).table, self._like)

    def _drawn(self, n: int | None, seed: int, given: Mapping[str, object] | None) -> np.ndarray:
        """Codes of records that meet a condition, if there is one."""
        size = len(self._starts) if n is None else n
        keys: dict[str, Any] = {"sweeps": SWEEPS, "balanced": True, "size": size}
        if given:
            keys["where"] = dict(given)
            allowed = where.allowed(given, self.codebook_)
            if not allowed[self._starts + self.codebook_.block_starts[:-1]].all(axis=1).any():
                keys |= {"sweeps": SWEEPS_OF_FRESH, "start": "fresh"}
        row = check({"model": MODEL, "name": "sample", **keys}, StationaryRow, "sample(n)")
        starts = Records(self._starts, self.codebook_)
        return family(POPULATION.family).draw(self._model, starts, row, self._work(row.row, seed), []).codes

    def _completed(self, given: pd.DataFrame, n: int | None, seed: int) -> pd.DataFrame:
        """One record for each row of given answers, which stand in it as they are."""
        table, like = table_of(given), {column.name: column for column in self._template.columns}
        if not len(table):
            raise InputError("given: the frame has no rows")
        codes = self._codes_given(table)
        size = len(codes) if n is None else n
        rows = np.resize(np.arange(len(codes)), size)
        assert isinstance(self._model, Stationary)
        work = self._work(f"{MODEL}/given", seed)
        drawn = complete(self._model, codes[rows], self.codebook_, SWEEPS_OF_FRESH, work)
        made = released(drawn.codes, self._source(), seed, shuffled=False).table
        for column in table.columns:
            texts, blank = column.words.filled("")[rows], (column.places == BLANK)[rows]
            own = made[column.name].words.filled("")
            made = made.replaced(drawing.column(like[column.name], np.where(blank, own, texts)))
        return frame_of(made, self._like)

    def _codes_given(self, table: Table) -> np.ndarray:
        """The answers that a table gives: int16 (n, Q), ``OPEN`` where there is none."""
        columns = {question.column for question in self.codebook_.questions}
        for name in table.names:
            if name not in columns:
                known = "is no question" if name in self._template.names else "is not there"
                raise InputError(f"given: the column {name!r} {known}{did_you_mean(name, columns)}")
        codes = np.full((len(table), len(self.codebook_.questions)), where.OPEN, np.int16)
        recipes = {recipe.name: recipe for recipe in self.questions_.questions}
        asked = [r for r in self.questions_.questions if r.source in table.names]
        values = raw(table, self.questions_.model_copy(update={"questions": asked}), "given")
        for q, question in enumerate(self.codebook_.questions):
            if question.column not in values:
                continue
            answers = values[question.column]
            rng = seeds.generator(self.seed, "given", question.name)
            places = coding.places_under(answers, recipes[question.name], question, rng)
            there = ~np.ma.getmaskarray(answers)
            lost = there & (places == coding.UNKNOWN)
            if lost.any():
                unknown = str(answers[lost][0])
                words = [word for c in question.categories for word in (c.code, c.label)]
                near = did_you_mean(unknown, words) or f" (it has {', '.join(question.labels[:8])} …)"
                raise InputError(f"given: {question.column} has no answer {unknown!r}{near}")
            codes[there, q] = places[there]
        return codes

    def _source(self) -> Source:
        """What answers are drawn from: synthetic records, and what is kept of each category."""
        starts = Records(self._starts, self.codebook_)
        pools = {name: self._pools(q) for q, name in enumerate(self.codebook_.names)}
        rows = np.arange(len(self._starts))
        return Source(starts, self.questions_, self._dataset, self._template, rows, public=pools, rarity=1)

    def impute(self, X: pd.DataFrame, times: int = 1, seed: int = 1) -> list[pd.DataFrame]:  # noqa: N803
        """Fill missing answers from a model of the frame's rows, given each row's other answers.

        It needs no :meth:`fit`, and changes nothing that one has learnt.

        Parameters
        ----------
        X : true records, n of them. What is missing says :func:`modp.release.holes.found`, or ``no_answer``
            in the question set that this Synthesizer was given
        times : completed frames, for multiple imputation
        seed : another one gives other answers

        Returns
        -------
        frames of the rows, columns, index and dtypes of ``X``, with the other answers as they were

        Raises
        ------
        InputError
            if no answer is missing, or the frame cannot be coded
        """
        table, copy = table_of(X), Synthesizer(self.questions, seed=seed)
        copy._look(table)
        imputed = Imputed.of(table, copy.questions_, "the frame", seed)
        threads, frames = self.threads or os.cpu_count() or 1, []
        for filled in imputed.tables(times, seed, threads, lambda _: None):
            made, frame = frame_of(filled, X), X.copy()
            for at, (old, new) in enumerate(zip(table.columns, filled.columns, strict=True)):
                rows = np.flatnonzero(old.places != new.places)
                if len(rows):
                    frame.isetitem(at, _with(X.iloc[:, at], made.iloc[:, at], rows))
            frames.append(frame)
        return frames

    def _look(self, table: Table) -> None:
        if self.questions is None:
            self.decisions_ = decide(table)
            dataset, questions = plan(table, self.decisions_, "the frame", "frame", DETECTED)
            self._dataset = check(parsed(dataset), Dataset, "the frame")
            self.questions_ = check(parsed(questions), QuestionSet, "the frame's questions")
            return
        given = self.questions
        self.decisions_ = []
        self.questions_ = given if isinstance(given, QuestionSet) else load(given, QuestionSet)
        named = {"title": self.questions_.title, "questions": "given", "files": ["the frame"], "table": {}}
        self._dataset = check(named, Dataset, "the frame")

    def _keep(self, frame: pd.DataFrame, codes: np.ndarray, source: Source) -> None:
        """Keep what samples are made of: synthetic records, and answers drawn for each category."""
        order = seeds.generator(self.seed, "starts").permutation(len(codes))
        self._starts, self._like = codes[order], frame.iloc[:0]
        self._template = released(self._starts, source, self.seed, shuffled=False).table
        self._answers = {}
        recipes = {recipe.name: recipe for recipe in self.questions_.questions}
        for q, question in enumerate(self.codebook_.questions):
            column, size = source.table[question.column], len(question.categories)
            found = drawing.pools(source.records.codes[:, q], size, column, source.rows)
            rng = seeds.generator(self.seed, "examples", question.name)
            asked = Asked.of(question, recipes[question.name], column, own=True)
            texts = drawing.answers(self._every_category(q), drawing.bins(asked, found), rng)
            self._answers[question.name] = drawing.column(column, texts)

    def _every_category(self, q: int) -> np.ndarray:
        """Codes of a question for which answers are kept: some of each category."""
        return np.repeat(np.arange(self.codebook_.sizes[q], dtype=self._starts.dtype), EXAMPLES)

    def _pools(self, q: int) -> list[Pool]:
        codes, column = self._every_category(q), self._answers[self.codebook_.names[q]]
        return drawing.pools(codes, int(self.codebook_.sizes[q]), column, np.arange(len(codes)))

    def _work(self, name: str, seed: int) -> Work:
        return Work(name, seed, self.threads or os.cpu_count() or 1, "cpu", "sample", Log(quiet=True))

    def _require_fitted(self) -> None:
        if not hasattr(self, "_starts"):
            raise InputError("this Synthesizer was not fitted: call fit(frame) first, or load one")

    def save(self, path: str | Path) -> None:
        """Write all that :meth:`sample` needs into one file of safetensors, whole or not at all.

        It holds the model, and synthetic records with their answers; of true records what a model tells, and
        the words that are categories.

        Raises
        ------
        InputError
            if a column's name is neither a text nor a whole number, or its dtype has no place in a file
        """
        self._require_fitted()
        tensors, told = _written_model(self._model, self.codebook_)
        listed = _categories(self._like)
        tensors |= {"starts": self._starts, "like": _like_packed(self._like), **listed}
        columns = {"answers": self._answers, "template": {c.name: c for c in self._template.columns}}
        for part, found in columns.items():
            tensors |= {f"{part}.{at}": column.places for at, column in enumerate(found.values())}
        content = {
            "version": VERSION,
            "seed": self.seed,
            "model": told,
            "codebook": self.codebook_.to_json(),
            "questions": as_yaml(self.questions_.model_dump(exclude_unset=True)),
            "dataset": as_yaml(self._dataset.model_dump(exclude_unset=True)),
            "names": _names(self._like),
            "of_categories": {n: str(self._like.dtypes.iloc[int(n[11:])].categories.dtype) for n in listed},
            "columns": {part: [c.told for c in found.values()] for part, found in columns.items()},
        }
        with written(Path(path)) as temporary:
            save_file(tensors, temporary, {FORMAT: json.dumps(content, ensure_ascii=False)})

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a Synthesizer that :meth:`save` wrote; raise InputError if the file is none."""
        try:
            with safe_open(path, "numpy") as file:
                content = json.loads((file.metadata() or {})[FORMAT])
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except FileNotFoundError:
            raise InputError(f"{path}: there is no such file") from None
        except (SafetensorError, KeyError, ValueError):
            raise InputError(f"{path} is no Synthesizer's file, or is damaged") from None
        if content["version"] != VERSION:
            raise InputError(f"{path} is of another version of modp: fit again")
        made = cls(seed=content["seed"])
        made.decisions_ = []
        made.questions_ = check(parsed(content["questions"]), QuestionSet, str(path))
        made._dataset = check(parsed(content["dataset"]), Dataset, str(path))
        made.codebook_ = Codebook.from_json(content["codebook"])
        made._model = _read_model(tensors, content["model"], made.codebook_)
        made._starts = tensors["starts"]
        made._like = _with_categories(_unpacked(tensors["like"]), tensors, content["of_categories"])
        made._like.columns = pd.Index(content["names"])
        columns = {
            part: [Column.of(told, tensors[f"{part}.{at}"]) for at, told in enumerate(found)]
            for part, found in content["columns"].items()
        }
        made._answers = dict(zip(made.codebook_.names, columns["answers"], strict=True))
        made._template = Table(tuple(columns["template"]))
        return made


def _with(column: pd.Series, other: pd.Series, rows: np.ndarray) -> pd.Series:
    """A column with another one's values in some rows."""
    filled = column.copy()
    filled.iloc[rows] = other.iloc[rows].to_numpy()
    return filled


def _written_model(model: Model, codebook: Codebook) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The tensors of a model's file, named ``model.…``, and what its metadata say."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.safetensors")
        model.save(path, codebook)
        with safe_open(path, "numpy") as file:
            tensors = {f"model.{name}": file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            return tensors, file.metadata() or {}


def _read_model(tensors: Mapping[str, np.ndarray], told: Mapping[str, str], codebook: Codebook) -> Model:
    own = {n.removeprefix("model."): t for n, t in tensors.items() if n.startswith("model.")}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.safetensors")
        save_file(own, path, dict(told))
        return family(POPULATION.family).load(path, codebook)


def _packed(frame: pd.DataFrame) -> np.ndarray:
    """A frame as the bytes of a Parquet file, which keeps its dtypes, but for lists of categories."""
    buffer = io.BytesIO()
    frame.to_parquet(buffer)
    return np.frombuffer(buffer.getvalue(), np.uint8)


def _like_packed(frame: pd.DataFrame) -> np.ndarray:
    """The same of an empty frame, whose columns may have any names, without these."""
    try:
        return _packed(frame.set_axis([str(at) for at in range(frame.shape[1])], axis=1))
    except (ValueError, pa.ArrowException) as fault:
        raise InputError(f"this Synthesizer cannot be saved: {fault.args[-1]}") from None


def _names(frame: pd.DataFrame) -> list[str | int]:
    names = frame.columns.tolist()
    odd = [name for name in names if not isinstance(name, str | int)]
    if odd:
        raise InputError(f"this Synthesizer cannot be saved: {odd[0]!r} names a column; call it by a text")
    return names


def _unpacked(packed: np.ndarray) -> pd.DataFrame:
    return pd.read_parquet(io.BytesIO(packed.tobytes()))


def _categories(frame: pd.DataFrame) -> dict[str, np.ndarray]:
    """The categories of each column of such, packed, in their order: of an empty column Parquet has none."""
    kinds = [(at, kind) for at, kind in enumerate(frame.dtypes) if isinstance(kind, pd.CategoricalDtype)]
    return {f"categories.{at}": _packed(kind.categories.to_frame(name="of")) for at, kind in kinds}


def _with_categories(
    frame: pd.DataFrame, tensors: Mapping[str, np.ndarray], kinds: Mapping[str, str]
) -> pd.DataFrame:
    for name, kind in kinds.items():
        column = name.partition(".")[2]  # as _like_packed calls it
        listed = pd.Index(_unpacked(tensors[name])["of"].to_numpy()).astype(kind)
        frame[column] = frame[column].astype(pd.CategoricalDtype(listed, frame[column].dtype.ordered))
    return frame
