"""The latency of memory, and the bytes in flight that hide it.

`latencies` lets one thread follow a chain of indices: each load needs the value of the one before
it, so the time per step is the latency of one load. `copies` times a copy for each number of warps
on a multiprocessor and of loads that each thread has under way. Little's law joins the two
(J. D. C. Little, "A Proof for the Queuing Formula L = lambda W", Operations Research 9(3), 1961):
bytes in flight = bytes a second x seconds of waiting.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers import checking, device, kernels, tables
from helpers.bench import timing
from helpers.experiments import sass
from helpers.launch import Array, Launch, Plan
from helpers.plotting import styles
from helpers.programs import Program

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from helpers.bench.results import Record

LINE_BYTES = 128  # a line of the L1 and L2 caches: each step of a chain goes to another line
CELL_BYTES = 4
WARP = 32

# From well inside the L1 cache to far beyond the L2 cache of any GPU of today.
CHAIN_BYTES = tuple(2**k for k in range(13, 31))
STEPS = 20_000  # the fewest; a chain in a cache is walked through once at least

THREADS = 64  # of a block: two warps
BLOCKS = (1, 2, 4, 8, 16, 32)  # on each multiprocessor; 32 is the most that it holds
LOADS = (1, 2, 4, 8)
COPY_CELLS = 2**25  # 128 MiB: each copy reads it and writes as much

CHAIN, SHARED_CHAIN, COPY = "pointer_chase", "pointer_chase_shared", "copy_in_flight"
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


def copy_plan(cells: int, blocks: int, loads: int, order: str = "loads first") -> Plan:
    """Return the launch of copy_in_flight on "out" and "in".

    blocks: of the whole grid. order: of ORDERS.
    """
    return (
        Launch(
            source=ordered(order),
            name=COPY,
            options=(f"-DTHREADS={THREADS}", f"-DLOADS={loads}"),
            grid=(blocks, 1, 1),
            block=(THREADS, 1, 1),
            arguments=(Array("out", (cells,)), Array("in", (cells,)), np.int32(cells)),
        ),
    )


LOADS_FIRST, ONE_LOOP, RESTRICTED = "loads first", "one loop", "one loop, __restrict__"
ORDERS = (LOADS_FIRST, ONE_LOOP, RESTRICTED)
ORDER_LOADS = 4
_ONE_LOOP = """        #pragma unroll
        for (int k = 0; k < LOADS; ++k) {
            const int i = first + k * THREADS;
            if (i < n) {
                out[i] = in[i];
            }
        }
