"""Question sets: the declarative recipe from raw columns to questions with categories."""

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import Field, field_validator, model_validator

from modp.base.config import Strict, check
from modp.base.errors import InputError, did_you_mean
from modp.survey import numbers
from modp.survey.codebook import MAX_CATEGORIES
from modp.survey.numbers import NumbersRecipe, Unit

MISSING = -1

RESERVED = ("record", "entropy_bits")
"""Columns of a synthetic table that are no questions."""

STATE = "STATE"


class CategoryRecipe(Strict):
    """A category made of several raw values.

    ``values`` lists integers, ranges (``3..5``, ``..1949``, ``2020..``, both ends included) and
    ``blank``, separated by commas; or it is a list of words.
    """

    label: str
    values: str | int | list[int | str]

    @property
    def parts(self) -> list[str]:
        """The comma-separated parts of ``values``, or its words."""
        if isinstance(self.values, list):
            return [str(value) for value in self.values]
        return [part.strip() for part in str(self.values).split(",")]


class DecileRecipe(Strict):
    """Ten categories of equal size.

    ``of: positive`` takes the values above zero, ``of: known`` all values; ``of: all`` takes every
    record, with a blank standing for the value ``blank_as``.
    """

    of: Literal["positive", "known", "all"]
    blank_as: int | None = None

    @model_validator(mode="after")
    def _blank_needs_all(self) -> "DecileRecipe":
        if (self.blank_as is not None) != (self.of == "all"):
            raise ValueError("'blank_as' goes with 'of: all', and 'of: all' needs it")
        return self


Categories = dict[int | str, str | CategoryRecipe]


class Correction(Strict):
    """What takes the place of a question's own keys where the dataset says ``faithful: false``."""

    missing: str | None = None
    categories: Categories = Field(default_factory=dict)
    deciles: DecileRecipe | None = None


