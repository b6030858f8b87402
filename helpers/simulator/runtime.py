"""Device memory, modules and launches of the simulator, as PyCUDA's surface and `profile` use them.

One launch runs at a time, on an operating-system thread of its own, so that Ctrl-C and the time limit can stop it.

What is modelled: results, every memory access, barriers within a block, warp operations, atomics and fences, warp requests and the
sectors and wavefronts they need.
What is not: time, caches, occupancy, registers, clocks (`clock64()` counts its own calls), weak memory: a store is seen at once.
Blocks run whole, in any order: one that waits for a later one waits for ever, as it may on a GPU.
"""

from __future__ import annotations

import _ctypes
import ctypes
import os
import re
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from ctypes import c_char, c_char_p, c_int, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np

from . import program
from .debug_info import Variable
from .profile import Site, WatchedLane
from .program import Program
from .toolchain import CompileFailed

__all__ = [
    "CompileFailed",
    "Fault",
    "LaunchFault",
    "LaunchRefused",
    "MemoryFault",
    "OutOfMemory",
    "launch",
    "load",
    "memory",
]

# The limits of an H200 (compute capability 9.0), from the CUDA C++ Programming Guide's table of technical specifications.
MAX_THREADS_PER_BLOCK = 1024
MAX_BLOCK = (1024, 1024, 64)
MAX_GRID = (2**31 - 1, 65535, 65535)
MAX_STATIC_SHARED = 48 * 1024
MAX_SHARED = 227 * 1024
MAX_CONSTANT = 64 * 1024
WARP_SIZE = 32

TIME_LIMIT_S = 120.0
OBSERVERS = {"bounds": 0, "barriers": 1, "races": 2, "initialisation": 4, "traffic": 8}
CHECKS = ("bounds", "barriers", "races", "initialisation")


class Fault(Exception):
    """What a kernel, a copy or a launch did wrong; the base of this module's exceptions."""


class MemoryFault(Fault):
    """A host copy or a free that touches what is not a live allocation."""


class OutOfMemory(Fault):
    """More device memory was asked for than the simulated device has left."""


class LaunchRefused(Fault):
    """A launch that a GPU would refuse before it runs: block or grid too large, too much shared memory. `finding` says so, too."""

    def __init__(self, message: str, kernel: Kernel):
        from .report import finding_of_launch

        cause = "A GPU refuses the launch before the first thread runs, and the program goes on with what the output held before."
        self.finding = finding_of_launch("resources", message, cause, kernel)
        super().__init__(message)


class LaunchFault(Fault):
    """A kernel was stopped before it did harm. `finding` says where and why; `report` holds everything seen up to then."""

    def __init__(self, finding, report: LaunchReport):
        super().__init__(str(finding))
        self.finding = finding
        self.report = report


# ---- what the engine declares in C++ (findings.h, traffic.h, engine.cpp) ----


class _Place(ctypes.Structure):
    _fields_ = [
        ("pc", c_uint64),
        ("thread", c_uint32),
        ("access", c_uint32),
        ("block", c_uint32 * 3),
        ("line", c_uint32),
        ("caller", c_uint64),
    ]


class RawFinding(ctypes.Structure):
    _fields_ = [
        ("kind", c_uint32), ("region", c_uint32), ("offset", c_int64), ("size", c_uint64), ("count", c_uint64),
        ("here", _Place), ("other", _Place), ("text", c_char * 128),
    ]  # fmt: skip


class _Dim(ctypes.Structure):
    _fields_ = [("x", c_uint32), ("y", c_uint32), ("z", c_uint32)]


class _SharedArray(ctypes.Structure):
    _fields_ = [("offset", c_uint64), ("bytes", c_uint64)]


