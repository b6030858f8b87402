"""Times of convolution by Fourier transforms beside the direct kernels, and a yardstick: cuFFT."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from helpers import checking
from helpers.problems import conv1d, conv2d
from helpers.problems.fft_conv1d import OverlapAdd, conv1d_atol, conv1d_launch
from helpers.problems.fft_conv2d import Tiles, conv2d_launch

CUFFT = "cuFFT through CuPy"


def checked_launches(
    spec: OverlapAdd,
    data: conv1d.PeriodicData,
    checker: conv1d.Checker,
    source: int,
    output: int,
    filter: np.ndarray,
    *,
    yardstick: bool,
) -> dict[str, tuple[Callable[[Any], None], checking.Verdict]]:
    """Return name -> (launch, verdict) of the fastest direct kernel, of overlap-add and of cuFFT.

    yardstick: whether to include cuFFT, if CuPy is installed. The direct kernel's outputs go to
    ``checker.want``, those of the others to ``output``, where each is compared with the direct
    kernel's; windows of all are compared with the oracle. Raises checking.CheckError for wrong
    outputs.
    """
    direct = conv1d.conv1d_named(conv1d.BEST)
    runs = {direct.name: conv1d.conv1d_launch(direct, data.n, source, checker.want, filter)}
    runs[spec.name] = conv1d_launch(spec, data.n, source, output, filter)
    if yardstick and (launch := cufft_launch(spec, data.n, source, output, filter)):
        runs[CUFFT] = launch
    slack = conv1d_atol(spec, data.period, filter) / conv1d.conv1d_atol(data.period, filter)
    ready = {}
    for name, start in runs.items():
        where = checker.want if name == direct.name else output
        checker.poison(where)
        start(None)
        try:
            times = 1.0 if name == direct.name else slack
            ready[name] = start, checker.everywhere(where, filter, name, times)
        except checking.CheckError as error:
            # A wrong yardstick must not stop the measurement of the kernels.
            if name != CUFFT:
                raise
            print(f"{CUFFT} is left out: {error}")
    return ready


def checked_layers(
    spec: Tiles, direct: str, problem: conv2d.Problem, filter: np.ndarray
) -> dict[str, tuple[Callable[[Any], None], checking.Verdict]]:
    """Return name -> (launch, verdict) of the layer's kernel ``direct`` and of the tiles.

    problem: on the device. filter: float32, the problem's, on the host. Raises checking.CheckError
    for wrong outputs: the tiles must keep the error bound of a direct sum, which for K >= 3 is wide
    enough for transforms of up to 4,096 points.
    """
    run = conv2d.compile(direct, problem.shape)
    runs = {direct: lambda stream: run.launch(problem.y, problem.x, problem.filter, stream)}
    runs[spec.name] = conv2d_launch(spec, problem.shape, problem.y, problem.x, filter)
    ready = {}
    for name, start in runs.items():
        problem.poison()
        start(None)
        ready[name] = start, problem.check(name)
    return ready


# --------------------------------------------------------------------------------------------------
# The yardstick


def cufft_launch(
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
        print(f"{CUFFT} is left out: {type(error).__name__}: {error}")
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
