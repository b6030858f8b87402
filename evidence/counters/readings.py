"""The counters of launches, as Nsight Compute reads them on a GPU.

All launches run in one call of ``ncu``, through PyCUDA in the primary context.

ncu reads each launch `READINGS` times. The hardware sometimes adds to a counter (a bank conflict
between two kinds of work in the load-store unit), but never subtracts. So the lowest reading is the
kernel's own; the record also has readings that vary.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from evidence import ncu
from evidence.counters.cases import Case, matching
from helpers import device
from helpers.bench import hardware
from helpers.programs import DeviceRun, Images, Modules

READINGS = 3
Binary = tuple[str, tuple[str, ...]]  # a source and its options

# Counters that must be equal: the Profile's name -> the metrics of Nsight Compute whose sum it is.
COMPARED = {
    **{name: (metric,) for name, metric in hardware.GLOBAL.items()},
    "global_atomic_requests": (
        "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum",
        "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum",
    ),
    "global_atomic_sectors": (
        "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum",
        "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",
    ),
    **{name: (metric,) for name, metric in hardware.SHARED.items()},
    "shared_atomic_requests": ("smsp__inst_executed_op_shared_atom.sum",),
    "shared_atomic_wavefronts": ("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum",),
}
# Read and recorded, but not compared: the look-ups in constant memory are among the requests for a
# kernel's parameters.
OBSERVED = ("idc__requests.sum",)


def read_with_ncu(only: str, folder: Path) -> list[dict[str, int | str]]:
    """Run the launches of ``matching(only, folder)`` under ncu; return metric -> lowest reading.

    "readings METRIC" has all readings if they vary. Raises NcuError, and ValueError as `matching`
    does.
    """
    launches = matching(only, folder)
    ncu.program()
    # Compile first: ncu would also follow the compiler's processes.
    binaries = _build_all(launches)
    with tempfile.TemporaryDirectory() as scratch:
        for number, binary in enumerate(binaries.values()):
            (Path(scratch) / f"{number}.cubin").write_bytes(binary)
        script = [
            sys.executable,
            "-m",
            "evidence.counters",
            str(folder.resolve()),
            f"--launch={scratch}",
            f"--only={only}",
        ]
        return lowest_readings(script, launches)


def lowest_readings(
    script: Sequence[str], launches: Sequence[Case], observed: Sequence[str] = OBSERVED
) -> list[dict[str, int | str]]:
    """Run a script that runs each launch `READINGS` times under ncu, and return the lowest readings
    of each launch as `read_with_ncu` does.

    observed: the metrics to read besides those of `COMPARED`. Raises NcuError.
    """
    metrics = [*(metric for several in COMPARED.values() for metric in several), *observed]
    kernels = [launch.kernel for launch in launches for _ in range(READINGS)]
    readings = ncu.read(script, metrics, kernels, cold=False)
    return [_lowest(readings[k : k + READINGS]) for k in range(0, len(readings), READINGS)]


def _lowest(readings: Sequence[Mapping[str, float | None]]) -> dict[str, int | str]:
    row: dict[str, int | str] = {}
    for metric in readings[0]:
        values = [int(one) for reading in readings if (one := reading[metric]) is not None]
        if len(values) < len(readings):  # this chip does not count it
            continue
        row[metric] = min(values)
        if min(values) != max(values):
            row[f"readings {metric}"] = " ".join(map(str, values))
    return row


def _build_all(launches: Sequence[Case]) -> dict[Binary, bytes]:
    """Compile all of `_binaries`, several at a time."""
    import pycuda.compiler
    import pycuda.driver as cuda

    arch = "sm_{}{}".format(*cuda.Context.get_device().compute_capability())
    items = _binaries(launches)

    def build(item: Binary) -> bytes:
        source, options = item
        return pycuda.compiler.compile(
            source, options=list(options), no_extern_c=True, arch=arch
        )

    # Each compilation is a process of nvcc.
    with ThreadPoolExecutor(min(16, os.cpu_count() or 1)) as pool:
        return dict(zip(items, pool.map(build, items), strict=True))


def _binaries(launches: Sequence[Case]) -> list[Binary]:
    """Return the sources with their options, each pair once."""
    plans = (launch.plan for launch in launches)
    return list(dict.fromkeys((one.source, one.options) for plan in plans for one in plan))


def launch_all(launches: Sequence[Case], folder: Path) -> None:
    """Launch each case `READINGS` times on the GPU; ncu runs this in a process of its own.

    folder: with the binaries of `_binaries`.
    """
    device.select()
    import pycuda.driver as cuda

    images = {
        item: (folder / f"{number}.cubin").read_bytes()
        for number, item in enumerate(_binaries(launches))
    }
    compiler = Images(images)
    for number, launch in enumerate(launches):
        if number % 20 == 0:
            print(f"launch {number + 1} of {len(launches)}", flush=True)
        modules = Modules(cuda, compiler)
        with DeviceRun(launch.plan, launch.arrays(), modules) as run:
            for _ in range(READINGS):
                run.launch()
                cuda.Context.synchronize()
