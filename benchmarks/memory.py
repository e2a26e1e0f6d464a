"""Print the memory that steps take at their peak, by records and categories, and a bound that holds it.

Records are made. The bound is base + per_answer · n · Q + per_cell · K², the least that is nowhere below
what was measured; the pipeline's rules ask for it (modp/pipeline/resources.py, where it is written by hand).
Every step runs in a process of its own. The wall seconds are those of this machine, busy or not.
Run: python benchmarks/memory.py [--sizes 2000 10000 50000] [--categories 50 200 500] [--steps code fit …]
"""

import argparse
import itertools
import json
import shutil
import sys
import tempfile
from pathlib import Path

from measured import CODED, MEASURED, ROOT, Cost, modp, run

QUESTIONS_EACH = 6
"""Categories a question, in the mean."""

STATIONARY = json.dumps({"family": "stationary", "tolerance": 0.02})
STAGE = {"loss": "z", "epochs": 1, "learning_rate": 0.003, "batch": 256}
BLADES = json.dumps({"family": "blades", "blades": 5, "reduced": 15, "stages": [STAGE]})
SEEDED = ("--seed", "1", "--device", "cpu")


def fit(family: str, model: str) -> list[str]:
    files = ["--weights", f"{{at}}/{family}.safetensors", "--history", f"{{at}}/{family}.parquet"]
    named = ["--name", family, "--model", model, "--threads", "2", *SEEDED]
    return modp("fit", *CODED, *named, *files, "--plot", "{at}/plot.csv")


SWEPT = json.dumps({"model": "stationary", "name": "balanced", "sweeps": 5, "balanced": True})
STEPS = {
    "code": modp(
        "code",
        "--files",
        "{at}/raw.zip",
        "--dataset",
        "{at}/dataset.yaml",
        "--questions",
        "{at}/questions.yaml",
        "--share",
        "0.2",
        "--seed",
        "1",
        "--records",
        "{at}/c.parquet",
        "--holdout",
        "{at}/h.parquet",
        "--codebook",
        "{at}/c.json",
    ),
    "fit": fit("stationary", STATIONARY),
    "fit blades": fit("blades", BLADES),
    "instances": modp(
        "instances",
        *CODED,
        "--name",
        "blades",
        "--family",
        "blades",
        "--weights",
        "{at}/blades.safetensors",
        *SEEDED,
        "--out",
        "{at}/1.parquet",
        "{at}/2.parquet",
        "--gates",
        "{at}/gates.parquet",
    ),
    "draw": modp(
        "draw",
        *CODED,
        "--name",
        "stationary/balanced",
        "--family",
        "stationary",
        "--weights",
        "{at}/stationary.safetensors",
        "--row",
        SWEPT,
        *SEEDED,
        "--threads",
        "2",
        "--out",
        "{at}/synthetic.parquet",
    ),
    "measure": modp(
        "measure",
        *CODED,
        "--holdout",
        "{at}/holdout.parquet",
        "--synthetic",
        "{at}/synthetic.parquet",
        "--row",
        "stationary/balanced",
        "--family",
        "stationary",
        "--weights",
        "{at}/stationary.safetensors",
        "--zeros",
        "sample",
        "--seed",
        "1",
        *MEASURED,
    ),
}
"""In the order of the work: each reads what those before it wrote."""


def costs(n: int, categories: int, steps: list[str]) -> dict[str, Cost]:
    """Run the steps on made records, and return what each cost; a step not asked for runs all the same."""
    folder = Path(tempfile.mkdtemp(prefix="modp-memory-"))
    try:
        sizes = ["--records", n, "--questions", questions(categories), "--categories", categories]
        making = [sys.executable, ROOT / "benchmarks/made.py", folder, *map(str, sizes)]
        run([*making, "--held-out", str(n // 5), "--raw"], folder / "log")
        found = {}
        for step, command in STEPS.items():
            # The model is JSON, whose braces are none to be filled in.
            found[step] = run([word.replace("{at}", str(folder)) for word in command], folder / "log")
            if step in steps:
                cost, size = found[step], f"{n:,} | {questions(categories)} | {categories}"
                taken = f"{cost.peak_mb:.0f} | {cost.wall:.1f} | {cost.processor:.1f}"
                print(f"| {step} | {size} | {taken} |", flush=True)
            if all(step in found for step in steps):
                break
        return {step: found[step] for step in steps}
    finally:
        shutil.rmtree(folder)


def questions(categories: int) -> int:
    return max(2, categories // QUESTIONS_EACH)


def bound(points: list[tuple[int, int, float]]) -> tuple[float, float, float]:
    """(base MB, bytes an answer, bytes a cell), the least in sum that is nowhere below (n, K, MB)."""
    import numpy as np
    from scipy.optimize import linprog

    features = np.array([[1, n * questions(k) / 1e6, k * k / 1e6] for n, k, _ in points])
    peaks = np.array([peak for _, _, peak in points])
    found = linprog(features.sum(axis=0), A_ub=-features, b_ub=-peaks, bounds=[(0, None)] * 3)
    base, answer, cell = found.x
    return float(base), float(answer), float(cell)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[2_000, 10_000, 50_000])
    parser.add_argument("--categories", type=int, nargs="+", default=[50, 200, 500])
    parser.add_argument("--steps", nargs="+", choices=STEPS, default=list(STEPS))
    options = parser.parse_args()
    print("| step | records | questions | categories | peak MB | wall s | processor s |\n|---|" + "--:|" * 6)
    points = [
        (n, k, costs(n, k, options.steps)) for n, k in itertools.product(options.sizes, options.categories)
    ]
    print("\n| step | base MB | bytes an answer | bytes a cell |\n|---|--:|--:|--:|")
    for step in options.steps:
        base, answer, cell = bound([(n, k, found[step].peak_mb) for n, k, found in points])
        print(f"| {step} | {base:.0f} | {answer:.1f} | {cell:.0f} |")


if __name__ == "__main__":
    main()
