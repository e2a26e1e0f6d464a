"""Run the pipeline once more with another seed, into a folder of its own, and keep its metrics."""

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path

from modp.base.errors import InputError
from modp.base.output import Log, written


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    parser.add_argument("--parameters", type=Path, required=True, help="of the first run, as JSON")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--folder", type=Path, required=True, help="for this run's results")
    parser.add_argument("--dataset", required=True, help="the data set's name")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True, help="a copy of its metrics.json")


def run(options: argparse.Namespace, log: Log) -> None:
    """Let Snakemake make what the metrics need."""
    parameters = json.loads(options.parameters.read_text(encoding="utf-8"))
    parameters |= {"seed": options.seed, "seeds": 1, "results": options.folder.as_posix()}
    with written(options.folder / "params.json") as path:
        path.write_text(json.dumps(parameters, indent=1) + "\n", encoding="utf-8")
    metrics = options.folder / options.dataset / "metrics.json"
    # The run that waits for this one holds the lock of the folder.
    command = [
        "snakemake",
        "--nolock",
        "--rerun-incomplete",
        "--quiet",
        "all",
        "--cores",
        str(options.threads),
    ]
    # Instead of params.yaml, not laid over it: the first run may lack what stands there.
    command += ["--replace-workflow-config", "--configfile", str(options.folder / "params.json")]
    command += ["--", metrics.as_posix()]
    outcome = subprocess.run(
        [sys.executable, "-m", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    log.only_file(outcome.stdout)
    if outcome.returncode:
        raise InputError(f"the run with seed {options.seed} failed:\n{outcome.stdout[-2000:]}")
    with written(options.out) as path:
        shutil.copyfile(metrics, path)
    log(f"seed {options.seed}: {metrics}")
