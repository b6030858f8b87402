"""Nsight Compute on launches whose times labs 305 and 401 explain.

    # On a GPU with ncu. It writes results/305_counters.json and results/401_counters.json; copy
    # them to data/measured/.
    python -m helpers.experiments.cause_counters

One call of ``ncu`` for each lab runs a launch of each `Case` on random numbers. It records no
times: ncu replays launches, and does not fix the clock here. The exit status is 0, or 2 if ``ncu``
cannot be used.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from helpers import launch, tables
from helpers.bench import results
from helpers.experiments import channel_sums, fastest_layer, layer_counters, ncu
from helpers.launch import Plan
from helpers.limits import ConvShape
from helpers.problems import conv2d

FASTEST, CHANNELS = "305_counters", "401_counters"  # records
LABS = {FASTEST: "305_fastest_layer", CHANNELS: "401_conv2d_channel_reduction"}
BATCH = 10_000
METRICS = {
    **layer_counters.METRICS,
    "l2_store_requests": "lts__t_requests_op_write.sum",
    "l2_store_sectors": "lts__t_sectors_op_write.sum",
    "tensor_pipe_active": "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
    "scheduler_busy": "smsp__issue_active.avg.pct_of_peak_sustained_active",
}
# Column of a row -> what warps wait for, in the tables. "Fixed": the latency of an instruction that
# is always the same, such as an addition's.
WAITS = {
    "stalled_barrier": "barrier",
    "stalled_math_pipe_throttle": "units",
    "stalled_long_scoreboard": "global",
    "stalled_short_scoreboard": "shared",
    "stalled_wait": "fixed",
}


@dataclass(frozen=True)
class Case:
    """A launch that is counted. what: its name in the record. plan: of one kernel."""

    what: str
    spec: conv2d.Conv2d
    shape: ConvShape
    plan: Plan
    warm: bool = False  # launched twice; the second launch, with its arrays in the caches, counts


@functools.cache
def cases(record: str) -> tuple[Case, ...]:
    """Return the launches of a record."""
    if record == CHANNELS:
        small = (
            (name, channels)
            for name in (channel_sums.PLAIN, channel_sums.ATOMICS)
            for channels in (16, 64, 256)
        )
        found = [
            _case(f"{channels} channels", channel_sums.fitted(name, channels),
                  channel_sums.small_shape(channels), warm=True)
            for name, channels in small
        ]
        layer = conv2d.shape_of("layer 1", BATCH)
        specs = map(conv2d.conv2d_named, channel_sums.KERNELS)
        return (*found, *(_case("layer 1", spec, layer) for spec in specs))
    taken = fastest_layer.TAKEN_BACK
    found = [
        _case(what, one.spec, conv2d.shape_of(one.layer, BATCH), one.instead)
        for what, one in taken.items()
    ]
    layer = conv2d.shape_of("layer 2", BATCH)
    return (*found, _case("layer 2, warpgroups", conv2d.mma_wgmma(), layer))


def _case(
    what: str,
    spec: conv2d.Conv2d,
    shape: ConvShape,
    instead: Mapping[str, tuple[str, str]] | None = None,
    *,
    warm: bool = False,
) -> Case:
    plan = launch.replaced(spec.plan(shape), instead)
    return Case(what, spec, shape, plan, warm)


def launch_all(record: str) -> None:
    """Launch the cases of a record on the GPU; ncu runs this in a process of its own."""
    for case in cases(record):
        run = conv2d.compile(case.spec, case.shape, case.plan)
        layer_counters.launch_on_random(case.shape, (1 + case.warm) * [run])
        run.free()


def measure(record: str) -> list[dict[str, Any]]:
    """Return a row for each case, for `results.record`: METRICS by name. Raises ncu.NcuError.

    A metric that this chip or ncu does not know is None.
    """
    ncu.program()
    for case in cases(record):  # Compile first: ncu would also follow the compiler's processes.
        conv2d.compile(case.spec, case.shape, case.plan).free()
    every = [case for case in cases(record) for _ in range(1 + case.warm)]
    command = [sys.executable, "-m", "helpers.experiments.cause_counters", "--launch", record]
    read = ncu.read(
        command, tuple(METRICS.values()), [case.spec.name for case in every], cold=record == FASTEST
    )
    last = {case.what + case.spec.name: (case, row) for case, row in zip(every, read, strict=True)}
    return [
        {"series": case.spec.name, "case": case.what}
        | {column: row.get(metric) for column, metric in METRICS.items()}
        for case, row in last.values()
    ]


def recorded(record: str) -> results.Record:
    """Return the repository's record. Raises results.RecordError."""
    return results.load(results.MEASURED / f"{record}.json")


def stores_table(data: results.Record) -> str:
    """Return what L2 and DRAM take in, with aligned pieces of outputs and with pieces 16 bytes off.

    data: the record "305_counters".
    """
    lines = []
    for what in ("layer 1", "pieces 16 bytes off"):
        one = data.one(series=fastest_layer.QUADS, case=what)
        counts = one["l2_store_requests"], one["l2_store_sectors"], one["dram_write_bytes"]
        lines.append((what, *(f"{count / 1e6:,.0f}" for count in counts)))
    head = (
        f"{BATCH:,} images, millions", "requests of\nstores, L2", "sectors of\nstores, L2",
        "bytes written\nto DRAM",
    )
    return tables.text(head, lines)


def waits_table(
    data: results.Record, of: Sequence[tuple[str, str]], *, tensor: bool = False
) -> str:
    """Return the cycles that a warp waits, on average, for each of its instructions, by reason.

    of: (kernel, what) of each line. tensor: how busy the tensor cores are, too.
    """
    lines = []
    for kernel, what in of:
        one = data.one(series=kernel, case=what)
        busy = [one["scheduler_busy"], *([one["tensor_pipe_active"]] if tensor else [])]
        counts = f"{one['instructions'] / 1e6:,.1f}", *(f"{share:.0f} %" for share in busy)
        waits = (f"{one[column]:.1f}" for column in WAITS)
        lines.append((f"{kernel}, {what}", *counts, *waits))
    head = ["", "instructions,\nmillions", "schedulers\nbusy"]
    head += ["tensor\ncores busy"] if tensor else []
    head += [f"cycles,\n{name}" for name in WAITS.values()]
    return tables.text(head, lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Run ncu and write the records; return the exit status."""
    argv = list(sys.argv[1:] if argv is None else argv)
    if len(argv) == 2 and argv[0] == "--launch" and argv[1] in LABS:
        launch_all(argv[1])
        return 0
    if argv:
        given = " ".join(argv)
        print(
            f"python -m helpers.experiments.cause_counters takes no arguments, got {given}",
            file=sys.stderr,
        )
        return 2
    for record, lab in LABS.items():
        if status := ncu.record_here(record, functools.partial(measure, record), lab=lab):
            return status
    return 0


if __name__ == "__main__":
    sys.exit(main())