"""


def ordered(order: str) -> str:
    """Return the source of copy_in_flight with its accesses in one of ORDERS.

    "one loop" stores each value before it loads the next one. "one loop, __restrict__" also tells
    the compiler that the arrays do not overlap.
    """
    whole = kernels.source(COPY)
    if order == LOADS_FIRST:
        return whole
    first, last = whole.index("        // Load."), whole.rindex("    }\n}")
    one_loop = whole[:first] + _ONE_LOOP + whole[last:]
    pointers = "float* out, const float* in"
    restricted = one_loop.replace(pointers, pointers.replace("*", "* __restrict__"))
    return {ONE_LOOP: one_loop, RESTRICTED: restricted}[order]


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


def copies(
    cells: int = COPY_CELLS,
    blocks: Iterable[int] = BLOCKS,
    loads: Iterable[int] = LOADS,
    order: str = LOADS_FIRST,
) -> Iterator[Mapping[str, Any]]:
    """Time copy_in_flight for each number of blocks on a multiprocessor and of loads a thread.

    order: of ORDERS. Yields rows: series, order, warps (on a multiprocessor), loads,
    bytes_in_flight (on a multiprocessor, if every thread waits for all its loads), "timing". First
    comes "device-to-device copy", the driver's own.
    Raises CheckError where an output is not the input.
    """
    import pycuda.driver as cuda

    multiprocessors = _multiprocessors()
    rng = np.random.default_rng(25)
    values = rng.random(cells, dtype=np.float32)
    source, target = cuda.to_device(values), cuda.mem_alloc(values.nbytes)
    copied = np.empty_like(values)

    def verdict(name: str) -> checking.Verdict:
        cuda.memcpy_dtoh(copied, target)
        cuda.memset_d8(target, 0xFF, values.nbytes)  # NaN: the next copy must write everything
        return checking.check(copied, values, rtol=0, name=name)

    def clone(stream: Any) -> None:
        cuda.memcpy_dtod_async(target, source, values.nbytes, stream)

    cuda.memcpy_dtod(target, source, values.nbytes)
    checked = verdict("device-to-device copy")
    yield {
        "series": "device-to-device copy",
        "timing": timing.time_gpu(
            clone, verdict=checked, name="device-to-device copy", budget_s=0.5
        ),
    }
    arrays = {"out": target, "in": source}
    for many in loads:
        for count in blocks:
            warps = count * THREADS // WARP
            name = f"{COPY}, {order}, {warps} warps, {many} loads"
            with Program(copy_plan(cells, count * multiprocessors, many, order)) as program:
                program.launch(arrays, None)
                checked = verdict(name)
                timed = timing.time_gpu(
                    partial(program.launch, arrays),
                    verdict=checked,
                    name=name,
                    budget_s=0.3,
                )
            yield {
                "series": COPY,
                "order": order,
                "warps": warps,
                "loads": many,
                "bytes_in_flight": warps * WARP * many * CELL_BYTES,
                "timing": timed,
            }
    source.free()
    target.free()


def _multiprocessors() -> int:
    import pycuda.driver as cuda

    return cuda.Context.get_device().get_attribute(cuda.device_attribute.MULTIPROCESSOR_COUNT)


def measure() -> Iterator[Mapping[str, Any]]:
    """Yield all rows of the record "106_waiting", measured on the selected GPU."""
    yield {"series": "multiprocessors", "count": _multiprocessors(), "timing": None}
    yield from latencies()
    yield from copies()


def measure_orders() -> Iterator[Mapping[str, Any]]:
    """Yield all rows of the record "106_orders", measured on the selected GPU."""
    for order in ORDERS:
        yield from copies(loads=(ORDER_LOADS,), order=order)


@dataclass(frozen=True)
class Need:
    """The demand of Little's law on one multiprocessor.

    bytes_per_ns: read by it at full speed; latency_ns: of one load; bytes: to be in flight.
    """

    bytes_per_ns: float
    latency_ns: float

    @property
    def bytes(self) -> float:
        """The bytes that must be in flight: speed times waiting."""
        return self.bytes_per_ns * self.latency_ns

    def warps(self, loads: int) -> float:
        """Return the warps for so many bytes in flight, with `loads` 4-byte loads in each lane."""
        return self.bytes / (WARP * CELL_BYTES * loads)


def need(bytes_per_s: float, latency_ns: float, multiprocessors: int) -> Need:
    """Return the demand on one multiprocessor if the whole GPU reads `bytes_per_s`."""
    return Need(bytes_per_s / multiprocessors * 1e-9, latency_ns)


def access_order(order: str) -> str:
    """Return the global loads (L) and stores (S) of copy_in_flight, as the machine code has them.

    order: of ORDERS. Raises what `sass.assembled` raises.
    """
    (one,) = copy_plan(1, 1, ORDER_LOADS, order)
    return sass.assembled(one.name, one.options, source=one.source).order(LDG="L", STG="S")


def orders_table(record: Record) -> str:
    """Return the speeds of ORDERS in percent of the driver's copy, by warps on a multiprocessor."""
    rows = record.rows()
    clone = min(row["median_ms"] for row in rows if row["series"] == "device-to-device copy")
    share = {
        (row["order"], row["warps"]): f"{100 * clone / row['median_ms']:.0f}"
        for row in rows
        if row["series"] == COPY
    }
    warps = sorted({number for _, number in share})
    body = [(order, *(share[order, number] for number in warps)) for order in ORDERS]
    label = f"{ORDER_LOADS} loads; % of the driver's copy"
    head = (label, *(f"{number} warps" for number in warps))
    return tables.text(head, body)


# --------------------------------------------------------------------------------------------------
# Figures


def schema_figure() -> Figure:
    """Draw a quarter of a multiprocessor with one warp and with four: which warps wait or work."""
    import matplotlib.pyplot as plt

    start, wait, work = 1, 9, 2  # widths of the boxes, in steps of the drawing
    figure, panels = plt.subplots(
        2, 1, figsize=(9, 4), layout="constrained", sharex=True, height_ratios=(1.3, 4)
    )
    for ax, warps in zip(panels, (1, 4), strict=True):
        for warp in range(warps):
            for first in range(warp * work, 36, start + wait + work):
                _box(ax, first, start, warp, styles.COLOURS[0], "")
                _box(ax, first + start, wait, warp, styles.PALE, "")
                _box(ax, first + start + wait, work, warp, styles.LIGHT[1], "////")
        ax.set_yticks(range(warps), [f"warp {warp}" for warp in range(warps)])
        ax.set_ylim(warps - 0.5, -0.5)
        ax.set_xlim(0, 36)
        ax.tick_params(axis="y", length=0)
        ax.set_xticks([])
    styles.style(panels[0], "One warp: the arithmetic units wait with it")
    styles.style(panels[1], "Four warps: while one waits, another works")
    panels[1].set_xlabel("time (a drawing, not a measurement)")
    names = ("a load starts", "the warp waits for the value", "arithmetic with the value")
    boxes = panels[0].patches[: len(names)]
    figure.legend(boxes, names, loc="outside lower center", ncols=len(names), frameon=False)
    return figure


