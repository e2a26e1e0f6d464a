"""The server that runs steps for Snakemake's jobs: as if each ran by itself, and never longer than it."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import ROOT

from modp.pipeline import engines, handover, warm

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the server is for Linux")

TOY = """
import atexit, json, os, signal, subprocess, sys, time
from pathlib import Path
from modp.base.errors import InputError

VERSION = 1
with Path(os.environ["TOY_IMPORTS"]).open("a") as file:
    print(os.getpid(), file=file)
if "TOY_BROKEN" in os.environ:
    raise ValueError("broken toy")

def add_arguments(parser):
    parser.add_argument("--do", default="facts")
    parser.add_argument("--out", type=Path)

def run(options, log):
    globals()[options.do](options, log)

def facts(options, log):
    parent = Path(f"/proc/{os.getppid()}/cmdline").read_text().split("\\0")
    mask = os.umask(0)
    print(json.dumps({
        "served": "modp.pipeline.warm" in parent, "version": VERSION, "arguments": sys.argv[1:],
        "folder": os.getcwd(), "umask": mask, "environment": dict(os.environ), "input": sys.stdin.read(),
    }))
    log("said")

def terminal(options, log):
    print(sys.stdin.isatty(), sys.stdout.isatty(), sys.stderr.isatty(), sys.stdout.line_buffering)

def bad_input(options, log):
    raise InputError("no good")

def bad_code(options, log):
    print("half a line", end="")
    raise ValueError("crashed")

def leaves(options, log):
    atexit.register(print, "left")
    sys.exit(7)

def complains(options, log):
    sys.exit("complaint")

def killed(options, log):
    os.kill(os.getpid(), signal.SIGTERM)

def waits(options, log):
    helper = subprocess.Popen(["sleep", "100"])
    options.out.with_suffix(".part").write_text(f"{os.getpid()} {helper.pid}")
    options.out.with_suffix(".part").rename(options.out)
    try:
        time.sleep(100)
    except KeyboardInterrupt:
        print("cleaned up")
        raise
"""
"""Stands for one of the steps in a copy of the package."""

STEP = "schemas"


@dataclass
class Run:
    """What a Snakemake run consists of: its server, and the environment of its jobs."""

    server: warm.Server
    environment: dict[str, str]

    def job(self, *arguments: object, more: dict[str, str] | None = None, **options):
        options = {"input": "", "cwd": None} | options
        environment = self.environment | (more or {})
        return subprocess.run(
            command(*arguments), env=environment, capture_output=True, text=True, check=False, **options
        )

    def facts(self, **options) -> dict:
        return json.loads(self.job(**options).stdout)

    def waiting(self, folder: Path) -> tuple[subprocess.Popen, list[int]]:
        """A job that waits, and the processes that work for it."""
        out = folder / "numbers"
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        client = subprocess.Popen(
            command("--do", "waits", "--out", out), env=self.environment, text=True, **pipes
        )
        assert within(20, out.exists)
        numbers = [int(number) for number in out.read_text().split()]
        assert client.pid not in numbers and all(map(lives, numbers))
        return client, numbers


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "modp", STEP, *map(str, arguments)]


def lives(number: int) -> bool:
    try:
        state = Path(f"/proc/{number}/stat").read_text().rpartition(") ")[2][0]
    except FileNotFoundError:
        return False
    return state != "Z"


def within(seconds: float, condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


@pytest.fixture(scope="module", autouse=True)
def heeding() -> Iterator[None]:
    """Where the tests run in a script's background, control-C is ignored, and so by all that they start."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def package(tmp_path_factory) -> Path:
    """A copy of the package, of which one step is the toy."""
    copy = tmp_path_factory.mktemp("workflow")
    shutil.copytree(ROOT / "workflow/modp", copy / "modp", ignore=shutil.ignore_patterns("*.nb?"))
    (copy / f"modp/cli/{STEP}.py").write_text(TOY)
    return copy


