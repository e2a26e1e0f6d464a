"""The benchmark of learning curves: its yardstick, and that no point is measured twice."""

import importlib
import json
import math
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from conftest import ROOT, codes_of, records_of

from modp.face import Synthetic
from modp.survey.records import Records

SIZES = (3, 4, 5)


@pytest.fixture
def learning(monkeypatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("learning")


def drawn(n: int, seed: int = 1) -> Records:
    return records_of(codes_of(SIZES, n, np.random.default_rng(seed)), SIZES)


def test_the_sample_itself_is_at_one_from_the_population_and_at_zero_from_itself(learning):
    records = drawn(900)
    train, rest = records[:300], records[300:]
    own = Synthetic(
        train.codes, train.codebook, np.ma.array(np.arange(300)), np.ma.masked_all(300, np.float64)
    )
    found = learning.measured(own, train, rest, 1)
    assert [found[f"population_{key}"] for key in ("median", "mean_abs", "rms")] == [1, 1, 1]
    assert found["corrected"] == 1 and found["in_sample"] == 0
    assert found["closer"] > 0.5 and found["distance_auc"] > 0.5


def test_partners_and_what_chance_gives_by_hand(learning):
    # The partner, always the first, differs in none, one and all answers; as near, or nearer, are one, two
    # and three records. By chance a record is the single nearest once in three, never, and once in three.
    train = records_of(np.array([[0, 0, 0], [0, 0, 1], [1, 1, 1]], np.int16), SIZES)
    codes = np.array([[0, 0, 0], [0, 0, 2], [1, 1, 1]], np.int16)
    synthetic = Synthetic(
        codes, train.codebook, np.ma.array(np.zeros(3, np.int64)), np.ma.masked_all(3, np.float64)
    )
    found = learning.partners(synthetic, train, np.arange(3))
    assert found == pytest.approx(
        {"nearest": 1 / 3, "nearest_chance": 2 / 9, "within_10": 1, "within_10_chance": 1}
    )


def test_the_standard_error_is_over_seeds(learning, tmp_path):
    path = tmp_path / "results.jsonl"
    for seed, value in enumerate((1.0, 2.0, 3.0)):
        learning.add(path, {"data": "d", "n": 9, "seed": seed, "method": "CART", "closer": value})
    means, errors = learning.summed(learning.known(path))
    assert means.loc[(9, "CART"), "closer"] == 2 and means.loc[(9, "CART"), "seeds"] == 3
    assert errors.loc[(9, "CART"), "closer"] == pytest.approx(1 / math.sqrt(3))


def start(learning: ModuleType, folder: Path, *more: str) -> str:
    files = ["--results", str(folder / "results.jsonl"), "--figure", str(folder / "figure.png")]
    learning.main([str(folder / "people.parquet"), "--sizes", "60", "5000", "--seeds", "2", *files, *more])
    return (folder / "results.jsonl").read_text()


@pytest.mark.pipeline
def test_a_second_start_measures_nothing_and_a_killed_one_goes_on(learning, tmp_path, monkeypatch, capsys):
    records, fits = drawn(200), []
    records.write(tmp_path / "people.parquet")
    (tmp_path / "people.json").write_text(records.codebook.to_json())

    def fit(train: Records, seed: int, _: int) -> Records:
        fits.append((len(train), seed))
        return train

    resampled = learning.Method(fit, lambda model, _, seed, __: model[np.arange(len(model)) // seed])
    monkeypatch.setattr(learning, "METHODS", {"none": resampled, "population": resampled})
    monkeypatch.setattr(learning, "warm_up", lambda *_: None)
    text = start(learning, tmp_path)
    assert fits == [(60, 1), (60, 2)], "methods of the same fit share it, and 5,000 of 200 cannot be fitted"
    keys = [
        [point[key] for key in ("data", "n", "seed", "method")]
        for point in map(json.loads, text.splitlines())
    ]
    assert keys == [["people", 60, seed, method] for seed in (1, 2) for method in ("none", "population")]
    assert (tmp_path / "figure.png").stat().st_size > 0 and "| 60 | none | 2 |" in capsys.readouterr().out

    assert start(learning, tmp_path) == text and len(fits) == 2
    assert start(learning, tmp_path, "--draw") == text and len(fits) == 2

    (tmp_path / "results.jsonl").write_text(text[:-9])
    again = start(learning, tmp_path)
    assert again.splitlines()[:3] == text.splitlines()[:3] and len(again.splitlines()) == 4
    assert fits[2:] == [(60, 2)]


def test_without_scikit_learn_a_sentence_says_that_trees_are_left_out(
    learning, tmp_path, monkeypatch, capsys
):
    records = drawn(200)
    records.write(tmp_path / "people.parquet")
    (tmp_path / "people.json").write_text(records.codebook.to_json())
    monkeypatch.setattr(learning, "cart", lambda: False)
    monkeypatch.setattr(learning, "METHODS", {"CART": learning.METHODS["CART"]})
    (tmp_path / "results.jsonl").touch()
    assert start(learning, tmp_path) == ""
    assert "scikit-learn is not installed" in capsys.readouterr().out


def test_trees_draw_what_depends_on_what(learning):
    pytest.importorskip("sklearn")
    codes = drawn(600).codes
    codes[:, 1] = codes[:, 0]
    train = records_of(codes, SIZES)
    synthetic = learning.Trees(train, 1).sample(1)
    assert len(synthetic) == 600 and (synthetic.codes[:, 1] == synthetic.codes[:, 0]).all()
    assert set(synthetic.codes[:, 2].tolist()) <= set(codes[:, 2].tolist())
