"""A run through a real SLURM of one node gives the bytes of a local run, also where a job was killed."""

import hashlib
import os
import subprocess
import time
from pathlib import Path

import pytest
import single_node
from test_pipeline import ENVIRONMENT, LIGHT, run, workspace

pytestmark = [
    pytest.mark.pipeline,
    pytest.mark.skipif(
        bool(single_node.lacking()), reason=f"for SLURM there lacks {', '.join(single_node.lacking())}"
    ),
]

PARAMS = LIGHT | {
    "models": {"pairs": LIGHT["models"]["pairs"]},
    "rows": [{"model": "pairs", "name": "sweeps-2", "sweeps": 2}],
    "figures": {},
    "answers_by_blade": None,
}
TARGETS = ["results/sample/measures/pairs/sweeps-2/summary.json"]
HERE = ["--slurm-no-account", "--slurm-status-command", "squeue", "--latency-wait", "10"]
HERE += [
    "--slurm-init-seconds-before-status-checks",
    "3",
    "--set-threads",
    "fit=2",
    "--seconds-between-status-checks",
    "3",
]


def contents(folder: Path) -> dict[str, str]:
    """Path -> digest of the results that two runs must agree on."""
    results = folder / "results/sample"
    files = [f for ending in ("parquet", "safetensors", "json") for f in results.rglob(f"*.{ending}")]
    return {str(f.relative_to(folder)): hashlib.sha256(f.read_bytes()).hexdigest() for f in files}


def killed_once(node: single_node.Node, process: subprocess.Popen) -> str:
    """Kill the first fit that is seen running, as a node out of memory would; return its comment."""
    while process.poll() is None:
        for number, comment in node.jobs("RUNNING"):
            if comment.startswith("rule_fit"):
                node.ask("scancel", "--full", "--signal", "KILL", number)
                return comment
        time.sleep(0.2)
    raise AssertionError("the run ended before a fit was seen running")


def test_slurm_runs_the_sample_resubmits_a_killed_job_and_gives_the_bytes_of_a_local_run(tmp_path):
    tmp_path.chmod(0o755)
    here = workspace(tmp_path / "local", PARAMS)
    there = workspace(tmp_path / "cluster", PARAMS)
    run(here, "snakemake", "--cores", "2", "--", *TARGETS)
    with single_node.started(tmp_path / "slurm") as node:
        log = tmp_path / "snakemake.log"
        with log.open("wb") as printed:
            process = subprocess.Popen(
                ["snakemake", "--profile", "profiles/slurm", *HERE, "--", *TARGETS],
                cwd=there,
                env=ENVIRONMENT | node.environment | {"PATH": f"{ENVIRONMENT['PATH']}:{single_node.PATH}"},
                stdout=printed,
                stderr=subprocess.STDOUT,
            )
        try:
            killed = killed_once(node, process)
            status = process.wait(1500)
        finally:
            process.kill()
        said = log.read_text(encoding="utf-8", errors="replace")
        assert status == 0, said
        done = [comment for _, comment in node.jobs("COMPLETED")]
        failed = [comment for _, comment in node.jobs("FAILED,CANCELLED,NODE_FAIL")]
    assert failed == [killed] and killed in done, said
    assert len(done) == 5 and all(comment.startswith("rule_") for comment in done)
    assert contents(there) == contents(here)


def test_what_was_started_is_stopped(tmp_path):
    tmp_path.chmod(0o755)
    with single_node.started(tmp_path / "slurm") as node:
        node.ask("sbatch", "--mem=100", "--output", str(tmp_path / "out"), "--wrap", "sleep 100")
    commands = [
        path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if os.access(path, os.R_OK)
    ]
    assert not [command for command in commands if str(tmp_path / "slurm") in command]
