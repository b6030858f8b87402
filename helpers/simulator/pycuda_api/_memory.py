"""Device memory: allocations and the addresses in them, with PyCUDA's names and refusals."""

from __future__ import annotations

import builtins
import contextlib
import ctypes
import threading
from functools import partial
from typing import Literal, Self

import numpy as np

from helpers.quantities import quantity
from helpers.simulator.machine import faults, memory
from helpers.simulator.machine.library import door

from . import _devices, _errors, _findings, _order
from ._device import Context, need_context
from ._errors import MemoryError

Order = Literal["C", "F"]


def whole_number(value: object, what: str) -> int:
    """Return `value` if it is a Python int that is not negative. PyCUDA's C++ side refuses
    np.int64, too.
    """
    if not isinstance(value, int):
        hint = f": pass int({value!r})" if isinstance(value, np.integer | float) else ""
        raise TypeError(
            f"{what} must be a Python int, got {value!r} ({type(value).__name__}){hint}"
        )
    if value < 0:
        raise OverflowError(f"{what} must not be negative, got {value}")
    return value


class DevicePointer:
    """Bytes on the device; int() gives their address."""

    _address = 0
    _nbytes = 0
    _freed = True

    def __int__(self) -> int:
        return self._address

    __index__ = __int__

    def as_buffer(self, size: int, offset: int = 0) -> memoryview:
        """Return the bytes as a buffer, for libraries that copy to and from device memory through
        Python's buffers.
        """
        address = address_of(self, "as_buffer", "the allocation") + offset
        return memoryview((ctypes.c_ubyte * size).from_address(address)).cast("B")

    def __repr__(self) -> str:
        state = "freed" if self._freed else f"{quantity(self._nbytes, 'byte')}"
        return f"<{type(self).__name__} at {self._address:#x}, {state}>"


class DeviceAllocation(DevicePointer):
    """Bytes on the device, freed by free() or when the last reference goes. int() gives its
    address.
    """

    _context: Context

    def __init__(self) -> None:
        raise builtins.RuntimeError("make a DeviceAllocation with pycuda.driver.mem_alloc(bytes)")

    @classmethod
    def _make(cls, nbytes: int) -> Self:
        self = object.__new__(cls)
        # _freed stays true until the allocation has succeeded, because __del__ reads it.
        self._address = allocate(nbytes)
        self._nbytes = nbytes
        self._freed = False
        self._context = need_context("cuMemAlloc")
        return self

    def free(self) -> None:
        if self._freed:
            detail = "this allocation was freed before"
            raise _errors.logic_error("device_allocation::free", _errors.INVALID_HANDLE, detail)
        self._freed = True
        if self._is_out_of_reach():
            _devices.keep(partial(release, self._address, self._nbytes), self._nbytes)
        else:
            release(self._address, self._nbytes)

    def _is_out_of_reach(self) -> bool:
        """Return whether PyCUDA could not make the memory's context current to free it."""
        made_here = self._context._thread == threading.get_ident()
        return not made_here and Context.get_current() is not self._context

    def __del__(self) -> None:
        if not self._freed:
            self._freed = True
            release_later(self._address, self._nbytes)


class PointerHolderBase:
    """Base of a program's own classes for a device address; they define get_pointer()."""

    def get_pointer(self) -> int:
        raise NotImplementedError(f"{type(self).__name__} must define get_pointer() -> int")

    def __int__(self) -> int:
        return int(self.get_pointer())

    __index__ = __int__

    as_buffer = DevicePointer.as_buffer


def allocate(nbytes: int) -> int:
    """Return the address of new memory on the current device. Raises PyCUDA's MemoryError."""
    try:
        return memory.allocate(nbytes, _devices.current())
    except faults.OutOfMemory as error:
        raise MemoryError(
            _errors.message("cuMemAlloc", _errors.OUT_OF_MEMORY, str(error))
        ) from error


def release(address: int, nbytes: int) -> None:
    """Free an allocation, and forgets which streams use it."""
    _order.forget(address, address + nbytes)
    memory.free(address)


