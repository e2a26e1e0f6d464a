"""What is said at the end of a run: how close each row came."""

from collections.abc import Mapping
from typing import Any

from modp.measures.ends import BOOTSTRAP
from modp.measures.table import ERROR, MULTIPLE, NOTEBOOK, PAPER_NOTEBOOK, RATIO, measures_of, of_population


def headline(metrics: Mapping[str, Any]) -> list[str]:
    """Return a few lines that say how close each row came, by the first measure of d and to other people.

    Parameters
    ----------
    metrics : metrics.json
    """
    first, *_ = measures_of("d")
    near = of_population()
    title = f"{first.title} |ln ratio|, all cells"
    lines = [f"{title:<38}{'d':>7}{'× ideal':>9}{near.title:>14}"]
    for model, content in metrics["accuracy"].items():
        variants = {"": content} if first.name in content else content
        for variant, measured in variants.items():
            name = f"{model}/{variant}" if variant else f"{model} (the ideal)"
            d, ratio = measured[first.name], measured[f"{RATIO}{first.name}"] if variant else 1.0
            shown = _shown(first.form.number, d), _shown(MULTIPLE.number, ratio)
            other = _shown(near.form.number, *(measured[f"{near.name}{end}"] for end in ("", ERROR)))
            lines.append(f"  {name:<36}{shown[0]:>7}{shown[1]:>9}{other:>14}")
    lines.append(
        f"{near.title}: mean distance from the people held out; 1 is as near as the true records are"
    )
    lines += [NOTEBOOK] if PAPER_NOTEBOOK in metrics else []
    return lines


def of_households(metrics: Mapping[str, Any]) -> list[str]:
    """Return the like of whole households, by crosstabs of two members; nothing where a run is of others."""
    if "shares" not in metrics:
        return []
    title = "median |ln ratio|, pairs of members"
    lines = [f"{title:<38}{'d':>7}{'× ideal':>9}{'other homes':>14}{'impossible':>12}{'closer, 4+':>12}"]
    for model, content in metrics["accuracy"].items():
        for variant, measured in {"": content}.items() if model == BOOTSTRAP else content.items():
            name = f"{model}/{variant}" if variant else f"{model} (the ideal)"
            pairs = measured["all_role_pairs"]
            line = f"  {name:<36}{_shown('{:.3f}', pairs['median']):>7}"
            line += f"{_shown('{:.2f}×', pairs['ratio_median']):>9}"
            if variant:
                line += f"{_shown('{:.2f}', pairs['population_mean_abs']):>14}"
                line += f"{_shown('{:.2%}', metrics['shares'][model][variant]['impossible']):>12}"
                left = metrics["privacy"][model][variant]["persons_4"]
                line += f"{_shown('{:.1%}', left['closer_to_train']):>12}"
            lines.append(line)
    lines.append(
        "other homes: mean distance from households held out; 1 is as near as the true ones are, a resample "
        "1.41. closer: households of four or more nearer to a true one than to any held out; 50 % is no leak"
    )
    return lines


def _shown(form: str, *numbers: float | None) -> str:
    """A number, and its standard error, as far as they are known."""
    return " ± ".join(form.format(number) for number in numbers if number is not None) or "n/a"
