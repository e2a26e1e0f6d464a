"""Several tables of the same records: by hand, and against the attacks on one heap of them."""

import argparse

import numpy as np
import pandas as pd
import pytest
from conftest import codes_of, records_of

from modp.cli import measure
from modp.cli import releases as step
from modp.measures import attacks, releases
from modp.summaries.releases import printed_releases, releases_table


def rng(seed=1):
    return np.random.default_rng(seed)


def victims(train, holdout, sizes):
    half = len(holdout) // 2
    unknown = (train[:half], holdout[:half])
    return releases.Victims(train, holdout, unknown, holdout[half:], (train, holdout), train, np.array(sizes))


def test_who_is_copied_by_hand():
    people = np.array([[0, 1], [0, 1], [1, 1], [2, 0]], np.int16)
    table = np.array([[0, 1], [1, 1], [1, 0]], np.int16)
    assert releases.copied(people, table).tolist() == [False, False, True, False]


def test_a_second_table_can_copy_whom_the_first_did_not():
    train, holdout = np.array([[0, 1], [1, 0]], np.int16), np.array([[2, 2], [1, 2]], np.int16)
    tables = [train[:1], train[1:]]
    found = releases.together(tables, victims(train, holdout, (3, 3)), {}, rng())
    copied = found[found["measure"] == "copied_leak"].set_index("releases")
    assert copied["value"].tolist() == [0.5, 1.0]
    assert (
        copied.loc[2, "gain"] == 0.5 and copied.loc[1, ["gain", "gain_low", "gain_high"]].tolist() == [0] * 3
    )


def test_tables_together_are_attacked_as_one_heap():
    sizes = (3, 4, 5, 2)
    train, holdout, *tables = (codes_of(sizes, 40, rng(seed)) for seed in range(5))
    of = victims(train, holdout, sizes)
    found = releases.together(tables, of, {"C": (2, False)}, rng()).set_index(["measure", "releases"])
    for number in (1, 3):
        heap = np.concatenate(tables[:number])
        near = [attacks.nearness(side, heap) for side in (train, holdout)]
        assert found.loc[("distance_auc", number), "value"] == attacks.auc(*near).value
        assert found.loc[("distance_tpr", number), "value"] == attacks.found_at_false_alarms(*near)
        guessed = attacks.attribute_inference(heap, train, holdout, holdout, 2)["attribute_leak"]
        assert found.loc[("attribute_leak", number), "value"] == guessed.value
        solved = attacks.attribute_reconstruction(heap, train, holdout, 2, False)["reconstruction_leak"]
        assert found.loc[("reconstruction_leak", number), "value"] == solved.value
    gains = found["value"] - found.xs(1, level="releases")["value"].reindex(found.index, level="measure")
    assert np.allclose(found["gain"], gains)


def test_a_gain_is_surer_than_two_values_of_other_people():
    """Scores after are those before with a little less noise, of the same people."""
    noise = rng().normal(size=(2, 2000))
    before = (0.2 + noise[0], noise[1])
    after = (0.22 + noise[0], noise[1])
    gain = releases._gain(before, after, releases._auc, rng(2))
    alone = attacks.auc(*before)
    assert 0 < gain.value < 0.02
    assert gain.high - gain.low < (alone.high - alone.low) / 10


@pytest.mark.pipeline
def test_the_interval_of_a_gain_holds_nothing_where_nothing_is_gained():
    """Two independent scores of people who are all alike: in about 19 of 20 pairs zero is inside."""
    inside = []
    for seed in range(40):
        before, after = rng(seed).normal(size=(2, 2, 100))
        gain = releases._gain(tuple(before), tuple(after), releases._auc, rng(seed + 100))
        inside.append(gain.low <= 0 <= gain.high)
    assert sum(inside) >= 33


def test_the_table_has_a_column_for_each_number_of_tables_and_one_for_the_gain():
    train, holdout, *tables = (codes_of((3, 4), 30, rng(seed)) for seed in range(4))
    found = releases.together(tables, victims(train, holdout, (3, 4)), {"B": (1, False)}, rng())
    parts = printed_releases(releases_table({"bootstrap": found, "m/row": found}))
    assert [part.caption for part in parts] == [
        "Distance: AUC",
        "Distance: found at 1 % false alarms",
        "Density: AUC",
        "Density: found at 1 % false alarms",
        "B, leak",
        "B, reconstructed: leak",
        "Copied: train less holdout",
    ]
    assert parts[0].headers == ["model", "variant", "1 table", "2 tables", "gain"]
    assert [row[:2] for row in parts[0].rows] == [["bootstrap", ""], ["m", "row"]]


@pytest.mark.parametrize("held", [40, 0])
def test_the_first_table_is_the_row_s_and_others_are_like_it(tmp_path, held):
    true = records_of(codes_of((3, 4, 5), 60, rng()), (3, 4, 5))
    others = true.of(codes_of((3, 4, 5), held, rng(2)))
    first = true.of(codes_of((3, 4, 5), 60, rng(3)))
    (tmp_path / "codebook.json").write_text(true.codebook.to_json())
    for name, records in (("records", true), ("holdout", others), ("bootstrap", first)):
        records.write(tmp_path / f"{name}.parquet")
    given = {"records": tmp_path / "records.parquet", "codebook": tmp_path / "codebook.json"}
    given |= {"holdout": tmp_path / "holdout.parquet", "synthetic": tmp_path / "bootstrap.parquet"}
    given |= {"name": "bootstrap", "row": None, "family": None, "weights": [], "attacked": ["B", "Z"]}
    given |= {"number": 3, "seed": 5, "out": tmp_path / "out.parquet", "others": []}
    step.run(argparse.Namespace(**given), lambda text: None)
    found = pd.read_parquet(tmp_path / "out.parquet")
    assert set(found["question"]) == ({"", "B"} if held else set())
    if held:
        who, _ = measure.people(true, others, 5)
        near = [attacks.nearness(side.codes, first.codes) for side in who.sides]
        auc = found[found["measure"] == "distance_auc"].set_index("releases")["value"]
        assert auc[1] == attacks.auc(*near).value and len(auc) == 3
        # A table that is there is attacked, and not another one drawn: nobody's records again add nothing.
        step.run(argparse.Namespace(**given | {"others": [given["synthetic"]] * 2}), lambda text: None)
        again = pd.read_parquet(tmp_path / "out.parquet").query("measure == 'distance_auc'")
        assert again["value"].tolist() == [auc[1]] * 3
