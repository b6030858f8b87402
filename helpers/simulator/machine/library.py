"""Builds the machine's shared library once for each content, loads it, and checks that its
structures are those declared here.

The C++ declarations of the structures are in machine/program.h, machine/findings.h,
machine/traffic.h and machine/shares.h.
"""

from __future__ import annotations

import contextlib
import ctypes
import platform
import threading
from collections import deque
from collections.abc import Callable
from ctypes import (
    c_char,
    c_char_p,
    c_double,
    c_int,
    c_int64,
    c_size_t,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
)
from functools import cache
from pathlib import Path
from typing import Any

from helpers.quantities import quantity

from ..compile import toolchain
from . import prebuilt

MACHINE = Path(__file__).parent

_FLAGS = (
    "-O3",
    "-Wall",
    "-Wno-psabi",
    "-fno-strict-aliasing",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-pthread",
)


class Dim(ctypes.Structure):
    """Three extents, x first."""

    _fields_ = [("x", c_uint32), ("y", c_uint32), ("z", c_uint32)]


class Program(ctypes.Structure):
    """The arrays of one encoded kernel. NumPy owns them; they must live as long as the launch."""

    _fields_ = [
        ("instructions", c_void_p), ("operands", c_void_p), ("functions", c_void_p), ("statics",
        c_void_p),
        ("place_groups", c_void_p), ("origins", c_void_p), ("shared_names", c_void_p),
        ("instruction_count", c_uint32), ("function_count", c_uint32), ("static_count", c_uint32),
        ("statics_bytes", c_uint32),
    ]


class SharedArray(ctypes.Structure):
    """The place of a static shared variable in the block's shared memory, in bytes."""

    _fields_ = [("offset", c_uint64), ("bytes", c_uint64)]


class LaunchRequest(ctypes.Structure):
    """One launch. shared_bytes: bytes of the whole window with its red zones; local_bytes: bytes of
    local memory of one lane.
    """

    _fields_ = [
        ("program", Program), ("parameters", c_char_p), ("parameter_bytes", c_uint32),
        ("local_bytes", c_uint32),
        ("grid", Dim), ("block", Dim), ("shared_bytes", c_uint32), ("dynamic_offset", c_uint32),
        ("dynamic_shared", c_uint32),
        ("shared_count", c_uint32), ("shared_arrays", ctypes.POINTER(SharedArray)),
        ("observe", c_uint32), ("sample_every", c_uint32), ("workers", c_uint32), ("watched_warp",
        c_uint32),
        ("watched_block", c_uint64), ("undo", c_uint32), ("block_count", c_uint32), ("blocks",
        c_void_p),
        ("step_limit", c_uint64), ("stack_limit", c_uint64), ("heap_bytes", c_uint64),
        ("stack_ends", c_uint32), ("keeps_heap", c_uint32), ("recording", c_void_p),
    ]


class Recording(ctypes.Structure):
    """What a launch records, and what it does otherwise than its program says (machine/recorder.h).
    """

    _fields_ = [
        ("first", c_void_p), ("slots", c_void_p), ("has_addresses", c_void_p),
        ("watched", c_void_p), ("changes", c_void_p), ("conditions", c_void_p),
        ("limit", c_uint64), ("until", c_uint64), ("until_bytes", c_uint64),
        ("change_count", c_uint32), ("ahead_warp", c_uint32), ("ahead_lanes", c_uint32),
        ("reserved", c_uint32),
    ]


class Place(ctypes.Structure):
    """One thread at one instruction. pc: the instruction's index; caller: 1 + the index of the call
    that led there, or 0; reason: 1 + an instruction that explains a race, or 0.
    """

    _fields_ = [
        ("pc", c_uint64), ("thread", c_uint32), ("access", c_uint32), ("block", c_uint32 * 3),
        ("reason", c_uint32),
        ("caller", c_uint64),
    ]


class RawFinding(ctypes.Structure):
    """A finding as the machine reports it; describe.py writes it in words."""

    _fields_ = [
        ("kind", c_uint32), ("region", c_uint32), ("offset", c_int64), ("size", c_uint64),
        ("count", c_uint64),
        ("here", Place), ("other", Place), ("text", c_char * 128),
    ]


class Site(ctypes.Structure):
    """Sums over the requests that one instruction made to one array, or over the arrivals at a
    barrier or branch.
    """

    _fields_ = [("pc", c_uint64), ("next_pc", c_uint64)] + [(n, c_uint32) for n in ("access",
    "region", "space", "size")] + [
        (n, c_uint64)
        for n in ("requests", "lanes", "bytes", "sectors", "wavefronts", "conflicts", "replays",
        "serialised", "repeated")
    ]


