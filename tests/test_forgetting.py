"""Rows that sweep until the true records are forgotten."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import codes_of, records_of

from modp.base.errors import InputError
from modp.base.output import Log
from modp.draws import forgetting
from modp.face import Stationary
from modp.models.family import Work
from modp.models.stationary import drawing
from modp.models.stationary import model as stationary
from modp.models.stationary.recipe import StationaryRow

SIZES = (4,) * 12
STARTS = np.arange(0, 49, 4)
AUTO = StationaryRow(model="m", name="auto", sweeps="auto")


def model_of(excluded: np.ndarray | None = None) -> stationary.Stationary:
    nothing = np.zeros((48, 48), np.float32)
    zeros = np.zeros((48, 48), bool) if excluded is None else excluded
    return stationary.Stationary(nothing, np.zeros(48, np.float32), zeros, STARTS)


def test_a_record_is_remembered_if_it_is_among_the_nearest_to_its_chain():
    rng = np.random.default_rng(1)
    start, rows = codes_of(SIZES, 2000, rng), np.arange(0, 2000, 3)
    assert forgetting.remembered(start, start, rows, start) == 1
    other = codes_of(SIZES, 2000, rng)
    assert forgetting.remembered(start, other, rows, start) <= forgetting.chance(2000, len(rows)) < 0.025
    half = np.where(np.arange(2000)[:, None] % 2, start, other)
    assert forgetting.remembered(start, half, rows, start) == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize(
    ("excluded", "sweeps"),
    [
        (False, 20),  # independent answers are new after one sweep
        (True, 40),  # nothing can ever change, which a second look shows
    ],
)
def test_sweeps_go_on_until_the_records_are_forgotten_or_no_more_is_lost(excluded, sweeps, monkeypatch):
    records = records_of(codes_of(SIZES, 500, np.random.default_rng(2)), SIZES)
    taken, said = [], []
    sample = drawing.sample
    monkeypatch.setattr(
        drawing,
        "sample",
        lambda m, c, n, *rest: taken.append(n) or sample(m, c, n if not excluded else 1, *rest),
    )
    model = model_of()
    if excluded:
        monkeypatch.setattr(stationary.Stationary, "step", lambda self, codes, *_, **__: FROZEN(codes))
    log = Log()
    monkeypatch.setattr(Log, "__call__", lambda self, text: said.append(text))
    drawing.draw(model, records, AUTO, replace(Work("m/auto", 1), log=log))
    assert sum(taken) == sweeps and f"{sweeps} sweeps" in said[-1]


def FROZEN(codes: np.ndarray):  # noqa: N802
    from modp.draws.sweeps import Swept

    return Swept(codes, 0, np.zeros(len(codes)))


def test_a_row_without_true_records_has_to_say_how_many_sweeps():
    with pytest.raises(ValueError, match="say how many"):
        StationaryRow(model="m", name="x", sweeps="auto", start="fresh")
    records = records_of(codes_of(SIZES, 300, np.random.default_rng(3)), SIZES)
    model = Stationary.fit(records, triples=0, most_windows=1, tolerance=1)
    assert len(model.sample(records, sweeps="auto", balanced=True)) == 300
    with pytest.raises(InputError, match="say how many"):
        model.sample(sweeps="auto", n=10)
