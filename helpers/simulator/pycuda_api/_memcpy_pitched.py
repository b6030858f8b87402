"""Copies of rows with a pitch: Memcpy2D and Memcpy3D."""

from __future__ import annotations

import math

import numpy as np
from numpy.lib.stride_tricks import as_strided

from helpers.quantities import quantity
from helpers.simulator.machine import memory

from . import _errors, _order, _times
from ._errors import LogicError
from ._memcpy import host_bytes, note_host_side, refused, warn_of_unwritten
from ._memory import address_of, whole_number
from ._stream import Stream, number_of

_FIELDS = ("x_in_bytes", "y", "z", "lod", "pitch", "height")


class _Side:
    """A source or destination: bytes of the host (uint8, flat), or an address on the device."""

    def __init__(self, host: np.ndarray | None = None, device: object = None):
        self.host = host
        self.device = device


class _Rows:
    """Base of Memcpy2D and Memcpy3D: source, destination and extents. Every number counts bytes or
    rows.
    """

    _call = ""

    def __init__(self) -> None:
        self.width_in_bytes = self.height = 0
        for side in ("src", "dst"):
            for name in _FIELDS:
                setattr(self, f"{side}_{name}", 0)
        self.depth = 1
        self._source: _Side | None = None
        self._target: _Side | None = None

    def set_src_host(self, buffer: object) -> None:
        self._source = _Side(host=host_bytes(buffer, self._call, "src", writable=False))

    def set_dst_host(self, buffer: object) -> None:
        self._target = _Side(host=host_bytes(buffer, self._call, "dst", writable=True))

    def set_src_device(self, pointer: object) -> None:
        self._source = _Side(device=pointer)

    def set_dst_device(self, pointer: object) -> None:
        self._target = _Side(device=pointer)

    set_src_unified = set_src_device
    set_dst_unified = set_dst_device

    def set_src_array(self, array: object) -> None:
        raise _no_arrays(self._call)

    set_dst_array = set_src_array

    def __setattr__(self, name: str, value: object) -> None:
        if not name.startswith("_"):
            value = whole_number(
                int(value) if isinstance(value, np.integer) else value, f"{self._call}: {name}"
            )
        object.__setattr__(self, name, value)

    def _run(self, stream: int, *, blocking: bool) -> None:
        if self._source is None or self._target is None:
            detail = "set a source and a destination first: set_src_host, set_dst_device ..."
            raise _errors.logic_error(self._call, _errors.INVALID_ARGUMENT, detail)
        if not self.width_in_bytes * self.height * self.depth:
            return
        source, target = self._block("src", self._source), self._block("dst", self._target)
        if target.address is None:
            target.view[...] = source.view
        else:
            self._store(source.view, target, target.address)
        both = source.address is not None and target.address is not None
        moved = self.width_in_bytes * self.height * self.depth
        least = _times.of_bytes_on_device(2 * moved) if both else _times.of_copy(moved)
        work = _order.begin(stream, self._call, least)
        for block, write in ((source, False), (target, True)):
            if block.address is not None:
                _order.touch_device(
                    work, block.address, block.address + block.raw.nbytes, write=write
                )
            else:
                note_host_side(
                    work, block.raw.ctypes.data, block.raw.nbytes, write=write, blocking=blocking
                )
        if blocking and None in (source.address, target.address):
            _order.finished(work)

    def _store(self, planes: np.ndarray, target: _Block, address: int) -> None:
        """Write the rows; if there are gaps between them, one by one, so that the gaps stay
        unchanged.
        """
        steps = target.view.strides
        with refused(self._call):
            if steps[1] == self.width_in_bytes and steps[0] == steps[1] * self.height:
                memory.write(address, np.ascontiguousarray(planes), planes.size)
                return
            for z, plane in enumerate(planes):
                for y, row in enumerate(plane):
                    memory.write(
                        address + z * steps[0] + y * steps[1], np.ascontiguousarray(row), row.size
                    )

    def _block(self, side: str, place: _Side) -> _Block:
        pitch = getattr(self, f"{side}_pitch") or self.width_in_bytes
        rows = getattr(self, f"{side}_height") or self.height
        if pitch < self.width_in_bytes and self.height > 1:
            detail = (
                f"{side}_pitch is {quantity(pitch, 'byte')}, less than width_in_bytes "
                f"({self.width_in_bytes:,})"
            )
            raise _errors.logic_error(self._call, _errors.INVALID_ARGUMENT, detail)
        at = [getattr(self, f"{side}_{name}") for name in ("x_in_bytes", "y", "z")]
        offset = at[0] + pitch * (at[1] + rows * at[2])
        strides = (pitch * rows, pitch, 1)
        shape = (self.depth, self.height, self.width_in_bytes)
        nbytes = sum(step * (extent - 1) for step, extent in zip(strides, shape, strict=True)) + 1
        if place.host is not None:
            if offset + nbytes > place.host.nbytes:
                detail = (
                    f"{side} has {quantity(place.host.nbytes, 'byte')}, the copy reaches byte "
                    f"{offset + nbytes:,}"
                )
                raise _errors.logic_error(self._call, _errors.INVALID_ARGUMENT, detail)
            raw, address = place.host[offset : offset + nbytes], None
        else:
            address = address_of(place.device, self._call, side) + offset
            raw = np.empty(nbytes, np.uint8)
            with refused(self._call):
                memory.read(raw, address, nbytes)
                if side == "src":
                    self._check_written(address, strides, shape)
        return _Block(raw, as_strided(raw, shape, strides), address)

    def _check_written(
        self, address: int, strides: tuple[int, ...], shape: tuple[int, ...]
    ) -> None:
        if math.prod(shape) == strides[0] * shape[0]:
            warn_of_unwritten(address, math.prod(shape), self._call)


class _Block:
    """The bytes from the first to the last byte of a copy, its rows as a view of them, and their
    device address or None.
    """

    def __init__(self, raw: np.ndarray, view: np.ndarray, address: int | None):
        self.raw = raw
        self.view = view
        self.address = address


class Memcpy2D(_Rows):
    """Copies `height` rows of `width_in_bytes` bytes, `src_pitch` and `dst_pitch` bytes apart.

    Fill in the fields, name the places with set_src_host, set_dst_device ..., then call it:
    copy(aligned=True) returns when the copy is done, copy(stream) copies in a stream.
    """

    _call = "cuMemcpy2D"

    def __call__(self, aligned: bool | Stream = False) -> None:
        if isinstance(aligned, Stream):
            self._run(number_of(aligned, "cuMemcpy2DAsync"), blocking=False)
        elif isinstance(aligned, bool | int):
            self._run(_order.NULL, blocking=True)
        else:
            raise TypeError(
                f"Memcpy2D takes aligned=True or a Stream, got {type(aligned).__name__}"
            )


class Memcpy3D(_Rows):
    """Copies `depth` planes of `height` rows of `width_in_bytes` bytes; planes are `src_height` and
    `dst_height` rows apart.
    """

    _call = "cuMemcpy3D"

    def __call__(self, stream: Stream | None = None) -> None:
        self._run(number_of(stream, "cuMemcpy3DAsync"), blocking=stream is None)


def _no_arrays(call: str) -> LogicError:
    return _errors.logic_error(
        call, _errors.NOT_SUPPORTED, "the simulator has no CUDA arrays (textures, surfaces)"
    )
