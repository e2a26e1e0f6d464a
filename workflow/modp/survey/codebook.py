"""The codebook: a coded data set's questions, their categories and how each was made."""

import hashlib
import json
from collections import Counter
from dataclasses import asdict, dataclass
from functools import cached_property

import numpy as np

MAX_CATEGORIES = 1000
"""Above this a question is surely an identifier: its one-hot block would fill the memory."""


@dataclass(frozen=True)
class Category:
    """One answer: its code (as the files write it), its label for people, and its raw values.

    ``values`` is written as in the question set (``1..6``, ``blank``), empty for a decile.
    """

    code: str
    label: str
    values: str


@dataclass(frozen=True)
class Question:
    """One question with its categories, in the order of the block's columns.

    ``edges`` are the nine cuts between deciles (jitter included), empty for other questions.
    """

    name: str
    label: str
    column: str
    made: str
    categories: tuple[Category, ...]
    edges: tuple[float, ...] = ()

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The categories' labels as people read them, all different: with the code where two are alike."""
        plain = [" ".join(c.label.split()) for c in self.categories]
        coded = [f"{text} ({c.code})".strip() for text, c in zip(plain, self.categories, strict=True)]
        alike = {text for text, count in Counter(plain).items() if count > 1 or not text}
        told = [two if one in alike else one for one, two in zip(plain, coded, strict=True)]
        return tuple(told if len(set(told)) == len(told) else coded)


@dataclass(frozen=True)
class Codebook:
    """The questions of a coded data set.

    ``block_starts`` has one entry a question and, last, the number of categories K; question q's
    one-hot columns are ``block_starts[q]:block_starts[q + 1]``. ``impossible`` holds the structural
    zeros that the question set states: no record has a category of an entry's first part, named as
    in ``columns``, together with one of its second. ``heat_map_order`` names questions in the order in
    which heat maps draw them; the others follow in their own. ``from_records`` says whether categories were
    found by looking at the records. ``functions`` names pairs of questions of which the first follows from
    the second.
    """

    question_set: str
    questions: tuple[Question, ...]
    impossible: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = ()
    heat_map_order: tuple[str, ...] = ()
    from_records: bool = False
    functions: tuple[tuple[str, str], ...] = ()

    @cached_property
    def sizes(self) -> np.ndarray:
        """Number of categories of each question, shape (Q,)."""
        return np.array([len(q.categories) for q in self.questions])

    @cached_property
    def block_starts(self) -> np.ndarray:
        """First column of each block and, last, K: shape (Q + 1,)."""
        return np.concatenate([[0], np.cumsum(self.sizes)])

    @property
    def names(self) -> list[str]:
        """The questions' names."""
        return [q.name for q in self.questions]

    @property
    def columns(self) -> list[str]:
        """A name for each of the K categories, such as ``SEX=1``."""
        return [f"{q.name}={c.code}" for q in self.questions for c in q.categories]

    @cached_property
    def stated_zeros(self) -> np.ndarray:
        """Mask of the cells that ``impossible`` names: bool (K, K), symmetric."""
        place = {name: k for k, name in enumerate(self.columns)}
        mask = np.zeros((len(place), len(place)), bool)
        for one, other in self.impossible:
            cells = np.ix_([place[name] for name in one], [place[name] for name in other])
            mask[cells] = True
        return mask | mask.T

    @property
    def of_functions(self) -> np.ndarray:
        """Mask of the cells between questions of which one follows from the other: bool (K, K), symmetric."""
        starts, at = self.block_starts, {name: q for q, name in enumerate(self.names)}
        mask = np.zeros((starts[-1], starts[-1]), bool)
        for pair in self.functions:
            one, other = (slice(starts[at[name]], starts[at[name] + 1]) for name in pair)
            mask[one, other] = True
        return mask | mask.T

    def broken(self, counts: np.ndarray) -> list[str]:
        """Return, for people, the cells that ``impossible`` names and that hold records.

        Parameters
        ----------
        counts : a crosstab, (K, K)
        """
        cells = np.argwhere(np.triu(self.stated_zeros & (counts > 0)))
        return [f"{self.columns[i]} with {self.columns[j]} ({counts[i, j]:,} records)" for i, j in cells]

    @property
    def digest(self) -> str:
        """Sha256 of what gives a model's columns their meaning: questions, codes and raw values."""
        values = [c.values for q in self.questions for c in q.categories]
        meaning = [f"{c} {v}" for c, v in zip(self.columns, values, strict=True)]
        return hashlib.sha256("\n".join(meaning).encode()).hexdigest()

    def to_json(self) -> str:
        """Return the codebook as JSON text, ending in a newline."""
        content = {
            "question_set": self.question_set,
            "digest": self.digest,
            "block_starts": self.block_starts.tolist(),
            "questions": [asdict(q) for q in self.questions],
            "impossible": self.impossible,
            "heat_map_order": self.heat_map_order,
            "from_records": self.from_records,
            "functions": self.functions,
        }
        return json.dumps(content, indent=1, ensure_ascii=False) + "\n"

    @staticmethod
    def from_json(text: str) -> "Codebook":
        """Return the codebook that :meth:`to_json` wrote."""
        content = json.loads(text)
        questions = tuple(
            Question(
                **{
                    **q,
                    "categories": tuple(Category(**c) for c in q["categories"]),
                    "edges": tuple(q["edges"]),
                }
            )
            for q in content["questions"]
        )
        impossible = tuple((tuple(one), tuple(other)) for one, other in content.get("impossible", ()))
        order = tuple(content.get("heat_map_order", ()))
        functions = tuple((one, other) for one, other in content.get("functions", ()))
        found = content.get("from_records", False)
        return Codebook(content["question_set"], questions, impossible, order, found, functions)
