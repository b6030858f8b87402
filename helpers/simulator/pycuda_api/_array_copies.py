"""Copies between arrays on the device and on the host, with gaps or without, by PyCUDA's rules."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import as_strided

from helpers.simulator.machine import memory

from . import _findings, _memcpy, _order
from ._array_layout import DeviceArray, address_of_array, order_in_memory
from ._stream import Stream, number_of
from ._times import of_bytes_on_device, of_copy


def copy(target, source, *, asynchronous: bool = False, stream: Stream | None = None) -> None:
    """Copy between GPUArrays and NumPy arrays of the same shape and dtype; PyCUDA uses Memcpy2D
    and Memcpy3D for it.
    """
    for array, role in ((source, "source"), (target, "target")):
        if not isinstance(array, DeviceArray | np.ndarray):
            raise TypeError(
                f"the {role} of a copy is a GPUArray or a NumPy array, got a {type(array).__name__}"
            )
    if source.shape != target.shape:
        raise ValueError(
            f"a copy needs two arrays of the same shape, got {source.shape} and {target.shape}"
        )
    if source.dtype != target.dtype:
        raise TypeError(
            f"a copy needs two arrays of the same dtype, got {source.dtype} and {target.dtype}"
        )
    if isinstance(target, np.ndarray) and not target.flags.writeable:
        raise ValueError("the target of a copy is read-only: pass an array that can be written to")
    call = "GPUArray copy"
    number = number_of(stream, call) if asynchronous else _order.NULL
    as_it_lies = _forc(source) and _forc(target)
    if as_it_lies and order_in_memory(source) != order_in_memory(target):
        _findings.remark(
            "an array in C order and one in Fortran order: PyCUDA copies the bytes as they lie, "
            "which transposes the elements"
        )
    if not as_it_lies:
        _check_gaps(source, target)
    of_host = any(isinstance(one, np.ndarray) for one in (source, target))
    least = of_copy(source.nbytes) if of_host else of_bytes_on_device(2 * source.nbytes)
    work = _order.begin(number, call, least)
    values = _fetch(source, work, call, flat=as_it_lies, blocking=not asynchronous)
    _store(target, values, work, flat=as_it_lies, blocking=not asynchronous)


def _forc(array) -> bool:
    """Return whether an array is contiguous in some order of its axes. PyCUDA accepts only C and
    Fortran order.
    """
    return array.flags.forc


def _check_gaps(source, target) -> None:
    """Raise ValueError for arrays that PyCUDA cannot copy: with other orders of the axes, reversed
    views, and gaps along more than two axes.
    """
    axes = sorted(
        (k for k, extent in enumerate(source.shape) if extent > 1), key=lambda k: source.strides[k]
    )
    pairs = [(source.strides[k], target.strides[k], source.shape[k]) for k in axes]
    if any(stride < 0 for pair in pairs for stride in pair[:2]):
        raise OverflowError(
            "can't convert negative value to unsigned: PyCUDA cannot copy a reversed view; use "
            ".reverse()"
        )
    item = source.dtype.itemsize
    merged = [] if pairs and pairs[0][:2] == (item, item) else [(0, 0, 1)]
    for s, t, extent in pairs:
        if merged and t < merged[-1][1]:
            raise ValueError("a copy needs two arrays whose axes lie in the same order in memory")
        if merged and merged[-1][2] * merged[-1][0] == s and merged[-1][2] * merged[-1][1] == t:
            merged[-1] = (merged[-1][0], merged[-1][1], merged[-1][2] * extent)
        else:
            merged.append((s, t, extent))
    if len(merged) > 3:
        raise ValueError(
            f"PyCUDA copies gaps along at most 2 axes: this array has shape {source.shape}, "
            f"strides {source.strides}"
        )
    for side, name in ((0, "source"), (1, "target")):
        if len(merged) == 3 and merged[2][side] % merged[1][side]:
            strides = f"{merged[2][side]} and {merged[1][side]}"
            raise RuntimeError(
                f"PyCUDA copies a {name} whose largest stride is a multiple of the next: these are "
                f"{strides}"
            )


def _reach(array) -> tuple[int, int]:
    """Return the bytes from the first element down to the lowest one, and the bytes from the
    lowest one to the end of the highest.
    """
    steps = [
        stride * (extent - 1) for stride, extent in zip(array.strides, array.shape, strict=True)
    ]
    below = -sum(step for step in steps if step < 0)
    return below, below + sum(step for step in steps if step > 0) + array.dtype.itemsize


def _fetch(source, work: _order.Work, call: str, *, flat: bool, blocking: bool) -> np.ndarray:
    """Return the elements of an array, in memory order (flat) or in its shape."""
    if isinstance(source, DeviceArray):
        address = address_of_array(source, call)
        below, nbytes = _reach(source)
        raw = np.empty(nbytes, np.uint8)
        with _memcpy.refused(call):
            memory.read(raw, address - below, nbytes)
            if nbytes == source.nbytes:
                _memcpy.warn_of_unwritten(address - below, nbytes, call)
        _order.touch_device(work, address - below, address - below + nbytes, write=False)
        return raw.view(source.dtype) if flat else _seen_in(raw, source, below)
    host = source.view(np.ndarray)
    values = _as_it_lies(host) if flat else host.copy()
    _note_host_side(host, work, write=False, blocking=blocking)
    return values


def _note_host_side(host: np.ndarray, work: _order.Work, *, write: bool, blocking: bool) -> None:
    below, nbytes = _reach(host)
    _memcpy.note_host_side(
        work, host.__array_interface__["data"][0] - below, nbytes, write=write, blocking=blocking
    )


def _store(target, values: np.ndarray, work: _order.Work, *, flat: bool, blocking: bool) -> None:
    if isinstance(target, np.ndarray):
        host = target.view(np.ndarray)
        if flat:
            _as_it_lies(host)[...] = values
        else:
            host[...] = values
        _note_host_side(host, work, write=True, blocking=blocking)
        return
    address = address_of_array(target, "GPUArray copy")
    below, nbytes = _reach(target)
    with _memcpy.refused("GPUArray copy"):
        if flat:
            memory.write(address, np.ascontiguousarray(values), values.nbytes)
        else:
            _store_strided(target, values, address)
    _order.touch_device(work, address - below, address - below + nbytes, write=True)


def _store_strided(target: DeviceArray, values: np.ndarray, address: int) -> None:
    """Write all bytes at once, or runs of neighbouring elements. The bytes between the runs stay
    unchanged, also if they are unwritten.
    """
    below, nbytes = _reach(target)
    if nbytes == target.nbytes:
        raw = np.empty(nbytes, np.uint8)
        _seen_in(raw, target, below)[...] = values
        memory.write(address - below, raw, nbytes)
        return
    inner = (
        target.ndim - 1 if target.ndim and target.strides[-1] == target.itemsize else target.ndim
    )
    for index in np.ndindex(*target.shape[:inner]):
        run = np.ascontiguousarray(values[index])
        offset = sum(k * stride for k, stride in zip(index, target.strides, strict=False))
        memory.write(address + offset, run, run.nbytes)


def _seen_in(raw: np.ndarray, array: DeviceArray, below: int) -> np.ndarray:
    first = np.ndarray((), array.dtype, raw, offset=below)
    return as_strided(first, array.shape, array.strides)


def _as_it_lies(host: np.ndarray) -> np.ndarray:
    """Return the elements of a host array without gaps: a flat view, in memory order."""
    return host.reshape(-1) if host.flags.c_contiguous else host.T.reshape(-1)