class QuestionRecipe(Strict):
    """How one question is made of one raw column.

    The keys of ``categories`` are numbers, or words where the column holds words. In place of them
    ``numbers`` cuts a column of numbers, or of dates, into classes. ``no_answer`` lists the codes of those
    categories that stand for a missing answer, which ``modp impute`` fills: -1 for blanks, ``[]`` for none;
    where it is not said, :mod:`modp.release.holes` decides.

    ``bounds`` are the least and the greatest number that are drawn of classes without an end, and ``step`` is
    what all numbers are multiples of, 1 where it is not said. With a formal guarantee numbers are drawn by
    these, and not by those of the records.
    """

    name: str = Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")
    label: str
    column: str | None = None
    missing: str | None = None
    categories: Categories = Field(default_factory=dict)
    deciles: DecileRecipe | None = None
    numbers: NumbersRecipe | None = None
    unit: Unit | None = None
    bounds: list[int | float | str] | None = Field(default=None, min_length=2, max_length=2)
    step: int | float | None = Field(default=None, gt=0)
    no_answer: list[int | str] | None = None
    corrected: Correction | None = None
    level: Literal["person", "household"] = "person"

    @property
    def source(self) -> str:
        """The raw column's name."""
        return self.name if self.column is None else self.column

    @property
    def codes(self) -> list[str]:
        """The codes of all categories that the recipe makes, as text."""
        blank = [MISSING] if self.missing is not None else []
        parts = numbers.codes(self.numbers) if self.numbers else range(1, 11) if self.deciles else []
        return [str(code) for code in [*blank, *self.categories, *parts]]

    @property
    def in_words(self) -> bool:
        """Whether the column's answers are read as words, not as whole numbers."""
        return self.numbers is not None or any(isinstance(code, str) for code in self.categories)

    @property
    def limits(self) -> tuple[float, float]:
        """The bounds as numbers, dates as days since year 1; infinite where they are not said."""
        if self.bounds is None:
            return -np.inf, np.inf
        read = self.numbers or NumbersRecipe()
        low, high = (read.known(end) for end in self.bounds)
        blank = self.deciles.blank_as if self.deciles else None
        return (low if blank is None else min(low, blank)), high

    @model_validator(mode="after")
    def _bounds_hold_all_categories(self) -> "QuestionRecipe":
        numeric = not self.in_words or self.numbers is not None
        if (self.bounds or self.step) and not numeric:
            raise ValueError("'bounds' and 'step' are of numbers, and the categories are words")
        if self.step and self.numbers and self.numbers.dates:
            raise ValueError("'step' is of numbers: dates are drawn by the day")
        if self.bounds is None:
            return self
        low, high = self.limits
        edges = self.numbers.edges if self.numbers else ()
        parts = [] if self.in_words else [part[:2] for part in self.intervals()]
        ends = [*edges, *(b for a, b in parts if np.isinf(a)), *(a for a, b in parts if np.isinf(b))]
        outside = [end for end in ends if np.isfinite(end) and not low <= end <= high]
        if low >= high or outside:
            told = f", and {(self.numbers or NumbersRecipe()).written(outside[0])} is not" if outside else ""
            raise ValueError(f"'bounds': numbers are from {self.bounds[0]} to {self.bounds[1]}{told}")
        return self

    @model_validator(mode="after")
    def _no_answers_are_categories(self) -> "QuestionRecipe":
        for code in self.no_answer or ():
            if str(code) not in self.codes:
                near = did_you_mean(str(code), self.codes) or f" (it has {', '.join(self.codes[:20])})"
                raise ValueError(f"'no_answer' names the category {code}, which there is not{near}")
        if self.no_answer and set(map(str, self.no_answer)) >= set(self.codes):
            raise ValueError("'no_answer' leaves no category that is an answer")
        return self

    @model_validator(mode="after")
    def _consistent(self) -> "QuestionRecipe":
        if self.numbers:
            if self.categories or self.deciles or self.corrected:
                raise ValueError("'numbers' stands alone, without 'categories', 'deciles' and 'corrected'")
            return self
        if not self.categories and not self.deciles:
            raise ValueError("a question needs 'categories', 'deciles' or 'numbers'")
        if len(self.categories) > MAX_CATEGORIES:
            raise ValueError(f"more than {MAX_CATEGORIES} categories: is this an identifier?")
        if self.in_words:
            self._require_words()
        else:
            self._require_numbers()
        if self.corrected:
            self.right()
        return self

    def _require_words(self) -> None:
        numbers = [code for code in self.categories if isinstance(code, int)]
        if numbers:
            raise ValueError(f"some categories are words: put quotes around {numbers[0]} too")
        if self.deciles:
            raise ValueError("deciles are of numbers, and the categories are words")
        if all(re.fullmatch(r"-?(0|[1-9][0-9]{0,14})", word) for word in self.words()):
            raise ValueError("these categories are numbers: write their keys without quotes")
        odd = [code for code in self.categories if re.match(rf"({MISSING}|blank|value .*)$", str(code))]
        if odd:
            raise ValueError(f"{odd[0]!r} cannot be a category's key: it has a meaning of its own")
        for code, category in self.categories.items():
            if isinstance(category, CategoryRecipe) and not isinstance(category.values, list):
                raise ValueError(f"category {code!r}: write its values as a list of words, [a, b]")
        self.words()

    def _require_numbers(self) -> None:
        for code, category in self.categories.items():
            words = category.values if isinstance(category, CategoryRecipe) else []
            if isinstance(words, list) and any(isinstance(word, str) for word in words):
                raise ValueError(f"category {code} lists words; then its key must be a word, in quotes")
        beside = set(self.categories) - ({0} if self.deciles and self.deciles.of == "positive" else set())
        if self.deciles and beside:
            raise ValueError(
                "beside deciles only the category 0 (the value zero) is possible, with 'of: positive'"
            )
        if self.deciles and self.deciles.of == "all" and self.missing:
            raise ValueError("deciles of all records leave nothing for 'missing'")
        if self.missing is not None and (MISSING in self.categories or self._lists_blank()):
            raise ValueError("'missing' and a category of its own both take the blanks; keep one of them")
        if len(self._lists_blank()) > 1:
            raise ValueError("two categories both take the blanks; keep one of them")
        if self.deciles and (self._lists_blank() or self.intervals() not in ([], [(0, 0, 0)])):
            raise ValueError("beside deciles the category 0 holds the value 0 and nothing else")
        self.intervals()

    def right(self) -> "QuestionRecipe":
        """Return the question with its corrections, or as it is if there are none."""
        if self.corrected is None:
            return self
        content = self.model_dump(exclude={"corrected"}) | self.corrected.model_dump(exclude_unset=True)
        return QuestionRecipe.model_validate(content)

    def intervals(self) -> list[tuple[float, float, int]]:
        """Return (lowest, highest, code) of every range of raw values, ascending.

        Raises
        ------
        ValueError
            if a range cannot be read, or a value stands in two categories
        """
        found = []
        for code, category in self.categories.items():
            assert isinstance(code, int)
            parts = [str(code)] if isinstance(category, str) else category.parts
            found += [(*_range(part), code) for part in parts if part != "blank"]
        found.sort()
        for (_, high, first), (low, _, second) in itertools.pairwise(found):
            if low <= high:
                raise ValueError(f"the value {low:g} is in both category {first} and {second}")
        return found

    def words(self) -> dict[str, str]:
        """Return raw word -> category code, for a question in words.

        Raises
        ------
        ValueError
            if a word stands in two categories
        """
        found: dict[str, str] = {}
        for code, category in self.categories.items():
            for word in [str(code)] if isinstance(category, str) else category.parts:
                if word in found:
                    raise ValueError(f"the word {word!r} is in both category {found[word]!r} and {code!r}")
                found[word] = str(code)
        return found

    @property
    def listed(self) -> set[int]:
        """The single numbers that categories name, ranges left aside."""
        return set() if self.in_words else {int(low) for low, high, _ in self.intervals() if low == high}

    def values_of(self, code: int | str) -> str:
        """Return the raw values of a category as the question set writes them, empty for deciles."""
        category = self.categories.get(code)
        if isinstance(category, CategoryRecipe):
            return ", ".join(category.parts)
        if category is None:
            return "blank" if code == MISSING and self.missing is not None else ""
        return str(code)

    def blank_code(self) -> int | None:
        """Return the code of the category that a blank belongs to, or None."""
        return MISSING if self.missing is not None else next(iter(self._lists_blank()), None)

    def _lists_blank(self) -> list[int]:
        """The categories whose values include ``blank``, in a question of numbers."""
        return [
            int(code)
            for code, category in self.categories.items()
            if isinstance(category, CategoryRecipe) and "blank" in category.parts
        ]