def _box(ax: Axes, first: int, width: int, row: int, colour: str, hatch: str) -> None:
    ax.barh(row, width, left=first, height=0.6, color=colour, hatch=hatch, edgecolor=styles.INK)


def latency_figure(record: Record) -> Figure:
    """Draw the latency of one load over the bytes of the chain."""
    import matplotlib.pyplot as plt

    rows = [row for row in record.rows() if row["series"] == CHAIN]
    shared = next(row for row in record.rows() if row["series"] == SHARED_CHAIN)
    first, last = rows[0], rows[-1]
    figure, ax = plt.subplots(figsize=(9, 4.5), layout="constrained")
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
    ax.xaxis.set_minor_locator(plt.NullLocator())
    ax.set_ylim(0)
    ax.set_xlabel("bytes that the chain covers")
    ax.set_ylabel("latency of one load (ns)")
    ratio = last["latency_ns"] / first["latency_ns"]
    title = (
        f"A load from DRAM takes {last['latency_ns']:.0f} ns, "
        f"{ratio:.0f} times as long as one from the L1 cache"
    )
    styles.style(ax, title)
    styles.caption(ax, record)
    return figure


def copy_figure(record: Record) -> Figure:
    """Draw the copy's speed over the warps on a multiprocessor, a line for each number of loads."""
    import matplotlib.pyplot as plt

    share = shares(record)
    figure, ax = plt.subplots(figsize=(9, 4.5), layout="constrained")
    for number, loads in enumerate(sorted({loads for _, loads in share})):
        points = sorted((warps, value) for (warps, many), value in share.items() if many == loads)
        ax.plot(
            *zip(*points, strict=True),
            color=styles.COLOURS[number],
            marker=styles.MARKERS[number],
            linestyle=styles.LINES[number],
            label="1 load" if loads == 1 else f"{loads} loads",
        )
    ax.axhline(100, color=styles.INK, linestyle=":")
    ax.set_xscale("log", base=2)
    warps = sorted({warps for warps, _ in share})
    ax.set_xticks(warps, [str(count) for count in warps])
    ax.set_ylim(0, 110)
    ax.set_xlabel("warps on a multiprocessor")
    ax.set_ylabel("percent of the driver's copy")
    ax.legend(title="in flight, each thread", frameon=False)
    most, fewest = max(share), min(share)
    title = (
        f"With one load in flight, {most[0]} warps reach {share[most[0], 1]:.0f} % of the copy's "
        f"speed; {fewest[0]} warps reach {share[fewest]:.0f} %"
    )
    styles.style(ax, title)
    styles.caption(ax, record)
    return figure


def flight_figure(record: Record, need: Need) -> Figure:
    """Draw the copy's speed over the bytes in flight on a multiprocessor, beside Little's law."""
    import matplotlib.pyplot as plt

    share = shares(record)
    figure, ax = plt.subplots(figsize=(9, 4.5), layout="constrained")
    for number, loads in enumerate(sorted({loads for _, loads in share})):
        points = sorted(
            (warps * WARP * CELL_BYTES * many / 1024, value)
            for (warps, many), value in share.items()
            if many == loads
        )
        ax.plot(
            *zip(*points, strict=True),
            color=styles.COLOURS[number],
            marker=styles.MARKERS[number],
            linestyle="none",
            label="1 load" if loads == 1 else f"{loads} loads",
        )
    most = max(warps * WARP * CELL_BYTES * many for warps, many in share) / 1024
    line = np.geomspace(0.25, most, 200)
    law = np.minimum(100, 100 * line * 1024 / need.bytes)
    ax.plot(line, law, color=styles.INK, linestyle="--", label="Little's law")
    ax.set_xscale("log", base=2)
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.set_ylim(0, 110)
    ax.set_xlabel("KiB in flight on a multiprocessor (warps x 128 bytes x loads)")
    ax.set_ylabel("percent of the driver's copy")
    ax.legend(frameon=False, loc="lower right")
    title = "Equal bytes in flight give nearly equal speed, by many warps or by many loads"
    styles.style(ax, title)
    styles.caption(ax, record)
    return figure


def shares(record: Record) -> dict[tuple[int, int], float]:
    """Return the copy's speed in percent of the driver's copy, by (warps, loads)."""
    rows = record.rows()
    clone = next(row for row in rows if row["series"] == "device-to-device copy")
    return {
        (row["warps"], row["loads"]): 100 * clone["median_ms"] / row["median_ms"]
        for row in rows
        if row["series"] == COPY
    }


def _bytes_text(value: float, _: float) -> str:
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if value >= size:
            return f"{value / size:g} {unit}"
    return f"{value:g} B"


def main() -> None:
    """Measure on the selected GPU and write results/106_waiting.json."""
    from helpers.bench import results

    record = results.record("106_waiting", measure, device=device.select(), lab="106_waiting")
    for row in record.rows():
        print({key: value for key, value in row.items() if key != "samples"})


if __name__ == "__main__":
    main()