class WatchedLane(ctypes.Structure):
    """One lane of one request of a watched warp."""

    _fields_ = [("request", c_uint32), ("warp", c_uint32), ("pc", c_uint64)] + [
        (n, c_uint32) for n in ("access", "region", "space", "size", "lane", "in_flight")
    ] + [("offset", c_int64)]


class Busiest(ctypes.Structure):
    """The most that one warp, thread or block did; traffic.Shares says what."""

    _fields_ = [
        (n, c_uint64)
        for n in ("steps_of_warp", "steps_of_block", "loads_of_warp", "words_in_a_row")
    ]


class StoreShare(ctypes.Structure):
    """Bytes that the busiest warp and block store to one array, and how many warps store to it."""

    _fields_ = [("region", c_uint32), ("reserved", c_uint32)] + [
        (n, c_uint64) for n in ("of_warp", "of_block", "warps")
    ]


class _Static(ctypes.Structure):
    _fields_ = [("slot", c_uint32), ("kind", c_uint16), ("bytes", c_uint16), ("value", c_uint64)]


INSTRUCTION_BYTES, FUNCTION_BYTES = 64, 32
_SIZES = {
    "Instruction": INSTRUCTION_BYTES, "Function": FUNCTION_BYTES,
    **{s.__name__.strip("_"): ctypes.sizeof(s) for s in (_Static, Program, LaunchRequest,
    RawFinding, Site, WatchedLane, Busiest, StoreShare, Recording)},
}

_RESULTS_AND_ARGUMENTS = {
    # memory
    "halo_allocate": (c_size_t, [c_size_t]),
    "halo_free": (c_int, [c_size_t]),
    "halo_region_start": (c_size_t, [c_uint32]),
    "halo_is_freed": (c_int, [c_size_t]),
    "halo_used": (c_size_t, []),
    "halo_region": (c_int, [c_size_t, c_void_p, c_void_p, c_void_p]),
    "halo_region_id": (c_uint32, [c_size_t]),
    "halo_mark_initialised": (None, [c_size_t, c_size_t]),
    "halo_count_initialised": (c_size_t, [c_size_t, c_size_t]),
    "halo_first_unwritten": (c_size_t, [c_size_t, c_size_t]),
    "halo_store_pc": (c_uint32, [c_size_t]),
    "halo_cover": (None, [c_size_t, c_int]),
    "halo_uncover": (None, [c_size_t]),
    "halo_count_covered": (c_int64, [c_size_t, c_int]),
    "halo_covered": (None, [c_size_t, c_int, c_void_p, c_size_t]),
    "halo_layout": (None, [c_size_t, c_char_p, c_size_t]),
    "halo_shadow": (None, [c_size_t, c_size_t, c_int]),
    "halo_add_variable": (c_size_t, [c_size_t, c_uint64, c_int]),
    "halo_adopt": (c_int, [c_size_t, c_size_t]),
    "halo_remove_global": (None, [c_size_t]),
    # launches
    "halo_start": (c_int, [ctypes.POINTER(LaunchRequest)]),
    "halo_wait": (c_int, [c_int]),
    "halo_stop": (None, []),
    "halo_blocks_done": (c_uint64, []),
    "halo_idle": (c_double, []),
    "halo_exchange": (None, []),
    "halo_forget_before": (None, []),
    "halo_end_heap": (None, []),
    "halo_finish": (None, []),
    "halo_workers_used": (c_int, []),
    "halo_aborted": (c_int, []),
    "halo_fatal": (ctypes.POINTER(RawFinding), []),
    "halo_findings": (ctypes.POINTER(RawFinding), [c_void_p]),
    "halo_printed": (c_void_p, [c_void_p]),
    "halo_site_count": (c_size_t, []),
    "halo_site": (None, [c_size_t, ctypes.POINTER(Site)]),
    "halo_sectors_read": (c_uint64, []),
    "halo_sectors_written": (c_uint64, []),
    "halo_executed": (ctypes.POINTER(c_uint64), [c_void_p]),
    "halo_busiest": (ctypes.POINTER(Busiest), []),
    "halo_store_shares": (ctypes.POINTER(StoreShare), [c_void_p]),
    "halo_recorded": (ctypes.POINTER(c_uint64), [c_void_p, c_void_p, c_void_p, c_void_p]),
    "halo_watched": (ctypes.POINTER(WatchedLane), [c_void_p]),
    "halo_shared_region": (c_uint32, [c_uint32]),
    "halo_local_region": (c_uint32, []),
}


