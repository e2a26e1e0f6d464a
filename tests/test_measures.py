"""The table of measures: what a new measure takes, and that the table knows all there are."""

import numpy as np
import pandas as pd
import pytest

from modp.measures import accuracy as of_d
from modp.measures import table
from modp.measures.table import BOUNDED, SIZE, SMALL, Headline, Measure, measure_named, measures_of
from modp.report import card, page, plot
from modp.summaries import accuracy, attacks, privacy, repeats
from modp.summaries.comparison import Change
from modp.summaries.headline import headline
from modp.summaries.metrics import metrics

CELLS = {"all": np.ones(5, bool), "between": np.array([True, True, True, True, False])}
RATIOS = {"bootstrap": [0.1, -0.1, 0.1, 0.1, 0.2], "m/plain": [0.1, 0.2, -0.3, 0.4, 0.5]}


def added(monkeypatch: pytest.MonkeyPatch, *measures: Measure) -> None:
    """One line a measure in the table of measures."""
    monkeypatch.setattr(table, "MEASURES", (*table.MEASURES, *measures))


def rows() -> list[accuracy.Row]:
    counted = {"records": 10, "zero_records": 0, "entropy_bits": None}
    return [
        accuracy.Row(*name.partition("/")[::2], np.array(found), counted, of_d.summarise(np.array(found)))
        for name, found in RATIOS.items()
    ]


def hidden() -> pd.DataFrame:
    columns = ["entropy_bits", "multiplicity", "causal_rank", "causal_rank_backwards"]
    return privacy.privacy_table({"m/plain": pd.DataFrame([[2.0, 1, 5, 6]], columns=columns)})


def attacked(*lines: tuple) -> pd.DataFrame:
    found = pd.DataFrame(lines, columns=["measure", "question", "value", "low", "high"])
    return attacks.attacks_table({"bootstrap": found, "m/plain": found})


def test_a_measure_of_d_takes_its_function_and_a_line(monkeypatch):
    monkeypatch.setitem(of_d.OF_D, "p75", lambda log_ratios: np.quantile(np.abs(log_ratios), 0.75))
    added(monkeypatch, Measure("p75", "upper quartile", ("d",), SIZE, "accuracy.p75", SMALL, three_way=True))
    found, three_way = accuracy.accuracy_table(rows(), CELLS), accuracy.three_way_table(rows())
    assert found["p75"].tolist() == pytest.approx([0.1, 0.4, 0.1, 0.325])
    assert found["ratio_p75"][1] == three_way["ratio_p75"][1] == pytest.approx(4)
    published = accuracy.with_published(found, {"m/plain": {"p75": 0.3}})
    printed = accuracy.printed_accuracy(published)[0]
    at = printed.headers.index("upper quartile")
    assert printed.rows[1][at : at + 2] == ["0.400", "4.00"]
    assert (printed.headers[-1], printed.rows[1][-1]) == ("paper: upper quartile", "0.300")
    assert accuracy.printed_three_way(three_way).rows[1][-2:] == ["0.400", "4.00"]
    assert "three-way upper quartile" in card.accuracy(found, three_way, "m").headers
    assert plot.item(page.points(found, hidden()), page.curves([], 0.1), "plot")["target_id"] == "plot"

    tree = metrics(found, three_way, hidden(), attacked())
    numbers = tree["accuracy"]["m"]["plain"]
    assert (numbers["p75"], numbers["p75_between"]) == (0.4, 0.325)
    assert (numbers["ratio_p75"], numbers["p75_three_way"]) == (4, 0.4)
    assert headline(tree)[0].startswith("median")
    repeated = repeats.printed(repeats.gathered([tree]))[0]
    assert repeated.headers[4] == "upper quartile ×" and "4" in repeated.rows[1]
    assert Change("accuracy.m.plain.ratio_p75", 4.0, 3.0, None).better is True


def test_a_measure_of_an_attack_takes_a_line(monkeypatch):
    added(
        monkeypatch,
        Measure(
            *("forest_auc", "forest: AUC", ("membership",), BOUNDED, "privacy.forest_auc"),
            best=0.5,
            repeated="forest AUC",
            sentence="A forest is right with probability {value}.",
            headline=Headline("{forest_auc:.2f}", "by a forest", "Zeros are what {zeros}."),
        ),
    )
    found, three_way = accuracy.accuracy_table(rows(), CELLS), accuracy.three_way_table(rows())
    table_of_attacks = attacked(("forest_auc", "", 0.75, 0.5, 1.0))
    membership = attacks.printed_attacks(table_of_attacks)[1]
    assert membership.headers[-1] == "forest: AUC" and membership.rows[1][-1] == "0.750 (0.500–1.000)"
    tree = metrics(found, three_way, hidden(), table_of_attacks)
    numbers = tree["privacy"]["m"]["plain"]
    assert [numbers[f"forest_auc{end}"] for end in ("", "_low", "_high")] == [0.75, 0.5, 1.0]
    assert repeats.printed(repeats.gathered([tree]))[1].headers[-1] == "forest AUC"
    assert card.other_measures(tree, "m") == {"plain": "forest_auc 0.75 (0.5 to 1)"}
    run = card.Run("T", None, [], 1, "sample", found, hidden(), three_way, tree)
    said = card.statement("m", run, table_of_attacks, 5)
    assert "A forest is right with probability 0.750 (0.500 to 1.000)." in said
    last = page.headline("m/plain", found, hidden(), tree, "sample")[-1]
    assert (last.value, last.meaning) == ("0.75", "Zeros are what no true record holds.")
    assert Change("privacy.m.plain.forest_auc", 0.75, 0.6, None).better is True


def test_the_table_knows_every_measure_of_d_and_none_twice():
    assert [measure.key for measure in measures_of("d")] == list(of_d.OF_D)
    assert set(of_d.OF_NOTEBOOK) <= set(of_d.OF_D)
    assert [measure.key for measure in measures_of("population")] == [
        f"population_{key}" for key in of_d.OF_D
    ]
    keys = [measure.key for measure in measures_of()]
    places = [measure.metric for measure in measures_of() if measure.metric]
    assert len(keys) == len(set(keys)) and len(places) == len(set(places))


def test_numbers_of_metrics_json_are_known_by_their_names():
    names = {
        "accuracy.m.v.median": "median",
        "accuracy.bootstrap.rms_between": "rms",
        "accuracy.m.v.ratio_median_three_way": "median",
        "accuracy.m.v.population_mean_abs_between": "population_mean_abs",
        "privacy.m.v.membership_auc": "distance_auc",
        "privacy.marginals.attribute_leak_JOB": "attribute_leak",
    }
    found = {name: measure_named(name) for name in names}
    assert {name: measure.key for name, measure in found.items() if measure} == names
    spreads = ("privacy.m.v.membership_auc_low", "accuracy.m.v.population_mean_abs_error")
    for unknown in ("privacy.m.v.median", "accuracy.m.v.mystery", *spreads, "seed"):
        assert measure_named(unknown) is None
