"""What jobs ask of a cluster: enough memory, told from the files before anything is read."""

import zipfile

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT, question_set

from modp.base.config import check, load
from modp.pipeline import resources
from modp.pipeline.resources import Need, Size, rows, size_of
from modp.pipeline.steps import STEPS, For
from modp.pums.where import Dataset
from modp.survey.questions import QuestionSet

LETTER = {"name": "A", "label": "a", "categories": {1: "one", 2: "two"}, "missing": "none"}
ANSWER = {"name": "B", "label": "b", "categories": {1: "one", 2: "two", 3: "three"}}


def test_memory_grows_with_answers_and_cells_and_doubles_at_each_attempt():
    need = Need(100, per_answer=10, per_cell=1000)
    assert need.megabytes(Size(1000, 10, 100)) == 200  # 100 + .1 + 10, in hundreds
    assert need.megabytes(Size(1_000_000, 50, 100)) == 700  # 100 + 500 + 10
    assert need.megabytes(Size(1_000_000, 50, 1000), attempt=3) == 4 * 1600
    assert resources.memory("fit", Size(1000, 10, 100))({}, attempt=2) == 2 * resources.NEEDS[
        "fit"
    ].megabytes(Size(1000, 10, 100))


def test_every_step_that_rules_run_has_its_needs():
    run = {name for name, step in STEPS.items() if step.runs is For.PIPELINE}
    assert run - {"anonymeter", "repeats"} == set(resources.NEEDS)
    for rules in (ROOT / "workflow/rules").glob("*.smk"):
        text = rules.read_text(encoding="utf-8")
        jobs = text.count('"python -m modp ')
        assert jobs <= text.count("mem_mb=resources.") == text.count("runtime=resources."), rules


def test_the_sample_is_known_before_it_is_read():
    dataset = load(ROOT / "workflow/datasets/sample.yaml", Dataset)
    size = size_of(dataset, load(ROOT / "workflow/questions/stums.yaml", QuestionSet), "nowhere")
    assert size.records == pytest.approx(12_000, rel=0.05)
    assert (size.questions, size.categories) == (38, 233)


@pytest.mark.parametrize("name", ["t.csv", "t.zip", "t.parquet"])
def test_rows_are_told_from_a_files_start_or_footer(name, tmp_path):
    frame = pd.DataFrame({"A": np.arange(40_000) % 7, "B": np.arange(40_000) % 90 + 10})
    path = tmp_path / name
    if name == "t.parquet":
        frame.to_parquet(path)
    elif name == "t.zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("psam_p1.csv", frame.to_csv(index=False))
            archive.writestr("README.pdf", b"\0" * 10_000)
    else:
        frame.to_csv(path, index=False)
    assert rows(path) == pytest.approx(40_000, rel=0.001)


def test_a_damaged_file_counts_by_its_bytes(tmp_path):
    path = tmp_path / "t.parquet"
    path.write_bytes(b"PAR1" + b"\0" * 1996)
    assert rows(path) == 100
    path.write_bytes(b"")
    assert rows(path) == 0


@pytest.mark.parametrize(
    ("states", "span", "records"), [(["wy", "ca"], "1-Year", 840_000), (["us"], "5-Year", 18_000_000)]
)
def test_files_still_to_be_fetched_count_as_the_largest_of_their_kind(states, span, records):
    census = {"year": 2022, "span": span, "records": "persons", "states": states}
    content = {"title": "t", "questions": "stums", "census": census}
    size = size_of(check(content, Dataset, "t"), question_set(LETTER, ANSWER), "nowhere")
    assert size == Size(records, 2, 6)


MEASURED = {
    "code": {(2_000, 8, 50): 266, (2_000, 83, 500): 283, (50_000, 8, 50): 290, (3_000_000, 35, 262): 721},
    "fit": {(2_000, 8, 50): 432, (2_000, 83, 500): 627, (50_000, 8, 50): 298},
    "instances": {(2_000, 8, 50): 416, (2_000, 83, 500): 465},
    "draw": {(2_000, 8, 50): 280, (2_000, 83, 500): 359},
    "measure": {
        (2_000, 8, 50): 286,
        (2_000, 83, 500): 344,
        (240_000, 35, 262): 490,
        (3_000_000, 35, 262): 1406,
    },
}
"""By benchmarks/memory.py and benchmarks/rows.py: records, questions, categories -> megabytes at the peak."""


@pytest.mark.parametrize("step", MEASURED)
def test_what_steps_ask_for_holds_what_was_measured(step):
    for size, peak in MEASURED[step].items():
        assert peak * 1.2 <= resources.NEEDS[step].megabytes(Size(*size)) <= 4 * peak, size
