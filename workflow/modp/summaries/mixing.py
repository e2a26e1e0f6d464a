"""The table of mixing: how fast chains forget the true records."""

from collections.abc import Mapping

import pandas as pd

from modp.measures.mixing import RARE, summary
from modp.summaries.printed import Printed, shown

MIXING_NOTES = (
    "changed: share of answers that one sweep changes; kept: autocorrelation with the true record after "
    "the last sweep followed; forgotten: the sweep from which on it is below 0.1",
    f"rare in, rare out: share of records that a sweep takes into, or out of, categories below {RARE:.0%}",
    "a question that is not forgotten is held by structural zeros: where no chain of allowed changes leads "
    "from one answer to another, as from child to adult, a record keeps its side for ever",
)


def mixing_table(traces: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return how fast each stationary model's chains forget, a line a model and question."""
    parts = [summary(traced).assign(model=name) for name, traced in traces.items()]
    columns = ["model", "question", "changed", "kept", "forgotten", "rare_in", "rare_out"]
    return pd.concat(parts)[columns] if parts else pd.DataFrame(columns=columns)


def printed_mixing(table: pd.DataFrame) -> list[Printed]:
    """Return the speed of forgetting for people, a part a model, the slowest question first."""
    headers = ["question", "changed", "kept", "forgotten", "rare in", "rare out"]
    parts = []
    for model, part in table.groupby("model", sort=False):
        rows = [
            [
                line["question"],
                f"{line['changed']:.1%}",
                shown(line["kept"], "{:.3f}"),
                shown(line["forgotten"], "{:.0f}") or "not",
                shown(line["rare_in"], "{:.2%}"),
                shown(line["rare_out"], "{:.1%}"),
            ]
            for line in part.to_dict("records")
        ]
        parts.append(Printed(f"Chains of {model}", headers, rows, 1))
    return parts
