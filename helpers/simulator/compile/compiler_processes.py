"""Processes of NVIDIA's compilers that live longer than a call.

A call uses a waiting process of its kind, or starts one. A source that crashes a compiler ends only
that process, and so does Ctrl-C. Messages are those of nvrtc_worker.py.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, cast

from . import nvrtc_worker, toolkit


class Process(subprocess.Popen):
    """A compiler's process with its two pipes. kind: what it has in common with its requests."""

    def __init__(
        self, kind: Hashable, arguments: Sequence[str], environment: Mapping[str, str], folder: Path
    ) -> None:
        self.kind = kind
        with toolkit.fixed_addresses():
            super().__init__(
                arguments,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment,
                cwd=folder,
            )
        self.requests, self.answers = cast(BinaryIO, self.stdin), cast(BinaryIO, self.stdout)

    def end(self) -> int:
        """End the process, if it still runs, and return its exit status."""
        for stream in (self.requests, self.answers):
            with suppress(OSError):  # the rest of the request has no reader any more
                stream.close()
        try:
            return self.wait(0.2)
        except subprocess.TimeoutExpired:
            self.kill()
            return self.wait()


class Processes:
    """The processes of one compiler. most: how many may wait; start: starts one of a kind."""

    def __init__(self, most: int, start: Callable[[Hashable], Process]):
        self.waiting: list[Process] = []
        self._most, self._start = most, start
        self._lock = threading.Lock()
        atexit.register(self.end)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def ask(self, kind: Hashable, request: Sequence[str]) -> tuple[list[bytes] | None, int]:
        """Return the answer of a process of a kind and 0, or None and the exit status if the
        process ended before it answered.
        """
        answer, status = None, 0
        # A waiting process may have ended meanwhile: the system ends processes when memory runs
        # out.
        for process in (self._waiting_one(kind), None):
            process = process or self._start(kind)
            try:
                answer, status = _ask(process, request)
            except BaseException:  # after Ctrl-C, nobody would read this process's answer
                process.end()
                raise
            if answer is not None:
                self._give_back(process)
                break
        return answer, status

    def _waiting_one(self, kind: Hashable) -> Process | None:
        with self._lock:
            for process in reversed([one for one in self.waiting if one.kind == kind]):
                self.waiting.remove(process)
                if process.poll() is None:
                    return process
        return None

    def _give_back(self, process: Process) -> None:
        with self._lock:
            self.waiting.append(process)
            oldest = self.waiting.pop(0) if len(self.waiting) > self._most else None
        if oldest is not None:
            oldest.end()

    def end(self) -> None:
        """End the waiting processes."""
        while self.waiting:
            self.waiting.pop().end()

    def _forget(self) -> None:
        """Forget all processes: after a fork, the pipes belong to the parent."""
        self._lock = threading.Lock()
        self.waiting.clear()


def _ask(process: Process, request: Sequence[str]) -> tuple[list[bytes] | None, int]:
    """Return the answer and 0, or None and the exit status if the process ended."""
    try:
        nvrtc_worker.send(process.requests, request)
        answer = nvrtc_worker.receive(process.answers)
    except OSError:
        answer = None
    return answer, process.end() if answer is None else 0
