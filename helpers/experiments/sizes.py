"""From which size on a GPU is worth it: a 1D convolution timed from 1,000 to 1,000 million cells.

`record` has the rows of lab 115: the kernel alone, the kernel launched and waited for, the kernel
with the copies of its arrays, pageable or pinned, and the same convolution in C++ on one core and
on all cores.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers import checking, kernels, reference, tables
from helpers.bench import predictions, reports, results, timing
from helpers.plotting import styles, timings
from helpers.problems import baselines
from helpers.quantities import quantity

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from helpers.bench.results import Record

KERNEL, THREADS = "conv1d_basic", 256
FILTER_WIDTH = 3
FILTER = np.array([0.2, 0.5, 0.3], np.float32)
RTOL = 1e-5
SIZES = tuple(10**k for k in range(3, 10))
PERIOD = 100  # the input repeats itself after so many cells, which divides all SIZES

KERNEL_ONLY, WAITED, COPIES = "kernel only", "launched and waited for", "with copies"
PINNED = "with copies, pinned"
ONE_BLOCK = "one block, kernel only"
PLAIN, SWAPPED = "one_core", "swapped"  # keys of baselines.conv1d()


def record() -> Record:
    """Return the times of all ways, measured now; without a GPU, the recorded ones."""
    times = results.extended("115_sizes", measure)
    return with_pinned(times, results.extended("115_pinned", measure_pinned))


def recorded() -> Record:
    """Return the times of all ways that the repository has."""
    return with_pinned(results.recall("115_sizes"), results.recall("115_pinned"))


def measure() -> Iterator[Mapping[str, Any]]:
    """Yield rows of the record "115_sizes", measured on the selected GPU and on the host."""
    period = np.random.default_rng(2).uniform(0.5, 1.5, PERIOD).astype(np.float32)
    three = reference.conv1d(np.resize(period, 3 * PERIOD), FILTER)
    for n in SIZES:
        x, y = np.resize(period, n), np.full(n, np.nan, np.float32)
        yield from _gpu_rows(x, y, three)
        yield from _cpu_rows(x, y, three)


def verdict_of(P: np.ndarray, three: np.ndarray, name: str) -> checking.Verdict:
    """Check an output of any length whose input repeats itself.

    three: the right outputs for three periods. The first, second and last period of P are compared
    with them, and the periods in the middle must be equal, bit for bit. This checks 10^9 outputs in
    seconds. Raises checking.CheckError for wrong values and ValueError for periods that differ.
    """
    rows = P.reshape(-1, PERIOD)
    apart = int((rows[1:-1] != rows[1]).sum())
    if apart:
        where = quantity(apart, "place")
        raise ValueError(f"FAIL {name}: the input repeats itself, but the output not in {where}")
    return checking.check(rows[[0, 1, -1]].ravel(), three, rtol=RTOL, name=name)


def _gpu_rows(x: np.ndarray, y: np.ndarray, three: np.ndarray) -> Iterator[Mapping[str, Any]]:
    import pycuda.driver as cuda
    import pycuda.gpuarray as gpuarray

    n, function = x.size, _function()
    weights, d_x = cuda.to_device(FILTER), gpuarray.to_gpu(x)
    d_y = gpuarray.empty_like(d_x)
    size = {"block": (THREADS, 1, 1), "grid": kernels.grid_for(n, THREADS)}

    def launch(stream: Any = None) -> None:
        function(d_y.gpudata, d_x.gpudata, weights, np.int32(n), stream=stream, **size)

    def layer() -> None:
        function(cuda.Out(y), cuda.In(x), weights, np.int32(n), **size)

    cuda.memset_d8(d_y.gpudata, 0xFF, d_y.nbytes)  # NaN: the kernel must write every output
    launch()
    d_y.get(y)
    verdict = verdict_of(y, three, f"{KERNEL}, {n:,} cells")
    # These entries are those of the bench's rows: a size that the lab has timed before is replaced.
    named = {"kernel": KERNEL, "n": n, "filter_width": FILTER_WIDTH}
    for timed in (
        timing.time_gpu(launch, verdict=verdict, name=KERNEL_ONLY, budget_s=0.5),
        timing.time_end_to_end(launch, verdict=verdict, name=WAITED, budget_s=0.3),
        timing.time_end_to_end(layer, verdict=verdict, name=COPIES, budget_s=0.5),
    ):
        yield {"series": timed.name, **named, "timing": timed}


def measure_pinned() -> Iterator[Mapping[str, Any]]:
    """Yield the rows of the record "115_pinned": the copies from and to page-locked memory.

    All arrays, on the host and on the device, exist before the clock starts.
    """
    import pycuda.driver as cuda

    period = np.random.default_rng(2).uniform(0.5, 1.5, PERIOD).astype(np.float32)
    three = reference.conv1d(np.resize(period, 3 * PERIOD), FILTER)
    function, weights, stream = _function(), cuda.to_device(FILTER), cuda.Stream()
    largest = max(SIZES)
    x_all, y_all = (cuda.pagelocked_empty(largest, np.float32) for _ in range(2))
    x_all.reshape(-1, PERIOD)[:] = period
    d_x, d_y = (cuda.mem_alloc(4 * largest) for _ in range(2))
    for n in SIZES:
        x, y = x_all[:n], y_all[:n]
        size = {"block": (THREADS, 1, 1), "grid": kernels.grid_for(n, THREADS)}

        def layer(x: Any = x, y: Any = y, n: int = n, size: Any = size) -> None:
            cuda.memcpy_htod_async(d_x, x, stream)
            function(d_y, d_x, weights, np.int32(n), stream=stream, **size)
            cuda.memcpy_dtoh_async(y, d_y, stream)

        y.fill(np.nan)
        layer()
        stream.synchronize()
        verdict = verdict_of(y, three, f"{PINNED}, {n:,} cells")
        timed = timing.time_end_to_end(layer, verdict=verdict, name=PINNED, budget_s=0.5)
        yield {"series": PINNED, "kernel": KERNEL, "n": n, "timing": timed}


def _function() -> Any:
    from pycuda.compiler import SourceModule

    options = [f"-DFILTER_WIDTH={FILTER_WIDTH}"]
    module = SourceModule(kernels.source(KERNEL), options=options, no_extern_c=True)
    return module.get_function(KERNEL)


def _cpu_rows(x: np.ndarray, y: np.ndarray, three: np.ndarray) -> Iterator[Mapping[str, Any]]:
    for key in (PLAIN, SWAPPED, "all_cores"):
        cpu = baselines.conv1d()[key]
        call = partial(cpu.call, x, FILTER, y)
        y.fill(np.nan)
        call()
        verdict = verdict_of(y, three, f"{cpu.name}, {x.size:,} cells")
        timed = timing.time_cpu(call, name=cpu.name, verdict=verdict, budget_s=0.5)
        yield {"series": cpu.name, "program": key, "n": x.size, "timing": timed}


# --------------------------------------------------------------------------------------------------
# Figures and tables


def cpu_name(record: Record, program: str) -> str:
    """Return the name of a CPU program's series; program: a key of baselines.conv1d().

    Raises KeyError where the program was not timed.
    """
    return str(record.some(program=program)[0]["series"])


def with_pinned(record: Record, pinned: Record) -> Record:
    """Return the rows of "115_sizes" with those of "115_pinned"."""
    return replace(record, measurements=(*record.measurements, *pinned.measurements))


def figure_of_times(record: Record) -> Figure:
    """Draw the time of each way to compute the convolution over the number of cells.

    record: of `with_pinned`.
    """
    figure, ax = styles.subplots(9, 5)
    drawn = (
        KERNEL_ONLY,
        WAITED,
        PINNED,
        cpu_name(record, SWAPPED),
        cpu_name(record, "all_cores"),
    )
    rows = [row for name in drawn for row in record.rows() if row["series"] == name]
    largest = max(record.ms("n", series=PINNED))
    ratio = record.ms("n", series=PINNED)[largest] / record.ms("n", series=KERNEL_ONLY)[largest]
    title = f"{largest:,} cells: with pinned copies {ratio:,.0f} times as long as the kernel"
    timings.scaling(ax, rows, xlabel="n (cells of float32)", title=title)
    styles.caption(ax, record, cpu=True)
    return figure


def table_of_wins(
    record: Record, ways: Sequence[str] = (KERNEL_ONLY, WAITED, PINNED)
) -> str:
    """Return a table: from which number of cells on the GPU is faster than each CPU program."""
    rows = []
    for program in (PLAIN, SWAPPED, "all_cores"):
        cpu = record.ms("n", program=program)
        rows.append(
            (cpu_name(record, program), *(_first_win(record.ms("n", series=w), cpu) for w in ways))
        )
    return tables.text(("GPU faster than", *ways), rows)


def _first_win(gpu: Mapping[int, float], cpu: Mapping[int, float]) -> str:
    """Return the least size from which on the GPU is faster at all larger sizes, in words."""
    sizes = sorted(gpu)
    losses = [n for n in sizes if gpu[n] >= cpu[n]]
    if losses and losses[-1] == sizes[-1]:
        return "never"
    first = sizes[sizes.index(losses[-1]) + 1] if losses else sizes[0]
    return f"from {first:,}"


MEMORY, CONNECTION = 4.8e12, 64e9  # bytes/s: an H200's DRAM, PCIe 5.0 x16 in one direction


def estimates_beside(kernel_ms: float | None, copies_ms: float | None) -> str:
    """Return a reader's two estimates for 10 million cells beside ours, by the data sheets."""
    moved = 2 * 4 * 10**7
    numbers = {
        "kernel": (kernel_ms, 1e3 * moved / MEMORY),
        "copies": (copies_ms, 1e3 * moved / CONNECTION),
    }
    return predictions.computed("10,000,000 cells, ms for the", numbers)


