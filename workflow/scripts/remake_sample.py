"""Remake the embedded sample: fictional persons, released by this pipeline from a file of real ones.

``python workflow/scripts/remake_sample.py PERSONS.parquet``, a table of the raw columns of Census's person
records (the shipped sample came from those of Alaska, West Virginia and Wyoming in 2021). It becomes a file
as Census serves it, without geography; a run of its own fits the population model and releases a table
drawn from it.
"""

import argparse
import io
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import yaml

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "data/sample/sample_csv_p.zip"
MEMBER = "psam_p00.csv"
ROW = "population/drawn"
SIZE = 12_000
NOWHERE = {"RT": "P", "DIVISION": "0", "REGION": "9", "ST": "00", "PUMA": "00100"}
FIRST = ("RT", "SERIALNO", "DIVISION", "SPORDER", "PUMA", "REGION", "ST", "ADJINC", "PWGTP")
RELATION = "PERNP <= PINCP"  # in the true records it holds but for a few in a thousand


def census_table(persons: pd.DataFrame, asked: Sequence[str]) -> pd.DataFrame:
    """Return these columns as texts in Census's order and spelling, of persons who live nowhere."""
    table = pd.DataFrame(index=persons.index)
    for name in dict.fromkeys((*FIRST, *asked)):
        if name in NOWHERE:
            table[name] = NOWHERE[name]
        elif name == "ADJINC":
            table[name] = (persons[name] * 1_000_000).round().astype("Int64").astype("string")
        elif pd.api.types.is_numeric_dtype(persons[name]):
            table[name] = persons[name].astype("Int64").astype("string")
        else:
            table[name] = persons[name]
    return table


def write_zip(path: Path, table: pd.DataFrame) -> None:
    """Write a table as Census serves its files, the same bytes at any time."""
    text = io.StringIO()
    table.to_csv(text, index=False, lineterminator="\n")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr(
            zipfile.ZipInfo(MEMBER, (2026, 1, 1, 0, 0, 0)), text.getvalue(), zipfile.ZIP_DEFLATED
        )


def write_run(folder: Path, persons: Path) -> None:
    """Write what the run needs: the file, the question set with its relation, data set and parameters."""
    questions = yaml.safe_load((ROOT / "workflow/questions/stums.yaml").read_text(encoding="utf-8"))
    asked = [question.get("column", question["name"]) for question in questions["questions"]]
    write_zip(folder / SAMPLE.name, census_table(pd.read_parquet(persons), asked))
    parameters = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    dataset = {
        "title": "True persons of the embedded sample",
        "questions": str(folder / "with_relation.yaml"),
        "faithful": False,  # where the paper has blank incomes among the lowest, a class would mix the two
        "files": [str(folder / SAMPLE.name)],
    }
    run = {
        "dataset": str(folder / "true_persons.yaml"),
        "results": str(folder / "results"),
        "models": {"population": parameters["models"]["population"]},
        # Not balanced, so that parts of it are to one another as samples of people are.
        "rows": [{"model": "population", "name": "drawn", "sweeps": "auto", "size": SIZE}],
        "figures": None,
        "answers_by_blade": None,
        "attacked": [],
        "release": {"rows": [ROW]},
    }
    files = {
        "with_relation.yaml": {**questions, "relations": [RELATION]},
        "true_persons.yaml": dataset,
        "params.yaml": {**parameters, **run},
    }
    for name, content in files.items():
        (folder / name).write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")


def main() -> int:
    """Run the pipeline on true records in a temporary folder, and keep what it releases."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("persons", type=Path, help="Parquet table of raw columns")
    parser.add_argument("--cores", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_run(folder, options.persons)
        command = [sys.executable, "-m", "snakemake", "release", "--cores", str(options.cores)]
        command += ["--configfile", str(folder / "params.yaml")]
        try:
            subprocess.run(command, cwd=ROOT, check=True)
            shutil.copyfile(folder / "results/true_persons" / ROW / "release" / SAMPLE.name, SAMPLE)
        finally:
            shutil.rmtree(ROOT / "data/raw/true_persons", ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
