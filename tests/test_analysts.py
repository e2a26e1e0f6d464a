"""The benchmark of what analysts get: its estimates, how they are judged, and the halves of a file."""

import importlib
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT


@pytest.fixture
def analysts(monkeypatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("analysts")


@pytest.mark.parametrize(
    ("kind", "link"), [("ols", lambda p: p), ("logit", lambda p: np.log(p / (1 - p))), ("poisson", np.log)]
)
def test_models_of_two_groups_give_the_difference_of_their_means_and_its_error(analysts, kind, link):
    # 30 of 40 and 20 of 60: on the scale of the link s, a mean p varies by p (1 - p) / n times s'(p)².
    group = np.repeat([0.0, 1.0], [40, 60])
    y = np.concatenate([np.repeat([1.0, 0.0], [30, 10]), np.repeat([1.0, 0.0], [20, 40])])
    value, error = analysts.regressed(np.column_stack([np.ones(100), group]), y, kind)
    assert value[1] == pytest.approx(link(1 / 3) - link(3 / 4))
    slope = {"ols": lambda p: 1, "logit": lambda p: 1 / (p * (1 - p)), "poisson": lambda p: 1 / p}[kind]
    variance = sum(p * (1 - p) / n * slope(p) ** 2 for p, n in ((3 / 4, 40), (1 / 3, 60)))
    assert error[1] == pytest.approx(np.sqrt(variance * 100 / 98))


def test_coverage_and_error_are_counted_over_samples_beside_the_samples_own(analysts):
    rows = [
        {"estimate": e, "sample": s, "method": m, "value": value, "error": 1.0, "truth": 0.0}
        for s in (1, 2)
        for e in ("a", "b")
        for m, value in (("sample", 1.0), ("table", 3.0 if e == "a" or s == 1 else np.nan))
    ]
    found = analysts.compared(pd.DataFrame(rows))
    assert found.loc[("sample", "a")].tolist() == [1, 1]
    assert found.loc[("table", "a")].tolist() == [0, 3]
    assert found.loc[("table", "b"), "covered"] == 0
    assert analysts.summary(pd.DataFrame(rows)).loc["table", "coverage"] == 0


def test_a_household_is_in_one_half_of_a_large_file(analysts, tmp_path):
    n = 100_001
    people = pd.DataFrame({"AGEP": np.arange(n) // 2})
    people["SERIALNO"] = people["AGEP"].astype(str)
    people.assign(**dict.fromkeys(analysts.WIDE, 1)).to_parquet(tmp_path / "people.parquet")
    tune, report = (set(analysts.read(tmp_path / "people.parquet", h)["AGEP"]) for h in ("tune", "report"))
    assert not tune & report and len(tune | report) == people["AGEP"].nunique()
    assert abs(len(tune) - len(report)) <= 1
