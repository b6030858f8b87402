"""Nsight Compute on whole batches of the convolution layer: the chip's load, the warps' stalls.

    # On a GPU with ncu. It writes results/112_counters.json; copy that to data/measured/.
    python -m helpers.experiments.layer_counters

One call of ``ncu`` runs one launch of each of `LAUNCHES` on random numbers (no counter here depends
on the values). It records no times: ncu replays launches, and does not fix the clock here.
`helpers.tools.counters` compares the simulator's counters of single launches with ncu's.

The exit status is 0, or 2 if ``ncu`` cannot be used.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from helpers import device
from helpers.bench import results
from helpers.experiments import ncu
from helpers.limits import ConvShape
from helpers.problems import conv2d

RECORD, LAB = "112_counters", "112_conv2d_register_tiling"
BATCH = 10_000
LAUNCHES = tuple(
    (kernel, name)
    for name in ("layer 1", "layer 2")
    for kernel in ("conv2d_basic", "conv2d_tiled_maps", "conv2d_register", "conv2d_register_tiled")
)
# Column of the record -> metric of Nsight Compute. Percentages are shares of the hardware's peak.
METRICS = {
    "instructions": "smsp__inst_executed.sum",
    # This count is of lanes; the other counts are of warps.
    "multiply_adds": "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
    "fma_pipe_instructions": "sm__inst_executed_pipe_fma.sum",
    "issue_slots_busy": "sm__inst_issued.avg.pct_of_peak_sustained_active",
    "fma_pipe_active": "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active",
    "dram_throughput": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "dram_read_bytes": "dram__bytes_read.sum",
    "dram_write_bytes": "dram__bytes_write.sum",
    "l1_bytes": "l1tex__t_bytes.sum",
    "shared_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "shared_wavefronts_of_peak": (
        "l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed"
    ),
    "warps_active": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "registers": "launch__registers_per_thread",
}
STALLS = (
    "not_selected", "dispatch_stall", "math_pipe_throttle", "wait", "short_scoreboard",
    "long_scoreboard", "mio_throttle", "lg_throttle", "barrier", "imc_miss", "no_instruction",
)
# The average number of warps that wait for this reason whenever an instruction is issued.
METRICS |= {
    f"stalled_{stall}": f"smsp__average_warps_issue_stalled_{stall}_per_issue_active.ratio"
    for stall in STALLS
}


def launch_all() -> None:
    """Launch all of LAUNCHES once on the GPU; ncu runs this in a process of its own."""
    for name in dict.fromkeys(name for _, name in LAUNCHES):
        shape = conv2d.shape_of(name, BATCH)
        kernels = (kernel for kernel, of in LAUNCHES if of == name)
        launch_on_random(shape, (conv2d.compile(kernel, shape) for kernel in kernels))


def launch_on_random(shape: ConvShape, runs: Iterable[conv2d.Compiled]) -> None:
    """Launch compiled kernels on random cells of a layer, and wait for each one.

    No counter depends on the values.
    """
    device.select()
    import pycuda.driver as cuda

    rng = np.random.default_rng(13)
    sizes = shape.x_shape, shape.filter_shape
    x, filter = (rng.random(size, dtype=np.float32) for size in sizes)
    there = [cuda.mem_alloc(4 * shape.outputs), cuda.to_device(x), cuda.to_device(filter)]
    y_there, x_there, filter_there = map(int, there)
    for run in runs:
        run.launch(y_there, x_there, filter_there)
        cuda.Context.synchronize()
    for array in there:
        array.free()


def measure() -> list[dict[str, Any]]:
    """Return a row for each launch, for `results.record`: METRICS by name.

    A metric that this chip or ncu does not know is None. Raises NcuError.
    """
    ncu.program()
    for kernel, name in LAUNCHES:  # Compile first: ncu would also follow the compiler's processes.
        conv2d.compile(kernel, conv2d.shape_of(name, BATCH))
    rows = read("helpers.experiments.layer_counters", LAUNCHES, METRICS)
    return [row | {"batch": BATCH} for row in rows]


def read(
    module: str, launches: Sequence[tuple[str, str]], metrics: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Run ``python -m module --launch`` under ncu and return a row for each of its launches.

    launches: (kernel, layer), in order. metrics: columns and ncu's names. Raises NcuError.
    """
    command = [sys.executable, "-m", module, "--launch"]
    kernels = [kernel for kernel, _ in launches]
    return _rows(ncu.read(command, tuple(metrics.values()), kernels), launches, metrics)


def parse(output: str, errors: str = "") -> list[dict[str, Any]]:
    """Return a row for each of LAUNCHES from ncu's CSV text. Raises NcuError for other launches."""
    kernels = [kernel for kernel, _ in LAUNCHES]
    return _rows(ncu.parse(output, kernels, errors), LAUNCHES, METRICS)


def _rows(
    readings: Sequence[Mapping[str, Any]],
    launches: Sequence[tuple[str, str]],
    metrics: Mapping[str, str],
) -> list[dict[str, Any]]:
    columns = ({key: one.get(metric) for key, metric in metrics.items()} for one in readings)
    return [
        {"series": kernel, "layer": layer, **row}
        for (kernel, layer), row in zip(launches, columns, strict=True)
    ]


def recorded() -> results.Record:
    """Return the repository's record. Raises results.RecordError."""
    return results.load(results.MEASURED / f"{RECORD}.json")


def stalls(row: Mapping[str, Any], count: int = 3) -> list[tuple[str, float]]:
    """Return the most frequent stalls of a row: (reason, warps per issued instruction)."""
    known = [
        (stall.replace("_", " "), row[f"stalled_{stall}"])
        for stall in STALLS
        if row.get(f"stalled_{stall}") is not None
    ]
    return sorted(known, key=lambda pair: -pair[1])[:count]


def main(argv: Sequence[str] | None = None) -> int:
    """Run ncu and write the record; return the exit status."""
    return ncu.main("helpers.experiments.layer_counters", launch_all, {RECORD: measure}, LAB, argv)


if __name__ == "__main__":
    sys.exit(main())