class _Launch(ctypes.Structure):
    _fields_ = [
        ("entry", c_void_p), ("arguments", c_char_p), ("grid", _Dim), ("block", _Dim), ("dynamic_shared", c_uint64),
        ("library_base", c_uint64), ("anchor", c_void_p), ("anchor_offset", c_uint64),
        ("shared_arrays", ctypes.POINTER(_SharedArray)), ("shared_count", c_uint32), ("observe", c_uint32),
        ("watched_block", c_uint64), ("watched_warp", c_uint32), ("sample_every", c_uint32), ("workers", c_uint32),
    ]  # fmt: skip


class _Parameter(ctypes.Structure):
    _fields_ = [(n, c_uint32) for n in ("size", "offset", "is_pointer", "is_floating", "is_const", "element_bytes")]


@cache
def _engine() -> ctypes.CDLL:
    engine = program.engine()
    engine.halo_allocate.restype = engine.halo_used.restype = engine.halo_count_initialised.restype = c_size_t
    engine.halo_allocate.argtypes = [c_size_t]
    engine.halo_free.argtypes = engine.halo_remove_global.argtypes = [c_size_t]
    engine.halo_region.argtypes = [c_size_t, c_void_p, c_void_p, c_void_p]
    engine.halo_add_global.restype = engine.halo_shared_region.restype = c_uint32
    engine.halo_add_global.argtypes = [c_size_t, c_size_t, c_int]
    engine.halo_mark_initialised.argtypes = engine.halo_count_initialised.argtypes = [c_size_t, c_size_t]
    engine.halo_first_unwritten.restype, engine.halo_first_unwritten.argtypes = c_size_t, [c_size_t, c_size_t]
    engine.halo_store_pc.restype, engine.halo_store_pc.argtypes = c_uint32, [c_size_t]
    engine.halo_shadow.argtypes = [c_size_t, c_size_t, c_int]
    engine.halo_findings.restype = engine.halo_fatal.restype = ctypes.POINTER(RawFinding)
    engine.halo_printed.restype = c_void_p
    engine.halo_watched.restype = ctypes.POINTER(WatchedLane)
    engine.halo_site_count.restype = c_size_t
    engine.halo_site.argtypes = [c_size_t, ctypes.POINTER(Site)]
    return engine


# ---- memory ----


