"""Faults that end everything on a GPU, and the error that says what to do."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

# Faults that destroy the context, so that every later call fails, too (from CUDA's error table).
_LOST = (
    "illegal memory access",
    "illegal instruction",
    "misaligned address",
    "invalid address space",
    "invalid program counter",
    "hardware stack error",
    "device-side assert",
    "unspecified launch failure",
    "launch failed",
    "launch timed out",
    "uncorrectable",
)


class DeviceLostError(RuntimeError):
    """A fault on the GPU destroyed the context; only a new process can use the GPU again."""


@contextlib.contextmanager
def device_faults(name: str) -> Iterator[None]:
    """Turn a GPU fault inside the block into DeviceLostError, which says what to do.

    A launch is asynchronous: put the call that waits for it (a copy back,
    ``Context.synchronize()``) inside the block, too. Other errors pass unchanged, and so do those
    of the simulator, in which a fault destroys nothing.
    """
    try:
        yield
    except Exception as error:
        if _simulated() or not is_fault(error):
            raise
        raise DeviceLostError(
            f"the GPU stopped in {name}: {error}. The CUDA context is lost with everything in it, "
            "and each later call would fail too. Restart the notebook's kernel (Kernel > Restart) "
            "and run again from the top. To see which line and index it was, "
            "run the same source through helpers.simulator.check."
        ) from error


def is_fault(error: Exception) -> bool:
    """Return whether an error says that a kernel faulted, on a GPU or in the simulator."""
    message = str(error).lower()
    found = getattr(error, "finding", None) is not None
    return found or any(fault in message for fault in _LOST)


def _simulated() -> bool:
    """Return whether `import pycuda` imports the simulator in this process."""
    return getattr(sys.modules.get("pycuda"), "_halo_simulator", False)
