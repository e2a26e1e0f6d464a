"""What was decided of one column."""

from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal[
    "categories",
    "numbers",
    "dates",
    "weight",
    "replicate weight",
    "household",
    "constant",
    "identifier",
    "free text",
    "many words",
    "all blank",
]


@dataclass(frozen=True)
class Decision:
    """What becomes of a column.

    column : its name in the file
    kind : what it is taken for
    why : a sentence for people
    recipe : of the question that is made of it, as a question set writes it; nothing where none is
    notes : what a person should look at: what may be a code for no answer, doubts
    spikes : numbers that so many give that they are categories of their own, as a person writes them
    relations : what holds between it and other columns in every row, as a question set writes it
    """

    column: str
    kind: Kind
    why: str
    recipe: dict[str, Any] | None = None
    notes: tuple[str, ...] = ()
    spikes: tuple[str, ...] = ()
    relations: tuple[str, ...] = ()


def size(decision: Decision) -> int:
    """Return how many categories the question has; 0 for a column that is none."""
    if decision.recipe is None:
        return 0
    blank = "missing" in decision.recipe
    classes = decision.recipe.get("numbers")
    if classes is None:
        return len(decision.recipe["categories"]) + blank
    parts = len(classes["cuts"]) + len(classes.get("apart", ())) + len(classes.get("words", ()))
    return 1 + parts + blank
