"""The description of a launch, and the runner of a plan in the simulator.

    plan = conv2d.conv2d_named("im2col_gemm").plan(shape)      # a tuple of Launch, in order
    findings = launch.simulate(plan, {"y": y, "x": x, "filter": filter}, simulator.check)
    with programs.Program(plan) as program:                    # compiled for the selected device
        program.launch({"y": y_there, "x": x_there, "filter": filter_there}, stream)

A plan names its arrays and contains none of them, so that both runners can bind their own: NumPy
arrays in the simulator, addresses on a device (`programs`). To run another source in place of a
kernel (an exercise, a mutant), replace it in the plan: `replaced`, or `dataclasses.replace` on a
Launch.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from helpers import checking, tensor_maps


class LaunchError(ValueError):
    """A launch that is not possible; the message says what does not fit, and what does."""


# --------------------------------------------------------------------------------------------------
# The description


@dataclass(frozen=True)
class Array:
    """An array that the caller of a runner passes by name.

    shape, dtype: of the whole array. entries: (first, end) along the first axis for a launch on a
    part of it. zeroed: the runner fills it with zeros before each launch; the size of its cells is
    a multiple of 4 bytes.
    """

    name: str
    shape: tuple[int, ...]
    dtype: Any = np.float32
    entries: tuple[int, int] | None = None
    zeroed: bool = False

    @property
    def offset(self) -> int:
        """The bytes from the start of the array to the part of the launch."""
        first = self.entries[0] if self.entries else 0
        return first * math.prod(self.shape[1:]) * np.dtype(self.dtype).itemsize

    @property
    def nbytes(self) -> int:
        """The bytes of the part of the launch."""
        count = self.entries[1] - self.entries[0] if self.entries else self.shape[0]
        return count * math.prod(self.shape[1:]) * np.dtype(self.dtype).itemsize


@dataclass(frozen=True)
class Scratch:
    """An array between two launches, which the runner allocates.

    Launches with the same Scratch object share its values. Scratch objects with the same name share
    their memory on a device, so that none of them may rely on the values of another.
    """

    name: str
    shape: tuple[int, ...]
    dtype: Any = np.float32

    @property
    def nbytes(self) -> int:
        """The bytes of the array."""
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize


@dataclass(frozen=True)
class Prepared:
    """An array that the host computes from one of the caller's, such as weights in another order.

    The host computes it at the first launch, and again for another array. nbytes: its bytes on the
    device as an argument; the symbol of a constant has its own size.
    """

    of: Array
    make: Callable[[np.ndarray], np.ndarray]
    nbytes: int = 0


@dataclass(frozen=True)
class TensorMap:
    """The tensor map of one of the caller's arrays, which the runner puts into global memory.

    tile: how many cells along each axis one instruction copies; steps: from one to the next, by
    default 1 (see `tensor_maps`). The simulator refuses kernels that use one; it passes zeros.
    """

    of: Array
    tile: tuple[int, ...]
    steps: tuple[int, ...] | None = None


# A NumPy scalar is passed by value. A NumPy array is a table, the same in every run.
Argument = Array | Scratch | Prepared | TensorMap | np.generic | np.ndarray


@dataclass(frozen=True)
class Launch:
    """One launch of a kernel.

    source: the CUDA text. name: of its __global__ function. options: for nvcc. shared: bytes of
    dynamic shared memory. constants: the value of each __constant__ symbol. arguments: in the order
    of the kernel's parameters.
    """

    source: str = field(repr=False)
    name: str
    options: tuple[str, ...]
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int = 0
    constants: Mapping[str, Array | Prepared | np.ndarray] = field(default_factory=dict)
    arguments: tuple[Argument, ...] = ()

    @property
    def arrays(self) -> Iterator[Array]:
        """The arrays that the caller of a runner must pass."""
        for value in (*self.arguments, *self.constants.values()):
            if isinstance(value, (Array, Prepared, TensorMap)):
                yield value if isinstance(value, Array) else value.of


Plan = tuple[Launch, ...]


def three(extents: Sequence[int]) -> tuple[int, int, int]:
    """Return the extents of a grid or block along x, y and z: those that are not given are 1."""
    x, y, z = (*extents, 1, 1)[:3]
    return int(x), int(y), int(z)


def replaced(plan: Plan, instead: Mapping[str, tuple[str, str]] | None) -> Plan:
    """Return the plan with other sources: ``instead`` maps a kernel's name to (name, source)."""
    others = instead or {}
    return tuple(
        dataclasses.replace(one, name=others[one.name][0], source=others[one.name][1])
        if one.name in others
        else one
        for one in plan
    )


