"""Device memory, modules and launches of the simulator, as PyCUDA's surface and `profile` use them.

One launch runs at a time, on an operating-system thread of its own, so that Ctrl-C and the time limit can stop it.

What is modelled: results, every memory access, barriers within a block, warp requests and the sectors and wavefronts they need.
What is not: time, caches, occupancy, the order of memory operations between blocks, clocks, registers.
"""

from __future__ import annotations

import _ctypes
import ctypes
import shutil
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from ctypes import c_char, c_char_p, c_int, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass, field
from functools import cache

from . import program
from .debug_info import Variable
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
FATAL = ("out-of-bounds", "misaligned", "barrier", "runaway")
CHECKS = ("bounds", "barriers", "races", "initialisation")


class Fault(Exception):
    """What a kernel, a copy or a launch did wrong; the base of this module's exceptions."""


class MemoryFault(Fault):
    """A host copy or a free that touches what is not a live allocation."""


class OutOfMemory(Fault):
    """More device memory was asked for than the simulated device has left."""


class LaunchRefused(Fault):
    """A launch that a GPU would refuse before it runs: block or grid too large, too much shared memory."""


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
    ]


class RawFinding(ctypes.Structure):
    _fields_ = [
        ("kind", c_uint32), ("region", c_uint32), ("offset", c_int64), ("size", c_uint64), ("count", c_uint64),
        ("here", _Place), ("other", _Place), ("text", c_char * 64),
    ]  # fmt: skip


class Site(ctypes.Structure):
    """Sums over the requests that one instruction made to one array (traffic.h)."""

    _fields_ = [("pc", c_uint64)] + [(n, c_uint32) for n in ("access", "region", "space", "size")] + [
        (n, c_uint64) for n in ("requests", "lanes", "sectors", "wavefronts", "conflicts")
    ]  # fmt: skip


class WatchedLane(ctypes.Structure):
    _fields_ = [("request", c_uint64), ("pc", c_uint64)] + [
        (n, c_uint32) for n in ("access", "region", "space", "size", "lane")
    ] + [("offset", c_int64)]  # fmt: skip


class _Dim(ctypes.Structure):
    _fields_ = [("x", c_uint32), ("y", c_uint32), ("z", c_uint32)]


class _SharedArray(ctypes.Structure):
    _fields_ = [("offset", c_uint64), ("bytes", c_uint64)]


class _Launch(ctypes.Structure):
    _fields_ = [
        ("entry", c_void_p), ("arguments", c_char_p), ("grid", _Dim), ("block", _Dim), ("dynamic_shared", c_uint64),
        ("library_base", c_uint64), ("anchor", c_void_p), ("anchor_offset", c_uint64),
        ("shared_arrays", ctypes.POINTER(_SharedArray)), ("shared_count", c_uint32), ("observe", c_uint32),
        ("watched_block", c_uint64), ("watched_warp", c_uint32), ("sample_every", c_uint32),
    ]  # fmt: skip


class _Parameter(ctypes.Structure):
    _fields_ = [("size", c_uint32), ("offset", c_uint32), ("is_pointer", c_uint32), ("is_floating", c_uint32)]


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
    engine.halo_findings.restype = ctypes.POINTER(RawFinding)
    engine.halo_watched.restype = ctypes.POINTER(WatchedLane)
    engine.halo_site_count.restype = c_size_t
    engine.halo_site.argtypes = [c_size_t, ctypes.POINTER(Site)]
    return engine


# ---- memory ----


class _Memory:
    """Device memory: separate allocations, 256-byte aligned, poisoned with 0xFF until something is written."""

    total = 4 * 1024**3

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
        return address

    def free(self, address: int) -> None:
        """Frees an allocation by its first address. Raises MemoryFault where there is none."""
        if not _engine().halo_free(address):
            raise MemoryFault(f"{address:#x} is not the start of a live allocation: was it freed already?")

    def used(self) -> int:
        """Bytes in live allocations."""
        return _engine().halo_used()

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
    """One parameter of a kernel: bytes and offset in the packed argument buffer."""

    name: str
    type_text: str
    size: int
    offset: int
    is_pointer: bool
    is_floating: bool


