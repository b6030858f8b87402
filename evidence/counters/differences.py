"""The known differences between the simulator's counters and Nsight Compute's, with reasons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evidence.counters.cases import Case

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
_TURNS_COPIED = (
    "ptxas copies the turns of the loop, four at a time, then two, then one: lanes with other "
    "numbers of turns take different copies, one after another; in PTX they share one loop"
)
_COPIED = dict.fromkeys(("shared_load_wavefronts", "shared_load_conflicts"), _TURNS_COPIED)
_SWAPPED = (
    "the hardware repeats 72 to 74 of 1,532 passes, because warps store structures of 24 bytes at "
    "the same time: where the four warps take turns, with a barrier behind each, the same stores "
    "take exactly 1,532; structures of 16 and of 32 bytes are exact without turns"
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
    **{f"loops_left, form {form}": _COPIED for form in ("0, up", "6, mod 7", "6, all 5")},
    **{
        f"loops_left, form {form}": {"shared_load_wavefronts": _TURNS_COPIED}
        for form in ("6, random", "8, mod 7", "8, random", "8, up")
    },
    "padded_structures, form 3": {
        "shared_store_wavefronts": _SWAPPED,
        "shared_store_conflicts": _SWAPPED,
    },
    "histogram_global, random": {"global_atomic_sectors": _TURNS},
}


def reason(launch: Case, counter: str, counted: int, read: Mapping[str, Any]) -> str | None:
    """Return the reason of a known difference; None if the numbers must be equal."""
    known = KNOWN.get(launch.label, {}).get(counter) or KNOWN.get(launch.kernel, {}).get(counter)
    if (
        known is None
        and counter.startswith("shared_")
        and counter.endswith(("_wavefronts", "_conflicts"))
    ):
        wavefronts = read[counter.replace("_conflicts", "_wavefronts")]
        return _BUSY if 0 < read[counter] - counted <= 0.015 * wavefronts else None
    return known
