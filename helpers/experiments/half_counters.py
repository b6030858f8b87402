"""Nsight Compute on lab 300's patch of outputs: floats beside pairs of halves, on whole batches.

    # On a GPU with ncu. It writes results/300_counters.json; copy that to data/measured/.
    python -m helpers.experiments.half_counters

One call of ``ncu`` runs one launch of each of `LAUNCHES` on random numbers (no counter here depends
on the values). It records no times: ncu replays launches, and does not fix the clock here. The exit
status is 0, or 2 if ``ncu`` cannot be used.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from helpers import tables
from helpers.bench import results
from helpers.experiments import layer_counters, ncu
from helpers.problems import conv2d

RECORD = "300_counters"
LAB = "300_half_precision"
BATCH = 10_000
LAYERS = ("layer 1", "layer 2")
FLOATS, PAIRS = "conv2d_register", "conv2d_half2"
# The record of conv2d_half2 launches to_half first, which rounds x.
LAUNCHES = tuple((kernel, layer) for layer in LAYERS for kernel in (FLOATS, "to_half", PAIRS))
METRICS = {
    **layer_counters.METRICS,
    "load_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1_wavefronts": "l1tex__data_pipe_lsu_wavefronts.sum",
    "l1_wavefronts_of_peak": "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed",
}


def launch_all() -> None:
    """Launch all of LAUNCHES once on the GPU; ncu runs this in a process of its own."""
    for layer in LAYERS:
        shape = conv2d.shape_of(layer, BATCH)
        runs = [conv2d.compile(kernel, shape) for kernel in (FLOATS, PAIRS)]
        layer_counters.launch_on_random(shape, runs)
        for run in runs:
            run.free()


def measure() -> list[dict[str, Any]]:
    """Return a row for each launch, for `results.record`: METRICS by name.

    A metric that this chip or ncu does not know is None. Raises NcuError.
    """
    ncu.program()
    for layer in LAYERS:  # Compile first: ncu would also follow the compiler's processes.
        for kernel in (FLOATS, PAIRS):
            conv2d.compile(kernel, conv2d.shape_of(layer, BATCH)).free()
    rows = layer_counters.read("helpers.experiments.half_counters", LAUNCHES, METRICS)
    return [row | {"batch": BATCH} for row in rows]


def recorded() -> results.Record:
    """Return the repository's record. Raises results.RecordError."""
    return results.load(results.MEASURED / f"{RECORD}.json")


def table(record: results.Record) -> str:
    """Return what the floats and the pairs ask for, and what their warps wait for."""
    head = (
        f"{BATCH:,} images", "instructions,\nmillions", "load requests,\nmillions",
        "L1's data\npath busy", "issue slots\nbusy", "cycles a warp\nwaits for a load",
        "for the\ndispatch",
    )
    body = []
    for layer in LAYERS:
        for kernel in (FLOATS, PAIRS):
            one = record.one(series=kernel, layer=layer)
            body.append(
                (
                    f"{kernel}, {layer}",
                    f"{one['instructions'] / 1e6:,.0f}",
                    f"{one['load_requests'] / 1e6:,.0f}",
                    f"{one['l1_wavefronts_of_peak']:.0f} %",
                    f"{one['issue_slots_busy']:.0f} %",
                    f"{one['stalled_long_scoreboard']:.2f}",
                    f"{one['stalled_dispatch_stall']:.2f}",
                )
            )
    return tables.text(head, body)


def expected_ratio(record: results.Record, layer: str) -> float:
    """Return the cycles of the pairs over those of the floats: the ratio of the instructions over
    the ratio of the slots in use.

    Instructions over busy slots are cycles by definition. So this tests the counters against the
    measured times, and names no cause.
    """
    floats, pairs = (record.one(series=kernel, layer=layer) for kernel in (FLOATS, PAIRS))
    instructions = pairs["instructions"] / floats["instructions"]
    return instructions * floats["issue_slots_busy"] / pairs["issue_slots_busy"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run ncu and write the record; return the exit status."""
    return ncu.main("helpers.experiments.half_counters", launch_all, {RECORD: measure}, LAB, argv)


if __name__ == "__main__":
    sys.exit(main())