@dataclass(frozen=True)
class Kernel:
    """A `__global__` function of a loaded module."""

    name: str
    parameters: tuple[Parameter, ...]
    entry: int
    module: Module = field(repr=False, compare=False)

    @property
    def static_shared(self) -> int:
        """Bytes of static shared memory that the kernel's source holds (every kernel of the source counts)."""
        return sum(v.nbytes for v in self.module.shared)


@dataclass(frozen=True)
class Global:
    """A `__constant__` or `__device__` variable: its address can be written by memory.write."""

    name: str
    address: int
    nbytes: int
    space: str


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
        self.kernels = {s.name: self._kernel(s) for s in compiled.kernels}

    def _find_base(self) -> int:
        class Info(ctypes.Structure):
            _fields_ = [("file", c_char_p), ("base", c_void_p), ("name", c_char_p), ("address", c_void_p)]

        info = Info()
        if not ctypes.CDLL(None).dladdr(ctypes.cast(self._library.halo_anchor_address, c_void_p), ctypes.byref(info)):
            raise Fault(f"the dynamic linker does not know {self.program.library}")
        return info.base or 0

    def _kernel(self, signature) -> Kernel:
        described = (_Parameter * (len(signature.parameters) + 1))()
        describe = self._library[f"halo_describe_{signature.name}"]
        describe.argtypes = [c_void_p]
        describe(described)
        parameters = tuple(
            Parameter(name, type_text, raw.size, raw.offset, bool(raw.is_pointer), bool(raw.is_floating))
            for (name, type_text), raw in zip(signature.parameters, described, strict=False)
        )
        entry = ctypes.cast(self._library[f"halo_call_{signature.name}"], c_void_p).value
        return Kernel(signature.name, parameters, entry, self)

    def close(self) -> None:
        """Unloads the library. The module's kernels and globals must not be used afterwards."""
        for variable in self.globals.values():
            _engine().halo_remove_global(variable.address)
        _ctypes.dlclose(self._library._handle)

    @property
    def anchor(self) -> tuple[int, int]:
        return ctypes.cast(self._library.halo_anchor_address, c_void_p).value, self._anchor.place


def load(source_text: str, options: Sequence[str] = (), file: str = "kernel.cu", extern_c: bool = False) -> Module:
    """Compiles and loads CUDA source. Raises CompileFailed (with file:line) and toolchain.CompilerMissingError.

    Constant memory over 64 KB and static shared memory over 48 KB are refused here, as nvcc does.
    """
    compiled = program.compile_program(source_text, tuple(options), file, extern_c)
    for space, limit, what in (("constant", MAX_CONSTANT, "constant"), ("shared", MAX_STATIC_SHARED, "static shared")):
        used = sum(v.nbytes for v in compiled.debug.variables if v.space == space and v.name != "halo_anchor")
        if used > limit:
            raise CompileFailed(f"{file}: {used:,} bytes of {what} memory, {limit:,} at most")
    return Module(compiled)


# ---- launches ----


