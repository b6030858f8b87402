"""From which filter width on transforms beat a direct sum: 1D convolution, every odd width.

    record = crossover.record(gpu, lab)      # on the GPU, or the recorded run
    crossover.width_from(record)             # the width from which on overlap-add is faster
    crossover.picture(ax, record)            # times beside the two floors of a direct sum
    crossover.shares(ax, record)             # the direct kernel's share of copy and FP32 speed

For each width the fastest direct kernel and overlap-add, with the transforms that were fastest for
that width, are checked and timed in pairs, samples interleaved, caches cold.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from helpers import limits, programs
from helpers.bench import results, timing
from helpers.device import Device
from helpers.experiments import fft_times
from helpers.plotting import COLOURS, caption, style
from helpers.problems import conv1d, fft_conv1d

NAME = "402_crossover"
WIDTHS = tuple(range(3, 256, 2))
SIZES = (10**7, 10**8)  # cells
DIRECT, TRANSFORMS, COPY = conv1d.BEST, fft_conv1d.OVERLAP_ADD, conv1d.COPY
BUDGET_S = 0.05  # for each pair


def filters(widths: Iterable[int]) -> dict[int, np.ndarray]:
    """Return a random filter of each width, float32."""
    rng = np.random.default_rng(conv1d.SEED)
    return {width: rng.uniform(-1, 1, width).astype(np.float32) for width in widths}


def measure(
    widths: Sequence[int] = WIDTHS, sizes: Sequence[int] = SIZES, budget_s: float = BUDGET_S
) -> Iterator[dict[str, Any]]:
    """Yield rows of the copy, of both kernels at each width, and of their ratio. Wants a GPU.

    Raises checking.CheckError where a kernel is wrong: nothing wrong is timed.
    """
    import pycuda.driver as cuda

    direct = conv1d.conv1d_named(DIRECT)
    specs = {width: fft_conv1d.OverlapAdd.fastest(width) for width in widths}
    plans = [direct.plan(max(sizes), width) for width in widths]
    programs.compile_ahead([*plans, *(spec.plan(max(sizes), w) for w, spec in specs.items())])
    arrays = [cuda.mem_alloc(4 * max(sizes)) for _ in range(3)]
    source, output, want = (int(array) for array in arrays)
    try:
        for n in sizes:
            data = conv1d.PeriodicData(n)
            data.upload(cuda, source)
            checker = conv1d.Checker(cuda, data, want)
            yield _copy(cuda, n, source, output, checker)
            for width, filter in filters(widths).items():
                spec = specs[width]
                ready = fft_times.checked_launches(
                    spec, data, checker, source, output, filter, yardstick=False
                )
                pair = (TRANSFORMS, DIRECT)
                launches, verdicts = zip(*(ready[name] for name in pair), strict=True)
                found = timing.compare(
                    *launches, verdicts=verdicts, names=pair, budget_s=budget_s
                )
                common = {"n": n, "filter_width": width}
                sizes_of = {"log_size": spec.log_size, "stages": spec.stages}
                yield {"series": TRANSFORMS, **common, **sizes_of, "timing": found.a}
                yield {"series": DIRECT, **common, "timing": found.b}
                ratio = {"ratio": found.ratio, "low": found.low, "high": found.high}
                yield {"series": "ratio", "kernel": TRANSFORMS, **common, **ratio, "timing": None}
    finally:
        for array in arrays:
            array.free()


def _copy(
    cuda: Any, n: int, source: int, output: int, checker: conv1d.Checker
) -> dict[str, Any]:
    """Return the row of the driver's copy of n cells."""

    def copy(stream: Any) -> None:
        cuda.memcpy_dtod_async(output, source, 4 * n, stream)

    checker.poison(output)
    copy(None)
    verdict = checker.windows(output, np.ones(1, np.float32), COPY)
    timed = timing.time_gpu(copy, verdict=verdict, name=COPY, budget_s=0.5)
    return {"series": COPY, "n": n, "timing": timed}


def record(gpu: Device, lab: str) -> results.Record:
    """Measure on the GPU, or return the recorded run where there is none."""
    return results.record(NAME, measure, device=gpu, lab=lab)


# --------------------------------------------------------------------------------------------------
# What a record says


def times(data: results.Record, series: str, n: int) -> dict[int, float]:
    """Return the medians in ms of a series, by width."""
    rows = [row for row in data.rows() if row["series"] == series and row["n"] == n]
    return {row["filter_width"]: row["median_ms"] for row in rows}


def width_from(data: results.Record, n: int = SIZES[0]) -> int | None:
    """Return the smallest width from which on overlap-add is measurably faster at every width.

    None where it is not at the widest.
    """
    rows = [row for row in data.rows() if row["series"] == "ratio" and row["n"] == n]
    rows.sort(key=lambda row: row["filter_width"])
    last = max((k for k, row in enumerate(rows) if row["high"] >= 1), default=-1)
    return rows[last + 1]["filter_width"] if last + 1 < len(rows) else None


def copy_shares(data: results.Record, n: int = SIZES[-1]) -> dict[int, float]:
    """Return the direct kernel's share of copy speed, in percent, by width."""
    (copy,) = (row for row in data.rows() if row["series"] == COPY and row["n"] == n)
    return {w: 100 * copy["median_ms"] / ms for w, ms in times(data, DIRECT, n).items()}


def unit_shares(data: results.Record, n: int = SIZES[-1]) -> dict[int, float]:
    """Return the direct kernel's share of the peak of the FP32 units, in percent, by width."""
    peak = data.device.fp32_peak or math.nan
    direct = times(data, DIRECT, n)
    return {w: 100 * limits.conv1d(n, w).flops / peak / (ms * 1e-3) for w, ms in direct.items()}


def picture(ax: Any, data: results.Record, n: int = SIZES[0]) -> None:
    """Draw both kernels' times over the width, and the floor of a direct sum."""
    width = width_from(data, n)
    said = "at no width tried" if width is None else f"from a width of {width} on"
    style(ax, f"n = {n:,}: overlap-add is faster than {DIRECT} {said}")
    for number, (series, look) in enumerate(((DIRECT, "o-"), (TRANSFORMS, "s-"))):
        medians = times(data, series, n)
        label = {"color": COLOURS[number], "label": series, "markersize": 3}
        ax.plot(list(medians), list(medians.values()), look, **label)
    widths = sorted(times(data, DIRECT, n))
    floors = [limits.floor(limits.conv1d(n, w), data.device).seconds * 1e3 for w in widths]
    ax.plot(widths, floors, ":", color="#222222", label="floor of a direct sum")
    if width is not None:
        ax.axvline(width, color="#222222", linewidth=0.8)
    ax.set(xlabel="filter width", ylabel="time (ms)", xlim=(0, max(widths) + 2))
    ax.set_ylim(bottom=0)
    ax.legend(frameon=False)
    caption(ax, data)


def shares(ax: Any, data: results.Record, n: int = SIZES[-1]) -> None:
    """Draw the direct kernel's share of copy speed, and of the FP32 units, over the width."""
    style(ax, "Bytes bind narrow filters, multiply-adds bind wide ones")
    kinds = (("of copy speed", copy_shares, "o-"), ("of the FP32 units", unit_shares, "s-"))
    for number, (name, found, look) in enumerate(kinds):
        share = found(data, n)
        label = {"color": COLOURS[number], "label": name, "markersize": 3}
        ax.plot(list(share), list(share.values()), look, **label)
    ax.set(xlabel="filter width", ylabel=f"share of {DIRECT} (%)", ylim=(0, 105))
    ax.legend(frameon=False)
    caption(ax, data)
