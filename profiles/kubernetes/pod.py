"""Run one of Snakemake's jobs as a Kubernetes Job of one pod; ask how it stands; cancel it.

Snakemake's cluster-generic executor calls it, see config.yaml: "submit" is given the job's script and prints
the Job's name, "status" and "cancel" are given that name. kubectl must be there and may create Jobs.
"""

import argparse
import json
import subprocess
import sys
import uuid
from pathlib import Path

KEPT_S = 24 * 3600
"""Seconds for which a Job that has ended is kept, with its logs."""


def manifest(options: argparse.Namespace, script: Path) -> dict:
    """The Job: a pod that runs the script in this folder, on the shared volume."""
    requests = {"cpu": str(options.threads), "memory": f"{options.mem_mb}M"}
    limits = {"memory": f"{options.mem_mb}M"}
    if options.gpus:
        limits["nvidia.com/gpu"] = str(options.gpus)
    container = {
        "name": "job",
        "image": options.image,
        "command": ["bash", str(script.resolve())],
        "workingDir": str(Path.cwd()),
        "resources": {"requests": requests, "limits": limits},
        "volumeMounts": [{"name": "shared", "mountPath": options.mount}],
    }
    pod = {
        "restartPolicy": "Never",
        "containers": [container],
        "volumes": [{"name": "shared", "persistentVolumeClaim": {"claimName": options.claim}}],
    }
    name = f"modp-{options.rule.replace('_', '-').lower()}-{uuid.uuid4().hex[:10]}"
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": options.namespace, "labels": {"app": "modp"}},
        "spec": {
            # Snakemake tries again, with more memory; Kubernetes would with as much.
            "backoffLimit": 0,
            "activeDeadlineSeconds": 60 * options.minutes,
            "ttlSecondsAfterFinished": KEPT_S,
            "template": {"spec": pod},
        },
    }


def submit(options: argparse.Namespace) -> str:
    """Create the Job, and return its name with its namespace."""
    made = manifest(options, options.script)
    kubectl("create", "-f", "-", given=json.dumps(made))
    return f"{options.namespace}/{made['metadata']['name']}"


def status(name: str) -> str:
    """How a Job stands, in Snakemake's words; one that is gone, its node with it, has failed."""
    namespace, _, job = name.partition("/")
    found = kubectl("get", "job", job, "-n", namespace, "-o", "json", "--ignore-not-found")
    if not found.strip():
        return "failed"
    state = json.loads(found).get("status", {})
    if state.get("succeeded"):
        return "success"
    ended = any(c["type"] == "Failed" and c["status"] == "True" for c in state.get("conditions", []))
    return "failed" if ended or state.get("failed") else "running"


def cancel(name: str) -> None:
    """Delete a Job with its pod."""
    namespace, _, job = name.partition("/")
    kubectl("delete", "job", job, "-n", namespace, "--wait=false", "--ignore-not-found")


def kubectl(*arguments: str, given: str | None = None) -> str:
    """Run kubectl and return what it prints; end with its complaint if it fails."""
    done = subprocess.run(["kubectl", *arguments], input=given, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"kubectl {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("submit")
    for name in ("image", "claim", "mount", "namespace", "rule"):
        one.add_argument(f"--{name}", required=True)
    for name in ("threads", "mem-mb", "minutes"):
        one.add_argument(f"--{name}", type=int, required=True)
    one.add_argument("--gpus", type=int, default=0, help="GPUs of NVIDIA's")
    one.add_argument("script", type=Path)
    for what in ("status", "cancel"):
        commands.add_parser(what).add_argument("names", nargs="+")
    options = parser.parse_args()
    if options.command == "submit":
        print(submit(options))
    elif options.command == "status":
        print(status(options.names[0]))
    else:
        for name in options.names:
            cancel(name)


if __name__ == "__main__":
    main()
