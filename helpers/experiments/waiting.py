"""The latency of memory: one thread follows a chain of indices.

Each load needs the value of the one before it, so the time per step is the latency of one load. The
copies that hide it are timed by the bench (`bench.memcpy`), and their figures are drawn here.
"""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers import checking, kernels, tables
from helpers.bench import timing
from helpers.bench.counts import NOT_YET
from helpers.bench.memory import DRIVER
from helpers.launch import Array, Launch, Plan
from helpers.limits import WARP
from helpers.plotting import boxes, styles
from helpers.plotting.boxes import Phase
from helpers.problems import in_flight
from helpers.programs import Program
from helpers.quantities import quantity

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from helpers.bench.results import Record
    from helpers.bench.times import Times

LINE_BYTES = 128  # a line of the L1 and L2 caches: each step of a chain goes to another line
CELL_BYTES = 4

# From well inside the L1 cache to far beyond the L2 cache of any GPU of today.
CHAIN_BYTES = tuple(2**k for k in range(13, 31))
STEPS = 20_000  # the fewest; a chain in a cache is walked through once at least

CHAIN, SHARED_CHAIN, COPY = "pointer_chase", "pointer_chase_shared", in_flight.NAME
YOURS = f"yours: {COPY}"
COPY_CELLS = 2**25  # 128 MiB: each copy reads it and writes as much
SHARED_CELLS = 1024


def chain(
    cells: int, rng: np.random.Generator, stride: int = LINE_BYTES // CELL_BYTES
) -> np.ndarray:
    """Return an int32 array of indices, shape (cells,): one cycle through every `stride`-th cell.

    The cycle's order is random, so that no prefetching guesses the next line. Other cells hold
    their own index. Raises ValueError where fewer than two cells lie on the cycle.
    """
    places = np.arange(0, cells, stride)
    if places.size < 2:
        raise ValueError(
            f"a chain needs two cells at least: {cells} cells have {places.size} "
            f"at a stride of {stride}"
        )
    order = rng.permutation(places)
    following = np.arange(cells, dtype=np.int32)
    following[order] = np.roll(order, -1)
    return following


def walk(following: np.ndarray, start: int, steps: int) -> int:
    """Return the cell that is reached from `start` after `steps` steps."""
    cell = start
    for _ in range(steps):
        cell = int(following[cell])
    return cell


def chain_plan(name: str, cells: int, start: int, steps: int) -> Plan:
    """Return the launch of a chase over the arrays "last" and "next"."""
    options = (f"-DCELLS={cells}",) if name == SHARED_CHAIN else ()
    return (
        Launch(
            source=kernels.source(name),
            name=name,
            options=options,
            grid=(1, 1, 1),
            block=(1, 1, 1),
            arguments=(
                Array("last", (1,), np.int32),
                Array("next", (cells,), np.int32),
                np.int32(start),
                np.int32(steps),
            ),
        ),
    )


