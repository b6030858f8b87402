"""Nsight Compute on the layer's first kernels: what their loads find in the caches.

    # On a GPU with ncu. It writes results/111_caches.json; copy that to data/measured/.
    python -m helpers.experiments.layer_caches
    # Only launch the kernels, on 1 image, under an ncu of your own:
    ncu --metrics ... python -m helpers.experiments.layer_caches --launch 1

One call of ``ncu`` runs each of `launches()` once, on random numbers. It records no times. The
exit status is 0, or 2 if ``ncu`` cannot be used.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from helpers import tables
from helpers.bench import results, sources
from helpers.experiments import layer_counters, ncu
from helpers.launch import Plan
from helpers.limits import ConvShape
from helpers.problems import conv2d

RECORD = "111_caches"
LAB = "111_conv2d_tiles"
LAYERS = ("layer 1", "layer 2")
MAPS = (2, 4, 8, 16)  # output maps that share a tile
# Variants of a kernel's source, as lab 111 makes them: pairs of the old text and the new.
VARIANTS: Mapping[str, tuple[str, str]] = {
    "uniform": (" + threadIdx.z", ""),
    "tile not used": (
        "tile[(threadIdx.y + p) * span + threadIdx.x + q]",
        "channel[(h + p) * W + w + q]",
    ),
}
BATCH = 1_000  # enough blocks to fill the GPU many times

# Column of the record -> metric of Nsight Compute. Percentages are shares of the hardware's peak.
METRICS = {
    "load_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "load_sectors_hit": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum",
    "l2_sectors_read": "lts__t_sectors_op_read.sum",
    "dram_read_bytes": "dram__bytes_read.sum",
    "shared_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "l1_wavefronts": "l1tex__data_pipe_lsu_wavefronts.sum",
    "l1_wavefronts_of_peak": "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed",
    "lsu_instructions": "sm__inst_executed_pipe_lsu.sum",
    "lsu_of_peak": "sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_active",
    "constant_hits": "idc__requests_lookup_hit.sum",
    "constant_misses": "idc__requests_lookup_miss.sum",
    "instructions": "smsp__inst_executed.sum",
    "issue_slots_busy": "sm__inst_issued.avg.pct_of_peak_sustained_active",
    "warps_active": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "registers": "launch__registers_per_thread",
}
STALLS = layer_counters.STALLS
METRICS |= {
    f"stalled_{stall}": f"smsp__average_warps_issue_stalled_{stall}_per_issue_active.ratio"
    for stall in STALLS
}


@dataclass(frozen=True)
class CountedLaunch:
    """A kernel on a layer, with the variant of its source that is counted."""

    spec: conv2d.Conv2d
    layer: str
    variant: str = ""

    def plan(self, shape: ConvShape) -> Plan:
        """Return the launch, with the variant's source."""
        (one,) = self.spec.plan(shape)
        changes = [VARIANTS[self.variant]] if self.variant else []
        return (replace(one, source=sources.changed(one.source, *changes)),)

    def compile(self, images: int) -> conv2d.Compiled:
        """Return the kernel compiled for so many images on the selected GPU."""
        shape = conv2d.shape_of(self.layer, images)
        return conv2d.compile(self.spec, shape, self.plan(shape))


def launches() -> Iterator[CountedLaunch]:
    """Yield what is counted: kernels without and with tiles, on both layers."""
    for layer in LAYERS:
        for name in ("conv2d_basic", "conv2d_uncoalesced", "conv2d_constant", "conv2d_tiled"):
            yield CountedLaunch(conv2d.conv2d_named(name), layer)
        tiled, mapped = map(conv2d.conv2d_named, ("conv2d_tiled", "conv2d_tiled_maps"))
        for maps in MAPS:
            if maps <= conv2d.shape_of(layer, BATCH).M:
                yield CountedLaunch(mapped.with_tile(16, maps), layer)
        yield CountedLaunch(mapped.with_tile(16, 4), layer, "uniform")
        yield CountedLaunch(tiled, layer, "tile not used")


def launch_all(images: int = BATCH) -> None:
    """Launch all of `launches()` once on the GPU; ncu runs this in a process of its own."""
    for layer in LAYERS:
        of_layer = (launch for launch in launches() if launch.layer == layer)
        runs = (launch.compile(images) for launch in of_layer)
        layer_counters.launch_on_random(conv2d.shape_of(layer, images), runs)


def measure() -> list[dict[str, Any]]:
    """Return a row for each launch, for `results.record`: METRICS by name.

    A metric that this chip or ncu does not know is None. Raises NcuError.
    """
    counted = list(launches())
    for launch in counted:  # Compile first: ncu would also follow the compiler's processes.
        launch.compile(BATCH)
    rows = layer_counters.read(
        "helpers.experiments.layer_caches",
        [(launch.spec.name, launch.layer) for launch in counted],
        METRICS,
    )
    return [
        row | {"batch": BATCH, "maps": launch.spec.tile[2], "variant": launch.variant}
        for row, launch in zip(rows, counted, strict=True)
    ]


def recorded() -> results.Record:
    """Return the repository's record. Raises results.RecordError."""
    return results.load(results.MEASURED / f"{RECORD}.json")


# A kernel in a table: its name, the maps that share a tile, the variant of its source.
Key = tuple[str, int, str]
BASIC: Key = ("conv2d_basic", 1, "")
UNCOALESCED: Key = ("conv2d_uncoalesced", 1, "")
CONSTANT: Key = ("conv2d_constant", 1, "")
TILED: Key = ("conv2d_tiled", 1, "")