class _Memory:
    """Device memory: separate allocations, 256-byte aligned, poisoned with 0xFF until something is written."""

    total = 4 * 1024**3

    def __init__(self):
        self._live: dict[int, tuple[int, str, int]] = {}  # address -> bytes, and the file and line that asked for them

    def allocate(self, nbytes: int) -> int:
        """The address of `nbytes` of fresh memory. Raises OutOfMemory, and MemoryFault for a size below 1."""
        if nbytes < 1:
            raise MemoryFault(f"cannot allocate {nbytes} bytes of device memory: ask for at least 1")
        free = self.total - self.used()
        if nbytes > free:
            raise OutOfMemory(f"{nbytes:,} bytes of device memory asked for, {free:,} of the simulator's {self.total:,} are free")
        address = _engine().halo_allocate(nbytes)
        if not address:
            raise OutOfMemory(f"{nbytes:,} bytes of device memory asked for, more than this computer has free")
        self._live[address] = (nbytes, *_caller())
        return address

    def free(self, address: int) -> None:
        """Frees an allocation by its first address. Raises MemoryFault where there is none."""
        if not _engine().halo_free(address):
            raise MemoryFault(f"{address:#x} is not the start of a live allocation: was it freed already?")
        self._live.pop(address, None)

    def used(self) -> int:
        """Bytes in live allocations."""
        return _engine().halo_used()

    def live(self) -> tuple[tuple[int, str, int], ...]:
        """(nbytes, file, line) of each allocation that has not been freed, oldest first: who asked for it."""
        return tuple(self._live.values())

    def allocation(self, address: int) -> tuple[int, int] | None:
        """(start, nbytes) of the array that holds `address`, None outside every array."""
        found = _region(address)
        return found[:2] if found else None

    def write(self, address: int, buffer, nbytes: int) -> None:
        """Copies `nbytes` from a host buffer (an address, or an object with the buffer protocol) to the device."""
        self._hold(address, nbytes, "write")
        ctypes.memmove(address, _host_address(buffer), nbytes)
        _engine().halo_mark_initialised(address, nbytes)

    def read(self, buffer, address: int, nbytes: int) -> None:
        """Copies `nbytes` from the device to a writable host buffer (or address)."""
        self._hold(address, nbytes, "read")
        ctypes.memmove(_host_address(buffer), address, nbytes)

    def copy(self, destination: int, source: int, nbytes: int) -> None:
        """Copies `nbytes` within the device."""
        self._hold(source, nbytes, "read")
        self._hold(destination, nbytes, "write")
        ctypes.memmove(destination, source, nbytes)
        _engine().halo_mark_initialised(destination, nbytes)

    def fill(self, address: int, pattern: bytes, count: int) -> None:
        """Writes `pattern` `count` times."""
        self.write(address, pattern * count, len(pattern) * count)

    def written(self, address: int, nbytes: int) -> int:
        """How many of `nbytes` from `address` on the host or a kernel has written since they were allocated."""
        self._hold(address, nbytes, "look at")
        return _engine().halo_count_initialised(address, nbytes)

    def first_unwritten(self, address: int, nbytes: int) -> int | None:
        """Offset from `address` of the first of `nbytes` that nothing has written; None when all are."""
        self._hold(address, nbytes, "look at")
        first = _engine().halo_first_unwritten(address, nbytes)
        return first if first < nbytes else None

    def _hold(self, address: int, nbytes: int, verb: str) -> None:
        found = self.allocation(address)
        if nbytes == 0:
            return
        if found is None:
            raise MemoryFault(
                f"cannot {verb} {nbytes:,} bytes at {address:#x}: no live allocation is there (freed, or a host address?)"
            )
        start, size = found
        if address + nbytes > start + size:
            inside = f", from byte {address - start:,} of it on" if address > start else ""
            raise MemoryFault(f"cannot {verb} {nbytes:,} bytes{inside}: the allocation has {size:,} bytes")


_PACKAGE = os.path.dirname(os.path.abspath(__file__))


def _caller() -> tuple[str, int]:
    """File and line of the innermost frame outside this package."""
    frame = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return (frame.f_code.co_filename, frame.f_lineno) if frame is not None else ("", 0)


memory = _Memory()


def _region(address: int) -> tuple[int, int, int] | None:
    start, nbytes, number = c_size_t(), c_uint64(), c_uint32()
    if not _engine().halo_region(address, ctypes.byref(start), ctypes.byref(nbytes), ctypes.byref(number)):
        return None
    return start.value, nbytes.value, number.value


def _host_address(buffer) -> int | bytes:
    if isinstance(buffer, int | bytes):
        return buffer
    if hasattr(buffer, "ctypes"):
        return buffer.ctypes.data
    return ctypes.addressof(c_char.from_buffer(buffer))