@dataclass(frozen=True)
class Relation:
    """What holds between the answers to questions in every record.

    names : of two questions, the first at most (``<=``) as great as the second; or (``=``) of a total and
        of its parts; or (``of``) of one whose answer follows from the answer to the second, or from it and
        that to the third
    """

    names: tuple[str, ...]
    sign: Literal["<=", "=", "of"]

    @staticmethod
    def read(text: str) -> "Relation":
        """Return the relation that a question set writes; raise ValueError if it cannot be read."""
        name = r"[A-Za-z]\w*"
        order = re.fullmatch(rf"\s*({name})\s*<=\s*({name})\s*", text)
        if order:
            return Relation(order.groups(), "<=")
        total = re.fullmatch(rf"\s*({name})\s*=\s*({name}(?:\s*\+\s*{name})+)\s*", text)
        if total:
            return Relation((total[1], *re.split(r"\s*\+\s*", total[2])), "=")
        function = re.fullmatch(rf"\s*({name})\s+of\s+({name})(?:\s+by\s+({name}))?\s*", text)
        if function:
            return Relation(tuple(part for part in function.groups() if part), "of")
        raise ValueError(
            f"relations: cannot read {text!r}: write A <= B, or A = B + C, or A of B, or A of B by C"
        )


class Derived(Strict):
    """A question of a household that is computed of its members, never drawn.

    Exactly one of ``number``, ``present`` and ``sum`` is given. ``number`` counts the members of a role
    (householder, spouse, child or other), or all ``persons``. ``present`` says 1 if there is a member of a
    role, or one who gives one of these answers to a question, as in ``AGEP: ..17`` or ``child AGEP: 0..5``;
    else 0. ``sum`` adds up what the members answer to a question of numbers.
    """

    name: str = Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")
    label: str
    number: str | None = None
    present: str | dict[str, str | int | list[int | str]] | None = None
    sum: str | None = None

    @model_validator(mode="after")
    def _says_how(self) -> "Derived":
        if [self.number, self.present, self.sum].count(None) != 2:
            raise ValueError("give one of 'number', 'present' and 'sum'")
        if isinstance(self.present, dict) and len(self.present) != 1:
            raise ValueError("'present' names one question")
        return self

    @property
    def question(self) -> str | None:
        """The members' question that it is made of, if it is of one."""
        asked = next(iter(self.present)) if isinstance(self.present, dict) else self.sum
        return asked.rpartition(" ")[2] if asked else None


