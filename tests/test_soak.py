"""A run that is killed at any moment, and one on a full disk, cost nothing but time: in short."""

import sys

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
import soak


@pytest.mark.pipeline
def test_two_runs_killed_at_random_moments_are_followed_by_plain_runs_with_the_same_bytes(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(soak, "TARGETS", ("results/sample/stationary/sweeps-2/synthetic.parquet",))
    assert soak.soaked(tmp_path / "copy", 2, 300, seed=2, parts=["none"]), capsys.readouterr().out
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("| killed") for line in lines) == 2


def test_other_bytes_and_what_lies_about_are_noticed(tmp_path):
    results = tmp_path / "results/sample"
    results.mkdir(parents=True)
    (results / "records.parquet").write_bytes(b"one")
    kept = soak.Soak(tmp_path)
    kept.bytes_ = kept.made()
    kept.require_same("")
    (results / "records.parquet").write_bytes(b"two")
    with pytest.raises(soak.OtherwiseError, match=r"other bytes in records\.parquet"):
        kept.require_same("")
    (results / "records.parquet").write_bytes(b"one")
    (results / ".records.part.parquet").write_bytes(b"")
    kept.bytes_ = kept.made()
    with pytest.raises(soak.OtherwiseError, match="left lying about"):
        kept.require_same("")
