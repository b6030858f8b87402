"""How a kernel of the convolution layer is compiled and launched: the base of all records."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from helpers import device, kernels, limits
from helpers.launch import Array, Launch, LaunchError, Plan, Prepared
from helpers.limits import ConvShape
from helpers.problems import precision
from helpers.problems.precision import Precision
from helpers.programs import Program

from . import refusals
from .shapes import LayerError, ceil_div

Names = tuple[Array, Array, Array]  # y, x and the filter of a plan


def nothing(spec: Conv2d, shape: ConvShape) -> int:
    return 0


def input_tile(spec: Conv2d, shape: ConvShape) -> int:
    """Return bytes of the input cells, halo included, that the outputs of a block need of one
    channel.
    """
    columns, rows, _ = spec.tile
    return 4 * (columns + shape.K - 1) * (rows + shape.K - 1)


def a_float_a_thread(spec: Conv2d, shape: ConvShape) -> int:
    """Return bytes of one float for each thread of the block."""
    return 4 * math.prod(spec.block)


def two_tiles(spec: Conv2d, shape: ConvShape) -> int:
    """Return bytes of a tile of either factor of a product of matrices."""
    return 2 * 4 * spec.tile[0] ** 2


@dataclass(frozen=True)
class Conv2d:
    """How one of the convolution layer's kernels is compiled and launched.

    block: threads along x and y (and z). tile: outputs of a block along columns and rows, and
    output maps. filter_in: where the weights lie, "global" (the argument after x) or "constant"
    (the symbol ``filter``). width_in: where K comes from, "argument" (the last one) or "constant"
    (-D FILTER_WIDTH). constants: further -D constants, as pairs. static, dynamic: functions of the
    record and a shape that return the bytes of static and of dynamic shared memory of a block.
    flat: the kernel counts the outputs of an image in one row, so that tile = (outputs, 1, maps).
    channel_blocks: each channel has blocks of its own. strides: the kernel supports strides other
    than 1. zeroed: y must hold 0 before the launch (the runner fills it). largest_width: the
    largest K that the kernel supports; None for any. precision: how the kernel rounds, which bounds
    its error.
    """

    name: str
    block: tuple[int, ...] = (16, 16)
    tile: tuple[int, int, int] = (16, 16, 1)
    filter_in: str = "global"
    width_in: str = "argument"
    constants: tuple[tuple[str, int], ...] = ()
    static: Callable[[Any, ConvShape], int] = nothing
    dynamic: Callable[[Any, ConvShape], int] = nothing
    flat: bool = False
    channel_blocks: bool = False
    strides: bool = False
    zeroed: bool = False
    largest_width: int | None = None
    precision: Precision = precision.FLOAT

    # Whether the kernel wants the weights in another order, that of `arrange`.
    arranged: ClassVar[bool] = False
    # nvcc's options besides -D, such as the folder of an #include.
    flags: ClassVar[tuple[str, ...]] = ()
    # The order of x's and y's axes in memory, of (image, channel or map, row, column).
    axes: ClassVar[tuple[int, int, int, int]] = (0, 1, 2, 3)

    @property
    def source(self) -> str:
        """The CUDA text of the layer's own kernel, the last of `sources`."""
        return kernels.source(self.sources[-1])

    @property
    def sources(self) -> tuple[str, ...]:
        """Names of the kernels that it launches."""
        return (self.name,)

    def with_tile(self, width: int, maps: int | None = None) -> Conv2d:
        """Return a record with tiles of another size.

        width: of the square blocks and tiles (TILE_WIDTH). maps: output maps of a block (MAPS);
        without it, the number stays.
        """
        tile = (width, 1, width) if self.flat else (width, width, maps or self.tile[2])
        return dataclasses.replace(self, block=(width, width, *self.block[2:]), tile=tile)

    def constant_names(self) -> tuple[str, ...]:
        """Return the names of the constants that -D can set, in the order of the source and of the
        headers that it includes.
        """
        headers = re.findall(r'^#include "(.+)"', self.source, re.MULTILINE)
        texts = self.source, *((kernels.FOLDER / one).read_text("utf-8") for one in headers)
        names = re.findall(r"^#ifndef (\w+)", "\n".join(texts), re.MULTILINE)
        return tuple(dict.fromkeys(names))

    def fitted(self, shape: ConvShape) -> Conv2d:
        """Return the record with every size set for a shape. Most records have none to set."""
        return self

    def options(self, shape: ConvShape) -> list[str]:
        """Return nvcc's options for a shape. Raises LayerError as `constant_values` does."""
        values = self.constant_values(shape)
        return [*self.flags, *(f"-D{name}={value}" for name, value in values.items())]

    def constant_values(self, shape: ConvShape) -> dict[str, int]:
        """Return the value of each constant that record or shape sets, for -D.

        A source declares such a constant by ``#ifndef NAME``. Raises LayerError where the record
        sets a constant that the source does not declare.
        """
        declared = self.constant_names()
        if unknown := [name for name, _ in self.constants if name not in declared]:
            there = ", ".join(declared) or "none"
            raise LayerError(f"{self.name}.cu has no constant {unknown[0]}; it has {there}")
        known = self.known_constants(shape, self.tile[0])
        return {name: value for name, value in known.items() if name in declared}

    def known_constants(self, shape: ConvShape, tile_width: int) -> dict[str, int]:
        """Return the value of each constant that a source may declare."""
        return {
            "FILTER_WORDS": math.prod(shape.filter_shape),
            "FILTER_WIDTH": shape.K,
            "TILE_WIDTH": tile_width,
            "MAPS": self.tile[2],
            "STRIDE": shape.stride,
            **dict(self.constants),
        }

    def threads(self, shape: ConvShape) -> tuple[int, int, int]:
        """Return the threads of a block along x, y and z."""
        x, y, z, *_ = (*self.block, 1, 1)
        return x, y, z

    def grid(self, shape: ConvShape) -> tuple[int, int, int]:
        """Return the grid that covers the outputs.

        Its axes: tiles of an output map, groups of output maps, images.
        """
        columns, rows, maps = self.tile
        across, down = (shape.out_h * shape.out_w, 1) if self.flat else (shape.out_w, shape.out_h)
        groups = ceil_div(shape.M, maps) * (shape.C if self.channel_blocks else 1)
        return ceil_div(across, columns) * ceil_div(down, rows), groups, shape.B

    def static_bytes(self, shape: ConvShape) -> int:
        """Return the bytes of static shared memory of a block."""
        return self.static(self, shape)

    def shared(self, shape: ConvShape) -> int:
        """Return the bytes of dynamic shared memory of a launch."""
        return self.dynamic(self, shape)

    def arguments(self, y: Any, x: Any, filter: Any, shape: ConvShape) -> tuple:
        """Return the arguments of a launch; y, x and filter stay what they are, of any type."""
        arrays = (y, x, filter) if self.filter_in == "global" else (y, x)
        sizes = (shape.B, shape.C, shape.M, shape.H, shape.W, shape.K)
        return (*arrays, *map(np.int32, sizes if self.width_in == "argument" else sizes[:-1]))

    def arrange(self, filter: np.ndarray) -> np.ndarray:
        """Return the weights, given in shape (M, C, K, K), in the order that the kernel reads.

        A record whose kernel reads another order than (M, C, K, K) sets `arranged`.
        """
        return filter

    def constant_bytes(self, shape: ConvShape) -> int:
        """Return the bytes of constant memory that the filter takes."""
        return 4 * math.prod(shape.filter_shape) if self.filter_in == "constant" else 0

    def scratch(self, shape: ConvShape) -> int:
        """Return the bytes of device memory that a launch needs beside x, filter and y."""
        return 0

    def memory(self, shape: ConvShape) -> int:
        """Return the bytes of device memory that a launch needs: x, filter, y and scratch."""
        return limits.conv2d(shape).bytes + self.scratch(shape)

    def require(self, shape: ConvShape, device: device.Device | None = None) -> None:
        """Raise LayerError unless the kernel can be compiled and launched for the shape.

        device: also checks the limits of this device.
        """
        refusals.require_stride(self, shape)
        refusals.require_width(self, shape)
        refusals.require_constant(self, shape)
        refusals.require_block(self, shape)
        most = limits.STATIC_SHARED_BYTES if device is None else device.shared_memory_per_block
        refusals.require_shared(self, shape, most)
        refusals.require_indices(self, shape)
        refusals.require_grid(self, shape)

    def scratch_advice(self, shape: ConvShape, free: int) -> str:
        """Return the message for a `scratch` above the ``free`` bytes of device memory."""
        return (
            f"{self.name} needs {self.scratch(shape):,} bytes of scratch memory, and {free:,} are "
            "free: take fewer images"
        )

    def names(self, shape: ConvShape) -> Names:
        """Return the arrays of a plan: y, x and the filter."""
        y_shape, x_shape = (
            tuple(sizes[axis] for axis in self.axes) for sizes in (shape.y_shape, shape.x_shape)
        )
        return (
            Array("y", y_shape, zeroed=self.zeroed),
            Array("x", x_shape),
            Array("filter", shape.filter_shape),
        )

    def plan(self, shape: ConvShape) -> Plan:
        """Return the layer's launches, in order, on arrays of the names "y", "x" and "filter"."""
        spec = self.fitted(shape)
        return (spec._launch(shape, *spec.names(shape)),)

    def _launch(self, shape: ConvShape, y: Any, x: Any, filter: Any) -> Launch:
        """Return the launch of the layer's own kernel, on arrays of a plan."""
        constants = {}
        if self.filter_in == "constant":
            constants["filter"] = Prepared(filter, self.arrange) if self.arranged else filter
        return Launch(
            self.source,
            self.sources[-1],
            tuple(self.options(shape)),
            self.grid(shape),
            self.threads(shape),
            self.shared(shape),
            constants,
            self.arguments(y, x, filter, shape),
        )

    def compile(self, shape: ConvShape, plan: Plan | None = None) -> Compiled:
        """Return the kernel compiled for a shape on the selected device. Raises as `require` does.

        plan: launches to compile in place of `self.plan(shape)`, such as some with another source.
        """
        return Compiled(self, shape, plan)


