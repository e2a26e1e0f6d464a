"""The table of causal partners: what a table's records hide in."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from modp.measures.effective import effective_multiplicity
from modp.measures.table import measures_of
from modp.summaries.printed import Printed, cell

PRIVACY_NOTES = (
    "effective multiplicity: identical true records times 2^bits; median",
    "nearest, within 10: how often at most 1, or 10, true records are as close to a synthetic record as "
    "the true record that it was drawn from (Hamming distance; that one counted), ± one standard error",
    "within 10 backwards: the same the other way round, how often at most 10 synthetic records are as close "
    "to the true record as the one drawn from it",
    "none of this is a guarantee",
)


def privacy_table(rows: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return what each row's records hide in.

    Parameters
    ----------
    rows : ``model/variant`` -> one line a synthetic record, with entropy_bits, multiplicity,
        causal_rank and causal_rank_backwards (blank for those that were not ranked)
    """
    lines = []
    for name, found in rows.items():
        ranks, backwards = (
            found[column].dropna().to_numpy(float) for column in ("causal_rank", "causal_rank_backwards")
        )
        model, _, variant = name.partition("/")
        known = len(ranks) > 0
        effective = effective_multiplicity(
            found["multiplicity"].to_numpy(float), found["entropy_bits"].to_numpy(float)
        )
        lines.append(
            {
                "model": model,
                "variant": variant,
                "records": len(found),
                "entropy_bits": found["entropy_bits"].median(),
                "log10_effective_multiplicity": float(np.median(effective)) if known else np.nan,
                "ranked": len(ranks),
                "nearest": float(np.mean(ranks <= 1)) if known else np.nan,
                "within_10": float(np.mean(ranks <= 10)) if known else np.nan,
                "median_rank": float(np.median(ranks)) if known else np.nan,
                "within_10_backwards": float(np.mean(backwards <= 10)) if known else np.nan,
            }
        )
    return pd.DataFrame(lines)


def printed_privacy(table: pd.DataFrame) -> Printed:
    """Return the privacy table for people."""
    measures = measures_of("privacy")
    rows = [
        [line["model"], line["variant"], *(cell(measure, line) for measure in measures)]
        for line in table.to_dict("records")
    ]
    return Printed("Causal partners", ["model", "variant", *(m.title for m in measures)], rows, 2)
