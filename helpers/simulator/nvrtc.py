"""NVIDIA's run-time compiler: CUDA source to PTX in milliseconds, by processes that outlive a call.

Each call takes a process that waits, or starts one. A source that crashes the compiler ends that
process and nothing else, and so does Ctrl-C.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

from . import nvrtc_worker, standard_headers, toolkit

_MOST_WAITING = 2


class _Process(subprocess.Popen):
    """A process of nvrtc_worker.py, with its two pipes."""

    def __init__(self) -> None:
        super().__init__(
            [sys.executable, "-I", "-S", str(Path(nvrtc_worker.__file__))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=toolkit.environment(),
            cwd=toolkit.root(),
        )
        self.requests, self.answers = cast(BinaryIO, self.stdin), cast(BinaryIO, self.stdout)
        library, builtins = map(str, toolkit.nvrtc_libraries())
        first = {"library": library, "builtins": builtins, "headers": standard_headers.headers()}
        nvrtc_worker.send(self.requests, first)


_lock = threading.Lock()
_waiting: list[_Process] = []


class CompilerCrashed(Exception):
    """The compiler's process ended before it answered; the message says how."""


def compile(text: str, file: str, options: Sequence[str]) -> tuple[str | None, str]:
    """PTX, None for a source that the compiler refuses, and its messages.

    Raises CompilerCrashed and toolkit.ToolkitMissingError.
    """
    request = {"text": text, "file": file, "options": list(options)}
    answer, status = None, 0
    # A process that waited may have been ended meanwhile, by whatever ends processes.
    for process in (_waiting_one(), None):
        process = process or _Process()
        try:
            answer, status = _ask(process, request)
        except BaseException:  # Ctrl-C: an answer that still comes is nobody's
            _end(process)
            raise
        if answer is not None:
            _give_back(process)
            return answer["ptx"], answer["log"]
    how = f"signal {-status}" if status < 0 else f"status {status}"
    raise CompilerCrashed(f"NVIDIA's compiler ended on this source with {how}")


def _ask(process: _Process, request: dict[str, Any]) -> tuple[dict[str, Any] | None, int]:
    """The answer, or None and the status that the process ended with."""
    try:
        nvrtc_worker.send(process.requests, request)
        answer = nvrtc_worker.receive(process.answers)
    except (OSError, ValueError):  # the second: an answer cut short
        answer = None
    return answer, _end(process) if answer is None else 0


def _waiting_one() -> _Process | None:
    with _lock:
        while _waiting:
            process = _waiting.pop()
            if process.poll() is None:
                return process
    return None


def _give_back(process: _Process) -> None:
    with _lock:
        if len(_waiting) < _MOST_WAITING:
            _waiting.append(process)
            return
    _end(process)


def _end(process: _Process) -> int:
    """Ends a process; the status that it ended with of its own, or by this."""
    for stream in (process.requests, process.answers):
        with suppress(OSError):  # what was still to be written has no reader
            stream.close()
    try:
        return process.wait(0.2)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


@atexit.register
def _end_all() -> None:
    while _waiting:
        _end(_waiting.pop())


def _forget() -> None:
    """In a forked process, the pipes are the parent's."""
    global _lock
    _lock = threading.Lock()
    _waiting.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
