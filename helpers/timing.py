"""Timings with their uncertainty, and comparisons that do not mistake noise for a difference.

GPU work is timed with CUDA events on the launch stream, host work with ``time.perf_counter``. All
times are in milliseconds. Every sample is kept.

Medians get the order-statistic interval of `statistics.interval_of_median`, ratios the paired
interval of `statistics.ratio_interval`. :func:`compare` chooses the order inside each pair at
random. If both sides run the same code, each pair then shows a/b or b/a with probability 1/2, for
*any* noise: drift, bursts and autocorrelation shift a whole pair, or favour both sides equally
often. A bootstrap would need independent pairs; this interval does not.

The module does not import CUDA before it times a GPU.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import math
import platform
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from helpers.checking import Verdict
from helpers.statistics import FEWEST_PAIRS, interval_of_median, ratio_interval

MAX_SAMPLES = 500
FEWEST_SAMPLES = 6  # their extremes enclose the median with more than 96 %: 1 - 2 / 2**6

# Sampling may stop after each of these numbers of samples, if the interval is narrow. That favours
# intervals that are narrow by luck: 95 % intervals then enclose the median in only 94.4 % of
# simulated timings. With 96 % intervals it is 95 %.
LOOKS = (10, 30, 100, 250, MAX_SAMPLES)
MEDIAN_LEVEL = 0.96

# compare() must not report a difference between equal launches, so that its guarantee is proved and
# not simulated: five looks at 99 % keep 95 % over the whole comparison, for any reason to stop
# (Bonferroni's inequality).
PAIR_LOOKS = (25, 50, 100, 200, 400)
PAIR_LEVEL = 1 - 0.05 / len(PAIR_LOOKS)

EVENT_STEP_MS = 0.0005  # CUDA documents a resolution of about 0.5 us for event times
SHORTEST_SAMPLE_MS = 0.05  # 1 % of it is one step of the event clock; perf_counter is finer
# Far below the number of launches after which a stream blocks the host.
MAX_LAUNCHES = 200
MAX_HOLD_S = 0.02

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


class NotCheckedError(RuntimeError):
    """A timing of a result that has not passed its check."""


class NoClockError(RuntimeError):
    """A GPU timing in the simulator, which does not model time."""


class DeviceLostError(RuntimeError):
    """A fault on the GPU destroyed the context; only a new process can use the GPU again."""


# --------------------------------------------------------------------------------------------------
# Records


@dataclass(frozen=True)
class Timing:
    """The samples of one timing, in milliseconds, rounded to seven significant digits.

    samples: all of them; a sample is the mean over ``launches`` launches between two readings of
    the clock (more than 1 only if one launch is too short for the clock). low, high: the 95 %
    interval of the median, which allows for the repeated looks of the sampling (see LOOKS). n:
    number of samples. what: "kernel", "end to end" or "cpu". cache: "cold", "hot" or None (host
    timings). clocks: nvidia-smi's clocks before and after, or None.
    """

    name: str
    samples: tuple[float, ...]
    median: float
    low: float
    high: float
    n: int
    what: str
    cache: str | None
    device: str
    clocks: dict[str, Any] | None
    launches: int = 1

    @classmethod
    def of(
        cls,
        name: str,
        samples: Sequence[float],
        *,
        what: str,
        device: str,
        cache: str | None = None,
        clocks: dict[str, Any] | None = None,
        launches: int = 1,
        step: float = 0.0,
    ) -> Timing:
        """Return a Timing of samples (ms). Its interval has at least the width ``step`` (ms)."""
        samples = tuple(_rounded(s) for s in samples)
        median, low, high = interval_of_median(samples, MEDIAN_LEVEL)
        if high - low < step:
            low, high = min(low, median - step / 2), max(high, median + step / 2)
        return cls(
            name,
            samples,
            _rounded(median),
            _rounded(low),
            _rounded(high),
            len(samples),
            what,
            cache,
            device,
            clocks,
            launches,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {f.name: getattr(self, f.name) for f in fields(self)} | {
            "samples": list(self.samples)
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Timing:
        """Return the Timing of :meth:`to_dict`'s data.

        Raises KeyError for a missing field and TypeError for an unknown one.
        """
        return cls(**(data | {"samples": tuple(data["samples"])}))

    def __str__(self) -> str:
        cache = f", {self.cache} cache" if self.cache else ""
        return (
            f"{self.name}: {self.median:.4g} ms (95 % interval {self.low:.4g} to {self.high:.4g}, "
            f"n = {self.n}, {self.what}{cache}, {self.device})"
        )


@dataclass(frozen=True)
class Comparison:
    """A comparison of two timings, whose samples are interleaved.

    ratio: time of a / time of b. low, high: its 95 % interval.
    """

    ratio: float
    low: float
    high: float
    a: Timing
    b: Timing

    @property
    def different(self) -> bool:
        """Whether 1 lies outside of the interval."""
        return not self.low <= 1 <= self.high

    def __str__(self) -> str:
        figures = (
            f"ratio {self.ratio:.4f}, 95 % interval {self.low:.4f} to {self.high:.4f}, "
            f"{self.a.n} pairs"
        )
        if not self.different:
            return f"no measurable difference between {self.a.name} and {self.b.name} ({figures})"
        slow, fast, times = (
            (self.a, self.b, self.ratio) if self.ratio > 1 else (self.b, self.a, 1 / self.ratio)
        )
        return f"{slow.name} takes {times:.3g} times as long as {fast.name} ({figures})"


def _rounded(value: float) -> float:
    return float(f"{value:.7g}")


# --------------------------------------------------------------------------------------------------
# Sampling, for any clock: `sample()` returns one time in ms


def _sample(
    sample: Callable[[], float], budget_s: float, precision: float, step: float = 0.0
) -> list[float]:
    """Take samples until the interval is narrow, the budget is spent, or there are MAX_SAMPLES.

    The interval is narrow if its half-width is below ``precision`` times the median, or below the
    clock's ``step``. The function looks only after 10, 30, 100 and 250 samples. It takes at least
    six samples, even if the budget is spent.
    """
    end = time.perf_counter() + budget_s
    samples: list[float] = []
    while len(samples) < MAX_SAMPLES:
        samples.append(sample())
        if len(samples) >= FEWEST_SAMPLES and time.perf_counter() > end:
            break
        if len(samples) in LOOKS:
            median, low, high = interval_of_median(samples, MEDIAN_LEVEL)
            if (high - low) / 2 <= max(precision * median, step):
                break
    return samples


def _sample_pairs(
    a: Callable[[], float],
    b: Callable[[], float],
    budget_s: float,
    precision: float,
    rng: np.random.Generator,
) -> tuple[list[float], list[float]]:
    """Sample a and b in pairs, in an order from ``rng``; stop as :func:`compare` says."""
    end = time.perf_counter() + budget_s
    samples: tuple[list[float], list[float]] = ([], [])
    while len(samples[0]) < PAIR_LOOKS[-1]:
        for side in rng.permutation(2):
            samples[side].append((a, b)[side]())
        pairs = len(samples[0])
        if pairs >= FEWEST_PAIRS and time.perf_counter() > end:
            break
        if pairs in PAIR_LOOKS:
            ratio, low, high = ratio_interval(*samples, level=PAIR_LEVEL)
            if (high - low) / 2 <= precision * ratio:
                break
    return samples


def _warm_up(call: Callable[[], Any], budget_s: float) -> None:
    """Call for a tenth of the budget, at least once, to warm up caches, pages, modules, clocks."""
    end = time.perf_counter() + budget_s / 10
    call()
    while time.perf_counter() < end:
        call()


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Switch Python's garbage collector off during the samples, and restore it afterwards."""
    was_on = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _require_settings(budget_s: float, precision: float) -> None:
    if not (budget_s >= 0 and math.isfinite(budget_s)):
        raise ValueError(f"budget_s is {budget_s}; give the seconds to spend on samples, 0 or more")
    if not 0 < precision < 1:
        raise ValueError(
            f"precision is {precision}; give a relative half-width between 0 and 1, such as 0.01"
        )


