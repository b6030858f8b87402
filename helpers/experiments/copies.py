"""Copies in the background: the plain copy, cp.async and bulk copies over tiles, blocks and work.

    record = copies.record(gpu, lab)                  # on the GPU, or the recorded run
    copies.figure(record)                             # times over the filter's width
    copies.flight_figure(record, waits)               # speed over the bytes in flight

Each kernel convolves n cells tile by tile. A wider filter means more work on a tile; more blocks on
a multiprocessor mean that others compute while one waits for its copy. All are checked first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from helpers import checking, kernels, limits, programs, tables
from helpers.bench import results, timing
from helpers.checking import device_counter, diagnosis
from helpers.device import Device
from helpers.experiments import waiting
from helpers.plotting import COLOURS, caption, style, styles
from helpers.problems import conv1d
from helpers.problems.copies import NAMES, Copies, launch_on

NAME = "copies"
N = 10**8
WIDTHS = (3, 7, 15, 31)
TILES = (1024, 4096)
BLOCKS = (1, 2, 4, 8)  # of a multiprocessor
THREADS = 256
PLAIN = NAMES[0]
# copy_plain, but a thread asks for all its vectors of a tile before it stores the first one. nvcc
# makes of the loop in copy_plain.cu a program that asks for the vectors left over by fours, stores
# them, and only then asks for the others: two trips to memory, one after the other.
FIRST = "copy_plain, loads first"
_LOADS_FIRST = (
    """        for (int v = t; v < vectors; v += THREADS) {
            tile[v] = source[v];
        }
""",
    """        constexpr int TURNS = (VECTORS + THREADS - 1) / THREADS;
        float4 held[TURNS];
        #pragma unroll
        for (int turn = 0; turn < TURNS; ++turn) {
            if (turn * THREADS + t < vectors) held[turn] = source[turn * THREADS + t];
        }
        #pragma unroll
        for (int turn = 0; turn < TURNS; ++turn) {
            if (turn * THREADS + t < vectors) tile[turn * THREADS + t] = held[turn];
        }
""",
)
STYLES = dict(zip(NAMES, ("o-", "s--", "^:"), strict=True))


def blocks_that_fit(spec: Copies, width: int) -> int:
    """Return how many blocks of a kernel fit on a multiprocessor, by shared memory and threads."""
    bytes_each = spec.shared(width) + limits.RESERVED_SHARED_BYTES
    return min(2048 // spec.threads, limits.MULTIPROCESSOR_SHARED_BYTES // bytes_each)


def configurations(
    widths: Sequence[int], tiles: Sequence[int], blocks: Sequence[int]
) -> Iterator[tuple[int, int, int]]:
    """Yield (width, tile, blocks of a multiprocessor) for which all three kernels fit."""
    for width in widths:
        for tile in tiles:
            most = min(blocks_that_fit(Copies(name, tile, THREADS), width) for name in NAMES)
            yield from ((width, tile, per) for per in blocks if per <= most)


def instead(series: str) -> dict[str, tuple[str, str]] | None:
    """Return the source in place of copy_plain's own for FIRST, None for NAMES."""
    return {PLAIN: (PLAIN, kernels.changed(PLAIN, _LOADS_FIRST))} if series == FIRST else None


def measure(
    widths: Sequence[int] = WIDTHS,
    tiles: Sequence[int] = TILES,
    blocks: Sequence[int] = BLOCKS,
    n: int = N,
    budget_s: float = 0.06,
) -> Iterator[dict[str, Any]]:
    """Yield a row for each kernel and configuration, and the ratio to the plain copy. Wants a GPU.

    Raises checking.CheckError where a kernel is wrong.
    """
    import pycuda.driver as cuda

    multiprocessors = cuda.Context.get_device().multiprocessor_count
    cases = list(configurations(widths, tiles, blocks))
    programs.compile_ahead(
        Copies(name, tile, THREADS).plan(n, width, 1) for width, tile, _ in cases for name in NAMES
    )
    arrays = [cuda.mem_alloc(4 * n) for _ in range(3)]
    source, output, want = (int(array) for array in arrays)
    data = conv1d.PeriodicData(n)
    data.upload(cuda, source)
    checker = conv1d.Checker(cuda, data, want)
    rng = np.random.default_rng(conv1d.SEED)
    try:
        for width in widths:
            filter = rng.uniform(-1, 1, width).astype(np.float32)
            plainest = conv1d.conv1d_named(conv1d.PLAINEST)
            conv1d.conv1d_launch(plainest, n, source, want, filter)(None)
            checker.windows(want, filter, plainest.name)
            for _, tile, per in (case for case in cases if case[0] == width):
                common = {"n": n, "filter_width": width, "tile": tile, "blocks": per}
                ready = {}
                for name in (*NAMES, FIRST):
                    spec = Copies(PLAIN if name == FIRST else name, tile, THREADS)
                    start = launch_on(
                        spec, n, per * multiprocessors, source, output, filter, instead(name)
                    )
                    device_counter.DeviceCounter().poison(output, n)
                    start(None)
                    ready[name] = start, _checked(cuda, name, output, data, filter, want)
                for name in (*NAMES[1:], FIRST):
                    (start, verdict), (plain, right) = ready[name], ready[PLAIN]
                    found = timing.compare(
                        start,
                        plain,
                        verdicts=(verdict, right),
                        names=(name, PLAIN),
                        budget_s=budget_s,
                    )
                    yield {"series": name, **common, "timing": found.a}
                    if name == NAMES[1]:
                        yield {"series": PLAIN, **common, "timing": found.b}
                    ratio = {"ratio": found.ratio, "low": found.low, "high": found.high}
                    yield {"series": "ratio", "kernel": name, **common, **ratio, "timing": None}
    finally:
        for array in arrays:
            array.free()


