"""Put everything about a run into report.html, and its times and machine into a file beside it."""

import argparse
import json
import os
import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import yaml
from markupsafe import Markup

from modp.base.config import load
from modp.base.output import Log, time_of, written
from modp.cli.inputs import source
from modp.measures.table import PAPER_NOTEBOOK
from modp.pums.where import Dataset
from modp.report import explorer, page, plot, templates
from modp.summaries.warnings import lines
from modp.survey.codebook import Codebook

PACKAGES = ("numpy", "torch", "numba", "pandas", "pyarrow", "matplotlib", "bokeh", "snakemake", "dvc")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    parser.add_argument("--dataset", type=Path, required=True, help="the dataset YAML, for its title")
    parser.add_argument("--codebook", type=Path, required=True)
    parser.add_argument("--provenance", type=Path, nargs="+", required=True, help="one file a source")
    parser.add_argument("--rows", nargs="+", required=True, help="bootstrap, then model/variant …")
    parser.add_argument("--cells", type=Path, nargs="+", required=True, help="one file a row")
    parser.add_argument("--tables", type=Path, nargs="+", required=True, help="Markdown, in the page's order")
    parser.add_argument("--accuracy", type=Path, required=True)
    parser.add_argument("--privacy", type=Path, required=True)
    parser.add_argument("--metrics", type=Path, required=True)
    parser.add_argument("--warnings", type=Path, required=True)
    parser.add_argument("--frontier", type=Path, nargs="*", default=[], help="curves, one file a model")
    parser.add_argument("--figures", type=Path, nargs="+", required=True, help="PNG files")
    parser.add_argument("--shown", required=True, help="JSON: figure -> its caption and what it is of")
    parser.add_argument("--parameters", type=Path, required=True, help="all parameters of the run, as JSON")
    parser.add_argument("--logs", type=Path, nargs="*", default=[], help="logs of the steps before")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--run", type=Path, required=True, help="times and machine, read by the page")


def run(options: argparse.Namespace, log: Log) -> None:
    """Gather, pack, render, write.

    Two runs of the same parameters give the same page. What differs between them, times and the
    machine, goes into a script beside the logs, which the page reads when it is opened.
    """
    codebook = Codebook.from_json(options.codebook.read_text(encoding="utf-8"))
    parameters = json.loads(options.parameters.read_text(encoding="utf-8"))
    table = pd.read_parquet(options.accuracy)
    hidden = pd.read_parquet(options.privacy)
    metrics = json.loads(options.metrics.read_text())
    records = table[table["cells"] == "all"]["records"].tolist()
    traced = [pd.read_parquet(path) for path in options.frontier]
    curves = page.curves(traced, float(table["median"].iloc[0]))
    warned = json.loads(options.warnings.read_text(encoding="utf-8"))
    best, by_population = page.closest(table, warned)
    text = templates.page(
        title=load(options.dataset, Dataset).title,
        records=records[0],
        questions=len(codebook.questions),
        categories=int(codebook.block_starts[-1]),
        question_set=codebook.question_set,
        best=best,
        by_population=by_population,
        warnings=lines(warned),
        headline=page.headline(best, table, hidden, metrics, parameters["zeros"]) if best else [],
        notebook=parameters[PAPER_NOTEBOOK],
        pictures=_pictures(options.figures, json.loads(options.shown)),
        tables=[page.as_html(path.read_text(encoding="utf-8")) for path in options.tables],
        sources=[source(path) for path in options.provenance],
        seed=parameters["seed"],
        machine=f"{platform.system()} {platform.machine()}",
        versions={"Python": platform.python_version()} | {name: version(name) for name in PACKAGES},
        parameters=yaml.safe_dump(parameters, sort_keys=False, allow_unicode=True),
        run_file=Path(os.path.relpath(options.run, options.out.parent)).as_posix(),
        cells=_cells(codebook, options.rows, options.cells, records)
        | {"first": options.rows.index(best) if best else 0},
        points=plot.item(page.points(table, hidden), curves, "plot"),
        library=Markup(plot.script()),
    )
    with written(options.out) as path:
        path.write_text(text, encoding="utf-8")
    with written(options.run) as path:
        path.write_text(f"window.modpRun = {json.dumps(_this_run(options.logs))};\n", encoding="utf-8")
    log(f"{options.out}: {options.out.stat().st_size / 1e6:.1f} MB")


def _cells(
    codebook: Codebook, names: Sequence[str], files: Sequence[Path], records: Sequence[int]
) -> dict[str, Any]:
    rows, true = {}, None
    for name, path, count in zip(names, files, records, strict=True):
        found = pq.read_table(path, columns=["true", "synthetic", "log_ratio", "z", "merit"])
        true, *columns = (found[column].to_numpy() for column in found.column_names)
        synthetic, log_ratio, z, merit = columns
        rows[name] = explorer.Cells(synthetic, count, log_ratio, z, merit)
    assert true is not None
    return explorer.content(codebook, records[0], true, rows)


def _pictures(files: Sequence[Path], shown: dict[str, Any]) -> list[page.Picture]:
    of_name = {path.stem: path for path in files}
    found = []
    for name in page.in_order(list(of_name)):
        caption, of = shown[name]
        found.append(page.picture(name, caption, of, of_name[name].read_bytes()))
    return found


def _this_run(logs: Sequence[Path]) -> dict[str, Any]:
    times = [found for found in map(time_of, logs) if found]
    steps = {step: [s for other, _, s in times if other == step] for step, _, _ in times}
    return {
        "machine": _machine(),
        "ended": max((ended for _, ended, _ in times), default="at a time that no log tells"),
        "steps": [[step, len(seconds), round(sum(seconds), 1)] for step, seconds in steps.items()],
    }


def _machine() -> str:
    """The processor, its cores and the memory, as far as the system tells; no name of the machine."""
    processor = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        models = [line for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        processor = models[0].partition(":")[2].strip() if models else processor
    memory = ""
    if "SC_PHYS_PAGES" in getattr(os, "sysconf_names", {}):
        memory = f", {os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.0f} GiB of memory"
    return f"{processor}, {os.cpu_count()} cores{memory}, {platform.system()} {platform.release()}"
