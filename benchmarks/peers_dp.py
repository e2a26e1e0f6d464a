"""Methods with a formal guarantee on one table, at the same budgets, with the same measures.

AIM, whole and cut short, and MST of opendp[mbi] (others_dp.py, in an environment of its own) get the records'
codes, the number of categories and the rho that (epsilon, delta) is worth; a run that takes longer than it
may is stopped, and its row says so. Measures are those of benchmarks/private.py: d as multiples of bootstrap
resamples, total variation distances. The table has this project's releases, which "snakemake epsilon" made,
beside.

Run by "snakemake peers_dp"; or
python benchmarks/peers_dp.py measure mst --epsilon 1 --records R --codebook C --state S --out F
"""

import argparse
import json
import math
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from measured import FailedError, keep, machine, one_or_table, run

HERE = Path(__file__).parent
MINUTES = 10.0
READY = "ready"
BOOTSTRAPS = 5
NAMES = {"mst": "MST", "aim": "AIM", "aim_short": "AIM, cut short"}


def measure(
    name: str, epsilon: float, delta: float, files: list[str], state: Path, minutes: float
) -> dict[str, Any]:
    """Fit, draw and compare; return one release's row, or a sentence on why there is none."""
    row = {"method": name, "epsilon": epsilon, "delta": delta, "machine": machine()}
    said = state.read_text(encoding="utf-8").strip()
    if said != READY:
        return row | {"said": f"left out: {said}"}
    with tempfile.TemporaryDirectory(prefix=f"modp-{name}-") as folder:
        at = Path(folder)
        own = [sys.executable, str(Path(__file__).resolve())]
        try:
            run([*own, "codes", at, *files, str(epsilon), str(delta)], at / "log")
            rho = json.loads((at / "rho.json").read_text(encoding="utf-8"))
            command = [state.resolve().parent / "bin/python", HERE / "others_dp.py", name]
            words = [*command, at / "codes.csv", at, repr(rho)]
            cost = run(words, at / "log", {"PYTHONPATH": ""}, 60 * minutes)
            run([*own, "compare", at, *files], at / "log")
        except FailedError as fault:
            print(fault, flush=True)
            return row | {"said": f"left out: {str(fault).splitlines()[-1]}"}
        facts = json.loads((at / "fitted.json").read_text(encoding="utf-8"))
        measures = json.loads((at / "measures.json").read_text(encoding="utf-8"))
    fit, draw = facts.pop("seconds")
    return row | facts | {"rho": rho, "fit_s": fit, "draw_s": draw} | asdict(cost) | measures | {"said": ""}


def records_of(files: list[str]):
    """The records of the paths of them and of their codebook."""
    from modp.survey.codebook import Codebook
    from modp.survey.records import Records

    return Records.read(files[0], Codebook.from_json(Path(files[1]).read_text(encoding="utf-8")))


def write_codes(at: Path, files: list[str], epsilon: float, delta: float) -> None:
    """Write the records' codes, the questions' sizes and the budget's rho for any other program."""
    import pandas as pd

    records = records_of(files)
    names = records.codebook.names
    pd.DataFrame(records.codes, columns=names).to_csv(at / "codes.csv", index=False)
    sizes = dict(zip(names, records.codebook.sizes.tolist(), strict=True))
    (at / "sizes.json").write_text(json.dumps(sizes), encoding="utf-8")
    (at / "rho.json").write_text(json.dumps(zcdp_of(epsilon, delta)), encoding="utf-8")


def zcdp_of(epsilon: float, delta: float) -> float:
    """Return the largest ρ (to twelve digits, rounded down) whose zCDP implies (ε, δ), as OpenDP has it.

    The tight conversion of Canonne, Kamath and Steinke (2020, Corollary 13), in which the others count.
    """
    from opendp.combinators import make_zCDP_to_approxDP
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_gaussian
    from opendp.metrics import l2_distance

    from modp.models.private.noise import contributed

    space = vector_domain(atom_domain(T=int)), l2_distance(T=float)
    low, high = 0.0, epsilon  # ρ-zCDP never implies less than ε = ρ for the small δ of use
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        with contributed():
            measured = make_gaussian(*space, scale=math.sqrt(1 / (2 * middle)))
            implied = make_zCDP_to_approxDP(measured).map(1.0).epsilon(delta)
        low, high = (middle, high) if implied <= epsilon else (low, middle)
    return low


def compare(at: Path, files: list[str]) -> None:
    """Measure what was drawn."""
    import numpy as np
    import pandas as pd

    from modp.measures import variation

    records = records_of(files)
    codes = pd.read_csv(at / "drawn.csv")[records.codebook.names].to_numpy(np.int16)
    ideal = variation.ideal(records, BOOTSTRAPS, np.random.default_rng(0), 2)
    found = variation.multiples(variation.nearness(records, records.of(codes), 2), ideal)
    measures = dict(zip(variation.KEYS, found.tolist(), strict=True))
    (at / "measures.json").write_text(json.dumps(measures), encoding="utf-8")


