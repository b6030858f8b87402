"""Host memory that a GPU can reach: page-locked, aligned, registered, mapped and managed; and
arrays that notice when the program accesses it.

An array of page-locked memory is a NumPy array. Before the program reads or writes it, it checks
whether a stream may still be using the memory. It does not notice an access through memoryview(),
through np.asarray(), or through the plain array that the program registered.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
import numbers
import operator
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np

from helpers.simulator.machine import memory
from helpers.simulator.machine.faults import MemoryFault

from . import _errors, _order
from ._device import need_context
from ._memory import DeviceAllocation, DevicePointer, Order, allocate, release_later

host_alloc_flags = SimpleNamespace(PORTABLE=1, DEVICEMAP=2, WRITECOMBINED=4)
mem_host_register_flags = SimpleNamespace(PORTABLE=1, DEVICEMAP=2)
mem_attach_flags = SimpleNamespace(GLOBAL=1, HOST=2, SINGLE=4)

_READING = (
    "all", "any", "argmax", "argmin", "argpartition", "argsort", "astype", "choose", "clip",
    "compress", "conj", "conjugate",
    "copy", "cumprod", "cumsum", "dot", "dump", "dumps", "flatten", "item", "max", "mean", "min",
    "nonzero", "prod", "repeat",
    "round", "searchsorted", "std", "sum", "take", "tobytes", "tofile", "tolist", "trace", "var",
    "__array__", "__bool__",
    "__complex__",
    "__contains__", "__copy__", "__deepcopy__", "__float__", "__index__", "__int__", "__reduce__",
    "__reduce_ex__",
)
_WRITING = ("byteswap", "fill", "itemset", "partition", "put", "setfield", "sort")
_WRITING_FUNCTIONS = (np.copyto, np.put, np.place, np.putmask, np.fill_diagonal)


class HostArray(np.ndarray):
    """A NumPy array over memory that streams use; its results are plain arrays."""

    @property
    def base(self):
        """The owner of the memory, with free() or unregister(); for a view, the array that it
        shows.
        """
        base = super().base
        if type(base) is np.ndarray and isinstance(base.base, HostPointer | ManagedAllocation):
            return base.base
        return base

    def _touch(self, *, write: bool) -> None:
        if self.size:
            start, end = _extent(self)
            _order.host_touches(
                start, end, write=write, what="access to a page-locked or managed array"
            )

    def __array_ufunc__(self, ufunc, method, *inputs, out=(), **kwargs):
        for array in inputs:
            if isinstance(array, HostArray):
                array._touch(write=method == "at" and array is inputs[0])
        for array in out:
            if isinstance(array, HostArray):
                array._touch(write=True)
        if out:
            kwargs["out"] = tuple(_plain(array) for array in out)
        result = getattr(ufunc, method)(*map(_plain, inputs), **kwargs)
        return out[0] if len(out) == 1 else (out or result)

    def __array_function__(self, func, types, args, kwargs):
        for k, array in enumerate(_arrays_in((args, kwargs))):
            array._touch(
                write=array is kwargs.get("out") or (k == 0 and func in _WRITING_FUNCTIONS)
            )
        return super().__array_function__(func, types, args, kwargs)

    def __getitem__(self, index):
        """Return a view, an element or a copy. Making a view reads nothing; the others read."""
        result = super().__getitem__(index)
        if not isinstance(result, HostArray) or result.flags.owndata:
            self._part(index)._touch(write=False)
        return result

    def __setitem__(self, index, value) -> None:
        self._part(index)._touch(write=True)
        super().__setitem__(index, value)

    def __iter__(self):
        if self.ndim == 1:
            self._touch(write=False)
        return super().__iter__()

    def _part(self, index) -> HostArray:
        """Return the view that a basic index selects; the whole array for other indices."""
        entries = index if isinstance(index, tuple) else (index,)
        if not all(
            isinstance(i, int | np.integer | slice) or i is None or i is Ellipsis for i in entries
        ):
            return self
        part = super().__getitem__(entries if Ellipsis in entries else (*entries, Ellipsis))
        assert isinstance(part, HostArray), (
            "with an Ellipsis a basic index selects a view, even of one element"
        )
        return part

    def __repr__(self) -> str:
        self._touch(write=False)
        return repr(_plain(self))

    def __str__(self) -> str:
        self._touch(write=False)
        return str(_plain(self))

    def __format__(self, spec: str) -> str:
        self._touch(write=False)
        return format(_plain(self), spec)


def _extent(array: np.ndarray) -> tuple[int, int]:
    """Return the addresses of the first byte and behind the last byte of an array."""
    steps = [
        stride * (extent - 1) for stride, extent in zip(array.strides, array.shape, strict=True)
    ]
    start = array.__array_interface__["data"][0]
    return start + sum(s for s in steps if s < 0), start + sum(
        s for s in steps if s > 0
    ) + array.itemsize


def _plain(value):
    return value.view(np.ndarray) if isinstance(value, HostArray) else value


def _arrays_in(value):
    if isinstance(value, HostArray):
        yield value
    elif isinstance(value, tuple | list):
        for part in value:
            yield from _arrays_in(part)
    elif isinstance(value, dict):
        for part in value.values():
            yield from _arrays_in(part)


def _guarded(name: str, *, write: bool):
    plain = getattr(np.ndarray, name)

    def method(self, *args, **kwargs):
        self._touch(write=write)
        return plain(self, *args, **kwargs)

    method.__name__ = name
    method.__doc__ = plain.__doc__
    return method


for _names, _write in ((_READING, False), (_WRITING, True)):
    for _name in _names:
        if hasattr(np.ndarray, _name):
            setattr(HostArray, _name, _guarded(_name, write=_write))


class HostPointer:
    """Base of the owners of special host memory; they are the `.base` of the arrays that use it."""

    _name: str
    _locks = True

    def __init__(self, data: np.ndarray):
        self._data = data
        self._valid = True
        self._mapped: int | None = None
        if self._locks:
            _order.lock(data.ctypes.data, data.nbytes)

    @property
    def __array_interface__(self) -> dict:
        return self._data.__array_interface__

    def get_device_pointer(self) -> int:
        """Return the address of this memory for kernels. The array must have been made with
        host_alloc_flags.DEVICEMAP.
        """
        if self._mapped is None:
            detail = (
                "this array is not mapped into the device: make it with "
                "mem_flags=host_alloc_flags.DEVICEMAP, or register it with "
                "flags=mem_host_register_flags.DEVICEMAP"
            )
            raise _errors.logic_error("cuMemHostGetDevicePointer", _errors.INVALID_ARGUMENT, detail)
        return self._mapped

    def _release(self) -> None:
        if not self._valid:
            raise _errors.logic_error(
                f"{self._name}::free", _errors.INVALID_HANDLE, "it was released before"
            )
        self._valid = False
        start = self._data.ctypes.data
        _order.unlock(start)
        _order.forget(start, start + max(1, self._data.nbytes))

    def __del__(self) -> None:
        if getattr(self, "_valid", False):
            with contextlib.suppress(Exception):  # at the program's end, modules may be None
                self._release()


class PagelockedHostAllocation(HostPointer):
    """Host memory that a GPU copies from and to without the CPU."""

    _name = "pagelocked_host_allocation"
    _flags = 0
    _memory: _Mapped | None = None

    def free(self) -> None:
        self._release()

    def get_flags(self) -> int:
        return self._flags


class AlignedHostAllocation(HostPointer):
    """Host memory that starts at a multiple of its alignment; pageable until it is registered."""

    _name = "aligned_host_allocation"
    _locks = False

    def free(self) -> None:
        self._release()


class RegisteredHostMemory(HostPointer):
    """An array's own memory, which was pageable before."""

    _name = "registered_host_memory"

    def map(self) -> None:
        """Let kernels read and write the array's memory."""
        start, nbytes = self._data.ctypes.data, self._data.nbytes
        try:
            memory.adopt(start, nbytes)
        except MemoryFault as fault:
            raise _errors.logic_error(
                "cuMemHostRegister", _errors.INVALID_ARGUMENT, str(fault)
            ) from None
        _order.share(start, nbytes)
        self._mapped = start

    def _release(self) -> None:
        super()._release()
        if self._mapped is not None:
            memory.disown(self._mapped)

    def unregister(self) -> None:
        self._release()


