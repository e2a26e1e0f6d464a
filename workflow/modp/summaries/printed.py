"""Tables for people: how numbers are written, and tables as Markdown and LaTeX."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from modp.measures.table import ERROR, MULTIPLE, RATIO, Form, Measure


@dataclass(frozen=True)
class Printed:
    """A table for people: a caption, headers, and rows of text; the first ``words`` columns are words."""

    caption: str
    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: int

    def markdown(self) -> str:
        """Return the table as Markdown under its caption."""
        rule = ["---" if c < self.words else "--:" for c in range(len(self.headers))]
        lines = [self.headers, rule, *self.rows]
        body = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        return f"## {self.caption}\n\n{body}\n"

    def latex(self) -> str:
        """Return the table as LaTeX, to be set with the package booktabs."""
        columns = "l" * self.words + "r" * (len(self.headers) - self.words)
        lines = [" & ".join(_latex_text(cell) for cell in line) + r" \\" for line in self.rows]
        head = " & ".join(_latex_text(cell) for cell in self.headers) + r" \\"
        return "\n".join(
            [
                r"\begin{table}",
                rf"\caption{{{_latex_text(self.caption)}}}",
                rf"\begin{{tabular}}{{@{{}}{columns}@{{}}}}",
                r"\toprule",
                head,
                r"\midrule",
                *lines,
                r"\bottomrule",
                r"\end{tabular}",
                r"\end{table}",
                "",
            ]
        )


LATEX = {
    **{c: "\\" + c for c in "&%$#_{}"},
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"×": r"$\times$", "≤": r"$\le$", "−": "$-$", "–": "--"},
}


def _latex_text(text: str) -> str:
    return "".join(LATEX.get(c, c) for c in text)


SEEDS = ("- seed: ", "- seeds: ")
"""How a fact on seeds begins."""


def document(heading: str, facts: Mapping[str, str], notes: Sequence[str], parts: Sequence[Printed]) -> str:
    """Return a Markdown page: heading, facts, notes, tables."""
    lines = [f"# {heading}", "", *(f"- {key}: {value}" for key, value in facts.items())]
    lines += [f"- {note}" for note in notes]
    return "\n".join(lines) + "\n\n" + "\n".join(part.markdown() for part in parts)


def without_seed(text: str) -> str:
    """Return a page that :func:`document` wrote without its fact on seeds.

    Whoever has the seed can repeat chance: take away what hides answers that were passed through.
    """
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith(SEEDS))


def row_names(table: pd.DataFrame) -> pd.Series:
    """Return ``bootstrap`` or ``model/variant`` for each line of a table."""
    return table["model"].str.cat(table["variant"], sep="/").str.rstrip("/")


def shown(value: float, form: str) -> str:
    """Write a number in this form, such as ``{:.3f}``; nothing if it is not defined."""
    return "" if np.isnan(value) else form.format(value)


def bounded(numbers: Iterable[float], form: Form, to: str = "–", unit: bool = True) -> str:
    """Write a number and its two bounds, ``to`` between these, the unit, if wanted, after the number."""
    value, low, high = (form.number.format(form.scale * number) for number in numbers)
    return f"{value}{form.unit if unit else ''} ({low}{to}{high})"


def cell(measure: Measure, line: Mapping[str, float]) -> str:
    """Write a measure that has a column of its own; nothing if it is not defined.

    Parameters
    ----------
    line : of the table that it is a column of; a share of the ``ranked`` cases gets its standard error, a
        number with a column of standard errors the one that stands there
    """
    value, form = line[measure.key], measure.form
    if np.isnan(value):
        return ""
    error = np.nan
    if form.spread == "share":
        error = np.sqrt(value * (1 - value) / line["ranked"])
    elif form.spread == "error":
        error = line[f"{measure.key}{ERROR}"]
    texts = [form.number.format(form.scale * number) for number in (value, error) if not np.isnan(number)]
    return f"{' ± '.join(texts)}{form.unit}"


def with_ratios(measures: Sequence[Measure], line: Mapping[str, float]) -> list[str]:
    """Write measures of d, each followed by its ratio to the bootstrap's."""
    texts = [(cell(m, line), shown(line[f"{RATIO}{m.key}"], MULTIPLE.number)) for m in measures]
    return [text for pair in texts for text in pair]
