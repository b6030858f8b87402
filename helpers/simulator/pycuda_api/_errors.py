"""PyCUDA's exception classes, in PyCUDA's hierarchy, and the wording of the driver's error
codes.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from helpers.simulator.findings import Finding

INVALID_ARGUMENT = "invalid argument"
INVALID_CONTEXT = "invalid device context"
INVALID_DEVICE = "invalid device ordinal"
INVALID_HANDLE = "invalid resource handle"
NOT_FOUND = "named symbol not found"
NOT_INITIALIZED = "initialization error"
NOT_SUPPORTED = "operation not supported"
OUT_OF_MEMORY = "out of memory"
PEER_ENABLED = "peer access is already enabled"
PEER_NOT_ENABLED = "peer access has not been enabled"


class Error(Exception):
    """Base of everything that PyCUDA raises."""


class MemoryError(Error, builtins.MemoryError):
    """The device has no room for an allocation."""


class LogicError(Error):
    """A call that the driver refuses: a wrong argument, handle, size or order of calls."""


class LaunchError(Error):
    """A kernel that went wrong while it ran; in the simulator, `finding` is the record of what and
    where.
    """

    finding: Finding | None = None


class RuntimeError(Error):
    """The device or the driver failed."""


class CompileError(Error):
    """A source that does not compile.

    msg: one line; command_line: list of str or None; stdout, stderr: what the compiler wrote, with
    file and line.
    """

    def __init__(
        self,
        msg: str,
        command_line: Sequence[str] | None,
        stdout: str | None = None,
        stderr: str | None = None,
    ):
        super().__init__(msg, command_line, stdout, stderr)
        self.msg = msg
        self.command_line = command_line
        self.stdout = stdout
        self.stderr = stderr

    def __str__(self) -> str:
        parts = [self.msg]
        if self.command_line:
            parts.append(f"[command: {' '.join(self.command_line)}]")
        parts += [
            f"[{name}:\n{text}]"
            for name, text in (("stdout", self.stdout), ("stderr", self.stderr))
            if text
        ]
        return "\n".join(parts)


class SimulatorWarning(UserWarning):
    """A race, an uninitialised read or another finding that stops nothing; `finding` is its record,
    where there is one.
    """

    finding: Finding | None = None


# Tracebacks name the classes as a user imports them.
for _class in (Error, MemoryError, LogicError, LaunchError, RuntimeError, CompileError):
    _class.__module__ = "pycuda.driver"


def message(call: str, reason: str, detail: str = "") -> str:
    """The text of an error as PyCUDA writes it, "cuMemAlloc failed: invalid argument", and then
    what is wrong.
    """
    return f"{call} failed: {reason}" + (f" - {detail}" if detail else "")
