"""The released table: synthetic codes become a table of the input's columns, in the input's own form."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from modp.base import seeds
from modp.files.table import Column, Table
from modp.pums.where import Dataset
from modp.release import drawing, relations
from modp.release.drawing import Pool
from modp.release.inside import Inside
from modp.release.values import RARITY, Spelling
from modp.survey import numbers
from modp.survey.questions import QuestionRecipe, QuestionSet, Relation
from modp.survey.records import Records

SERIAL, LINE, WEIGHTS = "SERIALNO", "SPORDER", ("PWGTP", "WGTP")
OF_ALL = ("RT", "DIVISION", "REGION", "ST", "STATE")
FACTORS = ("ADJINC", "ADJHSG")
BESIDES = (SERIAL, LINE, *WEIGHTS, *OF_ALL, *FACTORS)
"""Columns of Census's files that no question set of ours reads, and what they are is known."""

ONE = "1000000"
"""The factor, in Census's millionths, of amounts that are of one year already."""

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
    """

    records: Records
    questions: QuestionSet
    dataset: Dataset
    table: Table
    rows: np.ndarray
    column_of: Mapping[str, str] = field(default_factory=dict)
    public: Mapping[str, Sequence[Pool]] = field(default_factory=dict)


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


def released(codes: np.ndarray, source: Source, seed: int, how: Inside = "shape") -> Released:
    """Return synthetic records as a table in the input's form, in random order.

    Parameters
    ----------
    codes : (m, Q) of the synthetic records
    source : the true records, from whose answers values are drawn
    seed : of the order of the records, and of the values inside their categories
    how : values are drawn: see :func:`modp.release.drawing.answers`
    """
    codes = codes[seeds.generator(seed, "release", "order").permutation(len(codes))]
    answers, said = _answers(codes, source, seed, how)
    asked = _question_of_column(source)
    columns, what = [], {}
    for column in source.table.columns:
        if column.name in asked:
            question = asked[column.name]
            columns.append(drawing.column(column, answers[question]))
            called = "" if question == column.name else f", the question {question}"
            what[column.name] = f"synthetic answers{called}"
        else:
            made, what[column.name] = _besides(column, source, len(codes))
            columns.append(made)
    return Released(Table(tuple(columns)), what, said)


def _question_of_column(source: Source) -> dict[str, str]:
    """The question that a column is written from; of several the one with the most categories."""
    found: dict[str, str] = {}
    sizes = dict(zip(source.records.codebook.names, source.records.codebook.sizes.tolist(), strict=True))
    for question in sorted(source.records.codebook.questions, key=lambda q: sizes[q.name]):
        found[source.column_of.get(question.column, question.column)] = question.name
    return found


def _answers(
    codes: np.ndarray, source: Source, seed: int, how: Inside
) -> tuple[dict[str, np.ndarray], list[str]]:
    codebook = source.records.codebook
    recipes = {q.name: q for q in source.questions.questions}
    columns = {q.name: source.table[source.column_of.get(q.column, q.column)] for q in codebook.questions}
    at = {name: q for q, name in enumerate(codebook.names)}
    pools = {
        name: source.public.get(name)
        or drawing.pools(
            source.records.codes[:, at[name]],
            len(codebook.questions[at[name]].categories),
            column,
            source.rows,
        )
        for name, column in columns.items()
    }
    streams = {name: seeds.generator(seed, "release", name) for name in at}

    def draw(name: str, rows: np.ndarray | slice = slice(None)) -> np.ndarray:
        question = codebook.questions[at[name]]
        own: Inside = "shape" if how == "public" and name not in source.public else how
        return drawing.answers(
            codes[rows, at[name]], question, recipes.get(name), pools[name], streams[name], own
        )

    answers = {name: draw(name) for name in at}
    read = {name: _reader(recipes.get(name)) for name in at}
    write = {name: _writer(recipes.get(name), columns[name]) for name in at}
    said = []
    for text in source.questions.relations:
        moved = relations.keep(Relation.read(text), answers, read, draw, write)
        if moved:
            said.append(f"{text}: set, not drawn, in {moved:,} of {len(codes):,} records")
    return answers, said


def _reader(recipe: QuestionRecipe | None) -> Callable[[str], float | None]:
    return recipe.numbers.value if recipe is not None and recipe.numbers else numbers.number


def _writer(recipe: QuestionRecipe | None, column: Column) -> Callable[[np.ndarray], np.ndarray]:
    classes = recipe.numbers if recipe is not None else None
    read = _reader(recipe)
    texts = [text for text in column.kinds.tolist() if read(text) is not None]
    return lambda values: drawing.written(values, classes, texts)


def _besides(column: Column, source: Source, size: int) -> tuple[Column, str]:
    """A column that is no question, and what stands in it."""
    dataset, name = source.dataset, column.name
    census = dataset.table is None
    if name == dataset.household or dataset.other_columns.get(name) == "identifier":
        return drawing.numbered(column, size), "a new number for every record, not a true one"
    if census and name.upper() == SERIAL:
        return _serials(column, size), f"a new number for every record, with {NEW_SERIAL} for synthetic"
    if census and name.upper() == LINE:
        first = "01" if len(str(column.kinds[0] if len(column.kinds) else "")) == 2 else "1"
        return drawing.filled(column, first, size), "every record stands alone"
    if name == dataset.weight or (census and name.upper() in WEIGHTS):
        text = _mean_weight(column, size)
        return drawing.filled(
            column, text, size
        ), "one weight for all, so that totals are about the true ones"
    counts = column.counts
    if census and name.upper() in FACTORS and len(column.kinds) > 1:
        return drawing.filled(column, ONE, size), "one, since amounts are of one year's dollars"
    constant = len(column.kinds) == 1 and counts[0] == len(column.places) >= RARITY
    if constant:
        return drawing.filled(column, str(column.kinds[0]), size), "the same in all records, as in the input"
    return drawing.filled(column, "", size), "left blank, since it was not synthesised"


def _serials(column: Column, size: int) -> Column:
    year = str(column.kinds[0])[:4] if len(column.kinds) else "0000"
    texts = np.array([f"{year}{NEW_SERIAL}{k:07d}" for k in range(1, size + 1)], object)
    return drawing.column(column, texts)


def _mean_weight(column: Column, size: int) -> str:
    """The weight that gives so many records the true ones' total."""
    known = [numbers.number(text) for text in column.kinds.tolist()]
    values = np.array([0.0 if value is None else value for value in known])
    spelling = Spelling.of(column.kinds.tolist())
    total = float(values @ column.counts)
    whole = not np.any(values % 1)
    mean = total / max(size, 1)
    return spelling.write(round(mean) if whole else round(mean, 6))
