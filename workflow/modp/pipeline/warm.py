"""A server that has imported what steps run, and forks for each: imports are most of a small job's work.

One belongs to each Snakemake run. It imports what a step needs when the step is first asked for, by
:mod:`modp.pipeline.handover`, and it must not have threads or a GPU, which do not survive a fork.
"""

import ast
import atexit
import contextlib
import ctypes
import gc
import importlib
import io
import itertools
import json
import os
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from modp.pipeline.handover import ACCEPTED, HEADER_BYTES, INTERRUPTED, SOCKET, likeness

ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("GOTO", "MKL", "NUMEXPR", "OMP", "OPENBLAS")} | {
    "VECLIB_MAXIMUM_THREADS": "1"
}
"""What Snakemake sets for a job on one thread. Libraries read it once, so other jobs run by themselves."""

FORKABLE = {
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    "PYTORCH_NVML_BASED_CUDA_CHECK": "1",  # without it, asking for a GPU spoils it for forks
}

LATE = {
    "matplotlib": ("matplotlib.backends.backend_agg", "matplotlib.backends.backend_pdf", "fontTools.subset"),
    "pandas": ("pyarrow.dataset", "pyarrow.parquet"),
    "torch.optim": ("torch._dynamo",),
}
"""What libraries import only when they are first used, by a word in the files of steps that do."""

PR_SET_PDEATHSIG = 1
"""Linux's number for: send me this signal when my parent ends."""

PATIENCE_S = 5.0
"""A client that does not finish its request in this time is not served."""

PACKAGE = Path(__file__).resolve().parent.parent

Asked = tuple[str, str | None, str | None]


class Server:
    """The server of a Snakemake run, as the run sees it."""

    def __init__(self) -> None:
        """Start nothing yet."""
        self.process: subprocess.Popen | None = None

    def start(self) -> None:
        """Start the server and let jobs know of it through their environment."""
        folder = tempfile.mkdtemp(prefix="modp-")
        with socket.socket(socket.AF_UNIX) as listener:
            address = f"{folder}/socket"
            try:
                listener.bind(address)
            except OSError:  # the folder's path is too long: jobs run by themselves
                shutil.rmtree(folder)
                return
            listener.listen(socket.SOMAXCONN)
            os.environ[SOCKET] = address
            # The end of its standard input, which nobody else holds, tells it that this process has ended.
            self.process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(listener.fileno()), folder],
                stdin=subprocess.PIPE,
                env=os.environ | ONE_THREAD,
                pass_fds=[listener.fileno()],
                start_new_session=True,
            )

    def stop(self) -> None:
        """End the server, and jobs that it still runs; its processor time is then this process's."""
        if self.process and self.process.stdin:
            os.environ.pop(SOCKET, None)
            self.process.stdin.close()
            self.process.wait()
            self.process = None


@dataclass
class _Request:
    """What a client asks for, and its standard input, output and error."""

    likeness: str
    arguments: list[str]
    folder: str
    umask: int
    environment: dict[str, str]
    files: list[int]

    def close(self) -> None:
        for file in self.files:
            os.close(file)


class _Forks:
    """The server itself: one thread that waits for clients, for children, and for the run's end."""

    def __init__(self, listener: socket.socket, steps: set[str]):
        self.listener, self.steps = listener, steps
        self.likeness, self.code = likeness(dict(os.environ)), _state_of_code()
        self.children: dict[socket.socket, int] = {}
        self.prepared: set[Asked] = set()
        self.selector = selectors.DefaultSelector()
        self.waker, self.woken = socket.socketpair()  # a signal writes to one end, to be read at the other
        self.waker.setblocking(False)
        signal.set_wakeup_fd(self.waker.fileno())
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for source in (sys.stdin, self.listener, self.woken):
            self.selector.register(source, selectors.EVENT_READ)

    def serve(self) -> _Request | None:
        """Serve until the run ends: then return None; in each child, return what is asked of it."""
        while True:
            for source in [key.fileobj for key, _ in self.selector.select()]:
                if source is sys.stdin:
                    return None
                if source is self.woken:
                    self.woken.recv(4096)
                    self._reap()
                elif source is self.listener:
                    request = self._admit()
                    if request:
                        return request
                elif isinstance(source, socket.socket) and source in self.children:
                    self._hear(source)

    def end(self) -> None:
        """Kill what still runs."""
        for child in self.children.values():
            _kill(child, signal.SIGKILL)
            os.waitpid(child, 0)

    def _admit(self) -> _Request | None:
        """Fork for one client, or hang up on it; return the request in the child."""
        connection, _ = self.listener.accept()
        request = child = None
        with contextlib.suppress(OSError, ValueError, SyntaxError):
            request = _received(connection)
            if self._can_run(request):
                child = self._fork(connection)
        if child == 0:
            return request
        if request:
            request.close()
        if child:
            self.children[connection] = child
            self.selector.register(connection, selectors.EVENT_READ)
        else:
            connection.close()
        return None

    def _can_run(self, request: _Request) -> bool:
        if not request.arguments or request.arguments[0] not in self.steps:
            return False
        if request.likeness != self.likeness:
            return False
        asked = _asked(request.arguments)
        if asked not in self.prepared and self.code == _state_of_code():
            with contextlib.suppress(Exception):  # the child will meet the same, and say so
                _prepare(asked)
            self.prepared.add(asked)
        return self.code == _state_of_code() and _threads() == 1

    def _fork(self, connection: socket.socket) -> int:
        """Return 0 in the child, in the server the child's number."""
        server = os.getpid()
        gc.freeze()  # so that a child's collector does not write to, and thereby copy, all that it shares
        child = os.fork()
        with contextlib.suppress(OSError):  # both do it, since either may come first
            os.setpgid(child, child)
        if child:
            with contextlib.suppress(OSError):  # of a client that has gone, which is noticed later
                connection.sendall(ACCEPTED)
            return child
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != server:
            os._exit(1)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        self.selector.close()
        for held in (self.listener, self.waker, self.woken, connection, *self.children):
            held.close()
        return 0

    def _hear(self, connection: socket.socket) -> None:
        """Pass Ctrl-C on; a client that has gone takes its child along."""
        try:
            word = connection.recv(1)
        except OSError:
            word = b""
        if word == INTERRUPTED:
            _kill(self.children[connection], signal.SIGINT)
        else:
            _kill(self.children[connection], signal.SIGKILL)
            self.selector.unregister(connection)

    def _reap(self) -> None:
        """Tell clients the exit statuses of children that have ended."""
        for connection, child in list(self.children.items()):
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                code = os.waitstatus_to_exitcode(status)
                with contextlib.suppress(OSError):
                    connection.sendall(b"%d" % (code if code >= 0 else 128 - code))
                with contextlib.suppress(KeyError):  # of a client that has gone
                    self.selector.unregister(connection)
                connection.close()
                del self.children[connection]


