"""What Nsight Compute counted of launches: recorded rows, and tables of them.

    counted = results.recorded("111_caches")
    print(hardware.table(counted.select(layer="layer 1", series="conv2d_tiled"), "l1", "waits"))

`evidence.launch_counters` makes the records of whole batches. A lab sets the simulator's
counters of one launch beside those of data/measured/counters.json by `beside`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from helpers import tables
from helpers.bench import results
from helpers.problems import conv2d
from helpers.quantities import quantity

if TYPE_CHECKING:
    from helpers.simulator import Profile

Row = Mapping[str, Any]

STALLS = (
    "not_selected", "dispatch_stall", "math_pipe_throttle", "wait", "short_scoreboard",
    "long_scoreboard", "mio_throttle", "lg_throttle", "barrier", "imc_miss", "no_instruction",
)
# Column of a record -> metric of Nsight Compute. Percentages are shares of the hardware's peak.
# The counts are of warps, but for that of multiply-adds, which is of lanes.
METRICS = {
    "instructions": "smsp__inst_executed.sum",
    "issued": "smsp__inst_issued.sum",  # an instruction may be issued more than once
    "cycles": "sm__cycles_elapsed.max",
    "cycles_with_work": "sm__cycles_active.avg",  # cycles in which a multiprocessor has a warp
    "multiply_adds": "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
    "fma_pipe_instructions": "sm__inst_executed_pipe_fma.sum",
    "fma_pipe_active": "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active",
    "tensor_pipe_active": "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
    "issue_slots_busy": "sm__inst_issued.avg.pct_of_peak_sustained_active",
    "scheduler_busy": "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "warps_active": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "registers": "launch__registers_per_thread",
    "shared_of_a_multiprocessor": "launch__shared_mem_config_size",
    "load_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "load_sectors_hit": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum",
    "l1_bytes": "l1tex__t_bytes.sum",
    "l1_wavefronts": "l1tex__data_pipe_lsu_wavefronts.sum",
    "l1_wavefronts_of_peak": "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed",
    "shared_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "shared_wavefronts_of_peak": (
        "l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed"
    ),
    "lsu_instructions": "sm__inst_executed_pipe_lsu.sum",
    "lsu_of_peak": "sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_active",
    "constant_hits": "idc__requests_lookup_hit.sum",
    "constant_misses": "idc__requests_lookup_miss.sum",
    "l2_sectors_read": "lts__t_sectors_op_read.sum",
    "l2_store_requests": "lts__t_requests_op_write.sum",
    "l2_store_sectors": "lts__t_sectors_op_write.sum",
    "dram_throughput": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "dram_read_bytes": "dram__bytes_read.sum",
    "dram_write_bytes": "dram__bytes_write.sum",
    # The cycles that a warp waits for this reason, on average, for each of its instructions.
    **{
        f"stalled_{stall}": f"smsp__average_warps_issue_stalled_{stall}_per_issue_active.ratio"
        for stall in STALLS
    },
}


def instructions_per_multiply_add(row: Row) -> float:
    """Return how many instructions a warp executes for each multiply-add of its 32 lanes.

    Only the multiply-adds of the layer's formula count, of lanes with an output.
    """
    shape = conv2d.shape_of(row["layer"], row["batch"])
    return 32 * row["instructions"] / (shape.outputs * shape.terms)


def cycles_over_floor(row: Row) -> float:
    """Return a kernel's cycles over those of its multiply-adds alone, in every unit at once.

    A multiprocessor of these GPUs starts four instructions in a cycle at most, and each of them may
    be the multiply-add of a warp. So the cycles are the instructions of a multiply-add, over the
    share of these places that were used.
    """
    return instructions_per_multiply_add(row) / (row["issue_slots_busy"] / 100)


def constant_miss_share(row: Row) -> float:
    """Return the share of the requests to constant memory that missed the nearest cache."""
    return row["constant_misses"] / (row["constant_hits"] + row["constant_misses"])


def stalls(row: Row) -> list[tuple[str, float]]:
    """Return the two most frequent stalls of a row: (reason, cycles for an instruction)."""
    known = [
        (stall.replace("_", " "), row[f"stalled_{stall}"])
        for stall in STALLS
        if row.get(f"stalled_{stall}") is not None
    ]
    return sorted(known, key=lambda pair: -pair[1])[:2]


def _found(row: Row) -> str:
    """The share of the sectors that L1 had; "-" for a kernel that loads past L1 alone."""
    sectors = row["load_sectors"]
    return f"{row['load_sectors_hit'] / sectors:.1%}" if sectors else "-"


def _waits(row: Row) -> str:
    return ", ".join(f"{reason} {cycles:.1f}" for reason, cycles in stalls(row))


# Columns of a table: the head, and the cell of a row. The last ones are cycles that a warp waits,
# on average, for each of its instructions; "fixed" is the latency of an instruction that is always
# the same, such as an addition's.
COLUMNS: Mapping[str, tuple[str, str | Callable[[Row], str]]] = {
    "sectors": ("sectors\nasked for", "{load_sectors:,}"),
    "l1": ("found\nin L1", _found),
    "l2": ("sectors\nread from L2", "{l2_sectors_read:,}"),
    "dram": ("MB read\nfrom DRAM", lambda row: f"{row['dram_read_bytes'] / 1e6:.1f}"),
    "dram written": ("MB written\nto DRAM", lambda row: f"{row['dram_write_bytes'] / 1e6:,.0f}"),
    "dram busy": ("DRAM\nbusy", "{dram_throughput:.0f}%"),
    "executed": ("instructions,\nmillions", lambda row: f"{row['instructions'] / 1e6:,.1f}"),
    "loads": ("load requests,\nmillions", lambda row: f"{row['load_requests'] / 1e6:,.0f}"),
    "store requests": (
        "store requests,\nL2, millions",
        lambda row: f"{row['l2_store_requests'] / 1e6:,.0f}",
    ),
    "store sectors": (
        "store sectors,\nL2, millions",
        lambda row: f"{row['l2_store_sectors'] / 1e6:,.0f}",
    ),
    "l1 busy": ("L1's data\npath busy", "{l1_wavefronts_of_peak:.0f}%"),
    "instructions": (
        "instructions for\na multiply-add",
        lambda row: f"{instructions_per_multiply_add(row):.1f}",
    ),
    "busy": ("schedulers\nbusy", "{issue_slots_busy:.0f}%"),
    "fp32": ("FP32 units\nbusy", "{fma_pipe_active:.0f}%"),
    "tensor": ("tensor\ncores busy", "{tensor_pipe_active:.0f}%"),
    "registers": ("registers", "{registers}"),
    "warps": ("warps\npresent", "{warps_active:.0f}%"),
    "cycles": (
        "cycles over those of\nmultiply-adds alone",
        lambda row: f"{cycles_over_floor(row):.1f}",
    ),
    "weights": ("constant reads\nthat miss", lambda row: f"{constant_miss_share(row):.1%}"),
    "waits": ("longest waits of a warp, in cycles per instruction", _waits),
    "barrier": ("cycles,\nbarrier", "{stalled_barrier:.2f}"),
    "units": ("cycles,\nunits", "{stalled_math_pipe_throttle:.2f}"),
    "global": ("cycles,\nglobal", "{stalled_long_scoreboard:.2f}"),
    "shared": ("cycles,\nshared", "{stalled_short_scoreboard:.2f}"),
    "fixed": ("cycles,\nfixed", "{stalled_wait:.2f}"),
    "dispatch": ("cycles,\ndispatch", "{stalled_dispatch_stall:.2f}"),
}


def label(row: Row) -> str:
    """Return what a row is of: the layer, the kernel, and what else names it."""
    maps = row.get("maps") or 1
    words = [row.get("layer"), row["series"], row.get("case"), f"{maps} maps" if maps > 1 else ""]
    variant = "without threadIdx.z" if row.get("variant") == "uniform" else row.get("variant")
    memory = f"filter in {row['filter']} memory" if "filter" in row else ""
    block = f"blocks of {row['block']}" if "block" in row else ""
    return ", ".join(filter(None, [*words, variant, memory, block]))


def table(rows: Sequence[Row], *columns: str) -> str:
    """Return counters of launches, rows of a record. columns: names of COLUMNS. Raises KeyError for
    another name.
    """
    if unknown := [name for name in columns if name not in COLUMNS]:
        raise KeyError(f"there is no column {unknown[0]!r}; choose from {', '.join(COLUMNS)}")
    batches = {row.get("batch") for row in rows}
    batch = batches.pop() if len(batches) == 1 else None
    head = quantity(batch, "image") if batch else ""
    words = [k for k, name in enumerate(columns, 1) if name == "waits"]
    chosen = dict(COLUMNS[name] for name in columns)
    return tables.of(rows, {head: label, **chosen}, left=(0, *words))


# --------------------------------------------------------------------------------------------------
# One launch, counted by both

# Counter of a Profile -> metric of Nsight Compute that must be equal.
GLOBAL = {
    "global_load_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "global_load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "global_store_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "global_store_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
}
SHARED = {
    "shared_load_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared_load_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "shared_store_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "shared_store_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
}


def beside(
    profile: Profile, launch: str, metrics: Mapping[str, str] = GLOBAL, title: str = "metric"
) -> str:
    """Return a table of a profile's counters beside those of Nsight Compute.

    launch: the label of a launch in data/measured/counters.json, such as "axpy_basic, n = 1000".
    metrics: `GLOBAL` or `SHARED`. title: of the first column. Raises KeyError for another launch.
    """
    record = results.recorded("counters")
    launches = record.by("launch")
    if launch not in launches:
        raise KeyError(
            f"data/measured/counters.json has no launch {launch!r}; give the label of one, as "
            "`python -m evidence.counters` prints them"
        )
    there, counted = launches[launch], profile.counters()
    body = [(metric, f"{there[name]:,}", f"{counted[name]:,}") for name, metric in metrics.items()]
    return tables.text((title, f"Nsight Compute,\n{record.device.name}", "simulator"), body)
