"""Records a launch of a loaded kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.quantities import quantity

from ..launch.launch import CHECKS
from ..launch.launch_limits import Extents
from ..launch.numpy_arguments import Arguments
from ..machine import memory
from ..machine.arrays import pointers
from ..machine.layouts import only_dtype
from ..program.module import Kernel
from . import recording
from .arrays import Index, arrays_of
from .changes import AddressOf, Change, Schedule, encoded
from .recording import Wanted
from .tape import Tape
from .translation import NotRecorded, Wait, recorded

MOST_THREADS = 1 << 16  # of the blocks that are recorded


def record_launch(
    kernel: Kernel,
    args: tuple,
    grid: Extents,
    block: Extents,
    shared: int,
    outputs: Sequence[str] | None,
    time_limit: float | None,
    *,
    blocks: Sequence[Sequence[int]] | None = None,
    changes: Sequence[Change] = (),
    barriers: Sequence[Wait] = (),
    schedule: Schedule | None = None,
    until: tuple[str, Index] | None = None,
    most_words: int = recording.MOST_WORDS,
    most_turns: int = 0,
    observe: Sequence[str] = CHECKS,
) -> Tape:
    """Run and record one launch.

    blocks: the blocks to record, as triples, by default all; the others run, but what they do is
    not on the tape; changes: what is done otherwise than the source says; barriers: waits that the
    source does not have; schedule: another order of the threads; until: array and index of a cell:
    of a record that is cut, the last ones before the last store to it are kept; most_words: of 64
    bits, in the record, past which its first ones are dropped; most_turns: backward branches after
    which the launch is stopped as one without an end, in units of 65,536, 0 for any number;
    observe: the checks. The other arguments are those of `helpers.simulator.record`.
    Raises NotRecorded, and ValueError for a change that cannot be made.
    """
    numbers = _numbers(blocks, grid)
    count = len(numbers) if numbers is not None else grid[0] * grid[1] * grid[2]
    threads = count * block[0] * block[1] * block[2]
    if threads > MOST_THREADS:
        raise NotRecorded(
            f"{quantity(count, 'block')} of {quantity(threads // count, 'thread')} are too many to "
            f"record ({MOST_THREADS:,} threads at most): launch fewer or smaller blocks, or name "
            "some of them in blocks=[(0, 0, 0), ...]"
        )
    form = recorded(kernel, tuple(barriers))
    translation, order = form.translation, schedule or Schedule()
    assert translation is not None
    if barriers and (changes or order.sides):
        raise ValueError("barriers and changes cannot be combined: make one experiment of each")
    with Arguments(kernel, args, outputs) as packed:
        starts = pointers(kernel, packed.buffer)
        starts |= {v.name: v.address for v in kernel.module.globals.values()}
        address_of = AddressOf(kernel, starts, form.program.dynamic_offset, form.shared)
        rows, conditions = encoded(translation, changes, order.sides, grid, block, address_of)
        wanted = Wanted(
            numbers,
            most_words,
            _bytes_of(until, address_of) if until is not None else (0, 0),
            rows,
            conditions,
            (order.warp, order.lanes),
            _numbers(order.blocks, grid, in_order=True),
            most_turns,
        )
        inputs, before = _inputs(kernel, args), _bytes_before(kernel, packed.buffer)
        found = recording.run(
            form, packed.buffer, grid, block, shared, wanted, packed.outputs, time_limit, observe
        )
        initial = {p.name: not packed.starts_without_values(p.name) for p in kernel.parameters}
        arrays = arrays_of(found, pointers(kernel, packed.buffer), initial)
        after = packed.arrays_after() | _device_arrays(kernel, args)
        return Tape(kernel.compiled.source, found, arrays, inputs, after, before, numbers)


def _bytes_of(cell: tuple[str, Index], address_of: AddressOf) -> tuple[int, int]:
    """Return address and bytes of a cell of global memory."""
    address, base = address_of(*cell)
    if base:
        raise ValueError(f"until={cell!r}: give a cell of an array in global memory")
    return address, 1


def _numbers(
    blocks: Sequence[Sequence[int]] | None, grid: Extents, in_order: bool = False
) -> tuple[int, ...] | None:
    if blocks is None:
        return None
    found = []
    for one in blocks:
        x, y, z = (*map(int, one), 0, 0)[:3]
        if not all(0 <= k < n for k, n in zip((x, y, z), grid, strict=True)):
            raise ValueError(f"block {tuple(one)} is not in the grid {grid}")
        found.append(x + grid[0] * (y + grid[1] * z))
    return tuple(found) if in_order else tuple(sorted(set(found)))


def _bytes_before(kernel: Kernel, packed: bytes) -> dict[str, bytes]:
    """Return the bytes of the arrays of a launch, by the names of parameters and variables."""
    places = dict(pointers(kernel, packed).items())
    places |= {v.name: v.address for v in kernel.module.globals.values()}
    found = {}
    for name, address in places.items():
        if address and (place := memory.allocation(address)) is not None:
            nbytes = place[0] + place[1] - address
            array = np.empty(nbytes, np.uint8)
            memory.read(array, address, nbytes)
            found[name] = array.tobytes()
    return found


def _inputs(kernel: Kernel, args: tuple) -> dict[str, Any]:
    """Return the arrays and numbers of a launch by name, as they are before it."""
    found: dict[str, Any] = {}
    for parameter, value in zip(kernel.parameters, args, strict=True):
        if isinstance(value, np.ndarray):
            found[parameter.name] = value.copy()
        elif parameter.is_pointer:
            if (array := _device_array(parameter, value)) is not None:
                found[parameter.name] = array
        elif isinstance(value, np.void):
            names = value.dtype.names or ()
            found |= {f"{parameter.name}.{name}": value[name] for name in names}
        else:
            found[parameter.name] = value
    for variable in kernel.module.globals.values():
        dtype = only_dtype(variable.layout) or np.dtype(np.uint8)
        if variable.nbytes and variable.nbytes % dtype.itemsize == 0:
            array = np.empty(variable.nbytes // dtype.itemsize, dtype)
            memory.read(array, variable.address, array.nbytes)
            found.setdefault(variable.name, array)
    return found


def _device_array(parameter, value) -> np.ndarray | None:
    """Return what the device has where a pointer leads, None if it leads nowhere."""
    address = int(value)
    place = memory.allocation(address) if address else None
    if place is None:
        return None
    start, nbytes = place
    dtype = only_dtype(parameter.layout) or np.dtype(np.uint8)
    array = np.empty((nbytes - (address - start)) // dtype.itemsize, dtype)
    memory.read(array, address, array.nbytes)
    return array


def _device_arrays(kernel: Kernel, args: tuple) -> dict[str, np.ndarray]:
    return {
        parameter.name: array
        for parameter, value in zip(kernel.parameters, args, strict=True)
        if parameter.is_pointer
        and not isinstance(value, np.ndarray)
        and (array := _device_array(parameter, value)) is not None
    }
