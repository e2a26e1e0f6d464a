"""What users would pick instead, on one table, with the same measures: fidelity, leaks, processor seconds.

Every method fits and draws as many records in a process of its own; another then measures what was drawn.

- bootstrap: a resample of the records, the ideal of fidelity, and a full leak;
- stationary-pairs, stationary-triples, population, private: this project's (private at
  epsilon 1, delta 1e-5);
- cart-5, cart-20: each question from those before it by a tree with so many records a leaf, as synthpop does
  (Nowok, Raab and Dibben, 2016), by scikit-learn;
- chow-liu: the tree of questions with the largest mutual information (Chow and Liu, 1968);
- mostlyai, dpmm: see others.py, in environments of their own.

Run by "snakemake peers"; or
python benchmarks/peers.py measure NAME --records R --holdout H --codebook C --out F
"""

import argparse
import itertools
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from measured import FailedError, gather, keep, machine, one_or_table, run

HERE = Path(__file__).parent
OTHERS = ("mostlyai", "dpmm")
SWEEPS = 20
READY = "ready"


def measure(name: str, files: list[str], state: Path | None, seed: int) -> dict[str, Any]:
    """Fit, draw and compare; return the method's row of the table, or a sentence on why there is none."""
    row = {"method": name, "machine": machine()}
    if state and state.read_text(encoding="utf-8").strip() != READY:
        return row | {"said": f"left out: {state.read_text(encoding='utf-8').strip()}"}
    with tempfile.TemporaryDirectory(prefix=f"modp-{name}-") as folder:
        at = Path(folder)
        own = [sys.executable, str(Path(__file__).resolve())]
        try:
            run([*own, "codes", at, *files], at / "log")
            if state:
                command = [state.resolve().parent / "bin/python", HERE / "others.py", name]
                cost = run([*command, at / "codes.csv", at, str(seed)], at / "log", {"PYTHONPATH": ""})
            else:
                cost = run([*own, "draw", name, at, *files, str(seed)], at / "log")
            run([*own, "compare", at, *files, str(seed)], at / "log")
        except FailedError as fault:
            print(fault, flush=True)
            return row | {"said": f"left out: {str(fault).splitlines()[-1]}"}
        fit, draw = json.loads((at / "seconds.json").read_text(encoding="utf-8"))
        measures = json.loads((at / "measures.json").read_text(encoding="utf-8"))
    return row | {"fit_s": fit, "draw_s": draw} | asdict(cost) | measures | {"said": ""}


def records_of(files: list[str]):
    """(records, holdout) of the paths of both and of their codebook."""
    from modp.survey.codebook import Codebook
    from modp.survey.records import Records

    codebook = Codebook.from_json(Path(files[2]).read_text(encoding="utf-8"))
    return tuple(Records.read(path, codebook) for path in files[:2])


def write_codes(at: Path, files: list[str]) -> None:
    """Write the records' codes as whole numbers, and how many each question has, for any other program."""
    import pandas as pd

    records, _ = records_of(files)
    pd.DataFrame(records.codes, columns=records.codebook.names).to_csv(at / "codes.csv", index=False)
    sizes = dict(zip(records.codebook.names, records.codebook.sizes.tolist(), strict=True))
    (at / "sizes.json").write_text(json.dumps(sizes), encoding="utf-8")


class Tree:
    """Chow and Liu's tree: each question drawn given the one it hangs on."""

    def __init__(self, records):
        import numpy as np

        from modp.crosstabs.pairs import crosstab

        counts, starts = crosstab(records, 2).astype(float), records.block_starts
        blocks = [slice(a, b) for a, b in itertools.pairwise(starts)]
        self.records, self.tables, self.parents = records, [], [-1] * len(blocks)
        information = np.array([[_information(counts[a, b]) for b in blocks] for a in blocks])
        reached, self.order = {0}, [0]
        self.first = counts.diagonal()[blocks[0]]
        best, parent = information[0].copy(), np.zeros(len(blocks), int)
        while len(reached) < len(blocks):
            found = int(np.argmax([-1 if q in reached else best[q] for q in range(len(blocks))]))
            self.parents[found] = int(parent[found])
            reached.add(found)
            self.order.append(found)
            nearer = information[found] > best
            best[nearer], parent[nearer] = information[found][nearer], found
        self.tables = [counts[blocks[p], blocks[q]] for q, p in enumerate(self.parents)]

    def sample(self, seed: int):
        """As many records as were fitted."""
        import numpy as np

        rng, codes = np.random.default_rng(seed), np.empty_like(self.records.codes)
        codes[:, 0] = rng.choice(len(self.first), len(codes), p=self.first / self.first.sum())
        for q in self.order[1:]:
            shares = self.tables[q][codes[:, self.parents[q]]].cumsum(axis=1)
            codes[:, q] = (rng.random((len(codes), 1)) * shares[:, -1:] >= shares).sum(axis=1)
        return self.records.of(codes)


def _information(counts) -> float:
    """Mutual information, in nats, of two questions by their table of counts."""
    import numpy as np

    p = counts / counts.sum()
    independent = np.outer(p.sum(axis=1), p.sum(axis=0))
    some = p > 0
    return float((p[some] * np.log(p[some] / independent[some])).sum())


