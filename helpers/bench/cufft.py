"""Overlap-add by cuFFT, through CuPy: the yardstick of the kernels that transform."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from helpers.problems.fft_conv1d import OverlapAdd

LIBRARY = "cuFFT"


def launcher(
    spec: OverlapAdd, n: int, source: int, output: int, filter: np.ndarray
) -> Callable[[Any], None] | None:
    """Return ``launch(stream)`` of the same overlap-add by cuFFT; None without CuPy.

    Each of its steps goes through global memory, see `overlap_add_by`. The arrays are n float32 on
    the device.
    """
    cupy = _cupy()
    if cupy is None:
        return None

    def view(address: int) -> Any:
        memory = cupy.cuda.UnownedMemory(int(address), 4 * n, owner=None)
        return cupy.ndarray((n,), cupy.float32, cupy.cuda.MemoryPointer(memory, 0))

    step = overlap_add_by(cupy, spec, view(source), view(output), filter)

    def launch(stream: Any) -> None:
        with cupy.cuda.ExternalStream(stream.handle if stream else 0):
            step()

    return launch


@functools.lru_cache(maxsize=1)
def _cupy() -> Any:
    """Return CuPy; if it is not installed or does not start, say so once and return None."""
    try:
        import cupy

        cupy.fft.rfft(cupy.zeros(8, cupy.float32))
    except Exception as error:  # A broken installation may raise anything, and CuPy is optional.
        print(f"{LIBRARY} is left out: {type(error).__name__}: {error}")
        return None
    return cupy


def overlap_add_by(
    xp: Any, spec: OverlapAdd, N: Any, P: Any, filter: np.ndarray
) -> Callable[[], None]:
    """Return a function that fills P from N by the steps of overlap-add.

    The steps: pad, transform, multiply, transform back, add. xp: CuPy, or NumPy to test the steps.
    N, P: its float32 arrays of shape (n,). filter: float32, on the host.
    """
    n, width, segment = N.size, filter.size, spec.segment(filter.size)
    whole, count = n // segment, -(-n // segment)
    spectrum = xp.fft.rfft(xp.asarray(np.ascontiguousarray(filter[::-1])), spec.size)
    padded = xp.zeros((count, spec.size), xp.float32)
    full = xp.zeros((count + 1) * segment, xp.float32)  # the last tail has at most `segment` sums

    def step() -> None:
        padded[:whole, :segment] = N[: whole * segment].reshape(whole, segment)
        if whole < count:
            padded[whole, : n - whole * segment] = N[whole * segment :]
        back = xp.fft.irfft(xp.fft.rfft(padded, axis=1) * spectrum, spec.size, axis=1)
        full[: count * segment].reshape(count, segment)[...] = back[:, :segment]
        full[count * segment :] = 0
        full[segment:].reshape(count, segment)[:, : width - 1] += back[:, segment:]
        P[...] = full[width // 2 : width // 2 + n]

    return step
