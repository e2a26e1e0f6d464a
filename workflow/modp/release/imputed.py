"""A table with its missing answers filled: every other answer as it was, in the input's own form."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from modp.base import seeds
from modp.base.errors import InputError
from modp.files.raw import raw
from modp.files.table import BLANK, Column, Table
from modp.models.family import Work
from modp.models.stationary.imputing import Holes, impute
from modp.release.assembled import question_of_column
from modp.release.holes import found
from modp.survey import coding
from modp.survey.questions import QuestionSet
from modp.survey.records import Records


@dataclass(frozen=True)
class Imputed:
    """A table of n rows with missing answers.

    table : as it is
    holes : its records, and which of their categories are no answers
    said : sentences on what was taken for missing, and what is left as it is
    """

    table: Table
    holes: Holes
    said: tuple[str, ...]

    @staticmethod
    def of(table: Table, questions: QuestionSet, where: str, seed: int) -> "Imputed":
        """Code a table and find what is missing.

        Raises
        ------
        InputError
            if nothing is, or the question set does not know an answer
        """
        columns = raw(table, questions, where)
        codes, codebook = coding.code(columns, questions, seeds.generator(seed, "deciles"))
        records = Records(codes, codebook)
        missing = found(table, questions, records)
        holes = Holes(records, missing.missing)
        if not holes.places.any():
            more = "".join(f"\n  {line}" for line in missing.said)
            raise InputError(
                f"{where}: no answer is missing. A category that stands for a missing one is named in its "
                f"question as in 'no_answer: [-1]' (-1 is a blank){more}"
            )
        asked = set(questions.columns)
        blank = [c.name for c in table.columns if c.name not in asked and (c.places == BLANK).any()]
        left = [f"blanks are left in {', '.join(blank)}, which no question is made of"] if blank else []
        return Imputed(table, holes, (*missing.said, *left))

    def tables(self, times: int, seed: int, threads: int, said: Callable[[str], None]) -> Iterator[Table]:
        """Yield completed tables.

        An answer inside its category, such as an amount, is that of a record drawn from those that gave one
        of the same category.

        Parameters
        ----------
        times : how many
        seed : of everything random
        said : is told of what could not be kept
        """
        work = Work("impute", seed, threads, "cpu", "likely")
        written_from = question_of_column(self.holes.records.codebook)
        for number, codes in enumerate(impute(self.holes, times, work, said=said), start=1):
            written = {
                column: self._column(q, codes[:, q], seeds.generator(seed, "donors", column, str(number)))
                for column, q in written_from.items()
            }
            columns = (written.get(column.name, column) for column in self.table.columns)
            yield replace(self.table, columns=tuple(columns))

    def _column(self, q: int, codes: np.ndarray, rng: np.random.Generator) -> Column:
        places = self.holes.places[:, q]
        column = self.table[self.holes.records.codebook.questions[q].column]
        own, filled = self.holes.records.codes[:, q], column.places.copy()
        for k in np.unique(codes[places]).tolist():
            donors, here = np.flatnonzero(~places & (own == k)), np.flatnonzero(places & (codes == k))
            filled[here] = column.places[rng.choice(donors, len(here))]
        return replace(column, places=filled)
