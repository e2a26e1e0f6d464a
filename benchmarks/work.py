"""The pieces of work that budgets.yaml names: what each needs beforehand, and those that are timed inside.

Run by budgets.py: python benchmarks/work.py prepare|measure NAME FOLDER [DATASET.yaml]
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parent.parent
N, MILLIONS = 300_000, 3_000_000
SWEEPS = 20
REPEATS = 5
HOUSEHOLDS = 12_000
NEAR = 5_000
"""Synthetic records whose nearest are found."""
CHAINS = 30_000
"""Of the fit to millions of rows."""


def timed(work: Callable[[], object], times: int = 1) -> dict[str, float]:
    """The least wall and processor seconds of some calls."""
    runs = []
    for _ in range(times):
        wall, processor = time.perf_counter(), time.process_time()
        work()
        runs.append((time.perf_counter() - wall, time.process_time() - processor))
    return {"wall": min(w for w, _ in runs), "processor": min(p for _, p in runs)}


def enlarged(rows: int = N):
    """So many records: the embedded sample repeated, a tenth of the answers shuffled."""
    import steps

    steps.N = rows
    return steps.enlarged(steps.sample(), np.random.default_rng(1))


def coded(folder: Path):
    from modp.survey.codebook import Codebook
    from modp.survey.records import Records

    codebook = Codebook.from_json((folder / "codebook.json").read_text(encoding="utf-8"))
    return Records.read(folder / "records.parquet", codebook)


def code(folder: Path, dataset: Path) -> None:
    """Code all records of a data set by its YAML, those that it holds out by themselves."""
    from modp.base.config import load
    from modp.pums.where import Dataset, at_hand, question_set_path

    known = load(dataset, Dataset)
    files = {"--files": known.files, "--held-files": known.holdout.files if known.holdout else []}
    command = [sys.executable, "-m", "modp", "code", "--dataset", dataset]
    command += ["--questions", question_set_path(known.questions), "--share", "0", "--seed", "1"]
    for option, paths in files.items():
        command += [option, *(at_hand(path) for path in paths)] if paths else []
    for option in ("records", "holdout"):
        command += [f"--{option}", folder / f"{option}.parquet"]
    subprocess.run([*map(str, command), "--codebook", f"{folder}/codebook.json"], check=True, cwd=ROOT)


def gather(folder: Path, dataset: Path) -> None:
    """Bring together and code all households of a data set by its YAML, a fiftieth held out."""
    from modp.base.config import load
    from modp.pums.where import Dataset, at_hand, question_set_path

    known = load(dataset, Dataset)
    command = [sys.executable, "-m", "modp", "gather", "--dataset", dataset, "--share", "0.02", "--seed", "1"]
    command += ["--questions", question_set_path(known.questions)]
    command += ["--files", *(at_hand(path) for path in known.files or [])]
    for option in ("records", "homes", "holdout", "home-holdout"):
        command += [f"--{option}", folder / f"{option}.parquet"]
    for option in ("codebook", "home-codebook", "said"):
        command += [f"--{option}", folder / f"{option}.json"]
    subprocess.run([*map(str, command)], check=True, cwd=ROOT)


def prepare(name: str, folder: Path, dataset: Path | None) -> None:
    """Write what a line needs."""
    import made

    if name == "sample":
        (folder / "run").mkdir()
    elif name == "table":
        made.write_table(folder / "table.csv", 30_000, 40)
    elif name == "coding":
        import reading

        reading.enlarged(ROOT / "data/sample/sample_csv_p.zip", folder / "csv_pwy.zip", N)
        content = f"title: t\nquestions: stums\nfiles: ['{folder}/csv_pwy.zip']\n"
        (folder / "dataset.yaml").write_text(content, encoding="utf-8")
    elif name in ("crosstab", "blades", "sweep"):
        made.write(folder, enlarged())
    elif name == "wide":
        made.write(folder, made.records(30_000, 130, 1_500))
    elif name in ("measures", "millions"):
        whole = enlarged((N if name == "measures" else MILLIONS) * 5 // 4)
        made.write(folder, whole, len(whole) // 5)
        if name == "measures":
            write_drawn(folder)
    elif dataset and name == "columns":
        from columns import coded, text

        made.write(folder, coded(text(dataset)))
    elif dataset:
        (gather if name.endswith("households") else code)(folder, dataset)


def write_drawn(folder: Path) -> None:
    """A table as a model would have drawn it: each true record with a tenth of its answers another's."""
    from modp.draws import independent

    records, rng = coded(folder), np.random.default_rng(2)
    codes = records.codes
    drawn = np.where(rng.random(codes.shape) < 0.1, independent.shuffled(codes, rng), codes)
    extra = {"record": np.arange(len(codes)), "entropy_bits": np.ones(len(codes))}
    records.of(drawn).write(folder / "synthetic.parquet", extra)