def _require_verdict(verdict: Any, name: str) -> None:
    if not isinstance(verdict, Verdict):
        raise NotCheckedError(
            f"{name} has not passed a check (verdict={verdict!r}): a fast "
            "wrong answer is worth nothing. Pass what checking.check(got, want, "
            "...) returned for this result."
        )


# --------------------------------------------------------------------------------------------------
# Host


def time_cpu(
    call: Callable[[], Any],
    *,
    name: str,
    verdict: Verdict | None = None,
    budget_s: float = 2.0,
    precision: float = 0.01,
) -> Timing:
    """Time ``call()`` on the host with ``time.perf_counter``, after a warm-up.

    Garbage collection is off. Sampling stops when the half-width of the 95 % interval is below
    ``precision`` times the median, after ``budget_s`` seconds, or at 500 samples; it takes at least
    10 samples (6 if the budget is spent before). A sample of a call below 0.05 ms is the mean of
    several calls. verdict: optional, because a baseline may itself be the reference of a check.
    Raises NotCheckedError for a verdict that is no Verdict.
    """
    _require_settings(budget_s, precision)
    if verdict is not None:
        _require_verdict(verdict, name)
    sample, launches = _host_sampler(call, budget_s)
    with _no_collection():
        samples = _sample(sample, budget_s, precision)
    return Timing.of(name, samples, what="cpu", device=cpu_name(), launches=launches)