MemberRule = dict[str, str | int | list[int | str]]
"""What never occurs among the members of a household, see :mod:`modp.models.households.rules`."""


class QuestionSet(Strict):
    """The questions of a data set, in the order of their blocks.

    ``impossible`` states structural zeros: each entry names two questions and, of each, the codes of
    categories (``1, 3..5``, or a list of words; ``not 1, 3``: all others) that no record can hold together.
    ``members`` states what never occurs among the members of a household, see
    :mod:`modp.models.households.rules`, and ``derived`` what is computed of them. ``heat_map_order`` names
    questions in the order in which heat maps draw them; the others follow in their own. ``relations`` hold in
    every record: ``PERNP <= PINCP`` where both are numbers, or ``PINCP = WAGP + OTHER``, a sum of those of
    its parts that are numbers; or ``DECILE of PINCP``, or ``DECILE of PINCP by PUMA``, which follows from
    what the records answer to the one, or to the two together. ``from_records`` says that all this was found
    by looking at the records, so that a formal guarantee does not cover it.
    """

    name: str
    title: str
    from_records: bool = False
    records: Literal["persons", "housing"] = "persons"
    questions: list[QuestionRecipe] = Field(min_length=2)
    impossible: list[dict[str, str | int | list[int | str]]] = Field(default_factory=list)
    members: list[MemberRule] = Field(default_factory=list)
    derived: list[Derived] = Field(default_factory=list)
    relations: list[str] = Field(default_factory=list)
    heat_map_order: list[str] = Field(default_factory=list)

    @field_validator("questions")
    @classmethod
    def _no_question_twice(cls, questions: list[QuestionRecipe]) -> list[QuestionRecipe]:
        names = [q.name for q in questions]
        for name in RESERVED:
            if name in names:
                raise ValueError(f"a question cannot be called {name!r}, a column that synthetic tables add")
        twice = sorted({n for n in names if names.count(n) > 1})
        if twice:
            raise ValueError(f"question(s) listed twice: {', '.join(twice)}")
        return questions

    @model_validator(mode="after")
    def _impossible_is_of_known_categories(self) -> "QuestionSet":
        for at, rule in enumerate(self.impossible):
            try:
                self._pair(rule)
            except ValueError as fault:
                raise ValueError(f"impossible.{at}: {fault}") from None
        return self

    @model_validator(mode="after")
    def _heat_map_order_is_of_known_questions(self) -> "QuestionSet":
        known = [q.name for q in self.questions]
        for name in self.heat_map_order:
            if name not in known:
                raise ValueError(f"heat_map_order: there is no question {name!r}{did_you_mean(name, known)}")
            if self.heat_map_order.count(name) > 1:
                raise ValueError(f"heat_map_order: {name} stands twice")
        return self

    @model_validator(mode="after")
    def _derived_are_of_known_questions(self) -> "QuestionSet":
        levels = {q.name: q.level for q in self.questions}
        names = [*levels, *(question.name for question in self.derived)]
        for at, question in enumerate(self.derived):
            place, of = f"derived.{at} ({question.name})", question.question
            if names.count(question.name) > 1:
                raise ValueError(f"{place}: there is another question of this name")
            if of is not None and levels.get(of) != "person":
                near = did_you_mean(of, levels)
                raise ValueError(f"{place}: there is no question {of!r} of persons{near}")
        return self

    def of_level(self, level: str) -> "QuestionSet":
        """Return the questions of persons, or of households, with what is said of these alone."""
        own = [question for question in self.questions if question.level == level]
        names = {question.name for question in own}
        content = {
            "questions": own,
            "impossible": [rule for rule in self.impossible if names >= set(rule)],
            "relations": [text for text in self.relations if names >= set(Relation.read(text).names)],
            "heat_map_order": [name for name in self.heat_map_order if name in names],
        }
        return self.model_copy(update=content)

    @model_validator(mode="after")
    def _relations_are_of_known_questions(self) -> "QuestionSet":
        by_name = {q.name: q for q in self.questions}
        for text in self.relations:
            relation = Relation.read(text)
            for name in relation.names:
                if name not in by_name:
                    near = did_you_mean(name, by_name)
                    raise ValueError(f"relations: {text!r}: there is no question {name!r}{near}")
                if relation.sign != "of" and by_name[name].in_words and by_name[name].numbers is None:
                    raise ValueError(f"relations: {text!r}: the answers to {name!r} are no numbers")
        self._require_an_order()
        return self

    def _require_an_order(self) -> None:
        """Raise ValueError if a question follows from itself, or in two ways."""
        of = [relation.names for relation in self.functions]
        for name, *others in of:
            if [names[0] for names in of].count(name) > 1:
                raise ValueError(f"relations: {name} is said to follow from others twice")
            for _ in of:
                if name in others:
                    raise ValueError(f"relations: {name} is said to follow from itself")
                others = [source for names in of if names[0] in others for source in names[1:]]

    @property
    def functions(self) -> list[Relation]:
        """The relations of questions whose answers follow from others'."""
        return [relation for relation in map(Relation.read, self.relations) if relation.sign == "of"]

    @property
    def impossible_pairs(self) -> list[tuple[list[str], list[str]]]:
        """For each entry of ``impossible`` the categories on its two sides, named as ``SEX=1``.

        What follows from ``relations`` comes after them.
        """
        return [self._pair(rule) for rule in self.impossible] + self._out_of_order()

    def _out_of_order(self) -> list[tuple[list[str], list[str]]]:
        """Categories of two questions whose numbers surely break a relation."""
        found = []
        by_name = {q.name: q for q in self.questions}
        for relation in map(Relation.read, self.relations):
            smaller, greater = (by_name[name].numbers for name in relation.names[:2])
            if relation.sign != "<=" or smaller is None or greater is None:
                continue
            for code, others in numbers.zeros_of_order(smaller, greater).items():
                one, other = relation.names
                found.append(([f"{one}={code}"], [f"{other}={c}" for c in others]))
        return found

    def _pair(self, rule: Mapping[str, str | int | list[int | str]]) -> tuple[list[str], list[str]]:
        if len(rule) != 2:
            raise ValueError(f"name two questions, not {len(rule)}")
        sides = []
        by_name = {q.name: q for q in self.questions}
        for name, wanted in rule.items():
            if name not in by_name:
                raise ValueError(f"there is no question {name!r}{did_you_mean(name, by_name)}")
            question = by_name[name]
            codes = chosen(wanted, name, question.codes, question.in_words)
            sides.append([f"{name}={code}" for code in codes])
        return sides[0], sides[1]

    @property
    def columns(self) -> list[str]:
        """The raw columns needed, without repeats."""
        return list(dict.fromkeys(q.source for q in self.questions))

    @property
    def columns_of_words(self) -> set[str]:
        """Those of ``columns`` whose answers are words."""
        return {q.source for q in self.questions if q.in_words}

    @model_validator(mode="after")
    def _a_column_is_of_one_kind(self) -> "QuestionSet":
        both = self.columns_of_words & {q.source for q in self.questions if not q.in_words}
        if both:
            raise ValueError(f"column(s) read as words and as numbers: {', '.join(sorted(both))}")
        return self

    def fitted(
        self, faithful: bool, leave_out: Sequence[str], states: Mapping[int, str], weight: str | None = None
    ) -> "QuestionSet":
        """Return the question set as a data set wants it.

        Parameters
        ----------
        faithful : as the paper did it, or with the corrections that questions state
        leave_out : names of questions to do without
        states : FIPS code -> name, the categories of a last question STATE; empty for none
        weight : column of a survey weight, whose deciles are a last question of its name

        Raises
        ------
        InputError
            if a question to leave out does not exist, or fewer than two remain
        """
        names = [q.name for q in self.questions]
        for name in leave_out:
            if name not in names:
                raise InputError(
                    f"leave_out: there is no question {name!r} in {self.name!r}{did_you_mean(name, names)}"
                )
        wanted = [q if faithful else q.right() for q in self.questions if q.name not in leave_out]
        if states:
            wanted.append(QuestionRecipe(name=STATE, label="State", categories=dict(states.items())))
        if weight is not None:
            if weight in [*names, *(q.source for q in wanted)]:
                raise InputError(f"weight_question: {self.name!r} has a question of {weight} already")
            classes = DecileRecipe(of="all", blank_as=0)
            wanted.append(QuestionRecipe(name=weight, label="Survey weight", deciles=classes))
        kept = {q.name for q in wanted}
        content = {
            "name": self.name,
            "title": self.title,
            "from_records": self.from_records,
            "records": self.records,
            "questions": wanted,
            "impossible": [rule for rule in self.impossible if kept >= set(rule)],
            "members": [rule for rule in self.members if kept >= {name.split()[-1] for name in rule}],
            "derived": [question for question in self.derived if question.question in (None, *kept)],
            "relations": [text for text in self.relations if kept >= set(Relation.read(text).names)],
            "heat_map_order": [name for name in self.heat_map_order if name in kept],
        }
        return check(content, QuestionSet, f"the question set {self.name!r}, as the data set wants it,")


