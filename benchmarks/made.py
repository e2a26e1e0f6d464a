"""Records that are made, of any size, for benchmarks of how time and memory grow.

A record is of one of a few kinds, which nobody sees, and answers each question as its kind tends to: so
questions depend on each other, and some cells are empty.
"""

import argparse
import csv
import zipfile
from pathlib import Path

import numpy as np
import yaml

from modp.survey.codebook import Category, Codebook, Question
from modp.survey.records import Records

KINDS = 12


def records(n: int, questions: int, categories: int, seed: int = 1) -> Records:
    """n records of Q questions with K categories in all, every one of them in use."""
    rng = np.random.default_rng(seed)
    sizes = np.diff(np.linspace(0, categories, questions + 1).astype(int))
    kind = rng.integers(0, KINDS, n)
    codes = np.empty((n, questions), np.int16)
    for q, size in enumerate(sizes):
        shares = rng.dirichlet(np.full(size, 0.5), KINDS).cumsum(axis=1)
        codes[:, q] = np.minimum((rng.random((n, 1)) > shares[kind]).sum(axis=1), size - 1)
        codes[rng.permutation(n)[:size], q] = np.arange(size)
    made = [
        Question(
            f"Q{q}",
            f"question {q}",
            f"Q{q}",
            "as coded",
            tuple(Category(str(c + 1), f"answer {c + 1}", str(c + 1)) for c in range(size)),
        )
        for q, size in enumerate(sizes)
    ]
    return Records(codes, Codebook("made", tuple(made)))


def write(folder: Path, whole: Records, held_out: int = 0) -> None:
    """Write ``records.parquet``, ``holdout.parquet`` (the last ones) and ``codebook.json``."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = len(whole) - held_out
    whole[:kept].write(folder / "records.parquet")
    whole[kept:].write(folder / "holdout.parquet")
    (folder / "codebook.json").write_text(whole.codebook.to_json(), encoding="utf-8")


def write_raw(folder: Path, whole: Records) -> None:
    """Write the records as a zipped CSV, with the two YAML files that code it."""
    folder.mkdir(parents=True, exist_ok=True)
    names = whole.codebook.names
    with (
        zipfile.ZipFile(folder / "raw.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("raw.csv", "w") as file,
    ):
        file.write((",".join(names) + "\n").encode())
        np.savetxt(file, whole.codes + 1, fmt="%d", delimiter=",")
    questions = [
        {"name": q.name, "label": q.label, "categories": {int(c.code): c.label for c in q.categories}}
        for q in whole.codebook.questions
    ]
    content = {"name": "made", "title": "made", "records": "persons", "questions": questions}
    (folder / "questions.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    dataset = {"title": "made", "questions": f"{folder}/questions.yaml", "files": [f"{folder}/raw.zip"]}
    (folder / "dataset.yaml").write_text(yaml.safe_dump(dataset), encoding="utf-8")


def write_table(path: Path, rows: int, columns: int) -> None:
    """Write a CSV as anybody might have it: words, classes and amounts, with blanks."""
    rng = np.random.default_rng(1)
    kind = rng.integers(0, KINDS, rows)
    made = []
    for column in range(columns):
        if column % 4 == 0:
            amounts = np.round(rng.lognormal(8 + kind / 6, 1)).astype(int)
            made.append(
                [
                    str(value) if keep else ""
                    for value, keep in zip(amounts, rng.random(rows) > 0.1, strict=True)
                ]
            )
        else:
            shares = rng.dirichlet(np.full(3 + column % 7, 0.7), KINDS).cumsum(axis=1)
            places = np.minimum((rng.random((rows, 1)) > shares[kind]).sum(axis=1), shares.shape[1] - 1)
            made.append([f"answer {chr(97 + place)}" for place in places])
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([f"column_{column}" for column in range(columns)])
        writer.writerows(zip(*made, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--records", type=int, required=True)
    parser.add_argument("--questions", type=int, required=True)
    parser.add_argument("--categories", type=int, required=True)
    parser.add_argument("--held-out", type=int, default=0)
    parser.add_argument("--raw", action="store_true", help="also the raw file that the records are coded of")
    options = parser.parse_args()
    whole = records(options.records + options.held_out, options.questions, options.categories)
    write(options.folder, whole, options.held_out)
    if options.raw:
        write_raw(options.folder, whole)


if __name__ == "__main__":
    main()