def steps_beside(call: Callable[[float, float, float], Any], record: Record) -> str:
    """Return in how many steps a reader says that the GPU wins beside the right numbers.

    Sizes at which the kernel is no faster than the CPU are left out: no number of steps is enough.
    call: of the ms with pinned copies, of the kernel alone and of all CPU cores. record: of
    `with_pinned`.
    """
    pinned, kernel = (record.ms("n", series=way) for way in (PINNED, KERNEL_ONLY))
    cores = record.ms("n", program="all_cores")
    numbers = {}
    for n in SIZES[3:]:
        if kernel[n] < cores[n]:
            copies = pinned[n] - kernel[n]
            needed = max(1, math.floor(copies / (cores[n] - kernel[n])) + 1)
            numbers[f"{n:,}"] = call(pinned[n], kernel[n], cores[n]), needed
    return predictions.computed("steps, by cells", numbers)


def table_of_reports(record: Record) -> str:
    """Return a table: the published speedups over one CPU core beside those of this record."""
    plain, swapped = (record.ms("n", program=key) for key in (PLAIN, SWAPPED))
    copies, waited = record.ms("n", series=COPIES), record.ms("n", series=WAITED)
    pinned = record.ms("n", series=PINNED)
    rows = [
        (
            f"{row['n']:,}",
            f"{row['speedup']:.2f}x",
            f"{plain[row['n']] / copies[row['n']]:.2f}x",
            f"{swapped[row['n']] / copies[row['n']]:.2f}x",
            f"{swapped[row['n']] / pinned[row['n']]:.2f}x",
            f"{swapped[row['n']] / waited[row['n']]:.2f}x",
        )
        for row in reports.rows("conv1d_report")
        if row["kernel"] == "multi-block"
    ]
    head = (
        "cells",
        "report D,\nwith copies,\nits own loop",
        "ours,\nwith copies,\nplain loop",
        "ours,\nwith copies,\nloops swapped",
        "ours,\npinned,\nloops swapped",
        "ours,\nwaited for,\nloops swapped",
    )
    return tables.text(head, rows, left=())
