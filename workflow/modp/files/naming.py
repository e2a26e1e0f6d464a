"""Names: what a column's name says, the name of a question made of it, labels that nobody confuses."""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeVar

from modp.survey.questions import RESERVED

LONGEST = 60
"""Letters of a question's name."""

Key = TypeVar("Key")


def parts(name: str) -> list[str]:
    """Return the words of a name in small letters: ``birthWeight_kg`` is birth, weight, kg."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return re.findall(r"[^\W_]+", apart.lower())


def joined(name: str) -> str:
    """Return a name's words in one: ``HH_ID`` is hhid."""
    return "".join(parts(name))


def question_names(columns: Sequence[str]) -> list[str]:
    """Return a name for the question made of each column: Latin letters, digits and ``_``; no two equal."""
    found: list[str] = []
    taken = set(RESERVED) | {name for name in columns if _plain(name) == name}
    for at, column in enumerate(columns):
        name = _plain(column) or f"Q{at + 1}"
        free, number = name, 2
        while free in found or (free in taken and free != column) or free in RESERVED:
            free, number = f"{name}_{number}", number + 1
        found.append(free)
    return found


def told_apart(labels: Mapping[Key, str]) -> dict[Key, str]:
    """Return labels, each with its code in brackets where several codes share it."""
    shared = Counter(labels.values())
    found: dict[Key, str] = {}
    for code, label in labels.items():
        wanted = f"{label} ({code})" if shared[label] > 1 else label
        while wanted in found.values() or (wanted != label and wanted in shared):
            wanted = f"{wanted} ({code})"
        found[code] = wanted
    return found


def _plain(name: str) -> str:
    letters = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    plain = re.sub(r"[^A-Za-z0-9]+", "_", letters) if re.search(r"[^A-Za-z0-9_]", name) else name
    plain = plain.strip("_") if plain != name or name.startswith("_") else plain
    plain = f"Q{plain}" if plain[:1].isdigit() else plain
    return plain[:LONGEST]
