"""A run through a real SLURM of one node gives the bytes of a local run, also where a job was killed."""

import hashlib
import os
import subprocess
import time
from pathlib import Path

import pandas as pd
import pytest
import single_node
import yaml
from conftest import ROOT
from test_pipeline import ENVIRONMENT, LIGHT, run, workspace, write_params

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
STATES = ROOT / "../shared/data/person_2021_ak_wv_wy.parquet"
OF_EACH = 500
HERE = ["--slurm-no-account", "--slurm-status-command", "squeue", "--latency-wait", "10"]
HERE += [
    "--slurm-init-seconds-before-status-checks",
    "3",
    "--set-threads",
    "fit=2",
    "part=2",
    "--seconds-between-status-checks",
    "3",
]


def contents(folder: Path) -> dict[str, str]:
    """Path -> digest of the results that two runs must agree on."""
    results = folder / "results"
    files = [f for ending in ("parquet", "safetensors", "json") for f in results.rglob(f"*.{ending}")]
    return {str(f.relative_to(folder)): hashlib.sha256(f.read_bytes()).hexdigest() for f in files}


def killed_once(node: single_node.Node, process: subprocess.Popen, rule: str) -> str:
    """Kill the first job of a rule that is seen running, as a node out of memory would; return its name."""
    while process.poll() is None:
        for number, comment in node.jobs("RUNNING"):
            if comment.startswith(f"rule_{rule}"):
                node.ask("scancel", "--full", "--signal", "KILL", number)
                return comment
        time.sleep(0.2)
    raise AssertionError(f"the run ended before a job of {rule} was seen running")


def jobs_of_the_same_run(tmp_path: Path, here: Path, there: Path, targets: list[str], rule: str) -> list[str]:
    """Run in one folder on this machine and in another through SLURM, where a job of a rule is killed.

    Returns
    -------
    the comments of the jobs that SLURM brought to their end; the two folders have the same results
    """
    run(here, "snakemake", "--cores", "2", "--", *targets)
    with single_node.started(tmp_path / "slurm") as node:
        log = tmp_path / "snakemake.log"
        with log.open("wb") as printed:
            process = subprocess.Popen(
                ["snakemake", "--profile", "profiles/slurm", *HERE, "--", *targets],
                cwd=there,
                env=ENVIRONMENT | node.environment | {"PATH": f"{ENVIRONMENT['PATH']}:{single_node.PATH}"},
                stdout=printed,
                stderr=subprocess.STDOUT,
            )
        try:
            killed = killed_once(node, process, rule)
            status = process.wait(1500)
        finally:
            process.kill()
        said = log.read_text(encoding="utf-8", errors="replace")
        assert status == 0, said
        done = [comment for _, comment in node.jobs("COMPLETED")]
        failed = [comment for _, comment in node.jobs("FAILED,CANCELLED,NODE_FAIL")]
    assert failed == [killed] and killed in done, said
    assert all(comment.startswith("rule_") for comment in done)
    assert contents(there) == contents(here)
    return done


def test_slurm_runs_the_sample_resubmits_a_killed_job_and_gives_the_bytes_of_a_local_run(tmp_path):
    tmp_path.chmod(0o755)
    here, there = (workspace(tmp_path / where, PARAMS) for where in ("local", "cluster"))
    assert len(jobs_of_the_same_run(tmp_path, here, there, TARGETS, "fit")) == 5


@pytest.mark.skipif(not STATES.exists(), reason=f"there is no {STATES.name} of real persons here")
def test_slurm_runs_three_states_as_jobs_of_their_own_and_gathers_them(tmp_path):
    tmp_path.chmod(0o755)
    here, there = (workspace(tmp_path / where, PARAMS) for where in ("local", "cluster"))
    people = pd.read_parquet(STATES)
    for folder in (here, there):
        people.groupby("ST").head(OF_EACH).to_parquet(folder / "persons.parquet")
        dataset = {"title": "three states", "questions": "stums", "files": ["persons.parquet"]}
        (folder / "states.yaml").write_text(yaml.safe_dump(dataset | {"scatter": "state"}))
        write_params(folder, PARAMS | {"dataset": "states.yaml", "scattered": {"rows": ["pairs/sweeps-2"]}})
    done = jobs_of_the_same_run(tmp_path, here, there, ["scattered"], "part_wildcards")
    assert sum(comment.startswith("rule_part_wildcards") for comment in done) == 3
    parts = pd.read_parquet(there / "results/states/scattered/tables/parts.parquet")
    assert parts["part"].tolist() == ["ak", "wv", "wy", ""]


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