# ---- modules ----


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kernel: bytes and offset in the packed argument buffer.

    is_const: it points to what the kernel does not write; element_bytes: of what it points to, 0 where that is not known.
    """

    name: str
    type_text: str
    size: int
    offset: int
    is_pointer: bool
    is_floating: bool
    is_const: bool = False
    element_bytes: int = 0


@dataclass(frozen=True)
class Kernel:
    """A `__global__` function of a loaded module, or an instance of a template.

    name: as the source would call it ("k", "ns::k", "k<4>"); mangled: the linker's name; max_threads: what `__launch_bounds__`
    says, 0 where it says nothing.
    """

    name: str
    parameters: tuple[Parameter, ...]
    entry: int
    module: Module = field(repr=False, compare=False)
    mangled: str = ""
    max_threads: int = 0
    line: int = 0

    @property
    def static_shared(self) -> int:
        """Bytes of static shared memory: the kernel's own arrays, and those of the source's `__device__` functions."""
        others = {k.mangled for k in self.module.kernels.values() if k is not self}
        return sum(v.nbytes for v in self.module.shared if v.function not in others)


class UnknownKernel(KeyError):
    """No kernel, or more than one, has the name that was asked for."""

    def __str__(self) -> str:
        return self.args[0]


class Kernels(Mapping):
    """The kernels of a module by name.

    A kernel answers to its full name ("ns::k<4>"), to its mangled one, and, where it is the only one, to the name without
    namespaces or without template arguments. Raises UnknownKernel, with the names that there are, for any other.
    """

    def __init__(self, kernels: Sequence[Kernel], templates: Sequence[str] = ()):
        names = [kernel.name for kernel in kernels]
        self._kernels = {k.mangled if names.count(k.name) > 1 else k.name: k for k in kernels}  # overloaded ones have one name
        self._templates = tuple(templates)

    def __len__(self) -> int:
        return len(self._kernels)

    def __iter__(self):
        return iter(self._kernels)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and len(self._find(name)) == 1

    def __getitem__(self, name: str) -> Kernel:
        found = self._find(name)
        if len(found) == 1:
            return found[0]
        known = ", ".join(self._kernels) or "none"
        if found:
            names = ", ".join(key for key, kernel in self._kernels.items() if kernel in found)
            raise UnknownKernel(f"{name!r} may be any of {names}: give the full or the mangled name")
        if name.split("::")[-1] in (t.split("::")[-1] for t in self._templates):
            raise UnknownKernel(
                f"{name!r} is a template of which the source asks for no instance: add one, such as "
                f"`template __global__ void {name}<...>(...);`, after its definition"
            )
        raise UnknownKernel(f"no kernel {name!r} in this source: it has {known}")

    def _find(self, name: str) -> list[Kernel]:
        if name in self._kernels:
            return [self._kernels[name]]
        wanted = _normal_name(name)
        ways = (
            lambda k: k.mangled == name,
            lambda k: _normal_name(k.name) == wanted,
            lambda k: _without_namespaces(_normal_name(k.name)) == wanted,
            lambda k: k.name.partition("<")[0] == name,
            lambda k: k.name.partition("<")[0].split("::")[-1] == name,
        )
        return next((found for way in ways if (found := [k for k in self._kernels.values() if way(k)])), [])


def _normal_name(name: str) -> str:
    """A kernel's name without spaces that mean nothing."""
    return re.sub(r"(?<=\W)\s+|\s+(?=\W)", "", name.strip())


def _without_namespaces(name: str) -> str:
    plain, opening, arguments = name.partition("<")
    return plain.split("::")[-1] + opening + arguments


@dataclass(frozen=True)
class Global:
    """A `__constant__` or `__device__` variable: its address can be written by memory.write."""

    name: str
    address: int
    nbytes: int
    space: str


class _Symbol(ctypes.Structure):
    _fields_ = [("file", c_char_p), ("base", c_void_p), ("name", c_char_p), ("address", c_void_p)]


def _symbol_at(address: int) -> _Symbol:
    symbol = _Symbol()
    if not ctypes.CDLL(None).dladdr(c_void_p(address), ctypes.byref(symbol)):
        raise Fault(f"the dynamic linker does not know what is at {address:#x}")
    return symbol


