"""Raw answers of synthetic records, question by question, so that what holds between them does."""

import functools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from modp.base import seeds
from modp.files.table import Column, Table
from modp.pums.where import Dataset
from modp.release import drawing, given, ranges, relations
from modp.release.drawing import Asked, Pool
from modp.release.functions import UNKNOWN, Answered, Function, learnt
from modp.release.given import Answers, Known
from modp.release.inside import Inside
from modp.release.ranges import holds, words
from modp.release.values import RARITY
from modp.survey.codebook import Codebook, Question
from modp.survey.questions import QuestionSet, Relation
from modp.survey.records import Records

TRIES = 20
"""Times that an answer is drawn again from which follows what the record does not answer; half widely."""


@dataclass(frozen=True)
class Source:
    """The true records' raw answers, and what the answers mean.

    records : that a model was fitted to, n of them
    questions : the question set, as the data set wants it
    dataset : where the records came from
    table : the columns of the input's file
    rows : (n,) the row of the table that each record was
    column_of : raw column of the question set -> that of the file, where this calls it otherwise
    public : for ``Inside`` public: question -> the raw answers of each category in a public table
    rarity : records that share an answer which comes back as it is, at least; 1 of records that are synthetic
    """

    records: Records
    questions: QuestionSet
    dataset: Dataset
    table: Table
    rows: np.ndarray
    column_of: Mapping[str, str] = field(default_factory=dict)
    public: Mapping[str, Sequence[Pool]] = field(default_factory=dict)
    rarity: int = RARITY

    def column(self, question: Question) -> Column:
        """Return the raw column of a question."""
        return self.table[self.column_of.get(question.column, question.column)]


def stated(codebook: Codebook, questions: QuestionSet, dataset: Dataset, *besides: str) -> Source:
    """Return what answers are drawn from where no record may be seen: what the question set says.

    Parameters
    ----------
    besides : columns before those of the questions
    """
    names = dict.fromkeys([*besides, *(question.column for question in codebook.questions)])
    table = Table(tuple(Column(name, np.zeros(0, object), np.zeros(0, np.int32)) for name in names))
    nobody = Records(np.zeros((0, len(codebook.questions)), np.int16), codebook)
    return Source(nobody, questions, dataset, table, np.zeros(0, np.int64))


def unstated(codes: np.ndarray, source: Source) -> list[str]:
    """Return why answers of some records cannot be drawn from a source without true records.

    Parameters
    ----------
    codes : (m, Q) of the synthetic records
    """
    recipes, found = {q.name: q for q in source.questions.questions}, []
    for question, own in zip(source.records.codebook.questions, codes.T, strict=True):
        public = source.public.get(question.name)
        for k in np.unique(own).tolist():
            if not (public and public[k].texts):
                found.append(ranges.unstated(question, recipes[question.name], k))
    return [why for why in found if why]


def names_of_columns(source: Source) -> dict[str, str]:
    """Return the question that each column is written from."""
    codebook = source.records.codebook
    return {c: codebook.names[q] for c, q in question_of_column(codebook, source.column_of).items()}


def question_of_column(codebook: Codebook, column_of: Mapping[str, str] = {}) -> dict[str, int]:
    """Return the place of the question that a column is written from; of several that of most categories.

    Parameters
    ----------
    column_of : raw column of the question set -> that of the file, where this calls it otherwise
    """
    order = np.argsort(codebook.sizes, kind="stable").tolist()
    columns = [question.column for question in codebook.questions]
    return {column_of.get(columns[q], columns[q]): q for q in order}


def answers(
    codes: np.ndarray,
    source: Source,
    seed: int,
    streams: Sequence[str],
    how: Inside = "shape",
    only: Collection[str] | None = None,
) -> tuple[dict[str, np.ndarray], list[str]]:
    """Draw the raw answers to each question, objects (m,), texts; return what is said of them, too.

    In the way ``shape`` each is drawn given the record's answers to all other questions, and the numbers that
    were drawn before.

    Parameters
    ----------
    codes : (m, Q) of the synthetic records
    source : the true records, from whose answers values are drawn
    seed : of the values inside their categories
    streams : names of the stream that these are drawn from
    how : values are drawn: see :func:`modp.release.drawing.bins`
    only : questions to draw answers to; all if not given
    """
    names = [name for name in source.records.codebook.names if only is None or name in only]
    rngs = {name: seeds.generator(seed, *streams, "question", name) for name in names}
    work = _Drawing(codes, source, how, rngs, _relations(source, names))
    for name in work.order:
        work.draw(name)
    kept = work.keep_relations()
    wanted = [text for text in source.questions.relations if Relation.read(text).sign != "of"]
    said = [line for name in names for line in work.said[name]]
    return work.made, [*said, *_said(kept, wanted, len(codes)), *work.moved()]


