"""The layer's filter in constant memory: what fits, and a suspect for a layer that loses.

The lab's comparisons stand in its notebook. "109_blocks" has two kernels with equally many blocks
on a multiprocessor; "109_counters" has what Nsight Compute counts of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from helpers import limits, tables
from helpers.bench import layers
from helpers.bench.ratios import Ratio
from helpers.bench.sources import Kernel
from helpers.launch import Plan
from helpers.problems import conv2d
from helpers.quantities import percent

if TYPE_CHECKING:
    from helpers.bench.results import Record

BASIC, CONSTANT = "conv2d_basic", "conv2d_constant"
MANY = 10_000  # images
LAYERS = tuple(conv2d.LAYERS)
FLOAT_BYTES = 4
# Shared memory that a kernel does not use holds its blocks down, and leaves its code as it is. A
# block gets an equal part of 32 KiB. CARVEOUT, in percent, tells the driver how much of it a
# multiprocessor should have; it takes the next larger of its sizes, 64 KiB.
HOLDING, CARVEOUT = 32 * 1024, 14
SHARED_UNIT = 128  # bytes: shared memory is given out in such units
HELD_BLOCKS = (21, 16, 14, 13, 12, 10, 8, 6)
HELD_LAYER = "layer E2"  # the one that loses
FEWER_WARPS, MISSING_READS = "fewer warps", "constant reads that miss the cache"  # the suspects

# --------------------------------------------------------------------------------------------------
# What fits


def chunks(maps: int, channels: int, width: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield (first map, maps, first channel, channels) of each launch.

    A launch gets as many whole maps as constant memory holds or, where one map does not fit, as
    many of its channels.
    """
    most = limits.CONSTANT_BYTES // (FLOAT_BYTES * width**2)  # pairs of a map and a channel
    some_maps, some_channels = max(1, most // channels), min(channels, most)
    for m in range(0, maps, some_maps):
        for c in range(0, channels, some_channels):
            yield m, min(some_maps, maps - m), c, min(some_channels, channels - c)


# --------------------------------------------------------------------------------------------------
# Blocks that are held down


def shared_bytes(blocks: int) -> int:
    """Return the dynamic shared memory of a block if so many fit into HOLDING."""
    return HOLDING // blocks // SHARED_UNIT * SHARED_UNIT - limits.RESERVED_SHARED_BYTES


@dataclass(frozen=True)
class Held(layers.Layer):
    """A layer whose kernels get so many bytes of shared memory that they do not use."""

    shared: int = 0

    def plan(self, kernel: Kernel) -> Plan:
        return tuple(replace(one, shared=self.shared) for one in super().plan(kernel))


def held(blocks: int, images: int = MANY) -> Held:
    """Return the layer with room for so many blocks, see `shared_bytes`."""
    shape = conv2d.shape_of(HELD_LAYER, images)
    return Held(HELD_LAYER, shape, shared=shared_bytes(blocks))


def measure_blocks() -> Iterator[Mapping[str, Any]]:
    """Yield the rows of the record "109_blocks", measured on the selected GPU.

    Both kernels in turns, with as much shared memory in each block. "blocks": see `shared_bytes`.
    """
    import pycuda.driver as cuda

    carveout = cuda.function_attribute.PREFERRED_SHARED_MEMORY_CARVEOUT
    with held(HELD_BLOCKS[0]).on_device() as there:
        for blocks in HELD_BLOCKS:
            there.problem = held(blocks)
            pair = [there.ready(kernel) for kernel in (BASIC, CONSTANT)]
            for one in pair:
                assert one.program is not None
                one.program.kernel().function.set_attribute(carveout, CARVEOUT)
            found = pair[0].beside(pair[1], budget_s=0.5, precision=0.002)
            where = {**there.problem.where, "blocks": blocks}
            for one, timed in zip(pair, (found.a, found.b), strict=True):
                facts = {"kernel": one.kernel.name, **where, "registers": one.registers}
                yield {"series": f"held, {one.kernel.name}", **facts, "timing": timed}
            yield {"series": "held", **Ratio.of(found).to_row(), **where}


# --------------------------------------------------------------------------------------------------
# Reading the record


def held_table(record: Record, counted: Record) -> str:
    """Return times with the same room for blocks for both kernels, from "109_blocks".

    counted: "109_counters", for the warps that were present and the multiprocessor's shared memory.
    Of launches with room for the same number of blocks, the first is shown.
    """
    head = (
        "10,000 images", "room for\nblocks", "warps present,\nglobal / constant", "global\nms",
        "constant\nms", "times\nas fast", "95 % interval",
    )
    rows: dict[int, tuple[str, ...]] = {}
    for row in record.select(series="held", layer=HELD_LAYER):
        where = {"layer": HELD_LAYER, "blocks": row["blocks"]}
        both = [counted.one(kernel=kernel, **where) for kernel in (BASIC, CONSTANT)]
        warps = " / ".join(percent(one["warps_active"] / 100) for one in both)
        each = shared_bytes(row["blocks"]) + limits.RESERVED_SHARED_BYTES
        room = min(limits.MOST_BLOCKS, both[0]["shared_of_a_multiprocessor"] // each)
        timed = (record.one(series=f"held, {kernel}", **where) for kernel in (BASIC, CONSTANT))
        ms = (f"{one['median_ms']:.2f}" for one in timed)
        interval = f"{row['low']:.3f} to {row['high']:.3f}"
        rows.setdefault(
            room, (HELD_LAYER, str(room), warps, *ms, f"{row['ratio']:.3f}", interval)
        )
    return tables.text(head, list(rows.values()))


def suspect_of(record: Record) -> str:
    """Return which suspect the times of "109_blocks" leave for the loss of constant memory.

    With the least room both kernels have about equally many warps: a loss that is there still
    comes from the reads, one that has gone came from the warps.
    """
    rows = sorted(record.select(series="held", layer=HELD_LAYER), key=lambda row: row["blocks"])
    least, most = rows[0], rows[-1]
    if most["low"] >= 1:
        return "no loss here"
    return FEWER_WARPS if least["high"] >= 1 else MISSING_READS