class Module:
    """A compiled source, loaded. `kernels` and `globals` are found by name."""

    def __init__(self, compiled: Program):
        _engine()
        self.program = compiled
        # The dynamic linker loads one file once. A copy gives each module its own constants, as on a GPU.
        with tempfile.TemporaryDirectory() as folder:
            copy = shutil.copy(compiled.library, folder)
            self._library = ctypes.CDLL(str(copy))
        self._library.halo_anchor_address.restype = c_void_p
        variables = compiled.debug.variables
        self._anchor = next(v for v in variables if v.name == "halo_anchor")
        self.base = self._find_base()
        self.shared: tuple[Variable, ...] = tuple(v for v in variables if v.space == "shared" and v is not self._anchor)
        fixed = [v for v in variables if v.space != "shared"]
        self.globals = {v.name: Global(v.name, self.base + v.place, v.nbytes, v.space) for v in fixed}
        self.variables = {v.name: v for v in variables}
        self.global_regions = {
            _engine().halo_add_global(g.address, g.nbytes, g.space == "constant"): g for g in self.globals.values()
        }
        self._literals = [self.base + place for place, _ in compiled.debug.literals]
        for place, nbytes in compiled.debug.literals:
            _engine().halo_add_global(self.base + place, nbytes, 2)
        self.kernels = Kernels([self._kernel(number, s) for number, s in enumerate(compiled.kernels)], compiled.templates)

    def _find_base(self) -> int:
        return _symbol_at(ctypes.cast(self._library.halo_anchor_address, c_void_p).value).base or 0

    def _kernel(self, number: int, signature) -> Kernel:
        described = (_Parameter * (len(signature.parameters) + 1))()
        describe, address = self._library[f"halo_describe_{number}"], self._library[f"halo_address_{number}"]
        describe.argtypes, address.restype = [c_void_p], c_void_p
        describe(described)
        parameters = tuple(
            Parameter(*named, raw.size, raw.offset, *map(bool, (raw.is_pointer, raw.is_floating, raw.is_const)), raw.element_bytes)
            for named, raw in zip(signature.parameters, described, strict=False)
        )
        entry = ctypes.cast(self._library[f"halo_call_{number}"], c_void_p).value
        symbol = _symbol_at(address())
        mangled = symbol.name.decode() if symbol.name and symbol.address == address() else signature.name
        return Kernel(signature.name, parameters, entry, self, mangled, self._library[f"halo_bounds_{number}"](), signature.line)

    def close(self) -> None:
        """Unloads the library. The module's kernels and globals must not be used afterwards."""
        for address in (*self._literals, *(variable.address for variable in self.globals.values())):
            _engine().halo_remove_global(address)
        _ctypes.dlclose(self._library._handle)

    @property
    def anchor(self) -> tuple[int, int]:
        return ctypes.cast(self._library.halo_anchor_address, c_void_p).value, self._anchor.place


def load(source_text: str, options: Sequence[str] = (), file: str = "kernel.cu", extern_c: bool = False) -> Module:
    """Compiles and loads CUDA source. Raises CompileFailed (with file:line) and toolchain.CompilerMissingError.

    Constant memory over 64 KB and static shared memory over 48 KB are refused here, as nvcc does.
    """
    compiled = program.compile_program(source_text, tuple(options), file, extern_c)
    constant = sum(v.nbytes for v in compiled.debug.variables if v.space == "constant")
    if constant > MAX_CONSTANT:
        raise CompileFailed(f"{file}: {constant:,} bytes of constant memory, {MAX_CONSTANT:,} at most")
    module = Module(compiled)
    for kernel in module.kernels.values():
        if kernel.static_shared > MAX_STATIC_SHARED:
            module.close()
            used = f"{kernel.static_shared:,} bytes of static shared memory"
            raise CompileFailed(f"{file}:{kernel.line}: {used} in {kernel.name}, {MAX_STATIC_SHARED:,} at most")
    return module


# ---- launches ----


@dataclass(frozen=True)
class LaunchReport:
    """What one launch left behind: findings, and with the traffic observer the sites and the watched warp's lanes (raw).

    fatal: the finding that ended the launch before its time, None when it ran to its end; printed: what its printf calls wrote;
    workers: processor cores that ran its blocks.
    """

    findings: tuple
    completed: bool
    sites: tuple[Site, ...] = ()
    watched: np.ndarray = field(default_factory=lambda: np.zeros(0, WatchedLane), compare=False)  # of WatchedLane
    arrays: Mapping[int, ArrayName] = field(default_factory=dict)
    blocks: int = 0
    blocks_run: int = 0
    seconds: float = 0.0
    fatal: object = None
    printed: str = ""
    workers: int = 1