def _relations(source: Source, names: Collection[str]) -> list[Relation]:
    """The relations among these questions: of several about a column, of that which it is written from."""
    written, questions = names_of_columns(source), source.records.codebook.questions
    of = {q.name: written[source.column_of.get(q.column, q.column)] for q in questions}
    found = [Relation.read(text) for text in source.questions.relations]
    found = [Relation(tuple(of[name] for name in r.names), r.sign) for r in found]
    return [r for r in found if set(r.names) <= set(names) and len(set(r.names)) == len(r.names)]


class _Drawing:
    """Answers as they are drawn.

    at : question -> its number
    asked, drawn, made, said : question -> how it writes, is drawn, what was drawn, what is said of it
    functions : question that follows from others -> how it does, and from which: one, or one by another
    """

    def __init__(
        self,
        codes: np.ndarray,
        source: Source,
        how: Inside,
        rngs: Mapping[str, np.random.Generator],
        wanted: Sequence[Relation],
    ):
        self.codes, self.source, self.how, self.rngs = codes, source, how, rngs
        names = source.records.codebook.names
        self.at = {name: q for q, name in enumerate(names) if name in rngs}
        recipes, own = {q.name: q for q in source.questions.questions}, source.dataset.table is not None
        self.asked = {
            name: Asked.of(source.records.codebook.questions[q], recipes[name], self._column(name), own)
            for name, q in self.at.items()
        }
        true = source.records.codes
        self.known = Known.of(true, codes) if how == "shape" and len(true) else None
        self.relations = [relation for relation in wanted if relation.sign != "of"]
        learn = len(true) and how != "public"
        self.functions = {r.names[0]: self._learnt(r) for r in wanted if r.sign == "of" and learn}
        self.drawn: dict[str, Answers] = {}
        self.made: dict[str, np.ndarray] = {}
        self.said: dict[str, list[str]] = {}
        self.instead: dict[tuple[str, int, str], str] = {}

    def _column(self, name: str) -> Column:
        return self.source.column(self.source.records.codebook.questions[self.at[name]])

    @functools.cached_property
    def order(self) -> list[str]:
        """The questions, each after those that it follows from."""
        after = {name: list(others) for name, (_, others) in self.functions.items()}
        for _, others in self.functions.values():
            after.setdefault(others[0], []).extend(others[1:])
        found: list[str] = []
        pending = list(self.at)
        while pending:
            ready = (name for name in pending if not set(after.get(name, ())) & set(pending))
            found.append(next(ready, pending[0]))
            pending.remove(found[-1])
        return found

    def _true(self, name: str) -> Answered:
        return given.answered(self.asked[name], self._column(name), self.source.rows)

    def _learnt(self, relation: Relation) -> tuple[Function, tuple[str, ...]]:
        name, *others = relation.names
        follows, of, *by = (self._true(other) for other in relation.names)
        codes = self.source.records.codes[:, self.at[name]]
        return learnt(of, by[0].texts if by else None, follows.texts, codes), tuple(others)

    def draw(self, name: str) -> None:
        """Draw the answers to a question, those that it follows from being drawn."""
        q, asked, rng = self.at[name], self.asked[name], self.rngs[name]
        codes, true = self.codes[:, q], self.source.records.codes[:, q]
        pools = drawing.pools(true, len(asked.question.categories), self._column(name), self.source.rows)
        public = self.source.public.get(name, ())
        bins = drawing.bins(asked, pools, self.how, public, self.source.rarity)
        if self.known is None:
            self.drawn[name] = given.whatever(asked, codes, bins)
        else:
            parted = [self.at[target] for target in self.following(name)]
            own = self._true(name)
            self.drawn[name] = given.answers(q, asked, own, bins, self.known, parted, rng)
        self.made[name] = self.drawn[name].draw(np.arange(len(codes)), rng)
        self._agree(name)
        self.follow(name)
        self.said[name] = _of_hidden(self.made[name], codes, asked, pools)
        if self.known is None:
            self.said[name] += _of_blanks(asked.question, pools)
        elif asked.are_numbers and len(self._column(name).kinds) > len(pools):
            self.known.learn(q, name, own.numbers, self._answered(name).numbers)

    def following(self, name: str) -> list[str]:
        """Return the questions that follow from one."""
        return [target for target, (_, others) in self.functions.items() if others[0] == name]

    def _answered(self, name: str, rows: np.ndarray | slice = slice(None)) -> Answered:
        texts = self.made[name][rows]
        return Answered(texts, relations.numbers_of(texts, self.asked[name].read))

    def _follows(self, target: str, rows: np.ndarray | slice = slice(None)) -> np.ndarray:
        function, (name, *by) = self.functions[target]
        return function.of(self._answered(name, rows), self.made[by[0]][rows] if by else None)

    def _agree(self, name: str) -> None:
        """Draw again where something else follows than a record answers."""
        rows = np.arange(len(self.codes))
        targets = [t for t in self.following(name) if set(self.functions[t][1]) <= set(self.made)]
        for number in range(TRIES if targets else 0):
            wrong = [self._differs(target, rows) for target in targets]
            rows = rows[np.logical_or.reduce(wrong)]
            if not len(rows):
                break
            widely = number >= TRIES // 2
            self.made[name][rows] = self.drawn[name].draw(rows, self.rngs[name], widely)

    def _differs(self, target: str, rows: np.ndarray) -> np.ndarray:
        """In which of these records (r,) a question is of another category than follows, bool (r,)."""
        places = self._follows(target, rows)
        found = self.functions[target][0].codes[places]
        return (places != UNKNOWN) & (found != self.codes[rows, self.at[target]])

    def follow(self, target: str) -> None:
        """Set the answers to a question that follows from others."""
        if target in self.functions:
            places = self._follows(target)
            made = self.functions[target][0].answers(places, functools.partial(self._instead, target))
            known = places != UNKNOWN
            self.made[target][known] = made[known]

    def _instead(self, name: str, k: int, answer: str) -> str:
        """What stands for a true answer, the same whenever it is asked for."""
        key = name, k, answer
        if key not in self.instead:
            self.instead[key] = self.drawn[name].bins(k).instead(answer, self.rngs[name])
        return self.instead[key]

    def keep_relations(self) -> relations.Kept:
        """Make relations between numbers hold, then what follows follow once more."""
        asked = {
            name: relations.Numbers(
                self.asked[name].read,
                self.asked[name].texts,
                functools.partial(self._redrawn, name),
                functools.partial(self._within, name),
                self.asked[name].grid[0],
            )
            for relation in self.relations
            for name in relation.names
        }
        kept = relations.keep(self.relations, self.made, asked)
        for name in self.order if self.relations else ():
            self.follow(name)
        return kept

    def _redrawn(self, name: str, rows: np.ndarray, widely: bool) -> np.ndarray:
        return self.drawn[name].draw(rows, self.rngs[name], widely)

    def _within(self, name: str, values: np.ndarray, rows: np.ndarray) -> np.ndarray:
        own = self.codes[rows, self.at[name]]
        found = np.zeros(len(rows), bool)
        for k in np.unique(own).tolist():
            here = own == k
            found[here] = holds(self.asked[name].question, self.asked[name].recipe, k, values[here])
        return found

    def moved(self) -> list[str]:
        """Return what is to be said of records that left a category, so that it follows from an answer."""
        every = np.arange(len(self.codes))
        counts = {target: int(self._differs(target, every).sum()) for target in self.functions}
        return [
            f"{target}: in {count:,} of {len(every):,} records it is not of the category that the model gave "
            f"it, so that it follows from {' and '.join(self.functions[target][1])}"
            for target, count in counts.items()
            if count
        ]


