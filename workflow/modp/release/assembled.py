"""The released table: synthetic codes become a table of the input's columns, in the input's own form."""

import functools
import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from modp.base import seeds
from modp.files.table import Column, Table
from modp.pums.vintages import MILLIONTHS_ABOVE
from modp.pums.where import Dataset
from modp.release import drawing, given, ranges, relations
from modp.release.drawing import Asked, Pool
from modp.release.given import Known
from modp.release.inside import Inside
from modp.release.values import RARITY, Spelling
from modp.survey import numbers
from modp.survey.codebook import Codebook, Question
from modp.survey.questions import QuestionSet, Relation
from modp.survey.records import Records

SERIAL, LINE, WEIGHTS = "SERIALNO", "SPORDER", ("PWGTP", "WGTP")
OF_ALL = ("RT", "DIVISION", "REGION", "ST", "STATE")
FACTORS = ("ADJINC", "ADJHSG")
BESIDES = (SERIAL, LINE, *WEIGHTS, *OF_ALL, *FACTORS)
"""Columns of Census's files that no question set of ours reads, and what they are is known."""

OWN_WEIGHT = "the synthetic record's own weight: sum these, do not count records"
"""What stands in a column of weights that were drawn or raked."""

MILLIONTHS = 1_000_000
"""Factors are mostly written in these."""

NEW_SERIAL = "SY"
"""In place of HU or GQ in a household's number: synthetic."""


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


@dataclass(frozen=True)
class Released:
    """What is released.

    table : of m synthetic records, every column of the input
    what : column -> what stands in it
    said : sentences on what was set, not drawn
    """

    table: Table
    what: Mapping[str, str]
    said: Sequence[str] = ()


def released(
    codes: np.ndarray,
    source: Source,
    seed: int,
    how: Inside = "shape",
    weights: np.ndarray | None = None,
    weighted: bool = False,
    shuffled: bool = True,
) -> Released:
    """Return synthetic records as a table in the input's form, in random order.

    All that is random derives from the seed and from the synthetic records in the order in which they came,
    which the table does not tell: so the seed alone does not bring that order back.

    Parameters
    ----------
    codes : (m, Q) of the synthetic records
    source : the true records, from whose answers values are drawn
    seed : of the order of the records, and of the values inside their categories
    how : values are drawn: see :func:`modp.release.drawing.draws`
    weights : float64 (m,), of the synthetic records, where they have such
    weighted : whether the model was fitted to weighted counts
    shuffled : whether the order is random; else that of ``codes``
    """
    secret = hashlib.sha256(np.ascontiguousarray(codes).tobytes()).hexdigest()
    streams = ["release", *(secret[at : at + 8] for at in range(0, 64, 8))]
    order = np.arange(len(codes))
    if shuffled:
        order = seeds.generator(seed, *streams, "order").permutation(len(codes))
    codes = codes[order]
    drawn, said = answers(codes, source, seed, streams, how)
    asked = _names_of_columns(source)
    columns, what = [], {}
    for column in source.table.columns:
        if weights is not None and column.name == source.dataset.weight:
            rng = seeds.generator(seed, *streams, "column", column.name)
            columns.append(_own_weights(column, weights[order], rng))
            what[column.name] = OWN_WEIGHT
        elif column.name in asked:
            question = asked[column.name]
            columns.append(drawing.column(column, drawn[question]))
            called = "" if question == column.name else f", the question {question}"
            what[column.name] = f"synthetic answers{called}"
        else:
            rng = seeds.generator(seed, *streams, "column", column.name)
            made, what[column.name] = _besides(column, source, len(codes), rng, weighted)
            columns.append(made)
    return Released(Table(tuple(columns)), what, said)


