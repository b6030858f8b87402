"""The clock of a GPU: events around a launch, the flush of L2, and the GPU's frequencies."""

from __future__ import annotations

import atexit
import contextlib
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from helpers.bench.sampling import launches_per_sample, warm_up

EVENT_STEP_MS = 0.0005  # CUDA documents a resolution of about 0.5 us for event times
MAX_HOLD_S = 0.02

_HOLD_SOURCE = """
extern "C" __global__ void hold_back(unsigned long long nanoseconds)
{
    unsigned long long start, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
    do {
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    } while (now - start < nanoseconds);
}
"""


@dataclass(frozen=True)
class Gpu:
    """The PyCUDA driver module, and the properties of the selected device for timings."""

    cuda: Any
    name: str
    l2_bytes: int
    bus_id: str


class GpuSampler:
    """Times a launch between two events on a stream; `sample()` returns ms per launch."""

    def __init__(
        self,
        gpu: Gpu,
        launch: Callable[[Any], Any],
        cache: str,
        budget_s: float,
        rewarm: bool = False,
    ):
        if cache not in ("cold", "hot"):
            raise ValueError(
                f'cache is {cache!r}; give "cold" (L2 flushed before each sample) or "hot"'
            )
        self.gpu, self.cache = gpu, cache
        self._launch, self._rewarm = launch, rewarm
        self.stream, self.start, self.end = gpu.cuda.Stream(), gpu.cuda.Event(), gpu.cuda.Event()
        self._hold_back = _hold_kernel(gpu.bus_id)
        self._flush = _flush_buffer(gpu.bus_id, gpu.l2_bytes) if cache == "cold" else None
        self.launches = 1
        self.hold_s = 0.0
        enqueue_s: list[float] = []
        warm_up(lambda: enqueue_s.append(self._enqueue()), budget_s)
        one = statistics.median(enqueue_s[-20:])
        self.hold_s = _hold_for(one)
        if cache == "hot":
            self.launches = launches_per_sample(statistics.median(self.sample() for _ in range(3)))
            self.hold_s = _hold_for(one * self.launches)

    @property
    def step(self) -> float:
        """One step of the event clock, in ms per launch."""
        return EVENT_STEP_MS / self.launches

    def sample(self) -> float:
        self._enqueue()
        return self.start.time_till(self.end) / self.launches

    def _enqueue(self) -> float:
        """Run one sample to its end; return the host's seconds to enqueue its timed part."""
        if self._flush is not None:
            self.gpu.cuda.memset_d32_async(self._flush, 0, 2 * self.gpu.l2_bytes // 4, self.stream)
        elif self._rewarm:
            self._launch(self.stream)
        if self.hold_s:
            hold_ns = np.uint64(self.hold_s * 1e9)
            self._hold_back(hold_ns, block=(1, 1, 1), grid=(1, 1), stream=self.stream)
        begin = time.perf_counter()
        self.start.record(self.stream)
        for _ in range(self.launches):
            self._launch(self.stream)
        self.end.record(self.stream)
        enqueue_s = time.perf_counter() - begin
        self.end.synchronize()
        return enqueue_s


def time_alike(a: GpuSampler, b: GpuSampler) -> None:
    """Let two samplers share their stream and events, and equal batches for similar times.

    Intervals of hot samples can be as narrow as 0.01 %, so that all of these matter: on an H200 a
    launch differed from itself in 18 of 40 comparisons in which each side had its own.
    """
    b.stream, b.start, b.end = a.stream, a.start, a.end
    if max(a.launches, b.launches) <= 2 * min(a.launches, b.launches):
        a.launches = b.launches = max(a.launches, b.launches)
        a.hold_s = b.hold_s = 2 * max(a.hold_s, b.hold_s)


def _hold_for(enqueue_s: float) -> float:
    """Return how many seconds to hold the stream back: twice the host's time to enqueue.

    It is 0 if the host takes so long that `launch` must be waiting for the stream itself.
    """
    hold = 2 * enqueue_s + 20e-6
    return hold if hold < MAX_HOLD_S else 0.0


@lru_cache(maxsize=4)
def _hold_kernel(bus_id: str) -> Any:
    from pycuda.compiler import SourceModule

    return SourceModule(_HOLD_SOURCE, no_extern_c=True).get_function("hold_back")


@lru_cache(maxsize=4)
def _flush_buffer(bus_id: str, l2_bytes: int) -> Any:
    """Allocate the flush buffer of this process, and free it before PyCUDA ends the context."""
    import pycuda.driver as cuda

    buffer = cuda.mem_alloc(2 * l2_bytes)
    atexit.register(buffer.free)
    return buffer


def read_clocks(bus_id: str) -> dict[str, float] | None:
    """Return nvidia-smi's clocks (MHz), temperature (C) and power (W) of a GPU, or None."""
    query = (
        "clocks.sm",
        "clocks.mem",
        "clocks.max.sm",
        "clocks.max.mem",
        "temperature.gpu",
        "power.draw",
    )
    program = shutil.which("nvidia-smi")
    if program is None:
        return None
    command = [
        program,
        f"--id={bus_id}",
        f"--query-gpu={','.join(query)}",
        "--format=csv,noheader,nounits",
    ]
    try:
        answer = subprocess.run(
            command, capture_output=True, text=True, timeout=10, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    values = {}
    for key, text in zip(query, answer.strip().split(","), strict=False):
        with contextlib.suppress(ValueError):  # "[N/A]" for a value that the card does not have
            values[key] = float(text)
    return values or None


def clocks_since(before: dict[str, float] | None, gpu: Gpu) -> dict[str, Any] | None:
    """Return the clocks before and now, or None if neither can be read."""
    after = read_clocks(gpu.bus_id)
    return None if before is None and after is None else {"before": before, "after": after}
