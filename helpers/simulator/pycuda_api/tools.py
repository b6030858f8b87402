"""pycuda.tools, for machines without a GPU: memory pools, C types of dtypes, contexts, and what
fits on a multiprocessor.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import math
import os
import sys
import traceback
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TextIO

import numpy as np

from helpers.quantities import quantity
from helpers.simulator.machine import memory

from . import _errors, _findings, _memory
from ._device import Context, Device, init, need_context
from ._dtypes import (
    Argument,
    ScalarArg,
    TypeNameNotKnown,
    VectorArg,
    dtype_to_ctype,
    get_arg_type,
    get_or_register_dtype,
    parse_c_arg,
    register_dtype,
)
from ._enums import device_attribute
from ._errors import LogicError, MemoryError
from ._host import HostPointer, _owned, shape_of
from ._memory import DevicePointer


def bitlog2(value: int) -> int:
    """Return the largest k with 2**k <= value; 0 for 0."""
    return max(0, int(value).bit_length() - 1)


# ---- memory pools ----

_MANTISSA_BITS = 4


class _Pool:
    """Keeps blocks that the program gives back, in bins of similar sizes, and hands them out again.
    A size has 4 bits behind its leading one.
    """

    def __init__(self) -> None:
        self._bins: dict[int, list] = {}
        self._holding = True
        self.active_blocks = 0
        self.active_bytes = 0
        self.managed_bytes = 0

    @property
    def held_blocks(self) -> int:
        """The number of free blocks."""
        return sum(map(len, self._bins.values()))

    def bin_number(self, size: int) -> int:
        """Return the bin for blocks of `size` bytes."""
        exponent = bitlog2(size)
        shift = exponent - _MANTISSA_BITS
        leading = size >> shift if shift >= 0 else size << -shift
        return exponent << _MANTISSA_BITS | leading & (1 << _MANTISSA_BITS) - 1

    def alloc_size(self, bin_nr: int) -> int:
        """Return the bytes of every block of a bin: the largest size that belongs there."""
        exponent, mantissa = divmod(bin_nr, 1 << _MANTISSA_BITS)
        shift = exponent - _MANTISSA_BITS
        leading = 1 << _MANTISSA_BITS | mantissa
        return (leading + 1 << shift) - 1 if shift >= 0 else leading >> -shift

    def free_held(self) -> None:
        """Free the memory of the free blocks."""
        for bin_nr, blocks in self._bins.items():
            self.managed_bytes -= len(blocks) * self.alloc_size(bin_nr)
            blocks.clear()

    def stop_holding(self) -> None:
        """Free the pool's free blocks, and from now on each block that the program gives back."""
        self._holding = False
        self.free_held()

    def _take(self, size: int):
        bin_nr = self.bin_number(size)
        blocks = self._bins.setdefault(bin_nr, [])
        if not blocks:
            blocks.append(self._new_block(self.alloc_size(bin_nr)))
            self.managed_bytes += self.alloc_size(bin_nr)
        self.active_blocks += 1
        self.active_bytes += size
        return blocks.pop()

    def _new_block(self, nbytes: int):
        try:
            return self._make(nbytes)
        except MemoryError:
            gc.collect()
            self.free_held()
            return self._make(nbytes)

    def _make(self, nbytes: int):
        raise NotImplementedError

    def _give_back(self, block, size: int) -> None:
        self.active_blocks -= 1
        self.active_bytes -= size
        bin_nr = self.bin_number(size)
        if self._holding:
            self._bins.setdefault(bin_nr, []).append(block)
        else:
            self.managed_bytes -= self.alloc_size(bin_nr)


class PooledDeviceAllocation(DevicePointer):
    """Device memory from a pool; free(), or the end of the last reference, gives it back there."""

    def __init__(self, pool: DeviceMemoryPool, size: int):
        self._block = pool._take(size)
        self._pool, self._nbytes = pool, size
        self._address = int(self._block)
        self._freed = False

    def free(self) -> None:
        if self._freed:
            raise _errors.logic_error(
                "pooled_device_allocation::free", _errors.INVALID_HANDLE, "it was freed before"
            )
        self._freed = True
        block, self._block = self._block, None
        self._pool._give_back(block, self._nbytes)

    def __len__(self) -> int:
        return self._nbytes

    def __bool__(self) -> bool:
        return True

    def __del__(self) -> None:
        if not self._freed:
            with contextlib.suppress(Exception):
                self.free()


