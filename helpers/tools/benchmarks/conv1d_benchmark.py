"""The 1D convolution kernels on a GPU, beside the driver's copy and CuPy's ``convolve``.

Each kernel is timed with cold and with hot caches, for filters of 3 to 31 and up to 10^9 cells.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from helpers import checking, limits, tables
from helpers.bench import timing
from helpers.problems.conv1d import (
    BEST,
    CONV1D,
    COPY,
    PLAINEST,
    SEED,
    Checker,
    PeriodicData,
    conv1d_launch,
    conv1d_named,
)

NAME = "benchmark_conv1d"
FILTER_WIDTHS = (3, 5, 7, 15, 31)
SIZES = (10**7, 10**8, 10**9)
CUPY = "CuPy convolve"
CUPY_LARGEST = 10**8  # above it, CuPy's temporaries need several times the arrays' memory
# The tolerance of CuPy, in error bounds of a direct sum: its FFT may err more.
CUPY_SLACK = 100


def sizes_that_fit(sizes: Sequence[int], free_bytes: int, max_n: int) -> tuple[int, ...]:
    """Return the sizes up to ``max_n`` whose three float32 arrays fit 90 % of the free memory.

    It prints a line for each size that does not fit. Raises ValueError if no size is left.
    """
    allowed = [n for n in sizes if n <= max_n]
    kept = tuple(n for n in allowed if 12 * n <= 0.9 * free_bytes)
    for n in allowed[len(kept) :]:
        print(
            f"n = {n:,} is left out: it needs three arrays of {4 * n:,} bytes, "
            f"and {free_bytes:,} bytes are free"
        )
    if not kept:
        raise ValueError(
            f"no size of {', '.join(f'{n:,}' for n in sizes)} is left: --max-n is {max_n:,}"
        )
    return kept


class Conv1dBenchmark:
    """The measurements of ``conv1d``: ``results.record`` takes `measure`."""

    def __init__(
        self, sizes: Sequence[int], widths: Sequence[int], budget_s: float, max_n: int | None = None
    ):
        import pycuda.driver as cuda

        self._cuda, self._widths, self._budget_s = cuda, tuple(widths), budget_s
        self._sizes = sizes_that_fit(sizes, cuda.mem_get_info()[0], max_n or max(sizes))
        rng = np.random.default_rng(SEED)
        self._filters = {w: rng.uniform(-1, 1, w).astype(np.float32) for w in self._widths}
        self._copy_ms: dict[tuple[int, str], float] = {}

    def measure(self) -> list[dict[str, Any]]:
        """Check and time everything. Raises checking.CheckError for a wrong kernel."""
        arrays = [self._cuda.mem_alloc(4 * max(self._sizes)) for _ in range(3)]
        try:
            return [row for n in self._sizes for row in self._size(n, *(int(a) for a in arrays))]
        finally:
            for array in arrays:
                array.free()

    def _size(self, n: int, source: int, output: int, want: int) -> Iterator[dict[str, Any]]:
        data = PeriodicData(n)
        data.upload(self._cuda, source)
        checker = Checker(self._cuda, data, want)
        yield from self._copy(n, source, output, checker)
        for width in self._widths:
            print(f"n = {n:,}, filter of {width}", flush=True)
            filter = self._filters[width]
            self._prepare(n, source, want, filter, checker)
            for spec in CONV1D:
                if n <= spec.largest and spec.fits(width):
                    launch = conv1d_launch(spec, n, source, output, filter)
                    yield from self._one(spec.name, n, width, launch, lambda: output, checker)
            if n <= CUPY_LARGEST and (cupy := _cupy()):
                launch, result = _cupy_launch(cupy, n, source, filter)
                try:
                    yield from self._one(CUPY, n, width, launch, result, checker, CUPY_SLACK)
                except checking.CheckError as error:
                    # A wrong yardstick must not stop the measurement of the kernels.
                    print(f"{CUPY} is left out: {error}")

    def _prepare(
        self, n: int, source: int, want: int, filter: np.ndarray, checker: Checker
    ) -> None:
        """Fill `want` with the plainest kernel's outputs, and check it.

        Windows are compared with the oracle; `everywhere` also sees outputs that are NaN.
        """
        checker.poison(want)
        conv1d_launch(conv1d_named(PLAINEST), n, source, want, filter)(None)
        self._cuda.Context.synchronize()
        checker.everywhere(want, filter, PLAINEST)

    def _one(
        self,
        name: str,
        n: int,
        width: int,
        launch: Callable[[Any], None],
        result: Callable[[], int],
        checker: Checker,
        slack: float = 1.0,
    ) -> Iterator[dict[str, Any]]:
        """Check a launch, then time it with cold and hot caches.

        result: a function that returns the address of the outputs.
        """
        if name != CUPY:
            checker.poison(result())
        launch(None)
        self._cuda.Context.synchronize()
        verdict = checker.everywhere(
            result(), self._filters[width], f"{name}, n = {n}, filter of {width}", slack
        )
        moved = limits.conv1d(n, width).bytes
        for cache in ("cold", "hot"):
            measured = timing.time_gpu(
                launch, verdict=verdict, name=name, cache=cache, budget_s=self._budget_s
            )
            yield {
                "series": name,
                "n": n,
                "filter_width": width,
                "bytes": moved,
                "percent_of_copy": 100 * self._copy_ms[n, cache] / measured.median,
                "timing": measured,
            }

    def _copy(self, n: int, source: int, output: int, checker: Checker) -> Iterator[dict[str, Any]]:
        def launch(stream: Any) -> None:
            self._cuda.memcpy_dtod_async(output, source, 4 * n, stream)

        checker.poison(output)
        launch(None)
        self._cuda.Context.synchronize()
        if checker.wrong(output, source, 0.0):
            raise RuntimeError(
                "the device-to-device copy is wrong: the GPU or its driver is at fault; "
                "run nvidia-smi, and restart the machine"
            )
        verdict = checker.windows(output, np.ones(1, np.float32), COPY)
        for cache in ("cold", "hot"):
            measured = timing.time_gpu(
                launch, verdict=verdict, name=COPY, cache=cache, budget_s=self._budget_s
            )
            self._copy_ms[n, cache] = measured.median
            yield {"series": COPY, "n": n, "bytes": 8 * n, "timing": measured}


@functools.lru_cache(maxsize=1)
def _cupy() -> Any:
    """Return CuPy; if it is not installed or does not start, say so once and return None."""
    try:
        import cupy

        cupy.zeros(1)
    except Exception as error:  # A broken installation may raise anything, and CuPy is optional.
        print(f"CuPy is left out: {type(error).__name__}: {error}")
        return None
    return cupy


def _cupy_launch(
    cupy: Any, n: int, source: int, filter: np.ndarray
) -> tuple[Callable[[Any], None], Callable[[], int]]:
    """Return (launch, a function that returns the address of its result).

    CuPy computes a convolution, so that it gets the flipped filter. It allocates its own output.
    """
    memory = cupy.cuda.UnownedMemory(source, 4 * n, owner=None)
    cells = cupy.ndarray((n,), cupy.float32, cupy.cuda.MemoryPointer(memory, 0))
    flipped = cupy.asarray(np.ascontiguousarray(filter[::-1]))
    kept: list[Any] = []

    def launch(stream: Any) -> None:
        kept.clear()
        with cupy.cuda.ExternalStream(stream.handle if stream else 0):
            kept.append(cupy.convolve(cells, flipped, "same"))

    return launch, lambda: kept[0].data.ptr


def table(rows: Sequence[dict[str, Any]], cache: str = "cold") -> str:
    """Return, for each n, a table of series against filter widths.

    A cell has the median in ms and the percent of the copy's speed. rows: ``record.rows()`` of a
    record of `Conv1dBenchmark.measure`.
    """
    rows = [row for row in rows if row["cache"] == cache]
    lines = []
    for n in sorted({row["n"] for row in rows}):
        here = [row for row in rows if row["n"] == n]
        copy = next(row for row in here if row["series"] == COPY)
        speed = copy["bytes"] / copy["median_ms"] / 1e9
        widths = sorted({row["filter_width"] for row in here if "filter_width" in row})
        lines += ["", f"n = {n:,}, {cache} caches: ms (percent of the copy's {speed:.2f} TB/s)"]
        cells = []
        for series in dict.fromkeys(row["series"] for row in here if row["series"] != COPY):
            by_width = {row["filter_width"]: row for row in here if row["series"] == series}
            cells.append([series, *(_cell(by_width.get(width)) for width in widths)])
        lines.append(tables.text(["filter of", *map(str, widths)], cells))
        lines.append(f"{COPY}: {copy['median_ms']:.4g} ms")
    return "\n".join(lines[1:])


def _cell(row: dict[str, Any] | None) -> str:
    return "-" if row is None else f"{row['median_ms']:.4g} ({row['percent_of_copy']:3.0f}%)"


def summary(rows: Sequence[dict[str, Any]]) -> str:
    """Return the best kernel's least percentage of copy speed, and its least speedup over CuPy."""
    best = [row for row in rows if row["series"] == BEST and row["cache"] == "cold"]
    large = [row["percent_of_copy"] for row in best if row["n"] >= 10**8]
    cupy = {
        (r["n"], r["filter_width"]): r["median_ms"]
        for r in rows
        if r["series"] == CUPY and r["cache"] == "cold"
    }
    ratios: dict[int, list[float]] = {n: [] for n, _ in cupy}
    for row in best:
        if (row["n"], row["filter_width"]) in cupy:
            ratios[row["n"]].append(cupy[row["n"], row["filter_width"]] / row["median_ms"])
    lines = [f"{BEST}: at least {min(large):.1f} % of copy speed for n >= 10^8"] if large else []
    lines += [
        f"{BEST}: at least {min(r):.1f} times as fast as {CUPY} at n = {n:,}"
        for n, r in ratios.items()
        if r
    ]
    return "\n".join(lines)
