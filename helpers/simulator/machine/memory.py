"""Device memory: separate allocations, aligned to 256 bytes, and filled with 0xFF as poison until a
program writes them.

A device address is the host address of a buffer that the machine owns. Sizes are in bytes. Where
several devices are simulated, each array lies on one of them, and each device has its own limit;
addresses differ between devices, as CUDA's do.
"""

from __future__ import annotations

import ctypes
import os
import sys
from ctypes import c_char, c_size_t, c_uint32, c_uint64
from types import FrameType

import numpy as np

from helpers.quantities import quantity

from . import results
from .faults import MemoryFault, OutOfMemory
from .library import door, machine

TOTAL = 4 * 1024**3  # of each device, where `limit` says nothing else
EVERYWHERE = -1  # the place of memory that every device reaches: managed, and mapped host memory

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_FREED_KEPT = 1000
# address -> bytes, and the file and line of the program that allocated them
_live: dict[int, tuple[int, str, int]] = {}
_freed: dict[int, tuple[int, str, int]] = {}
# the machine's number of an array -> its device; those of device 0 are left out. No number is given
# twice.
_places: dict[int, int] = {}
# By the machine's number of an array:
_rows: dict[int, tuple[int, int]] = {}  # bytes of a row, and between the starts of two rows
_fillings: dict[int, np.dtype] = {}  # the dtype of the host array that all of it was copied from
_requested: dict[int, int] = {}  # the bytes that the program has asked for
_parted: set[int] = set()  # of which the program has taken a part as an array of its own
_used_on: dict[int, int] = {}  # bytes on each device but 0
_limits: dict[int, int] = {}  # bytes that a device has, where it is not TOTAL


def allocate(nbytes: int, device: int = 0) -> int:
    """Return the address of `nbytes` of fresh memory on a device.

    Raises OutOfMemory, and MemoryFault for a size below 1.
    """
    if nbytes < 1:
        raise MemoryFault(
            f"cannot allocate {quantity(nbytes, 'byte')} of device memory: ask for at least 1"
        )
    with door:
        free_bytes = total(device) - used(device)
        if nbytes > free_bytes:
            whose = f"device {device}'s" if device or _limits else "the simulator's"
            raise OutOfMemory(
                f"cannot allocate {quantity(nbytes, 'byte')} of device memory: {free_bytes:,} of "
                f"{whose} {quantity(total(device), 'byte')} are free; free an array first"
            )
        address = machine().halo_allocate(nbytes)
        if not address:
            raise OutOfMemory(
                f"cannot allocate {quantity(nbytes, 'byte')} of device memory: this computer has "
                "not enough free memory; use smaller arrays, or close other programs"
            )
        _live[address] = (nbytes, *_caller())
        if device:
            place(address, device)
            _used_on[device] = _used_on.get(device, 0) + nbytes
    return address


def free(address: int) -> None:
    """Free the allocation that starts at `address`. Raises MemoryFault if none does."""
    with door:
        entry = region(address)
        if entry:
            results.note_freed(entry[2], lambda: ctypes.string_at(*entry[:2]))
        if not machine().halo_free(address):
            raise MemoryFault(
                f"cannot free {address:#x}: it is not the start of a live allocation; free each "
                "array once, by its first address"
            )
        record = _live.pop(address, None)
        device = _places.pop(entry[2], 0) if entry else 0
        if entry:
            _rows.pop(entry[2], None)
            _fillings.pop(entry[2], None)
            _requested.pop(entry[2], None)
            _parted.discard(entry[2])
        if record is not None:
            if device > 0:
                _used_on[device] -= record[0]
            _freed.pop(address, None)  # the array that was freed last comes last
            _freed[address] = record
            if len(_freed) > _FREED_KEPT:
                del _freed[next(iter(_freed))]


def set_rows(address: int, width: int, pitch: int) -> None:
    """Record that an array has rows of `width` bytes that begin `pitch` bytes apart."""
    with door:
        if (entry := region(address)) is not None:
            _rows[entry[2]] = width, pitch


def set_parted(address: int) -> None:
    """Record that a program uses parts of the array at `address`, such as its rows one by one."""
    with door:
        if (entry := region(address)) is not None:
            _parted.add(entry[2])


