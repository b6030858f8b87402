"""What runs in the box: a server that takes one job at a time, each in a process of its own.

It is run as a script, with a Unix socket as standard input. The first message says which folders
hold Python modules and what to load; each later one brings two files: a job to read, and an empty
one for the answer. Whatever a job does, the server says how its process ended, and ends what the
job has started.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import shutil
import signal
import socket
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
MOST_HEADER = 1 << 20
MEMORY, BROKEN = 77, 78  # exit statuses of a job's process


def main() -> None:
    """Serve until the other end of the socket is closed."""
    channel = socket.socket(fileno=0)
    first = json.loads(channel.recv(MOST_HEADER))
    confine = _confine_module()
    if first["root"]:
        # Where the kernel allows none, Landlock alone stands before the files.
        with contextlib.suppress(OSError):
            confine.own_root(first["root"], first["shown"], first["folders"])
    confine.hide()
    confine.adopt_orphans()
    # As root no longer, from here on; nothing of a student's has been read yet.
    confine.drop_root(first["uid"])
    confine.limit({"core": 0})
    sys.path[:] = [*(one for one in sys.path if one != HERE), *first["path"]]
    os.environ["HALO_CACHE"] = first["cache"]
    if first["toolkit"]:
        os.environ["HALO_CUDA"] = first["toolkit"]
    os.environ["TMPDIR"] = tempfile.tempdir = first["scratch"]
    with contextlib.suppress(OSError):
        os.chdir(first["scratch"])
    try:
        if first["kind"] == "kernel":
            _load_simulator(first["machine"])
        else:
            with contextlib.suppress(ImportError):
                import numpy  # noqa: F401
            sys.path.insert(0, HERE)
            importlib.import_module("python_job")

            sys.path.remove(HERE)
        if first["landlock"]:
            confine.landlock(first["read"], [first["scratch"], "/dev/null"])
        confine.seccomp()
        problem = ""
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
    channel.sendall(json.dumps({"ready": not problem, "problem": problem}).encode())
    while not problem:
        message, files, _, _ = socket.recv_fds(channel, MOST_HEADER, 2)
        if not message or len(files) != 2:
            break
        channel.sendall(
            json.dumps(_serve(channel, json.loads(message), files, first, confine)).encode()
        )


def _confine_module() -> Any:
    import importlib.util

    spec = importlib.util.spec_from_file_location("halo_confine", os.path.join(HERE, "confine.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _load_simulator(machine: str) -> None:
    """Do once what each job would do first: import, load the machine from its file, look up
    compilers.

    Nothing is compiled or launched: that would leave threads behind, and a process with threads
    cannot be forked safely.
    """
    from helpers.course import kernel_job  # noqa: F401
    from helpers.simulator.compile import front_ends, servers, standard_headers, toolkit
    from helpers.simulator.machine import library
    from helpers.simulator.program import encoded

    library.use(Path(machine))
    library.machine()
    library.operation_ids()
    standard_headers.headers()
    front_ends.fingerprint()
    encoded._encoder()
    toolkit.include_directories()
    toolkit.host_compiler()
    servers.never_serve()


def _serve(
    channel: socket.socket,
    header: dict[str, Any],
    files: list[int],
    first: dict[str, Any],
    confine: Any,
) -> dict[str, Any]:
    """Run one job, and say how it ended."""
    job, answer = files
    scratch = tempfile.mkdtemp(dir=first["scratch"])
    process = os.fork()
    if process == 0:
        _child(channel, job, answer, scratch, header, first, confine)
    os.close(job)
    os.close(answer)
    _, status, used = os.wait4(process, 0)
    _end_others(process, first["alone"])
    written = bytes_in(scratch, header["scratch"])
    with contextlib.suppress(RecursionError):  # below a thousand folders; the box goes with them
        shutil.rmtree(scratch, ignore_errors=True)
    return {"status": status, "cpu": used.ru_utime + used.ru_stime, "files": written}


def bytes_in(folder: str, most: int) -> int:
    """Return the disk space of all files and folders below a folder, in bytes: of each at least
    4096, for an empty one takes room, too. Nothing is counted on above `most`.
    """
    total, waiting = 0, [folder]
    while waiting and total <= most:
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                total += max(entry.stat(follow_symlinks=False).st_blocks * 512, 4096)
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
    return total


def _child(
    channel: socket.socket,
    job: int,
    answer: int,
    scratch: str,
    header: dict[str, Any],
    first: dict[str, Any],
    confine: Any,
) -> None:
    status = BROKEN
    try:
        os.setsid()
        signal.signal(
            signal.SIGXFSZ, signal.SIG_IGN
        )  # a write that goes too far then fails as an error
        channel.detach()
        null = os.open("/dev/null", os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)  # the socket, too
        os.close(null)
        os.environ["TMPDIR"] = os.environ["HALO_CACHE"] = tempfile.tempdir = scratch
        os.chdir(scratch)
        if first["landlock"]:
            confine.landlock(first["read"], [scratch, "/dev/null"])
        with os.fdopen(job, "rb") as file:
            message = file.read()
        confine.limit(header["limits"])
        if first["kind"] == "kernel":
            from helpers.course.kernel_job import run
        else:
            confine.seccomp(confine.SIGNALS)
            run = importlib.import_module("python_job").run
        run(message, answer)
        status = 0
    except MemoryError:
        status = MEMORY
    finally:
        os._exit(status)


def _end_others(leader: int, alone: bool) -> None:
    """End whatever a job has left behind."""
    with contextlib.suppress(OSError):
        os.killpg(leader, signal.SIGKILL)
    for _ in range(200):
        if alone:  # every process that this one may send a signal to belongs to the box
            with contextlib.suppress(OSError):
                os.kill(-1, signal.SIGKILL)
        try:
            ended, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if ended == 0:
            if not alone:
                return
            signal.sigtimedwait([], 0.005)


if __name__ == "__main__":
    main()
