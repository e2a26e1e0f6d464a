"""The released table: synthetic codes become a table of the input's columns, in the input's own form."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from modp.base import seeds
from modp.files.table import Column, Table
from modp.pums.vintages import MILLIONTHS_ABOVE
from modp.release import drawing
from modp.release.answers import Source, answers, names_of_columns
from modp.release.inside import Inside
from modp.release.values import RARITY, Spelling
from modp.survey import numbers

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
    asked = names_of_columns(source)
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
