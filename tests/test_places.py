"""Where a run finds its files and puts its results: names of data sets, folders of results, other folders."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

from modp.base.errors import InputError
from modp.pums import where
from modp.pums.where import at_hand, claim_results, dataset_name, require_own_results

SET = "title: t\nquestions: stums\nfiles: [data/sample/sample_csv_p.zip]\n"


@pytest.mark.parametrize("name", ["wy-2021", "a", "Mikrozensus 2021", "größe_1.5+", "nist.v2", "2024"])
def test_a_data_set_is_named_by_its_yaml(name):
    assert dataset_name(f"some/folder/{name}.yaml") == dataset_name(f"{name}.yml") == name


@pytest.mark.parametrize(
    "name",
    ["..", ".", "", ".hidden", "it's {x}", "{file}", 'a"b', " a", "a ", "-a", "a$b", "a*", "a.", "a:b"],
)
def test_names_that_no_folder_or_wildcard_can_bear_are_refused(name):
    with pytest.raises(InputError, match=r"as in my-survey_2021\.yaml"):
        dataset_name(f"folder/{name}.yaml")


@pytest.fixture
def two_of_one_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder, more in (("a", ""), ("b", "unknown: category\n"), ("c", "")):
        Path(folder).mkdir()
        Path(folder, "mine.yaml").write_text(SET + more)
    return tmp_path


def test_results_of_another_yaml_of_the_same_name_are_not_overwritten(two_of_one_name):
    require_own_results("results/mine", "a/mine.yaml")
    claim_results("results/mine", "a/mine.yaml")
    said = "results/mine holds the results of a/mine.yaml, and those of b/mine.yaml would take their place"
    with pytest.raises(InputError, match=said):
        require_own_results("results/mine", "b/mine.yaml")
    require_own_results("results/other", "b/mine.yaml")


def test_a_yaml_that_was_edited_moved_or_copied_keeps_its_results(two_of_one_name):
    claim_results("results/mine", "a/mine.yaml")
    Path("a/mine.yaml").write_text(SET + "keep: [household_persons]\n")
    require_own_results("results/mine", "a/mine.yaml")
    require_own_results("results/mine", str(Path("a/mine.yaml").resolve()))
    Path("a/mine.yaml").write_text(SET)
    require_own_results("results/mine", "c/mine.yaml")
    Path("a/mine.yaml").unlink()
    require_own_results("results/mine", "b/mine.yaml")


def test_files_are_looked_for_here_and_then_beside_the_code(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert Path(at_hand("workflow/published/accuracy.yaml")).samefile(
        ROOT / "workflow/published/accuracy.yaml"
    )
    assert Path(where.dataset_path("sample")).samefile(ROOT / "workflow/datasets/sample.yaml")
    Path("workflow/datasets").mkdir(parents=True)
    Path("workflow/datasets/sample.yaml").write_text(SET)
    assert where.dataset_path("sample") == "workflow/datasets/sample.yaml"
    assert at_hand("nowhere.csv") == "nowhere.csv"
    with pytest.raises(InputError, match="known: sample, stums, stums-h"):
        where.dataset_path("xyzzy")


def dry_run(at: Path, *more: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "snakemake", "-s", str(ROOT / "Snakefile"), "-d", str(at), "-n", *more]
    return subprocess.run(command, cwd=at, capture_output=True, text=True, check=False)


@pytest.mark.pipeline
def test_the_pipeline_works_in_another_folder_than_its_own(tmp_path):
    outcome = dry_run(tmp_path)
    assert re.search(r"^page +1$", outcome.stdout + outcome.stderr, re.MULTILINE), outcome.stderr
    assert not Path(tmp_path, "results").exists(), "a dry run claims no results"


@pytest.mark.pipeline
def test_a_run_is_refused_before_it_overwrites_anothers_results(two_of_one_name):
    claim_results("results/mine", "a/mine.yaml")
    outcome = dry_run(two_of_one_name, "--config", "dataset=b/mine.yaml")
    assert outcome.returncode and "holds the results of a/mine.yaml" in outcome.stderr
    outcome = dry_run(two_of_one_name, "--config", "dataset=b/mine.yaml", "results=other")
    assert outcome.returncode == 0, outcome.stderr