def _checked(
    cuda: Any, name: str, output: int, data: conv1d.PeriodicData, filter: np.ndarray, want: int
) -> checking.Verdict:
    """Compare every output with the plainest kernel's, and both ends with the oracle."""
    outputs, radius = data.n - filter.size + 1, filter.size // 2
    atol = conv1d.conv1d_atol(data.period, filter)
    # Output i of a kernel without ghost cells is output i + radius of one that has them.
    wrong = device_counter.DeviceCounter().wrong(output, want + 4 * radius, 2 * atol, outputs)
    if wrong:
        text = f"{wrong:,} of {outputs:,} outputs differ from {conv1d.PLAINEST} or are NaN"
        kind = diagnosis.Diagnosis("outside the windows", text)
        raise checking.CheckError(f"FAIL {name}: {text}", name=name, wrong=wrong, diagnosis=kind)
    count = min(conv1d.WINDOW, outputs)
    got = np.empty(2 * count, np.float32)
    cuda.memcpy_dtoh(got[:count], output)
    cuda.memcpy_dtoh(got[count:], output + 4 * (outputs - count))
    places = ((radius, radius + count), (radius + outputs - count, radius + outputs))
    expected = np.concatenate([data.outputs(*place, filter) for place in places])
    return checking.check(got, expected, rtol=0.0, atol=atol, name=name)


def record(gpu: Device, lab: str) -> results.Record:
    """Measure on the GPU, or return the recorded run where there is none."""
    return results.record(NAME, measure, device=gpu, lab=lab)


def picture(axes: Sequence[Any], data: results.Record, tile: int = TILES[-1]) -> None:
    """Draw the time over the filter's width, one of the axes for each number of blocks."""
    rows = [row for row in data.rows() if row.get("tile") == tile and row["series"] in NAMES]
    counts = sorted({row["blocks"] for row in rows})
    for ax, per in zip(axes, counts, strict=False):
        for number, name in enumerate(NAMES):
            chosen = [row for row in rows if row["series"] == name and row["blocks"] == per]
            chosen.sort(key=lambda row: row["filter_width"])
            keys = ("filter_width", "median_ms")
            widths, medians = ([row[key] for row in chosen] for key in keys)
            ax.plot(widths, medians, STYLES[name], color=COLOURS[number], label=name)
        style(ax, f"{per} block{'s' if per > 1 else ''} on a multiprocessor")
        ax.set(xlabel="filter width", ylabel="time (ms)", ylim=(0, None))
    axes[0].legend(frameon=False)
    caption(axes[0], data)


def ratios(data: results.Record, name: str, tile: int, blocks: int) -> dict[int, dict[str, Any]]:
    """Return the rows of a kernel's ratio to the plain copy, by the filter's width."""
    rows = [row for row in data.rows() if row["series"] == "ratio" and row["kernel"] == name]
    return {
        row["filter_width"]: dict(row)
        for row in rows
        if row["tile"] == tile and row["blocks"] == blocks
    }


def verdict(row: dict[str, Any]) -> str:
    """Return what a ratio with its interval says: faster, slower, or no measurable difference."""
    if row["low"] <= 1 <= row["high"]:
        return "no measurable difference"
    return "faster" if row["high"] < 1 else "slower"


def figure(data: results.Record, tile: int = TILES[-1]) -> Figure:
    """Draw `picture` with a panel for each number of blocks; the title says what it shows."""
    import matplotlib.pyplot as plt

    counts = sorted({row["blocks"] for row in data.rows() if row.get("tile") == tile})
    drawing, axes = plt.subplots(
        1, len(counts), figsize=(11, 4.2), layout="constrained", sharey=True, squeeze=False
    )
    picture(axes[0], data, tile)
    widths = sorted({row["filter_width"] for row in data.rows()})
    for ax in axes[0]:
        ax.set_xticks(widths)
        ax.set_xlim(0, max(widths) + 2)
    for ax in axes[0][1:]:
        ax.set_ylabel("")
    few, many = ([row["ratio"] for row in ratios(data, NAMES[-1], tile, count).values()]
                 for count in (counts[0], counts[-1]))  # fmt: skip
    drawing.suptitle(
        f"Bulk copies take {_percent(few)} of the plain copy's time with {counts[0]} block on a "
        f"multiprocessor, {_percent(many)} with {counts[-1]} blocks",
        x=0.01,
        ha="left",
        fontsize="medium",
    )
    return drawing