def _names_of_columns(source: Source) -> dict[str, str]:
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
    codes, source, seed, how : as :func:`released` takes them
    streams : names of the stream that the values are drawn from
    only : questions to draw answers to; all if not given
    """
    codebook, true = source.records.codebook, source.records.codes
    recipes = {q.name: q for q in source.questions.questions}
    at = {name: q for q, name in enumerate(codebook.names) if only is None or name in only}
    rngs = {name: seeds.generator(seed, *streams, "question", name) for name in at}
    known = Known.of(true, codes) if how == "shape" and len(true) else None
    every = np.arange(len(codes))
    asked: dict[str, Asked] = {}
    drawn: dict[str, given.Answers] = {}
    made, said = {}, []
    for name, q in at.items():
        question = codebook.questions[q]
        column = source.column(question)
        asked[name] = Asked.of(question, recipes[name], column, source.dataset.table is not None)
        pools = drawing.pools(true[:, q], len(question.categories), column, source.rows)
        public = source.public.get(name, ())
        bins = drawing.bins(asked[name], pools, how, public, source.rarity)
        own = column, source.rows
        drawn[name] = given.answers(q, codes[:, q], asked[name], own, bins, known, rngs[name])
        made[name] = drawn[name].draw(every, rngs[name])
        said += _of_hidden(made[name], codes[:, q], asked[name], pools)
        said += _of_blanks(question, pools) if known is None else []
        if known is not None and asked[name].are_numbers and len(column.kinds) > len(question.categories):
            numbers_ = relations.numbers_of(made[name], asked[name].read)
            known.learn(q, name, given.amounts(asked[name], *own), numbers_)

    def draw(name: str, rows: np.ndarray, widely: bool) -> np.ndarray:
        return drawn[name].draw(rows, rngs[name], widely)

    def within(name: str, values: np.ndarray, rows: np.ndarray) -> np.ndarray:
        own = codes[rows, at[name]]
        found = np.zeros(len(rows), bool)
        for k in np.unique(own).tolist():
            here = own == k
            found[here] = ranges.holds(asked[name].question, asked[name].recipe, k, values[here])
        return found

    written = _names_of_columns(source)
    column_of = {q.name: source.column_of.get(q.column, q.column) for q in codebook.questions}
    wanted = [Relation.read(text) for text in source.questions.relations]
    # Of several questions about one column the numbers of that one count which the column is written from.
    wanted = [Relation(tuple(written[column_of[n]] for n in r.names), r.sign) for r in wanted]
    related = {
        name: relations.Numbers(
            asked[name].read,
            asked[name].texts,
            functools.partial(draw, name),
            functools.partial(within, name),
            asked[name].grid[0],
        )
        for relation in wanted
        for name in relation.names
    }
    kept = relations.keep(wanted, made, related)
    return made, said + _said(kept, source.questions.relations, len(codes))


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
        "" in {*pool.texts, *ranges.words(asked.recipe, category)}
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


def _besides(
    column: Column, source: Source, size: int, rng: np.random.Generator, weighted: bool
) -> tuple[Column, str]:
    """A column that is no question, and what stands in it."""
    dataset, name = source.dataset, column.name
    census = dataset.table is None
    capitals = name.upper()
    if census and capitals == SERIAL and column.dtype not in ("integer", "number"):
        return _serials(column, size), f"a new number for every record, with {NEW_SERIAL} for synthetic"
    if name in (dataset.household, SERIAL) or dataset.other_columns.get(name) == "identifier":
        return drawing.numbered(column, size), "a new number for every record, not a true one"
    if census and capitals == LINE:
        first = "01" if len(str(column.kinds[0] if len(column.kinds) else "")) == 2 else "1"
        return drawing.filled(column, first, size), "every record stands alone"
    if name == dataset.weight or (census and capitals in WEIGHTS):
        fitted = "weighted" if weighted else "unweighted, so that weighted totals may differ"
        return _weights(column, size, rng), (
            "about one weight for all, so that the total is about that of the true ones; how many records "
            f"give an answer follows the true records' counts, {fitted}"
        )
    counts = column.counts
    if census and capitals in FACTORS and len(column.kinds) > 1:
        return drawing.filled(column, _one(column), size), "one, since amounts are of one year's dollars"
    constant = len(column.kinds) == 1 and counts[0] == len(column.places) >= RARITY
    if constant:
        return drawing.filled(column, str(column.kinds[0]), size), "the same in all records, as in the input"
    return drawing.filled(column, "", size), "left blank, since it was not synthesised"


def _serials(column: Column, size: int) -> Column:
    years = [text[:4] for text in column.kinds.tolist() if re.match(r"[12][0-9]{3}[A-Z]", text)]
    year = max(years, default="")
    texts = np.array([f"{year}{NEW_SERIAL}{k:07d}" for k in range(1, size + 1)], object)
    return drawing.column(column, texts)


def _one(column: Column) -> str:
    """The factor of amounts that are of one year already."""
    values = [numbers.number(text) or 0.0 for text in column.kinds.tolist()]
    one = MILLIONTHS if max(values) > MILLIONTHS_ABOVE else 1
    return Spelling.of(column.kinds.tolist()).write(np.array([one]))[0]


def _own_weights(column: Column, weights: np.ndarray, rng: np.random.Generator) -> Column:
    """Weights (m,) as the column writes them: where those are whole, rounded at random, their total kept."""
    known = {text: value for text in column.kinds.tolist() if (value := numbers.number(text)) is not None}
    spelling = Spelling.of(list(known))
    if any(value % 1 for value in known.values()):
        return drawing.column(column, np.array(spelling.write(np.round(weights, 6)), object))
    whole = np.diff(np.floor(np.cumsum(weights) + rng.random()), prepend=0.0)
    return drawing.column(column, np.array(spelling.write(whole), object))


def _weights(column: Column, size: int, rng: np.random.Generator) -> Column:
    """Weights that give so many records the true ones' total: all alike, whole ones but for one."""
    texts = column.kinds.tolist()
    known = [numbers.number(text) for text in texts]
    values = np.array([0.0 if value is None else value for value in known])
    spelling = Spelling.of([text for text, value in zip(texts, known, strict=True) if value is not None])
    total = float(values @ column.counts)
    if np.any(values % 1):
        mean = np.full(1, round(total / max(size, 1), 6))
        return drawing.filled(column, spelling.write(mean)[0], size)
    low, more = divmod(round(total), max(size, 1))
    made = np.full(size, float(low))
    made[rng.choice(size, more, replace=False)] += 1
    return drawing.column(column, np.array(spelling.write(made), object))
