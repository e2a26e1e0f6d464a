"""Print what the steps cost by the number of rows, on real rows repeated and perturbed.

A raw Parquet file's rows are repeated up to each size: in every repeat each question's answers of a tenth
of the rows are others', and households get names of their own. Then they are coded, fitted on a stated
number of chains, drawn and measured by the pipeline's own commands, each in a process of its own. They are
coded twice: the same rows as a CSV of people's own, which is read for what it holds, and as Census's.
Run: python benchmarks/rows.py [--dataset tests/datasets/fl-2024.yaml] [--sizes 300000 1000000 3000000]
"""

import argparse
import itertools
import json
import multiprocessing
import shutil
import tempfile
from pathlib import Path

from measured import ROOT, Cost, run
from memory import STEPS, fit

CHANGED = 0.1
"""Share of a column's values that are another row's."""

MODEL = {"family": "stationary", "prior": "student", "zeros": "likely", "triples": 0}


def perturbed(source: Path, target: Path, rows: int, kept: frozenset[str], key: str) -> None:
    """Write so many rows of a Parquet file, again and again, a row group a repeat."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    table, rng, left = pq.read_table(source), np.random.default_rng(1), rows
    with pq.ParquetWriter(target, table.schema, compression="zstd") as writer:
        for repeat in itertools.count():
            columns = []
            for name in table.column_names:
                column = table[name]
                if name == key:
                    column = pc.binary_join_element_wise(
                        column, pa.scalar(f" {repeat}", column.type), pa.scalar("", column.type)
                    )
                elif name not in kept:
                    from_row = np.arange(len(table))
                    some = np.flatnonzero(rng.random(len(table)) < CHANGED)
                    from_row[some] = rng.permutation(some)
                    column = column.take(pa.array(from_row))
                columns.append(column)
            writer.write_table(pa.table(columns, schema=table.schema)[:left])
            left -= len(table)
            if left <= 0:
                return


def prepare(folder: Path, dataset: Path, rows: int) -> None:
    import yaml

    content = yaml.safe_load(dataset.read_text(encoding="utf-8"))
    (source,) = content["files"]
    perturbed(ROOT / source, folder / "raw.parquet", rows, frozenset({"SPORDER"}), "SERIALNO")
    content |= {"files": [f"{folder}/raw.parquet"], "questions": str(ROOT / content["questions"])}
    (folder / "dataset.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    shutil.copy(content["questions"], folder / "questions.yaml")
    own = content | {"files": [f"{folder}/own.csv"], "table": {}, "household": "SERIALNO"}
    (folder / "own.yaml").write_text(yaml.safe_dump(own), encoding="utf-8")
    as_text(folder / "raw.parquet", folder / "own.csv")


def as_text(source: Path, target: Path) -> None:
    """Write a Parquet file's rows as text, as people's own tables are."""
    import pyarrow.csv
    import pyarrow.parquet as pq

    file = pq.ParquetFile(source)
    with pyarrow.csv.CSVWriter(target, file.schema_arrow) as writer:
        for batch in file.iter_batches():
            writer.write_batch(batch)


def commands(chains: int, row: dict[str, object]) -> dict[str, list[str]]:
    """The steps in the order of the work."""
    code = [{"{at}/raw.zip": "{at}/raw.parquet"}.get(word, word) for word in STEPS["code"]]
    own = {"{at}/raw.parquet": "{at}/own.csv", "{at}/dataset.yaml": "{at}/own.yaml"}
    coded = {"{at}/c.parquet": "{at}/records.parquet", "{at}/h.parquet": "{at}/holdout.parquet"}
    coded |= {"{at}/c.json": "{at}/codebook.json"}
    draw, name = list(STEPS["draw"]), f"{row['model']}/{row['name']}"
    draw[draw.index("--row") + 1] = json.dumps(row)
    draw[draw.index("--name") + 1] = name
    measure = [name if word == "stationary/balanced" else word for word in STEPS["measure"]]
    model = json.dumps(MODEL | {"chains": chains})
    return {
        "code, from CSV": [coded.get(word, own.get(word, word)) for word in code],
        "code": [coded.get(word, word) for word in code],
        "fit": fit("stationary", model),
        "draw": draw,
        "measure": measure,
    }


def costs(rows: int, options: argparse.Namespace) -> dict[str, Cost]:
    folder = Path(tempfile.mkdtemp(prefix="modp-rows-", dir=options.folder))
    try:
        # In a process of its own, whose memory is not taken for that of the steps.
        making = multiprocessing.get_context("spawn").Process(
            target=prepare, args=(folder, options.dataset, rows)
        )
        making.start()
        making.join()
        row = {"model": "stationary", "name": "drawn", "sweeps": options.sweeps, "balanced": options.balanced}
        found = {}
        for step, command in commands(options.chains, row).items():
            found[step] = run([word.replace("{at}", str(folder)) for word in command], folder / "log")
            cost = found[step]
            taken = f"{cost.wall:.0f} | {cost.processor:.0f} | {cost.held_mb:,.0f} | {cost.peak_mb:,.0f}"
            print(f"| {step} | {rows:,} | {taken} |", flush=True)
        return found
    finally:
        shutil.rmtree(folder)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dataset", type=Path, default=ROOT / "tests/datasets/fl-2024.yaml")
    parser.add_argument("--sizes", type=int, nargs="+", default=[300_000, 1_000_000, 3_000_000])
    parser.add_argument("--chains", type=int, default=20_000)
    parser.add_argument("--sweeps", type=int, default=5)
    parser.add_argument("--balanced", action="store_true", help="draw a balanced table")
    parser.add_argument("--folder", type=Path, help="where what is made lies for the time being")
    options = parser.parse_args()
    heads = ("rows", "wall s", "processor s", "held MB", "peak MB")
    print(f"| step | {' | '.join(heads)} |\n|---|" + "--:|" * len(heads))
    for rows in options.sizes:
        costs(rows, options)


if __name__ == "__main__":
    main()
