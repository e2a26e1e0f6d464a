"""What of a run holds true information: one table, for the report, the documents and what DVC sends."""

from collections.abc import Sequence
from dataclasses import dataclass

from modp.figures.registry import KINDS
from modp.summaries.register import TABLES


@dataclass(frozen=True)
class Holding:
    """Files, below a data set's results where nothing else is said, and what they hold of true records.

    may_leave : whether they may leave the house, and how
    records : whether they are made of true records, whole, which DVC then sends to no remote
    """

    files: tuple[str, ...]
    holds: str
    may_leave: str
    records: bool = False


RAW = "data/raw/<dataset>/"
"""The source files; of all holdings only these and logs are not below the results."""

HOLDINGS = (
    Holding((RAW,), "the true records", "no", records=True),
    Holding(
        ("records.parquet", "holdout.parquet", "bootstrap.parquet"),
        "true records, coded; of the last, some twice and some not at all",
        "no",
        records=True,
    ),
    Holding(
        ("weights.parquet",),
        "the household and, where the data set names them, the weights of each true record",
        "no",
        records=True,
    ),
    Holding(("parts.parquet",), "of which part, such as a state, each true record is", "no"),
    Holding(("marginals.parquet",), "the exact number of true records that give each answer", "no"),
    Holding(
        ("codebook.json",),
        "in labels and cuts of deciles, true values, the smallest and the largest among them",
        "without these labels and cuts",
    ),
    Holding(
        ("<model>/model.safetensors",),
        "what the model learnt, from which true crosstabs follow",
        "another decision than a table's; with a guarantee, as far as that goes",
    ),
    Holding(
        ("<model>/<variant>/synthetic.parquet", "instances/"),
        "in `record`, which true record a row was drawn from; in `entropy_bits`, how it answers",
        "not as they are: `snakemake release` makes of them what may",
    ),
    Holding(
        ("<model>/<variant>/values.parquet",),
        "synthetic records with answers as the input writes them, in random order: what a release holds, "
        "also of rows that are warned of",
        "not as it is: `snakemake release` makes of it what may",
    ),
    Holding(
        ("<model>/<variant>/release/",),
        "synthetic records in the input's own form, and a page on them: no `record`, no `entropy_bits`, rows "
        "in random order",
        "yes: it is made for that",
    ),
    Holding(
        ("measures/…/cells.parquet", "report.html"),
        "the true crosstab, cells of one record included",
        "no",
    ),
    Holding(
        ("gates/", "measures/…/privacy.parquet"),
        "a line for each true record, or for each one that was drawn from",
        "no",
    ),
    Holding(
        tuple(f"tables/{name}.*" for name, table in TABLES.items() if not table.public),
        "shares of a few true records",
        "no",
    ),
    Holding(
        ("tables/weighted/",),
        "the true crosstab by weights, cells of one record included, and true estimates of every group",
        "no",
    ),
    Holding(
        ("figures/",),
        f"those of the kinds {', '.join(f'`{name}`' for name, kind in KINDS.items() if not kind.public)}: "
        "true counts cell by cell, or a point for a true record",
        "the others",
    ),
    Holding(
        ("parameters.json",),
        "the seed, with which chance can be repeated: which answers were passed through",
        "without the seed",
    ),
    Holding(("logs/<dataset>/",), "counts and values that were worth a word", "no"),
    Holding(
        ("all of these again in `repeats/`, `parts/`, `scattered/` and in DVC's cache",), "the same", "no"
    ),
    Holding(
        (
            "report_public.html",
            "metrics.json",
            "plots/",
            "frontier/",
            "the other tables and measures",
            "<model>/history.parquet",
            "<model>/card.md",
            "<model>/privacy.md",
        ),
        "measures over many cells or many people, the number of records, and the questions",
        "yes, but for the seed on tables and cards where answers were passed through",
    ),
)


OF_HOUSEHOLDS = (
    Holding((RAW,), "the true records", "no", records=True),
    Holding(
        ("records.parquet", "households.parquet", "holdout.parquet", "holdout_households.parquet"),
        "true persons and their households, coded",
        "no",
        records=True,
    ),
    Holding(
        ("codebook.json", "codebook_households.json"),
        "in labels and cuts of deciles, true values, the smallest and the largest among them",
        "without these labels and cuts",
    ),
    Holding(("members.json",), "what the question set says of members: nothing true", "yes"),
    Holding(
        ("<model>/model.safetensors",),
        "what the model learnt, from which true crosstabs follow",
        "another decision than a table's; with a guarantee, as far as that goes",
    ),
    Holding(
        ("<model>/<variant>/synthetic.parquet", "<model>/<variant>/synthetic_households.parquet"),
        "in `record`, at which true household a synthetic one began, if at any",
        "not as they are: `snakemake release` makes of them what may",
    ),
    Holding(
        ("<model>/<variant>/release/",),
        "synthetic persons, their households, and both joined, under new numbers and in random order",
        "yes: it is made for that",
    ),
    Holding(("measures/", "report.html"), "the true crosstab of couples, cells of one couple included", "no"),
    Holding(("parameters.json",), "the seed, with which chance can be repeated", "without the seed"),
    Holding(("logs/<dataset>/",), "counts and values that were worth a word", "no"),
    Holding(
        ("report_public.html", "metrics.json", "plots/", "figures/", "tables/", "<model>/history.parquet"),
        "measures over many cells or many households, the number of records, and the questions",
        "yes",
    ),
)
"""The same of a run on whole households."""


def of_true_records(holdings: Sequence[Holding] = HOLDINGS) -> list[str]:
    """Return the files of results that are made of true records, whole."""
    return [file for holding in holdings if holding.records for file in holding.files if file != RAW]


def rows(holdings: Sequence[Holding] = HOLDINGS) -> list[tuple[str, str, str]]:
    """Return the table for people: files, what they hold, and whether they may leave the house."""
    return [(", ".join(_named(file) for file in h.files), h.holds, h.may_leave) for h in holdings]


def _named(file: str) -> str:
    return file if " " in file else f"`{file}`"


def markdown(holdings: Sequence[Holding] = HOLDINGS) -> str:
    """Return the table as Markdown."""
    lines = ["| files | what they hold | may they leave the house |", "|---|---|---|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows(holdings))]) + "\n"
