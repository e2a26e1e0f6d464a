"""The page that goes with a released table: what it is, what was measured, what it does not protect."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from modp.measures.pooling import COVERAGE, DRAWING, inflation
from modp.release.assembled import OWN_WEIGHT, Released
from modp.release.inside import Inside
from modp.release.values import RARITY
from modp.report.page import Number
from modp.report.templates import template


@dataclass(frozen=True)
class About:
    """What is said of a released table, besides what stands in its columns.

    records : number of true records that the model learnt from; None where it is not to be told
    questions : number of questions
    method : how the model and the row were made, in words
    measured : the numbers that matter
    guaranteed : sentences on what is guaranteed, if anything is
    warnings : sentences in spite of which it is released
    how : numbers were drawn inside their class
    balanced : whether the records were; None where no rule is known for intervals from them
    unknown : three-way effects in the true records that the model does not have, strongest first
    """

    title: str
    records: int | None
    questions: int
    method: str
    measured: Sequence[Number]
    guaranteed: Sequence[str]
    warnings: Sequence[str]
    how: Inside
    balanced: bool | None = None
    unknown: Sequence[str] = ()


def readme(file: str, released: Released, names: Sequence[str], about: About) -> str:
    """Return the page as Markdown.

    Parameters
    ----------
    file : the name of the data file
    names : of all columns of the file
    """
    factor = None
    if about.balanced is not None and about.records is not None:
        factor = inflation(about.records, len(released.table), balanced=about.balanced)
    return template("release.md.j2").render(
        **vars(about),
        inflation=factor,
        file=file,
        size=len(released.table),
        weighted=any("weight" in what for what in released.what.values()),
        own_weights=OWN_WEIGHT in released.what.values(),
        rarity=RARITY,
        drawn=DRAWING if about.balanced else 1,
        coverage=COVERAGE,
        said=released.said,
        columns=_by_content(names, released.what),
    )


def _by_content(names: Sequence[str], what: Mapping[str, str]) -> list[tuple[str, list[str]]]:
    """What stands in columns, and in which, in the order of the first."""
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(what.get(name, BLANK_COLUMN), []).append(f"`{name}`" if name.strip() else repr(name))
    return list(found.items())


BLANK_COLUMN = "nothing, since it was not synthesised"
