"""PyCUDA's exception classes, in PyCUDA's hierarchy, and the wording of the driver's error
codes.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence

from helpers.simulator.findings.findings import Finding

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
    """The device has not enough free memory for an allocation."""


class LogicError(Error):
    """The driver refuses a call: an argument, handle, size or the order of calls is wrong."""


class LaunchError(Error):
    """A kernel failed while it ran; in the simulator, `finding` says what happened and where."""

    finding: Finding | None = None


class RuntimeError(Error):
    """The device or the driver failed."""


class CompileError(Error):
    """A source does not compile.

    msg: one line; command_line: list of str or None; stdout, stderr: the compiler's
    output with file and line.
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
    """A race, an uninitialised read or another finding that does not stop the program; `finding` is
    its record, or None.
    """

    finding: Finding | None = None


NO_TEXTURES = (
    "the simulator has no textures, surfaces and CUDA arrays: give the kernel the array as a "
    "pointer, and clamp the indices in the kernel"
)
# Tracebacks name the classes as a user imports them.
for _class in (Error, MemoryError, LogicError, LaunchError, RuntimeError, CompileError):
    _class.__module__ = "pycuda.driver"


def no_textures(call: str) -> LogicError:
    """Return the error of a call that needs textures, surfaces or CUDA arrays."""
    return logic_error(call, NOT_SUPPORTED, NO_TEXTURES)


def logic_error(call: str, reason: str, detail: str = "") -> LogicError:
    """Return the error of a call that the driver refuses."""
    return LogicError(message(call, reason, detail))


def message(call: str, reason: str, detail: str = "") -> str:
    """Return the text of an error: PyCUDA's "cuMemAlloc failed: invalid argument", then the
    detail.
    """
    return f"{call} failed: {reason}" + (f" - {detail}" if detail else "")
