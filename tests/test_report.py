"""The page and the cards: what they say by hand, and the page in a real browser."""

import base64
import fnmatch
import io
import json
import re
import shutil
import subprocess
import tomllib
import zlib
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT, codes_of
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from modp.__main__ import main
from modp.base.config import load
from modp.base.output import Log, time_of
from modp.figures import registry
from modp.measures.table import NOTEBOOK, measures_of
from modp.models.registry import family
from modp.pipeline.params import Params
from modp.report import card, explorer, holdings, page, plot
from modp.survey.codebook import Category, Codebook, Question
from modp.survey.records import Records

NASTY = '<b>"R&D"</b> </script><script>alert(1)</script>'
CODEBOOK = Codebook(
    "tiny",
    (
        Question("SEX", "Sex", "SEX", "as coded", (Category("1", NASTY, "1"), Category("2", "two", "2"))),
        Question("AGE", NASTY, "AGE", "as coded", tuple(Category(c, f"age {c}", c) for c in "abc")),
        Question("JOB", "Job", "JOB", "as coded", tuple(Category(c, f"job {c}", c) for c in "xy")),
    ),
)
DRAWN = ["m/plain", "m/half"]
ROWS = ["bootstrap", *DRAWN]


def line(model: str, variant: str, *ratios: float, cells: str = "all") -> dict:
    keys = [measure.key for measure in measures_of("d")]
    found = dict(zip(keys, (0.05, 0.1, 0.2), strict=True))
    found |= {f"ratio_{key}": ratio for key, ratio in zip(keys, ratios, strict=True)}
    counts = {"n_cells": 28, "records": 1000, "zero_records": 7}
    near = (1.25, 0.05) if model == "m" and variant == "good" else (np.nan, np.nan)
    for key in keys:
        counts |= dict(zip((f"population_{key}", f"population_{key}_error"), near, strict=True))
    return {"model": model, "variant": variant, "cells": cells, **found, **counts, "entropy_bits": 3.0}


TABLE = pd.DataFrame(
    [
        line("bootstrap", "", 1, 1, 1),
        line("m", "swapped", 0.5, 1.0, 1.6),
        line("m", "good", 1.09, 1.02, 0.95),
        line("m", "none", np.nan, np.nan, np.nan),
        line("m", "swapped", 1.0, 1.0, 1.0, cells="between"),
    ]
)
RANKED = {"log10_effective_multiplicity": 2.0, "nearest": 0.02, "within_10": 0.1, "median_rank": 1234.0}
RANKED |= {"within_10_backwards": 0.2}
HIDDEN = pd.DataFrame(
    [
        {"model": "m", "variant": v, "records": 1000, "entropy_bits": 3.0, "ranked": ranked}
        | (RANKED if ranked else dict.fromkeys(RANKED, np.nan))
        for v, ranked in (("swapped", 900), ("good", 900), ("none", 0))
    ]
)


def unpacked(text: str, kind: str) -> np.ndarray:
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), kind)


@given(st.lists(st.integers(0, 2**32 - 1), max_size=50))
def test_counts_are_packed_exactly(counts):
    assert unpacked(explorer.packed_counts(np.array(counts, np.int64)), "<u4").tolist() == counts


@given(
    st.lists(st.one_of(st.integers(-(10**9), 10**9).map(lambda n: n / 1000), st.just(np.nan)), max_size=50)
)
def test_sizes_are_packed_to_half_a_step_and_what_is_unknown_stays_so(values):
    values = np.array(values, float)
    packed = explorer.packed_sizes(values)
    steps = unpacked(packed["steps"], "<i2")
    known = ~np.isnan(values)
    assert (steps[~known] == explorer.UNKNOWN).all() and (steps[known] != explorer.UNKNOWN).all()
    largest = np.abs(values[known]).max(initial=0)
    assert np.abs(steps[known] * packed["step"] - values[known]).max(initial=0) <= largest / 65_533


def test_the_worst_cells_come_first_and_perfect_ones_not_at_all():
    merit = np.array([0, 2.5, np.nan, 3.25, 0.1, 2.5])
    assert explorer.worst(merit) == [[3, 3.25], [1, 2.5], [5, 2.5], [4, 0.1]]
    assert len(explorer.worst(np.ones(100))) == explorer.WORST


