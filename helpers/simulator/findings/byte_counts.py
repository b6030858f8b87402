"""Finds out whether an array that a launch overruns has as many bytes as it needs numbers.

    y_device = cuda.mem_alloc(y.size)    # 1,000 bytes, where 1,000 floats need 4,000

Nothing in the launch says how many elements the program means. So some of its blocks run again,
with larger copies of such arrays: the count is the cause if these blocks stay inside a copy that
has as many numbers as the array has bytes, and leave one that is an element shorter.
"""

from __future__ import annotations

import contextlib
import linecache
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from ..machine import arrays, memory
from ..machine.faults import OutOfMemory
from ..machine.layouts import numbers_in
from ..program.module import Kernel
from ..ptx.declarations import Parameter
from .findings import Finding
from .words import BYTES_ADVICE, Cause

_MOST_COPIED = 256 << 20  # bytes


@dataclass(frozen=True)
class _Short:
    """An array of `count` bytes, whose parameter points to elements of numbers of `width` bytes."""

    parameter: Parameter
    address: int
    count: int
    width: int

    @property
    def needed(self) -> int:
        """The bytes of as many numbers as the array has bytes."""
        return self.count * self.width


def with_byte_count(
    fatal: Finding, kernel: Kernel, packed: bytes, fault_of: Callable[[bytes], Finding | None]
) -> Finding:
    """Return the finding that has stopped a launch, with the count of bytes as its cause if it is.

    packed: the bytes of the launch's arguments; fault_of: runs some of its blocks with others,
    undoes what they do, and returns the finding that stops them, None if they come to their end.
    """
    if fatal.kind != "out-of-bounds":
        return fatal
    short = {one.parameter.name: one for one in _short_arrays(kernel, packed)}
    own = short.pop(fatal.array or "", None)
    most = sum(one.needed for one in short.values())
    if own is None or own.needed + most > _MOST_COPIED:
        return fatal
    others = {one: one.needed for one in short.values()}
    with contextlib.suppress(OutOfMemory):
        with _copied(packed, {own: own.needed, **others}) as larger:
            if fault_of(larger) is not None:
                return fatal
        with _copied(packed, {own: own.needed - own.parameter.element_bytes, **others}) as larger:
            last = fault_of(larger)
        if last is not None and (last.kind, last.array) == (fatal.kind, fatal.array):
            cause = Cause.IN_BYTES(count=own.count, width=own.width, advice=BYTES_ADVICE)
            return replace(fatal, causes=(cause,))
    return fatal


def _short_arrays(kernel: Kernel, packed: bytes) -> Iterator[_Short]:
    """Yield the arrays whose bytes the program has asked for itself, perhaps by a count of
    elements.
    """
    addresses = arrays.pointers(kernel, packed)
    for parameter in kernel.parameters:
        numbers = numbers_in(parameter.layout) if parameter.is_pointer else ()
        address = addresses.get(parameter.name, 0)
        count = memory.requested(address) if numbers and address else None
        width = max((int(code[1:]) for _, code in numbers), default=1)
        if count is not None and width > 1 and not _says_bytes(address, width):
            yield _Short(parameter, address, count, width)


def _says_bytes(address: int, width: int) -> bool:
    """Return whether the program's line that made an array says that it counts bytes."""
    line = linecache.getline(*memory.origin(address))
    scaled = rf"nbytes|itemsize|sizeof|\b{width}\s*\*|\*\s*{width}\b"
    return re.search(scaled, line) is not None


@contextlib.contextmanager
def _copied(packed: bytes, sizes: dict[_Short, int]) -> Iterator[bytes]:
    """Give arrays copies of other sizes, in bytes, and yield the launch's arguments with these."""
    changed, made = bytearray(packed), []
    try:
        for one, nbytes in sizes.items():
            copy = memory.allocate(nbytes, max(memory.device_of(one.address) or 0, 0))
            made.append(copy)
            memory.copy(copy, one.address, min(nbytes, one.count))
            start = one.parameter.offset
            changed[start : start + one.parameter.size] = copy.to_bytes(
                one.parameter.size, "little"
            )
        yield bytes(changed)
    finally:
        for copy in made:
            memory.free(copy)
