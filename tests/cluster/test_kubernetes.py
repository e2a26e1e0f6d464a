"""The profile for Kubernetes: jobs become pods with what they ask for, run on a stand-in for kubectl."""

import importlib.util
import json
import os
import stat
import sys
from pathlib import Path

import pytest
import yaml
from conftest import ROOT
from test_pipeline import ENVIRONMENT, LIGHT, run, workspace

PROFILE = ROOT / "profiles/kubernetes"
PLUGIN = "snakemake_executor_plugin_cluster_generic"
KUBECTL = """#!{python}
# Takes Jobs as kubectl does, and runs the command of each pod on this machine, in its folder.
import json, os, pathlib, subprocess, sys

jobs, verb = pathlib.Path(os.environ["JOBS"]), sys.argv[1]
if verb == "create":
    made = json.load(sys.stdin)
    name, pod = made["metadata"]["name"], made["spec"]["template"]["spec"]["containers"][0]
    (jobs / f"{{name}}.json").write_text(json.dumps(made))
    fate = "false" if "fit" in name and not list(jobs.glob("*.lost")) else "bash " + pod["command"][1]
    if fate == "false":
        (jobs / f"{{name}}.lost").touch()
    command = f"({{fate}}) > {{jobs}}/{{name}}.log 2>&1; echo $? > {{jobs}}/{{name}}.status"
    subprocess.Popen(["sh", "-c", command], cwd=pod["workingDir"], start_new_session=True,
                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
elif verb == "get":
    ended = jobs / f"{{sys.argv[3]}}.status"
    code = ended.read_text().strip() if ended.exists() else ""
    print(json.dumps({{"status": {{"succeeded": 1}} if code == "0" else {{"failed": 1}} if code else {{}}}}))
"""


def pod():
    spec = importlib.util.spec_from_file_location("pod", PROFILE / "pod.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_job_becomes_a_pod_with_what_it_asks_for_on_the_shared_volume(monkeypatch, capsys, tmp_path):
    told, asked = pod(), []
    monkeypatch.setattr(told, "kubectl", lambda *words, given=None: asked.append((words, given)) or "")
    command = [
        "submit",
        "--image",
        "i:1",
        "--claim",
        "c",
        "--mount",
        "/m",
        "--namespace",
        "n",
        "--rule",
        "fit",
    ]
    command += ["--threads", "4", "--mem-mb", "900", "--minutes", "20", "--gpus", "1", f"{tmp_path}/job.sh"]
    monkeypatch.setattr(sys, "argv", ["pod.py", *command])
    told.main()
    made = json.loads(asked[0][1])
    container = made["spec"]["template"]["spec"]["containers"][0]
    assert capsys.readouterr().out.strip() == f"n/{made['metadata']['name']}"
    assert container["command"] == ["bash", f"{tmp_path}/job.sh"] and container["workingDir"] == str(
        Path.cwd()
    )
    assert container["resources"]["requests"] == {"cpu": "4", "memory": "900M"}
    assert container["resources"]["limits"] == {"memory": "900M", "nvidia.com/gpu": "1"}
    assert (made["spec"]["activeDeadlineSeconds"], made["spec"]["backoffLimit"]) == (1200, 0)
    assert len(made["metadata"]["name"]) <= 63


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        ("", "failed"),
        ('{"status": {}}', "running"),
        ('{"status": {"active": 1}}', "running"),
        ('{"status": {"succeeded": 1}}', "success"),
        ('{"status": {"failed": 1}}', "failed"),
        ('{"status": {"conditions": [{"type": "Failed", "status": "True"}]}}', "failed"),
    ],
)
def test_a_job_that_is_gone_or_past_its_time_has_failed(answer, word, monkeypatch):
    told = pod()
    monkeypatch.setattr(told, "kubectl", lambda *_, **__: answer)
    assert told.status("n/job") == word


def test_the_profile_names_only_what_the_script_takes():
    profile = yaml.safe_load((PROFILE / "config.yaml").read_text(encoding="utf-8"))
    for verb in ("submit", "status", "cancel"):
        assert f"profiles/kubernetes/pod.py {verb}" in profile[f"cluster-generic-{verb}-cmd"]


@pytest.mark.pipeline
@pytest.mark.skipif(
    importlib.util.find_spec(PLUGIN) is None, reason="needs snakemake-executor-plugin-cluster-generic"
)
def test_the_sample_runs_through_the_profile_and_a_lost_pod_is_replaced(tmp_path):
    models = {"pairs": LIGHT["models"]["pairs"]}
    rows = [{"model": "pairs", "name": "sweeps-2", "sweeps": 2}]
    changed = {"models": models, "rows": rows, "figures": {}, "answers_by_blade": None}
    folder = workspace(tmp_path / "shared", LIGHT | changed)
    jobs, kubectl = tmp_path / "jobs", tmp_path / "bin/kubectl"
    jobs.mkdir()
    kubectl.parent.mkdir()
    kubectl.write_text(KUBECTL.format(python=sys.executable), encoding="utf-8")
    kubectl.chmod(kubectl.stat().st_mode | stat.S_IEXEC)
    target = "results/sample/pairs/sweeps-2/synthetic.parquet"
    path = f"{kubectl.parent}{os.pathsep}{ENVIRONMENT['PATH']}"
    dry = run(folder, "snakemake", "--profile", "profiles/kubernetes", "--dry-run", PATH=path)
    assert "This was a dry-run" in dry
    command = ["snakemake", "--profile", "profiles/kubernetes", "--latency-wait", "5", "--", target]
    printed = run(folder, *command, PATH=path, JOBS=str(jobs))
    assert (folder / target).is_file() and "Trying to restart" in printed
    made = [json.loads(file.read_text()) for file in jobs.glob("*.json")]
    memory = [
        job["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["memory"] for job in made
    ]
    fits = [asked for job, asked in zip(made, memory, strict=True) if "-fit-" in job["metadata"]["name"]]
    first, second = sorted(int(asked.removesuffix("M")) for asked in fits)
    assert second == 2 * first