@pytest.fixture(scope="module")
def surroundings(package, tmp_path_factory) -> dict[str, str]:
    """The environment of Snakemake when it runs the copy."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    more = {
        "PATH": path,
        "PYTHONPATH": str(package),
        "TOY_IMPORTS": str(tmp_path_factory.mktemp("toy") / "imports"),
    }
    hidden = {handover.SOCKET, "MODP_WARM", "PYTEST_CURRENT_TEST", "PYTHONUNBUFFERED"}
    return {name: value for name, value in os.environ.items() if name not in hidden} | more


@contextmanager
def running(surroundings: dict[str, str]) -> Iterator[Run]:
    """Stand for a Snakemake run: start a server, and stop it at the end."""
    server = warm.Server()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.environ", dict(surroundings))
        server.start()
        environment = os.environ | warm.ONE_THREAD
    yield Run(server, environment)
    server.stop()


@pytest.fixture(scope="module")
def run(surroundings) -> Iterator[Run]:
    """A run for all tests that leave its server as it is."""
    with running(surroundings) as one:
        yield one


ALONE = {handover.SOCKET: ""}


def test_a_step_sees_what_it_would_see_by_itself(run, tmp_path):
    given = {"cwd": tmp_path, "input": "to read\n", "umask": 0o27}
    served = run.facts(**given, more={"TMPDIR": "/elsewhere"})
    alone = run.facts(**given, more={"TMPDIR": "/elsewhere"} | ALONE)
    assert served.pop("served") and not alone.pop("served")
    for seen in (served, alone):
        del seen["environment"][handover.SOCKET]
    assert served == alone
    assert served["folder"] == str(tmp_path) and served["umask"] == 0o27 and served["input"] == "to read\n"


@pytest.mark.parametrize(
    ("does", "status"),
    [("facts", 0), ("bad_input", 1), ("bad_code", 1), ("leaves", 7), ("complains", 1), ("none", 1)],
)
def test_a_step_ends_as_it_would_by_itself(run, does, status):
    served, alone = run.job("--do", does), run.job("--do", does, more=ALONE)
    assert served.returncode == alone.returncode == status
    assert served.stderr.splitlines()[-1:] == alone.stderr.splitlines()[-1:]
    if does != "facts":
        assert served.stdout == alone.stdout


@pytest.mark.parametrize("more", [{}, ALONE])
def test_a_step_knows_a_terminal_when_it_writes_to_one(run, more):
    theirs, ours = os.openpty()
    subprocess.run(
        command("--do", "terminal"),
        env=run.environment | more,
        stdin=ours,
        stdout=ours,
        stderr=ours,
        check=True,
    )
    assert os.read(theirs, 100).split() == [b"True"] * 4
    os.close(theirs)
    os.close(ours)


def test_a_wrong_option_is_told_in_the_same_words(run):
    served, alone = run.job("--nonsense"), run.job("--nonsense", more=ALONE)
    assert served.returncode == 2
    assert (served.returncode, served.stderr) == (alone.returncode, alone.stderr)


def test_a_step_that_a_signal_ended_has_the_status_that_a_shell_gives_it(run):
    assert run.job("--do", "killed").returncode == 128 + signal.SIGTERM
    assert run.job("--do", "killed", more=ALONE).returncode == -signal.SIGTERM


def test_what_a_step_needs_is_imported_once_by_the_server(surroundings, tmp_path):
    with running(surroundings | {"TOY_IMPORTS": str(tmp_path / "imports")}) as run:
        assert run.facts()["served"] and run.facts()["served"]
        assert (tmp_path / "imports").read_text().split() == [str(run.server.process.pid)]


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_a_client_that_is_killed_takes_its_step_along(run, tmp_path, end):
    client, numbers = run.waiting(tmp_path)
    client.send_signal(end)
    assert client.wait(5) == -end
    assert within(5, lambda: not any(map(lives, numbers)))
    assert run.facts()["served"], "the server goes on"


def test_control_c_reaches_the_step_which_cleans_up(run, tmp_path):
    client, numbers = run.waiting(tmp_path)
    client.send_signal(signal.SIGINT)
    out, err = client.communicate(timeout=60)
    assert client.returncode == 128 + signal.SIGINT
    assert out == "cleaned up\n" and err.rstrip().endswith("KeyboardInterrupt")
    assert within(5, lambda: not any(map(lives, numbers)))


def test_a_server_ends_with_its_run_even_if_that_is_killed(surroundings, tmp_path):
    program = (
        "import json, os, time; from modp.pipeline import warm\n"
        "server = warm.Server(); server.start()\n"
        "print(json.dumps([server.process.pid, dict(os.environ)]), flush=True); time.sleep(100)"
    )
    snakemake = subprocess.Popen(
        [sys.executable, "-c", program], env=surroundings, stdout=subprocess.PIPE, text=True
    )
    number, environment = json.loads(snakemake.stdout.readline())
    run = Run(warm.Server(), environment | warm.ONE_THREAD)
    client, numbers = run.waiting(tmp_path)
    snakemake.kill()
    snakemake.wait()
    assert within(5, lambda: not any(map(lives, [number, *numbers])))
    assert not Path(environment[handover.SOCKET]).parent.exists()
    assert client.wait(5) == 1
    assert "the server that ran this step has ended" in client.communicate()[1]


def test_a_server_that_is_killed_takes_its_steps_along(surroundings, tmp_path):
    with running(surroundings) as run:
        client, numbers = run.waiting(tmp_path)
        run.server.process.kill()
        assert client.wait(5) == 1
        assert within(5, lambda: not lives(numbers[0]))
        assert not run.facts()["served"], "jobs go on without it"
    os.kill(numbers[1], signal.SIGKILL)
    shutil.rmtree(Path(run.environment[handover.SOCKET]).parent)


def test_a_stopped_server_leaves_nothing(surroundings, tmp_path):
    with running(surroundings) as run:
        folder = Path(run.environment[handover.SOCKET]).parent
        assert folder.stat().st_mode & 0o777 == 0o700
        client, numbers = run.waiting(tmp_path)
    assert not folder.exists() and not any(map(lives, numbers))
    client.communicate(timeout=60)
    assert not run.facts()["served"]


def test_changed_code_is_run_by_the_job_itself(surroundings, package):
    toy = package / f"modp/cli/{STEP}.py"
    before = toy.stat()
    with running(surroundings) as run:
        assert run.facts()["served"]
        toy.write_text(TOY.replace("VERSION = 1", "VERSION = 2"))
        changed = run.facts()
    toy.write_text(TOY)
    os.utime(toy, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert changed["version"] == 2 and not changed["served"]


def test_a_module_that_cannot_be_imported_is_the_jobs_trouble_alone(surroundings):
    with running(surroundings | {"TOY_BROKEN": "1"}) as run:
        for _ in range(2):
            outcome = run.job()
            assert outcome.returncode == 1
            assert outcome.stderr.splitlines()[-1] == "ValueError: broken toy"
        assert run.server.process.poll() is None


@pytest.mark.parametrize("more", [{"TOY": "1"}, {"OMP_NUM_THREADS": "2"}, {"PYTHONOPTIMIZE": "1"}])
def test_a_job_in_other_circumstances_runs_by_itself(run, more):
    assert run.facts(more={"TMP": "/elsewhere"})["served"]
    assert not run.facts(more=more)["served"]


def test_a_run_whose_folder_for_temporary_files_has_too_long_a_path_does_without(surroundings, tmp_path):
    deep = tmp_path / ("d" * 100)
    deep.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(deep))
        with running(surroundings) as run:
            assert run.server.process is None
    assert not list(deep.iterdir())
    assert not run.facts()["served"]


def test_a_job_that_is_served_imports_next_to_nothing():
    program = "import sys, modp.__main__; print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert not {"argparse", "pathlib", "socket", "re", "numpy"} & set(out.split())


@pytest.mark.parametrize(
    ("switch", "main", "local", "expected"),
    [("1", True, True, True), ("0", True, True, False), ("1", False, True, False), ("1", True, False, False)],
)
def test_a_server_is_for_runs_that_start_jobs_here(monkeypatch, switch, main, local, expected):
    monkeypatch.setenv("MODP_WARM", switch)
    workflow = SimpleNamespace(is_main_process=main, local_exec=local)
    assert engines.starts_jobs_here(workflow) is expected


RULES = """
from modp.pipeline import engines, warm
WARM = warm.Server()

def claim(workflow):
    pass

def finish(workflow):
    print("finished")

rule:
    output: "facts.json"
    shell: "python -m modp schemas --do " + config["do"] + " < /dev/null > {output}"

"""


@pytest.mark.parametrize(("does", "status"), [("facts", 0), ("bad_input", 1)])
def test_snakemake_starts_a_server_and_ends_it(surroundings, tmp_path, does, status):
    """With the Snakefile's own hooks."""
    hooks = (ROOT / "Snakefile").read_text().partition("onstart:")
    (tmp_path / "Snakefile").write_text(RULES + "".join(hooks[1:]))
    temporary = tmp_path / "t"
    temporary.mkdir()
    outcome = subprocess.run(
        [sys.executable, "-m", "snakemake", "--cores", "1", "--config", f"do={does}"],
        env=surroundings | {"TMPDIR": str(temporary)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcome.returncode == status, outcome.stderr
    assert not list(temporary.glob("modp-*"))
    if status:
        assert "no good" in outcome.stderr
    else:
        assert json.loads((tmp_path / "facts.json").read_text())["served"]
        assert "finished" in outcome.stdout