def mapped(maps: int, variant: str = "") -> Key:
    """Return the key of conv2d_tiled_maps with so many maps."""
    return "conv2d_tiled_maps", maps, variant


def row(record: results.Record, layer: str, key: Key) -> Mapping[str, Any]:
    """Return the row of a kernel on a layer. Raises ValueError if it was not counted."""
    for one in record.rows():
        if one["layer"] == layer and (one["series"], one["maps"], one["variant"]) == key:
            return one
    raise ValueError(f"the record {record.name} has no {key} on {layer}")


def hit_share(one: Mapping[str, Any]) -> float:
    """Return the share of the sectors of global loads that the L1 cache had."""
    return one["load_sectors_hit"] / one["load_sectors"]


def constant_miss_share(one: Mapping[str, Any]) -> float:
    """Return the share of the requests to constant memory that missed the nearest cache."""
    return one["constant_misses"] / (one["constant_hits"] + one["constant_misses"])


def instructions_per_multiply_add(one: Mapping[str, Any]) -> float:
    """Return how many instructions a warp executes for each multiply-add of its 32 lanes.

    Only the multiply-adds of the formula count, of lanes with an output.
    """
    shape = conv2d.shape_of(one["layer"], one["batch"])
    return 32 * one["instructions"] / (shape.outputs * shape.terms)


def cycles_over_floor(one: Mapping[str, Any]) -> float:
    """Return a kernel's cycles over those of its multiply-adds alone, in every unit at once.

    A multiprocessor of these GPUs starts four instructions in a cycle at most, and each of them may
    be the multiply-add of a warp. So the cycles are the instructions of a multiply-add, over the
    share of these places that were used.
    """
    return instructions_per_multiply_add(one) / (one["issue_slots_busy"] / 100)


def label(key: Key) -> str:
    """Return a kernel's name with its maps and its variant."""
    name, maps, variant = key
    words = [name, f"{maps} maps" if maps > 1 else "", VARIANT_WORDS.get(variant, variant)]
    return ", ".join(filter(None, words))


VARIANT_WORDS = {"uniform": "without threadIdx.z"}


# Columns of a table: the head, and the cell of a row.
COLUMNS: Mapping[str, tuple[str, Callable[[Mapping[str, Any]], str]]] = {
    "sectors": ("sectors\nasked for", lambda one: f"{one['load_sectors']:,}"),
    "l1": ("found\nin L1", lambda one: f"{hit_share(one):.1%}"),
    "l2": ("sectors\nread from L2", lambda one: f"{one['l2_sectors_read']:,}"),
    "dram": ("MB read\nfrom DRAM", lambda one: f"{one['dram_read_bytes'] / 1e6:.1f}"),
    "instructions": (
        "instructions for\na multiply-add",
        lambda one: f"{instructions_per_multiply_add(one):.1f}",
    ),
    "busy": ("schedulers\nbusy", lambda one: f"{one['issue_slots_busy']:.0f}%"),
    "registers": ("registers", lambda one: str(one["registers"])),
    "warps": ("warps\npresent", lambda one: f"{one['warps_active']:.0f}%"),
    "cycles": (
        "cycles over those of\nmultiply-adds alone",
        lambda one: f"{cycles_over_floor(one):.1f}",
    ),
    "weights": ("weights that miss\nthe cache", lambda one: f"{constant_miss_share(one):.0%}"),
}


def table(
    record: results.Record, keys: Sequence[Key], *columns: str, layers: Sequence[str] = LAYERS
) -> str:
    """Return counters of kernels on layers. columns: names of COLUMNS."""
    head = (f"{BATCH:,} images", *(COLUMNS[name][0] for name in columns))
    lines = [
        (f"{layer}, {label(key)}", *(COLUMNS[name][1](row(record, layer, key)) for name in columns))
        for layer in layers
        for key in keys
    ]
    return tables.text(head, lines)


def cache_table(record: results.Record, keys: Sequence[Key]) -> str:
    """Return what the loads of kernels find in L1, and what they fetch from L2 and DRAM."""
    return table(record, keys, "sectors", "l1", "l2", "dram")


def issue_table(record: results.Record, keys: Sequence[Key]) -> str:
    """Return the instructions of kernels, how busy they kept the schedulers, and the cycles."""
    return table(record, keys, "instructions", "busy", "warps", "cycles")


def stall_table(record: results.Record, layer: str, keys: Sequence[Key], count: int = 2) -> str:
    """Return what the warps of kernels wait for most: cycles, summed over warps, an instruction."""
    head = (f"{layer}, {BATCH:,} images", "longest waits, in cycles of warps for an instruction")
    lines = []
    for key in keys:
        reasons = layer_counters.stalls(row(record, layer, key), count)
        words = ", ".join(f"{reason} {warps:.1f}" for reason, warps in reasons)
        lines.append((label(key), words))
    return tables.text(head, lines, left=(0, 1))


def main(argv: Sequence[str] | None = None) -> int:
    """Run ncu and write the record; return the exit status."""
    argv = list(sys.argv[1:] if argv is None else argv)
    if argv[:1] == ["--launch"] and all(word.isdecimal() and int(word) for word in argv[1:2]):
        launch_all(*map(int, argv[1:2]))
        return 0
    if argv:
        print(
            "python -m helpers.experiments.layer_caches takes no arguments, or --launch and a "
            f"number of images, such as --launch 1; got {' '.join(argv)}",
            file=sys.stderr,
        )
        return 2
    return ncu.record_here(RECORD, measure, lab=LAB)


if __name__ == "__main__":
    sys.exit(main())
