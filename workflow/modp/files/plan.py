"""A plan for anybody's table: the texts of its dataset YAML and its question set, to be edited by people."""

import re
import textwrap
from collections.abc import Sequence
from typing import Any

import yaml

from modp.base.errors import InputError
from modp.files.decision import Decision, size
from modp.files.naming import joined
from modp.files.options import TableOptions
from modp.files.table import Table

MOST_CATEGORIES = 20_000
"""Categories altogether: a crosstab of more takes gigabytes."""

LINE = 110


def plan(
    table: Table,
    decisions: Sequence[Decision],
    file: str,
    name: str,
    options: TableOptions,
    questions: str | None = None,
) -> tuple[str, str]:
    """Return the texts of the dataset YAML and of the question set YAML.

    Parameters
    ----------
    decisions : one a column, in the table's order
    file : where the table is, as seen from where the pipeline runs
    name : of the data set and of its questions
    options : how the file is to be read
    questions : how the dataset YAML names the question set; by its name if not given

    Raises
    ------
    InputError
        if the table has no rows, fewer than two columns can be questions, or there are more categories than
        memory bears
    """
    _require_a_table(table, decisions, file)
    return _dataset(table, decisions, file, name, options, questions or name), _questions(decisions, name)


def _require_a_table(table: Table, decisions: Sequence[Decision], file: str) -> None:
    if not len(table):
        raise InputError(f"{file} has no rows: there is nothing to learn from")
    asked = [decision for decision in decisions if decision.recipe]
    if len(asked) < 2:
        others = "".join(f"\n  {d.column} ({d.kind}): {d.why}" for d in decisions if not d.recipe)
        what = f"only {asked[0].column} can be a question" if asked else "no column can be a question"
        raise InputError(
            f"{file}: {what}, and synthetic records need two at least."
            + (f" Left out are:{others}" if others else "")
        )
    categories = sum(map(size, asked))
    if categories > MOST_CATEGORIES:
        widest = sorted(asked, key=size, reverse=True)[:5]
        listing = ", ".join(f"{d.column} ({size(d):,})" for d in widest)
        raise InputError(
            f"{file}: {categories:,} categories altogether are more than memory bears "
            f"({MOST_CATEGORIES:,}). The widest columns are {listing}: merge their answers in the file, "
            "or leave some out"
        )


def _dataset(
    table: Table, decisions: Sequence[Decision], file: str, name: str, options: TableOptions, questions: str
) -> str:
    told = [f"What {name} is made of, found by looking at its file. Edit what is wrong."]
    parts = [_comment(line) for line in [*told, *table.said]]
    parts.append(as_yaml({"title": name, "questions": questions, "files": [file]}))
    parts.append(_comment("The file is a table of one's own; here may stand how it is to be read:"))
    parts.append(_comment("encoding, delimiter, decimal, sheet. What is not said is found out."))
    parts.append(as_yaml({"table": options.model_dump(exclude_none=True)}))
    parts.append(_household(decisions))
    parts.append(_weights(decisions))
    parts.append(_others(decisions))
    return "".join(parts)


def _household(decisions: Sequence[Decision]) -> str:
    for decision in decisions:
        if decision.kind == "household":
            return _comment(f"{decision.column}: {decision.why}.") + as_yaml({"household": decision.column})
    return _comment(
        "No key of households was found: records are held out singly. If a column is one, say so "
        "(household: COLUMN) and take it out of the questions and of other_columns."
    )


def main_weight(decisions: Sequence[Decision]) -> Decision | None:
    """Return the decision on the weight that is used: the persons', where there are several."""
    weights = [decision for decision in decisions if decision.kind == "weight"]
    of_persons = [d for d in weights if re.match(r"p(er|ers|erson)?w", joined(d.column))]
    return next(iter(of_persons or weights), None)