def crosstab(folder: Path) -> dict[str, object]:
    """The best of some crosstabs on two threads."""
    from modp.crosstabs.pairs import crosstab

    records = coded(folder)
    crosstab(records, 2)
    return timed(lambda: crosstab(records, 2), REPEATS)


def sweep(folder: Path) -> dict[str, object]:
    """The best of some sweeps on two threads, under a model of the sample's."""
    import steps

    from modp.base.output import Log
    from modp.draws import sweeps
    from modp.models.stationary import matching

    small = steps.sample()
    model, chains, _ = matching.fit(small, matching.Settings(triples=0), 1, 2, Log())
    codes = np.resize(chains, (N, chains.shape[1]))
    sweeps.sweep(codes, model.tables, 1, 1, 2)
    return timed(lambda: sweeps.sweep(codes, model.tables, 1, 1, 2), REPEATS)


def nist(folder: Path) -> dict[str, object]:
    """Fit pairs as one command does, draw, compare."""
    return fitted(folder, draw=True, **one_command())


def one_command() -> dict[str, object]:
    """The recipe of the model that a person gets who does not choose."""
    from modp.models.stationary.recipe import IN_ONE_COMMAND

    return IN_ONE_COMMAND.model_dump(exclude={"family", "fitted"})


def nist_triples(folder: Path) -> dict[str, object]:
    """Fit pairs and triples of as many chains, draw, compare."""
    return fitted(folder, draw=True, chains=one_command()["chains"])


def florida(folder: Path) -> dict[str, object]:
    """Fit with the default number of triples."""
    return fitted(folder)


def wide(folder: Path) -> dict[str, object]:
    """Fit pairs of many categories, with as many chains as one command takes."""
    return fitted(folder, triples=0, chains=one_command()["chains"])


def fitted(folder: Path, draw: bool = False, **recipe: object) -> dict[str, object]:
    """Time a fit (and a draw), compiled beforehand on few of the records; say what accuracy it reached."""
    from modp import Stationary

    records, found = coded(folder), {}
    few = Stationary.fit(records[: min(300, len(records))], seed=1, threads=2, **recipe)
    few.sample(records[:300], sweeps=2, threads=2)

    def work() -> None:
        found["model"] = Stationary.fit(records, seed=1, threads=2, **recipe)
        if draw:
            found["drawn"] = found["model"].sample(records, sweeps=SWEEPS, threads=2)

    costs = timed(work)
    drawn = found.get("drawn") or found["model"].sample(records, sweeps=SWEEPS, threads=2)
    return costs | {"said": ratios(records, drawn)}


def columns(folder: Path) -> dict[str, object]:
    """Fit what a person gets who does not choose, and draw it; say how far it is from its partners."""
    import learning

    from modp import Stationary

    records, found = coded(folder), {}

    def drawn(of, **recipe: object) -> None:
        model = Stationary.fit(of, seed=1, threads=2, **one_command() | recipe)
        found["drawn"] = model.sample(of, sweeps="auto", balanced=True, seed=1, threads=2)

    drawn(records[:300], most_windows=1)
    costs = timed(lambda: drawn(records))
    some = np.random.default_rng(1).permutation(len(records))[:NEAR]
    near = learning.partners(found["drawn"], records, some)
    shown = ", ".join(f"{near[key]:.2%} {key.replace('_', ' ')}" for key in ("nearest", "within_10"))
    return costs | {"said": f"partners: {shown} (chance {near['within_10_chance']:.2%})"}