@dataclass(frozen=True)
class ArrayName:
    """How findings and profiles speak of an array: name, bytes, element type, extents, and where the named part starts.

    first_byte: offset of the named part in its allocation (a pointer parameter may point into the middle); start: the allocation's
    address, 0 where it is not needed.
    """

    name: str
    nbytes: int
    element: str
    element_bytes: int
    extents: tuple[int, ...]
    space: str
    first_byte: int = 0
    start: int = 0


_ELEMENT_BYTES = {
    "char": 1, "signed char": 1, "unsigned char": 1, "bool": 1, "int8_t": 1, "uint8_t": 1, "short": 2, "unsigned short": 2,
    "half": 2, "__half": 2, "int": 4, "unsigned": 4, "unsigned int": 4, "float": 4, "int32_t": 4, "uint32_t": 4, "double": 8,
    "long long": 8, "unsigned long long": 8, "int64_t": 8, "uint64_t": 8, "size_t": 8, "float2": 8, "int2": 8,
    "float4": 16, "int4": 16,
}  # fmt: skip

_launch_lock = threading.Lock()


def launch(
    kernel: Kernel,
    packed: bytes,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    shared: int = 0,
    observe: Sequence[str] = CHECKS,
    names: Mapping[int, str] | None = None,
    *,
    outputs: Sequence[int] = (),
    watch: tuple[tuple[int, int, int], int] = ((0, 0, 0), 0),
    sample_every: int = 1,
    time_limit: float | None = None,
    workers: int | None = None,
) -> LaunchReport:
    """Runs one launch to its end and returns its findings.

    packed: the arguments one after another, each at its natural alignment (Kernel.parameters gives sizes and offsets);
    shared: bytes of dynamic shared memory; names: address -> array name, beside those that pointer parameters give;
    outputs: addresses of arrays that are to be written wholly, by this launch or before: what is not is a finding ("unwritten");
    watch: the block and warp whose requests are kept one by one; sample_every: run every n-th block only;
    time_limit: seconds, TIME_LIMIT_S unless given; workers: processor cores that may run blocks, by default all; one does where
    the order of blocks can be seen (counters, printf, atomics) and where the launch is small. Results and findings do not depend
    on it: where several workers see anything doubtful, one runs the launch again.
    Raises LaunchRefused, LaunchFault and KeyboardInterrupt.
    """
    grid, block = _refuse_what_a_gpu_refuses(kernel, grid, block, shared)
    arrays = _name_arrays(kernel, packed, names or {})
    most = _workers(kernel, grid, block, observe, sample_every)
    workers = most if workers is None else min(workers, max(most, 1))
    request = _describe(kernel, packed, grid, block, shared, observe, watch, sample_every, workers)
    with _launch_lock:
        _shadow(kernel, packed)
        start = time.monotonic()
        if _engine().halo_start(ctypes.byref(request)) != 0:
            raise OutOfMemory("no room for the stacks of 1,024 simulated threads (256 MB of address space)")
        try:
            _wait(time_limit if time_limit is not None else TIME_LIMIT_S)
            report = _report(kernel, arrays, request, sample_every, time.monotonic() - start)
            if report.completed and sample_every == 1:
                report = replace(report, findings=report.findings + _unwritten(kernel, packed, arrays, outputs))
        finally:
            _engine().halo_finish()
    if report.printed:  # here and not in the engine: a notebook shows what Python writes
        print(report.printed, end="", flush=True)
    if report.fatal is not None:
        raise LaunchFault(report.fatal, report)
    return report