def test_the_best_row_is_near_the_ideal_by_all_three_measures():
    columns = [column for column in TABLE if column.startswith("population")]
    alone = TABLE.assign(**dict.fromkeys(columns, np.nan))
    found = page.closest(alone)
    assert found == ("m/good", False), "a small median does not make up for a large r.m.s."
    assert page.closest(alone[alone["variant"].isin(["", "none"])]) == (None, False)


def test_the_best_row_is_nearest_to_the_people_held_out_where_there_are_some():
    near = TABLE.assign(population_mean_abs=[1.3, 1.1, 1.2, np.nan, 0.9])
    assert page.closest(near) == ("m/swapped", True)
    assert page.closest(near, ["m/swapped"]) == ("m/good", True), "a copy is not the best"


def test_the_headline_says_what_was_measured_and_nothing_else():
    fidelity, near, zeros, rank = page.headline("m/good", TABLE, HIDDEN, {"privacy": {}}, "sample")
    assert fidelity.value == "1.09 ×" and "1.02" in fidelity.meaning and "5.1%" in fidelity.meaning
    assert near.value == "1.25 ± 0.05 ×" and "1 is as near to the people who were not in" in near.meaning
    assert zeros.value == "7 of 1,000"
    assert rank.value == "10.00 ± 1.00 %" and "1,234" in rank.meaning
    closer = {"closer_to_train": 0.508, "closer_to_train_low": 0.49, "closer_to_train_high": 0.52}
    metrics = {"privacy": {"m": {"good": closer}}}
    assert page.headline("m/good", TABLE, HIDDEN, metrics, "sample")[-1].value == "0.508 (0.490–0.520)"
    assert len(page.headline("m/none", TABLE, HIDDEN, metrics, "sample")) == 1, (
        "no errors, no ranks, no attack, nothing held out"
    )


def test_the_page_says_which_rows_have_a_guarantee_and_whom_it_protects():
    one = {
        "family": "private",
        "epsilon": 1.0,
        "delta": 1e-05,
        "noise": "secret",
        "unit": "record",
        "most": None,
    }
    home = one | {"unit": "household", "most": 2, "noise": "seeded"}
    models = {"m": {"family": "blades"}, "dp": one, "dp_home": home}
    rows = [{"model": model, "name": "released"} for model in models]
    single, whole = page.guarantees({"models": models, "rows": rows})
    assert single == (
        "dp/released is (1, 1e-05)-differentially private: a guarantee that protects single records, not "
        "households."
    )
    assert "dp_home/released" in whole and "at most 2 records each" in whole and "trials only" in whole


def test_where_most_cells_of_a_resample_are_exact_means_are_told_and_drawn():
    exact = TABLE.assign(ratio_median=np.nan)
    fidelity = page.headline("m/good", exact, HIDDEN, {"privacy": {}}, "sample")[0]
    assert fidelity.value == "1.02 ×" and "medians say nothing" in fidelity.meaning
    drawn = json.dumps(plot.item(page.points(exact, HIDDEN), page.curves([TRACED], 0), "plot"))
    assert "mean d, \\u00d7 the bootstrap's" in drawn and '"swapped", "good"' in drawn
    assert "nan" not in fidelity.meaning


def test_markdown_becomes_html_that_obeys_nothing_in_it():
    html = page.as_html("# A <i>\n\n- note\n\n## B\n\n| a | b |\n| --- | --: |\n| <script> | 1 |\n")
    assert "<h3>A &lt;i&gt;</h3>" in html and "<h4>B</h4>" in html and "<script>" not in html
    assert html.count('<div class="scroll"') == html.count("</table></div>") == 1