def compare_cpu(
    a: Callable[[], Any],
    b: Callable[[], Any],
    *,
    names: tuple[str, str],
    budget_s: float = 4.0,
    precision: float = 0.01,
    seed: int = 0,
) -> Comparison:
    """Compare two host calls as :func:`compare` compares two GPU launches."""
    _require_settings(budget_s, precision)
    sample_a, launches_a = _host_sampler(a, budget_s)
    sample_b, launches_b = _host_sampler(b, budget_s)
    with _no_collection():
        pairs = _sample_pairs(sample_a, sample_b, budget_s, precision, np.random.default_rng(seed))
    timings = [
        Timing.of(name, samples, what="cpu", device=cpu_name(), launches=launches)
        for name, samples, launches in zip(names, pairs, (launches_a, launches_b), strict=True)
    ]
    return _comparison(pairs, timings)


def _comparison(pairs: tuple[list[float], list[float]], timings: Sequence[Timing]) -> Comparison:
    ratio, low, high = map(_rounded, ratio_interval(*pairs, level=PAIR_LEVEL))
    a, b = timings
    return Comparison(ratio, low, high, a, b)


def _host_sampler(call: Callable[[], Any], budget_s: float) -> tuple[Callable[[], float], int]:
    _warm_up(call, budget_s)
    launches = _launches(min(_host_ms(call, 1) for _ in range(3)))
    return (lambda: _host_ms(call, launches)), launches


def _host_ms(call: Callable[[], Any], launches: int) -> float:
    start = time.perf_counter()
    for _ in range(launches):
        call()
    return (time.perf_counter() - start) * 1e3 / launches


def _launches(one_ms: float) -> int:
    return min(MAX_LAUNCHES, max(1, math.ceil(SHORTEST_SAMPLE_MS / max(one_ms, 1e-6))))


