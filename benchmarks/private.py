"""Print how near releases with a guarantee come: the one table that README and docs speak from.

Every number is the mean of five releases, ± its standard error. Those of d are multiples of the mean of five
bootstrap resamples; total variation distances are themselves. Data sets are given as coded records, each with
its codebook beside it (records.parquet, records.json). Each release is a line of a file; run again, only
those that it lacks are made, and the table is of all it has of the data sets, recipes and ε that were named.
Where a recipe protects households, a data set's are in records.weights.parquet, a weights.parquet of its run.

Run: python benchmarks/private.py --lines lines.jsonl [--epsilons .3 1 3 10] [--recipe JSON --called NAME]
    [--public another.parquet] [--releases 5] [--threads 2] records.parquet …
"""

import argparse
import json
from pathlib import Path

import numpy as np
from stationary import coded, timed

from modp.measures.variation import KEYS, ideal, nearness
from modp.models.family import Work
from modp.models.private.fitting import spent
from modp.models.private.recipe import PrivateRecipe
from modp.survey.records import Records
from modp.survey.weights import read_households

RELEASES = BOOTSTRAPS = 5
DELTA = 1e-5


def read(lines: Path) -> dict[str, dict[str, object]]:
    """The lines so far, by what each is of."""
    if not lines.exists():
        return {}
    return {line["of"]: line for line in map(json.loads, lines.read_text(encoding="utf-8").splitlines())}


def note(lines: Path, found: dict[str, dict[str, object]], of: str, **values: object) -> dict[str, object]:
    found[of] = {"of": of, **values}
    with lines.open("a", encoding="utf-8") as file:
        file.write(json.dumps(found[of]) + "\n")
    return found[of]


def best(lines: Path, found: dict, name: str, records: Records, threads: int) -> np.ndarray:
    of = f"{name}, bootstrap"
    if of not in found:
        values = ideal(records, BOOTSTRAPS, np.random.default_rng(0), threads)
        note(lines, found, of, measures=values.tolist())
    return np.array(found[of]["measures"])


def release(
    records: Records, recipe: PrivateRecipe, path: Path, seed: int, threads: int, public: Records | None
) -> dict[str, object]:
    households = read_households(path.with_suffix(".weights.parquet")) if recipe.of_households else None
    work = Work(path.stem, seed, threads, households=households, public=public)
    _, processor, (released, gate) = timed(lambda: spent(records, recipe, work))
    measured = nearness(records, records.of(released.codes), threads)
    tables, choices = len(released.history) - 1, sum("choice" in line.asked for line in gate.ledger)
    return {"measures": measured.tolist(), "tables": tables, "choices": choices, "processor": processor}


def row(name: str, epsilon: float, text: str, made: list[dict], ideal: np.ndarray) -> None:
    values = np.array([line["measures"] for line in made])
    values[:, :6] /= ideal[:6]
    means = values.mean(axis=0)
    errors = values.std(axis=0, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.full(8, np.nan)
    cells = [f"{m:.2f} ± {e:.2f}" for m, e in zip(means[:6], errors[:6], strict=True)]
    cells += [f"{m:.4f} ± {e:.4f}" for m, e in zip(means[6:], errors[6:], strict=True)]
    processor = np.mean([line["processor"] for line in made])
    facts = [name, f"{epsilon:g}", text, len(made), made[0]["tables"], *cells, f"{processor:.0f}"]
    print("|", " | ".join(map(str, facts)), "|", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("records", nargs="+", type=Path)
    parser.add_argument("--lines", type=Path, required=True)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.3, 1, 3, 10])
    parser.add_argument(
        "--recipe", type=json.loads, default={}, help="what differs from the defaults, as JSON"
    )
    parser.add_argument("--public", type=Path, help="coded records of the same codebook to start from")
    parser.add_argument("--called", default="default", help="what the recipe is called in the lines")
    parser.add_argument("--releases", type=int, default=RELEASES)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    found, threads = read(arguments.lines), arguments.threads
    public = coded(arguments.public) if arguments.public else None
    heads = ["data", "ε", "recipe", "releases", "pair tables", *KEYS, "processor s"]
    print("|", " | ".join(heads), "|\n|" + "---|" * len(heads), flush=True)
    for path in arguments.records:
        records, name = coded(path), path.stem
        ends = best(arguments.lines, found, name, records, threads)
        for epsilon in arguments.epsilons:
            given = {"epsilon": epsilon, "delta": DELTA, "noise": "seeded", "public_edges": True}
            recipe = PrivateRecipe(**given | arguments.recipe)
            made = []
            for seed in range(arguments.releases):
                of = f"{name}, {epsilon:g}, {arguments.called}, {seed}"
                if of not in found:
                    values = release(records, recipe, path, seed, threads, public)
                    note(arguments.lines, found, of, **values)
                made.append(found[of])
            row(name, epsilon, arguments.called, made, ends)


if __name__ == "__main__":
    main()
