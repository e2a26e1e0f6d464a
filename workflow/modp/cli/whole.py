"""What the steps on whole households read: persons, their households, and what is said of these."""

import argparse
import json
from pathlib import Path

from modp.base.config import Strict, check
from modp.survey.codebook import Codebook
from modp.survey.households import Codebooks, Households
from modp.survey.questions import Derived, MemberRule, QuestionSet


class Said(Strict):
    """What the question set says of the members of a household: what never occurs, what is computed."""

    members: list[MemberRule]
    derived: list[Derived]

    @classmethod
    def of(cls, questions: QuestionSet) -> "Said":
        """Take it from a question set: what it calls impossible of one person or household, too."""
        return cls(members=[*questions.impossible, *questions.members], derived=questions.derived)

    @classmethod
    def read(cls, path: Path) -> "Said":
        """Read it from where the coding left it."""
        return check(json.loads(path.read_text(encoding="utf-8")), cls, str(path))


def ask_for_whole(parser: argparse.ArgumentParser) -> None:
    """Declare the options that :func:`whole` takes, besides --records and --codebook, and --said."""
    parser.add_argument("--homes", type=Path, nargs="?", help="the records' households, where they are whole")
    parser.add_argument("--home-codebook", type=Path, nargs="?")
    parser.add_argument("--said", type=Path, nargs="?", help="what the question set says of members, as JSON")


def ask_for_held(parser: argparse.ArgumentParser) -> None:
    """Declare the options that :func:`held_out` takes, besides those of :func:`ask_for_whole`."""
    parser.add_argument("--holdout", type=Path, required=True, help="persons of whom no model saw any")
    parser.add_argument("--home-holdout", type=Path, required=True, help="their households")


def books(options: argparse.Namespace) -> Codebooks:
    """Return the codebooks of persons and of households."""
    files = options.codebook, options.home_codebook
    return Codebooks(*(Codebook.from_json(path.read_text(encoding="utf-8")) for path in files))


def whole(options: argparse.Namespace) -> Households:
    """Return the true households."""
    return Households.read(options.records, options.homes, books(options))[0]


def held_out(options: argparse.Namespace) -> Households:
    """Return the households that no model saw."""
    return Households.read(options.holdout, options.home_holdout, books(options))[0]