HostAllocation = PagelockedHostAllocation


class _Mapped(DevicePointer):
    """Memory that host and device share. All of it counts as written, because the simulator does
    not see the host's stores.
    """

    def __init__(self, nbytes: int):
        self._nbytes = max(1, nbytes)
        self._address = allocate(self._nbytes)
        self._freed = False
        memory.place(self._address, memory.EVERYWHERE)
        memory.fill(self._address, b"\xff", self._nbytes)
        _order.share(self._address, self._nbytes)

    @property
    def __array_interface__(self) -> dict:
        return {
            "data": (self._address, False),
            "shape": (self._nbytes,),
            "typestr": "|u1",
            "version": 3,
        }

    def __del__(self) -> None:
        if not self._freed:
            self._freed = True
            release_later(self._address, self._nbytes)


class ManagedAllocation(DeviceAllocation):
    """Memory that host and device share (unified memory): a kernel takes the array, or this owner
    of it.
    """

    _shape: tuple[int, ...]
    _dtype: np.dtype
    _layout: Order

    @classmethod
    def _of(cls, shape: tuple[int, ...], dtype: np.dtype, order: Order) -> ManagedAllocation:
        self = cls._make(max(1, math.prod(shape) * dtype.itemsize))
        self._shape, self._dtype, self._layout = shape, dtype, order
        memory.place(self._address, memory.EVERYWHERE)
        memory.fill(self._address, b"\xff", self._nbytes)
        _order.share(self._address, self._nbytes)
        return self

    @property
    def __array_interface__(self) -> dict:
        strides = np.ndarray(
            self._shape, self._dtype, np.empty(self._nbytes, np.uint8), order=self._layout
        ).strides
        described = self._dtype.descr if self._dtype.names else [("", self._dtype.str)]
        return {
            "data": (self._address, False),
            "shape": self._shape,
            "strides": strides,
            "typestr": self._dtype.str,
            "descr": described,
            "version": 3,
        }

    def get_device_pointer(self) -> int:
        return self._address

    def attach(self, mem_flags: int, stream=None) -> None:
        """Change nothing; on a GPU it tells the driver which stream will use the memory."""


