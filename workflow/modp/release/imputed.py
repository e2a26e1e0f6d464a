"""A table with its missing answers filled: every other answer as it was, in the input's own form."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from modp.base import seeds
from modp.base.errors import InputError
from modp.files.raw import raw
from modp.files.table import BLANK, Column, Table
from modp.models.family import Work
from modp.models.stationary.imputing import Holes, impute
from modp.release.answers import question_of_column
from modp.release.drawing import Asked
from modp.release.given import Known, answered
from modp.release.holes import found
from modp.release.leaves import grow
from modp.survey import coding
from modp.survey.questions import QuestionRecipe, QuestionSet
from modp.survey.records import Records


@dataclass(frozen=True)
class Imputed:
    """A table of n rows with missing answers.

    table : as it is
    recipes : how its questions were made
    holes : its records, and which of their categories are no answers
    said : sentences on what was taken for missing, and what is left as it is
    """

    table: Table
    recipes: Sequence[QuestionRecipe]
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
        return Imputed(table, questions.questions, holes, (*missing.said, *left))

    def tables(self, times: int, seed: int, threads: int, said: Callable[[str], None]) -> Iterator[Table]:
        """Yield completed tables.

        An answer inside its category, such as an amount, is that of a record drawn from those that gave one
        of the same category and are alike in all other answers, and in amounts that are there or were filled.

        Parameters
        ----------
        times : how many
        seed : of everything random
        said : is told of what could not be kept
        """
        work = Work("impute", seed, threads, "cpu", "likely")
        written_from = question_of_column(self.holes.records.codebook)
        missing = self.holes.places.sum(axis=0)
        fewest_first = sorted(written_from.items(), key=lambda pair: int(missing[pair[1]]))
        for number, codes in enumerate(impute(self.holes, times, work, said=said), start=1):
            known, table = Known.of(codes, codes), self.table
            for column, q in fewest_first:
                rng = seeds.generator(seed, "donors", column, str(number))
                table = table.replaced(self._filled(q, table[column], known, rng))
            yield table

    def _filled(self, q: int, column: Column, known: Known, rng: np.random.Generator) -> Column:
        """A question's column, with donors' answers where there was none; what is known then knows of it."""
        missing, own = self.holes.places[:, q], known.codes[0][:, q]
        asked = Asked.of(self.holes.records.codebook.questions[q], self.recipes[q], column)
        places, rows = column.places.copy(), np.arange(len(own))
        numbers = answered(asked, column, rows).numbers
        order = np.where(np.isfinite(numbers), numbers, -1.0 - places)
        for k in np.unique(own[missing]).tolist():
            donors, here = np.flatnonzero(~missing & (own == k)), np.flatnonzero(missing & (own == k))
            leaves = grow(*known.besides(q, donors, here), order[donors], rng)
            places[here] = column.places[donors[leaves.draw(np.arange(len(here)), rng)]]
        filled = replace(column, places=places)
        if asked.are_numbers:
            numbers = answered(asked, filled, rows).numbers
            known.learn(q, column.name, numbers, numbers)
        return filled
