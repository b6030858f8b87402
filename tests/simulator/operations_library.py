"""The arithmetic of the simulator's machine without its memory and control flow: one operation on a
warp's slots.
"""

from __future__ import annotations

import ctypes
import shutil
from functools import cache

import numpy as np

from helpers.simulator.compile import toolchain
from helpers.simulator.machine.library import (
    _FLAGS as FLAGS,  # the cache then has the machine's objects
)
from helpers.simulator.machine.library import MACHINE

LANES, ALL = 32, 0xFFFFFFFF

FTZ, SATURATE, APPROX, SATFINITE, RNA = 1 << 3, 1 << 4, 1 << 5, 1 << 8, 1 << 11  # program.h

DRIVER = r"""
#include "operations.h"
extern "C" unsigned test_count() { return static_cast<unsigned>(operations().size()); }
extern "C" const char* test_name(unsigned k) { return operations()[k].name.c_str(); }
extern "C" void test_run(unsigned k, char* frame, const std::int32_t* slots, unsigned count,
    std::uint32_t flags,
                         std::int64_t immediate, std::uint32_t lanes, std::uint32_t* carry) {
    Lanes w;
    w.bases[0] = frame;
    w.more = slots;
    w.carry = *carry;
    Instruction i = {};
    i.count = static_cast<std::uint8_t>(count);
    for (unsigned j = 0; j < 6; ++j) i.operand[j] = j < count ? slots[j] : -1;
    i.more = 6;
    i.flags = flags;
    i.immediate = immediate;
    operations()[k].decoded.run(w, i, lanes);
    *carry = w.carry;
}
"""


@cache
def library() -> ctypes.CDLL:
    """The operations as a shared library, in the toolchain's cache."""
    with toolchain.scratch() as build:
        for path in (*MACHINE.glob("ops_*.cpp"), *MACHINE.glob("*.h")):
            shutil.copy(path, build)
        (build / "driver.cpp").write_text(DRIVER)
        path = toolchain.folder_library(
            "halo_operations", build, (*FLAGS, *toolchain.native_flags())
        )
    loaded = ctypes.CDLL(str(path))
    loaded.test_name.restype = ctypes.c_char_p
    return loaded


@cache
def numbers() -> dict[str, int]:
    """The number of each operation."""
    return {library().test_name(k).decode(): k for k in range(library().test_count())}


def run(name, results, *sources, flags=0, lanes=ALL, immediate=0, carry=0, before=None):
    """Run one operation on one warp.

    results: one dtype each, `bool` for a predicate, None for "_"; sources: arrays of 32 values,
    bool for predicates, None. Slots of results hold `before` (an array each) or zeros. Returns the
    results as arrays of 32, and the carry bits at the end.
    """
    slots, offsets = [], []
    frame = np.zeros((len(results) + len(sources) + 1) * 512 + 64, np.uint8)
    base = -frame.ctypes.data % 64
    for k, result in enumerate(results):
        slots.append(
            (None if result is None else np.dtype(result), None if before is None else before[k])
        )
    slots += [(None, None) if s is None else (np.asarray(s).dtype, np.asarray(s)) for s in sources]
    for k, (dtype, values) in enumerate(slots):
        offsets.append(-1 if dtype is None else 512 * k)
        if dtype is not None and values is not None:
            _write(frame, base + 512 * k, np.broadcast_to(values, LANES))
    held = ctypes.c_uint32(carry)
    pointers = (ctypes.c_int32 * max(len(offsets), 6))(*offsets)
    library().test_run(
        numbers()[name],
        ctypes.c_void_p(frame.ctypes.data + base),
        pointers,
        len(offsets),
        ctypes.c_uint32(flags),
        ctypes.c_int64(immediate),
        ctypes.c_uint32(lanes),
        ctypes.byref(held),
    )
    values = [
        None if r is None else _read(frame, base + 512 * k, np.dtype(r))
        for k, r in enumerate(results)
    ]
    return [*values, held.value]


def evaluate(name, result, *sources, flags=0):
    """One result of any number of lanes: the sources are arrays of one length."""
    sources = [np.asarray(s) for s in sources]
    length = max(s.size for s in sources)
    padded = [np.resize(s, -(-length // LANES) * LANES).reshape(-1, LANES) for s in sources]
    return np.concatenate(
        [run(name, [result], *warp, flags=flags)[0] for warp in zip(*padded, strict=True)]
    )[:length]


def _write(frame: np.ndarray, at: int, values: np.ndarray) -> None:
    if values.dtype == np.bool_:
        values = np.packbits(values, bitorder="little").view(np.uint32)
    data = np.ascontiguousarray(values).view(np.uint8)
    frame[at : at + data.size] = data


def _read(frame: np.ndarray, at: int, dtype: np.dtype) -> np.ndarray:
    if dtype == np.bool_:
        return np.unpackbits(frame[at : at + 4], bitorder="little").astype(bool)
    return frame[at : at + LANES * dtype.itemsize].copy().view(dtype)
