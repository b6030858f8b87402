"""Jupyter kernels that begin as a copy of one prepared process, so that each starts at once.

A new kernel imports IPython, Matplotlib, SciPy and the helpers of the labs, which takes longer than
most of the labs' cells. Here one process imports them, and forks for each kernel. A kernel is still
a process of its own, with its own variables, folder and environment. Nothing of CUDA is loaded
before the fork, and no thread runs.

use()                   from now on, the kernels that this process starts are such copies; other
                        systems than Linux start them as ever
importing(module)       in this context, they import a module before their first cell
start(env)              the prepared process for this environment

A request is one message on a socket, and so is its answer, which repeats the request's number. A
request with "argv", "env", "cwd", "modules" and "quiet" is answered by a process number, one with
"poll" and a process number by the exit status, or null while the kernel runs.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import EntryPoint
from typing import Any

from jupyter_client.provisioning import KernelProvisionerFactory, LocalProvisioner

NAME = "forked-kernels"
# Read when modules are imported: kernels whose values differ are not forked from one process.
_OF_IMPORTS = ("PYTHON", "MPL", "OMP_", "OPENBLAS_", "LD_", "HOME", "XDG_")
# The first is Jupyter's for each kernel, because the kernel's debugger warns of frozen modules.
_OPTIONS = ("-Xfrozen_modules=off", "-P")
_LONGEST = 1 << 20  # bytes of a message: an environment is far below
_MODULES = (
    "helpers.labs.jsonschema_import",
    "ipykernel.debugger",
    "ipykernel.kernelapp",
    "ipykernel.ipkernel",
    "matplotlib.pyplot",
    "scipy.signal",
    "helpers.bench",
    "helpers.bench.hardware",
    "helpers.checking",
    "helpers.device",
    "helpers.exercises",
    "helpers.jupyterlab.kernel_magic",
    "helpers.kernels",
    "helpers.limits",
    "helpers.plotting",
    "helpers.problems.conv2d",
    "helpers.simulator",
    "helpers.bench.sass",
)


# --------------------------------------------------------------------------------------------------
# the process that starts kernels


class EndedError(RuntimeError):
    """The process that starts kernels has ended, and so do its kernels within a second."""


class Forked:
    """A kernel's process, with those methods of subprocess.Popen that Jupyter calls."""

    stdin = stdout = stderr = None

    def __init__(self, prepared: Prepared, pid: int) -> None:
        self.pid = pid
        self._prepared = prepared
        self._status: int | None = None

    def poll(self) -> int | None:
        """Return the exit status, None while the process runs; 1 if all ended with their parent."""
        if self._status is None:
            try:
                self._status = self._prepared.ask(poll=self.pid)
            except EndedError:
                self._status = 1
        return self._status

    def wait(self) -> int | None:
        """Return the exit status of a process that has ended; Jupyter polls before it waits."""
        return self.poll()

    def send_signal(self, number: int) -> None:
        """Send a signal to the process, if it runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask the process to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End the process."""
        self.send_signal(signal.SIGKILL)


class Prepared:
    """The process that has imported what kernels need, and forks for each of them."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._lock = threading.Lock()
        self._asked = 0
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, *_OPTIONS, "-m", __name__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                env=dict(env),
                start_new_session=True,  # Ctrl-C is for the process that starts kernels
            )

    def has_ended(self) -> bool:
        """Return whether the process has ended."""
        return self._process.poll() is not None

    def ask(self, **request: Any) -> Any:
        """Return the answer to a request. Raises EndedError."""
        with self._lock:
            self._asked += 1
            try:
                self._socket.send(json.dumps({"number": self._asked, **request}).encode())
                while message := self._socket.recv(_LONGEST):
                    number, answer = json.loads(message)
                    if number == self._asked:  # others were for a request that Ctrl-C cut off
                        return answer
            except ConnectionError:
                pass
        raise EndedError(
            f"the process that starts kernels has ended (status {self._process.wait()}): "
            "see its error above"
        )


_imported: list[str] = []  # by kernels that start now


@contextmanager
def importing(module: str) -> Iterator[None]:
    """Let the kernels that start in this context import a module before their first cell."""
    _imported.append(module)
    try:
        yield
    finally:
        _imported.remove(module)


_prepared: dict[frozenset[tuple[str, str]], Prepared] = {}


def start(env: Mapping[str, str]) -> Prepared:
    """Return the prepared process for kernels of this environment; start it for the first one, and
    where it has ended.
    """
    key = frozenset((name, env[name]) for name in env if name.startswith(_OF_IMPORTS))
    if key not in _prepared or _prepared[key].has_ended():
        _prepared[key] = Prepared(env)
    return _prepared[key]


class Provisioner(LocalProvisioner):
    """Starts a kernel by a fork, where LocalProvisioner starts a new Python."""

    process: Any = None

    async def launch_kernel(self, cmd: list[str], **how: Any) -> Any:
        """Start the kernel; return what it is connected by."""
        prepared = start(how["env"])
        pid = prepared.ask(
            argv=cmd[cmd.index("-f") :],
            env=dict(how["env"]),
            cwd=str(how.get("cwd") or os.getcwd()),
            modules=_imported,
            quiet=how.get("stderr") is not None,
        )
        self.process = Forked(prepared, pid)
        self.pid = self.pgid = pid
        return self.connection_info


def use() -> None:
    """Start the kernels of this process by forks from now on, on Linux."""
    if sys.platform != "linux":  # elsewhere a fork may break what the system's libraries hold
        return
    factory = KernelProvisionerFactory.instance()
    factory.provisioners[NAME] = EntryPoint(
        NAME, f"{__name__}:{Provisioner.__name__}", factory.GROUP_NAME
    )
    factory.default_provisioner_name = NAME


# --------------------------------------------------------------------------------------------------
# the prepared process


def _prepare() -> None:
    """Import what labs import, and draw a figure, whose fonts take a while to be found."""
    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    for name in _MODULES:
        import_module(name)
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained")
    figure.subplots().set_title("a title", loc="left")
    figure.savefig(os.devnull, format="png")


def _serve(requests: socket.socket) -> dict[str, Any] | None:
    """Answer requests until their socket is closed; in a fork, return the request."""
    while message := requests.recv(_LONGEST):
        request = json.loads(message)
        if "poll" in request:
            pid, status = os.waitpid(request["poll"], os.WNOHANG)
            answer = os.waitstatus_to_exitcode(status) if pid else None
        else:
            answer = os.fork()
            if not answer:
                return request
        requests.send(json.dumps([request["number"], answer]).encode())
    return None


def _run_kernel(request: Mapping[str, Any]) -> None:
    """Be the kernel, in a session, folder and environment of its own."""
    from ipykernel.kernelapp import IPKernelApp

    parent = os.getppid()
    os.setsid()
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    if request["quiet"]:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    for name in request["modules"]:
        import_module(name)
    # The kernel ends when its parent does.
    IPKernelApp.launch_instance([*request["argv"], f"--IPKernelApp.parent_handle={parent}"])


def main(arguments: Sequence[str]) -> None:
    """Serve the socket of this number."""
    _prepare()
    with socket.socket(fileno=int(arguments[0])) as requests:
        request = _serve(requests)
    if request is not None:
        _run_kernel(request)


if __name__ == "__main__":
    main(sys.argv[1:])
