"""Memset with PyCUDA's names: memset_d8, memset_d16 and memset_d32, those of rows with a pitch
(memset_d2d8 ...), and each of them in a stream (..._async).
"""

from __future__ import annotations

from collections.abc import Callable

from helpers.quantities import quantity
from helpers.simulator.machine import memory

from . import _errors, _order, _times
from ._memcpy import refused
from ._memory import DeviceAllocation, address_of, whole_number
from ._stream import Stream, number_of


def _set(
    dest: object, data: int, word: int, call: str, stream: Stream | None = None, *,
    pitch: int = 0, width: int, height: int = 1, name_of_width: str = "width",
) -> None:
    """Set `height` rows of `width` words of `word` bytes, which begin `pitch` bytes apart."""
    number = number_of(stream, call)
    address = address_of(dest, call, "dest")
    value = whole_number(data, f"{call}: data")
    if value >= 1 << 8 * word:
        raise OverflowError(f"{call}: data must fit into {8 * word} bits, got {value}")
    for name, count in (("pitch", pitch), (name_of_width, width), ("height", height)):
        whole_number(count, f"{call}: {name}")
    if address % word:
        detail = f"the address {address:#x} is not a multiple of {word}"
        raise _errors.logic_error(call, _errors.INVALID_ARGUMENT, detail)
    if pitch < width * word and height > 1:
        detail = (
            f"the pitch is {quantity(pitch, 'byte')}, a row of {quantity(width, 'element')} has "
            f"{width * word:,}"
        )
        raise _errors.logic_error(call, _errors.INVALID_ARGUMENT, detail)
    if not width or not height:
        return
    with refused(call):
        for row in range(height):
            memory.fill(address + row * pitch, value.to_bytes(word, "little"), width)
    end = address + pitch * (height - 1) + width * word
    work = _order.begin(number, call, _times.of_bytes_on_device(width * height * word))
    _order.touch_device(work, address, end, write=True)


def _named(name: str, words: str, function: Callable) -> Callable:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = words
    return function


def _memsets(bits: int) -> tuple[Callable, Callable]:
    """Return memset_d8 and memset_d8_async, or those of words of 16 or 32 bits."""
    call, name = f"cuMemsetD{bits}", f"memset_d{bits}"

    def memset(dest: DeviceAllocation | int, data: int, size: int) -> None:
        _set(dest, data, bits // 8, call, width=size, name_of_width="size")

    def in_stream(dest: DeviceAllocation | int, data: int, size: int, stream=None) -> None:
        _set(dest, data, bits // 8, f"{call}Async", stream, width=size, name_of_width="size")

    return (
        _named(name, f"Set `size` words of {bits} bits to `data`.", memset),
        _named(f"{name}_async", f"Set words like {name}, in a stream.", in_stream),
    )


def _memsets_of_rows(bits: int) -> tuple[Callable, Callable]:
    """Return memset_d2d8 and memset_d2d8_async, or those of words of 16 or 32 bits."""
    call, name = f"cuMemsetD2D{bits}", f"memset_d2d{bits}"

    def memset(dest, pitch: int, data: int, width: int, height: int) -> None:
        _set(dest, data, bits // 8, call, pitch=pitch, width=width, height=height)

    def in_stream(dest, pitch: int, data: int, width: int, height: int, stream=None) -> None:
        _set(dest, data, bits // 8, f"{call}Async", stream, pitch=pitch, width=width, height=height)

    words = (
        f"Set `height` rows of `width` words of {bits} bits to `data`; rows are `pitch` bytes "
        "apart."
    )
    return (
        _named(name, words, memset),
        _named(f"{name}_async", f"Set rows like {name}, in a stream.", in_stream),
    )


memset_d8, memset_d8_async = _memsets(8)
memset_d16, memset_d16_async = _memsets(16)
memset_d32, memset_d32_async = _memsets(32)
memset_d2d8, memset_d2d8_async = _memsets_of_rows(8)
memset_d2d16, memset_d2d16_async = _memsets_of_rows(16)
memset_d2d32, memset_d2d32_async = _memsets_of_rows(32)
