"""Device memory, page-locked host memory, copies and memset, with PyCUDA's names and refusals."""

from __future__ import annotations

import builtins
import contextlib
import math

import numpy as np

from helpers.simulator import runtime

from . import _errors
from ._device import need_context
from ._errors import LogicError, MemoryError
from ._stream import Stream


def _whole_number(value: object, what: str) -> int:
    """`value` as PyCUDA's C++ side takes it: a Python int that is not negative. np.int64 is refused there too."""
    if not isinstance(value, int):
        hint = f": pass int({value!r})" if isinstance(value, np.integer | float) else ""
        raise TypeError(f"{what} must be a Python int, was given {value!r} ({type(value).__name__}){hint}")
    if value < 0:
        raise OverflowError(f"{what} must not be negative, was given {value}")
    return value


class DeviceAllocation:
    """Bytes on the device, freed by free() or when the last reference goes. int() gives its address."""

    def __init__(self) -> None:
        raise builtins.RuntimeError("make a DeviceAllocation with pycuda.driver.mem_alloc(bytes)")

    @classmethod
    def _make(cls, nbytes: int) -> DeviceAllocation:
        self = object.__new__(cls)
        self._freed = True  # until allocate() has succeeded: __del__ reads it
        self._address = _allocate(nbytes)
        self._nbytes = nbytes
        self._freed = False
        return self

    def free(self) -> None:
        if self._freed:
            detail = "this allocation was freed before"
            raise LogicError(_errors.message("device_allocation::free", _errors.INVALID_HANDLE, detail))
        self._freed = True
        runtime.memory.free(self._address)

    def __int__(self) -> int:
        return self._address

    __index__ = __int__

    def __repr__(self) -> str:
        state = "freed" if self._freed else f"{self._nbytes:,} bytes"
        return f"<DeviceAllocation at {self._address:#x}, {state}>"

    def __del__(self) -> None:
        if not getattr(self, "_freed", True):
            with contextlib.suppress(Exception):  # the interpreter may be half gone
                self.free()


def _allocate(nbytes: int) -> int:
    try:
        return runtime.memory.allocate(nbytes)
    except runtime.OutOfMemory as error:
        raise MemoryError(_errors.message("cuMemAlloc", _errors.OUT_OF_MEMORY, str(error))) from error


def mem_alloc(bytes: int) -> DeviceAllocation:
    """Device memory of that many bytes, poisoned, not zeroed. MemoryError where the device has no room."""
    nbytes = _whole_number(bytes, "mem_alloc: the size")
    need_context("cuMemAlloc")
    if nbytes == 0:
        raise LogicError(_errors.message("cuMemAlloc", _errors.INVALID_ARGUMENT, "an allocation needs at least 1 byte"))
    return DeviceAllocation._make(nbytes)


def mem_alloc_like(ary: np.ndarray) -> DeviceAllocation:
    """Device memory for as many bytes as `ary` has."""
    return mem_alloc(ary.nbytes)


def mem_get_info() -> tuple[int, int]:
    """(free, total) bytes of device memory."""
    need_context("cuMemGetInfo")
    return runtime.memory.total - runtime.memory.used(), runtime.memory.total


def mem_get_address_range(ptr: DeviceAllocation | int) -> tuple[int, int]:
    """(start, bytes) of the allocation that `ptr` points into."""
    found = runtime.memory.allocation(address_of(ptr, "cuMemGetAddressRange", "ptr"))
    if found is None:
        detail = "this address is in no live allocation"
        raise LogicError(_errors.message("cuMemGetAddressRange", _errors.NOT_FOUND, detail))
    return found


def address_of(pointer: object, call: str, role: str) -> int:
    """The address behind what PyCUDA takes as a device pointer: a live allocation or a Python int."""
    need_context(call)
    if isinstance(pointer, DeviceAllocation):
        if pointer._freed:
            detail = f"{role} is an allocation that was freed (use after free)"
            raise LogicError(_errors.message(call, _errors.INVALID_ARGUMENT, detail))
        return int(pointer)
    if isinstance(pointer, int):
        return _whole_number(pointer, f"{call}: {role}")
    hint = ": pass its .gpudata" if hasattr(pointer, "gpudata") else ""
    if isinstance(pointer, np.ndarray):
        hint = ": this is host memory; are the arguments in the wrong order?"
    given = type(pointer).__name__
    raise TypeError(f"{call}: {role} must be a DeviceAllocation or an address (int), was given {given}{hint}")