@dataclass(frozen=True)
class LaunchReport:
    """What one launch left behind: findings, and with the traffic observer the sites and the watched warp's lanes (raw)."""

    findings: tuple
    completed: bool
    sites: tuple[Site, ...] = ()
    watched: tuple[WatchedLane, ...] = ()
    arrays: Mapping[int, ArrayName] = field(default_factory=dict)
    blocks: int = 0
    blocks_run: int = 0
    seconds: float = 0.0


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
    watch: tuple[tuple[int, int, int], int] = ((0, 0, 0), 0),
    sample_every: int = 1,
    time_limit: float | None = None,
) -> LaunchReport:
    """Runs one launch to its end and returns its findings.

    packed: the arguments one after another, each at its natural alignment (Kernel.parameters gives sizes and offsets);
    shared: bytes of dynamic shared memory; names: address -> array name, beside those that pointer parameters give;
    watch: the block and warp whose requests are kept one by one; sample_every: run every n-th block only;
    time_limit: seconds, TIME_LIMIT_S unless given. Raises LaunchRefused, LaunchFault and KeyboardInterrupt.
    """
    grid, block = _refuse_what_a_gpu_refuses(kernel, grid, block, shared)
    arrays = _name_arrays(kernel, packed, names or {})
    request = _describe(kernel, packed, grid, block, shared, observe, watch, sample_every)
    with _launch_lock:
        start = time.monotonic()
        if _engine().halo_start(ctypes.byref(request)) != 0:
            raise OutOfMemory("no room for the stacks of 1,024 simulated threads (256 MB of address space)")
        try:
            _wait(time_limit if time_limit is not None else TIME_LIMIT_S)
            report = _report(kernel, arrays, request, sample_every, time.monotonic() - start)
        finally:
            _engine().halo_finish()
    if not report.completed:
        raise LaunchFault(next(f for f in reversed(report.findings) if f.kind in FATAL), report)
    return report


def _refuse_what_a_gpu_refuses(kernel: Kernel, grid, block, shared: int):
    grid, block = (tuple(int(v) for v in (*shape, 1, 1, 1)[:3]) for shape in (grid, block))
    for what, shape, limits in (("block", block, MAX_BLOCK), ("grid", grid, MAX_GRID)):
        if any(not 1 <= extent <= limit for extent, limit in zip(shape, limits, strict=True)):
            raise LaunchRefused(f"{what}={shape} for {kernel.name}: each extent must be at least 1 and at most {limits}")
    threads = block[0] * block[1] * block[2]
    if threads > MAX_THREADS_PER_BLOCK:
        raise LaunchRefused(f"block={block} for {kernel.name} has {threads:,} threads, {MAX_THREADS_PER_BLOCK:,} at most")
    if shared + kernel.static_shared > MAX_SHARED:
        raise LaunchRefused(
            f"{kernel.name} asks for {shared:,} bytes of dynamic and {kernel.static_shared:,} of static shared memory, "
            f"{MAX_SHARED:,} at most"
        )
    return grid, block


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
        width = _ELEMENT_BYTES.get(element, 0)
        extents = ((nbytes - first) // width,) if width else ()
        arrays[number] = ArrayName(name, nbytes - first, element, width, extents, "global", first, start)
    for number, variable in kernel.module.global_regions.items():
        known = kernel.module.variables[variable.name]
        arrays[number] = ArrayName(known.name, known.nbytes, known.element, known.element_bytes, known.extents, known.space)
    return arrays


def _describe(kernel, packed, grid, block, shared, observe, watch, sample_every):
    module = kernel.module
    anchor, anchor_offset = module.anchor
    shared_arrays = (_SharedArray * max(len(module.shared), 1))(*[_SharedArray(v.place, v.nbytes) for v in module.shared])
    (x, y, z), warp = watch
    return _Launch(
        kernel.entry, packed, _Dim(*grid), _Dim(*block), shared, module.base, anchor, anchor_offset, shared_arrays,
        len(module.shared), sum(OBSERVERS[name] for name in observe), x + grid[0] * (y + grid[1] * z), warp, sample_every,
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
    findings = merge_findings(describe_finding(raw[k], kernel, arrays, block_threads) for k in range(count.value))
    sites = tuple(Site() for _ in range(engine.halo_site_count()))
    for k, site in enumerate(sites):
        engine.halo_site(k, site)
    lanes = engine.halo_watched(ctypes.byref(count))
    watched = tuple(WatchedLane.from_buffer_copy(lanes[k]) for k in range(count.value))
    blocks = request.grid.x * request.grid.y * request.grid.z
    run = -(-blocks // sample_every)
    return LaunchReport(findings, not engine.halo_aborted(), sites, watched, arrays, blocks, run, seconds)
