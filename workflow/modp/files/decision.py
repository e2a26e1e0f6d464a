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
    notes : what a person should look at: spikes, doubts
    """

    column: str
    kind: Kind
    why: str
    recipe: dict[str, Any] | None = None
    notes: tuple[str, ...] = ()
