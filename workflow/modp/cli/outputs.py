"""What several steps write: a table as Parquet, and for people as Markdown and LaTeX."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from modp.base.output import written
from modp.summaries.printed import Printed, document


def write_table(
    path: Path,
    table: pd.DataFrame,
    heading: str,
    facts: Mapping[str, str],
    notes: Sequence[str],
    parts: Sequence[Printed],
) -> None:
    """Write ``path`` with the endings .parquet, .md and .tex: the table, and how it is printed, in parts."""
    with written(path.with_suffix(".parquet")) as part:
        table.to_parquet(part, index=False)
    with written(path.with_suffix(".md")) as part:
        part.write_text(document(heading, facts, notes, parts), encoding="utf-8")
    with written(path.with_suffix(".tex")) as part:
        part.write_text("\n".join(printed.latex() for printed in parts), encoding="utf-8")
