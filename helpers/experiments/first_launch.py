"""One launch of `axpy_basic`, timed in several ways, beside the same sum on the CPU.

`measure` yields the times of lab 100: all but one of them are wrong as times of the kernel, and
each is wrong in its own way. "100_caches" has how much of the traffic of VARIANTS reaches the
caches and the DRAM, by Nsight Compute; their times are compared in a notebook, by the bench.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers import checking, device, kernels, limits, reference, tables
from helpers.bench import reports, results, timing
from helpers.plotting import styles, timings
from helpers.problems import baselines

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from helpers.bench.results import Record
    from helpers.device import Device

KERNEL = "axpy_basic"
A = 2.5
BLOCK = 256
RTOL = 1e-6
SIZES = tuple(10**k for k in range(3, 9))
TIMED = 10**7  # the size at which all ways of timing are compared
BYTES_PER_ELEMENT = 12  # x is read, y is read and written, 4 bytes each
FLOPS_PER_ELEMENT = 2

# Three ways to assign elements to threads. Each gives every thread one element of its own.
INDEX = "blockIdx.x * blockDim.x + threadIdx.x"
NEIGHBOURS, IN_BLOCK, IN_GRID = "neighbours", "8 apart in a block", "8 apart in the array"
VARIANTS: Mapping[str, tuple[tuple[str, str], ...]] = {
    NEIGHBOURS: (),
    IN_BLOCK: ((INDEX, "blockIdx.x * blockDim.x + threadIdx.x % 32 * 8 + threadIdx.x / 32"),),
    IN_GRID: (
        (
            f"const int i = {INDEX};",
            f"const int thread = {INDEX};\n"
            "    const int i = thread < n ? thread % (n / 8) * 8 + thread / (n / 8) : n;",
        ),
    ),
}

# The names of the series, as figures show them.
NOBODY_WAITS = "host clock, nobody waits"
WAITED = "host clock, waited for"
EVENTS = "events on the stream (right)"
COPIES = "copies counted"
PINNED = "copies counted, pinned"
CACHED = "first launch, nvcc's work cached"
NVCC = "first launch, nvcc counted"
ALL_WAYS = NOBODY_WAITS, EVENTS, WAITED, COPIES, CACHED, NVCC
PYTHON, NUMPY, CPP = "Python loop", "NumPy", "C++, one core"

CPP_TEXT = """extern "C" void axpy(float* y, const float* x, long long n, float a)
{ for (long long i = 0; i < n; ++i) y[i] = a * x[i] + y[i]; }"""


def variant(name: str) -> str:
    """Return the source of axpy_basic with the elements assigned as VARIANTS says.

    "8 apart in the array" needs a number of elements that 8 divides.
    """
    return kernels.changed(KERNEL, *VARIANTS[name])


# --------------------------------------------------------------------------------------------------
# Times


def stopwatch(name: str, call: Callable[[], Any], count: int, where: str) -> timing.Timing:
    """Time `call` with the host's clock, as one does at first.

    Work that the call leaves running on the GPU ends outside the clock.
    """
    import pycuda.driver as cuda

    samples = []
    for _ in range(count):
        start = time.perf_counter()
        call()
        samples.append((time.perf_counter() - start) * 1e3)
        cuda.Context.synchronize()
    return timing.Timing.of(name, samples, what="host clock", device=where)


def _waited(launch: Callable[[], Any]) -> None:
    import pycuda.driver as cuda

    launch()
    cuda.Context.synchronize()


def launcher(source: str, d_x: Any, d_y: Any, **options: Any) -> Callable[..., None]:
    """Return `launch(stream)`, which runs `source` on two arrays that are on the device already."""
    from pycuda.compiler import SourceModule

    function = SourceModule(source, no_extern_c=True, **options).get_function(KERNEL)
    arguments = (d_y.gpudata, d_x.gpudata, np.int32(d_x.size), np.float32(A))
    grid = kernels.grid_for(int(d_x.size), BLOCK)

    def launch(stream: Any = None) -> None:
        function(*arguments, block=(BLOCK, 1, 1), grid=grid, stream=stream)

    return launch


def measure() -> Iterator[Mapping[str, Any]]:
    """Yield all rows of the record "114_timing_traps", measured on the selected GPU."""
    random = np.random.default_rng(0)
    for n in SIZES:
        yield from _rows(n, random)


def _rows(n: int, random: np.random.Generator) -> Iterator[Mapping[str, Any]]:
    import pycuda.gpuarray as gpuarray

    x, y = (random.uniform(0.5, 1.5, n).astype(np.float32) for _ in range(2))
    d_x, d_y, want = gpuarray.to_gpu(x), gpuarray.to_gpu(y), reference.axpy(A, x, y)
    launch = launcher(variant(NEIGHBOURS), d_x, d_y)
    launch()
    verdict = checking.check(d_y.get(), want, rtol=RTOL, name=f"{KERNEL}, n = {n:,}")
    for timed in _ways(launch, verdict, x, y, d_x, d_y):
        yield {"series": timed.name, "kernel": KERNEL, "n": n, "timing": timed}
    if n == TIMED:
        for timed in _cpu_programs(x, y, want):
            yield {"series": timed.name, "n": n, "timing": timed}


def _ways(
    launch: Callable[..., None], verdict: checking.Verdict, x: Any, y: Any, d_x: Any, d_y: Any
) -> Iterator[timing.Timing]:
    """Time the same launch in several ways, all but one of them wrong for the kernel's time."""
    import pycuda.driver as cuda
    from pycuda.compiler import SourceModule

    gpu = device.select().name
    yield stopwatch(NOBODY_WAITS, launch, 50, gpu)
    yield timing.time_gpu(launch, verdict=verdict, name=EVENTS, budget_s=0.5)
    yield stopwatch(WAITED, partial(_waited, launch), 50, gpu)
    if x.size != TIMED:
        return
    source = variant(NEIGHBOURS)
    kernel = SourceModule(source, no_extern_c=True).get_function(KERNEL)
    out = y.copy()
    how = {"block": (BLOCK, 1, 1), "grid": kernels.grid_for(int(x.size), BLOCK)}

    def with_copies() -> None:
        kernel(cuda.InOut(out), cuda.In(x), np.int32(x.size), np.float32(A), **how)

    def first(**options: Any) -> None:
        _waited(launcher(source, d_x, d_y, **options))

    yield timing.time_end_to_end(with_copies, verdict=verdict, name=COPIES, budget_s=0.5)
    yield stopwatch(CACHED, first, 10, gpu)
    yield stopwatch(NVCC, partial(first, cache_dir=False), 3, gpu)


