"""Compare two runs: the parameters that differ, and every metric with its change."""

import argparse
import json
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from fsspec import AbstractFileSystem
from fsspec.implementations.local import LocalFileSystem

from modp.base.config import read_yaml
from modp.base.errors import InputError
from modp.base.output import Log, written
from modp.measures.table import SPREADS
from modp.report import compared
from modp.summaries import comparison, repeats

PARAMETERS, METRICS, REPEATS = "parameters.json", "metrics.json", "tables/repeats.parquet"


@dataclass(frozen=True)
class _Run:
    """A run's results: a folder, on disk or as a revision of git and DVC has it."""

    name: str
    files: AbstractFileSystem
    folder: str

    def has(self, file: str) -> bool:
        return self.files.exists(f"{self.folder}/{file}")

    def content(self, file: str) -> bytes:
        try:
            return self.files.cat_file(f"{self.folder}/{file}")
        except FileNotFoundError:
            raise InputError(
                f"{self.name}: there is no {self.folder}/{file}; run the pipeline there first, or, for a "
                "revision, dvc pull"
            ) from None

    def json(self, file: str) -> Any:
        try:
            return json.loads(self.content(file))
        except ValueError:
            raise self.damaged(file) from None

    def damaged(self, file: str) -> InputError:
        return InputError(f"{self.folder}/{file} is damaged; delete it and run the pipeline there again")

    def spreads(self) -> dict[str, repeats.Spread]:
        if not self.has(REPEATS):
            return {}
        try:
            return repeats.spreads(_table(self.content(REPEATS)))
        except pa.ArrowInvalid:
            raise self.damaged(REPEATS) from None

    def figures(self) -> dict[str, bytes]:
        found = self.files.glob(f"{self.folder}/figures/*.png")
        return {PurePosixPath(path).stem: self.files.cat_file(path) for path in sorted(found)}


def _table(content: bytes) -> pd.DataFrame:
    # Not by Arrow's threads, which can outlive so short a program: it then ends in an abort.
    file = pq.ParquetFile(pa.BufferReader(content), pre_buffer=False)
    return file.read(use_threads=False).to_pandas(use_threads=False)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    parser.add_argument("before", help="a run's folder, such as results/sample, or a git revision")
    parser.add_argument("after", help="the same")
    parser.add_argument("--dataset", help="of a revision; by default that of params.yaml")
    parser.add_argument(
        "--all",
        action="store_true",
        help="also metrics that did not change, ends of intervals and standard errors",
    )
    parser.add_argument("--html", type=Path, help="also write a page, with the figures side by side")


def run(options: argparse.Namespace, log: Log) -> None:
    """Read both, print what differs."""
    before, after = (_opened(name, options.dataset) for name in (options.before, options.after))
    parameters = comparison.differing(before.json(PARAMETERS), after.json(PARAMETERS))
    changes = comparison.changes(before.json(METRICS), after.json(METRICS), before.spreads(), after.spreads())
    if not options.all:
        changes = [c for c in changes if c.before != c.after and not c.name.endswith(SPREADS)]
    print(comparison.text(before.name, after.name, parameters, changes))
    if options.html:
        figures = before.figures(), after.figures()
        with written(options.html) as path:
            page = compared.page(before.name, after.name, parameters, changes, *figures)
            path.write_text(page, encoding="utf-8")
        log(f"wrote {options.html}")


def _opened(name: str, dataset: str | None) -> _Run:
    if Path(name).is_dir():
        return _Run(name, LocalFileSystem(), str(Path(name).resolve()))
    dataset = dataset or Path(read_yaml("params.yaml")["dataset"]).stem
    try:
        from dvc.api import DVCFileSystem  # slow to load, and folders do without

        files = DVCFileSystem(rev=name)
        files.exists("params.yaml")
    except Exception as fault:  # DVC and its git library raise many kinds
        raise InputError(
            f"{name!r} is no folder of results, and no revision of this repository either ({fault})"
        ) from None
    return _Run(name, files, f"results/{dataset}")