def _refuse_what_a_gpu_refuses(kernel: Kernel, grid, block, shared: int):
    grid, block = (tuple(int(v) for v in (*shape, 1, 1, 1)[:3]) for shape in (grid, block))
    for what, shape, limits in (("block", block, MAX_BLOCK), ("grid", grid, MAX_GRID)):
        if any(not 1 <= extent <= limit for extent, limit in zip(shape, limits, strict=True)):
            raise LaunchRefused(f"{what}={shape} for {kernel.name}: each extent must be at least 1 and at most {limits}", kernel)
    threads = block[0] * block[1] * block[2]
    if threads > MAX_THREADS_PER_BLOCK:
        raise LaunchRefused(f"block={block} for {kernel.name} has {threads:,} threads, {MAX_THREADS_PER_BLOCK:,} at most", kernel)
    if kernel.max_threads and threads > kernel.max_threads:
        raise LaunchRefused(
            f"block={block} for {kernel.name} has {threads:,} threads, {kernel.max_threads:,} at most by its __launch_bounds__",
            kernel,
        )
    if shared + kernel.static_shared > MAX_SHARED:
        raise LaunchRefused(
            f"{kernel.name} asks for {shared:,} bytes of dynamic and {kernel.static_shared:,} of static shared memory, "
            f"{MAX_SHARED:,} at most",
            kernel,
        )
    return grid, block


def _unwritten(kernel: Kernel, packed: bytes, arrays: dict[int, ArrayName], outputs: Sequence[int]) -> tuple:
    from .report import describe_unwritten

    engine, found = _engine(), []
    for address in outputs:
        if (region := _region(int(address))) is None:
            continue
        start, nbytes, number = region
        first = engine.halo_first_unwritten(start, nbytes)
        if first < nbytes:
            missing = nbytes - engine.halo_count_initialised(start, nbytes)
            found.append(describe_unwritten(kernel, arrays.get(number), first, missing, nbytes, engine.halo_store_pc(start)))
    return tuple(found)


