"""A run of the pipeline inside a job of another run, with other parameters."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from modp.base.errors import InputError
from modp.base.output import Log, written
from modp.pums.where import at_hand

SHOWN = 2000
"""Characters of a failed run's output that are shown."""


def run(
    parameters: Mapping[str, Any], file: Path, targets: list[str], threads: int, what: str, log: Log
) -> None:
    """Let Snakemake make files.

    Parameters
    ----------
    parameters : of the run, instead of params.yaml, not laid over it: the other run may lack what it has
    file : where they are written, as JSON
    what : names the run, for the message

    Raises
    ------
    InputError
        if it fails, with the end of what it printed
    """
    with written(file) as path:
        path.write_text(json.dumps(parameters, indent=1) + "\n", encoding="utf-8")
    # The run that waits for this one holds the lock of the folder.
    command = ["snakemake", "--snakefile", at_hand("Snakefile"), "--nolock", "--rerun-incomplete"]
    command += ["--quiet", "all", "--cores", str(threads)]
    command += ["--replace-workflow-config", "--configfile", str(file), "--", *targets]
    outcome = subprocess.run(
        [sys.executable, "-m", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    log.only_file(outcome.stdout)
    if outcome.returncode:
        raise InputError(f"{what} failed:\n{outcome.stdout[-SHOWN:]}")