def test_pictures_keep_their_size_and_their_rare_colours_in_fewer_bytes():
    shades = np.random.default_rng(1).integers(0, 12, (40, 600, 3)).astype(np.uint8)
    shades[..., 0] = np.linspace(0, 60, 600)
    shades[0, :190, 1] = np.arange(60, 250)
    whole = io.BytesIO()
    Image.fromarray(shades).save(whole, "PNG")
    shown = page.picture("fig", "what it shows", ["a", "b", "a"], whole.getvalue())
    packed = base64.b64decode(shown.png)
    found = Image.open(io.BytesIO(packed))
    assert found.size == (600, 40) == (shown.width, shown.height)
    assert (shown.of, shown.caption) == ("a, b", "what it shows")
    assert np.abs(np.asarray(found.convert("RGB")).astype(int) - shades).max() <= 8
    assert len(packed) < len(whole.getvalue())


def test_a_plot_is_the_same_each_time_it_is_made():
    points = page.points(TABLE, HIDDEN)
    assert points["variant"].tolist() == ["swapped", "good", "none"]
    first, second = (json.dumps(plot.item(points, page.curves([TRACED], 0.05), "plot")) for _ in range(2))
    assert first == second and '"swapped", "good"' in first and '"none"' not in first


TRACED = pd.DataFrame(
    {
        "curve": ["marginals", "sweeps", "sweeps"],
        "model": "m",
        "parameter": [0.0, 1.0, 2.0],
        "median": [1.0, 0.1, 0.05],
        "within_10": [0.001, 0.2, 0.1],
        "rms": 1.0,
    }
)


def test_curves_are_multiples_of_the_ideal_without_the_marginals():
    found = page.curves([TRACED, TRACED.assign(model="n")], 0.05)
    assert found["ratio_median"].tolist() == [2, 1, 2, 1] and set(found["model"]) == {"m", "n"}
    assert len(page.curves([], 0.05)) == 0


def test_treatments_are_said_in_words_for_every_default_row():
    params = load(ROOT / "params.yaml", Params)
    said = {row.row: card.treatment(row.model_dump(), params.family_of(row.model)) for row in params.rows}
    assert set(said) == {row.row for row in params.rows} and all(said.values())
    assert said["stationary_dp/released"] == "the fit's last chains, the one table that is released"
    assert said["model_5_15/plain"] == "drawn from the predictions, no treatment"
    assert said["model_5_15/pass-through-1-2"] == "each true answer kept with probability 0.5"
    assert said["stationary/sweeps-20"] == "sweeps from the true records, question by question: 20"
    assert "passes 20, improvement 0.01" in said["model_5_15/swapped"]
    assert card.treatment({"name": "x", "novel": 3}, params.family_of("model_5_15")) == "novel: 3"


def test_a_card_holds_the_models_own_rows_beside_the_ideal():
    three_way = TABLE[TABLE["cells"] == "all"][["model", "variant", "median", "ratio_median"]]
    metrics = {
        "privacy": {"m": {"good": {"within_10": 0.1, "closer_to_train": 0.508, "closer_to_train_low": 0.5}}}
    }
    metrics["privacy"]["m"]["good"] |= {"closer_to_train_high": 0.516, "membership_auc": None}
    source = {"file": "a.zip", "source": "there/a.zip", "sha256": "f00"}
    other = pd.DataFrame([line("other", "plain", 3, 3, 3)])
    table = pd.concat([TABLE, other])
    run = card.Run("Tiny", CODEBOOK, [source], 5, "stated", table, HIDDEN, three_way, metrics)
    parameters = {"blades": 3, "reduced": 4, "stages": [{"loss": "z", "floor": None, "specials": []}]}
    text = card.card("m", family("blades"), parameters, [{"name": "good", "pass_through": 0.5}], run)
    assert (
        "| m/good | 0.050 | 1.09 | 0.100 | 1.02 | 0.200 | 0.95 | 0.050 | 1.09 | 1.25 ± 0.05 | 1,000 | 7 |"
        in text
    )
    assert "| bootstrap | 0.050 | 1.00 |" in text and "other/plain" not in text
    assert "`m/good`: closer_to_train 0.508 (0.5 to 0.516)\n" in text and "within_10 0" not in text
    assert "3 blades" in text and "- loss: z\n```" in text and "sha256 `f00`" in text
    assert "| m | good | 3.0 | 10^2.0 | 2.00 ± 0.47 % | 10.00 ± 1.00 % | 20.00 ± 1.33 % | 1,234 |" in text
    assert not re.search(r"[{}]", text)
    assert (
        "Zeros are synthetic records that hold a pair of answers the question set calls impossible." in text
    )
    swept = card.card("m", family("stationary"), {"prior": "none"}, [], run)
    assert "pairs of answers that the question set calls impossible are never drawn" in swept


