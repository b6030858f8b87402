"""The layer's filter in constant memory: what fits, and a suspect for a layer that loses.

The lab's comparisons stand in its notebook. "109_blocks" has two kernels with equally many blocks
on a multiprocessor, and "109_counters" what Nsight Compute counts of them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from helpers import tables
from helpers.bench import timing
from helpers.experiments import layer_counters, ncu
from helpers.limits import CONSTANT_BYTES, ConvShape
from helpers.problems import conv2d

if TYPE_CHECKING:
    from helpers.bench.results import Record
    from helpers.checking import Verdict

BASIC, CONSTANT = "conv2d_basic", "conv2d_constant"
MANY = 10_000  # images
LAYERS = ("layer 1", "layer 2", "layer E1", "layer E2")
FLOAT_BYTES = 4
# Shared memory that a kernel does not use holds its blocks down, and leaves its code as it is. A
# block gets an equal part of 32 KiB. CARVEOUT, in percent, tells the driver how much of it a
# multiprocessor should have; it takes the next larger of its sizes, 64 KiB.
HOLDING, CARVEOUT = 32 * 1024, 14
DRIVER_BYTES, SHARED_UNIT = 1024, 128  # of each block; shared memory is given out in such units
HELD_BLOCKS = (21, 16, 14, 13, 12, 10, 8, 6)
MOST_BLOCKS = 32  # that a multiprocessor holds of any kernel
HELD_LAYER = "layer E2"  # the one that loses

# --------------------------------------------------------------------------------------------------
# What fits


def chunks(maps: int, channels: int, width: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield (first map, maps, first channel, channels) of each launch.

    A launch gets as many whole maps as constant memory holds or, where one map does not fit, as
    many of its channels.
    """
    most = CONSTANT_BYTES // (FLOAT_BYTES * width**2)  # pairs of a map and a channel
    some_maps, some_channels = max(1, most // channels), min(channels, most)
    for m in range(0, maps, some_maps):
        for c in range(0, channels, some_channels):
            yield m, min(some_maps, maps - m), c, min(some_channels, channels - c)


# --------------------------------------------------------------------------------------------------
# Blocks that are held down


def shared_bytes(blocks: int) -> int:
    """Return the dynamic shared memory of a block if so many fit into HOLDING."""
    return HOLDING // blocks // SHARED_UNIT * SHARED_UNIT - DRIVER_BYTES


def measure_blocks() -> Iterator[Mapping[str, Any]]:
    """Yield the rows of the record "109_blocks", measured on the selected GPU.

    Both kernels in turns, with as much shared memory in each block. "blocks": see `shared_bytes`.
    """
    shape, arrays = conv2d.shape_of(HELD_LAYER, MANY), conv2d.inputs(HELD_LAYER, MANY)
    with conv2d.Problem(shape, *arrays) as problem:
        for blocks in HELD_BLOCKS:
            where: dict[str, Any] = {"layer": HELD_LAYER, "batch": MANY, "blocks": blocks}
            yield from _time_both("held", problem, shared=shared_bytes(blocks), **where)


def _time_both(
    series: str, problem: conv2d.Problem, shared: int = 0, **parameters: Any
) -> Iterator[dict[str, Any]]:
    first, first_verdict, first_registers = _prepared(problem, BASIC, shared=shared)
    second, second_verdict, second_registers = _prepared(problem, CONSTANT, shared=shared)
    pair = timing.compare(
        first, second, verdicts=(first_verdict, second_verdict), names=(BASIC, CONSTANT),
        budget_s=0.5, precision=0.002,
    )
    for kernel, timed, registers in (
        (BASIC, pair.a, first_registers),
        (CONSTANT, pair.b, second_registers),
    ):
        facts = {"kernel": kernel, **parameters, "registers": registers, "timing": timed}
        yield {"series": f"{series}, {kernel}", **facts}
    yield {"series": series, **pair.to_row(), **parameters}


def _compiled(shape: ConvShape, kernel: str, shared: int) -> conv2d.Compiled:
    plan = conv2d.conv2d_named(kernel).plan(shape)
    run = conv2d.compile(kernel, shape, tuple(replace(one, shared=shared) for one in plan))
    if shared:
        import pycuda.driver as cuda

        carveout = cuda.function_attribute.PREFERRED_SHARED_MEMORY_CARVEOUT
        run.function.set_attribute(carveout, CARVEOUT)
    return run


def _prepared(
    problem: conv2d.Problem, kernel: str, shared: int
) -> tuple[Callable[[Any], None], Verdict, int]:
    """Return the launch of a kernel that has passed its check, its verdict and its registers.

    shared: bytes of dynamic shared memory of a block.
    """
    run = _compiled(problem.shape, kernel, shared)

    def launch(stream: Any = None) -> None:
        run.launch(problem.y, problem.x, problem.filter, stream)

    problem.poison()
    launch()
    return launch, problem.check(kernel), run.function.num_regs


# --------------------------------------------------------------------------------------------------
# Nsight Compute

COUNTERS = "109_counters"
COUNTED_BATCH = 1_000
# (kernel, argument of `shared_bytes` or 0, layer)
COUNTED = (
    *((kernel, 0, layer) for layer in LAYERS for kernel in (BASIC, CONSTANT)),
    *((kernel, blocks, HELD_LAYER) for blocks in HELD_BLOCKS for kernel in (BASIC, CONSTANT)),
)


def launch_counted() -> None:
    """Launch all of COUNTED once on the GPU; ncu runs this in a process of its own."""
    for kernel, blocks, layer in COUNTED:
        shape = conv2d.shape_of(layer, COUNTED_BATCH)
        run = _compiled(shape, kernel, shared=shared_bytes(blocks) if blocks else 0)
        layer_counters.launch_on_random(shape, [run])


def count() -> Iterator[Mapping[str, Any]]:
    """Yield the rows of the record "109_counters": `layer_caches.METRICS` for each of COUNTED.

    Raises NcuError.
    """
    from helpers.experiments.layer_caches import METRICS

    launch_counted()  # Compile first: ncu would also follow the compiler's processes.
    metrics = METRICS | {"shared_of_a_multiprocessor": "launch__shared_mem_config_size"}
    command = [sys.executable, "-m", "helpers.experiments.layer_constant", "--launch"]
    readings = ncu.read(command, tuple(metrics.values()), [kernel for kernel, *_ in COUNTED])
    for (kernel, blocks, layer), one in zip(COUNTED, readings, strict=True):
        values = {column: one.get(metric) for column, metric in metrics.items()}
        common = {"kernel": kernel, "blocks": blocks, "layer": layer, "batch": COUNTED_BATCH}
        yield {"series": kernel, **common, **values}


# --------------------------------------------------------------------------------------------------
# Reading the record


def _rows(record: Record, series: str) -> list[dict[str, Any]]:
    return [measurement.row() for measurement in record.series(series)]


def situation_table(counted: Record) -> str:
    """Return what Nsight Compute counted for both kernels on all layers, from "109_counters"."""
    head = (
        "1,000 images", "registers", "warps\npresent", "constant reads\nthat missed",
        "schedulers\nbusy",
    )
    rows = []
    for row in counted.rows():
        if not row["blocks"]:
            missed = row["constant_misses"] / (row["constant_hits"] + row["constant_misses"])
            name = f"{row['layer']}, {row['kernel']}"
            cells = (
                f"{row['warps_active']:.0f} %", f"{missed:.2%}", f"{row['issue_slots_busy']:.0f} %",
            )
            rows.append((name, str(row["registers"]), *cells))
    return tables.text(head, rows)


def held_table(record: Record, counted: Record) -> str:
    """Return times with the same room for blocks for both kernels, from "109_blocks".

    counted: "109_counters", for the warps that were present and the multiprocessor's shared memory.
    Of launches with room for the same number of blocks, the first is shown.
    """
    there = {(row["kernel"], row["layer"], row["blocks"]): row for row in counted.rows()}
    head = (
        "10,000 images", "room for\nblocks", "warps present,\nglobal / constant", "global\nms",
        "constant\nms", "times\nas fast", "95 % interval",
    )
    rows: dict[int, tuple[str, ...]] = {}
    for row in _rows(record, "held"):
        layer, blocks = row["layer"], row["blocks"]
        if layer != HELD_LAYER:
            continue
        both = [there[kernel, layer, blocks] for kernel in (BASIC, CONSTANT)]
        warps = " / ".join(f"{one['warps_active']:.0f} %" for one in both)
        each = shared_bytes(blocks) + DRIVER_BYTES
        room = min(MOST_BLOCKS, both[0]["shared_of_a_multiprocessor"] // each)
        ms = [
            f"{one['median_ms']:.2f}"
            for kernel in (BASIC, CONSTANT)
            for one in _rows(record, f"held, {kernel}")
            if (one["layer"], one["blocks"]) == (layer, blocks)
        ]
        interval = f"{row['low']:.3f} to {row['high']:.3f}"
        rows.setdefault(room, (layer, str(room), warps, *ms, f"{row['ratio']:.3f}", interval))
    return tables.text(head, list(rows.values()), left=(0,))


def main(argv: Sequence[str] | None = None) -> int:
    """Read the counters and write the record "109_counters"; return the exit status."""
    if list(sys.argv[1:] if argv is None else argv) == ["--launch"]:
        launch_counted()
        return 0
    return ncu.record_here(COUNTERS, count, "109_conv2d_constant_memory")


if __name__ == "__main__":
    sys.exit(main())