def methods(records, seed: int):
    """name -> (fit, draw from what was fitted)."""
    import learning
    import numpy as np

    from modp import Private, Stationary

    def resampled(_):
        return records[np.random.default_rng(seed).integers(0, len(records), len(records))]

    def stationary(some, **recipe):
        return Stationary.fit(some, seed=seed, threads=2, **recipe)

    def swept(model):
        return model.sample(records, sweeps=SWEEPS, seed=seed, threads=2)

    general = {"prior": "student", "zeros": "likely", "triples": 0}
    guarantee = {"epsilon": 1.0, "delta": 1e-5, "public_edges": True, "noise": "seeded"}
    return {
        "bootstrap": (lambda some: some, resampled),
        "stationary-pairs": (lambda some: stationary(some, triples=0), swept),
        "stationary-triples": (stationary, swept),
        "population": (
            lambda some: stationary(some, **general),
            lambda model: model.sample(records, sweeps="auto", balanced=True, seed=seed, threads=2),
        ),
        "private": (
            lambda some: Private.fit(some, seed=seed, threads=2, **guarantee),
            lambda model: model.sample(),
        ),
        "cart-5": (lambda some: learning.Trees(some, seed, 5), lambda model: model.sample(seed)),
        "cart-20": (lambda some: learning.Trees(some, seed, 20), lambda model: model.sample(seed)),
        "chow-liu": (Tree, lambda model: model.sample(seed)),
    }


def draw(name: str, at: Path, files: list[str], seed: int) -> None:
    """Fit, once on few records so that all is compiled, then on all; draw; write what it took."""
    import time

    import pandas as pd

    records, _ = records_of(files)
    fit, drawn_from = methods(records, seed)[name]
    fit(records[:300])
    began = time.process_time()
    model = fit(records)
    fitted = time.process_time()
    drawn = drawn_from(model)
    seconds = [fitted - began, time.process_time() - fitted]
    names = records.codebook.names
    pd.DataFrame(drawn.codes, columns=names).to_csv(at / "drawn.csv", index=False)
    (at / "seconds.json").write_text(json.dumps(seconds), encoding="utf-8")


def compare(at: Path, files: list[str], seed: int) -> None:
    """Measure what was drawn: d over a bootstrap's, distance to the people held out, leaks."""
    import learning
    import numpy as np
    import pandas as pd
    import stationary as compared

    from modp.crosstabs.cells import structural_zeros
    from modp.crosstabs.pairs import crosstab
    from modp.draws import postprocess

    train, held = records_of(files)
    codes = pd.read_csv(at / "drawn.csv")[train.codebook.names].to_numpy(np.int16)
    drawn, counts, starts = train.of(codes), crosstab(train, 2), train.block_starts

    def distances(some) -> np.ndarray:
        scaled = crosstab(some, 2) * (len(train) / len(some))
        return compared.distances(counts, scaled, starts)[:3]

    ratios = distances(drawn) / compared.ideal(train, distances)
    found = dict(zip(("median", "mean_abs", "rms"), ratios.tolist(), strict=True))
    zeros = structural_zeros(counts, starts)
    found["zero_rows"] = float(postprocess.violations(drawn, zeros).mean())
    for key, people in (("exact_train", train), ("exact_holdout", held)):
        found[key] = float(exactly(codes, people.codes))
    if len(held):
        told = learning.measured(drawn, train, held, seed)
        kept = (f"population_{measure}" for measure in ("median", "mean_abs", "rms"))
        found |= {key: float(told[key]) for key in (*kept, "distance_auc", "closer")}
    (at / "measures.json").write_text(json.dumps(found), encoding="utf-8")


def exactly(codes, people) -> float:
    """The share of synthetic rows that are equal to a person's whom nobody else among these equals."""
    import numpy as np

    rows, times = np.unique(people, axis=0, return_counts=True)
    alone = {row.tobytes() for row in rows[times == 1]}
    return sum(row.tobytes() in alone for row in np.ascontiguousarray(codes)) / len(codes)


SHOWN = {
    "median / mean / r.m.s.": ("median", "mean_abs", "rms"),
    "population": ("population_median", "population_mean_abs", "population_rms"),
    "zero rows": ("zero_rows",),
    "exact unique (holdout)": ("exact_train", "exact_holdout"),
    "closer": ("closer",),
    "fit s": ("fit_s",),
    "draw s": ("draw_s",),
    "whole processor s": ("processor",),
    "MB": ("peak_mb",),
}
"""Columns of the table: fit and draw are processor seconds within the process."""


def printed(rows: list[dict[str, Any]]) -> str:
    """The table in Markdown."""
    lines = ["| method | " + " | ".join(SHOWN) + " | |", "|---|" + "--:|" * len(SHOWN) + "---|"]
    for row in rows:
        cells = [
            " / ".join(f"{row[key]:.4g}" for key in keys if row.get(key) is not None)
            for keys in SHOWN.values()
        ]
        lines.append("| " + " | ".join([row["method"], *cells, row["said"]]) + " |")
    return "\n".join([*lines, "", f"Measured on {rows[0]['machine']}."])


def main(arguments: list[str] | None = None) -> None:
    given = sys.argv[1:] if arguments is None else arguments
    if given and given[0] == "codes":
        return write_codes(Path(given[1]), given[2:5])
    if given and given[0] == "draw":
        return draw(given[1], Path(given[2]), given[3:6], int(given[6]))
    if given and given[0] == "compare":
        return compare(Path(given[1]), given[2:5], int(given[5]))
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    one, _ = one_or_table(parser)
    one.add_argument("name")
    for what in ("records", "holdout", "codebook"):
        one.add_argument(f"--{what}", type=Path, required=True)
    one.add_argument("--state", type=Path, nargs="?", help="of the method's own environment")
    one.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(given)
    if options.command == "table":
        return gather(options.out, options.files, printed)
    files = [str(path.resolve()) for path in (options.records, options.holdout, options.codebook)]
    row = measure(options.name, files, options.state, options.seed)
    return keep(options.out, row, printed)


if __name__ == "__main__":
    main()
