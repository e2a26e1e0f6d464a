"""The table of attacks on several tables together: what each gains from one more release."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from modp.measures.table import GAINS, Measure, measures_of
from modp.summaries.attacks import BOUNDS
from modp.summaries.printed import Printed, bounded

RELEASES_NOTES = (
    "what the attacks of the table of attacks find, about the same people, who have one synthetic table of a "
    "row, two, and so on, each drawn from the same model as the first was; in brackets: 95 % intervals",
    "gain: with all tables less with one; its interval is from resamples of the people, who are the same in "
    "both, so it is surer than the two numbers, but does not hold what another first table would change",
    "tables are put on a heap: distances are to the nearest record of any, densities and crosstabs are means",
    "copied: people whose answers nobody else has and some synthetic record of any table has, train less "
    "holdout",
    "what is a mean over synthetic records, as closer to train, is the same for many tables as for one; the "
    "model's weights, if they are known, tell what no number of tables can add to",
)


def releases_table(rows: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return what attacks found, a line a row, measure, question and number of tables.

    Parameters
    ----------
    rows : ``bootstrap`` or ``model/variant`` -> lines of :func:`modp.measures.releases.together`
    """
    parts = []
    for name, found in rows.items():
        model, _, variant = name.partition("/")
        parts.append(found.assign(model=model, variant=variant))
    columns = ["model", "variant", "measure", "question", "releases", *BOUNDS, *GAINS]
    return pd.concat(parts)[columns]


def printed_releases(table: pd.DataFrame) -> list[Printed]:
    """Return a part for each measure and question: a column a number of tables, then the gain."""
    parts = []
    for measure in measures_of("releases"):
        of = table[table["measure"] == measure.key]
        for question, found in of.groupby("question", sort=False):
            caption = f"{question}, {measure.title}" if question else measure.title
            parts.append(_printed(found, caption[0].upper() + caption[1:], measure))
    return parts


def _printed(table: pd.DataFrame, caption: str, measure: Measure) -> Printed:
    rows, most = [], int(table["releases"].max())
    for (model, variant), part in table.groupby(["model", "variant"], sort=False):
        by_number = part.set_index("releases")
        cells = [_cell(by_number.loc[k, list(BOUNDS)], measure) for k in range(1, most + 1)]
        rows.append([str(model), str(variant), *cells, _cell(by_number.loc[most, list(GAINS)], measure)])
    headers = ["1 table", *(f"{k} tables" for k in range(2, most + 1)), "gain"]
    return Printed(caption, ["model", "variant", *headers], rows, 2)


def _cell(numbers: pd.Series, measure: Measure) -> str:
    return "" if np.isnan(numbers.iloc[0]) else bounded(numbers, measure.form).replace("-", "−")