class Compiled:
    """A layer compiled for one shape on the selected device, to be launched on device addresses."""

    def __init__(self, spec: Conv2d, shape: ConvShape, plan: Plan | None = None):
        spec.require(shape, device.select())
        import pycuda.driver as cuda

        self.spec, self.shape = spec.fitted(shape), shape
        if spec.scratch(shape) > (free := cuda.mem_get_info()[0]):
            raise LayerError(spec.scratch_advice(shape, free))
        try:
            self.program = Program(self.spec.plan(shape) if plan is None else plan)
        except LaunchError as error:
            raise LayerError(str(error)) from None

    @property
    def function(self) -> Any:
        """The layer's own kernel, a PyCUDA function; its `num_regs`: the registers of a thread."""
        return self.program.kernel().function

    @property
    def module(self) -> Any:
        """The module of `function`."""
        return self.program.kernel().module

    def launch(
        self, y: int, x: int, filter: int, stream: Any = None, only: Collection[str] | None = None
    ) -> None:
        """Enqueue the layer on device addresses.

        only: names of the kernels to launch; by default all.

        The host prepares the weights (a constant, another order) whenever their address is a new
        one. After you write other weights to the same address, call `upload`.
        """
        self.program.launch({"y": y, "x": x, "filter": filter}, stream, only)

    def upload(self, filter: Any, stream: Any = None) -> None:
        """Prepare the launches for these weights, a NumPy array or a device address."""
        self.program.upload({"filter": filter}, stream)

    def free(self) -> None:
        """Free the memory that `launch` allocated beside the arrays."""
        self.program.free()