def renamed(plan: Plan, names: Mapping[str, str]) -> Plan:
    """Return the plan with other names for its arrays: ``names`` maps each old name to the new."""

    def value(old: Any) -> Any:
        if isinstance(old, Array):
            return dataclasses.replace(old, name=names.get(old.name, old.name))
        is_made_of_one = isinstance(old, (Prepared, TensorMap))
        return dataclasses.replace(old, of=value(old.of)) if is_made_of_one else old

    return tuple(
        dataclasses.replace(
            one,
            arguments=tuple(map(value, one.arguments)),
            constants={symbol: value(held) for symbol, held in one.constants.items()},
        )
        for one in plan
    )


def scratch_sizes(plan: Plan) -> dict[str, int]:
    """Return the bytes of each scratch array of a plan, by name: the most that a launch needs."""
    sizes: dict[str, int] = {}
    for one in plan:
        for value in one.arguments:
            if isinstance(value, Scratch):
                sizes[value.name] = max(sizes.get(value.name, 0), value.nbytes)
    return sizes


def scratch_bytes(plan: Plan) -> int:
    """Return the bytes of device memory that a plan needs beside the caller's arrays."""
    values = {id(value): value for one in plan for value in one.arguments}.values()
    made = sum(value.nbytes for value in values if isinstance(value, Prepared))
    maps = sum(tensor_maps.BYTES for value in values if isinstance(value, TensorMap))
    return sum(scratch_sizes(plan).values()) + made + maps


def require_passed(one: Launch, name: str, arrays: Collection[str]) -> None:
    """Raise LaunchError unless the caller passes the array of that name."""
    if name not in arrays:
        names = ", ".join(arrays) or "none"
        raise LaunchError(f"{one.name} needs the array {name!r}; it was given {names}")


# --------------------------------------------------------------------------------------------------
# In the simulator


def simulate(
    plan: Plan, arrays: Mapping[str, np.ndarray], entry: Callable[..., Any], **more: Any
) -> tuple[Any, ...]:
    """Run a plan in the simulator; return the result of ``entry`` for each launch.

    It does not use the selected device. entry: simulator.check or simulator.profile; ``more``:
    further arguments of it, which override the plan's. arrays: by name; the launches write to them.
    Scratch arrays begin as NaN. Raises LaunchError for a missing array, TypeError and ValueError
    for an array of another type or shape.
    """
    for one in plan:
        for array in one.arrays:
            require_passed(one, array.name, arrays)
    scratch: dict[int, np.ndarray] = {}
    entries = []
    for one in plan:
        arguments, constants = bound(one, arrays, scratch)
        how: dict[str, Any] = {
            "grid": one.grid,
            "block": one.block,
            "shared": one.shared,
            "options": one.options,
            "constants": constants,
        }
        entries.append(entry(one.source, one.name, *arguments, **{**how, **more}))
    return tuple(entries)


def bound(
    one: Launch, arrays: Mapping[str, np.ndarray], scratch: dict[int, np.ndarray] | None = None
) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments of a launch in the simulator, and its constants by symbol.

    arrays: by name; it may also contain scratch arrays. scratch: the other scratch arrays so far,
    by id; new ones are added.
    """
    known = {} if scratch is None else scratch
    arguments = [_in_simulator(value, arrays, known) for value in one.arguments]
    return arguments, {s: _in_simulator(held, arrays, known) for s, held in one.constants.items()}


def _in_simulator(
    value: Argument, arrays: Mapping[str, np.ndarray], scratch: dict[int, np.ndarray]
) -> Any:
    if isinstance(value, Scratch):
        if value.name in arrays:
            return arrays[value.name]
        if id(value) not in scratch:
            scratch[id(value)] = np.full(value.shape, np.nan, value.dtype)
        return scratch[id(value)]
    if isinstance(value, Prepared):
        return value.make(required(arrays[value.of.name], value.of))
    if isinstance(value, TensorMap):
        return np.zeros(tensor_maps.BYTES, np.uint8)
    if not isinstance(value, Array):
        return value
    array = required(arrays[value.name], value)
    if value.entries:
        array = array[slice(*value.entries)]
    if value.zeroed:
        array[...] = 0
    return array


def required(array: Any, spec: Array) -> Any:
    """Return ``array`` if it has the type and shape of ``spec``. Raises TypeError or ValueError."""
    return checking.require_array(array, dtype=spec.dtype, shape=spec.shape, name=spec.name)
