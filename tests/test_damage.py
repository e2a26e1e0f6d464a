"""Files that were cut short or overwritten: one sentence, which names them."""

import json
from pathlib import Path

import numpy as np
import pytest
from conftest import codes_of, records_of

from modp.__main__ import main
from modp.base.damage import damaged
from modp.models.family import Work
from modp.models.stationary import FAMILY
from modp.models.stationary.recipe import StationaryRecipe

SIZES = (3, 2, 4)


@pytest.fixture
def given(tmp_path):
    """A step's files, and the words that draw a row from them."""
    records = records_of(codes_of(SIZES, 200, np.random.default_rng(1)), SIZES)
    files = {name: tmp_path / name for name in ("records.parquet", "codebook.json", "model.safetensors")}
    records.write(files["records.parquet"])
    files["codebook.json"].write_text(records.codebook.to_json())
    recipe = StationaryRecipe(most_windows=1, triples=0)
    FAMILY.fit(records, recipe, Work("m", 1)).model.save(files["model.safetensors"], records.codebook)
    words = ["draw", "--records", files["records.parquet"], "--codebook", files["codebook.json"]]
    words += ["--weights", files["model.safetensors"], "--family", "stationary", "--name", "r", "--seed", "1"]
    words += [
        "--row",
        json.dumps({"model": "m", "name": "r", "sweeps": 1}),
        "--out",
        tmp_path / "out.parquet",
    ]
    return tmp_path, list(map(str, words))


@pytest.mark.pipeline
@pytest.mark.parametrize("name", ["records.parquet", "codebook.json", "model.safetensors"])
@pytest.mark.parametrize("harm", ["cut", "emptied", "overwritten"])
def test_a_damaged_file_is_named_in_one_sentence(given, capsys, name, harm):
    folder, words = given
    assert main(words) == 0
    path = folder / name
    whole = path.read_bytes()
    path.write_bytes({"cut": whole[: len(whole) // 2], "emptied": b"", "overwritten": b"\xff" * 400}[harm])
    capsys.readouterr()
    assert main(words) == 1
    assert capsys.readouterr().err.strip() == f"error in draw: {path} is damaged; delete it and run again"


def test_a_fault_of_the_code_is_not_put_down_to_files(given, monkeypatch):
    def broken(*_):
        raise KeyError("a mistake")

    monkeypatch.setattr("modp.cli.draw.run", broken)
    with pytest.raises(KeyError, match="a mistake"):
        main(given[1])


def test_only_files_that_cannot_be_read_are_damaged(tmp_path):
    whole, cut, other = tmp_path / "whole.json", tmp_path / "cut.zip", Path(__file__)
    whole.write_text("{}")
    cut.write_bytes(b"PK\x03\x04")
    assert damaged([whole, cut, other]) == [cut]


@pytest.mark.parametrize("name", ["metrics.json", "parameters.json", "tables/repeats.parquet"])
def test_a_run_with_a_damaged_file_is_not_compared_but_the_file_is_named(tmp_path, capsys, name):
    (tmp_path / "tables").mkdir()
    for file in ("metrics.json", "parameters.json"):
        (tmp_path / file).write_text("{}")
    assert main(["compare", str(tmp_path), str(tmp_path)]) == 0
    (tmp_path / name).write_text('{"a"')
    capsys.readouterr()
    assert main(["compare", str(tmp_path), str(tmp_path)]) == 1
    said = f"error in compare: {tmp_path}/{name} is damaged; delete it and run the pipeline there again"
    assert capsys.readouterr().err.strip() == said
