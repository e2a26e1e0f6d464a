"""Let the run's server, :mod:`modp.pipeline.warm`, run a step for a process that has just been started.

It has imported what the step needs. So this module imports next to nothing: what it takes is added to
every job.
"""

import _socket  # a tenth of what importing socket takes
import os
import sys

SOCKET = "MODP_WARM_SOCKET"
"""The environment variable that names the server's socket."""

ACCEPTED = b"+"
"""What the server says before it runs a step; it hangs up on what it does not run."""

INTERRUPTED = b"i"
"""What a client says on Ctrl-C."""

HEADER_BYTES = 8
"""The length of a request, sent before it together with standard input, output and error."""

FREE = frozenset(
    ("_", "OLDPWD", "PS1", "PS2", "PWD", "SHLVL", "TEMP", "TEMPDIR", "TMP", "TMPDIR"),
)
"""Variables that Snakemake and the shell set anew for each job; in all others, it must equal the server."""


def likeness(environment: dict[str, str]) -> str:
    """Return what must be equal in two processes for one to run a step in the other's place."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
    fixed = sorted(item for item in environment.items() if item[0] not in FREE)
    python = sys.version, sys.prefix, sys.flags, sys.warnoptions, sys._xoptions
    return ascii((package, python, fixed))


def run_elsewhere(arguments: list[str]) -> int | None:
    """Let the server run a step; return its exit status, None if the step has not been begun."""
    address = os.environ.get(SOCKET)
    if not address:
        return None
    connection = _socket.socket(_socket.AF_UNIX)
    try:
        connection.connect(address)
        request = _request(arguments)
        files = b"".join(file.to_bytes(4, sys.byteorder) for file in range(3))
        header = len(request).to_bytes(HEADER_BYTES, "big")
        connection.sendmsg([header], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, files)])
        connection.sendall(request)
        if connection.recv(1) != ACCEPTED:
            return None
    except OSError:
        return None
    return _status(connection)


def _request(arguments: list[str]) -> bytes:
    mask = os.umask(0)
    os.umask(mask)
    environment = dict(os.environ)
    request = {
        "likeness": likeness(environment),
        "arguments": arguments,
        "folder": os.getcwd(),  # noqa: PTH109
        "umask": mask,
        "environment": environment,
    }
    return ascii(request).encode()


def _status(connection: _socket.socket) -> int:
    """Wait for the step's exit status."""
    answer = b""
    while more := _heard(connection):
        answer += more
    if not answer:
        print("error: the server that ran this step has ended", file=sys.stderr)
    return int(answer or 1)


def _heard(connection: _socket.socket) -> bytes:
    """Return what the server says next, nothing at its end; let it know of Ctrl-C."""
    while True:
        try:
            try:
                return connection.recv(16)
            except KeyboardInterrupt:
                # The terminal interrupts only its own processes, and the step is in another session.
                connection.sendall(INTERRUPTED)
        except OSError:
            return b""