def host_bytes(host: object, call: str, role: str, *, writable: bool) -> np.ndarray:
    """The bytes of a host array or buffer, uint8, shape (nbytes,), sharing its memory.

    Raises ValueError for an array that is not C-contiguous or, where it is written to, is read-only; TypeError for what
    has no buffer. PyCUDA refuses strided arrays too; it copies Fortran-ordered ones byte by byte, which a kernel then
    reads transposed without a word.
    """
    if not isinstance(host, np.ndarray):
        return _buffer_bytes(host, call, role, writable)
    if not host.flags.c_contiguous:
        raise ValueError(f"{call}: {role} {_layout(host)}")
    if writable and not host.flags.writeable:
        raise ValueError(f"{call}: {role} is read-only: pass an array that can be written to, such as a copy()")
    return host.reshape(-1).view(np.uint8)


def _buffer_bytes(host: object, call: str, role: str, writable: bool) -> np.ndarray:
    try:
        view = np.frombuffer(host, np.uint8) if memoryview(host).nbytes else np.empty(0, np.uint8)
    except TypeError:
        given = type(host).__name__
        raise TypeError(f"{call}: {role} must be a NumPy array or a buffer of bytes, was given {given}") from None
    if writable and not view.flags.writeable:
        raise ValueError(f"{call}: {role} is read-only ({type(host).__name__}): pass a NumPy array")
    return view


def _layout(array: np.ndarray) -> str:
    if array.flags.f_contiguous:
        return (
            f"is in Fortran order (shape {array.shape}): a kernel would see it transposed. Pass "
            "np.ascontiguousarray(a), or a.T to copy the same bytes as they lie"
        )
    return (
        f"is not contiguous: it is a strided view (shape {array.shape}, strides {array.strides} bytes). Pass "
        "np.ascontiguousarray(a)"
    )


@contextlib.contextmanager
def _refused(call: str):
    """Turns the engine's refusal of an address or a size into PyCUDA's LogicError."""
    try:
        yield
    except runtime.MemoryFault as fault:
        raise LogicError(_errors.message(call, _errors.INVALID_ARGUMENT, str(fault))) from fault


def _check_stream(stream: object, call: str) -> None:
    if stream is not None and not isinstance(stream, Stream):
        raise TypeError(f"{call}: stream must be a pycuda.driver.Stream or None, was given {type(stream).__name__}")


def _htod(dest: object, src: object, call: str) -> None:
    address = address_of(dest, call, "dest")
    data = host_bytes(src, call, "src", writable=False)
    if data.nbytes:
        with _refused(call):
            runtime.memory.write(address, data, data.nbytes)


def _dtoh(dest: object, src: object, call: str) -> None:
    address = address_of(src, call, "src")
    data = host_bytes(dest, call, "dest", writable=True)
    if data.nbytes:
        with _refused(call):
            runtime.memory.read(data, address, data.nbytes)


def _dtod(dest: object, src: object, size: int, call: str) -> None:
    target, source = address_of(dest, call, "dest"), address_of(src, call, "src")
    nbytes = _whole_number(size, f"{call}: size")
    if nbytes:
        with _refused(call):
            runtime.memory.copy(target, source, nbytes)


def memcpy_htod(dest: DeviceAllocation | int, src: np.ndarray | bytes) -> None:
    """Copies all bytes of `src` to the device; LogicError where they do not fit into the allocation."""
    _htod(dest, src, "cuMemcpyHtoD")


def memcpy_htod_async(dest: DeviceAllocation | int, src: np.ndarray | bytes, stream=None) -> None:
    """As memcpy_htod; the simulator has finished the copy when the call returns."""
    _check_stream(stream, "cuMemcpyHtoDAsync")
    _htod(dest, src, "cuMemcpyHtoDAsync")


def memcpy_dtoh(dest: np.ndarray, src: DeviceAllocation | int) -> None:
    """Fills all bytes of `dest` from the device; LogicError where the allocation holds fewer."""
    _dtoh(dest, src, "cuMemcpyDtoH")


def memcpy_dtoh_async(dest: np.ndarray, src: DeviceAllocation | int, stream=None) -> None:
    """As memcpy_dtoh; the simulator has finished the copy when the call returns."""
    _check_stream(stream, "cuMemcpyDtoHAsync")
    _dtoh(dest, src, "cuMemcpyDtoHAsync")