def measure_pinned() -> Iterator[Mapping[str, Any]]:
    """Yield the row of the record "100_pinned": the copies from and to page-locked memory.

    All arrays, on the host and on the device, exist before the clock starts.
    """
    import pycuda.driver as cuda
    import pycuda.gpuarray as gpuarray

    random = np.random.default_rng(0)
    x, y, out = (cuda.pagelocked_empty(TIMED, np.float32) for _ in range(3))
    x[:], y[:] = (random.uniform(0.5, 1.5, TIMED).astype(np.float32) for _ in range(2))
    d_x, d_y = gpuarray.empty(TIMED, np.float32), gpuarray.empty(TIMED, np.float32)
    launch, stream = launcher(variant(NEIGHBOURS), d_x, d_y), cuda.Stream()

    def with_copies() -> None:
        cuda.memcpy_htod_async(d_x.gpudata, x, stream)
        cuda.memcpy_htod_async(d_y.gpudata, y, stream)
        launch(stream)
        cuda.memcpy_dtoh_async(out, d_y.gpudata, stream)

    with_copies()
    stream.synchronize()
    verdict = checking.check(out, reference.axpy(A, x, y), rtol=RTOL, name=PINNED)
    timed = timing.time_end_to_end(with_copies, verdict=verdict, name=PINNED, budget_s=0.5)
    yield {"series": PINNED, "kernel": KERNEL, "n": TIMED, "timing": timed}


def _cpu_programs(x: np.ndarray, y: np.ndarray, want: np.ndarray) -> Iterator[timing.Timing]:
    cpp, spare = baselines.load_cpp("axpy", CPP_TEXT).axpy, np.empty_like(x)
    cpp.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_longlong, ctypes.c_float]

    def python_loop(out: np.ndarray) -> None:
        for i in range(x.size):
            out[i] = A * x[i] + out[i]

    programs: Mapping[str, Callable[[np.ndarray], Any]] = {
        NUMPY: lambda out: np.add(np.multiply(x, A, out=spare), out, out=out),
        CPP: lambda out: cpp(out.ctypes.data, x.ctypes.data, x.size, A),
    }
    yield stopwatch(PYTHON, partial(python_loop, y.copy()), 3, timing.cpu_name())
    for name, program in programs.items():
        out = y.copy()
        program(out)
        verdict = checking.check(out, want, rtol=RTOL, name=name)
        yield timing.time_cpu(partial(program, out), name=name, verdict=verdict, budget_s=0.5)


def floor_s(n: int, gpu: Device) -> float:
    """Return the least seconds in which this GPU's memory moves the bytes of n elements."""
    work = limits.Work(bytes=BYTES_PER_ELEMENT * n, flops=FLOPS_PER_ELEMENT * n)
    return limits.floor(work, gpu).seconds