class LibraryMismatch(RuntimeError):
    """The library has other structures than this module declares."""


class _Door:
    """Lets one thread at a time to the machine: its table of arrays is read while a launch runs.

    Python frees arrays wherever it collects garbage, in any thread and in the middle of anything.
    Nobody may wait there, because whoever is inside may wait for that very thread: so `when_free`
    puts off what cannot be done at once.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._later: deque[Callable[[], None]] = deque()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._do_the_rest()
        self._lock.release()

    def when_free(self, action: Callable[[], None]) -> None:
        """Do it at once where nobody else is inside, else when the door is next left."""
        self._later.append(action)
        if self._lock.acquire(blocking=False):
            self.__exit__()

    def _do_the_rest(self) -> None:
        while self._later:
            with contextlib.suppress(IndexError):
                self._later.popleft()()


door = _Door()


_given: list[Path] = []


def build() -> Path:
    """Return the machine's shared library: the one that `use` has named, else that of the wheel
    (prebuilt.py), else that in the cache, which is built where it is not there.

    Raises toolchain.CompileFailed, CompilerMissingError, CacheError.
    """
    return _given[-1] if _given else _found_or_built()


@cache
def _prebuilt() -> prebuilt.Prebuilt:
    return prebuilt.find(toolchain.sources_key(MACHINE))


def _found_or_built() -> Path:
    found = _prebuilt()
    if found.path is not None:
        return found.path
    why = f"the installed {prebuilt.PACKAGE} is not used: {found.why_not}" if found.why_not else ""
    try:
        return _built(toolchain.native_flags(), remark=f" ({why})" if why else "")
    except toolchain.CompilerMissingError as error:
        if not why:
            raise
        raise toolchain.CompilerMissingError(
            f"{error}\nOr install the wheel of this copy of the labs ({why})."
        ) from None


def build_for_others() -> Path:
    """Return a library for other computers of this architecture: with the instructions of
    prebuilt.FLAGS, and without the need of a C++ runtime library.

    Raises what `build` raises.
    """
    flags = prebuilt.FLAGS.get(platform.machine(), ())
    return _built(flags, link_flags=("-static-libstdc++", "-static-libgcc"))


def _built(flags: tuple[str, ...], **more: Any) -> Path:
    return toolchain.folder_library(
        "halo_machine", MACHINE, (*_FLAGS, *flags), common="machine.h", **more
    )


def use(path: Path) -> None:
    """Make `machine` load this library and `build` none: for a process that can reach neither the
    cache nor the compiler that its library was built with. Call it before `machine`.
    """
    _given.append(path)


@cache
def machine() -> ctypes.CDLL:
    """Return the machine, and builds it at the first use. Raises what `build` raises, and
    LibraryMismatch.
    """
    library = ctypes.CDLL(str(build()))
    _require_same_sizes(library)
    for name, (result, arguments) in _RESULTS_AND_ARGUMENTS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def _require_same_sizes(library: ctypes.CDLL) -> None:
    sizes = (c_uint32 * len(_SIZES))()
    library.halo_sizes(sizes)
    library_sizes = dict(zip(_SIZES, sizes, strict=True))
    if library_sizes != _SIZES:
        differences = ", ".join(
            f"{n}: {quantity(_SIZES[n], 'byte')} here, {library_sizes[n]} there"
            for n in _SIZES
            if _SIZES[n] != library_sizes[n]
        )
        raise LibraryMismatch(
            f"the simulator's machine has other structures than library.py ({differences}): run "
            "again; if this error stays, empty the folder of HALO_CACHE"
        )


@cache
def operation_names() -> tuple[str, ...]:
    """Return the names of the machine's operations, in the order of their numbers."""
    library = machine()
    library.halo_operation_count.restype = c_uint32
    library.halo_operation_name.restype, library.halo_operation_name.argtypes = c_char_p, [c_uint32]
    return tuple(
        library.halo_operation_name(k).decode() for k in range(library.halo_operation_count())
    )


@cache
def operation_operands() -> dict[str, str]:
    """Return the letters of each operation's operands, as operations.h says."""
    letters = machine().halo_operation_operands
    letters.restype, letters.argtypes = c_char_p, [c_uint32]
    return {name: letters(k).decode() for k, name in enumerate(operation_names())}


@cache
def operation_ids() -> dict[str, int]:
    """Return the number of each operation, as an encoded instruction holds it."""
    return {name: k for k, name in enumerate(operation_names())}
