"""Two runs side by side, as a page of HTML."""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from modp.report import templates
from modp.summaries.comparison import Change, line, of_noise, written


def page(
    before: str,
    after: str,
    parameters: Sequence[tuple[str, Any, Any]],
    found: Sequence[Change],
    figures_before: Mapping[str, bytes],
    figures_after: Mapping[str, bytes],
) -> str:
    """Return what :func:`modp.summaries.comparison.text` says as a page, with the runs' figures side by side.

    Parameters
    ----------
    figures_before, figures_after : PNG pictures by name
    """
    names = dict.fromkeys([*figures_before, *figures_after])
    encoded = [
        {name: base64.b64encode(png).decode() for name, png in figures.items()}
        for figures in (figures_before, figures_after)
    ]
    return templates.comparison(
        before=before,
        after=after,
        parameters=[(name, written(one), written(other)) for name, one, other in parameters],
        lines=[line(change) for change in found],
        noise=of_noise(found),
        figures=[(name, encoded[0].get(name), encoded[1].get(name)) for name in names],
    )
