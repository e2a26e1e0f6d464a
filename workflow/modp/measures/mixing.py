"""How fast chains forget: shares of answers changed and kept, question by question."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from modp.survey.records import Records

RARE = 0.01
"""Share of the records below which a category is called rare."""

FORGOTTEN = 0.1


def chance(codes: np.ndarray, size: int) -> float:
    """Return how often two records drawn at random agree in one question's codes, shape (n,)."""
    shares = np.bincount(codes, minlength=size) / len(codes)
    return float((shares**2).sum())


def trace(start: Records, states: Iterable[np.ndarray]) -> pd.DataFrame:
    """Follow chains sweep by sweep.

    Parameters
    ----------
    start : where the chains began, n records
    states : the codes (n, Q) after each sweep

    Returns
    -------
    one line a question and sweep: ``changed``, the share of answers that the sweep changed;
    ``kept``, the autocorrelation with the start: the share of answers equal to those there, scaled so
    that 1 is all and 0 what chance gives (NaN where everybody answers the same); ``rare_in``, among the
    records that were not in a rare category of the question before the sweep, the share that
    entered one, and ``rare_out``, among those that were in one, the share that left (NaN if none)
    """
    true, sizes = start.codes, start.codebook.sizes
    expected = [chance(true[:, q], size) for q, size in enumerate(sizes)]
    rare = [np.bincount(true[:, q], minlength=size) < RARE * len(true) for q, size in enumerate(sizes)]
    lines, before = [], true
    for number, after in enumerate(states, start=1):
        for q, name in enumerate(start.codebook.names):
            agreeing = np.mean(after[:, q] == true[:, q])
            was, is_ = rare[q][before[:, q]], rare[q][after[:, q]]
            lines.append(
                {
                    "question": name,
                    "sweep": number,
                    "changed": np.mean(after[:, q] != before[:, q]),
                    "kept": (agreeing - expected[q]) / (1 - expected[q]) if expected[q] < 1 else np.nan,
                    "rare_in": _share(is_[~was]),
                    "rare_out": _share(~is_[was]),
                }
            )
        before = after
    return pd.DataFrame(lines)


def _share(hits: np.ndarray) -> float:
    return float(np.mean(hits)) if len(hits) else np.nan


def summary(traced: pd.DataFrame) -> pd.DataFrame:
    """Return one line a question, the slowest first.

    ``changed``, ``rare_in`` and ``rare_out`` are means over sweeps; ``kept`` is the autocorrelation
    after the last sweep; ``forgotten`` the first sweep after which it is below a tenth, NaN if it
    never is.
    """
    lines = []
    for question, part in traced.groupby("question", sort=False):
        below = part.loc[part["kept"] < FORGOTTEN, "sweep"]
        lines.append(
            {
                "question": question,
                "changed": part["changed"].mean(),
                "kept": part["kept"].iloc[-1],
                "forgotten": float(below.iloc[0]) if len(below) else np.nan,
                "rare_in": part["rare_in"].mean(),
                "rare_out": part["rare_out"].mean(),
            }
        )
    columns = ["question", "changed", "kept", "forgotten", "rare_in", "rare_out"]
    return pd.DataFrame(lines, columns=columns).sort_values(
        "kept", ascending=False, kind="stable", ignore_index=True
    )