def households(folder: Path) -> dict[str, object]:
    """Fit some households."""
    return fitted_whole(folder, HOUSEHOLDS)


def all_households(folder: Path) -> dict[str, object]:
    """Fit all households."""
    return fitted_whole(folder)


def fitted_whole(folder: Path, most: int | None = None) -> dict[str, object]:
    """Time a fit of whole households, compiled beforehand on few; say of how many and how many impossible."""
    from modp import HouseholdModel
    from modp.cli.whole import Said
    from modp.crosstabs.members import breaking
    from modp.models.households.rules import stated
    from modp.survey.codebook import Codebook
    from modp.survey.households import Codebooks, Households

    names = ("codebook.json", "home-codebook.json")
    books = Codebooks(*(Codebook.from_json((folder / name).read_text(encoding="utf-8")) for name in names))
    true = Households.read(folder / "records.parquet", folder / "homes.parquet", books)[0]
    rules = Said.read(folder / "said.json").members
    true = true[np.sort(np.random.default_rng(1).permutation(len(true))[:most])]
    how = {"seed": 1, "threads": 2, "impossible": rules}
    HouseholdModel.fit(true[np.arange(300)], **how, most_windows=1).sample(true[np.arange(300)], sweeps=1)
    found = {}
    costs = timed(lambda: found.update(model=HouseholdModel.fit(true, **how)))
    began = time.perf_counter()
    drawn = found["model"].sample(true, sweeps=SWEEPS, threads=2)
    took, broken = time.perf_counter() - began, int(breaking(drawn, stated(rules, true)).sum())
    said = f"{len(true):,} households; drawn in {took:.0f} s, {broken:,} impossible"
    return costs | {"said": said}


def blades(folder: Path) -> dict[str, object]:
    """Fit the paper's model of five blades as params.yaml trains it."""
    import yaml

    from modp import Blades

    records = coded(folder)
    params = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    recipe = {key: value for key, value in params["models"]["model_5_15"].items() if key != "family"}
    found = {}
    costs = timed(lambda: found.update(model=Blades.fit(records, seed=1, threads=2, **recipe)))
    return costs | {"said": ratios(records, found["model"].sample(records))}


def millions(folder: Path) -> dict[str, object]:
    """Fit, draw and measure by the pipeline's own commands, each a process of its own."""
    import memory

    chains = json.dumps({"family": "stationary", "triples": 0, "chains": CHAINS})
    commands = {
        "fit": memory.fit("stationary", chains),
        **{step: memory.STEPS[step] for step in ("draw", "measure")},
    }
    seconds = {}
    for step, command in commands.items():
        began = time.perf_counter()
        subprocess.run([word.replace("{at}", str(folder)) for word in command], check=True, cwd=ROOT)
        seconds[step] = time.perf_counter() - began
    return {"said": ", ".join(f"{step} {taken:.0f} s" for step, taken in seconds.items())}


def ratios(true, drawn) -> str:
    """How far a table is from the true crosstab, as multiples of a bootstrap's (mean of five)."""
    import stationary as compared

    from modp.crosstabs.pairs import crosstab

    table = crosstab(true, 2)

    def measured(some) -> np.ndarray:
        return compared.distances(table, crosstab(some, 2), true.block_starts)[:3]

    found = measured(drawn) / compared.ideal(true, measured)
    return "median/mean/r.m.s. " + "/".join(f"{value:.3f}" for value in found) + " x a bootstrap's"


MEASURED = {
    work.__name__: work
    for work in (
        crosstab,
        sweep,
        nist,
        nist_triples,
        florida,
        wide,
        columns,
        households,
        all_households,
        blades,
        millions,
    )
}


def main() -> None:
    what, name, folder, *dataset = sys.argv[1:]
    if what == "prepare":
        prepare(name, Path(folder), Path(dataset[0]) if dataset else None)
    else:
        result = MEASURED[name](Path(folder))
        Path(folder, "result.json").write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main()
