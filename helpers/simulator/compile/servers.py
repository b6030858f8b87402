"""NVIDIA's programs as servers: one that has begun already takes a text, and a child of it goes on.

A program reads headers or fills tables before it comes to the text, which takes four fifths of a
small kernel's time. Only the second call of its kind starts a server: it pays from the third one
on, and many programs make one. What a server answers is what a call of its own says.
"""

from __future__ import annotations

import os
from collections.abc import Hashable
from functools import cache
from pathlib import Path
from typing import ClassVar, NamedTuple, Protocol

from . import toolchain, toolkit
from .compiler_processes import Process, Processes
from .toolchain import CompileFailed

# Without a library of C++: the programs have none of their own.
_GATE_FLAGS = ("-O2", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics", "-Wl,--as-needed")

_is_served = [True]


class Call(Hashable, Protocol):
    """What a call of a program depends on beside the text.

    source, result: the files of the text and of what the program makes of it; gate: the file at
    whose opening a server waits for texts; all in the folder in which the program runs.
    """

    source: ClassVar[str]
    gate: ClassVar[str]
    result: ClassVar[str]

    def command(self, folder: Path) -> list[str]:
        """Write all but the text into a folder, and return the command that runs there."""
        ...


class Done(NamedTuple):
    """How a call ended. status: of its exit, below 0 the signal that ended it; result: the bytes of
    the file that it wrote, empty if there is none; said: its messages.
    """

    status: int
    result: bytes
    said: str


class Servers:
    """The servers of one program."""

    def __init__(self) -> None:
        self.called: set[Call] = set()
        # As many as work at the same time: each keeps its memory, cicc 50 MB.
        self.processes = Processes(os.cpu_count() or 1, _Server)

    def run(self, call: Call, text: str) -> Done:
        """Return what the program does with a text."""
        answer = None
        if call in self.called and _is_served[0] and _gate() is not None:
            answer, _ = self.processes.ask(call, [text])
        self.called.add(call)
        if answer is None:
            return _run_once(call, text)
        status, result, said = answer
        return Done(int(status), result, said.decode(errors="replace"))


def never_serve() -> None:
    """Start a program anew for each text: for a process that may not build the servers' library."""
    _is_served[0] = False


def _run_once(call: Call, text: str) -> Done:
    with toolkit.scratch() as folder:
        command = call.command(folder)
        (folder / call.source).write_text(text, encoding="utf-8", errors="replace")
        done = toolkit.run(command, folder)
        result = folder / call.result
        written = result.read_bytes() if result.exists() else b""
        return Done(done.returncode, written, done.stderr + done.stdout)


@cache
def _gate() -> Path | None:
    """Return the library that makes a server of a program, None where it cannot be built."""
    text = Path(__file__).with_name("server_gate.cpp").read_text(encoding="utf-8")
    try:
        return toolchain.shared_library("server_gate", text, _GATE_FLAGS)
    except (toolchain.CompilerMissingError, CompileFailed, toolchain.CacheError):
        return None


class _Server(Process):
    """A program with server_gate.cpp. A request is a text; see there for its answer."""

    def __init__(self, kind: Hashable) -> None:
        call: Call = kind  # type: ignore[assignment]
        self._scratch = toolkit.scratch()
        folder = self._scratch.__enter__()
        command = call.command(folder)
        (folder / call.source).touch()
        own = {
            "LD_PRELOAD": str(_gate()),
            "TMPDIR": str(folder),
            "SERVER_GATE": call.gate,
            "SERVER_SOURCE": call.source,
            "SERVER_RESULT": call.result,
        }
        super().__init__(call, command, toolkit.environment() | own, folder)

    def end(self) -> int:
        status = super().end()
        self._scratch.__exit__(None, None, None)
        return status