def _owned(owner: HostPointer | ManagedAllocation) -> np.ndarray:
    return np.asarray(owner).view(HostArray)


def shape_of(shape, *, wrong: type[Exception] = TypeError) -> tuple[int, ...]:
    """Return the extents of an int or a sequence of ints. Raises `wrong` for any other value, and
    ValueError for a negative extent.
    """
    if isinstance(shape, np.ndarray) and shape.ndim == 0:
        shape = shape.item()
    if not hasattr(shape, "__iter__"):
        if not isinstance(shape, numbers.Integral):
            raise wrong(
                f"a shape is an int or a sequence of ints, got {shape!r} ({type(shape).__name__})"
            )
        shape = (shape,)
    extents = tuple(operator.index(extent) for extent in shape)
    if any(extent < 0 for extent in extents):
        raise ValueError(f"the extents of a shape are 0 or more, and not negative: {extents}")
    return extents


def pagelocked_empty(shape, dtype, order: Order = "C", mem_flags: int = 0) -> np.ndarray:
    """Return a host array for fast and asynchronous copies; its `.base` owns the memory.

    mem_flags: flags of host_alloc_flags; with DEVICEMAP, `.base.get_device_pointer()` is an address
    for kernels.
    """
    need_context("cuMemHostAlloc")
    shape, dtype = shape_of(shape), np.dtype(dtype)
    if mem_flags & host_alloc_flags.DEVICEMAP:
        nbytes = math.prod(shape) * dtype.itemsize
        mapped = _Mapped(nbytes)
        owner = PagelockedHostAllocation(
            np.asarray(mapped)[:nbytes].view(dtype).reshape(shape, order=order)
        )
        owner._memory, owner._mapped = mapped, int(mapped)
    else:
        owner = PagelockedHostAllocation(np.empty(shape, dtype, order))
    owner._flags = mem_flags
    return _owned(owner)