def is_parted(address: int) -> bool:
    """Return whether `set_parted` has recorded the array at `address`."""
    entry = region(address) if _parted else None
    return entry is not None and entry[2] in _parted


def rows_of(address: int) -> tuple[int, int] | None:
    """Return the bytes of a row and between the starts of two rows, as `set_rows` recorded them for
    the array at `address`; None for any other.
    """
    entry = region(address) if address and _rows else None
    return _rows.get(entry[2]) if entry is not None else None


def set_filling(address: int, nbytes: int, dtype: np.dtype | None) -> None:
    """Record that the `nbytes` from `address` on were copied from a host array of this dtype, or
    that a kernel may have changed them (None). Only the copy of a whole array is kept.
    """
    if dtype is None and not _fillings:
        return
    with door:
        if (entry := region(address)) is None:
            return
        if dtype is not None and (address, nbytes) == entry[:2]:
            _fillings[entry[2]] = dtype
        else:
            _fillings.pop(entry[2], None)


def filling_of(address: int) -> np.dtype | None:
    """Return the dtype of the host array that an array was copied from, None if it is not known."""
    entry = region(address) if _fillings else None
    return _fillings.get(entry[2]) if entry is not None and entry[0] == address else None


def set_requested(address: int, nbytes: int | None) -> None:
    """Record that the program itself asked for an array of `nbytes`; None: the size is known to be
    right, or is not the program's.
    """
    with door:
        if (entry := region(address)) is None or entry[0] != address:
            return
        if nbytes is None:
            _requested.pop(entry[2], None)
        else:
            _requested[entry[2]] = nbytes


def requested(address: int) -> int | None:
    """Return the bytes of the array that starts at `address`, as `set_requested` recorded them."""
    entry = region(address) if _requested else None
    return _requested.get(entry[2]) if entry is not None and entry[0] == address else None


def origin(address: int) -> tuple[str, int]:
    """Return file and line of the program that allocated the array that starts at `address`,
    ("", 0) if they are not known.
    """
    return _live[address][1:] if address in _live else ("", 0)


def adopt(address: int, nbytes: int) -> None:
    """Make host memory an array that every device reaches, until `disown`; all of it counts as
    written. The caller keeps the memory alive. Raises MemoryFault if it is device memory already.
    """
    with door:
        if not machine().halo_adopt(address, nbytes):
            raise MemoryFault(
                f"cannot map {quantity(nbytes, 'byte')} at {address:#x} into the device: a part of "
                "them is device memory already"
            )
        place(address, EVERYWHERE)


def disown(address: int) -> None:
    """Take host memory that `adopt` mapped out of the devices again."""
    with door:
        if (entry := region(address)) is not None:
            _places.pop(entry[2], None)
            machine().halo_remove_global(address)


def end_heap() -> None:
    """Free what kernels have allocated themselves: their context ends."""
    with door:
        machine().halo_end_heap()


def used(device: int | None = None) -> int:
    """Return the bytes of live allocations on a device, or on all devices."""
    everywhere = machine().halo_used()
    if device is None:
        return everywhere
    return _used_on.get(device, 0) if device else everywhere - sum(_used_on.values())


def total(device: int = 0) -> int:
    """Return the bytes of a device's memory."""
    return _limits.get(device, TOTAL)


def limit(device: int, nbytes: int | None) -> None:
    """Set the bytes of a device's memory; None sets them to TOTAL again."""
    if nbytes is None:
        _limits.pop(device, None)
    else:
        _limits[device] = nbytes


def place(address: int, device: int) -> None:
    """Record the device of an array, or EVERYWHERE."""
    with door:
        if (entry := region(address)) is not None:
            _places[entry[2]] = device


def device_of(address: int) -> int | None:
    """Return the device of the array at `address`, None outside every array.

    It is EVERYWHERE for memory that all devices reach.
    """
    with door:
        entry = region(address)
        return _places.get(entry[2], 0) if entry else None


