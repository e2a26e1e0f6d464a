"""The released households: persons and their households as two tables that a new number joins."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from modp.base import seeds
from modp.files.table import Column, Table
from modp.release import assembled, drawing
from modp.release.answers import Source
from modp.release.assembled import LINE, SERIAL
from modp.release.inside import Inside
from modp.survey import derived, numbers
from modp.survey.households import ROLES, Households
from modp.survey.questions import Derived

ROLE = "ROLE"
"""The column of what a person is in the household."""

OF_PERSONS, OF_HOMES = ("PWGTP", LINE, "RT"), ("WGTP",)
"""Columns besides questions that are of one of the two alone; RT says which file a record is of."""

COMPUTED = "computed of the members"


@dataclass(frozen=True)
class Released:
    """What is released of M households with N persons.

    persons, homes : N and M rows
    what : column -> what stands in it
    said : sentences on what was set, not drawn
    """

    persons: Table
    homes: Table
    what: Mapping[str, str]
    said: Sequence[str]

    @property
    def joined(self) -> Table:
        """The persons with what is their household's: N rows."""
        key = self.homes.columns[0]
        places = {text: row for row, text in enumerate(key.words.filled("").tolist())}
        at = np.array([places[text] for text in self.persons.columns[0].words.tolist()], np.int64)
        known = set(self.persons.names)
        more = [replace(c, places=c.places[at]) for c in self.homes.columns if c.name not in known]
        return Table((*self.persons.columns, *more))


def released(
    drawn: Households,
    persons: Source,
    homes: Source,
    computed: Sequence[Derived],
    seed: int,
    how: Inside = "shape",
) -> Released:
    """Return synthetic households as two tables, in random order, under new numbers.

    Parameters
    ----------
    drawn : the synthetic households
    persons, homes : the true ones' raw answers; in their tables there is one row for each of them
    computed : questions that are computed of the members
    seed, how : as :func:`modp.release.assembled.released` takes them
    """
    # As for single records: the seed alone does not bring back the order in which they came.
    secret = hashlib.sha256(drawn.persons.codes.tobytes() + drawn.homes.codes.tobytes()).hexdigest()
    streams = ["release", "households", *(secret[at : at + 8] for at in range(0, 64, 8))]
    drawn = drawn[seeds.generator(seed, *streams).permutation(len(drawn))]
    own = assembled.released(drawn.persons.codes, persons, seed, how, shuffled=False)
    theirs = assembled.released(drawn.homes.codes, homes, seed, how, shuffled=False)
    key = homes.dataset.household or SERIAL
    name = next(c.name for c in theirs.table.columns if c.name.upper() == key.upper())
    numbered = theirs.table[name]
    texts = numbered.words.filled("")
    line = np.arange(len(drawn.persons)) - np.repeat(drawn.starts[:-1], drawn.sizes) + 1
    first = {
        name: texts[drawn.household],
        LINE: line.astype(str).astype(object),
        ROLE: np.array(ROLES, object)[drawn.roles],
    }
    made = [
        drawing.column(Column(c, np.zeros(0, object), np.zeros(0, np.int32)), v) for c, v in first.items()
    ]
    left = [c for c in own.table.columns if c.name.upper() not in map(str.upper, first)]
    what = {name: "a new number for every household", LINE: "a person's place in the household"}
    what[ROLE] = "what a person is there; as many as the household's composition has"
    more = [_computed(question, drawn, own.table, persons) for question in computed]
    what |= {question.name: f"{question.label}, {COMPUTED}" for question in computed}
    others = [c for c in theirs.table.columns if c.name != name]
    tables = Table((*made, *left)), Table((numbered, *others, *more))
    kept = {c.name: own.what[c.name] for c in left} | {c.name: theirs.what[c.name] for c in others}
    return Released(*tables, what | kept, (*own.said, *theirs.said))


def of_level(table: Table, rows: np.ndarray, columns: Sequence[str], others: Sequence[str]) -> Table:
    """Return some rows of a file: columns of questions, and those besides that are known and not others'."""
    besides = [name for name in assembled.BESIDES if name not in others]
    wanted = [c for c in table.columns if c.name in columns or c.name.upper() in besides]
    return Table(tuple(replace(c, places=c.places[rows]) for c in wanted))


def _computed(question: Derived, drawn: Households, persons: Table, source: Source) -> Column:
    """The column of a question that is computed of the members; blank where nobody has a number."""
    if question.sum is None:
        texts = derived.computed(question, drawn).astype(str).astype(object)
    else:
        asked = next(q for q in source.records.codebook.questions if q.name == question.sum)
        column = persons[source.column_of.get(asked.column, asked.column)]
        known = [numbers.number(text) for text in column.kinds.tolist()]
        amounts = np.array([*(np.nan if value is None else value for value in known), np.nan])[column.places]
        sums = derived.summed(amounts, drawn)
        texts = np.array(["" if np.isnan(x) else f"{x:.12g}" for x in sums.tolist()], object)
    return drawing.column(Column(question.name, np.zeros(0, object), np.zeros(0, np.int32)), texts)