def test_a_statement_says_what_was_measured_with_its_interval():
    three_way = TABLE[TABLE["cells"] == "all"][["model", "variant", "median", "ratio_median"]]
    run = card.Run("Tiny", CODEBOOK, [], 5, "sample", TABLE, HIDDEN, three_way, {"privacy": {}})
    lines = [
        ("m", "good", "exact_train", "", 0.01, 0.0, 0.02),
        ("m", "good", "exact_holdout", "", 0.004, 0.0, 0.01),
        ("m", "good", "distance_auc", "", 0.51, 0.49, 0.53),
        ("m", "good", "attribute_leak", "JOB", 0.015, -0.01, 0.04),
        ("m", "good", "likelihood_auc", "", np.nan, np.nan, np.nan),
        ("n", "other", "distance_auc", "", 0.9, 0.8, 1.0),
    ]
    columns = ["model", "variant", "measure", "question", "value", "low", "high"]
    text = card.statement("m", run, pd.DataFrame(lines, columns=columns), 250)
    assert "250 others" in text and "## m/good" in text and "n/other" not in text
    assert "1.00 (0.00 to 2.00) % of the synthetic records equal" in text and "0.40 (0.00 to 1.00) %" in text
    assert "with probability 0.510 (0.490 to 0.530)" in text and "nan" not in text
    assert "JOB is guessed right" in text and "1.50 (-1.00 to 4.00) percentage points" in text
    assert "10.00 ± 1.00 % of 900 cases" in text
    assert "No records were kept" in card.statement("m", run, pd.DataFrame(lines, columns=columns), 0)


def test_a_log_tells_when_its_step_ended_and_how_long_it_took(tmp_path):
    log = Log(tmp_path / "train.log")
    assert time_of(log.path) is None and time_of(tmp_path / "none.log") is None
    log.only_file("epoch 1")
    log.finished("train", 12.34)
    step, ended, seconds = time_of(log.path)
    assert (step, seconds) == ("train", 12.3) and re.fullmatch(r"20\d\d-\d\d-\d\dT[\d:]{8}Z", ended)


