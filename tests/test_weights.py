"""Survey weights: what is read and refused, weighted crosstabs, standard errors, estimates, by hand."""

# ruff: noqa: PD011 - the values of weights are no frame's.

import json
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from conftest import ROOT, codes_of, records_of, shared
from numpy.testing import assert_allclose

from modp.__main__ import main
from modp.base import rows
from modp.base.config import check
from modp.base.errors import InputError
from modp.crosstabs import weighted as crosstabs
from modp.crosstabs.pairs import crosstab
from modp.draws import design
from modp.figures import estimates as figure
from modp.measures import accuracy, estimates, weighted
from modp.measures.table import measure_named
from modp.pums.where import Dataset
from modp.summaries import metrics, repeats
from modp.summaries import weighted as summaries
from modp.survey import weights
from modp.survey.codebook import Codebook
from modp.survey.records import Records
from modp.survey.variance import factor
from modp.survey.weights import Weights

SIZES = (2, 3, 2)


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def weighing(n: int, replicates: int, seed: int = 1) -> Weights:
    made = rng(seed)
    values = made.integers(1, 40, n).astype(float)
    every = (values[:, None] * made.normal(1, 0.3, (n, replicates))).astype(np.float32)
    return Weights(values, every, made.integers(0, max(n // 2, 1), n))


def column(*values: float | None) -> np.ma.MaskedArray:
    return np.ma.array([v or 0.0 for v in values], mask=[v is None for v in values])


def refused(columns: dict, rows: list[int]) -> str:
    with pytest.raises(InputError) as found:
        weights.checked(columns, "W", [name for name in columns if name != "W"], np.array(rows))
    return str(found.value)


def test_weights_that_say_nothing_are_refused_with_column_and_row():
    assert "W: row 8 of the records in the files has no weight" in refused({"W": column(1, None)}, [3, 7])
    assert "W: row 1,001 of the records in the files has a negative" in refused({"W": column(-1)}, [1000])
    assert "W1: row 2 of" in refused({"W": column(1, 1), "W1": column(1, np.inf)}, [0, 1])
    assert "W: all 2 weights are zero" in refused({"W": column(0, 0)}, [0, 1])
    assert "W1: all 2" in refused({"W": column(0, 1), "W1": column(0, 0)}, [0, 1])


def test_replicate_weights_may_be_negative_and_single_weights_zero():
    values, every = weights.checked({"W": column(0, 2), "W1": column(-1, 5)}, "W", ["W1"], np.arange(2))
    assert values.tolist() == [0, 2] and every.tolist() == [[-1], [5]]
    assert (values.dtype, every.dtype) == (np.float64, np.float32)


@pytest.mark.parametrize("held", [2, 100])
def test_weights_come_back_from_their_file_and_none_do_where_there_are_none(tmp_path, monkeypatch, held):
    for module in (rows, weights):
        monkeypatch.setattr(module, "HELD", held)
    given = weighing(5, 3)
    weights.write(tmp_path / "w.parquet", given.households, given)
    found = Weights.read(tmp_path / "w.parquet")
    assert found is not None and len(found) == 5 and found.total == given.values.sum()
    assert found.replicates.flags.owndata == (held > 5)
    for name in ("values", "replicates", "households"):
        assert np.array_equal(getattr(found, name), getattr(given, name))
    weights.write(tmp_path / "n.parquet", given.households, None)
    assert Weights.read(tmp_path / "n.parquet") is None
    assert pq.read_table(tmp_path / "n.parquet").column_names == ["household"]


def test_synthetic_records_weigh_alike_unless_they_have_weights(tmp_path):
    made = records_of(codes_of(SIZES, 4, rng()), SIZES)
    made.write(tmp_path / "s.parquet")
    assert weights.of_synthetic(tmp_path / "s.parquet", 10.0).tolist() == [2.5] * 4
    made.write(tmp_path / "s.parquet", {"weight": np.array([1.0, 2, 0, 4])})
    assert weights.of_synthetic(tmp_path / "s.parquet", 10.0).tolist() == [1, 2, 0, 4]
    made.write(tmp_path / "s.parquet", {"weight": np.array([1.0, 2, -1, 4])})
    with pytest.raises(InputError, match="weight: row 3 "):
        weights.of_synthetic(tmp_path / "s.parquet", 10.0)


QUESTIONS = """name: q
title: q
records: persons
questions:
- {name: SEX, label: sex, categories: {1: one, 2: two}}
- {name: AGEP, label: age, categories: {1: {label: young, values: 0..40}, 2: {label: old, values: 41..99}}}
- {name: PINCP, label: income, deciles: {of: known}, missing: none}
- {name: JOB, label: job, categories: {a: first, b: second}}
"""


def coded(
    folder: Path,
    table: pd.DataFrame,
    more: str,
    share: float = 0.0,
    seed: int = 1,
    besides: Sequence[object] = (),
) -> int:
    """Run the step ``code`` on a table."""
    table.to_csv(folder / "a.csv", index=False)
    (folder / "q.yaml").write_text(QUESTIONS)
    (folder / "d.yaml").write_text(f"title: d\nquestions: q\nfiles: [a.csv]\n{more}")
    words = ["code", "--files", folder / "a.csv", "--dataset", folder / "d.yaml", "--seed", seed]
    words += ["--questions", folder / "q.yaml", "--share", share, *besides]
    for name in ("records", "holdout", "weights"):
        words += [f"--{name}", folder / f"{name}.parquet"]
    return main([*map(str, words), "--codebook", str(folder / "codebook.json")])


def persons(n: int) -> pd.DataFrame:
    made = rng(5)
    income = made.integers(-1000, 90_000, n).astype(float)
    income[::7] = np.nan
    return pd.DataFrame(
        {
            "SERIALNO": [f"2021HU{i // 2:07}" for i in range(n)],
            "SEX": made.integers(1, 3, n),
            "AGEP": np.arange(n) % 100,
            "PINCP": pd.array(income, "Float64").astype("Int64"),
            "JOB": ["a", "b"] * (n // 2),
            "PWGTP": 10 + np.arange(n),
            "PWGTP1": -5 + np.arange(n),
            "PWGTP2": 3 * np.arange(n),
        }
    )


WEIGHTED = "weight: PWGTP\nreplicates: PWGTP1..2\n"


@pytest.mark.parametrize("more", [WEIGHTED, f"{WEIGHTED}table: {{}}\nhousehold: SERIALNO\n"])
def test_weights_lie_row_by_row_beside_the_records_that_are_not_held_out(tmp_path, more):
    table = persons(60)
    assert coded(tmp_path, table, more, share=0.3) == 0
    records, found = pd.read_parquet(tmp_path / "records.parquet"), Weights.read(tmp_path / "weights.parquet")
    assert found is not None and len(records) == len(found) == 42
    rows = (found.values - 10).astype(int)
    assert records["SEX"].astype(str).tolist() == table["SEX"].astype(str)[rows].tolist()
    assert found.replicates.tolist() == table[["PWGTP1", "PWGTP2"]].to_numpy()[rows].tolist()
    assert np.array_equal(found.households, np.unique(rows // 2, return_inverse=True)[1])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"PWGTP": lambda t: t.where(t != 12).astype("Int64")}, "PWGTP: row 3 of"),
        ({"PWGTP1": lambda t: t.astype(str).where(t != 0, "x")}, "PWGTP1 holds 'x' in row 6"),
        ({"PWGTP2": None}, "weight, replicates: the files have no column PWGTP2"),
    ],
)
@pytest.mark.parametrize("more", ["", "table: {}\n"])
def test_the_step_says_which_weight_is_wrong(tmp_path, capsys, change, said, more):
    table = persons(20)
    ((name, how),) = change.items()
    table = table.drop(columns=name) if how is None else table.assign(**{name: how(table[name])})
    assert coded(tmp_path, table, WEIGHTED + more) == 1
    assert said in capsys.readouterr().err and not (tmp_path / "weights.parquet").exists()


def test_a_weight_of_people_held_out_is_looked_at_too(tmp_path, capsys):
    table = persons(20)
    table.assign(SERIALNO=table["SERIALNO"] + "x", PWGTP=["x", *range(19)]).to_csv(
        tmp_path / "b.csv", index=False
    )
    assert coded(tmp_path, table, WEIGHTED + "table: {}\n", besides=("--held-files", tmp_path / "b.csv")) == 1
    assert "b.csv: PWGTP holds 'x' in row 1" in capsys.readouterr().err


def test_a_dataset_says_fays_coefficient_with_his_method_alone():
    given = {"title": "t", "questions": "q", "files": ["a.csv"], "weight": "W", "replicates": "W01..03"}
    found = check({**given, "variance": "fay", "fay": 0.5}, Dataset, "d.yaml")
    assert found.weights == ["W", "W01", "W02", "W03"]
    assert check({**given, "weight": None}, Dataset, "d.yaml").weights == []
    for faulty in ({"variance": "fay"}, {"fay": 0.5}, {"variance": "brr", "fay": 0.5}):
        with pytest.raises(InputError, match="go together"):
            check({**given, **faulty}, Dataset, "d.yaml")


def test_a_weighted_crosstab_is_that_worked_out_by_hand():
    records = records_of(np.array([[0, 1], [0, 0], [1, 1], [0, 1]], np.int16), (2, 2))
    found = crosstabs.crosstab(records, np.array([2.0, 0.5, 4, 1]))
    assert found.tolist() == [[3.5, 0, 0.5, 3], [0, 4, 0, 4], [0.5, 0, 0.5, 0], [3, 4, 0, 7]]


def test_equal_weights_give_the_counts_and_their_d():
    true, other = (records_of(codes_of(SIZES, n, rng(n)), SIZES) for n in (50, 80))
    sums = crosstabs.crosstab(true, np.full(50, 7.0))
    assert_allclose(sums, 7 * crosstab(true))
    own = crosstabs.crosstab(other, np.full(80, 350 / 80))
    found = weighted.cells(sums, np.zeros(sums.shape), own, (350, 350), 50)
    upper = np.triu_indices(7)
    wanted = accuracy.log_ratio(
        crosstab(true)[upper], accuracy.scaled(crosstab(other)[upper].astype(float), 50, 80)
    )
    assert_allclose(found.log_ratio, wanted)


def test_d_and_z_of_a_weighted_cell_are_those_worked_out_by_hand():
    # Two records of mean weight 5: one cell of 6 people against 9 of 15 that stand for 20.
    found = weighted.cells(np.array([[6.0]]), np.array([[11.0]]), np.array([[9.0]]), (10.0, 15.0), 2)
    assert found.synthetic.tolist() == [6.0] and found.log_ratio.tolist() == [0.0]
    found = weighted.cells(np.array([[6.0]]), np.array([[11.0]]), np.array([[18.0]]), (10.0, 15.0), 2)
    assert_allclose([found.log_ratio[0], found.z[0]], [np.log(17 / 11), 6 / 6])
    assert found.error[0] == pytest.approx(11**0.5)
    none = weighted.cells(np.array([[6.0]]), np.array([[11.0]]), np.array([[0.0]]), (10.0, 0.0), 2)
    assert np.isnan(none.log_ratio[0]) and np.isnan(none.z[0])


def slow_variance(theta: float, replicates: list[float], method: str, k: float = 0.0) -> float:
    """As the methods are published, one replicate after the other."""
    count, found = len(replicates), 0.0
    for estimate in replicates:
        found += (estimate - theta) ** 2
    return {
        "sdr": 4 / count * found,
        "brr": found / count,
        "fay": found / (count * (1 - k) * (1 - k)),
        "jk1": (count - 1) / count * found,
    }[method]


@pytest.mark.parametrize(("method", "k"), [("sdr", 0.0), ("brr", 0.0), ("fay", 0.3), ("jk1", 0.0)])
@pytest.mark.parametrize("threads", [1, 2])
def test_variances_of_cells_are_those_of_the_published_formulas(method, k, threads):
    records, given = records_of(codes_of(SIZES, 40, rng()), SIZES), weighing(40, 6)
    found = factor(method, 6, k) * crosstabs.spread(records, given.values, given.replicates, threads)
    one_hot = records.one_hot.astype(float)
    for i in range(7):
        for j in range(7):
            both = one_hot[:, i] * one_hot[:, j]
            every = [float(both @ given.replicates[:, r].astype(float)) for r in range(6)]
            wanted = slow_variance(float(both @ given.values), every, method, k)
            assert found[i, j] == pytest.approx(wanted, rel=1e-9, abs=1e-6)


def test_the_jackknife_of_a_mean_of_singles_is_the_textbooks_standard_error():
    values, n = np.array([3.0, 8, 1, 4, 4]), 5
    left_out = (np.ones((n, n)) - np.eye(n)) * n / (n - 1)
    one = estimates.Groups((), ["all"], ["all"], np.zeros(n, int))
    _, found, errors = estimates.by_group(values, one, np.ones(n), left_out, factor("jk1", n))
    assert (found[0, 1], errors[0, 1]) == pytest.approx((4.0, values.std(ddof=1) / n**0.5))


def test_a_resample_of_the_design_has_households_whole_and_their_weights():
    given = weighing(30, 0)
    rows, drawn = design.resampled(given, rng())
    assert len(drawn) == len(rows) and drawn.total == pytest.approx(given.total)
    members = {h: sorted(np.flatnonzero(given.households == h)) for h in set(given.households.tolist())}
    for household in range(drawn.households.max() + 1):
        own = rows[drawn.households == household]
        if len(own):
            assert sorted(own) == members[given.households[own[0]]]
    assert_allclose(drawn.values / given.values[rows], drawn.values[0] / given.values[rows[0]])


def test_replicates_of_the_design_vary_as_households_do():
    n = 400
    households = np.repeat(np.arange(n // 2), 2)
    values = np.repeat(rng().normal(0, 1, n // 2), 2)  # the same within a household
    given = Weights(np.ones(n), np.zeros((n, 0), np.float32), households)
    one = estimates.Groups((), ["all"], ["all"], np.zeros(n, int))
    made = design.replicates(given, rng(2), 2000)
    assert_allclose(made.sum(axis=0), n, rtol=1e-5)
    errors = estimates.by_group(values, one, given.values, made, factor(None, 2000))[2]
    assert errors[0, 1] == pytest.approx(values[::2].std() / (n // 2) ** 0.5, rel=0.06)


def test_estimates_are_those_worked_out_by_hand():
    # By weight the records up to 5 have 3 of 6, half.
    found = estimates.estimates(np.array([5.0, 1, 9]), np.array([[2.0, 1], [1, 1], [3, 4]]))
    assert found["total"].tolist() == [38, 42] and found["mean"].tolist() == [38 / 6, 7]
    assert found["median"].tolist() == [5, 9]


def test_groups_are_all_each_answer_and_all_combinations():
    codes = np.array([[0, 1, 0], [1, 2, 1], [1, 2, 0]], np.int16)
    everybody, first, both = (
        estimates.groups(codes, records_of(codes, SIZES).codebook, by)[-1] for by in ([], ["A"], ["A", "B"])
    )
    assert (everybody.names, everybody.index.tolist()) == (["all"], [0, 0, 0])
    assert (first.names, first.index.tolist()) == (["A=1", "A=2"], [0, 1, 1])
    assert [both.names[g] for g in both.index] == ["A=1, B=2", "A=2, B=3", "A=2, B=3"]
    assert len(estimates.groups(codes, records_of(codes, SIZES).codebook, ["A", "B"])) == 4


def test_errors_of_a_group_are_of_its_own_records_with_a_number():
    values, index = np.array([1.0, np.nan, 3, 10]), np.array([0, 0, 0, 2])
    some = estimates.Groups(("A",), ["a", "b", "c"], ["a", "b", "c"], index)
    every = np.array([[1.0, 3], [9, 9], [1, 1], [2, 2]])
    records, found, errors = estimates.by_group(values, some, np.ones(4), every, factor("sdr", 2))
    assert records.tolist() == [2, 0, 1]
    assert_allclose(found[0], [4, 2, 1])
    # Totals 4 and 6, means 2 and 1.5; SE² = 4/2 Σ.
    assert_allclose(errors[0, :2], [8**0.5, 0.5**0.5])
    assert_allclose(errors[2], [20, 0, 0])
    assert np.isnan(found[1]).all() and np.isnan(errors[1]).all()


def test_intervals_overlap_as_worked_out_by_hand():
    one = 1 / weighted.Z90
    true, error = np.zeros(4), np.full(4, one)  # from −1 to 1
    synthetic, own = np.array([0.0, 1, 5, 0]), np.array([one, 2 * one, one, 0])
    found = estimates.overlap(true, error, synthetic, own)
    # From −1 to 3 all of the true one and half of the other are shared; far off, nothing; 0 is a point of it.
    assert_allclose(found, [1, 0.75, 0, 0.5])
    assert np.isnan(estimates.overlap(true, error, true * np.nan, own * np.nan)).all()
    assert estimates.inside(true, error, np.array([0.9, -1.1, np.nan, 1.0])).tolist() == [
        True,
        False,
        False,
        True,
    ]
    kept = estimates.kept(np.array([50, 50, 50, 5]), true, error, synthetic, own)
    assert kept.estimates == 3 and kept.inside == pytest.approx(2 / 3)
    assert (kept.overlap, kept.width) == pytest.approx((1.75 / 3, 1))


def run(step: str, *arguments: object) -> None:
    assert main([step, *map(str, arguments)]) == 0


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with what the steps make of a table with weights, and of synthetic ones."""
    folder = tmp_path_factory.mktemp("weighted")
    assert coded(folder, persons(600), f"{WEIGHTED}variance: jk1\n") == 0
    true = Records.read(folder / "records.parquet", _codebook(folder))
    assert true.codebook.names == ["SEX", "AGEP", "PINCP", "JOB"]
    true[rng(3).integers(0, 600, 500)].write(folder / "same.parquet")
    other = true.codes.copy()
    other[:, 0] = 0
    true.of(other).write(folder / "men.parquet")
    given = ["--records", folder / "records.parquet", "--codebook", folder / "codebook.json", "--seed", 1]
    given += ["--weights", folder / "weights.parquet", "--dataset", folder / "d.yaml"]
    given += ["--rows", "m/same", "m/men", "--synthetic", folder / "same.parquet", folder / "men.parquet"]
    run("weigh", *given, "--out", folder / "cells.parquet")
    given += ["--files", folder / "a.csv", "--questions", folder / "q.yaml", "--of", "PINCP", "LACKING"]
    run("estimate", *given, "--by", "SEX", "AGEP", "ST", "--out", folder / "estimates.parquet")
    return folder


def _codebook(folder: Path) -> Codebook:
    return Codebook.from_json((folder / "codebook.json").read_text())


def test_the_step_weigh_compares_every_row_with_the_true_crosstab(made):
    cells, table = pd.read_parquet(made / "cells.parquet"), persons(600)
    assert list(dict.fromkeys(cells["row"].astype(str))) == ["bootstrap", "m/same", "m/men"]
    men = cells[(cells["first"] == "SEX=1") & (cells["second"] == "SEX=1")].set_index("row")
    own = table[table["SEX"] == 1]
    every = [float(own[f"PWGTP{r}"].sum()) for r in (1, 2)]
    total = float(own["PWGTP"].sum())
    assert men["true"].tolist() == [total] * 3
    assert men["error"].iloc[0] == pytest.approx(slow_variance(total, every, "jk1") ** 0.5)
    assert men.loc["m/men", "synthetic"] == pytest.approx(table["PWGTP"].sum())


def test_the_step_estimate_has_true_estimates_and_those_of_every_row(made):
    found, table = pd.read_parquet(made / "estimates.parquet"), persons(600)
    assert set(found["of"]) == {"PINCP"} and set(found["by"]) == {"", "SEX", "AGEP", "SEX × AGEP"}
    means = found[(found["statistic"] == "mean") & (found["by"] == "SEX")].set_index(["row", "group"])
    known = table[(table["SEX"] == 2) & table["PINCP"].notna()]
    income = known["PINCP"].to_numpy(float)
    mean, *every = (float(income @ known[c] / known[c].sum()) for c in ("PWGTP", "PWGTP1", "PWGTP2"))
    line = means.loc[("m/same", "SEX=2")]
    assert line["records"] == len(known) and line["true"] == pytest.approx(mean)
    assert line["true_error"] == pytest.approx(slow_variance(mean, every, "jk1") ** 0.5)
    assert np.isfinite(line["synthetic"]) and line["synthetic_error"] > 0
    assert np.isnan(means.loc[("m/men", "SEX=2"), "synthetic"])
    totals = found[(found["statistic"] == "total") & (found["by"] == "")].set_index("row")
    assert totals.loc["m/same", "synthetic"] == pytest.approx(totals.loc["m/same", "true"], rel=0.25)


def test_tables_metrics_and_the_figure_have_weighted_measures(made):
    of = accuracy.cell_sets(_codebook(made).block_starts)
    table = summaries.weighted_table(pd.read_parquet(made / "cells.parquet"), of)
    listed = summaries.estimates_table(pd.read_parquet(made / "estimates.parquet"))
    kept = summaries.kept_table(listed)
    assert table["ratio_median"].iloc[0] == 1 and kept["estimates_inside"].between(0, 1).all()
    everything = table[table["cells"] == "all"].set_index("variant")
    assert everything.loc["men", "rms_z"] > everything.loc["same", "rms_z"]
    tree: dict = {}
    metrics._add_weighted(tree, table, kept)
    own = tree["m"]["same"]
    assert own["ratio_median_weighted"] == pytest.approx(everything.loc["same", "ratio_median"], abs=1e-5)
    for name in ("median_weighted_between", "rms_z_weighted", "inside_weighted", "estimates_overlap"):
        assert name in own and measure_named(f"accuracy.m.same.{name}") is not None
    assert measure_named("accuracy.m.same.ratio_rms_weighted").key == "rms"
    assert json.dumps(tree) and "weighted median ×" in str(
        repeats.printed(repeats.gathered([{"accuracy": tree}] * 2))
    )
    printed = summaries.printed_weighted(table) + summaries.printed_estimates(listed, kept)
    assert printed[0].headers[-2:] == ["r.m.s. z", "inside"]
    assert printed[3].caption == "PINCP: total" and printed[3].rows[1][:2] == ["SEX", "one"]
    drawn = figure.draw(listed, {"m/same": "m, same"}, "title")
    assert [axis.get_title(loc="left") for axis in drawn.axes] == ["total", "mean", "median"]
    assert figure.draw(listed[:0], {"m/same": "m, same"}, "title").axes


@pytest.mark.parametrize(
    ("variance", "count", "said"), [("sdr", 80, "4/80"), ("fay", 8, "(1 − 0.5)²"), ("sdr", 0, "households")]
)
def test_tables_say_where_standard_errors_are_from(variance, count, said):
    assert said in summaries.yardstick(variance, count, 0.5 if variance == "fay" else None)


def test_words_and_dates_have_no_totals(made, tmp_path, capsys):
    given = [made / f"{name}.parquet" for name in ("records", "weights")]
    words = ["estimate", "--records", given[0], "--weights", given[1], "--codebook", made / "codebook.json"]
    words += ["--dataset", made / "d.yaml", "--seed", 1, "--files", made / "a.csv", "--of", "JOB"]
    status = main([*map(str, words), "--questions", str(made / "q.yaml"), "--out", str(tmp_path / "e")])
    assert status == 1 and "the answers to JOB are words or dates" in capsys.readouterr().err


@pytest.mark.pipeline
def test_wyomings_estimates_are_those_of_its_replicate_weights(tmp_path):
    file = shared("data/csv_pwy.zip")
    with zipfile.ZipFile(file) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(".csv"))
        raw = pd.read_csv(archive.open(name))
    replicates = raw[[f"PWGTP{r}" for r in range(1, 81)]]
    known = raw["PINCP"].notna()
    income, weight = raw["PINCP"][known], raw["PWGTP"][known]
    wanted = {"total": (income * weight).sum(), "mean": (income * weight).sum() / weight.sum()}
    totals = replicates[known].mul(income, axis=0).sum()
    every = {"total": totals, "mean": totals / replicates[known].sum()}

    yaml, questions = ROOT / "tests/datasets/wy-2021-weighted.yaml", ROOT / "workflow/questions/stums.yaml"
    out = {n: tmp_path / f"{n}.parquet" for n in ("records", "holdout", "weights")}
    given = ["--files", file, "--dataset", yaml, "--questions", questions, "--seed", 1]
    codebook = ["--codebook", tmp_path / "codebook.json"]
    run("code", *given, *codebook, *(w for n, path in out.items() for w in (f"--{n}", path)))
    given += ["--records", out["records"], "--weights", out["weights"], *codebook]
    run("estimate", *given, "--of", "PINCP", "--by", "SEX", "--out", tmp_path / "e.parquet")
    found = pd.read_parquet(tmp_path / "e.parquet")
    found = found[found["by"] == ""].set_index("statistic")
    assert Weights.read(out["weights"]).total == raw["PWGTP"].sum() == 578_803
    for statistic, value in wanted.items():
        assert found.loc[statistic, "true"] == pytest.approx(value, rel=1e-12)
        error = (4 / 80 * ((every[statistic] - value) ** 2).sum()) ** 0.5
        assert found.loc[statistic, "true_error"] == pytest.approx(error, rel=1e-6)
