"""Bring one source file into data/raw, with its provenance beside it."""

import argparse
import json
import shutil
from dataclasses import asdict
from pathlib import Path

from tqdm import tqdm

from modp.base.config import load
from modp.base.errors import InputError
from modp.base.output import Log, written
from modp.pums import fetch
from modp.pums.where import Dataset, at_hand


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    parser.add_argument("--dataset", type=Path, required=True, help="the dataset YAML")
    parser.add_argument("--file", required=True, help="name of the source file")
    parser.add_argument("--base-url", required=True, help="root of Census's server, or of a mirror")
    parser.add_argument("--downloads", type=Path, required=True, help="folder of files fetched by hand")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--provenance", type=Path, required=True)


def run(options: argparse.Namespace, log: Log) -> None:
    """Copy or fetch the file, then write where it came from."""
    dataset = load(options.dataset, Dataset)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    local = dataset.path(options.file)
    if local is not None:
        provenance = _copy(Path(at_hand(local)), local, options.out)
    else:
        assert dataset.census is not None
        by_hand = options.downloads / dataset.census.by_hand / options.file
        url = dataset.url(options.file, options.base_url)
        if by_hand.exists():
            fetch.require_zip(by_hand)
            provenance = _copy(by_hand, url, options.out)
        else:
            log(f"fetching {url}")
            provenance = _fetch(url, options.out, by_hand, log)
        _require_the_right_members(options.out, dataset.census.members_of(options.file))
    pinned = dataset.sha256.get(options.file)
    if pinned and pinned != provenance.sha256:
        options.out.unlink()
        raise InputError(
            f"{provenance.source} is not the file it was:\n"
            f"  sha256 pinned in {options.dataset}: {pinned}\n"
            f"  sha256 found:  {provenance.sha256}\n"
            "  Census re-issues files now and then; if this one is wanted, pin its sha256."
        )
    with written(options.provenance) as path:
        path.write_text(json.dumps(asdict(provenance), indent=1) + "\n")
    log(f"{options.out}: {provenance.bytes:,} bytes, sha256 {provenance.sha256}")


def _require_the_right_members(path: Path, expected: list[str]) -> None:
    try:
        fetch.require_members(path, expected)
    except InputError:
        path.unlink()
        raise


def _copy(source: Path, origin: str, target: Path) -> fetch.Provenance:
    if not source.is_file():
        raise InputError(f"{source}: there is no such file; the dataset YAML names it under 'files'")
    if source.stat().st_size == 0:
        raise InputError(f"{source} is empty")
    with written(target) as path:
        shutil.copyfile(source, path)
    return fetch.Provenance(origin, target.stat().st_size, fetch.sha256(target), None)


def _fetch(url: str, target: Path, by_hand: Path, log: Log) -> fetch.Provenance:
    with tqdm(unit="B", unit_scale=True, desc=target.name, disable=None) as bar:

        def progress(received: int, total: int | None) -> None:
            bar.total = total
            bar.update(received - bar.n)

        return fetch.fetch(url, target, by_hand, progress, log)
