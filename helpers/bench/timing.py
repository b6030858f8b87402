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

import contextlib
import math
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

from helpers.bench import gpu_clock, sampling
from helpers.bench.statistics import interval_of_median, ratio_interval
from helpers.checking import Verdict
from helpers.checking.gpu_faults import device_faults
from helpers.quantities import quantity


class NoClockError(RuntimeError):
    """A GPU timing in the simulator, which does not model time."""


class NotCheckedError(RuntimeError):
    """A timing of a result that has not passed its check."""


class OutOfTimeError(RuntimeError):
    """Something would begin after the limit of its time."""


class TimeLimit:
    """The time within which parts of a measurement may begin. One that has begun is not stopped.

    seconds: from now on. within: another limit, which holds as well.
    """

    def __init__(self, seconds: float, within: TimeLimit | None = None):
        self._seconds, self._within = seconds, within
        self._ends = monotonic() + seconds

    def require(self, what: str) -> None:
        """Raise OutOfTimeError if `what` would begin too late."""
        if self._within is not None:
            self._within.require(what)
        if monotonic() > self._ends:
            raise OutOfTimeError(f"{what} did not begin within {self._seconds:g} s")


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
        median, low, high = interval_of_median(samples, sampling.MEDIAN_LEVEL)
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

    def __str__(self) -> str:
        figures = (
            f"ratio {self.ratio:.4f}, 95 % interval {self.low:.4f} to {self.high:.4f}, "
            f"{quantity(self.a.n, 'pair')}"
        )
        if self.low <= 1 <= self.high:
            return f"no measurable difference between {self.a.name} and {self.b.name} ({figures})"
        slow, fast, times = (
            (self.a, self.b, self.ratio) if self.ratio > 1 else (self.b, self.a, 1 / self.ratio)
        )
        return f"{slow.name} takes {times:.3g} times as long as {fast.name} ({figures})"


def _rounded(value: float) -> float:
    return float(f"{value:.7g}")


# --------------------------------------------------------------------------------------------------
# What a timing needs


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
    with sampling.no_collection():
        samples = sampling.take(sample, budget_s, precision)
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
    with sampling.no_collection():
        pairs = sampling.take_pairs(
            sample_a, sample_b, budget_s, precision, np.random.default_rng(seed)
        )
    timings = [
        Timing.of(name, samples, what="cpu", device=cpu_name(), launches=launches)
        for name, samples, launches in zip(names, pairs, (launches_a, launches_b), strict=True)
    ]
    return _comparison(pairs, timings)


def _comparison(pairs: tuple[list[float], list[float]], timings: Sequence[Timing]) -> Comparison:
    ratio, low, high = map(_rounded, ratio_interval(*pairs, level=sampling.PAIR_LEVEL))
    a, b = timings
    return Comparison(ratio, low, high, a, b)


def _host_sampler(call: Callable[[], Any], budget_s: float) -> tuple[Callable[[], float], int]:
    sampling.warm_up(call, budget_s)
    launches = sampling.launches_per_sample(min(_host_ms(call, 1) for _ in range(3)))
    return (lambda: _host_ms(call, launches)), launches


def _host_ms(call: Callable[[], Any], launches: int) -> float:
    start = time.perf_counter()
    for _ in range(launches):
        call()
    return (time.perf_counter() - start) * 1e3 / launches


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
    with device_faults(name), sampling.no_collection():
        sampler = gpu_clock.GpuSampler(gpu, launch, cache, budget_s)
        before = gpu_clock.read_clocks(gpu.bus_id)
        samples = sampling.take(sampler.sample, budget_s, precision, sampler.step)
        return _of_kernel(sampler, name, samples, gpu_clock.clocks_since(before, gpu))


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

    with device_faults(name), sampling.no_collection():
        gpu.cuda.Context.synchronize()
        sampling.warm_up(finished, budget_s)
        before = gpu_clock.read_clocks(gpu.bus_id)
        samples = sampling.take(lambda: _host_ms(finished, 1), budget_s, precision)
        return Timing.of(
            name,
            samples,
            what="end to end",
            device=gpu.name,
            clocks=gpu_clock.clocks_since(before, gpu),
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
    with device_faults(" or ".join(names)), sampling.no_collection():
        samplers = [
            gpu_clock.GpuSampler(gpu, launch, cache, budget_s / 2, rewarm=cache == "hot")
            for launch in (a, b)
        ]
        gpu_clock.time_alike(*samplers)
        before = gpu_clock.read_clocks(gpu.bus_id)
        sample_a, sample_b = (sampler.sample for sampler in samplers)
        pairs = sampling.take_pairs(
            sample_a, sample_b, budget_s, precision, np.random.default_rng(seed)
        )
        clocks = gpu_clock.clocks_since(before, gpu)
        timings = [
            _of_kernel(sampler, name, samples, clocks)
            for sampler, name, samples in zip(samplers, names, pairs, strict=True)
        ]
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

        sampling.warm_up(finished, budget_s / 2)
        return lambda: _host_ms(finished, 1)

    with device_faults(" or ".join(names)), sampling.no_collection():
        gpu.cuda.Context.synchronize()
        first, second = sampler(a), sampler(b)
        before = gpu_clock.read_clocks(gpu.bus_id)
        rng = np.random.default_rng(seed)
        pairs = sampling.take_pairs(first, second, budget_s, precision, rng)
        clocks = gpu_clock.clocks_since(before, gpu)
        timings = [
            Timing.of(name, samples, what="end to end", device=gpu.name, clocks=clocks)
            for name, samples in zip(names, pairs, strict=True)
        ]
    return _comparison(pairs, timings)


def _gpu(name: str) -> gpu_clock.Gpu:
    """Return the selected GPU; raise NoClockError, which says what `name` needs, without one."""
    from helpers import device

    selected = device.select()
    if selected.kind != "gpu":
        raise NoClockError(
            f"cannot time {name}: the simulator does not model time. Show a "
            "recorded timing (results.record does), or count requests and sectors with "
            "helpers.simulator.profile, or run this on a machine with an NVIDIA GPU."
        )
    import pycuda.driver as cuda

    return gpu_clock.Gpu(
        cuda, selected.name, selected.l2_bytes, cuda.Context.get_device().pci_bus_id()
    )


def _of_kernel(
    sampler: gpu_clock.GpuSampler,
    name: str,
    samples: Sequence[float],
    clocks: dict[str, Any] | None,
) -> Timing:
    return Timing.of(
        name,
        samples,
        what="kernel",
        device=sampler.gpu.name,
        cache=sampler.cache,
        clocks=clocks,
        launches=sampler.launches,
        step=sampler.step,
    )
