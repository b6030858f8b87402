"""How a kernel of the convolution layer is compiled and launched: what all of them have in common."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from helpers import checking, device, kernels, limits
from helpers.limits import ConvShape
from helpers.problems import precision
from helpers.problems.precision import Precision

from . import refusals
from .shapes import LayerError, ceil_div

Entry = Callable[..., Any]  # simulator.profile or simulator.check, given a kernel's name in place of its source and name


def nothing(spec: Conv2d, shape: ConvShape) -> int:
    return 0


def input_tile(spec: Conv2d, shape: ConvShape) -> int:
    """Bytes of the input cells, halo included, that the outputs of a block need of one channel."""
    columns, rows, _ = spec.tile
    return 4 * (columns + shape.K - 1) * (rows + shape.K - 1)


def a_float_a_thread(spec: Conv2d, shape: ConvShape) -> int:
    """Bytes of one float for each thread of the block."""
    return 4 * math.prod(spec.block)


def two_tiles(spec: Conv2d, shape: ConvShape) -> int:
    """Bytes of a tile of either factor of a product of matrices."""
    return 2 * 4 * spec.tile[0] ** 2


@dataclass(frozen=True)
class Conv2d:
    """How one of the convolution layer's kernels is compiled and launched.

    block: its threads along x and y (and z). tile: outputs of a block along columns and rows, and output maps. filter_in:
    "global" (the argument after x) or "constant" (the symbol ``filter``). width_in: "argument" (the last one, K) or
    "constant" (-D FILTER_WIDTH). constants: more -D, as pairs. static: function of the record and a shape that gives the
    bytes of static shared memory of a block; dynamic: the same for dynamic shared memory. flat: the outputs of an image
    are counted in one row, tile = (outputs, 1, maps). channel_blocks: each channel has blocks of its own. strides: takes a
    stride other than 1. zeroed: y must hold 0 before the launch (`Compiled.launch` sees to it). largest_width: the largest
    K it takes, None for any. precision: what it rounds, and so how exact it can be.
    """

    name: str
    block: tuple[int, ...] = (16, 16)
    tile: tuple[int, int, int] = (16, 16, 1)
    filter_in: str = "global"
    width_in: str = "argument"
    constants: tuple[tuple[str, int], ...] = ()
    static: Callable[[Conv2d, ConvShape], int] = nothing
    dynamic: Callable[[Conv2d, ConvShape], int] = nothing
    flat: bool = False
    channel_blocks: bool = False
    strides: bool = False
    zeroed: bool = False
    largest_width: int | None = None
    precision: Precision = precision.FLOAT

    @property
    def sources(self) -> tuple[str, ...]:
        """Names of the kernels that it launches."""
        return (self.name,)

    def with_tile(self, width: int, maps: int | None = None) -> Conv2d:
        """Return a record with square blocks and tiles of ``width`` (TILE_WIDTH), and ``maps`` output maps a block (MAPS)."""
        tile = (width, 1, width) if self.flat else (width, width, maps or self.tile[2])
        return dataclasses.replace(self, block=(width, width, *self.block[2:]), tile=tile)

    def constant_names(self) -> tuple[str, ...]:
        """Return the constants that its source can be given by -D, in the order in which it names them."""
        return tuple(re.findall(r"^#ifndef (\w+)", kernels.source(self.name), re.MULTILINE))

    def options(self, shape: ConvShape) -> list[str]:
        """Return nvcc's options for a shape: -D for each constant that the source has and the record or shape fixes.

        A source says which constants it has by ``#ifndef NAME``. Raises LayerError for a constant that it has not.
        """
        taken = self.constant_names()
        if unknown := [name for name, _ in self.constants if name not in taken]:
            raise LayerError(f"{self.name}.cu has no constant {unknown[0]}; it has {', '.join(taken) or 'none'}")
        known = {
            "FILTER_WORDS": math.prod(shape.filter_shape),
            "FILTER_WIDTH": shape.K,
            "TILE_WIDTH": self.tile[0],
            "MAPS": self.tile[2],
            "STRIDE": shape.stride,
            **dict(self.constants),
        }
        return [f"-D{name}={value}" for name, value in known.items() if name in taken]

    def threads(self, shape: ConvShape) -> tuple[int, int, int]:
        """Return the block for a launch, three extents."""
        return (*self.block, 1, 1)[:3]

    def grid(self, shape: ConvShape) -> tuple[int, int, int]:
        """Return the grid that covers the outputs: (tiles of an output map, groups of output maps, images)."""
        columns, rows, maps = self.tile
        across, down = (shape.out_h * shape.out_w, 1) if self.flat else (shape.out_w, shape.out_h)
        groups = ceil_div(shape.M, maps) * (shape.C if self.channel_blocks else 1)
        return ceil_div(across, columns) * ceil_div(down, rows), groups, shape.B

    def shared(self, shape: ConvShape) -> int:
        """Return the bytes of dynamic shared memory of a launch."""
        return self.dynamic(self, shape)

    def arguments(self, y: Any, x: Any, filter: Any, shape: ConvShape) -> tuple:
        """Return the arguments of a launch. y, x and filter are passed on as they are: addresses, or arrays."""
        arrays = (y, x, filter) if self.filter_in == "global" else (y, x)
        sizes = (shape.B, shape.C, shape.M, shape.H, shape.W, shape.K)
        return (*arrays, *map(np.int32, sizes if self.width_in == "argument" else sizes[:-1]))

    def arrange(self, filter: np.ndarray) -> np.ndarray:
        """Return what the constant symbol ``filter`` holds for a filter of shape (M, C, K, K): the filter as it is.

        A kernel that wants the weights in another order has a record of its own that returns them so.
        """
        return filter

    def constant_bytes(self, shape: ConvShape) -> int:
        """Return the bytes of constant memory that the filter takes."""
        return 4 * math.prod(shape.filter_shape) if self.filter_in == "constant" else 0

    def scratch(self, shape: ConvShape) -> int:
        """Return the bytes of device memory that it needs beside x, filter and y."""
        return 0

    def memory(self, shape: ConvShape) -> int:
        """Return the bytes of device memory that a launch needs: x, filter, y and scratch."""
        return limits.conv2d(shape).bytes + self.scratch(shape)

    def require(self, shape: ConvShape, device: device.Device | None = None) -> None:
        """Raise LayerError unless the kernel can be compiled and launched for the shape (on ``device``, where given)."""
        refusals.require_stride(self, shape)
        refusals.require_width(self, shape)
        refusals.require_constant(self, shape)
        refusals.require_block(self, shape)
        refusals.require_shared(self, shape, refusals.STATIC_SHARED_BYTES if device is None else device.shared_memory_per_block)
        refusals.require_indices(self, shape)
        refusals.require_grid(self, shape)

    def compile(self, shape: ConvShape) -> Compiled:
        """Return the kernel compiled for a shape on the selected device. Raises as `require` does."""
        return Compiled(self, shape)

    def simulate(self, entry: Entry, y: np.ndarray, x: np.ndarray, filter: np.ndarray, shape: ConvShape) -> tuple:
        """Run ``entry(name, *arguments, **launch)`` for each kernel launch, in order, and return what it returns."""
        constants = {"filter": self.arrange(filter)} if self.filter_in == "constant" else {}
        launch = {"grid": self.grid(shape), "block": self.threads(shape), "shared": self.shared(shape)}
        arguments = self.arguments(y, x, filter, shape)
        return (entry(self.name, *arguments, options=self.options(shape), constants=constants, **launch),)


class Compiled:
    """A kernel compiled for one shape on the selected device, to be launched on device addresses."""

    def __init__(self, spec: Conv2d, shape: ConvShape):
        spec.require(shape, device.select())
        import pycuda.driver as cuda

        self.spec, self.shape, self._cuda = spec, shape, cuda
        self.module, self.function = self._load(spec.name, spec.options(shape))
        self.grid, self.block, self.shared = spec.grid(shape), spec.threads(shape), spec.shared(shape)
        self._allow_shared()
        self._uploaded: int | None = None

    def _load(self, name: str, options: list[str]) -> tuple[Any, Any]:
        from pycuda.compiler import SourceModule

        module = SourceModule(kernels.source(name), options=options, no_extern_c=True)
        function = module.get_function(name)
        threads = math.prod(self.spec.threads(self.shape))
        if (most := function.max_threads_per_block) < threads:
            raise LayerError(
                f"{name}, as compiled, takes so many registers that a block can have {most} threads, not {threads}: "
                "take smaller blocks"
            )
        return module, function

    def _allow_shared(self) -> None:
        """Dynamic shared memory beyond 48 KB must be asked for, up to what the device has."""
        if self.shared <= refusals.STATIC_SHARED_BYTES:
            return
        attribute = self._cuda.device_attribute.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
        most = self._cuda.Context.get_device().get_attribute(attribute)
        if self.shared > most:
            raise LayerError(
                f"{self.spec.name} needs {self.shared:,} bytes of dynamic shared memory; a block of this device can have "
                f"{most:,}. Take smaller tiles."
            )
        self.function.set_attribute(self._cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, self.shared)

    def upload(self, filter: Any, stream: Any = None) -> None:
        """Fill the constant symbol ``filter`` from a NumPy array or a device address. Nothing for a global filter."""
        if self.spec.filter_in != "constant":
            return
        symbol, size = self.module.get_global("filter")
        as_it_is = type(self.spec).arrange is Conv2d.arrange
        if as_it_is and not isinstance(filter, np.ndarray):
            self._cuda.memcpy_dtod_async(symbol, int(filter), size, stream)
            return
        self._cuda.memcpy_htod(symbol, np.ascontiguousarray(self.spec.arrange(self._on_host(filter))))

    def _on_host(self, filter: Any) -> np.ndarray:
        """The weights, given as a NumPy array or a device address."""
        weights = filter
        if not isinstance(filter, np.ndarray):
            weights = np.empty(self.shape.filter_shape, np.float32)
            self._cuda.memcpy_dtoh(weights, int(filter))
        checking.require_array(weights, dtype=np.float32, shape=self.shape.filter_shape, name="filter")
        return weights

    def launch(self, y: int, x: int, filter: int, stream: Any = None) -> None:
        """Enqueue the layer on device addresses. A constant filter is uploaded when its address is a new one.

        After writing other weights to the same address, call `upload`.
        """
        if self._uploaded != int(filter):
            self.upload(filter, stream)
            self._uploaded = int(filter)
        if self.spec.zeroed:
            self._cuda.memset_d32_async(int(y), 0, self.shape.outputs, stream)
        arguments = self.spec.arguments(np.uintp(int(y)), np.uintp(int(x)), np.uintp(int(filter)), self.shape)
        self.function(*arguments, block=self.block, grid=self.grid, shared=self.shared, stream=stream)

    def free(self) -> None:
        """Give back what `launch` needed beside the arrays."""
