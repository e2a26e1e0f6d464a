"""Kill runs at random moments, start two at once, fill the disk, break a file; run again, compare bytes.

In a copy of the project, with the first of the sample's persons and two small models:

1. one run undisturbed, whose results the others must repeat byte for byte;
2. so many runs, each killed with all its processes (kill -9) at a random moment, each followed by a plain
   run (after an --unlock, as Snakemake asks) that must end in the same bytes;
3. two runs started at once: one must be refused by Snakemake's lock, the other end in the same bytes;
4. a run that can write no file past a small size, as on a full disk: it must fail, and the plain run after it
   end in the same bytes;
5. a Parquet file cut off in the middle: the run must say in one line which, and what to do.

Prints a table, and ends with status 1 if anything was otherwise.
Run: python benchmarks/soak.py [--kills 10] [--persons 1000] [--seed 1]
"""

import argparse
import hashlib
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import yaml

ROOT = Path(__file__).parent.parent
ROW = "stationary/sweeps-2"
STAGES = [{"loss": "mean_square", "epochs": 2, "learning_rate": 0.01, "batch": 256}]
CHANGED = {
    "device": "cpu",
    "instances": 1,
    "models": {
        "small": {"family": "blades", "blades": 1, "reduced": 2, "stages": STAGES},
        "stationary": {"family": "stationary", "most_windows": 1, "triples": 0},
    },
    "rows": [
        {"model": "small", "name": "plain"},
        {"model": "stationary", "name": "sweeps-2", "sweeps": 2},
    ],
    "figures": {},
    "answers_by_blade": None,
    "release": {"rows": []},
}
TARGETS = (
    "results/sample/metrics.json",
    "results/sample/tables/accuracy.md",
    f"results/sample/{ROW}/synthetic.parquet",
    f"results/sample/measures/{ROW}/summary.json",
)
"""As the plain command asks for them: without the later ones a file that is deleted would not be missed."""
LEAST, MOST_OF_THE_RUN = 0.05, 0.95
"""Kills fall between these shares of the undisturbed run's time."""

FILE_LIMIT = 60_000
"""Bytes that a file may have on the "full disk": less than the records need."""


class OtherwiseError(AssertionError):
    """Something came out otherwise than it must."""


@dataclass
class Soak:
    """The copy of the project that is maltreated, and what came of it.

    seconds : that the undisturbed run took
    bytes_ : path -> digest of its results
    """

    folder: Path
    seconds: float = 0.0
    bytes_: dict[str, str] = field(default_factory=dict)

    def start(self, limit: int | None = None) -> subprocess.Popen:
        """Start a run in a process group of its own, its files no longer than ``limit`` bytes."""

        def limited() -> None:
            if limit:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # so that a write fails, as on a full disk

        return subprocess.Popen(
            [sys.executable, "-m", "snakemake", "--cores", "2", "--", *TARGETS],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(self.folder / "workflow"), "MODP_WARM": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            preexec_fn=limited,
        )

    def clear(self) -> None:
        """Remove all that runs have made."""
        for name in ("results/sample", "data/raw/sample", "logs", ".snakemake"):
            shutil.rmtree(self.folder / name, ignore_errors=True)

    def unlock(self) -> None:
        command = [sys.executable, "-m", "snakemake", "--cores", "1", "--unlock"]
        subprocess.run(command, cwd=self.folder, check=True, capture_output=True)

    def made(self) -> dict[str, str]:
        """Path -> digest of what the run has made that is the same in every run."""
        results = self.folder / "results/sample"
        files = [*results.rglob("*.parquet"), *results.rglob("*.safetensors"), *results.glob("*.json")]
        return {
            str(f.relative_to(results)): hashlib.sha256(f.read_bytes()).hexdigest()
            for f in files
            if f.is_file()
        }

    def require_same(self, printed: str) -> None:
        """Raise OtherwiseError unless the results are the undisturbed run's and nothing lies about."""
        made = self.made()
        if made != self.bytes_:
            paths = made.keys() | self.bytes_.keys()
            other = sorted(path for path in paths if made.get(path) != self.bytes_.get(path))
            raise OtherwiseError(f"other bytes in {', '.join(other)}\n{printed[-2000:]}")
        parts = [
            f.name for f in (self.folder / "results").rglob("*") if ".part" in f.name or ".tmp" in f.name
        ]
        if parts:
            raise OtherwiseError(f"left lying about: {', '.join(parts)}")

    def run_again(self) -> str:
        """A plain run, after an unlock if there is a lock; its bytes must be the undisturbed run's."""
        process = self.start()
        printed, _ = process.communicate()
        if process.returncode and "--unlock" in printed:
            self.unlock()
            process = self.start()
            printed, _ = process.communicate()
        if process.returncode:
            raise OtherwiseError(f"the plain run failed:\n{printed[-3000:]}")
        self.require_same(printed)
        return printed