# --------------------------------------------------------------------------------------------------
# Figures and tables of the times


def medians(record: Record) -> Mapping[tuple[str, int], float]:
    """Return the median times in ms, by series and n."""
    timed = (row for row in record.rows() if row.get("median_ms") is not None)
    return results.Selection(record, {(row["series"], row["n"]): row["median_ms"] for row in timed})


def figure_of_ways(record: Record, ways: tuple[str, ...] = ALL_WAYS) -> Figure:
    """Return a figure of the times of the same launch, taken in these ways."""
    rows = [row for row in record.rows() if row["n"] == TIMED and row["series"] in ways]
    rows.sort(key=lambda row: row["median_ms"])
    least, most = (styles.duration_text(rows[end]["median_ms"]) for end in (0, -1))
    figure, ax = styles.subplots(9, 3.6)
    title = f"One launch on {TIMED:,} elements, timed in {len(rows)} ways: from {least} to {most}"
    timings.times(ax, rows, emphasize=EVENTS, title=title)
    styles.caption(ax, record)
    return figure


def figure_of_baselines(record: Record, pinned: Record) -> Figure:
    """Draw how many times faster than a Python loop the other programs are."""
    ms, with_pinned = medians(record), medians(pinned)[PINNED, TIMED]
    names = {
        PYTHON: PYTHON, NUMPY: NUMPY, CPP: CPP,
        COPIES: "GPU, with copies", PINNED: "GPU, with copies, pinned", EVENTS: "GPU, kernel only",
    }
    rows = [
        row | {"series": names[row["series"]]}
        for row in (*record.rows(), *pinned.rows())
        if row["n"] == TIMED and row["series"] in names
    ]
    rows.sort(key=lambda row: list(names.values()).index(row["series"]))
    title = (
        f"Against one core in C++ the kernel alone is {_times(ms[CPP, TIMED], ms[EVENTS, TIMED])}, "
        f"with its copies {_times(ms[CPP, TIMED], ms[COPIES, TIMED])}, "
        f"with pinned memory {_times(ms[CPP, TIMED], with_pinned)}"
    )
    figure, ax = styles.subplots(9, 3.6)
    timings.speedup(ax, rows, baseline=PYTHON, title=title)
    styles.caption(ax, record, cpu=True)
    return figure


def _times(before: float, after: float) -> str:
    """Return "61 times faster" or "3.5 times slower"."""
    ratio, word = (before / after, "faster") if after <= before else (after / before, "slower")
    return f"{ratio:.1f} times {word}" if ratio < 10 else f"{ratio:,.0f} times {word}"


def figure_of_sizes(record: Record) -> Figure:
    """Draw three ways of timing over the number of elements, with the floor of the memory."""
    ms = medians(record)
    few, many = SIZES[0], SIZES[-1]
    rows = [
        row
        for name in (NOBODY_WAITS, WAITED, EVENTS)
        for row in record.rows()
        if row["series"] == name
    ]
    grown = ms[NOBODY_WAITS, many] / ms[NOBODY_WAITS, few]
    title = f"{many // few:,} times the work: {grown:.1f} times the time, if nobody waits"
    figure, ax = styles.subplots(9, 4.4)
    timings.scaling(
        ax,
        rows,
        floor=lambda n: floor_s(n, record.device),
        xlabel="n (elements of float32)",
        title=title,
    )
    styles.caption(ax, record)
    return figure


def table_of_streams(record: Record) -> str:
    """Return a table: how three reports' times of streams grow with the work, and ours."""
    rows = []
    for name in "ABC":
        plain = "coalesced" if name == "C" else "baseline"  # both sizes
        few, many, base_few, base_many = (
            reports.kernel(name, one, batch)["op1_ms"]
            for one in ("streams", plain)
            for batch in (100, 10_000)
        )
        without = base_many / base_few
        figures = f"{few:.4f} ms", f"{many:.4f} ms", f"{many / few:.1f}x", f"{without:.0f}x"
        rows.append((f"report {name}: 100 and 10,000 images", *figures))
    ms = medians(record)
    few, many = ms[NOBODY_WAITS, 10**6], ms[NOBODY_WAITS, 10**8]
    right = ms[EVENTS, 10**8] / ms[EVENTS, 10**6]
    figures = f"{few:.4f} ms", f"{many:.4f} ms", f"{many / few:.1f}x", f"{right:.0f}x"
    rows.append(("ours: a million and 100 million elements", *figures))
    head = (
        "100 times the work",
        "small,\nnot waited for",
        "large,\nnot waited for",
        "times\nas long",
        "times as long,\nif waited for",
    )
    return tables.text(head, rows)
