"""A SLURM of one node on this machine, from Debian's packages slurm-wlm and munge, in a folder of its own."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "scontrol")
PATH = os.pathsep.join([os.environ["PATH"], "/usr/sbin", "/sbin"])
CONFIGURATION = Path("/etc/slurm/slurm.conf")
"""Where SLURM's programs look if the environment does not say: Snakemake's jobs take such variables away."""

MEMORY_MB = 3000
CORES = 2


def lacking() -> list[str]:
    """The programs that are not installed, and what else is in the way."""
    missing = [name for name in PROGRAMS if shutil.which(name, path=PATH) is None]
    if os.geteuid() != 0:
        missing.append("root, who alone can start it")
    if CONFIGURATION.exists():
        missing.append(f"a machine without a SLURM of its own ({CONFIGURATION})")
    return missing


@dataclass(frozen=True)
class Node:
    """A running SLURM: the environment in which its commands, and jobs, find it."""

    environment: dict[str, str]

    def ask(self, *command: str) -> str:
        """What one of its commands prints."""
        env = os.environ | self.environment
        return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout

    def jobs(self, state: str) -> list[tuple[str, str]]:
        """(number, comment, which names the rule) of the jobs in a state, such as RUNNING."""
        lines = self.ask("squeue", "--noheader", "--states", state, "--format", "%A|%k").splitlines()
        return [tuple(line.split("|", 1)) for line in lines]  # type: ignore[misc]


@contextmanager
def started(folder: Path) -> Iterator[Node]:
    """Start the daemons, wait until the node takes jobs, and end them, their jobs with them."""
    host = socket.gethostname().partition(".")[0]
    folder.mkdir(mode=0o755)
    environment = {"PATH": PATH, "SLURM_CONF": str(folder / "slurm.conf")}
    _write(folder, host)
    daemons = {
        "munged": _munged(folder),
        "slurmctld": ["slurmctld", "-D", "-f", str(folder / "slurm.conf")],
        "slurmd": ["slurmd", "-D", "-N", host, "-f", str(folder / "slurm.conf")],
    }
    running: list[subprocess.Popen] = []
    CONFIGURATION.parent.mkdir(exist_ok=True)
    CONFIGURATION.symlink_to(folder / "slurm.conf")
    try:
        for name, command in daemons.items():
            with (folder / f"{name}.log").open("wb") as log:
                running.append(
                    subprocess.Popen(command, env=os.environ | environment, stdout=log, stderr=log)
                )
            if name == "munged":
                _wait(lambda: (folder / "munge/socket").exists(), f"munged did not start; see {folder}")
        node = Node(environment)
        _wait(lambda: "idle" in _state(node), f"the node did not come up; see {folder}")
        yield node
        node.ask("scancel", "--full", "--user", "root")
    finally:
        CONFIGURATION.unlink()
        for process in reversed(running):
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _munged(folder: Path) -> list[str]:
    """The command that runs munged, which signs who asks, with a key, a socket and files of its own."""
    place = folder / "munge"
    place.mkdir(mode=0o755)
    key = place / "key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o400)
    files = [f"--{what}-file={place}/{what}" for what in ("key", "log", "pid", "seed")]
    return ["munged", "--foreground", "--force", f"--socket={place}/socket", *files]


def _write(folder: Path, host: str) -> None:
    """Write slurm.conf: no accounts, one node, whose address is this machine's own."""
    control, node = _free_ports(2)
    for name in ("state", "spool"):
        (folder / name).mkdir()
    (folder / "slurm.conf").write_text(
        f"""ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={control}
SlurmdPort={node}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
ReturnToService=2
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SchedulerParameters=sched_interval=2,batch_sched_delay=0
KillWait=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={CORES} RealMemory={MEMORY_MB} State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP
""",
        encoding="utf-8",
    )


def _free_ports(number: int) -> list[int]:
    """Ports that nobody listens on."""
    sockets = [socket.socket() for _ in range(number)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def _state(node: Node) -> str:
    try:
        return node.ask("sinfo", "--noheader", "--format", "%T")
    except subprocess.CalledProcessError:
        return ""


def _wait(until, complaint: str, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not until():
        if time.monotonic() > end:
            raise TimeoutError(complaint)
        time.sleep(0.2)