def prepared(folder: Path, persons: int) -> None:
    """Copy what a run needs, with the first persons of the sample and the small parameters."""
    folder.mkdir(exist_ok=True)
    for name in ("Snakefile", "workflow", "profiles", "benchmarks"):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name)
        else:
            shutil.copy(source, folder / name)
    sample = folder / "data/sample/sample_csv_p.zip"
    sample.parent.mkdir(parents=True)
    with zipfile.ZipFile(ROOT / "data/sample/sample_csv_p.zip") as archive:
        (name,) = archive.namelist()
        lines = archive.read(name).splitlines(keepends=True)[: persons + 1]
    with zipfile.ZipFile(sample, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo(name), b"".join(lines))
    params = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8")) | CHANGED
    (folder / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False), encoding="utf-8")


def undisturbed(soak: Soak) -> str:
    """Run twice, the first time to compile what is compiled once; keep the bytes."""
    for again in (False, True):
        soak.clear()
        began = time.monotonic()
        process = soak.start()
        printed, _ = process.communicate()
        soak.seconds = time.monotonic() - began
        if process.returncode:
            raise OtherwiseError(f"the undisturbed run failed:\n{printed[-3000:]}")
        if again:
            soak.require_same(printed)
        soak.bytes_ = soak.made()
    return f"{soak.seconds:.0f} s, {len(soak.bytes_)} files, the same twice"


def killed(soak: Soak, rng: random.Random) -> str:
    """Kill a run at a random moment; then run plainly."""
    soak.clear()
    process = soak.start()
    after = rng.uniform(LEAST, MOST_OF_THE_RUN) * soak.seconds
    try:
        process.communicate(timeout=after)
        moment = "had ended before"
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        moment = f"after {after:.1f} s, {len(soak.made())} of {len(soak.bytes_)} files made"
    soak.run_again()
    return moment


def two_at_once(soak: Soak) -> str:
    """Start two runs: one must be refused, the other go on as if alone."""
    soak.clear()
    both = [soak.start(), soak.start()]
    ends = [(process.communicate()[0], process.returncode) for process in both]
    refused = [printed for printed, status in ends if status and "lock" in printed.lower()]
    if len(refused) != 1 or sum(status == 0 for _, status in ends) != 1:
        raise OtherwiseError("\n".join(printed[-1500:] for printed, _ in ends))
    soak.require_same(ends[0][0])
    return "one refused by the lock, the other the same bytes"


def full_disk(soak: Soak) -> str:
    """Let no file grow past a limit, so that a write fails; then run plainly."""
    soak.clear()
    process = soak.start(FILE_LIMIT)
    printed, _ = process.communicate()
    if not process.returncode:
        raise OtherwiseError("the run did not notice that nothing could be written")
    told = [line.strip() for line in printed.splitlines() if "too large" in line or "No space" in line]
    if not told:
        raise OtherwiseError(f"the run failed, but does not say why:\n{printed[-3000:]}")
    soak.run_again()
    return f"said {told[0][:90]!r}"


def truncated(soak: Soak) -> str:
    """Cut a Parquet file off that a later step reads."""
    path = soak.folder / "results/sample" / ROW / "synthetic.parquet"
    soak.clear()
    soak.run_again()
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    process = soak.start()
    printed, _ = process.communicate()
    told = [line.strip() for line in printed.splitlines() if line.strip().startswith("error in ")]
    if not process.returncode or not any("synthetic.parquet" in line for line in told):
        raise OtherwiseError(f"the damaged file is not named in one line:\n{printed[-3000:]}")
    path.unlink()
    soak.run_again()
    return f"said {next(line for line in told if 'synthetic.parquet' in line)!r}"


def row(name: str, work: Callable[[], str]) -> bool:
    """Do one thing, print how it went, and return whether it went well."""
    began = time.monotonic()
    try:
        said, good = work(), True
    except OtherwiseError as fault:
        said, good = f"**otherwise**: {fault}", False
    print(f"| {name} | {said} | {time.monotonic() - began:.0f} |", flush=True)
    return good


def soaked(folder: Path, kills: int, persons: int, seed: int, parts: list[str]) -> bool:
    """Do all of it in an empty folder; return whether everything went well."""
    prepared(folder, persons)
    soak, rng = Soak(folder), random.Random(seed)
    print("| what | how it went | seconds |\n|---|---|--:|")
    good = row("undisturbed, twice", lambda: undisturbed(soak))
    if not good:
        return False
    for number in range(kills):
        good &= row(f"killed, {number + 1}", lambda: killed(soak, rng))
    others = {"two runs at once": two_at_once, "full disk": full_disk, "truncated Parquet": truncated}
    for name, work in others.items():
        if not parts or name in parts:
            good &= row(name, lambda: work(soak))  # noqa: B023
    return good


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--persons", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    parser.add_argument("--parts", nargs="*", default=[], help="of what follows the kills; by default all")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="modp-soak-") as folder:
        good = soaked(Path(folder), options.kills, options.persons, options.seed, options.parts)
    sys.exit(not good)


if __name__ == "__main__":
    main()
