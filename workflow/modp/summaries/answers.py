"""The tables of the questions, and of the answers by blade."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from modp.summaries.printed import Printed
from modp.survey.codebook import Codebook
from modp.survey.records import Records


def questions_table(codebook: Codebook) -> pd.DataFrame:
    """Return the data set's questions (the paper's Table 1 and its supplement's twin)."""
    return pd.DataFrame(
        {
            "question": [q.name for q in codebook.questions],
            "description": [q.label for q in codebook.questions],
            "categories": codebook.sizes,
            "merged": [q.made == "merged" for q in codebook.questions],
            "deciles": [q.made == "deciles" for q in codebook.questions],
        }
    )


def printed_questions(table: pd.DataFrame) -> Printed:
    """Return the questions for people."""
    rows = [
        [
            line["question"],
            line["description"],
            "merged" if line["merged"] else "deciles" if line["deciles"] else "",
            str(line["categories"]),
        ]
        for line in table.to_dict("records")
    ]
    caption = f"Questions: {len(table)}, categories: {table['categories'].sum()}"
    return Printed(caption, ["question", "description", "made", "categories"], rows, 3)


def answers_by_blade(records: Records, gates: np.ndarray, names: Sequence[str]) -> pd.DataFrame:
    """Return how the records that a blade takes answer (the paper's Tables 3 and 4).

    A record belongs to the blade with the largest weight.

    Parameters
    ----------
    records : n of them
    gates : shape (n, B)
    names : the questions wanted; those that the codebook lacks are passed over

    Returns
    -------
    one line a question, blade and category: the blade's ``records`` and the ``percent`` of them that
    give the answer, NaN where the blade has none
    """
    top = gates.argmax(axis=1)
    lines = []
    for q, question in enumerate(records.codebook.questions):
        if question.name not in names:
            continue
        for blade in range(gates.shape[1]):
            counts = np.bincount(records.codes[top == blade, q], minlength=len(question.categories))
            total = counts.sum()
            for category, label, count in zip(question.categories, question.labels, counts, strict=True):
                lines.append(
                    {
                        "question": question.name,
                        "blade": blade + 1,
                        "records": int(total),
                        "category": category.code,
                        "label": label,
                        "percent": 100 * count / total if total else np.nan,
                    }
                )
    columns = ["question", "blade", "records", "category", "label", "percent"]
    return pd.DataFrame(lines, columns=columns)


def printed_answers(table: pd.DataFrame, model: str) -> list[Printed]:
    """Return the answers by blade for people, one part a question; blades without records left out."""
    parts = []
    for question, part in table.groupby("question", sort=False):
        wide = part.set_index(["blade", "category"])["percent"].unstack()  # noqa: PD010
        wide = wide[list(dict.fromkeys(part["category"]))].dropna()
        taken = part.groupby("blade")["records"].first()
        rows = [
            [str(blade), f"{taken[blade]:,}", *(f"{value:.0f}" for value in row)]
            for blade, row in zip(wide.index, wide.to_numpy(), strict=True)
        ]
        headers = ["blade", "records", *map(str, wide.columns)]
        parts.append(Printed(f"{question} answers by blade of {model} (percents)", headers, rows, 1))
    return parts