def test_an_installed_package_has_the_templates():
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]
    for path in (ROOT / "workflow/modp").rglob("*"):
        if path.is_file() and path.suffix not in (".py", ".pyc", ".nbi", ".nbc"):
            package = ".".join(path.parent.relative_to(ROOT / "workflow").parts)
            assert any(fnmatch.fnmatch(path.name, pattern) for pattern in wanted[package]), path


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """The folder of a tiny run, its page made by the steps themselves."""
    at = tmp_path_factory.mktemp("run")
    rng = np.random.default_rng(3)
    n = 400
    true = codes_of(CODEBOOK.sizes, n, rng)
    true[:, 2] = true[:, 0]
    tables = {"bootstrap": true[rng.integers(0, n, n)], "m/plain": rng.permuted(true, axis=0)}
    tables["marginals"] = tables["bootstrap"]
    tables["m/half"] = np.where(rng.random(true.shape) < 0.5, true, tables["m/plain"])[: n // 3]
    (at / "codebook.json").write_text(CODEBOOK.to_json())
    Records(true, CODEBOOK).write(at / "records.parquet")
    # This title is shown as it is, and obeyed by nobody.
    (at / "tiny.yaml").write_text(f"title: '{NASTY}'\nquestions: tiny\nfiles: [tiny.csv]\n")
    (at / "tiny.csv.provenance.json").write_text(
        json.dumps({"source": NASTY, "bytes": 5, "sha256": "ab" * 32, "modified": None})
    )
    Records(rng.permuted(true, axis=0)[:100], CODEBOOK).write(at / "holdout.parquet")
    for row, codes in tables.items():
        (at / row).mkdir(parents=True)
        extra = {"record": np.arange(len(codes)), "entropy_bits": np.full(len(codes), 2.5)}
        Records(codes, CODEBOOK).write(at / row / "table.parquet", extra if row in DRAWN else None)
        measure(at, row, at)
    pd.DataFrame(rng.random((n, 2))).rename(columns=str).to_parquet(at / "gates.parquet")
    (at / "published.yaml").write_text("{}\n")
    write_tables(at, at)
    TRACED.to_parquet(at / "frontier.parquet")
    Image.new("RGB", (30, 20), "red").save(at / "accuracy.png")
    Image.new("RGB", (30, 20), "blue").save(at / "cells.png")
    write_page(at, at / "report.html")
    return at


def test_the_table_of_measures_knows_what_attacks_find(made):
    found = set(pd.read_parquet(made / "m/half/attack.parquet")["measure"])
    assert {"exact", "distance_auc", "density_top", "attribute_leak", "reconstruction_leak"} <= found
    assert found <= {measure.key for measure in measures_of("copies", "membership", "exposed", "guesses")}


def test_every_table_is_compared_with_the_people_held_out(made):
    table = pd.read_parquet(made / "tables/accuracy.parquet")
    numbers = table[[c for c in table if c.startswith("population_")]]
    assert numbers.shape == (2 * len(ROWS), 6) and np.isfinite(numbers.to_numpy()).all()
    found = json.loads((made / "metrics.json").read_text())["accuracy"]
    for place, line in ((found["bootstrap"], 0), (found["m"]["half"], 2)):
        assert place["population_mean_abs"] == pytest.approx(numbers["population_mean_abs"][line], abs=1e-6)
    first = numbers.iloc[0]
    near = f"{first['population_mean_abs']:.2f} ± {first['population_mean_abs_error']:.2f}"
    assert f"| {near} |" in (made / "tables/accuracy.md").read_text() and not near.startswith("0.00")
    text = (made / "report.html").read_text()
    assert near in text and text.count("only says that the sample&#39;s noise is repeated") == 1


def test_with_the_notebooks_numbers_every_table_says_so(made, tmp_path):
    for row in ROWS:
        (tmp_path / row).mkdir(parents=True)
        measure(made, row, tmp_path, "--paper-notebook")
    write_tables(made, tmp_path, paper_notebook=True)
    for path in (tmp_path / "tables").glob("*.md"):
        assert NOTEBOOK in path.read_text(), path
    metrics = json.loads((tmp_path / "metrics.json").read_text())
    cells, plain = (pd.read_parquet(at / "m/half/cells.parquet") for at in (tmp_path, made))
    assert metrics["paper_notebook"] is True
    # a third of the records: d of whole tables is of counts a third as large
    assert np.allclose(cells["log_ratio"], np.log((cells["synthetic"] + 1) / (cells["true"] + 1)))
    assert np.allclose(cells["scaled"], plain["scaled"]) and np.allclose(cells["z"], plain["z"])
    square = np.concatenate([cells["log_ratio"], cells["log_ratio"][cells["first"] != cells["second"]]])
    assert metrics["accuracy"]["m"]["half"]["rms"] == pytest.approx(square.std(), abs=1e-6)
    step(
        *("repeats", "--metrics", tmp_path / "metrics.json", "--dataset", made / "tiny.yaml"),
        *("--seed", 1, "--folder", tmp_path),
    )
    assert NOTEBOOK in (tmp_path / "repeats.md").read_text()


def step(*arguments: object) -> None:
    assert main([str(a) for a in arguments]) == 0


def coded(made: Path) -> list[object]:
    return ["--records", made / "records.parquet", "--codebook", made / "codebook.json", "--seed", 1]


def measure(made: Path, row: str, at: Path, *more: str) -> None:
    """Measure a table of the folder ``made``, into the row's folder in ``at``."""
    files = {"cells": "cells.parquet", "summary": "s.json", "triples": "t.parquet"}
    files |= {"attack": "attack.parquet", "roc": "roc.parquet"}
    files |= {"crowds": "privacy.parquet"} if row in DRAWN else {}
    out = [part for option, name in files.items() for part in (f"--{option}", at / row / name)]
    source = ["--holdout", made / "holdout.parquet", "--synthetic", made / row / "table.parquet"]
    step(
        "measure", *coded(made), *source, "--row", row, "--zeros", "sample", "--attacked", "JOB", *out, *more
    )


def write_tables(made: Path, at: Path, paper_notebook: bool = False) -> None:
    """Write the tables of the rows measured in ``at``, attacked in the folder ``made``."""
    parameters = {"seed": 1, "dataset": NASTY, "zeros": "sample", "paper_notebook": paper_notebook}
    parameters["answers_by_blade"] = {"model": "m", "questions": ["JOB"]}
    history = pd.DataFrame({"bias": [0.6]})
    history.attrs["shortfall"] = "its fit ended before it arrived"
    history.to_parquet(at / "history.parquet")
    parameters |= {"rows": [{"model": "m", "name": name} for name in ("plain", "half")]}
    parameters |= {"models": {"m": {"family": "blades"}}}
    step(
        *("tables", *coded(made), "--dataset", made / "tiny.yaml", "--published", made / "published.yaml"),
        *("--rows", *ROWS, "--cells", *[at / r / "cells.parquet" for r in ROWS]),
        *("--summaries", *[at / r / "s.json" for r in ROWS]),
        *("--privacy", *[made / r / "privacy.parquet" for r in DRAWN]),
        *("--attacks", *[made / r / "attack.parquet" for r in (*ROWS, "marginals")]),
        *("--gates", made / "gates.parquet"),
        *("--folder", at / "tables", "--metrics", at / "metrics.json", "--plot", at / "plot.csv"),
        *("--warnings", at / "tables/warnings.json"),
        *("--run", json.dumps(parameters)),
        *("--histories", at / "history.parquet", "--histories-of", "m"),
        *("--parameters", at / "parameters.json"),
    )


TABLES = ("accuracy", "privacy", "questions", "answers_by_blade")


def write_page(at: Path, out: Path) -> None:
    Log(at / "train.log").finished("train", 3.25)
    step(
        *("report", "--dataset", at / "tiny.yaml", "--codebook", at / "codebook.json"),
        *("--provenance", at / "tiny.csv.provenance.json"),
        *("--rows", *ROWS, "--cells", *[at / r / "cells.parquet" for r in ROWS]),
        *("--tables", *[at / f"tables/{t}.md" for t in TABLES]),
        *("--accuracy", at / "tables/accuracy.parquet", "--privacy", at / "tables/privacy.parquet"),
        *("--metrics", at / "metrics.json", "--warnings", at / "tables/warnings.json"),
        *("--frontier", at / "frontier.parquet", "--figures", at / "accuracy.png", at / "cells.png"),
        *("--shown", json.dumps(registry.shown({"accuracy": ("overview", []), "cells": ("crosstabs", [])}))),
        *("--parameters", at / "parameters.json"),
        *("--logs", at / "train.log", "--out", out, "--run", at / "run.js"),
        *("--public", out.with_stem(f"{out.stem}_public")),
    )


def test_the_page_is_the_same_at_another_time(made):
    write_page(made, made / "again.html")
    for form in ("", "_public"):
        assert (made / f"again{form}.html").read_bytes() == (made / f"report{form}.html").read_bytes()
    assert "3.2" in (made / "run.js").read_text() and "3.2" not in (made / "report.html").name


def test_the_page_needs_no_network_and_obeys_nothing_in_the_data(made):
    text = (made / "report.html").read_text()
    assert "alert(1)</script>" not in text and "&lt;script&gt;alert(1)" in text
    assert re.findall(r'(?:src|href)="(?!#|data:)([^"]*)"', text.split("<script", 1)[0]) == []
    assert re.findall(r'<script src="([^"]*)"', text) == ["run.js"]
    assert '<html lang="en">' in text and not re.search(r"<img(?![^>]* alt=\"[^\"]+)", text)


COUNT = 86_753_094
"""A true count that nothing else in a page looks like."""


def counts_in(text: str) -> set[int]:
    """All counts that a page holds packed, whatever they are called there."""
    found = set()
    for packed in re.findall(r'"([\w+/]{8,}={0,2})"', text):
        try:
            content = zlib.decompress(base64.b64decode(packed))
        except (ValueError, zlib.error):
            continue
        found |= set(np.frombuffer(content[: len(content) // 4 * 4], "<u4").tolist())
    return found


def picture_of(text: str, colour: tuple[int, int, int]) -> bool:
    pictures = re.findall(r"data:image/png;base64,([\w+/=]+)", text)
    opened = [Image.open(io.BytesIO(base64.b64decode(png))).convert("RGB") for png in pictures]
    return any(image.getpixel((0, 0)) == colour for image in opened)


def test_the_page_to_publish_holds_no_true_count_and_no_figure_or_table_made_of_them(made, tmp_path):
    at = Path(shutil.copytree(made, tmp_path / "run"))
    for row in ROWS:
        cells = pd.read_parquet(at / row / "cells.parquet")
        cells.loc[cells["true"].idxmin(), "true"] = COUNT
        cells.to_parquet(at / row / "cells.parquet")
    write_page(at, at / "report.html")
    office, public = ((at / f"report{form}.html").read_text() for form in ("", "_public"))
    assert COUNT in counts_in(office) and not counts_in(public)
    assert str(COUNT) not in public and f"{COUNT:,}" not in public
    assert picture_of(office, (0, 0, 255)) and not picture_of(public, (0, 0, 255))
    assert picture_of(office, (255, 0, 0)) and picture_of(public, (255, 0, 0))
    assert "answers by blade of m" in office and "answers by blade of m" not in public
    for said in ("Crosstab explorer", "Worst cells", 'id="cells"', "run.js", '"age a"', '"job x"'):
        assert said in office and said not in public, said
    assert "Accuracy — " in public and "Questions — " in public and "m: its fit ended" in public


def test_each_form_of_the_page_says_at_its_top_whom_it_is_for(made):
    for form, said in (
        ("", "For the office alone: this page holds true counts"),
        ("_public", "To publish: "),
    ):
        header = (made / f"report{form}.html").read_text().partition("<nav")[0]
        assert re.findall(r'<p class="form[^>]*>(.{9})', header) == [said[:9]] and said in header


def test_the_page_to_publish_tells_nothing_of_the_seed_and_the_offices_files(made):
    office, public = ((made / f"report{form}.html").read_text() for form in ("", "_public"))
    for said in ("Seed 1.", "<li>seed: 1</li>", "\nseed: 1\n", "ab" * 32, "tiny.csv"):
        assert said in office.replace("<pre>", "\n") and said not in public.replace("<pre>", "\n"), said


def test_report_and_documents_have_the_same_table_of_what_holds_true_information(made):
    table = holdings.markdown()
    assert (ROOT / "docs/privacy.md").read_text(encoding="utf-8").endswith(f"\n\n{table}"), table
    assert page.as_html(table) in (made / "report.html").read_text()
    assert "report_public.html</code>, <code>metrics.json" in page.as_html(table)


def test_the_page_says_aloud_what_the_run_must_say(made):
    text, warned = (made / "report.html").read_text(), json.loads((made / "tables/warnings.json").read_text())
    assert warned["m"] == ["its fit ended before it arrived"]
    assert '<p class="warning" role="note">m: its fit ended before it arrived</p>' in text


class Texts(HTMLParser):
    """The text of each td and th, and of elements with an id, of a page."""

    def __init__(self, html: str, within: str):
        super().__init__()
        self.found: list[str] = []
        self.depth, self.within = 0, within
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        if dict(attributes).get("id") == self.within:
            self.depth, self.tag = 1, tag
        elif self.depth and tag == self.tag:
            self.depth += 1
        if self.depth and tag in ("td", "th", "caption", "p"):
            self.found.append("")

    def handle_endtag(self, tag):
        if self.depth and tag == self.tag:
            self.depth -= 1

    def handle_data(self, data):
        if self.depth and self.found:
            self.found[-1] += " " + data


def browsed(page_file: Path, address: str = "") -> tuple[str, list[str]]:
    """The page's elements after its scripts have run in Chromium, and what they said on the console."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        pytest.skip("needs Chromium or Chrome, which is not installed")
    flags = (
        "headless no-sandbox disable-gpu disable-quic no-first-run disable-background-networking "
        "disable-component-update disable-sync enable-logging=stderr dump-dom virtual-time-budget=8000"
    )
    command = [
        browser,
        *(f"--{flag}" for flag in flags.split()),
        f"--user-data-dir={page_file.parent / 'user'}",
    ]
    outcome = subprocess.run(
        [*command, f"{page_file.as_uri()}{address}"], capture_output=True, text=True, timeout=60, check=True
    )
    said = [text for text in outcome.stderr.splitlines() if "CONSOLE" in text and '"[bokeh ' not in text]
    return outcome.stdout, said


def expected(at: Path, row: str, first: str, second: str, scale: float) -> str:
    cells = pd.read_parquet(at / row / "cells.parquet").astype({"first": str, "second": str})
    cell = cells[(cells["first"] == first) & (cells["second"] == second)].iloc[0]

    def signed(value: float, digits: int) -> str:
        text = f"{abs(value):.{digits}f}"
        return text if float(text) == 0 else ("+" if value > 0 else "−") + text

    count = f"{cell['synthetic'] * scale:.1f}".removesuffix(".0")
    d, z = signed(cell["log_ratio"], 3), signed(cell["z"], 1)
    return f"true {cell['true']} syn {count} d {d} z {z}"


def test_a_link_opens_the_explorer_at_its_cell(made):
    dom, said = browsed(made / "report.html", "#row=m%2Fhalf&a=SEX&b=AGE&cell=1,2")
    assert said == []
    texts = Texts(dom, "crosstab").found
    assert f" Down: SEX, Sex. Across: AGE, {NASTY}." == texts[0]
    cells = [" ".join(t.split()) for t in texts if " true " in t]
    scale = 400 / 133
    assert cells == [expected(made, "m/half", f"SEX={s}", f"AGE={a}", scale) for s in "12" for a in "abc"]
    (asked,) = re.findall(r'<td class="asked".*?</td>', dom)
    assert cells[5].split(" d ")[1].split()[0] in asked
    assert "bk-Figure" in dom, "the plot is drawn"
    assert "train" in Texts(dom, "run").found[4] and "3.2" in Texts(dom, "run").found[6]


def test_choosing_questions_and_rows_shows_theirs_and_the_worst_cells_are_linked(made):
    choose = (
        "<script>const choose = () => {"
        "if (document.getElementById('controls').hidden) { setTimeout(choose, 20); return; }"
        "for (const [id, value] of [['row', 1], ['a', 2], ['b', 0], ['by', 'd']]) {"
        "const chosen = document.getElementById(id); chosen.value = value;"
        "chosen.dispatchEvent(new Event('change')); } }; choose();</script></body>"
    )
    changed = made / "changed.html"
    changed.write_text((made / "report.html").read_text().replace("</body>", choose))
    dom, said = browsed(changed)
    assert said == []
    cells = [" ".join(t.split()) for t in Texts(dom, "crosstab").found if " true " in t]
    assert cells == [expected(made, "m/plain", f"SEX={s}", f"JOB={j}", 1) for j in "xy" for s in "12"]
    merit = pd.read_parquet(made / "m/plain/cells.parquet").sort_values(
        "merit", ascending=False, kind="stable"
    )
    worst = re.findall(r'href="#row=m%2Fplain&amp;a=(\w+)&amp;b=(\w+)&amp;cell=(\d)%2C(\d)"', dom)
    names = {q.name: [c.code for c in q.categories] for q in CODEBOOK.questions}
    found = [f"{a}={names[a][int(r)]} {b}={names[b][int(c)]}" for a, b, r, c in worst]
    assert found == (merit["first"].astype(str) + " " + merit["second"].astype(str)).tolist()[: len(found)]
    assert len(found) >= 4