def memcpy_dtod(dest: DeviceAllocation | int, src: DeviceAllocation | int, size: int) -> None:
    """Copies `size` bytes within the device."""
    _dtod(dest, src, size, "cuMemcpyDtoD")


def memcpy_dtod_async(dest: DeviceAllocation | int, src: DeviceAllocation | int, size: int, stream=None) -> None:
    """As memcpy_dtod; the simulator has finished the copy when the call returns."""
    _check_stream(stream, "cuMemcpyDtoDAsync")
    _dtod(dest, src, size, "cuMemcpyDtoDAsync")


def _memset(dest: object, data: int, size: int, width: int, call: str) -> None:
    address = address_of(dest, call, "dest")
    value, count = _whole_number(data, f"{call}: data"), _whole_number(size, f"{call}: size")
    if value >= 1 << 8 * width:
        raise OverflowError(f"{call}: data must fit into {8 * width} bits, was given {value}")
    if address % width:
        detail = f"the address {address:#x} is not a multiple of {width}"
        raise LogicError(_errors.message(call, _errors.INVALID_ARGUMENT, detail))
    if count:
        with _refused(call):
            runtime.memory.fill(address, value.to_bytes(width, "little"), count)


def memset_d8(dest: DeviceAllocation | int, data: int, size: int) -> None:
    """Sets `size` bytes to `data`."""
    _memset(dest, data, size, 1, "cuMemsetD8")


def memset_d16(dest: DeviceAllocation | int, data: int, size: int) -> None:
    """Sets `size` 16-bit words to `data`."""
    _memset(dest, data, size, 2, "cuMemsetD16")


def memset_d32(dest: DeviceAllocation | int, data: int, size: int) -> None:
    """Sets `size` 32-bit words to `data`."""
    _memset(dest, data, size, 4, "cuMemsetD32")


def memset_d8_async(dest: DeviceAllocation | int, data: int, size: int, stream=None) -> None:
    """As memset_d8."""
    _check_stream(stream, "cuMemsetD8Async")
    _memset(dest, data, size, 1, "cuMemsetD8Async")


def memset_d16_async(dest: DeviceAllocation | int, data: int, size: int, stream=None) -> None:
    """As memset_d16."""
    _check_stream(stream, "cuMemsetD16Async")
    _memset(dest, data, size, 2, "cuMemsetD16Async")


def memset_d32_async(dest: DeviceAllocation | int, data: int, size: int, stream=None) -> None:
    """As memset_d32."""
    _check_stream(stream, "cuMemsetD32Async")
    _memset(dest, data, size, 4, "cuMemsetD32Async")


def to_device(bf_obj: np.ndarray | bytes) -> DeviceAllocation:
    """A new allocation that holds the bytes of `bf_obj`."""
    data = host_bytes(bf_obj, "to_device", "bf_obj", writable=False)
    allocation = mem_alloc(data.nbytes)
    memcpy_htod(allocation, data)
    return allocation


def from_device(devptr: DeviceAllocation | int, shape, dtype, order: str = "C") -> np.ndarray:
    """A new array of that shape and dtype, read from the device."""
    result = np.empty(shape, dtype, order)
    memcpy_dtoh(result if order == "C" else result.T, devptr)
    return result


def from_device_like(devptr: DeviceAllocation | int, other_ary: np.ndarray) -> np.ndarray:
    """A new array like `other_ary`, read from the device."""
    result = np.empty_like(other_ary)
    memcpy_dtoh(result if result.flags.c_contiguous else result.T, devptr)
    return result


class HostPointer:
    """Base of the owners of special host memory; they are the `.base` of the arrays that use it."""

    _name: str

    def __init__(self, data: np.ndarray):
        self._data = data
        self._valid = True

    @property
    def __array_interface__(self) -> dict:
        return self._data.__array_interface__

    def get_device_pointer(self) -> int:
        detail = "the simulator does not map host memory into the device"
        raise LogicError(_errors.message("cuMemHostGetDevicePointer", _errors.NOT_SUPPORTED, detail))

    def _release(self) -> None:
        if not self._valid:
            raise LogicError(_errors.message(f"{self._name}::free", _errors.INVALID_HANDLE, "it was released before"))
        self._valid = False