@lru_cache(maxsize=1)
def cpu_name() -> str:
    """Return the system's name of the processor, or its architecture."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
            if line.startswith("model name"):
                return " ".join(line.partition(":")[2].split())
    if sys.platform == "darwin":
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            command = ["sysctl", "-n", "machdep.cpu.brand_string"]
            return subprocess.run(
                command, capture_output=True, text=True, timeout=5, check=True
            ).stdout.strip()
    return platform.processor() or platform.machine() or "unknown processor"


# --------------------------------------------------------------------------------------------------
# GPU


def time_gpu(
    launch: Callable[[Any], Any],
    *,
    verdict: Verdict,
    name: str,
    cache: str = "cold",
    budget_s: float = 2.0,
    precision: float = 0.01,
) -> Timing:
    """Time the work that ``launch(stream)`` enqueues on that stream, without copies to the host.

    CUDA events stand on the stream directly before and after the launch. Before the first event, a
    waiting kernel holds the stream back until the host has enqueued launch and events, so that the
    host's launch cost (several us through Python) is no part of the time. ``launch`` must not wait
    for the stream itself.

    cache: with "cold", each sample has one launch, and before it a buffer of twice the L2 cache is
    written on the same stream, so that no input stays in L2. With "hot", there is no flush, and the
    launches use the same data. A hot launch shorter than 0.05 ms is repeated ``launches`` times
    between the two events, and the time is divided, because events count in steps of about 0.5 us;
    the launches of one stream do not overlap. The interval is never narrower than one such step.

    Sampling stops as in :func:`time_cpu`. Raises NotCheckedError without a Verdict, NoClockError in
    the simulator, DeviceLostError if a launch faults.
    """
    _require_settings(budget_s, precision)
    _require_verdict(verdict, name)
    gpu = _gpu(name)
    with device_faults(name), _no_collection():
        sampler = _GpuSampler(gpu, launch, cache, budget_s)
        before = _read_clocks(gpu.bus_id)
        samples = _sample(sampler.sample, budget_s, precision, sampler.step)
        return sampler.timing(name, samples, _clocks(before, gpu))


def time_end_to_end(
    call: Callable[[], Any],
    *,
    verdict: Verdict,
    name: str,
    budget_s: float = 2.0,
    precision: float = 0.01,
) -> Timing:
    """Time ``call()`` by the host's clock, with its copies and launch costs.

    The GPU is synchronized before and after. Caches are not flushed, because host data come through
    memory in any case. Stops and raises as :func:`time_gpu` does.
    """
    _require_settings(budget_s, precision)
    _require_verdict(verdict, name)
    gpu = _gpu(name)

    def finished() -> None:
        call()
        gpu.cuda.Context.synchronize()

    with device_faults(name), _no_collection():
        gpu.cuda.Context.synchronize()
        _warm_up(finished, budget_s)
        before = _read_clocks(gpu.bus_id)
        samples = _sample(lambda: _host_ms(finished, 1), budget_s, precision)
        return Timing.of(
            name, samples, what="end to end", device=gpu.name, clocks=_clocks(before, gpu)
        )


def compare(
    a: Callable[[Any], Any],
    b: Callable[[Any], Any],
    *,
    verdicts: tuple[Verdict, Verdict],
    names: tuple[str, str],
    cache: str = "cold",
    budget_s: float = 4.0,
    precision: float = 0.01,
    seed: int = 0,
) -> Comparison:
    """Compare two launches: time each as :func:`time_gpu` does, with samples interleaved in pairs.

    Random numbers of ``seed`` choose the first one of a pair. Sampling stops after 25, 50, 100, 200
    or 400 pairs if the half-width of the ratio's interval is below ``precision`` times the ratio,
    or when ``budget_s`` seconds are spent (never before ten pairs). Each look uses 99 %, so that
    the whole comparison keeps 95 %: for two equal launches, the interval contains 1 in at least 95
    of 100 comparisons. With hot caches, an untimed launch precedes each sample, because the other
    launch's data are in the cache.

    Raises as :func:`time_gpu` does.
    """
    _require_settings(budget_s, precision)
    for verdict, name in zip(verdicts, names, strict=True):
        _require_verdict(verdict, name)
    gpu = _gpu(names[0])
    with device_faults(" or ".join(names)), _no_collection():
        samplers = [
            _GpuSampler(gpu, launch, cache, budget_s / 2, rewarm=cache == "hot")
            for launch in (a, b)
        ]
        _time_alike(*samplers)
        before = _read_clocks(gpu.bus_id)
        sample_a, sample_b = (sampler.sample for sampler in samplers)
        pairs = _sample_pairs(sample_a, sample_b, budget_s, precision, np.random.default_rng(seed))
        clocks = _clocks(before, gpu)
        timings = [s.timing(n, p, clocks) for s, n, p in zip(samplers, names, pairs, strict=True)]
    return _comparison(pairs, timings)


def compare_end_to_end(
    a: Callable[[], Any],
    b: Callable[[], Any],
    *,
    verdicts: tuple[Verdict, Verdict],
    names: tuple[str, str],
    budget_s: float = 4.0,
    precision: float = 0.01,
    seed: int = 0,
) -> Comparison:
    """Compare two calls, each timed as by :func:`time_end_to_end`, interleaved as by `compare`."""
    _require_settings(budget_s, precision)
    for verdict, name in zip(verdicts, names, strict=True):
        _require_verdict(verdict, name)
    gpu = _gpu(names[0])

    def sampler(call: Callable[[], Any]) -> Callable[[], float]:
        def finished() -> None:
            call()
            gpu.cuda.Context.synchronize()

        _warm_up(finished, budget_s / 2)
        return lambda: _host_ms(finished, 1)

    with device_faults(" or ".join(names)), _no_collection():
        gpu.cuda.Context.synchronize()
        first, second = sampler(a), sampler(b)
        before = _read_clocks(gpu.bus_id)
        rng = np.random.default_rng(seed)
        pairs = _sample_pairs(first, second, budget_s, precision, rng)
        told: dict[str, Any] = {"device": gpu.name, "clocks": _clocks(before, gpu)}
        timings = [
            Timing.of(name, samples, what="end to end", **told)
            for name, samples in zip(names, pairs, strict=True)
        ]
    return _comparison(pairs, timings)


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


@dataclass(frozen=True)
class _Gpu:
    """The PyCUDA driver module, and the properties of the selected device for timings."""

    cuda: Any
    name: str
    l2_bytes: int
    bus_id: str


def _gpu(name: str) -> _Gpu:
    from helpers import device

    selected = device.select()
    if selected.kind != "gpu":
        raise NoClockError(
            f"cannot time {name}: the simulator does not model time. Show a "
            "recorded timing (results.record does), or count requests and sectors with "
            "helpers.simulator.profile, or run this on a machine with an NVIDIA GPU."
        )
    import pycuda.driver as cuda

    return _Gpu(cuda, selected.name, selected.l2_bytes, cuda.Context.get_device().pci_bus_id())


class _GpuSampler:
    """Times a launch between two events on a stream; `sample()` returns ms per launch."""

    def __init__(
        self,
        gpu: _Gpu,
        launch: Callable[[Any], Any],
        cache: str,
        budget_s: float,
        rewarm: bool = False,
    ):
        if cache not in ("cold", "hot"):
            raise ValueError(
                f'cache is {cache!r}; give "cold" (L2 flushed before each sample) or "hot"'
            )
        self._gpu, self._launch, self._cache, self._rewarm = gpu, launch, cache, rewarm
        self.stream, self.start, self.end = gpu.cuda.Stream(), gpu.cuda.Event(), gpu.cuda.Event()
        self._hold_back = _hold_kernel(gpu.bus_id)
        self._flush = _flush_buffer(gpu.bus_id, gpu.l2_bytes) if cache == "cold" else None
        self.launches = 1
        self.hold_s = 0.0
        enqueue_s: list[float] = []
        _warm_up(lambda: enqueue_s.append(self._enqueue()), budget_s)
        one = statistics.median(enqueue_s[-20:])
        self.hold_s = _hold_for(one)
        if cache == "hot":
            self.launches = _launches(statistics.median(self.sample() for _ in range(3)))
            self.hold_s = _hold_for(one * self.launches)

    @property
    def step(self) -> float:
        """One step of the event clock, in ms per launch."""
        return EVENT_STEP_MS / self.launches

    def sample(self) -> float:
        self._enqueue()
        return self.start.time_till(self.end) / self.launches

    def timing(self, name: str, samples: Sequence[float], clocks: dict[str, Any] | None) -> Timing:
        return Timing.of(
            name, samples, what="kernel", device=self._gpu.name, cache=self._cache, clocks=clocks,
            launches=self.launches, step=self.step,
        )  # fmt: skip

    def _enqueue(self) -> float:
        """Run one sample to its end; return the host's seconds to enqueue its timed part."""
        if self._flush is not None:
            self._gpu.cuda.memset_d32_async(
                self._flush, 0, 2 * self._gpu.l2_bytes // 4, self.stream
            )
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


def _time_alike(a: _GpuSampler, b: _GpuSampler) -> None:
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


def _read_clocks(bus_id: str) -> dict[str, float] | None:
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


def _clocks(before: dict[str, float] | None, gpu: _Gpu) -> dict[str, Any] | None:
    after = _read_clocks(gpu.bus_id)
    return None if before is None and after is None else {"before": before, "after": after}