class DeviceMemoryPool(_Pool):
    """Device memory for use again instead of being freed; `allocate` can replace any allocator."""

    def allocate(self, size: int) -> PooledDeviceAllocation:
        """Return `size` bytes. Values that an earlier user left in them count as written."""
        nbytes = _memory.whole_number(size, "DeviceMemoryPool.allocate: the size")
        allocation = PooledDeviceAllocation(self, nbytes)
        by_program = _findings.is_called_by_program()
        memory.set_requested(int(allocation), nbytes if by_program else None)
        return allocation

    def _make(self, nbytes: int):
        return _memory.mem_alloc(nbytes)


class DebugMemoryPool(DeviceMemoryPool):
    """A pool that writes on each allocation: its size, which functions have called for it, how much
    memory is free, and the blocks in use, by size and caller.

    interactive: wait for Enter after each; logfile: where to write, by default sys.stdout.
    """

    def __init__(self, interactive: bool = True, logfile: TextIO | None = None):
        super().__init__()
        self.interactive = interactive
        self.logfile = sys.stdout if logfile is None else logfile
        self.blocks: weakref.WeakKeyDictionary[PooledDeviceAllocation, tuple[int, str]]
        self.blocks = weakref.WeakKeyDictionary()

    def allocate(self, size: int) -> PooledDeviceAllocation:
        """Return `size` bytes, after a report on them and on the blocks in use."""
        callers = "|".join(frame.name for frame in traceback.extract_stack()[:-1])
        free, total = _memory.mem_get_info()
        report = [
            f"Allocation of {size:,} bytes (memory: {free:,} of {total:,} bytes free; pool: "
            f"{self.held_blocks} held, {self.active_blocks} active) at: {callers}"
        ]
        for (nbytes, at), count in sorted(Counter(self.blocks.values()).items()):
            report.append(f"  {count}x {nbytes:,} bytes at: {at}")
        print(*report, sep="\n", file=self.logfile)
        if self.interactive:
            input("  [Enter]")
        allocation = super().allocate(size)
        self.blocks[allocation] = size, callers
        return allocation


class PageLockedAllocator:
    """Has the flags with which a PageLockedMemoryPool gets its memory."""

    def __init__(self, flags: int = 0):
        self.flags = flags


class PooledHostAllocation(HostPointer):
    """Page-locked host memory from a pool: the `.base` of an array."""

    _name = "pooled_host_allocation"

    def __init__(self, pool: PageLockedMemoryPool, block: np.ndarray, data: np.ndarray, size: int):
        super().__init__(data)
        self._pool, self._block, self._size = pool, block, size

    def free(self) -> None:
        self._release()

    def _release(self) -> None:
        super()._release()
        self._pool._give_back(self._block, self._size)

    def __len__(self) -> int:
        return self._size


class PageLockedMemoryPool(_Pool):
    """Page-locked host memory that is used again instead of being freed."""

    def __init__(self, allocator: PageLockedAllocator | None = None):
        super().__init__()
        self._allocator = allocator or PageLockedAllocator()

    def allocate(self, shape, dtype, order: str = "C") -> np.ndarray:
        """Return an array, as pagelocked_empty does."""
        need_context("cuMemHostAlloc")
        shape, dtype = shape_of(shape), np.dtype(dtype)
        size = math.prod(shape) * dtype.itemsize
        block = self._take(size)
        data = block[:size].view(dtype).reshape(shape, order=order)
        return _owned(PooledHostAllocation(self, block, data, size))

    def _make(self, nbytes: int) -> np.ndarray:
        return np.empty(nbytes, np.uint8)


# ---- contexts ----


def get_default_device(default: int = 0) -> Device:
    """Return the device that CUDA_DEVICE names, else `default`."""
    return Device(int(os.environ.get("CUDA_DEVICE", default)))


def make_default_context(ctx_maker: Callable[[Device], Context] | None = None) -> Context:
    """Return a context on the device that CUDA_DEVICE names (else number 0), made by `ctx_maker`,
    by default Device.make_context.
    """
    device = get_default_device()
    return device.make_context() if ctx_maker is None else ctx_maker(device)


_caches: weakref.WeakSet = weakref.WeakSet()


def context_dependent_memoize(func: Callable) -> Callable:
    """Keep a function's results by its arguments, for each context separately."""
    results: dict = {}

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        key = (id(Context.get_current()), args, frozenset(kwargs.items()))
        if key not in results:
            results[key] = func(*args, **kwargs)
        return results[key]

    vars(wrapper)["_forget"] = results.clear
    _caches.add(wrapper)
    return wrapper


def clear_context_caches() -> None:
    """Drop the results that context_dependent_memoize keeps."""
    for wrapper in _caches:
        vars(wrapper)["_forget"]()


def _check_context(context: Context) -> None:
    device = context.get_device()
    if not (device.name() and device.compute_capability() and device.get_attributes()):
        raise LogicError("the device does not answer")


