"""Lab 302: what copies in the background do in time, and the bytes that they have in flight."""

from __future__ import annotations

from matplotlib.figure import Figure

from helpers.bench import results
from helpers.experiments import waiting
from helpers.plotting import COLOURS, boxes, finish, style, styles
from helpers.plotting.boxes import Phase
from helpers.problems.copies import NAMES
from helpers.quantities import percent

# Of copy_plain: a thread asks for all its vectors of a tile before it stores the first one. nvcc
# makes of the loop in copy_plain.cu a program that asks for the vectors left over by fours, stores
# them, and only then asks for the others: two trips to memory, one after the other.
LOADS_FIRST = (
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


def flights(data: results.Record, name: str, width: int) -> list[tuple[int, float]]:
    """Return (bytes of a tile for each block of a multiprocessor, bytes read a second).

    Up to twice as many bytes are on their way: a block asks for its next tile before it waits for
    this one.
    """
    rows = [row for row in data.some(series=name, filter_width=width) if row.get("median_ms")]
    return sorted(
        (4 * row["tile"] * row["blocks"], 4 * row["n"] / (1e-3 * row["median_ms"])) for row in rows
    )


def flight_figure(data: results.Record, waits: results.Record, width: int = 3) -> Figure:
    """Draw the speed of the background copies over their bytes in flight, beside lab 106's copy.

    waits: the record "106_waiting", of the same GPU.
    """
    clone = waits.some(series=waiting.DRIVER)[0]
    full = waiting.COPY_CELLS * waiting.CELL_BYTES / (1e-3 * clone["median_ms"])
    _, ax = styles.subplots(9, 4.5)
    share = waiting.shares(waits)
    thread_copies = [
        (waiting.kilobytes_in_flight(*key), percent) for key, percent in share.items()
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
    waiting.share_axes(ax, "KiB in flight on a multiprocessor")
    ax.legend(frameon=False, loc="lower right")
    size, speed = flights(data, NAMES[1], width)[0]
    title = (
        f"One to two tiles of {size / 1024:.0f} KiB in flight on each multiprocessor reach "
        f"{percent(speed / full)} of the copy's speed (filter of {width})"
    )
    return finish(ax, title, data)


def turns_figure() -> Figure:
    """Draw when a block copies and when it computes: in turns, and with the next tile on its way.

    A drawing of the idea, not a measurement: copying and computing take equally long in it.
    """
    drawing, panels = styles.subplots(9, 3.6, 2)
    turn, count = 2, 4
    looks = {"copy": {"facecolor": COLOURS[5]}, "compute": {"facecolor": styles.LIGHT[1]}}
    for ax, overlapped in zip(panels, (False, True), strict=True):
        drawn = []
        for tile in range(count):
            copied = tile * turn if overlapped else tile * 2 * turn
            drawn.append(Phase(0, copied, turn, "copy", f"tile {tile}"))
            drawn.append(Phase(1, copied + turn, turn, "compute", f"tile {tile}"))
        boxes.phases(ax, list(looks), drawn, looks, 2 * turn * count)
    panels[0].set_xlabel("")
    style(panels[0], "In turns: while a block copies, it does not compute")
    style(panels[1], "Two buffers: while a block computes, the next tile arrives")
    return drawing
