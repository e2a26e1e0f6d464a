"""Analyses as params.yaml asks for them: formulas, and whether a data set has what they name.

They are computed in :mod:`modp.measures.analyses`. Nothing heavy is imported.
"""

import re
from collections.abc import Iterable
from typing import Literal

from pydantic import Field, model_validator

from modp.base.config import Strict
from modp.base.errors import InputError, did_you_mean
from modp.survey.questions import QuestionSet

WORD = re.compile(r"""'[^']*'|"[^"]*"|(?<![\w.])[A-Za-z_]\w*(?!\w)""")
"""A text in quotes, or a name that is no attribute of another."""

COLUMNS = ("analysis", "model", "term", "row", "records", "estimate", "error", "said")
"""What is known of an estimate."""

KEYWORDS = ("and", "or", "not", "in", "True", "False", "None")
BRACKETS = {")": "(", "]": "[", "}": "{"}


class Analysis(Strict):
    """A regression that a user would run: a ``formula`` of questions, and the ``model`` of it.

    Formulas are Wilkinson's, as formulaic reads them: ``np.log(PINCP) ~ AGEP + C(SEX)``. A question's number
    stands for itself, ``C()`` makes categories of it, ``{HICOV == 1}`` is 0 or 1; ``~ 0 + C(SEX)`` gives
    means of groups. ``subset`` says which records: ``AGEP >= 25 and ESR == 1``. ``quantiles`` are those of a
    model ``quantile``. With ``question_set`` it is made only where the data set has that one.
    """

    name: str = Field(pattern=r"^[A-Za-z0-9][\w ,.-]*$")
    formula: str
    model: Literal["ols", "logit", "poisson", "quantile"]
    quantiles: list[float] = Field(default=[0.1, 0.5, 0.9], min_length=1)
    subset: str | None = None
    question_set: str | None = None

    @model_validator(mode="after")
    def _can_be_read(self) -> "Analysis":
        if self.formula.count("~") != 1 or not all(side.strip() for side in self.formula.split("~")):
            raise ValueError(f"{self.formula!r} has not two sides, as in PINCP ~ AGEP + C(SEX)")
        for text in (self.formula, self.subset or ""):
            _require_brackets(text)
        if not all(0 < share < 1 for share in self.quantiles):
            raise ValueError("'quantiles' are shares, as in [0.1, 0.5, 0.9]")
        return self

    @property
    def questions(self) -> list[str]:
        """The names in the formula and the subset that must be questions: all but functions and modules."""
        return list(
            dict.fromkeys(name for text in (self.formula, self.subset or "") for name in _names(text))
        )


def _names(text: str) -> list[str]:
    found = []
    for match in WORD.finditer(text):
        after = text[match.end() :].lstrip()
        named = re.match(r"=(?!=)", after)
        if (
            match[0][0] not in "'\""
            and match[0] not in KEYWORDS
            and after[:1] not in ("(", ".")
            and not named
        ):
            found.append(match[0])
    return found


def _require_brackets(text: str) -> None:
    open_ones: list[str] = []
    for letter in re.sub(r"'[^']*'|\"[^\"]*\"", "", text):
        if letter in BRACKETS.values():
            open_ones.append(letter)
        elif letter in BRACKETS and (not open_ones or open_ones.pop() != BRACKETS[letter]):
            raise ValueError(f"{text!r}: a bracket {letter} closes none")
    if open_ones:
        raise ValueError(f"{text!r}: the bracket {open_ones[-1]} is not closed")


def wanted(analyses: Iterable[Analysis], whole: QuestionSet, fitted: QuestionSet) -> list[Analysis]:
    """Return the analyses that can be made of a data set.

    Those of another question set, or of a question that the data set leaves out, are passed over.

    Parameters
    ----------
    whole, fitted : the data set's question set, and as the data set wants it

    Raises
    ------
    InputError
        if one names what is no question
    """
    there = [question.name for question in fitted.questions]
    known = {*there, *(question.name for question in whole.questions)}
    found = []
    for analysis in analyses:
        if analysis.question_set not in (None, whole.name):
            continue
        for name in analysis.questions:
            if name not in known:
                near = did_you_mean(name, sorted(known))
                raise InputError(
                    f"analyses: {analysis.name}: there is no question {name!r} in {whole.name!r}{near}"
                )
        if set(analysis.questions) <= set(there):
            found.append(analysis)
    return found