def _kill(child: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, number)


def _threads() -> int:
    """Count this process's threads, those of libraries too."""
    return sum(1 for _ in Path("/proc/self/task").iterdir())


def _state_of_code() -> dict[str, tuple[int, int]]:
    """Return time and size of every module of this package, to see whether any has changed."""
    stats = {str(path): path.lstat() for path in PACKAGE.rglob("*.py")}
    return {path: (stat.st_mtime_ns, stat.st_size) for path, stat in stats.items()}


def _received(connection: socket.socket) -> _Request:
    """Read a request.

    Raises
    ------
    OSError, ValueError, SyntaxError
        if the client goes away, takes too long or says something else
    """
    connection.settimeout(PATIENCE_S)
    header, files, _, _ = socket.recv_fds(connection, HEADER_BYTES, 3)
    try:
        left = int.from_bytes(header, "big")
        text = b""
        while left > len(text):
            more = connection.recv(left - len(text))
            if not more:
                raise ConnectionError
            text += more
        connection.settimeout(None)
        return _Request(**ast.literal_eval(text.decode()), files=files)
    except BaseException:
        for file in files:
            os.close(file)
        raise


def _asked(arguments: list[str]) -> Asked:
    """Return the step, the family of its model and the kind of its figure, where it has such."""
    given = {option: value for option, value in itertools.pairwise(arguments) if option.startswith("--")}
    described = given.get("--model", "")
    family = json.loads(described).get("family") if described.startswith("{") else given.get("--family")
    return arguments[0], family, given.get("--kind")


def _prepare(asked: Asked) -> None:
    """Import what a step runs, but for what cannot be imported."""
    from modp.models.registry import family
    from modp.pipeline.engines import code_of, code_of_figure

    step, family_name, kind = asked
    code = code_of(step, family(family_name) if family_name else None)
    files = [Path(name).resolve() for name in [*code, *(code_of_figure(kind) if kind else [])]]
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    own = [".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts) for file in files]
    late = [name for word, names in LATE.items() if word in text for name in names]
    for name in (*own, *late):
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    if "numba" in sys.modules:
        _prepare_numba()


def _prepare_numba() -> None:
    """Let Numba take in what it knows of Python and NumPy, as it does before its first kernel."""
    from numba.core.registry import cpu_target

    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()


def _stand_in(request: _Request) -> int:
    """Become the client's process and run its step; return the exit status."""
    for number, file in enumerate(request.files):
        os.dup2(file, number)
    request.close()
    os.chdir(request.folder)
    os.umask(request.umask)
    os.environ.clear()
    os.environ.update(request.environment)
    tempfile.tempdir = None
    atexit._clear()  # what libraries want done at the end of the server, which takes apart what is shared
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=os.isatty(1))
    from modp import __main__ as program

    sys.argv = [program.__file__, *request.arguments]
    try:
        return program.main(request.arguments)
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except BaseException as fault:
        sys.excepthook(type(fault), fault, fault.__traceback__)
        return 128 + signal.SIGINT if isinstance(fault, KeyboardInterrupt) else 1


def _leave(status: int) -> None:
    """End this process as Python would, but without taking apart, and so copying, what it shares."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(status & 0xFF)


def _terminate(number: int, _: FrameType | None) -> None:
    raise SystemExit(128 + number)


def _main(listener: socket.socket, folder: str) -> None:
    """Serve until the run ends, or, in a child, run one step; leave no folder behind."""
    from modp.pipeline.steps import STEPS

    listener.set_inheritable(False)
    signal.signal(signal.SIGTERM, _terminate)
    server, forks = os.getpid(), _Forks(listener, set(STEPS))
    os.environ.update(FORKABLE)
    try:
        request = forks.serve()
        if request:
            _leave(_stand_in(request))
    finally:
        if os.getpid() == server:
            shutil.rmtree(folder)
            forks.end()


if __name__ == "__main__":
    _main(socket.socket(fileno=int(sys.argv[1])), sys.argv[2])
