"""What a run says aloud: copies of true records, fits that did not arrive."""

import numpy as np
import pandas as pd
import pytest
from conftest import records_of
from test_stationary import SIZES, correlated

from modp.models.family import Work
from modp.models.stationary import FAMILY
from modp.models.stationary.fitting import shortfall
from modp.models.stationary.recipe import StationaryRecipe
from modp.summaries.warnings import copies, lines, of_model, shortfalls


def tables(nearest: float, ratio: float) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The accuracy and the privacy table of a bootstrap and one row, of 1,000 records."""
    rows = [("bootstrap", "", 1.0), ("m", "row", ratio)]
    lines = [
        {"model": m, "variant": v, "cells": cells, "records": 1000, "ratio_mean_abs": r}
        for cells in ("all", "between")
        for m, v, r in rows
    ]
    return pd.DataFrame(lines), pd.DataFrame([{"model": "m", "variant": "row", "nearest": nearest}])


@pytest.mark.parametrize(
    ("nearest", "ratio", "balanced", "said"),
    [
        (0.25, 1.0, False, ["copies people: 25.0% of its records are nearest"]),
        (0.051, 1.0, False, []),  # a thousandth is chance
        (0.052, 1.0, True, ["copies people: 5.2% of its records are nearest"]),
        (0.0, 0.5, False, ["copies the sample: its crosstab is 0.50 times as far"]),
        (0.0, 0.5, True, []),
        (0.0, 0.8, False, []),
        (0.25, 0.5, False, ["copies people: 25.0%", "copies the sample: its crosstab"]),
        (np.nan, np.nan, False, []),
    ],
)
def test_copies_are_called_what_they_are(nearest, ratio, balanced, said):
    found = copies(*tables(nearest, ratio), {"m/row"} if balanced else set())
    assert list(found) == (["m/row"] if said else [])
    for sentence, beginning in zip(found.get("m/row", []), said, strict=True):
        assert sentence.startswith(beginning)


def test_a_fit_falls_short_only_beyond_the_noise_of_its_bias():
    rng, recipe = np.random.default_rng(1), StationaryRecipe(tolerance=0.02, most_windows=5)
    assert "bias is 0.60" in shortfall(0.6 + 0.01 * rng.normal(size=100), recipe, 20)
    assert "more windows" in shortfall(np.ones(100), recipe, 20)
    assert "fell no more" in shortfall(np.ones(99), recipe, 20)
    assert shortfall(0.6 + 9 * rng.normal(size=100), recipe, 20) == ""
    assert shortfall(np.concatenate([np.ones(60), np.zeros(40)]), recipe, 20) == "", "the last windows count"
    assert shortfall(np.ones(39), recipe, 20) == ""


def test_a_fit_that_was_not_allowed_to_arrive_says_so():
    records = correlated(20_000)
    hard = records_of(records.codes, SIZES)
    given = {"margin_step": 1e-4, "pair_step": 1e-4, "triples": 0, "most_windows": 3, "exchanges": 0}
    fitted = FAMILY.fit(hard, StationaryRecipe(**given), Work("m", 1))
    assert "did not" not in fitted.said and "before it arrived" in fitted.said
    arrived = FAMILY.fit(hard, StationaryRecipe(triples=0, exchanges=0), Work("m", 1))
    assert "before it arrived" not in arrived.said
    assert list(shortfalls({"m": fitted.history, "n": arrived.history, "o": pd.DataFrame()})) == ["m"]


def test_a_card_has_the_warnings_of_its_own_model():
    warned = {"m/row": ["a copy: …"], "m": ["its fit …"], "mm": ["other"]}
    assert lines(of_model("m", warned)) == ["m/row: a copy: …", "m: its fit …"]