def aligned_empty(shape, dtype, order: Order = "C", alignment: int = 4096) -> np.ndarray:
    """Return a host array that starts at a multiple of `alignment` bytes, a power of two."""
    need_context("aligned_malloc")
    if alignment <= 0 or alignment & (alignment - 1):
        detail = f"alignment is {alignment}: give a power of two, such as 4096"
        raise _errors.logic_error("aligned_malloc", _errors.INVALID_ARGUMENT, detail)
    dtype, shape = np.dtype(dtype), shape_of(shape)
    nbytes = math.prod(shape) * dtype.itemsize
    raw = np.empty(nbytes + alignment, np.uint8)
    start = -raw.ctypes.data % alignment
    return np.asarray(
        AlignedHostAllocation(raw[start : start + nbytes].view(dtype).reshape(shape, order=order))
    )


def managed_empty(shape, dtype, order: Order = "C", mem_flags: int = 0) -> np.ndarray:
    """Return an array that host and kernels share; the host must synchronise before it reads a
    kernel's results.

    mem_flags: mem_attach_flags.GLOBAL or mem_attach_flags.HOST.
    """
    need_context("cuMemAllocManaged")
    if mem_flags not in (mem_attach_flags.GLOBAL, mem_attach_flags.HOST):
        detail = "mem_flags must be mem_attach_flags.GLOBAL or mem_attach_flags.HOST"
        raise _errors.logic_error("cuMemAllocManaged", _errors.INVALID_ARGUMENT, detail)
    return _owned(ManagedAllocation._of(shape_of(shape), np.dtype(dtype), order))


def register_host_memory(ary: np.ndarray, flags: int = 0) -> np.ndarray:
    """Page-lock the memory of `ary` and return it; `.base.unregister()` ends that.

    flags: of mem_host_register_flags; with DEVICEMAP, `.base.get_device_pointer()` is an address
    for kernels.
    """
    need_context("cuMemHostRegister")
    if not isinstance(ary, np.ndarray):
        detail = f"only a NumPy array can be registered, got a {type(ary).__name__}"
        raise _errors.logic_error("register_host_memory", _errors.INVALID_ARGUMENT, detail)
    if not ary.flags.c_contiguous:
        detail = "the array is not contiguous: register np.ascontiguousarray(a)"
        raise _errors.logic_error("register_host_memory", _errors.INVALID_ARGUMENT, detail)
    owner = RegisteredHostMemory(ary)
    if flags & mem_host_register_flags.DEVICEMAP and ary.nbytes:
        owner.map()
    return _owned(owner)


def _order_of(array: np.ndarray) -> str:
    if array.flags.c_contiguous:
        return "C"
    if array.flags.f_contiguous:
        return "F"
    raise ValueError(
        "the array is not contiguous, in C order or in Fortran order: pass np.ascontiguousarray(a)"
    )


def _zeroed(empty: Callable) -> Callable:
    """Return a function that makes the arrays of `empty`, filled with zeros."""

    @functools.wraps(empty)
    def zeros(*args, **kwargs):
        result = empty(*args, **kwargs)
        result.fill(0)
        return result

    zeros.__name__ = zeros.__qualname__ = empty.__name__.replace("empty", "zeros")
    zeros.__doc__ = f"As {empty.__name__}, filled with zeros."
    return zeros


def _like(make: Callable) -> Callable:
    """Return a function that calls `make` with the shape, dtype and order of an array."""

    def like(array: np.ndarray, *args, **kwargs) -> np.ndarray:
        return make(array.shape, array.dtype, _order_of(array), *args, **kwargs)

    like.__name__ = like.__qualname__ = f"{make.__name__}_like"
    like.__doc__ = f"As {make.__name__}, with the shape, dtype and order of `array`."
    array, *_ = inspect.signature(like).parameters.values()
    *_, last = inspect.signature(make).parameters.values()  # mem_flags, or alignment
    vars(like)["__signature__"] = inspect.Signature([array, last])
    return like


pagelocked_zeros = _zeroed(pagelocked_empty)
pagelocked_empty_like = _like(pagelocked_empty)
pagelocked_zeros_like = _like(pagelocked_zeros)
aligned_zeros = _zeroed(aligned_empty)
aligned_empty_like = _like(aligned_empty)
aligned_zeros_like = _like(aligned_zeros)
managed_zeros = _zeroed(managed_empty)
managed_empty_like = _like(managed_empty)
managed_zeros_like = _like(managed_zeros)
