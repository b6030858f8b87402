"""Copies of contiguous bytes between the host and the device, with PyCUDA's names and refusals."""

from __future__ import annotations

import contextlib
import weakref
from typing import Any

import numpy as np

from helpers.quantities import quantity
from helpers.simulator.findings.race_facts import appends
from helpers.simulator.findings.words import BYTES_ADVICE
from helpers.simulator.machine import faults, memory
from helpers.simulator.machine.arrays import declaration
from helpers.simulator.machine.layouts import only_dtype
from helpers.simulator.program.module import Kernel

from . import _devices, _errors, _findings, _order, _times
from ._account import Hold
from ._device import Context
from ._memory import DeviceAllocation, Order, address_of, mem_alloc, plain_address_of, whole_number
from ._stream import number_of

USUAL_OF_NUMPY = ("float64", "int64")  # dtypes of an array that names none
_KEPT = 4096
# By the machine's number of an array: the kernel that may have written it last, the offset of its
# pointer among the parameters, and whether a finding tells why it has not.
_writers: dict[int, tuple[weakref.ref[Kernel], int, bool]] = {}


def host_bytes(host: Any, call: str, role: str, *, writable: bool) -> np.ndarray:
    """Return the bytes of a host array or buffer in memory order, as a view: uint8, shape
    (nbytes,).

    Raises ValueError for an array with gaps, and for a read-only one that the caller writes to.
    Raises TypeError for an object without a buffer. An array in Fortran order keeps its order, as
    in PyCUDA, with a warning, because a kernel sees it transposed.
    """
    if not isinstance(host, np.ndarray):
        return _buffer_bytes(host, call, role, writable)
    if writable and not host.flags.writeable:
        raise ValueError(
            f"{call}: {role} is read-only: pass an array that can be written to, such as a copy()"
        )
    if host.dtype.hasobject:
        raise TypeError(
            f"{call}: {role} is an array of Python objects ({host.dtype}): convert it to numbers "
            "with .astype(...)"
        )
    host = host.view(np.ndarray)
    if not host.flags.c_contiguous:
        if not host.flags.f_contiguous:
            raise ValueError(f"{call}: {role} {layout(host)}")
        _findings.remark(f"{call}: {role} {layout(host)}")
        host = host.T
    return host.reshape(-1).view(np.uint8)


def _buffer_bytes(host: Any, call: str, role: str, writable: bool) -> np.ndarray:
    try:
        view = np.frombuffer(host, np.uint8) if memoryview(host).nbytes else np.empty(0, np.uint8)
    except TypeError:
        given = type(host).__name__
        raise TypeError(
            f"{call}: {role} must be a NumPy array or a buffer of bytes, got {given}"
        ) from None
    if writable and not view.flags.writeable:
        raise ValueError(f"{call}: {role} is read-only ({type(host).__name__}): pass a NumPy array")
    return view


def layout(array: np.ndarray) -> str:
    """Return what is unusual about an array's layout in memory, and what to do about it."""
    if array.flags.f_contiguous:
        return (
            f"is in Fortran order (shape {array.shape}): its bytes are copied as they lie, so that "
            "a kernel sees it transposed. Pass np.ascontiguousarray(a), or a.T if you mean that"
        )
    return (
        f"is not contiguous: it is a strided view (shape {array.shape}, strides {array.strides} "
        "bytes). Pass np.ascontiguousarray(a)"
    )


@contextlib.contextmanager
def refused(call: str):
    """Turn the engine's refusal of an address or a size into PyCUDA's LogicError."""
    try:
        yield
    except faults.MemoryFault as fault:
        raise _errors.logic_error(call, _errors.INVALID_ARGUMENT, str(fault)) from None


def note_host_side(
    work: _order.Work, start: int, nbytes: int, *, write: bool, blocking: bool
) -> None:
    """Note the host's side of a copy. The host waits for the copy if it is `blocking`, or if it
    writes to pageable host memory.
    """
    locked = _order.is_locked(start, start + nbytes)
    if locked:
        _order.touch_pinned(work, start, start + nbytes, write=write)
    if blocking or (write and not locked):
        _order.finished(work)
    pageable = None if locked else Hold.PAGEABLE
    _order.is_copy(work, Hold.HOST_WAITS if blocking else pageable)


def _htod(dest: object, src: object, call: str, stream: int, *, blocking: bool) -> None:
    address = address_of(dest, call, "dest")
    data = host_bytes(src, call, "src", writable=False)
    if data.nbytes:
        with refused(call):
            _require_bytes(address, src, data.nbytes, call)
            memory.write(address, data, data.nbytes)
        dtype = src.dtype if isinstance(src, np.ndarray) else None
        is_telling = dtype is not None and (dtype.name in USUAL_OF_NUMPY or dtype.names)
        memory.set_filling(address, data.nbytes, dtype if is_telling else None)
        if (entry := memory.region(address)) is not None and entry[:2] == (address, data.nbytes):
            _writers.pop(entry[2], None)
        if isinstance(src, np.ndarray) and memory.requested(address) == src.nbytes:
            memory.set_requested(address, None)  # as many as an array of the host has
        work = _order.begin(stream, call, _times.of_copy(data.nbytes))
        _order.touch_device(work, address, address + data.nbytes, write=True)
        note_host_side(work, data.ctypes.data, data.nbytes, write=False, blocking=blocking)