def _weights(decisions: Sequence[Decision]) -> str:
    main = main_weight(decisions)
    parts = []
    for decision in decisions:
        if decision is main:
            parts.append(_comment(f"{decision.column}: {decision.why}."))
            parts.append(as_yaml({"weight": decision.column}))
        elif decision.kind == "weight":
            parts.append(_comment(f"{decision.column}: {decision.why}; not used beside the other."))
    series: dict[str, list[str]] = {}
    for decision in decisions:
        if decision.kind == "replicate weight":
            series.setdefault(decision.column.rstrip("0123456789"), []).append(decision.column)
    chosen = main.column if main and main.column in series else next(iter(series), None)
    for stem, names in series.items():
        ordered = sorted(names, key=lambda name: int(name.removeprefix(stem)))
        span = f"{ordered[0]}..{ordered[-1].removeprefix(stem)}"
        if stem == chosen:
            parts.append(_comment("Replicate weights, for standard errors, and how these follow from them:"))
            parts.append(_comment("sdr as Census's, brr, fay (then fay: 0.5, the coefficient) or jk1."))
            parts.append(as_yaml({"replicates": span, "variance": "sdr"}))
        else:
            parts.append(_comment(f"{span}: replicate weights as well; not used beside the others."))
    return "".join(parts)


def _others(decisions: Sequence[Decision]) -> str:
    others = [d for d in decisions if d.recipe is None and d.kind not in ("weight", "replicate weight")]
    others = [d for d in others if d.kind != "household"]
    if not others:
        return ""
    parts = [_comment("Columns that are no questions, and why."), "other_columns:\n"]
    for decision in others:
        parts.append(_comment(decision.why, "  "))
        parts.append(textwrap.indent(as_yaml({decision.column: decision.kind}), "  "))
    return "".join(parts)


def _questions(decisions: Sequence[Decision], name: str) -> str:
    told = (
        "The questions of a table, one a column, found by looking at it. Above each stands why it is as it "
        "is. Edit what is wrong: labels, cuts, what is merged ({label: …, values: [a, b]}); take a question "
        "out to leave its column out."
    )
    found = (
        "With a formal guarantee nothing here may be known from the records alone: write false once all "
        "cuts, values and words are what anybody may know."
    )
    parts = [_comment(told), as_yaml({"name": name, "title": name}), _comment(found)]
    parts += [as_yaml({"from_records": True}), "questions:\n"]
    for decision in decisions:
        if decision.recipe:
            parts.append(_comment(decision.why, "  "))
            parts.append(textwrap.indent(as_yaml([decision.recipe]), "  ", lambda line: True))
    holds = [text for decision in decisions for text in decision.relations]
    if holds:
        parts.append(_comment("What holds in every row, and so in every synthetic record."))
        parts.append("relations:\n" + "".join(f"  - {text}\n" for text in holds))
    return "".join(parts)


class _Dumper(yaml.SafeDumper):
    """Quotes all that would be read as a number: to modp.base.config also 08 and 010 are some.

    Text with line ends that YAML would read as others stands in double quotes. Keys stand one a line, plain
    lists in one line.
    """

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def represent_sequence(self, tag: str, sequence: Any, flow_style: bool | None = None) -> yaml.Node:
        lines = any(isinstance(part, dict) for part in sequence)
        return super().represent_sequence(tag, sequence, flow_style=not lines)

    def represent_str(self, text: str) -> yaml.Node:
        style = '"' if re.search("[\x85\u2028\u2029]", text) else None
        return self.represent_scalar("tag:yaml.org,2002:str", text, style)


_Dumper.add_representer(str, _Dumper.represent_str)
_Dumper.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"[-+]?\d+$"), list("-+0123456789"))


def as_yaml(content: Any) -> str:
    """Return the YAML text from which :mod:`modp.base.config` reads the same content again."""
    return yaml.dump(content, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=LINE - 4)


def _comment(text: str, indent: str = "") -> str:
    """Text as comment lines; what YAML cannot hold becomes a question mark."""
    plain = yaml.reader.Reader.NON_PRINTABLE.sub("?", " ".join(text.split()))
    start = f"{indent}# "
    return "\n".join(textwrap.wrap(plain, LINE, initial_indent=start, subsequent_indent=start)) + "\n"
