"""What a GPU refuses to launch: too many threads, registers or bytes of shared memory."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence, Set
from typing import Any

from helpers.quantities import quantity

from ..findings.findings import finding_of_launch
from ..findings.words import Cause, Event, Sentence
from ..machine.architecture import (
    MAX_BLOCK,
    MAX_GRID,
    MAX_SHARED,
    MAX_THREADS_PER_BLOCK,
    REGISTER_UNIT,
    REGISTERS,
    WARP_SIZE,
)
from ..machine.faults import LaunchRefused
from ..program.module import Kernel

_REGISTERS_FOR_ADDRESSES = 24  # ptxas may need so many beside the registers that PTX's values take


Extents = tuple[int, int, int]


def extents(shape: Sequence[int], what: str = "grid") -> Extents:
    """Return a grid or block of up to three extents as (x, y, z). what: "grid" or "block".

    Raises TypeError for anything but a tuple, list or array of whole numbers, and ValueError for
    none and for more than three of them.
    """
    example = f"give a tuple of one to three whole numbers, such as {what}=(4,) or {what}=(4, 2)"
    if isinstance(shape, (str, bytes, Mapping, Set)) or not hasattr(shape, "__iter__"):
        raise TypeError(f"{what}={shape!r} is no tuple: {example}")
    given = tuple(shape)
    if not 1 <= len(given) <= 3:
        raise ValueError(f"{what}={given!r} has {quantity(len(given), 'extent')}: {example}")
    whole = [whole_number(extent, f"an extent of {what}={given!r}", example) for extent in given]
    x, y, z = (*whole, 1, 1)[:3]
    return x, y, z


def whole_number(value: Any, what: str, hint: str, least: int | None = None) -> int:
    """Return a whole number as an int. Raises TypeError for any other type, and ValueError for one
    below `least`. what: the name of the value; hint: what to give instead.
    """
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{what} is {value!r} ({type(value).__name__}): {hint}") from None
    if least is not None and number < least:
        raise ValueError(f"{what} is {number}: {hint}")
    return number


def require_launchable(kernel: Kernel, grid: Extents, block: Extents, shared: int) -> None:
    """Raise LaunchRefused if a GPU refuses the launch. shared: bytes of dynamic shared memory.

    Raises TypeError and ValueError for a `shared` that is no number of bytes.
    """
    whole_number(shared, "shared", "give the bytes of dynamic shared memory, 0 or more", least=0)
    name = kernel.name
    for what, shape, limits in (("block", block, MAX_BLOCK), ("grid", grid, MAX_GRID)):
        if any(not 1 <= extent <= limit for extent, limit in zip(shape, limits, strict=True)):
            event = Event.WRONG_EXTENT(kernel=name, what=what, shape=shape, limits=limits)
            raise _refusal(kernel, event)
    threads = block[0] * block[1] * block[2]
    if threads > MAX_THREADS_PER_BLOCK:
        most = MAX_THREADS_PER_BLOCK
        event = Event.MANY_THREADS(kernel=name, block_shape=block, threads=threads, most=most)
        raise _refusal(kernel, event)
    exact = kernel.program.exact_block
    if exact and (*exact, 1, 1)[:3] != block:
        event = Event.OTHER_BLOCK_SIZE(kernel=name, block_shape=block, exact=exact)
        raise _refusal(kernel, event)
    if kernel.max_threads and threads > kernel.max_threads:
        most = kernel.max_threads
        event = Event.BEYOND_BOUNDS(kernel=name, block_shape=block, threads=threads, most=most)
        raise _refusal(kernel, event)
    if shared + kernel.static_shared > MAX_SHARED:
        static = kernel.static_shared
        event = Event.MUCH_SHARED(kernel=name, dynamic=shared, static=static, most=MAX_SHARED)
        raise _refusal(kernel, event)
    _refuse_too_many_registers(kernel, block, threads)


def _refuse_too_many_registers(kernel: Kernel, block: Extents, threads: int) -> None:
    warps = -(-threads // WARP_SIZE)
    room = REGISTERS // (warps * WARP_SIZE)
    if kernel.live_words + _REGISTERS_FOR_ADDRESSES <= room:
        return  # ptxas surely uses fewer registers, and asking it would take some time
    needed = kernel.resources.registers if kernel.resources is not None else 0
    registers = -(-needed // REGISTER_UNIT) * REGISTER_UNIT
    if registers > room:
        most = REGISTERS // (registers * WARP_SIZE) * WARP_SIZE
        event = Event.MANY_REGISTERS(
            kernel=kernel.name,
            block_shape=block,
            threads=threads,
            needed=needed,
            registers=REGISTERS,
            most=most,
        )
        raise _refusal(kernel, event)


def _refusal(kernel: Kernel, event: Sentence) -> LaunchRefused:
    return LaunchRefused(finding_of_launch("resources", event, Cause.REFUSED(), kernel))