def _dtoh(dest: object, src: object, call: str, stream: int, *, blocking: bool) -> None:
    address = address_of(src, call, "src")
    data = host_bytes(dest, call, "dest", writable=True)
    if data.nbytes:
        with refused(call):
            memory.read(data, address, data.nbytes)
            warn_of_unwritten(address, data.nbytes, call)
        _remark_on_numbers(address, dest, call)
        work = _order.begin(stream, call, _times.of_copy(data.nbytes))
        _order.touch_device(work, address, address + data.nbytes, write=False)
        note_host_side(work, data.ctypes.data, data.nbytes, write=True, blocking=blocking)


def _dtod(dest: object, src: object, size: int, call: str, stream: int) -> None:
    target, source = address_of(dest, call, "dest"), address_of(src, call, "src")
    nbytes = whole_number(size, f"{call}: size")
    if nbytes:
        with refused(call):
            memory.copy(target, source, nbytes)
        work = _order.begin(stream, call, _times.of_bytes_on_device(2 * nbytes))
        _order.touch_device(work, source, source + nbytes, write=False)
        _order.touch_device(work, target, target + nbytes, write=True)


def note_writer(address: int, kernel: Kernel, offset: int, is_told: bool) -> None:
    """Remember the kernel that may have written an array last. offset: of its pointer among the
    parameters; is_told: whether a finding tells why it has not.
    """
    if (entry := memory.region(address)) is None:
        return
    _writers.pop(entry[2], None)
    _writers[entry[2]] = weakref.ref(kernel), offset, is_told
    if len(_writers) > _KEPT:
        del _writers[next(iter(_writers))]


def _remark_on_numbers(address: int, dest: object, call: str) -> None:
    """Remark on a host array for other numbers than those that the last kernel has written there.
    Bytes may be anything, and complex numbers are pairs of floats.
    """
    entry = memory.region(address)
    known = _writers.get(entry[2]) if entry is not None else None
    kernel = known[0]() if known is not None else None
    if known is None or kernel is None or not isinstance(dest, np.ndarray):
        return
    parameter = next(p for p in kernel.parameters if p.offset == known[1])
    written, dtype = only_dtype(parameter.layout), dest.dtype
    is_whole = written is not None and written.itemsize == parameter.element_bytes > 1
    if not is_whole or dtype.names or dtype.itemsize == 1 or dtype.kind not in "iuf":
        return
    assert written is not None
    kinds = ["integer" if one.kind in "iu" else one.kind for one in (written, dtype)]
    if written.itemsize == dtype.itemsize and kinds[0] == kinds[1]:
        return
    _findings.remark(
        f"{call} fills an array of {dtype.name}, and the last kernel that may have written there, "
        f"{kernel.name}, takes it for {written.name} ({declaration(parameter)}): the bytes of one "
        f"are other numbers as the other. Copy them to an array of dtype=np.{written.name}"
    )


def _is_left_out(address: int) -> bool:
    """Return whether it is known why the last kernel has left a part of an array unwritten: a
    finding tells, or it has written only at places that it counted.
    """
    entry = memory.region(address)
    known = _writers.get(entry[2]) if entry is not None else None
    kernel = known[0]() if known is not None else None
    if known is None or kernel is None:
        return False
    return known[2] or appends(kernel, known[1])


def _require_bytes(address: int, src: object, nbytes: int, call: str) -> None:
    """Refuse a copy into memory of as many bytes as the host array has elements."""
    place = memory.allocation(address)
    if not isinstance(src, np.ndarray) or place is None or src.itemsize == 1:
        return
    if place == (address, src.size) and src.size < nbytes:
        detail = (
            f"cannot write {quantity(nbytes, 'byte')}: the allocation has "
            f"{quantity(src.size, 'byte')}, as many as the array has elements. {BYTES_ADVICE}"
        )
        raise _errors.logic_error(call, _errors.INVALID_ARGUMENT, detail)


def warn_of_unwritten(address: int, nbytes: int, call: str) -> None:
    """Report a read of bytes that no copy and no kernel has written since their allocation."""
    first = memory.first_unwritten(address, nbytes)
    if first is None or _is_left_out(address):
        return
    missing = nbytes - memory.written(address, nbytes)
    message = (
        f"{call} reads {quantity(nbytes, 'byte')} of device memory, of which {missing:,} were "
        f"never written; the first is byte {first:,}"
    )
    cause = (
        "On a GPU they hold whatever was there before. Does the grid cover the whole output? Does "
        "every thread store its result?"
    )
    _findings.warn(_findings.of_call("unwritten", message, cause))


