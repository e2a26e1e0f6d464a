"""Measure one line of budgets.yaml, or gather what was measured into a table.

Every line is prepared in one process and measured in another: its wall seconds, the processor seconds of user
and system, the most memory that one of its processes held. What is lacking or fails is said in its line.
Run: python benchmarks/budgets.py measure NAME --out FILE.json [--data nist=DATASET.yaml …]
     python benchmarks/budgets.py table FILE.json … --out budgets.parquet
"""

import argparse
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import yaml
from measured import CODED, MEASURED, ROOT, Cost, FailedError, gather, keep, machine, modp, one_or_table, run

HERE = Path(__file__).parent
BUDGETS: dict[str, dict[str, Any]] = yaml.safe_load((HERE / "budgets.yaml").read_text(encoding="utf-8"))
RESULT = "result.json"
"""What a function of work.py leaves: the seconds that it timed, and what was reached in them."""

COMMANDS = {
    "sample": [
        sys.executable,
        "-m",
        "snakemake",
        "--cores",
        "2",
        "--snakefile",
        f"{ROOT}/Snakefile",
        "--directory",
        "{at}/run",
    ],
    "tests": [sys.executable, "-m", "pytest"],
    "table": modp("synthesize", "{at}/table.csv"),
    "coding": modp(
        "code",
        "--files",
        "{at}/csv_pwy.zip",
        "--seed",
        "1",
        "--share",
        "0.2",
        "--dataset",
        "{at}/dataset.yaml",
        "--questions",
        f"{ROOT}/workflow/questions/stums.yaml",
        *CODED,
        "--holdout",
        "{at}/holdout.parquet",
    ),
    "measures": modp(
        "measure",
        *CODED,
        "--holdout",
        "{at}/holdout.parquet",
        "--synthetic",
        "{at}/synthetic.parquet",
        "--row",
        "made/by-hand",
        "--zeros",
        "sample",
        "--attacked",
        "PINCP",
        "--seed",
        "1",
        *MEASURED,
    ),
}
"""What is measured; where no command stands, the function of the line's name in work.py."""


def measure(name: str, dataset: Path | None) -> dict[str, Any]:
    """Prepare and measure one line; return its row of the table."""
    line = BUDGETS[name]
    row = {key: line[key] for key in ("work", "target", "unit")}
    row |= {"peak_target_gb": line.get("peak_gb"), "machine": machine()}
    if "data" in line and not (dataset and dataset.is_file()):
        return row | {
            "said": f"left out: {line['data']} is not here; name its dataset YAML under 'benchmarks'"
        }
    with tempfile.TemporaryDirectory(prefix=f"modp-{name}-") as folder:
        at = Path(folder)
        try:
            run(worker("prepare", name, at, dataset), at / "prepare.log")
            command = COMMANDS.get(name) or worker("measure", name, at, dataset)
            cost = run([word.replace("{at}", folder) for word in command], at / "measure.log")
        except FailedError as fault:
            print(fault, flush=True)
            return row | {"said": f"failed: {str(fault).splitlines()[-1]}"}
        inner = json.loads((at / RESULT).read_text()) if (at / RESULT).exists() else {}
    return row | asdict(cost) | judged(line, cost, inner) | {"said": inner.get("said", "")}


def worker(what: str, name: str, at: Path, dataset: Path | None) -> list[str]:
    """The command that runs a part of work.py."""
    return [sys.executable, str(HERE / "work.py"), what, name, str(at), *([str(dataset)] if dataset else [])]


def judged(line: dict[str, Any], cost: Cost, inner: dict[str, float]) -> dict[str, float | bool]:
    """What was measured in the line's unit, and whether it is within its targets."""
    by_unit = {"processor s": cost.processor, "s": cost.wall, "GB": cost.peak_mb / 1000}
    by_unit |= {"inner s": inner.get("wall"), "inner processor s": inner.get("processor")}
    measured = by_unit[line["unit"]]
    light = cost.peak_mb / 1000 <= line.get("peak_gb", float("inf"))
    return {"measured": measured, "within": bool(measured <= line["target"] and light)}


SHOWN = ("work", "target", "measured", "unit", "within", "wall s", "processor s", "peak GB", "said")


def printed(rows: list[dict[str, Any]]) -> str:
    """The table in Markdown."""
    lines = ["| " + " | ".join(SHOWN) + " |", "|---|--:|--:|---|---|--:|--:|--:|---|"]
    for row in rows:
        within = "" if row.get("within") is None else ("yes" if row["within"] else "**no**")
        peak = f"{row['peak_mb'] / 1000:.2f}" if row.get("peak_mb") else ""
        peak += f" (of {row['peak_target_gb']:g})" if row.get("peak_target_gb") else ""
        cells = [row["work"], f"{row['target']:g}", number(row.get("measured")), row["unit"], within]
        cells += [number(row.get("wall")), number(row.get("processor")), peak, row["said"]]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join([*lines, "", f"Measured on {rows[0]['machine']}."])


def number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}" if value < 100 else f"{value:.0f}"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    one, _ = one_or_table(parser)
    one.add_argument("name", choices=BUDGETS)
    one.add_argument("--data", nargs="*", default=[], help="name=path of a dataset YAML")
    options = parser.parse_args(arguments)
    if options.command == "table":
        return gather(options.out, options.files, printed)
    data = dict(item.split("=", 1) for item in options.data)
    named = data.get(BUDGETS[options.name].get("data", ""))
    row = {"name": options.name} | measure(options.name, Path(named).resolve() if named else None)
    return keep(options.out, row, printed)


if __name__ == "__main__":
    main()
