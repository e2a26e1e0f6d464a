"""Print what a fit of pairs costs by the number of categories K, on made records.

The least distance that a model can have is a bootstrap's; fits end by themselves, with a bias that is small.
Every fit runs in a process of its own. Numbers mean something on a quiet machine only.
Run: python benchmarks/wide.py [--categories 100 200 500 1000 1500] [--records 30000] [--chains 10000]
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

from measured import machine, run

CATEGORIES_EACH = 11.5
"""Categories a question, in the mean: 130 questions have 1,500."""

PRIORS = ("none", "student")


def fitted(n: int, categories: int, chains: int, prior: str, out: Path) -> None:
    """Fit, draw, compare with the records, and leave what is said of it in a file."""
    import made
    import work

    from modp.models.stationary import matching
    from modp.models.stationary.model import sample

    records = made.records(n, round(categories / CATEGORIES_EACH), categories)
    settings = matching.Settings(triples=0, prior=prior, chains=chains)
    few = matching.Settings(triples=0, prior=prior, most_windows=1, start_epochs=1)
    matching.fit(records[:300], few, 1, 2, lambda _: None)  # compiled beforehand
    wall, processor = time.perf_counter(), time.process_time()
    model, _, history = matching.fit(records, settings, 1, 2, lambda _: None)
    took = {"wall": time.perf_counter() - wall, "processor": time.process_time() - processor}
    drawn, _, _ = sample(model, records.codes, work.SWEEPS, 1, 2)
    said = work.ratios(records, records.of(drawn)).split()[1]
    out.write_text(json.dumps(took | {"sweeps": len(history), "ratios": said}), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--categories", type=int, nargs="+", default=[100, 200, 500, 1000, 1500])
    parser.add_argument("--records", type=int, default=30_000)
    parser.add_argument("--chains", type=int, default=10_000)
    parser.add_argument("--prior", choices=PRIORS, default="none")
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.out:
        fitted(options.records, options.categories[0], options.chains, options.prior, options.out)
        return
    print(f"{options.records:,} records, {options.chains:,} chains, prior {options.prior}; {machine()}\n")
    print("| K | questions | sweeps | fit s | processor s | peak MB | median/mean/r.m.s. to a bootstrap's |")
    print("|--:|" + "--:|" * 6)
    for categories in options.categories:
        with tempfile.TemporaryDirectory() as folder:
            words = ["--records", options.records, "--categories", categories, "--chains", options.chains]
            out = Path(folder, "result.json")
            command = [
                sys.executable,
                __file__,
                *map(str, words),
                "--prior",
                options.prior,
                "--out",
                str(out),
            ]
            cost = run(command, Path(folder, "log"))
            found = json.loads(out.read_text(encoding="utf-8"))
        shown = f"{found['sweeps']} | {found['wall']:.0f} | {found['processor']:.0f} | {cost.peak_mb:.0f}"
        questions = round(categories / CATEGORIES_EACH)
        print(f"| {categories:,} | {questions} | {shown} | {found['ratios']} |", flush=True)


if __name__ == "__main__":
    main()