def _percent(values: Sequence[float]) -> str:
    return f"{100 * min(values):.0f} to {100 * max(values):.0f} %"


def ratio_table(
    data: results.Record, widths: Sequence[int] = (3, 15), blocks: Sequence[int] = (1, 4)
) -> str:
    """Return each kernel's ratio to the plain copy, with its interval and what it says."""
    lines = []
    for name in (*NAMES[1:], FIRST):
        for tile in TILES:
            for per in blocks:
                for width, row in ratios(data, name, tile, per).items():
                    if width in widths:
                        interval = f"{100 * row['low']:.1f} to {100 * row['high']:.1f}"
                        ratio = f"{100 * row['ratio']:.1f} %"
                        told = f"{tile:,}", f"{per}", f"{width}", ratio, interval, verdict(row)
                        lines.append((name, *told))
    head = ("", "tile", "blocks", "width", "of the\nplain time", "95 %\ninterval", "")
    return tables.text(head, lines, left=(0, 6))


def flights(data: results.Record, name: str, width: int) -> list[tuple[int, float]]:
    """Return (bytes of a tile for each block of a multiprocessor, bytes read a second).

    Up to twice as many bytes are on their way: a block asks for its next tile before it waits for
    this one.
    """
    rows = [row for row in data.rows() if row["series"] == name and row["filter_width"] == width]
    return sorted(
        (4 * row["tile"] * row["blocks"], 4 * row["n"] / (1e-3 * row["median_ms"])) for row in rows
    )


def flight_figure(data: results.Record, waits: results.Record, width: int = WIDTHS[0]) -> Figure:
    """Draw the speed of the background copies over their bytes in flight, beside lab 106's copy.

    waits: the record "106_waiting", of the same GPU.
    """
    import matplotlib.pyplot as plt

    rows = waits.rows()
    clone = next(row for row in rows if row["series"] == "device-to-device copy")
    full = waiting.COPY_CELLS * waiting.CELL_BYTES / (1e-3 * clone["median_ms"])
    drawing, ax = plt.subplots(figsize=(9, 4.5), layout="constrained")
    share = waiting.shares(waits)
    thread_copies = [
        (warps * limits.WARP * waiting.CELL_BYTES * loads / 1024, percent)
        for (warps, loads), percent in share.items()
    ]
    ax.plot(
        *zip(*sorted(thread_copies), strict=True),
        color=COLOURS[6],
        marker=".",
        linestyle="none",
        label="loads of threads (lab 106)",
    )
    for number, name in enumerate(NAMES[1:], 1):
        for size, speed in flights(data, name, width):
            label = f"one to two tiles of {name}"
            ax.plot(
                [size / 1024, 2 * size / 1024],
                [100 * speed / full] * 2,
                color=COLOURS[number],
                marker=styles.MARKERS[number],
                markersize=5,
                linewidth=1.2,
                label=label if label not in ax.get_legend_handles_labels()[1] else None,
            )
    ax.axhline(100, color=styles.INK, linestyle=":")
    ax.set_xscale("log", base=2)
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.set_ylim(0, 110)
    ax.set_xlabel("KiB in flight on a multiprocessor")
    ax.set_ylabel("percent of the driver's copy")
    ax.legend(frameon=False, loc="lower right")
    size, speed = flights(data, NAMES[1], width)[0]
    style(
        ax,
        f"One to two tiles of {size / 1024:.0f} KiB in flight on each multiprocessor reach "
        f"{100 * speed / full:.0f} % of the copy's speed (filter of {width})",
    )
    caption(ax, data)
    return drawing


def turns_figure() -> Figure:
    """Draw when a block copies and when it computes: in turns, and with the next tile on its way.

    A drawing of the idea, not a measurement: copying and computing take equally long in it.
    """
    import matplotlib.pyplot as plt

    drawing, panels = plt.subplots(2, 1, figsize=(9, 3.6), layout="constrained", sharex=True)
    turn, count = 2, 4
    for ax, overlapped in zip(panels, (False, True), strict=True):
        for tile in range(count):
            copied = tile * turn if overlapped else tile * 2 * turn
            _box(ax, copied, turn, 0, COLOURS[5], f"tile {tile}")
            _box(ax, copied + turn, turn, 1, styles.LIGHT[1], f"tile {tile}")
        ax.set_yticks([0, 1], ["copy", "compute"])
        ax.set_ylim(1.5, -0.5)
        ax.set_xlim(0, 2 * turn * count)
        ax.set_xticks([])
        ax.tick_params(axis="y", length=0)
    style(panels[0], "In turns: while a block copies, it does not compute")
    style(panels[1], "Two buffers: while a block computes, the next tile arrives")
    panels[1].set_xlabel("time (a drawing, not a measurement)")
    return drawing


def _box(ax: Any, first: int, width: int, row: int, colour: str, text: str) -> None:
    ax.barh(row, width, left=first, height=0.7, color=colour, edgecolor=styles.INK)
    ax.text(first + width / 2, row, text, ha="center", va="center", fontsize="small")
