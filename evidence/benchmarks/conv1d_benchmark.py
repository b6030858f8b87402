"""The 1D convolution kernels on a GPU, timed by the bench, beside the driver's copy.

Each kernel is timed with cold and with hot caches, for filters of 3 to 31 and up to 10^9 cells.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from helpers import bench, tables
from helpers.bench.memory import DRIVER
from helpers.problems.conv1d import BEST, CONV1D

NAME = "benchmark_conv1d"
FILTER_WIDTHS = (3, 5, 7, 15, 31)
SIZES = (10**7, 10**8, 10**9)

Row = dict[str, Any]


def measure(
    sizes: Sequence[int] = SIZES, widths: Sequence[int] = FILTER_WIDTHS, budget_s: float = 0.3
) -> Iterator[Row]:
    """Check and time everything. Raises bench.NotReadyError for a wrong kernel."""
    for n in sizes:
        yield from (row | {"n": n} for row in _timed(bench.memcpy(n), [DRIVER], budget_s))
        for width in widths:
            print(f"n = {n:,}, filter of {width}", flush=True)
            names = [spec.name for spec in CONV1D if n <= spec.largest and spec.fits(width)]
            yield from _timed(bench.conv1d(n, width), names, budget_s)


def _timed(problem: bench.Problem, names: Sequence[str], budget_s: float) -> Iterator[Row]:
    """Yield the rows of kernels, with cold and with hot caches."""
    with problem.on_device() as there:
        for ready in map(there.ready, names):
            for cache in ("cold", "hot"):
                yield problem.row(ready) | {"timing": ready.time(budget_s, cache)}


def table(rows: Sequence[Row], cache: str = "cold") -> str:
    """Return, for each n, a table of series against filter widths.

    A cell has the median in ms and the percent of the copy's speed. rows: ``record.rows()`` of a
    record of `measure`.
    """
    rows = [row for row in rows if row["cache"] == cache]
    lines = []
    for n in sorted({row["n"] for row in rows}):
        here = [row for row in rows if row["n"] == n]
        (copy,) = (row["median_ms"] for row in here if row["series"] == DRIVER)
        widths = sorted({row["filter_width"] for row in here if "filter_width" in row})
        lines += ["", f"n = {n:,}, {cache} caches: ms (percent of the copy's speed)"]
        cells = []
        for series in dict.fromkeys(row["series"] for row in here if row["series"] != DRIVER):
            ms = {row["filter_width"]: row["median_ms"] for row in here if row["series"] == series}
            cells.append([series, *(_cell(ms.get(width), copy) for width in widths)])
        lines.append(tables.text(["filter of", *map(str, widths)], cells))
        lines.append(f"{DRIVER}: {copy:.4g} ms ({8 * n / copy / 1e9:.2f} TB/s)")
    return "\n".join(lines[1:])


def _cell(ms: float | None, copy: float) -> str:
    return "-" if ms is None else f"{ms:.4g} ({100 * copy / ms:3.0f}%)"


def summary(rows: Sequence[Row]) -> str:
    """Return the least percentage of copy speed that the best kernel has on large arrays."""
    cold = [row for row in rows if row["cache"] == "cold" and row["n"] >= 10**8]
    copy = {row["n"]: row["median_ms"] for row in cold if row["series"] == DRIVER}
    best = [100 * copy[row["n"]] / row["median_ms"] for row in cold if row["series"] == BEST]
    return f"{BEST}: at least {min(best):.1f} % of copy speed for n >= 10^8" if best else ""