def mark_cuda_test(inner: Callable) -> Callable:
    """Run a test in a context of its own."""

    def test(*args, **kwargs):
        fixture = init_cuda_context_fixture()
        next(fixture)
        try:
            inner(*args, **kwargs)
        finally:
            next(fixture, None)

    test.__name__, test.__doc__ = inner.__name__, inner.__doc__
    return test


def init_cuda_context_fixture() -> Iterator[None]:
    """Yield the body of a pytest fixture: a context for the time of a test."""
    init()
    context = make_default_context()
    _check_context(context)
    try:
        yield
    finally:
        gc.collect()
        context.pop()
        clear_context_caches()
        gc.collect()


# ---- what fits on a multiprocessor ----


class DeviceData:
    """Figures of a device by which PyCUDA chooses grids; `thread_blocks_per_mp` is its 8, whatever
    the device can hold.
    """

    def __init__(self, dev: Device | None = None):
        dev = Context.get_device() if dev is None else dev
        self.max_threads = dev.get_attribute(device_attribute.MAX_THREADS_PER_BLOCK)
        self.warp_size = dev.get_attribute(device_attribute.WARP_SIZE)
        self.warps_per_mp = (
            dev.get_attribute(device_attribute.MAX_THREADS_PER_MULTIPROCESSOR) // self.warp_size
        )
        self.thread_blocks_per_mp = 8
        self.registers = dev.get_attribute(device_attribute.MAX_REGISTERS_PER_BLOCK)
        self.shared_memory = dev.get_attribute(device_attribute.MAX_SHARED_MEMORY_PER_BLOCK)
        self.smem_alloc_granularity = 128
        self.smem_granularity = 32
        self.register_allocation_unit = "warp"

    def align_bytes(self, word_size: int = 4) -> int:
        """Return the bytes to which a row should be padded, for words of 4, 8 or 16 bytes."""
        if word_size not in (4, 8, 16):
            raise ValueError(
                f"no alignment is possible for words of {quantity(word_size, 'byte')}: 4, 8 or 16"
            )
        return 64 if word_size == 4 else 128

    def align(self, bytes: int, word_size: int = 4) -> int:
        """Return `bytes`, rounded up to align_bytes."""
        return _round_up(bytes, self.align_bytes(word_size))

    def align_words(self, word_size: int) -> int:
        return self.align_bytes(word_size) // word_size

    def align_dtype(self, elements: int, dtype_size: int) -> int:
        """Return `elements`, rounded up so that a row of them is padded to align_bytes."""
        return _round_up(elements, self.align_words(dtype_size))

    def coalesce(self, thread_count: int) -> int:
        """Return `thread_count`, rounded up to half a warp."""
        return _round_up(thread_count, 16)

    @staticmethod
    def make_valid_tex_channel_count(size: int) -> int:
        for count in (1, 2, 4):
            if size <= count:
                return count
        raise ValueError(f"a texture has 1, 2 or 4 channels, {size} are too many")


def _round_up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple


class OccupancyRecord:
    """How many blocks a multiprocessor holds at once, and what limits that, by PyCUDA's rules.

    threads: in a block; shared_mem: bytes in a block; registers: in a thread. tb_per_mp: blocks;
    warps_per_mp: their warps; occupancy: those as a share of the most; limited_by: "device",
    "warps", "regs" or "smem".
    """

    def __init__(self, devdata: DeviceData, threads: int, shared_mem: int = 0, registers: int = 0):
        if threads > devdata.max_threads:
            raise ValueError(
                f"too many threads: {threads:,} in a block, {devdata.max_threads:,} at most"
            )
        warps = -(-threads // devdata.warp_size)
        smem = _round_up(shared_mem, devdata.smem_alloc_granularity)
        block_registers = warps * devdata.warp_size * registers
        if block_registers > devdata.registers:
            raise ValueError(
                f"too many registers: {block_registers:,} in a block, {devdata.registers:,} at most"
            )
        if smem > devdata.shared_memory:
            raise ValueError(
                f"too much shared memory: {quantity(smem, 'byte')} in a block, "
                f"{devdata.shared_memory:,} at most"
            )
        blocks = {"device": devdata.thread_blocks_per_mp, "warps": devdata.warps_per_mp // warps}
        if registers > 0:
            blocks["regs"] = devdata.registers // block_registers
        if shared_mem > 0:
            blocks["smem"] = devdata.shared_memory // smem
        self.tb_per_mp_limits = [(most, limit) for limit, most in blocks.items()]
        self.limited_by = min(blocks, key=lambda limit: (blocks[limit], limit))
        self.tb_per_mp = blocks[self.limited_by]
        self.warps_per_mp = warps * self.tb_per_mp
        self.occupancy = warps * self.tb_per_mp / devdata.warps_per_mp