def release_later(address: int, nbytes: int) -> None:
    """Release memory that nothing refers to: at once, or when no thread is in the machine."""

    def run() -> None:
        with contextlib.suppress(Exception):  # the interpreter may be half gone
            release(address, nbytes)

    with contextlib.suppress(Exception):
        door.when_free(run)


def mem_alloc(bytes: int) -> DeviceAllocation:
    """Return device memory of `bytes` bytes, which is poisoned, not zeroed. Raises MemoryError if
    the device has not enough free memory.
    """
    nbytes = whole_number(bytes, "mem_alloc: the size")
    need_context("cuMemAlloc")
    if nbytes == 0:
        raise _errors.logic_error(
            "cuMemAlloc", _errors.INVALID_ARGUMENT, "an allocation needs at least 1 byte"
        )
    allocation = DeviceAllocation._make(nbytes)
    if _findings.is_called_by_program():
        memory.set_requested(int(allocation), nbytes)
    return allocation


def mem_alloc_like(ary: np.ndarray) -> DeviceAllocation:
    """Return device memory for as many bytes as `ary` has."""
    return mem_alloc(ary.nbytes)


def mem_alloc_pitch(width: int, height: int, access_size: int) -> tuple[DeviceAllocation, int]:
    """Return (memory, pitch) for `height` rows of `width` bytes; each row begins at a multiple of
    512 bytes.

    access_size: bytes that a thread reads at once: 4, 8 or 16.
    """
    if access_size not in (4, 8, 16):
        detail = f"access_size must be 4, 8 or 16 bytes, was {access_size}"
        raise _errors.logic_error("cuMemAllocPitch", _errors.INVALID_ARGUMENT, detail)
    pitch = -(-whole_number(width, "mem_alloc_pitch: width") // 512) * 512
    allocation = mem_alloc(pitch * whole_number(height, "mem_alloc_pitch: height"))
    memory.set_rows(int(allocation), width, pitch)
    return allocation, pitch


def mem_get_info() -> tuple[int, int]:
    """Return (free, total) bytes of device memory."""
    need_context("cuMemGetInfo")
    device = _devices.current()
    return memory.total(device) - memory.used(device), memory.total(device)


def mem_get_address_range(ptr: DeviceAllocation | int) -> tuple[int, int]:
    """Return (start, bytes) of the allocation that `ptr` points into."""
    found = memory.allocation(address_of(ptr, "cuMemGetAddressRange", "ptr"))
    if found is None:
        detail = "this address is in no live allocation"
        raise _errors.logic_error("cuMemGetAddressRange", _errors.NOT_FOUND, detail)
    return found


def address_of(pointer: object, call: str, role: str) -> int:
    """Return the address of a device pointer of PyCUDA.

    That is a live allocation, a PointerHolderBase or a Python int. For memory of another device
    than the current one, a copy gets a warning and a memset an error; the launch checks a kernel's
    arguments later.
    """
    address = plain_address_of(pointer, call, role)
    if _devices.several() and call.startswith(("cuMemcpy", "cuMemset")):
        _devices.check_pointer(address, call, role)
    return address


def plain_address_of(pointer: object, call: str, role: str) -> int:
    """Return the address of a device pointer, whichever device has its memory."""
    need_context(call)
    if isinstance(pointer, DevicePointer):
        if pointer._freed:
            detail = f"{role} is an allocation that was freed (use after free)"
            raise _errors.logic_error(call, _errors.INVALID_ARGUMENT, detail)
        return int(pointer)
    if isinstance(pointer, PointerHolderBase):
        return int(pointer)
    if isinstance(pointer, int):
        return whole_number(pointer, f"{call}: {role}")
    hint = ": pass its .gpudata" if hasattr(pointer, "gpudata") else ""
    if isinstance(pointer, np.ndarray):
        hint = ": this is host memory; are the arguments in the wrong order?"
    given = type(pointer).__name__
    raise TypeError(
        f"{call}: {role} must be a DeviceAllocation or an address (int), got {given}{hint}"
    )