def _of_blanks(question: Question, found: Sequence[Pool]) -> list[str]:
    """What is to be said of a question that has blanks in a category with other answers, as the paper has."""
    mixed = [k for k, pool in enumerate(found) if "" in pool.texts and len(pool.texts) > 1]
    return [
        f"{question.name}: its category {question.labels[k]} is of blanks and of other answers; which of "
        "them a record gets does not go by the rest of the record. It does if the question set keeps blanks "
        "apart, as Census's do with 'faithful: false' in the dataset YAML"
        for k in mixed
    ]


def _of_hidden(made: np.ndarray, codes: np.ndarray, asked: Asked, found: Sequence[Pool]) -> list[str]:
    """What is to be said of a question some of whose answers come back blank where a blank was none."""
    blank = [
        "" in {*pool.texts, *words(asked.recipe, category)}
        for pool, category in zip(found, asked.question.categories, strict=True)
    ]
    lost = np.count_nonzero((made == "") & ~np.array(blank)[codes])
    if not lost:
        return []
    return [
        f"{asked.question.name}: {lost:,} of {len(made):,} records are blank though their answer is not: "
        f"fewer than {RARITY} true records give its word, which might name one of them"
    ]


def _said(kept: relations.Kept, wanted: Sequence[str], size: int) -> list[str]:
    """What is to be said of records in which a relation cost something."""
    said = [
        f"{name}: in {count:,} of {size:,} records it is not of the category that the model gave it, so that "
        f"{' and '.join(wanted)} can hold"
        for name, count in kept.moved.items()
    ]
    if kept.broken:
        said.append(f"in {kept.broken:,} of {size:,} records {' and '.join(wanted)} do not hold together")
    return said