def freed_at(address: int) -> tuple[int, int, str, int] | None:
    """Return (start, nbytes, file, line) of the freed array that held `address`, None if there is
    none.

    The machine does not reuse the addresses of the arrays that were freed last (1,000 arrays, 256
    MB). The addresses of older ones may belong to the host by now, so this function does not know
    them.
    """
    if not machine().halo_is_freed(address):
        return None
    for start, (nbytes, file, line) in reversed(_freed.items()):
        if start <= address < start + nbytes:
            return (start, nbytes, file, line)
    return None


def allocation(address: int) -> tuple[int, int] | None:
    """Return (start, nbytes) of the array that holds `address`, None outside every array."""
    place = region(address)
    return place[:2] if place else None


def region(address: int) -> tuple[int, int, int] | None:
    """Return (start, nbytes, the machine's number) of the array that holds `address`, None outside
    every array.
    """
    start, nbytes, number = c_size_t(), c_uint64(), c_uint32()
    with door:
        told = ctypes.byref(start), ctypes.byref(nbytes), ctypes.byref(number)
        if not machine().halo_region(address, *told):
            return None
    return start.value, nbytes.value, number.value


def region_start(number: int) -> int:
    """Return the address of the array that has this number in the machine, 0 if there is none."""
    return machine().halo_region_start(number)


def write(address: int, buffer, nbytes: int) -> None:
    """Copy `nbytes` from a host buffer (an address, or an object with the buffer protocol) to the
    device.
    """
    with door:
        _hold(address, nbytes, "write")
        ctypes.memmove(address, _host_address(buffer), nbytes)
        machine().halo_mark_initialised(address, nbytes)


def read(buffer, address: int, nbytes: int) -> None:
    """Copy `nbytes` from the device to a writable host buffer (or address)."""
    with door:
        _hold(address, nbytes, "read")
        ctypes.memmove(_writable_address(buffer), address, nbytes)
        _note_read(address)


def copy(destination: int, source: int, nbytes: int) -> None:
    """Copy `nbytes` within the device."""
    with door:
        _hold(source, nbytes, "read")
        _hold(destination, nbytes, "write")
        ctypes.memmove(destination, source, nbytes)
        machine().halo_mark_initialised(destination, nbytes)
        _note_read(source)


def fill(address: int, pattern: bytes, count: int) -> None:
    """Write `pattern` `count` times."""
    _hold(address, len(pattern) * count, "write")  # before a text of so many bytes is made
    write(address, pattern * count, len(pattern) * count)


def written(address: int, nbytes: int) -> int:
    """Count the bytes that the host or a kernel has written, of the `nbytes` from `address` on."""
    _hold(address, nbytes, "look at")
    return machine().halo_count_initialised(address, nbytes)


def first_unwritten(address: int, nbytes: int) -> int | None:
    """Return the offset from `address` of the first unwritten byte of `nbytes`, None if all are
    written.
    """
    _hold(address, nbytes, "look at")
    first = machine().halo_first_unwritten(address, nbytes)
    return first if first < nbytes else None


def _note_read(address: int) -> None:
    if results.latest is not None and (entry := region(address)) is not None:
        results.latest.read.append(entry[2])


def _hold(address: int, nbytes: int, verb: str) -> None:
    if nbytes == 0:
        return
    place = allocation(address)
    if place is None:
        raise MemoryFault(
            f"cannot {verb} {quantity(nbytes, 'byte')} at {address:#x}: no live allocation is "
            "there; was it freed, or is this a host address?"
        )
    start, size = place
    if address + nbytes > start + size:
        offset = f" from byte {address - start:,} on" if address > start else ""
        raise MemoryFault(
            f"cannot {verb} {quantity(nbytes, 'byte')}{offset}: the allocation has "
            f"{quantity(size, 'byte')}"
        )


def _caller() -> tuple[str, int]:
    """Return file and line of the innermost frame outside this package."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return (frame.f_code.co_filename, frame.f_lineno) if frame is not None else ("", 0)


def _host_address(buffer) -> int | bytes:
    return buffer if isinstance(buffer, bytes) else _writable_address(buffer)


def _writable_address(buffer) -> int:
    if isinstance(buffer, int):
        return buffer
    if hasattr(buffer, "ctypes"):
        return buffer.ctypes.data
    return ctypes.addressof(c_char.from_buffer(buffer))
