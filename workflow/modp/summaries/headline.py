"""What is said at the end of a run: how close each row came."""

from collections.abc import Mapping
from typing import Any

from modp.measures.table import MULTIPLE, NOTEBOOK, PAPER_NOTEBOOK, RATIO, measures_of


def headline(metrics: Mapping[str, Any]) -> list[str]:
    """Return a few lines that say how close each row came, by the first measure of d.

    Parameters
    ----------
    metrics : metrics.json
    """
    first, *_ = measures_of("d")
    title = f"{first.title} |ln ratio|, all cells"
    lines = [f"{title:<38}{'d':>7}{'× ideal':>9}"]
    for model, content in metrics["accuracy"].items():
        variants = {"": content} if first.name in content else content
        for variant, measured in variants.items():
            name = f"{model}/{variant}" if variant else f"{model} (the ideal)"
            d, ratio = measured[first.name], measured[f"{RATIO}{first.name}"] if variant else 1.0
            shown = _shown(d, first.form.number), _shown(ratio, MULTIPLE.number)
            lines.append(f"  {name:<36}{shown[0]:>7}{shown[1]:>9}")
    return [*lines, NOTEBOOK] if PAPER_NOTEBOOK in metrics else lines


def _shown(number: float | None, form: str) -> str:
    return "n/a" if number is None else form.format(number)
