"""What a run says aloud: copies of true records, fits that did not arrive."""

import numpy as np
import pandas as pd
import pytest
from conftest import codes_of, records_of
from test_stationary import SIZES, correlated

from modp.measures import attacks
from modp.models.family import Work
from modp.models.stationary import FAMILY
from modp.models.stationary.fitting import shortfall
from modp.models.stationary.recipe import StationaryRecipe, StationaryRow
from modp.summaries.attacks import attacks_table
from modp.summaries.warnings import EVERY, copies, lines, merged, of_model, shortfalls, too_few, twins


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
    records = correlated(5_000)
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


def attacked(exact: float, closer: float) -> pd.DataFrame:
    found = pd.DataFrame(
        [
            {"measure": name, "question": "", "value": value, "low": np.nan, "high": np.nan}
            for name, value in (("exact", exact), ("closer_to_train", closer))
        ]
    )
    return attacks_table({"bootstrap": found, "m/row": found, "marginals": found})


@pytest.mark.parametrize("n", [1, 2, 5, 9])
def test_a_table_of_a_few_records_is_called_a_copy(n):
    sizes = (4,) * 12
    records = records_of(codes_of(sizes, n, np.random.default_rng(n)), sizes)
    model = FAMILY.fit(records, StationaryRecipe(), Work("m", 1)).model
    drawn = FAMILY.draw(model, records, StationaryRow(model="m", name="row", sweeps=20), Work("m", 1), [])
    exact = attacks.exact_matches(drawn.codes, records.codes).value
    table = attacked(exact, np.nan)
    found = lines(merged(too_few(n, table), twins(table), {}))
    assert found == [
        f"every table: made of fewer than 100 records ({n}): such a table mostly repeats the people in it. "
        "Do not publish it",
        "every table: what attacks find was not measured, for want of records held out; nobody knows what it "
        "tells of the people in it",
        "m/row: copies people: 100% of its records equal a true record that is like no other",
    ]


def test_nothing_is_said_of_many_records_that_are_no_copies():
    table = attacked(0.1, 0.5)
    assert merged(too_few(10_000, table), twins(table)) == {}
    assert list(too_few(10_000, attacked(0.1, np.nan))) == [EVERY], "not that nothing was measured"


def test_what_is_said_of_all_tables_stands_first_and_on_every_card():
    warned = merged({"m": ["its fit …"]}, {EVERY: ["few"]}, {"m": ["a copy"]})
    assert lines(of_model("m", warned)) == ["every table: few", "m: its fit …", "m: a copy"]
    assert lines(of_model("n", warned)) == ["every table: few"]
