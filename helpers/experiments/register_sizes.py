"""What the sizes of a patch in registers take of a multiprocessor: registers, warps, blocks.

`swept` reads from the records of lab 203's sweep how much each size takes, and how fast it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from helpers import plotting, tables
from helpers.bench import results
from helpers.exercises.resident_warps import reference as resident_warps
from helpers.experiments import sweep
from helpers.experiments.register_tiles import BATCH, BEST, LAYERS, OTHERS
from helpers.plotting import styles
from helpers.problems import conv2d
from helpers.problems.conv2d import RegisterTiled

if TYPE_CHECKING:
    from matplotlib.figure import Figure


MOST_WARPS = 64  # of a multiprocessor


def sizes_table() -> str:
    """Return the sizes that conv2d_register_tiled takes for each layer."""
    head = (
        "", "patch: columns\nx rows x maps", "patches of a block", "threads", "channels\nstaged",
        "rows\nunrolled", "blocks that\nmust fit", "weights in",
    )  # fmt: skip
    rows = []
    for layer in (*LAYERS, *OTHERS):
        shape = conv2d.shape_of(layer, 1)
        spec = conv2d.conv2d_named(BEST).fitted(shape)
        assert isinstance(spec, RegisterTiled)
        patch, (across, down, images), staged, unroll = spec.sizes
        block = f"{across} x {down}" + f", {images} images" * (images > 1)
        weights = "shared memory" if spec.weights_shared else "constant memory"
        threads = str(spec.threads(shape)[0])
        size = " x ".join(map(str, patch))
        fit = str(spec.resident or "any")
        rows.append((layer, size, block, threads, str(staged), str(unroll), fit, weights))
    return tables.text(head, rows, left=(0, 1, 2, 7))


def registers_table(specs: Sequence[RegisterTiled], layer: str) -> str:
    """Compile kernels for a layer; return what they take of a multiprocessor of an H200.

    The compiler is that of the selected device.
    """
    shape = conv2d.shape_of(layer, 1)
    head = ("patch", "sums of\na thread", "registers\nof a thread", "bytes of\nlocal memory",
            f"warps that\nfit, of {MOST_WARPS}", "sums on a\nmultiprocessor")  # fmt: skip
    rows = []
    for spec in specs:
        function = conv2d.compile(spec, shape).function
        threads = spec.threads(shape)[0]
        warps = resident_warps(threads, function.num_regs, function.shared_size_bytes)
        sums = math.prod(spec.sizes.patch)
        at_work = warps * 32 * math.prod(spec.sizes.patches) // threads
        rows.append(
            (
                " x ".join(map(str, spec.sizes.patch)),
                str(sums),
                str(function.num_regs),
                f"{function.local_size_bytes:,}",
                str(warps),
                f"{at_work * sums:,}",
            )
        )
    return tables.text(head, rows)


@dataclass(frozen=True)
class Swept:
    """A configuration of lab 203's sweep: its sums, registers, warps that fit, and time."""

    configuration: sweep.Configuration
    sums: int
    registers: int
    warps: int
    ms: float


@cache
def swept(layer: str) -> tuple[Swept, ...]:
    """Return the timed configurations of a layer's sweep, the fastest first.

    The times are Kernel Tuner's, with warm caches.
    """
    record, shape = sweep.recorded(layer), conv2d.shape_of(layer, 1)
    registers = {sweep.key(row): row["registers"] for row in record.rows()}
    found = []
    for one, ms in sweep.ranking(record):
        spec = sweep.spec_of(one)
        threads = spec.threads(shape)[0]
        warps = resident_warps(threads, registers[one], spec.static_bytes(shape))
        found.append(Swept(one, math.prod(spec.sizes.patch), registers[one], warps, ms))
    return tuple(found)


def best_ms(layer: str) -> float:
    """Return the recorded time of the faster form of conv2d_register_tiled on a layer, in ms."""
    rows = results.load(results.MEASURED / "benchmark_tensor.json").rows()
    wanted = BEST, layer, BATCH
    return min(
        row["median_ms"] for row in rows if (row["series"], row["layer"], row["batch"]) == wanted
    )


def fittings_table() -> str:
    """Return the recorded times of two forms of conv2d_register_tiled with the same patches.

    The first form is the plain one, the second has the options of `conv2d.OCCUPANCY`. The registers
    are those of the compiler of the selected device.
    """
    record = results.load(results.MEASURED / "benchmark_tensor.json")
    head = (f"{BATCH:,} images", "RESIDENT", "weights in", "registers", "ms (95 % interval)")
    rows = []
    for row in record.rows():
        if (row["series"], row["batch"]) != (BEST, BATCH) or row["layer"] not in LAYERS:
            continue
        weights = "shared memory" if row["weights_shared"] else "constant memory"
        time = f"{row['median_ms']:.4f} ({row['low_ms']:.4f} to {row['high_ms']:.4f})"
        resident = str(row["resident"] or "any")
        shape = conv2d.shape_of(row["layer"], 1)
        plain = conv2d.conv2d_named(BEST).fitted(shape)
        assert isinstance(plain, RegisterTiled)
        options = {"resident": row["resident"], "weights_shared": row["weights_shared"]}
        registers = conv2d.compile(replace(plain, **options), shape).function.num_regs
        rows.append((row["layer"], resident, weights, str(registers), time))
    return f"{tables.text(head, rows, left=(0, 1, 2))}\n{record.caption()}"


def warps_figure(layer: str = LAYERS[1]) -> Figure:
    """Draw the times of the sweep over the warps that fit, by the sums of a thread."""
    import matplotlib.pyplot as plt

    found, record = swept(layer), sweep.recorded(layer)
    groups = {"16 to 31": range(16, 32), "32 to 47": range(32, 48), "48 to 72": range(48, 73)}
    figure, ax = plt.subplots(figsize=(9, 4.4), layout="constrained")
    for number, (name, sums) in enumerate(groups.items()):
        points = [(one.warps, one.ms) for one in found if one.sums in sums]
        if points:
            look: styles.Look = {"color": styles.COLOURS[number], "linestyle": "none"}
            look |= {"markerfacecolor": "white"} if number % 2 else {}
            marker = styles.MARKERS[number]
            ax.plot(
                *zip(*points, strict=True), marker=marker, label=f"{name} sums a thread", **look
            )
    most = max(one.warps for one in found)
    crowded = min(one.ms for one in found if one.warps == most)
    title = (
        f"{layer}: the fastest sizes let {found[0].warps} of {MOST_WARPS} warps fit; "
        f"with {most}, the best take {crowded / found[0].ms:.1f} times as long"
    )
    plotting.style(ax, title)
    ax.set(xlim=(0, MOST_WARPS + 2), ylim=(0, None), ylabel="Kernel Tuner's time (ms)")
    ax.set_xlabel(f"warps that fit on a multiprocessor, of {MOST_WARPS}")
    ax.legend(frameon=False, loc="lower right")
    plotting.caption(ax, record)
    return figure