def averaged(rows: list[dict[str, Any]]):
    """One line for each method and epsilon: means over releases, and their standard errors."""
    import pandas as pd

    from modp.measures.variation import KEYS

    lines = []
    frame = pd.DataFrame(rows).reindex(columns=[*COLUMNS, *KEYS, "said"])
    for (method, epsilon), some in frame.groupby(["method", "epsilon"], sort=True):
        made = some[some["said"] == ""]
        said = "; ".join(dict.fromkeys(some["said"])).strip("; ")
        line = {"method": method, "epsilon": epsilon, "releases": len(made), "said": said}
        for key in (*COST, *KEYS):
            line[key] = made[key].astype(float).mean()
        for key in KEYS:
            line[f"{key}.error"] = made[key].astype(float).sem()
        lines.append(line)
    return pd.DataFrame(lines)


COST = ("tables", "fit_s", "draw_s", "wall", "processor", "peak_mb")
COLUMNS = ("method", "epsilon", *COST)

SHOWN = {"median ×": "all.median", "mean ×": "all.mean_abs", "r.m.s. ×": "all.rms"}
SHOWN |= {f"between, {title}": key.replace("all", "between") for title, key in SHOWN.items()}
SHOWN |= {"pair TVD": "pair_tvd", "three-way TVD": "three_way_tvd"}


def printed(rows: list[dict[str, Any]]) -> str:
    """The table in Markdown, of lines of :func:`averaged`."""
    heads = ["method", "ε", "releases", *SHOWN, "tables", "wall s", "processor s", "MB", ""]
    lines = ["| " + " | ".join(heads) + " |", "|---|" + "--:|" * (len(heads) - 2) + "---|"]
    for row in rows:
        cells = []
        for key in SHOWN.values():
            digits, value, error = (4 if "tvd" in key else 2), row[key], row[f"{key}.error"]
            text = "" if value != value else f"{value:.{digits}f}"
            cells.append(text if error != error else f"{text} ± {error:.{digits}f}")
        cost = ["" if (value := row.get(key, float("nan"))) != value else f"{value:.0f}" for key in PRINTED]
        facts = [NAMES.get(row["method"], row["method"]), f"{row['epsilon']:g}", str(row["releases"])]
        lines.append("| " + " | ".join([*facts, *cells, *cost, row["said"]]) + " |")
    return "\n".join(lines)


PRINTED = ("tables", "wall", "processor", "peak_mb")


def table(out: Path, own: Path, files: list[Path], figures: list[Path], title: str) -> None:
    """Write and print all lines, this project's first, and draw them against epsilon."""
    import pandas as pd

    from modp.figures import epsilon, style

    rows = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    trace, peers = pd.read_parquet(own), averaged(rows)
    lines = pd.concat([trace.assign(method=own.stem, said=""), peers])[peers.columns]
    lines.to_parquet(out, index=False)
    text = printed(lines.to_dict("records")) + f"\n\nPeers were measured on {rows[0]['machine']}."
    out.with_suffix(".md").write_text(text + "\n", encoding="utf-8")
    print(text, flush=True)
    found = {NAMES[name]: some for name, some in peers[peers["releases"] > 0].groupby("method")}
    figure = epsilon.draw(trace, f"{title}\n{own.stem} and others, one guarantee", found)
    style.settle(figure)
    for path in figures:
        style.save(figure, path)


def main(arguments: list[str] | None = None) -> None:
    given = sys.argv[1:] if arguments is None else arguments
    if given and given[0] == "codes":
        return write_codes(Path(given[1]), given[2:4], float(given[4]), float(given[5]))
    if given and given[0] == "compare":
        return compare(Path(given[1]), given[2:4])
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    one, gathered = one_or_table(parser)
    one.add_argument("name", choices=list(NAMES))
    one.add_argument("--epsilon", type=float, required=True)
    one.add_argument("--delta", type=float, default=1e-5)
    for what in ("records", "codebook", "state"):
        one.add_argument(f"--{what}", type=Path, required=True)
    one.add_argument("--minutes", type=float, default=MINUTES, help="after which a run is stopped")
    gathered.add_argument("--own", type=Path, required=True, help="the table of 'snakemake epsilon'")
    gathered.add_argument("--dataset", type=Path, required=True, help="the dataset YAML, for its title")
    gathered.add_argument("--figures", type=Path, nargs="+", required=True)
    options = parser.parse_args(given)
    if options.command == "table":
        from modp.base.config import load
        from modp.pums.where import Dataset

        title = load(options.dataset, Dataset).title
        return table(options.out, options.own, options.files, options.figures, title)
    files = [str(path.resolve()) for path in (options.records, options.codebook)]
    row = measure(options.name, options.epsilon, options.delta, files, options.state, options.minutes)
    return keep(options.out, row, lambda rows: json.dumps(rows[0], indent=1))


if __name__ == "__main__":
    main()
