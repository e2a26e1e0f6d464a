"""Rows of any number of records, of every family, and what is measured of them."""

import itertools
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import codebook_of, codes_of

from modp.__main__ import main
from modp.base.errors import InputError
from modp.face import Blades, Stationary, Synthetic
from modp.models.family import Drawn, Family, Row, Work
from modp.survey.records import Records

STAGES = [{"loss": "mean_square", "epochs": 2, "learning_rate": 0.01}]


def people(n: int, seed: int) -> Records:
    """Records in which the second answer is mostly the first."""
    rng = np.random.default_rng(seed)
    codes = codes_of((3, 3, 4), n, rng)
    codes[:, 1] = np.where(rng.random(n) < 0.9, codes[:, 0], codes[:, 1])
    codes[(codes[:, 0] == 0) & (codes[:, 1] == 2), 1] = 0
    return Records(codes, codebook_of(3, 3, 4))


TRUE = people(600, 1)

ROWS = {
    "plain": {},
    "zeros removed": {"remove_zeros": True},
    "passed through": {"pass_through": 0.3},
    "chosen": {"instances": 2, "threshold": 0.5},
    "protected": {"protect": 50.0},
    "swapped": {"swap": {"passes": 1}},
    "swept": {"sweeps": 1},
}


@pytest.fixture(scope="module")
def blades() -> Blades:
    return Blades.fit(TRUE, blades=2, reduced=3, stages=STAGES)


@pytest.mark.parametrize("n", [150, 2000])
@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_a_row_of_blades_has_any_number_of_records(blades, row, n):
    drawn = blades.sample(TRUE, n=n, **row)
    assert len(drawn) == n == len(drawn.record) and not drawn.record.mask.any()
    assert drawn.entropy_bits.mask.all() == ("swap" in row)
    starts = np.bincount(drawn.record, minlength=600)
    assert starts.max() <= (1 if n < 600 else 8)
    again = blades.sample(TRUE, n=n, **row)
    assert np.array_equal(again.codes, drawn.codes)
    if row.get("remove_zeros"):
        assert not ((drawn.codes[:, 0] == 0) & (drawn.codes[:, 1] == 2)).any()


def test_more_records_are_new_draws_and_the_first_ones_those_of_the_row(blades):
    plain, more = blades.sample(TRUE), blades.sample(TRUE, n=1800)
    assert np.array_equal(more.codes[:600], plain.codes)
    parts = [more.codes[at : at + 600] for at in (0, 600, 1200)]
    assert all((one != other).any(axis=1).mean() > 0.3 for one, other in itertools.pairwise(parts))


def test_what_treatments_leave_none_of_is_refused(blades):
    with pytest.raises(InputError, match="700 records are wanted, and its treatments leave none"):
        blades.sample(TRUE, n=700, protect=1e12)


@pytest.mark.parametrize("n", [None, 20, 2000])
def test_sweeps_of_blades_begin_at_true_records_that_meet_a_condition_and_never_leave_it(blades, n):
    meet = np.isin(TRUE.codes[:, 0], [0, 1]) & (TRUE.codes[:, 2] == 2)
    drawn = blades.sample(TRUE, n=n, sweeps=3, where={"A": [1, 2], "C": 3})
    assert len(drawn) == (n or meet.sum()) and meet[drawn.record].all()
    assert set(drawn.codes[:, 0]) == {0, 1} and set(drawn.codes[:, 2]) == {2}
    assert (drawn.codes != TRUE.codes[drawn.record]).any(axis=1).mean() > 0.3
    with pytest.raises(InputError, match="no true record, where sweeps begin, is"):
        blades.sample(TRUE, sweeps=1, where={"A": 1, "B": 3})
    with pytest.raises(InputError, match="'where' goes with 'sweeps'"):
        blades.sample(TRUE, where={"A": 1})


def test_a_family_that_knows_no_size_is_told():
    parts = {"draw": f"{__name__}:draws_ten"}
    family = Family("ten", Row, Row, "ten records", parts)
    row = Row(model="m", name="r", size=11)
    with pytest.raises(InputError, match="m/r: models of the family 'ten' draw no other number"):
        family.draw(None, TRUE, row, Work("m/r", 1))


def draws_ten(*_: object) -> Drawn:
    none = np.ma.masked_all(10)
    return Drawn(TRUE.codes[:10], none.astype(np.int64), none)


def measured(folder: Path, table: Synthetic, *more: str) -> dict[str, pd.DataFrame]:
    """What the step ``measure`` writes of a drawn table."""
    TRUE.write(folder / "records.parquet")
    people(200, 2).write(folder / "holdout.parquet")
    (folder / "codebook.json").write_text(TRUE.codebook.to_json())
    table.write(folder / "s.parquet", {"record": table.record, "entropy_bits": table.entropy_bits})
    files = {name: folder / f"{name}.parquet" for name in ("cells", "triples", "crowds", "attack", "roc")}
    given = {name: folder / f"{name}.parquet" for name in ("records", "holdout")}
    given |= {"codebook": folder / "codebook.json", "synthetic": folder / "s.parquet", **files}
    words = [str(word) for key, value in given.items() for word in (f"--{key}", value)]
    words += ["--row", "m/r", "--zeros", "sample", "--seed", "1", "--summary", str(folder / "summary.json")]
    assert main(["measure", *words, "--attacked", "C", *more]) == 0
    return {name: pd.read_parquet(path) for name, path in files.items()}


@pytest.mark.parametrize("n", [150, 2000])
def test_every_measure_is_made_of_fewer_and_of_more_records(blades, n, tmp_path):
    found = measured(tmp_path, blades.sample(TRUE, n=n))
    cells = found["cells"]
    own = cells[cells["first"] == cells["second"]]
    assert own["synthetic"].sum() == 3 * n and own["scaled"].sum() == pytest.approx(3 * 600)
    assert len(found["crowds"]) == n and found["crowds"]["causal_rank"].notna().all()
    assert found["attack"]["value"].notna().mean() > 0.9 and len(found["roc"])


def test_records_under_a_condition_are_measured_against_true_ones_that_meet_it(tmp_path):
    model = Stationary.fit(TRUE, tolerance=0.5, most_windows=1, triples=0)
    drawn = model.sample(TRUE, given={"A": [1, 2], "C": 3}, sweeps=5, n=900)
    found = measured(tmp_path, drawn, "--where", json.dumps({"A": [1, 2], "C": 3}))
    cells = found["cells"].set_index(["first", "second"])
    meets = (TRUE.codes[:, 0] < 2) & (TRUE.codes[:, 2] == 2)
    assert cells.loc[("C=3", "C=3"), "true"] == meets.sum() and cells.loc[("C=1", "C=1"), "true"] == 0
    assert cells["log_ratio"].abs().median() < 0.2
    assert json.loads((tmp_path / "summary.json").read_text())["zero_records"] == 0
    assert found["crowds"]["causal_rank"].notna().all()
