"""The known differences between the simulator's counters and Nsight Compute's, with reasons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from helpers.tools.counter_cases import Case

# The known differences: label (or kernel, for all its launches) -> counter -> reason. The numbers
# are in the record.
_TURNS = (
    "lanes whose bins repeat take turns; where many bins are hit as well, "
    "the hardware takes a few more, by a rule not known here"
)
_BUSY = (
    "the hardware repeats a pass now and then while shared memory does other work: "
    "at most 1.5 % of the passes"
)
_JOINED = (
    "nvcc joins two loads of neighbours to one; the simulator's compiler, NVRTC, "
    "writes their addresses in another way, in which they stay two"
)
# Readings of one launch that differ from each other: no rule on addresses can give them.
_MORE = (
    "the hardware repeats 78 to 82 passes in three readings, each time another number, so that "
    "time decides and no address. The machine code has the stores that the simulator counts; those "
    "of the outputs are exact, as conv2d_mma_halves shows. The others run while weights and cells "
    "arrive from global memory in the same memory of the multiprocessor; that they collide is "
    "likely, but not measured apart"
)
_MORE_OF_DENSE = (
    "the hardware repeats 207, 221 or 249 passes in three readings, so that time decides and no "
    "address: the machine code has 608 stores of 32 neighbouring words. While they run, other "
    "warps still load from global memory. With a barrier in front of them, so that all loads have "
    "arrived, the same run counted 0 repeated passes where the kernel as it is had 58"
)
_MORE_OF_ASYNC = (
    "cells are stored while weights arrive in shared memory by cp.async, and the hardware counts "
    "more passes than the addresses need, by a rule not known here; conv2d_implicit_mma, which has "
    "no such copies, is exact"
)
_TRIED = (
    "the machine code tries the addition of two halves as one of global memory, and goes on as for "
    "shared memory where that fails; ncu counts the one try, which succeeds, among the wavefronts "
    "of atomics of shared memory"
)
_UNROLLED = (
    "ptxas unrolls the loop over outputs by four, with a rest of two and one: in the last tile, "
    "lanes of a warp with four outputs and lanes with three take different copies of the loop, "
    "three stores and 45 loads more; the simulator runs PTX, in which the loop is one"
)
_RAGGED = dict.fromkeys(
    ("global_store_requests", "global_store_sectors", "shared_load_wavefronts"), _UNROLLED
)
KNOWN: dict[str, dict[str, str]] = {
    "copy_plain, n = 4096, tiles of 512": _RAGGED,
    "copy_async, n = 4096, tiles of 512": _RAGGED,
    "copy_bulk, n = 4096, tiles of 512": _RAGGED,
    "conv2d_mma_pairs, layer 2": {
        "shared_store_wavefronts": _MORE,
        "shared_store_conflicts": _MORE,
    },
    **{
        launch: {
            "shared_store_wavefronts": _MORE_OF_ASYNC,
            "shared_store_conflicts": _MORE_OF_ASYNC,
        }
        for launch in (
            "conv2d_implicit_mma_async, 20 channels",
            "conv2d_implicit_mma_async, layer E2",
            "conv2d_implicit_mma_split, layer E2",
        )
    },
    **{
        f"packed_add, half2, global, index {index}": {"shared_atomic_wavefronts": _TRIED}
        for index in ("t", "t/2", "0")
    },
    "lenet_dense_split, 37 images": {
        "shared_store_wavefronts": _MORE_OF_DENSE,
        "shared_store_conflicts": _MORE_OF_DENSE,
    },
    "reduce_interleaved, n = 1000": {
        "shared_load_wavefronts": _JOINED,
        "shared_load_conflicts": _JOINED,
    },
    "histogram_global, random": {"global_atomic_sectors": _TURNS},
}

VARYING = (
    "NVRTC 13.0 does not always write the same PTX for this source: in one of eight runs a vector "
    "of shared memory is loaded once more"
)
# Counters that the compiler changes from run to run: label -> counter -> by how much at most.
_VARIES: dict[str, dict[str, int]] = {
    "gemm_pipelined, 130 x 45 by 45 x 200": {"shared_load_wavefronts": 32},
}


def reason(launch: Case, counter: str, counted: int, read: Mapping[str, Any]) -> str | None:
    """Return the reason of a known difference; None if the numbers must be equal."""
    if abs(read[counter] - counted) <= _VARIES.get(launch.label, {}).get(counter, -1):
        return VARYING
    known = KNOWN.get(launch.label, {}).get(counter) or KNOWN.get(launch.kernel, {}).get(counter)
    if (
        known is None
        and counter.startswith("shared_")
        and counter.endswith(("_wavefronts", "_conflicts"))
    ):
        wavefronts = read[counter.replace("_conflicts", "_wavefronts")]
        return _BUSY if 0 < read[counter] - counted <= 0.015 * wavefronts else None
    return known