class PagelockedHostAllocation(HostPointer):
    """Host memory that a GPU could copy from without the CPU; in the simulator, plain memory."""

    _name = "pagelocked_host_allocation"
    _flags = 0

    def free(self) -> None:
        self._release()

    def get_flags(self) -> int:
        return self._flags


class AlignedHostAllocation(HostPointer):
    """Host memory that starts at a multiple of its alignment."""

    _name = "aligned_host_allocation"

    def free(self) -> None:
        self._release()


class RegisteredHostMemory(HostPointer):
    """An array's own memory, page-locked after the fact."""

    _name = "registered_host_memory"

    def unregister(self) -> None:
        self._release()


HostAllocation = PagelockedHostAllocation


def _owned(owner: HostPointer) -> np.ndarray:
    return np.asarray(owner)


def pagelocked_empty(shape, dtype, order: str = "C", mem_flags: int = 0) -> np.ndarray:
    """A host array for fast and asynchronous copies; its `.base` owns the memory."""
    need_context("cuMemHostAlloc")
    owner = PagelockedHostAllocation(np.empty(shape, dtype, order))
    owner._flags = mem_flags
    return _owned(owner)


def aligned_empty(shape, dtype, order: str = "C", alignment: int = 4096) -> np.ndarray:
    """A host array that starts at a multiple of `alignment` bytes, a power of two."""
    need_context("aligned_malloc")
    if alignment <= 0 or alignment & (alignment - 1):
        detail = "alignment must be a power of two"
        raise LogicError(_errors.message("aligned_malloc", _errors.INVALID_ARGUMENT, detail))
    dtype = np.dtype(dtype)
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    nbytes = math.prod(shape) * dtype.itemsize
    raw = np.empty(nbytes + alignment, np.uint8)
    start = -raw.ctypes.data % alignment
    return _owned(AlignedHostAllocation(raw[start : start + nbytes].view(dtype).reshape(shape, order=order)))


def register_host_memory(ary: np.ndarray, flags: int = 0) -> np.ndarray:
    """The same memory as `ary`, page-locked; `.base.unregister()` ends that."""
    need_context("cuMemHostRegister")
    if not isinstance(ary, np.ndarray):
        detail = "ary argument is not a numpy array"
        raise LogicError(_errors.message("register_host_memory", _errors.INVALID_ARGUMENT, detail))
    if not ary.flags.c_contiguous:
        detail = "ary argument is not contiguous"
        raise LogicError(_errors.message("register_host_memory", _errors.INVALID_ARGUMENT, detail))
    return _owned(RegisteredHostMemory(ary))


def _order(array: np.ndarray) -> str:
    if array.flags.c_contiguous:
        return "C"
    if array.flags.f_contiguous:
        return "F"
    raise ValueError("could not detect array order: the array is not contiguous, pass np.ascontiguousarray(a)")


def pagelocked_zeros(shape, dtype, order: str = "C", mem_flags: int = 0) -> np.ndarray:
    """As pagelocked_empty, zeroed."""
    result = pagelocked_empty(shape, dtype, order, mem_flags)
    result.fill(0)
    return result


def pagelocked_empty_like(array: np.ndarray, mem_flags: int = 0) -> np.ndarray:
    """As pagelocked_empty, of the shape, dtype and order of `array`."""
    return pagelocked_empty(array.shape, array.dtype, _order(array), mem_flags)


def pagelocked_zeros_like(array: np.ndarray, mem_flags: int = 0) -> np.ndarray:
    """As pagelocked_empty_like, zeroed."""
    return pagelocked_zeros(array.shape, array.dtype, _order(array), mem_flags)


def aligned_zeros(shape, dtype, order: str = "C", alignment: int = 4096) -> np.ndarray:
    """As aligned_empty, zeroed."""
    result = aligned_empty(shape, dtype, order, alignment)
    result.fill(0)
    return result


def aligned_empty_like(array: np.ndarray, alignment: int = 4096) -> np.ndarray:
    """As aligned_empty, of the shape, dtype and order of `array`."""
    return aligned_empty(array.shape, array.dtype, _order(array), alignment)


def aligned_zeros_like(array: np.ndarray, alignment: int = 4096) -> np.ndarray:
    """As aligned_empty_like, zeroed."""
    return aligned_zeros(array.shape, array.dtype, _order(array), alignment)