def _name_arrays(kernel: Kernel, packed: bytes, names: Mapping[int, str]) -> dict[int, ArrayName]:
    arrays: dict[int, ArrayName] = {}
    for address, name in names.items():
        if found := _region(address):
            arrays[found[2]] = ArrayName(name, found[1], "", 0, (), "global")
    for parameter in kernel.parameters:
        if not parameter.is_pointer:
            continue
        address = int.from_bytes(packed[parameter.offset : parameter.offset + 8], "little")
        if (found := _region(address)) is None:
            continue
        start, nbytes, number = found
        element = " ".join(w for w in parameter.type_text.replace("*", " ").split() if w not in ("const", "volatile", "__restrict"))
        name, first = parameter.name, address - start
        if number in arrays and arrays[number].name != name:  # two parameters, one array
            name, first = f"{arrays[number].name}={name}", min(first, arrays[number].first_byte)
        width = parameter.element_bytes
        extents = ((nbytes - first) // width,) if width else ()
        arrays[number] = ArrayName(name, nbytes - first, element, width, extents, "global", first, start)
    for number, variable in kernel.module.global_regions.items():
        known = kernel.module.variables[variable.name]
        arrays[number] = ArrayName(known.name, known.nbytes, known.element, known.element_bytes, known.extents, known.space)
    return arrays


_SEES_THE_ORDER_OF_BLOCKS = re.compile(r"\b(?:atomic\w+|printf|clock|clock64|__threadfence\w*)\s*\(")
_WORTH_SEVERAL_WORKERS = 1 << 15  # threads; fewer are done before a second worker has started


def _workers(kernel: Kernel, grid, block, observe: Sequence[str], sample_every: int) -> int:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    blocks = grid[0] * grid[1] * grid[2]
    too_small = blocks < 2 * cores or blocks * block[0] * block[1] * block[2] < _WORTH_SEVERAL_WORKERS
    if too_small or blocks > 2**30 or sample_every != 1 or not {"races", "initialisation"} <= set(observe) or "traffic" in observe:
        return 1
    return 1 if _SEES_THE_ORDER_OF_BLOCKS.search(kernel.module.program.source) else cores


def _shadow(kernel: Kernel, packed: bytes) -> None:
    """Tells the engine which arrays the launch is about, so that several workers can share them."""
    for parameter in kernel.parameters:
        if parameter.is_pointer:
            address = int.from_bytes(packed[parameter.offset : parameter.offset + 8], "little")
            _engine().halo_shadow(address, parameter.element_bytes, not parameter.is_const)
    for variable in kernel.module.globals.values():
        if variable.space == "device":
            _engine().halo_shadow(variable.address, kernel.module.variables[variable.name].element_bytes, True)


def _describe(kernel, packed, grid, block, shared, observe, watch, sample_every, workers):
    module = kernel.module
    anchor, anchor_offset = module.anchor
    shared_arrays = (_SharedArray * max(len(module.shared), 1))(*[_SharedArray(v.place, v.nbytes) for v in module.shared])
    (x, y, z), warp = watch
    return _Launch(
        kernel.entry, packed, _Dim(*grid), _Dim(*block), shared, module.base, anchor, anchor_offset, shared_arrays,
        len(module.shared), sum(OBSERVERS[name] for name in observe), x + grid[0] * (y + grid[1] * z), warp, sample_every, workers,
    )  # fmt: skip


def _wait(time_limit: float) -> None:
    """Waits in short steps, because Python sees Ctrl-C only between them."""
    deadline = time.monotonic() + time_limit
    try:
        while not _engine().halo_wait(20):
            if time.monotonic() > deadline:
                _engine().halo_stop()
    except BaseException:
        _engine().halo_stop()
        while not _engine().halo_wait(20):
            _engine().halo_stop()
        raise


def _report(kernel: Kernel, arrays: dict[int, ArrayName], request: _Launch, sample_every: int, seconds: float) -> LaunchReport:
    from .report import describe_finding, merge_findings  # report.py reads this module's records

    engine = _engine()
    block_threads = (request.block.x, request.block.y, request.block.z)
    for k, variable in enumerate(kernel.module.shared):
        number = engine.halo_shared_region(k)
        arrays[number] = ArrayName(
            variable.name, variable.nbytes, variable.element, variable.element_bytes, variable.extents, "shared"
        )
    if request.dynamic_shared:
        names = kernel.module.program.dynamic_shared or (("dynamic shared memory", "char"),)
        width = _ELEMENT_BYTES.get(names[0][1], 1)
        nbytes = request.dynamic_shared
        number = engine.halo_shared_region(len(kernel.module.shared))
        arrays[number] = ArrayName("/".join(n for n, _ in names), nbytes, names[0][1], width, (nbytes // width,), "shared")
    count = c_size_t()
    raw = engine.halo_findings(ctypes.byref(count))
    described = (describe_finding(raw[k], kernel, arrays, block_threads) for k in range(count.value))
    findings = merge_findings(finding for finding in described if finding is not None)
    aborted = bool(engine.halo_aborted())
    fatal = describe_finding(engine.halo_fatal()[0], kernel, arrays, block_threads) if aborted else None
    text = engine.halo_printed(ctypes.byref(count))
    printed = ctypes.string_at(text, count.value).decode(errors="replace") if count.value else ""
    sites = tuple(Site() for _ in range(engine.halo_site_count()))
    for k, site in enumerate(sites):
        engine.halo_site(k, site)
    lanes = engine.halo_watched(ctypes.byref(count))
    seen = ctypes.string_at(lanes, count.value * ctypes.sizeof(WatchedLane)) if count.value else b""
    watched = np.frombuffer(seen, WatchedLane)
    blocks = request.grid.x * request.grid.y * request.grid.z
    run = -(-blocks // sample_every)
    return LaunchReport(
        findings, not aborted, sites, watched, arrays, blocks, run, seconds, fatal, printed, engine.halo_workers_used()
    )