def latencies(sizes: Iterable[int] = CHAIN_BYTES) -> Iterator[Mapping[str, Any]]:
    """Time one load on the selected GPU for chains of each size in bytes, and in shared memory.

    A chain that fits into the L2 cache is walked whole, again and again, so that it stays in the
    fastest cache that holds it ("hot"). One that does not fit is walked in part, and the L2 cache
    is emptied before each sample ("cold"): each of its loads goes to DRAM.

    Yields a row a size: series, bytes, steps, "timing" of a walk of 2 x `steps`, and
    "latency_ns": the difference between that walk and one of `steps`, over `steps`, so that launch
    and start-up drop out. Raises CheckError where a walk ends in the wrong cell.
    """
    import pycuda.driver as cuda

    gpu = cuda.Context.get_device()
    l2_bytes = gpu.get_attribute(cuda.device_attribute.L2_CACHE_SIZE)
    rng = np.random.default_rng(25)
    yield _latency(SHARED_CHAIN, chain(SHARED_CELLS, rng, stride=1), STEPS, "hot")
    for size in sizes:
        following = chain(size // CELL_BYTES, rng)
        fits = size <= l2_bytes
        steps = max(STEPS, size // LINE_BYTES) if fits else STEPS
        yield _latency(CHAIN, following, steps, "hot" if fits else "cold")


def _latency(name: str, following: np.ndarray, steps: int, cache: str) -> dict[str, Any]:
    import pycuda.driver as cuda

    there, last = cuda.to_device(following), cuda.mem_alloc(CELL_BYTES)
    once, twice = (
        _walk_timing(name, following, many, cache, {"last": last, "next": there})
        for many in (steps, 2 * steps)
    )
    there.free()
    last.free()
    return {
        "series": name,
        "bytes": following.nbytes,
        "steps": steps,
        "latency_ns": (twice.median - once.median) * 1e6 / steps,
        "timing": twice,
    }


def _walk_timing(
    name: str, following: np.ndarray, steps: int, cache: str, arrays: Mapping[str, Any]
) -> timing.Timing:
    import pycuda.driver as cuda

    label = f"{name}, {following.nbytes:,} bytes, {steps:,} steps"
    with Program(chain_plan(name, following.size, 0, steps)) as program:
        program.launch(arrays, None)
        reached = np.zeros(1, np.int32)
        cuda.memcpy_dtoh(reached, arrays["last"])
        want = np.array([walk(following, 0, steps)])
        return timing.time_gpu(
            lambda stream: program.launch(arrays, stream),
            verdict=checking.check(reached, want, rtol=0, name=label),
            name=label,
            cache=cache,
            budget_s=0.3,
        )


def shares(record: Record, series: str = COPY) -> dict[tuple[int, int], float]:
    """Return a kernel's speed in percent of the speed of CUDA's copy, by (warps, loads).

    Rows that do not name both numbers are left out.
    """
    clone = record.some(series=DRIVER)[0]
    return {
        (row["warps"], row["loads"]): 100 * clone["median_ms"] / row["median_ms"]
        for row in record.rows()
        if row["series"] == series and row.get("warps") and row.get("loads")
    }


def speeds(times: Times, driver: Times) -> str:
    """Return a table of speeds in percent of the driver's copy, by warps on a multiprocessor.

    times: of a sweep over WARPS; driver: of the driver's copy. A student's kernel that passes where
    there is no GPU has the bound of its speed, and a line below the table says so.
    """
    full = driver[0].ms
    warps = sorted({dict(one.kernel.settings)["warps"] for one in times})
    lines: dict[str, dict[int, str]] = {}
    notes: dict[str, None] = {}
    for one in times:
        state = f"{100 * full / one.ms:.0f}" if full and one.ms else "-"
        if full and (least := times.at_least(one)) is not None:
            state = f"<= {100 * full / least.value:.0f}"
            notes[
                f"<=: a bound by its counts ({least.resource}), not a speed. It knows nothing of "
                f"waiting, so few warps do not lower it. {COPY} is our solution, recorded."
            ] = None
        label = times.name(one) if one.state == NOT_YET else one.kernel.label
        lines.setdefault(label, {})[dict(one.kernel.settings)["warps"]] = state
    body = [(label, *(cells[count] for count in warps)) for label, cells in lines.items()]
    head = ("% of CUDA's copy", *(f"{count} warps" for count in warps))
    below = (textwrap.fill(note, tables.LINE, subsequent_indent="  ") for note in notes)
    return "\n".join([tables.text(head, body), *below])


# --------------------------------------------------------------------------------------------------
# Figures


_LOADING: tuple[styles.Look, ...] = (  # a load starts, is waited for, and is used
    {"facecolor": styles.COLOURS[0]},
    {"facecolor": styles.PALE},
    {"facecolor": styles.LIGHT[1], "hatch": "////"},
)


def _steps(row: int, start: float, widths: Sequence[float], kinds: Sequence[str]) -> list[Phase]:
    """Return boxes of a row, one behind the other."""
    ends = itertools.accumulate(widths, initial=start)
    return [Phase(row, *one) for one in zip(ends, widths, kinds, strict=False)]


def schema_figure() -> Figure:
    """Draw a quarter of a multiprocessor with one warp and with four: which warps wait or work."""
    start, wait, work = 1, 9, 2  # widths of the boxes, in steps of the drawing
    figure, panels = styles.subplots(9, 4, 2, height_ratios=(1.3, 4))
    kinds = ("a load starts", "the warp waits for the value", "arithmetic with the value")
    looks = dict(zip(kinds, _LOADING, strict=True))
    for ax, warps in zip(panels, (1, 4), strict=True):
        drawn = [
            one
            for warp in range(warps)
            for first in range(warp * work, 36, start + wait + work)
            for one in _steps(warp, first, (start, wait, work), kinds)
        ]
        boxes.phases(ax, [f"warp {warp}" for warp in range(warps)], drawn, looks, 36)
    panels[0].set_xlabel("")
    styles.style(panels[0], "One warp: the arithmetic units wait with it")
    styles.style(panels[1], "Four warps: while one waits, another works")
    boxes.legend_of(figure, looks)
    return figure


def thread_figure() -> Figure:
    """Draw four loads of one thread: each stored before the next one starts, and loads first."""
    start, wait, loads = 1, 9, 4  # widths of the boxes, and their number
    figure, panels = styles.subplots(9, 4, 2)
    kinds = ("a load starts", "its value is on the way", "its value is stored")
    looks = dict(zip(kinds, _LOADING, strict=True))
    for ax, apart in zip(panels, (start + wait + 1, start), strict=True):
        drawn = [
            one for k in range(loads) for one in _steps(k, k * apart, (start, wait, 1), kinds)
        ]
        names = [f"k = {k}" for k in range(loads)]
        boxes.phases(ax, names, drawn, looks, loads * (start + wait + 1))
    panels[0].set_xlabel("")
    styles.style(panels[0], "One loop: a thread waits for each of its loads")
    styles.style(panels[1], "Loads first: it waits for all of them at the same time")
    boxes.legend_of(figure, looks)
    return figure


def latency_figure(record: Record) -> Figure:
    """Draw the latency of one load over the bytes of the chain."""
    rows, shared = record.some(series=CHAIN), record.some(series=SHARED_CHAIN)[0]
    first, last = rows[0], rows[-1]
    _, ax = styles.subplots(9, 4.5)
    look: dict[str, Any] = {"color": styles.COLOURS[0], "marker": "o", "linestyle": "-"}
    ax.plot([row["bytes"] for row in rows], [row["latency_ns"] for row in rows], **look)
    ax.axhline(shared["latency_ns"], color=styles.COLOURS[1], linestyle="--")
    ax.annotate(
        f"shared memory: {shared['latency_ns']:.0f} ns",
        (rows[len(rows) // 2]["bytes"], shared["latency_ns"]),
        (0, 5),
        textcoords="offset points",
        ha="center",
        fontsize="small",
    )
    ax.set_xscale("log", base=2)
    ax.set_xticks([row["bytes"] for row in rows[::2]])
    ax.xaxis.set_major_formatter(_bytes_text)
    ax.minorticks_off()
    ax.set_ylim(0)
    ax.set_xlabel("bytes that the chain covers")
    ax.set_ylabel("latency of one load (ns)")
    ratio = last["latency_ns"] / first["latency_ns"]
    title = (
        f"A load from DRAM takes {last['latency_ns']:.0f} ns, "
        f"{ratio:.0f} times as long as one from the L1 cache"
    )
    return styles.finish(ax, title, record)


def copy_figure(record: Record) -> Figure:
    """Draw the copy's speed over the warps on a multiprocessor, a line for each number of loads.

    A student's copy has the same marks, empty and without lines.
    """
    share, yours = shares(record), shares(record, YOURS)
    _, ax = styles.subplots(9, 4.5)
    for number, loads in enumerate(sorted({loads for _, loads in share})):
        points = sorted((warps, value) for (warps, many), value in share.items() if many == loads)
        look: dict[str, Any] = {
            "color": styles.COLOURS[number],
            "marker": styles.MARKERS[number],
        }
        label = quantity(loads, "load")
        ax.plot(*_columns(points), linestyle=styles.LINES[number], label=label, **look)
        own = sorted((warps, value) for (warps, many), value in yours.items() if many == loads)
        ax.plot(*_columns(own), linestyle="none", markerfacecolor="none", markersize=12, **look)
    ax.axhline(100, color=styles.INK, linestyle=":")
    share_axes(ax, "warps on a multiprocessor")
    styles.plain_ticks(ax.xaxis, sorted({warps for warps, _ in share}))
    rings = "\n(rings: yours)" if yours else ""
    ax.legend(title=f"in flight, each thread{rings}", frameon=False)
    if not share:
        raise KeyError(f"record {record.name} has no row of {COPY} with its warps and loads")
    most, fewest = max(share), min(share)
    title = (
        f"With one load in flight, {most[0]} warps reach {share[most[0], 1]:.0f} % of the copy's "
        f"speed; {fewest[0]} warps reach {share[fewest]:.0f} %"
    )
    return styles.finish(ax, title, record)


def flight_figure(record: Record, needed: float | None = None) -> Figure:
    """Draw the copy's speed over the bytes in flight on a multiprocessor.

    needed: the bytes for full speed by Little's law, which is drawn as a line up to them; None for
    no line.
    """
    _, ax = styles.subplots(9, 4.5)
    for series, fill in ((COPY, None), (YOURS, "none")):
        share = shares(record, series)
        for number, loads in enumerate(sorted({loads for _, loads in share})):
            points = sorted(
                (kilobytes_in_flight(warps, many), value)
                for (warps, many), value in share.items()
                if many == loads
            )
            label = quantity(loads, "load")
            ax.plot(
                *_columns(points),
                color=styles.COLOURS[number],
                marker=styles.MARKERS[number],
                markerfacecolor=fill or styles.COLOURS[number],
                markersize=12 if fill else 6,
                linestyle="none",
                label=f"{label}, yours" if fill else label,
            )
    if needed:
        law = np.geomspace(0.25, 64, 200)
        percent = np.minimum(100, 100 * law * 1024 / needed)
        ax.plot(law, percent, color=styles.INK, linestyle="--", label="Little's law")
    share_axes(ax, "KiB in flight on a multiprocessor (warps x 128 bytes x loads)")
    ax.legend(frameon=False, loc="lower right")
    title = "Equal bytes in flight give nearly equal speed, by many warps or by many loads"
    return styles.finish(ax, title, record)


def share_axes(ax: Axes, xlabel: str) -> None:
    """Draw the axes of a speed, in percent of that of CUDA's copy; the other one is logarithmic."""
    ax.set_xscale("log", base=2)
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.set(ylim=(0, 110), xlabel=xlabel, ylabel="percent of the speed of CUDA's copy")


def kilobytes_in_flight(warps: int, loads: int) -> float:
    """Return the KiB that warps with so many loads have in flight."""
    return warps * WARP * CELL_BYTES * loads / 1024


def _columns(points: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in points], [y for _, y in points]


def _bytes_text(value: float, _: float) -> str:
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if value >= size:
            return f"{value / size:g} {unit}"
    return f"{value:g} B"