def memcpy_htod(dest: DeviceAllocation | int, src: np.ndarray | bytes) -> None:
    """Copy all bytes of `src` to the device. Raises LogicError if they do not fit into the
    allocation.
    """
    _htod(dest, src, "cuMemcpyHtoD", _order.NULL, blocking=True)


def memcpy_htod_async(dest: DeviceAllocation | int, src: np.ndarray | bytes, stream=None) -> None:
    """Copy like memcpy_htod, in a stream: page-locked memory must not change before the program
    synchronises the stream.
    """
    _htod(dest, src, "cuMemcpyHtoDAsync", number_of(stream, "cuMemcpyHtoDAsync"), blocking=False)


def memcpy_dtoh(dest: np.ndarray, src: DeviceAllocation | int) -> None:
    """Fill all bytes of `dest` from the device. Raises LogicError if the allocation has fewer."""
    _dtoh(dest, src, "cuMemcpyDtoH", _order.NULL, blocking=True)


def memcpy_dtoh_async(dest: np.ndarray, src: DeviceAllocation | int, stream=None) -> None:
    """Copy like memcpy_dtoh, in a stream: the host must not access page-locked memory before the
    program synchronises the stream.
    """
    _dtoh(dest, src, "cuMemcpyDtoHAsync", number_of(stream, "cuMemcpyDtoHAsync"), blocking=False)


def memcpy_dtod(dest: DeviceAllocation | int, src: DeviceAllocation | int, size: int) -> None:
    """Copy `size` bytes within the device."""
    _dtod(dest, src, size, "cuMemcpyDtoD", _order.NULL)


def memcpy_dtod_async(
    dest: DeviceAllocation | int, src: DeviceAllocation | int, size: int, stream=None
) -> None:
    """Copy like memcpy_dtod, in a stream."""
    _dtod(dest, src, size, "cuMemcpyDtoDAsync", number_of(stream, "cuMemcpyDtoDAsync"))


def memcpy_peer(dest, src, size: int, dest_context=None, src_context=None) -> None:
    """Copy `size` bytes from one context's memory to another's.

    Both contexts must be given. The copy runs after all earlier work of both devices, and before
    all later work.
    """
    _peer(dest, src, size, dest_context, src_context, "cuMemcpyPeer", None)


def memcpy_peer_async(
    dest, src, size: int, dest_context=None, src_context=None, stream=None
) -> None:
    """Copy like memcpy_peer, in a stream of either device; it waits for that stream only."""
    number = number_of(stream, "cuMemcpyPeerAsync")
    _peer(dest, src, size, dest_context, src_context, "cuMemcpyPeerAsync", number)


def _peer(dest, src, size: int, dest_context, src_context, call: str, stream: int | None) -> None:
    """Copy between contexts. stream: its number; None for a copy that waits for both devices."""
    target, source = plain_address_of(dest, call, "dest"), plain_address_of(src, call, "src")
    nbytes = whole_number(size, f"{call}: size")
    devices = []
    for context, address, role in ((dest_context, target, "dest"), (src_context, source, "src")):
        if context is None:
            detail = f"give {role}_context: PyCUDA 2026.1 ends the process if it is missing"
            raise _errors.logic_error(call, _errors.INVALID_CONTEXT, detail)
        if not isinstance(context, Context):
            given = type(context).__name__
            raise TypeError(f"{call}: {role}_context must be a pycuda.driver.Context, got {given}")
        number = context._device._number
        _devices.warn_of_place(address, number, call, role)
        devices.append(number)
    if nbytes:
        with refused(call):
            memory.copy(target, source, nbytes)
            warn_of_unwritten(source, nbytes, call)
        everything = {*devices, _devices.current()}
        work = (
            _order.begin_between(everything, call, _times.of_copy(nbytes))
            if stream is None
            else _order.begin(stream, call, _times.of_copy(nbytes))
        )
        _order.touch_device(work, source, source + nbytes, write=False)
        _order.touch_device(work, target, target + nbytes, write=True)


def to_device(bf_obj: np.ndarray | bytes) -> DeviceAllocation:
    """Return a new allocation with the bytes of `bf_obj`, in C order."""
    bf_obj = np.ascontiguousarray(bf_obj) if isinstance(bf_obj, np.ndarray) else bf_obj
    data = host_bytes(bf_obj, "to_device", "bf_obj", writable=False)
    allocation = mem_alloc(data.nbytes)
    memcpy_htod(allocation, bf_obj)
    return allocation


def from_device(devptr: DeviceAllocation | int, shape, dtype, order: Order = "C") -> np.ndarray:
    """Read a new array of this shape and dtype from the device."""
    result = np.empty(shape, dtype, order)
    memcpy_dtoh(result if order == "C" else result.T, devptr)
    return result


def from_device_like(devptr: DeviceAllocation | int, other_ary: np.ndarray) -> np.ndarray:
    """Read a new array like `other_ary` from the device."""
    result = np.empty_like(other_ary, subok=False)
    memcpy_dtoh(result if result.flags.c_contiguous else result.T, devptr)
    return result