def chosen(wanted: str | int | list[int | str], name: str, codes: Sequence[str], in_words: bool) -> list[str]:
    """Return the codes, among those of a question, that an entry of ``impossible`` means.

    Raises
    ------
    ValueError
        if it means none of them, or cannot be read
    """
    if isinstance(wanted, str) and wanted.startswith("not ") and wanted not in codes:
        others = chosen(wanted.removeprefix("not "), name, codes, in_words)
        return [code for code in codes if code not in others]
    if isinstance(wanted, list):
        parts = [str(part) for part in wanted]
    else:
        parts = [str(wanted)] if in_words else [p.strip() for p in str(wanted).split(",")]
    meant: list[str] = []
    for part in parts:
        if part in codes:
            found = [part]
        elif in_words or ".." not in part:
            found = []
        else:
            low, high = _range(part)
            found = [code for code in codes if low <= int(code) <= high]
        if not found:
            raise ValueError(f"{name} has no category {part}{did_you_mean(part, codes)}")
        meant += found
    return meant


def _range(text: str) -> tuple[float, float]:
    low, dots, high = text.partition("..")
    try:
        if not dots:
            return float(int(low)), float(int(low))
        ends = float(int(low)) if low else -np.inf, float(int(high)) if high else np.inf
    except ValueError:
        raise ValueError(f"cannot read the values {text!r}: write 3, 3..5, ..5, 3..") from None
    if ends[0] > ends[1]:
        raise ValueError(f"the range {text!r} runs backwards")
    return ends
