"""The steps of the pipeline, each the module of the same name in modp.cli."""

from dataclasses import dataclass
from enum import Enum


class For(Enum):
    """Who runs a step: the heading under which ``modp --help`` lists it."""

    PEOPLE = "commands for people"
    PIPELINE = "steps of the pipeline, which Snakemake and DVC run"
    CLONE = "for who works on a clone"


@dataclass(frozen=True)
class Step:
    """A step: what it does, which parts of a model's family it runs, if it prints its words, who runs it."""

    summary: str
    parts: tuple[str, ...] = ()
    words: bool = False
    runs: For = For.PIPELINE


STEPS = {
    "init": Step("look at a table of your own: write its dataset YAML and its question set", runs=For.PEOPLE),
    "synthesize": Step("make synthetic records of a table of your own, with a report", runs=For.PEOPLE),
    "impute": Step("fill the missing answers of a table of your own, once or several times", runs=For.PEOPLE),
    "households": Step("make synthetic households, and measure them", runs=For.PEOPLE),
    "gather": Step("bring persons and their households together, and code them"),
    "draw_households": Step("draw one row's whole households from their model", ("load", "draw")),
    "tables_households": Step("summarise a run on whole households: tables, metrics"),
    "report_households": Step("put everything about a run on whole households into one page", ("guarantee",)),
    "release_households": Step(
        "put a row's households into a folder that may leave the house", ("guarantee",), words=True
    ),
    "acquire": Step("fetch or copy one source file"),
    "code": Step("turn raw records into coded records and their codebook"),
    "bootstrap": Step("draw the two ends: a resample of the records, and records of independent answers"),
    "fit": Step("fit a model", ("fit", "load")),
    "instances": Step("draw a model's instances, from which rows are made", ("load", "instances", "gates")),
    "draw": Step("draw one row of the accuracy table from its model", ("load", "draw")),
    "measure": Step("measure one synthetic table: crosstabs, crowds, attacks", ("load",)),
    "releases": Step("attack several tables of one row together", ("load", "instances", "draw")),
    "weigh": Step("compare every row's weighted crosstab with the true one"),
    "estimate": Step("make the estimates that a user would publish, from every row"),
    "frontier": Step("trace a model's fidelity against privacy", ("load", "curve")),
    "mixing": Step("follow a model's chains", ("load", "chains")),
    "epsilon": Step("trace a private model's fidelity along epsilon"),
    "tables": Step("summarise all rows: tables, metrics, plot data"),
    "repeat": Step("run the pipeline once more with another seed"),
    "repeats": Step("gather the metrics of a run and its repeats"),
    "listed": Step("list the parts of a scattered data set"),
    "part": Step("run the pipeline on one part of a scattered data set"),
    "together": Step("put a row's synthetic records of all parts into one table"),
    "parts": Step("gather the metrics of all parts"),
    "figure": Step("draw one figure"),
    "report": Step("put everything about a run into one page, and what is public of it into another"),
    "card": Step("write the card of one model", ("guarantee",), words=True),
    "values": Step("draw the answers inside one row's categories: the table to be released", ("guarantee",)),
    "release": Step("put a row's records into a folder that may leave the house", ("guarantee",), words=True),
    "anonymeter": Step("put Anonymeter's risks beside the other attacks"),
    "compare": Step("compare two runs: parameters that differ, metrics with their change", runs=For.PEOPLE),
    "convert": Step("turn weights that the paper's author published into a model of ours", runs=For.CLONE),
    "schemas": Step("write the JSON schemas of the configuration files", runs=For.CLONE),
    "stages": Step("write dvc.yaml", runs=For.CLONE),
}


def listed() -> str:
    """Return all steps with what they do, under headings that say for whom."""
    width = max(map(len, STEPS)) + 2
    parts = []
    for whom in For:
        lines = [f"  {name:{width}}{step.summary}" for name, step in STEPS.items() if step.runs is whom]
        parts.append("\n".join([f"{whom.value}:", *lines]))
    return "\n\n".join(parts)
