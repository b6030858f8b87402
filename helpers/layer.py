"""The convolution layer on a device: how each of its kernels is compiled and launched, and what is refused before that.

    y = layer.convolve("conv2d_basic", x, filter)                # arrays in, an array out, everything checked
    run = layer.compile("conv2d_constant", shape)                # on device addresses, to be timed
    run.launch(problem.y, problem.x, problem.filter, stream)

`CONV2D` has a row for each kernel in float32, `REDUCED` one for each that rounds its inputs. A row is a frozen record:
`dataclasses.replace` and `Conv2d.with_tile` make others.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from helpers import checking, device, kernels, limits, precision, reference, simulator
from helpers.limits import ConvShape
from helpers.precision import Precision

SEED = 20_25
CONSTANT_BYTES = 64 * 1024  # of __constant__ memory, on every GPU (CUDA C++ Programming Guide, technical specifications)
MOST_SHARED_BYTES = 227 * 1024  # of a block, dynamic, from compute capability 9.0 on
MULTIPROCESSOR_SHARED_BYTES = 228 * 1024  # of all its blocks, with 1 KB more for each
STATIC_SHARED_BYTES = 48 * 1024  # of static shared memory in a block, likewise; more has to be dynamic
INDICES = 2**31  # how many cells an int can count
PLAINEST = "conv2d_basic"  # checked against the oracle; every output of the others is checked against it
SPARE = 0.95  # of the free memory: the rest is for the modules and for what the driver keeps

Entry = Callable[..., Any]  # simulator.profile or simulator.check, given a kernel's name in place of its source and name

# The two layers of the LeNet on images of 86 x 86, and those of a course report on the images as they are.
LAYERS = {
    "layer 1": ConvShape(1, C=1, M=4, H=86, W=86, K=7),
    "layer 2": ConvShape(1, C=4, M=16, H=40, W=40, K=7),
    "layer E1": ConvShape(1, C=1, M=12, H=28, W=28, K=7),
    "layer E2": ConvShape(1, C=12, M=24, H=11, W=11, K=7),
}


class LayerError(ValueError):
    """A layer, or a launch of a kernel for it, that cannot be: the message says what does not fit, and what would."""


def shape_of(name: str, batch: int) -> ConvShape:
    """Return the shape of a layer of LAYERS for ``batch`` images. Raises LayerError for another name."""
    if name not in LAYERS:
        raise LayerError(f"no layer {name!r}; there are {', '.join(map(repr, LAYERS))}")
    return dataclasses.replace(LAYERS[name], B=batch)


# --------------------------------------------------------------------------------------------------------------------
# How the kernels are launched


def _nothing(spec: Conv2d, shape: ConvShape) -> int:
    return 0


def _input_tile(spec: Conv2d, shape: ConvShape) -> int:
    """Bytes of the input cells, halo included, that the outputs of a block need of one channel."""
    columns, rows, _ = spec.tile
    return 4 * (columns + shape.K - 1) * (rows + shape.K - 1)


def _a_float_a_thread(spec: Conv2d, shape: ConvShape) -> int:
    """Bytes of one float for each thread of the block."""
    return 4 * math.prod(spec.block)


def _two_tiles(spec: Conv2d, shape: ConvShape) -> int:
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
    static: Callable[[Conv2d, ConvShape], int] = _nothing
    dynamic: Callable[[Conv2d, ConvShape], int] = _nothing
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
        groups = _ceil(shape.M, maps) * (shape.C if self.channel_blocks else 1)
        return _ceil(across, columns) * _ceil(down, rows), groups, shape.B

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
        _require_stride(self, shape)
        _require_width(self, shape)
        _require_constant(self, shape)
        _require_block(self, shape)
        _require_shared(self, shape, STATIC_SHARED_BYTES if device is None else device.shared_memory_per_block)
        _require_indices(self, shape)
        _require_grid(self, shape)

    def compile(self, shape: ConvShape) -> Compiled:
        """Return the kernel compiled for a shape on the selected device. Raises as `require` does."""
        return Compiled(self, shape)

    def simulate(self, entry: Entry, y: np.ndarray, x: np.ndarray, filter: np.ndarray, shape: ConvShape) -> tuple:
        """Run ``entry(name, *arguments, **launch)`` for each kernel launch, in order, and return what it returns."""
        constants = {"filter": self.arrange(filter)} if self.filter_in == "constant" else {}
        launch = {"grid": self.grid(shape), "block": self.threads(shape), "shared": self.shared(shape)}
        arguments = self.arguments(y, x, filter, shape)
        return (entry(self.name, *arguments, options=self.options(shape), constants=constants, **launch),)


@dataclass(frozen=True)
class Im2colGemm(Conv2d):
    """Two kernels, im2col_basic and gemm_tiled: the unrolled matrix of each image is stored, then multiplied.

    images: how many images each pair of launches takes, None for all; the scratch buffer holds their matrices. threads
    of im2col_basic: ``columns`` a block. tile and block are those of gemm_tiled.
    """

    images: int | None = None
    columns: int = 256

    @property
    def sources(self) -> tuple[str, ...]:
        return "im2col_basic", "gemm_tiled"

    def constant_names(self) -> tuple[str, ...]:
        return ("TILE_WIDTH",)

    def per_launch(self, shape: ConvShape) -> int:
        """Return how many images a pair of launches takes."""
        return min(shape.B, self.images or shape.B)

    def scratch(self, shape: ConvShape) -> int:
        return 4 * self.per_launch(shape) * self.cells(shape)

    def cells(self, shape: ConvShape) -> int:
        """Return how many cells the unrolled matrix of one image has."""
        return shape.terms * shape.out_h * shape.out_w

    def grid(self, shape: ConvShape) -> tuple[int, int, int]:
        """Return the grid of gemm_tiled for a whole launch; im2col_grid is that of im2col_basic."""
        return super().grid(dataclasses.replace(shape, B=self.per_launch(shape)))

    def im2col_grid(self, shape: ConvShape) -> tuple[int, int, int]:
        """Return the grid of im2col_basic: a thread for each column of a matrix and channel."""
        return _ceil(shape.out_h * shape.out_w, self.columns), shape.C, self.per_launch(shape)

    def require(self, shape: ConvShape, device: device.Device | None = None) -> None:
        super().require(shape, device)
        if self.im2col_grid(shape)[1] > kernels.MAX_GRID[1]:
            raise LayerError(f"im2col_basic takes {kernels.MAX_GRID[1]:,} channels, not {shape.C:,}")
        if self.cells(shape) >= INDICES:
            raise LayerError(
                f"the unrolled matrix of one image has {self.cells(shape):,} cells; the kernels count up to {INDICES - 1:,}"
            )

    def compile(self, shape: ConvShape) -> CompiledIm2colGemm:
        return CompiledIm2colGemm(self, shape)

    def im2col_sizes(self, shape: ConvShape) -> tuple:
        """Return what im2col_basic takes after its arrays: B, C, H, W, K."""
        return tuple(map(np.int32, (shape.B, shape.C, shape.H, shape.W, shape.K)))

    def gemm_sizes(self, shape: ConvShape) -> tuple:
        """Return what gemm_tiled takes after its arrays: rows, cols, inner."""
        return tuple(map(np.int32, (shape.M, shape.out_h * shape.out_w, shape.terms)))

    def simulate(self, entry: Entry, y: np.ndarray, x: np.ndarray, filter: np.ndarray, shape: ConvShape) -> tuple:
        found, step = [], self.per_launch(shape)
        for first in range(0, shape.B, step):
            cells, into = x[first : first + step], y[first : first + step]
            part = dataclasses.replace(shape, B=len(cells))
            unrolled = np.full((part.B, part.terms, part.out_h * part.out_w), np.nan, np.float32)
            launch = {"grid": self.im2col_grid(part), "block": (self.columns, 1, 1)}
            found.append(entry("im2col_basic", unrolled, cells, *self.im2col_sizes(part), **launch))
            launch = {"grid": self.grid(part), "block": self.threads(part), "options": self.options(part)}
            found.append(entry("gemm_tiled", into, filter, unrolled, *self.gemm_sizes(part), **launch))
        return tuple(found)


def _staged_tile(spec: RegisterTiled, shape: ConvShape) -> int:
    """Bytes of what conv2d_register_tiled stages at a time: a tile with its halo, of some channels and images."""
    return 4 * spec.patches[2] * spec.staged * math.prod(spec.staged_cells(shape))


@dataclass(frozen=True)
class RegisterTiled(Conv2d):
    """conv2d_register_tiled: all sizes are constants of its compilation, so that each shape has a kernel of its own.

    patch: outputs of a thread along columns and rows, and output maps. patches: of a block along columns and rows, and
    images. staged: channels in shared memory at a time. unroll: rows of the filter in one round of the loop. What is None
    is chosen for the shape (`fitted`).
    """

    patch: tuple[int, int, int] | None = None
    patches: tuple[int, int, int] | None = None
    staged: int | None = None
    unroll: int | None = None

    def constant_names(self) -> tuple[str, ...]:
        return tuple(option[2:].partition("=")[0] for option in self.options(LAYERS["layer 1"]))

    def fitted(self, shape: ConvShape) -> RegisterTiled:
        """Return the record with nothing left to choose: what is None as measured best (`FITTED`), else by `cost`.

        Raises LayerError where nothing that could be chosen can be launched.
        """
        if self.patch and self.patches and self.staged and self.unroll:
            columns, rows, maps = self.patch
            return dataclasses.replace(self, tile=(columns * self.patches[0], rows * self.patches[1], maps))
        return _fit(self, dataclasses.replace(shape, B=1))

    def options(self, shape: ConvShape) -> list[str]:
        spec = self.fitted(shape)
        names = ("CHANNELS", "OUTPUT_MAPS", "HEIGHT", "WIDTH", "FILTER_WIDTH", "PATCH_WIDTH", "PATCH_HEIGHT", "MAPS",
                 "PATCHES_X", "PATCHES_Y", "IMAGES", "STAGED", "UNROLL")  # fmt: skip
        values = (shape.C, shape.M, shape.H, shape.W, shape.K, *spec.patch, *spec.patches, spec.staged, spec.unroll)
        return [f"-D{name}={value}" for name, value in zip(names, values, strict=True)]

    def threads(self, shape: ConvShape) -> tuple[int, int, int]:
        return 32 * _ceil(math.prod(self.fitted(shape).patches), 32), 1, 1

    def grid(self, shape: ConvShape) -> tuple[int, int, int]:
        spec = self.fitted(shape)
        tiles, groups, _ = Conv2d.grid(spec, shape)
        return tiles, groups, _ceil(shape.B, spec.patches[2])

    def arguments(self, y: Any, x: Any, filter: Any, shape: ConvShape) -> tuple:
        return y, x, np.int32(shape.B)

    def arrange(self, filter: np.ndarray) -> np.ndarray:
        """Return the weights as (C, K, K, M), M rounded up to whole patches by zeros."""
        spare = -filter.shape[0] % self.patch[2]
        return np.pad(filter.transpose(1, 2, 3, 0), ((0, 0),) * 3 + ((0, spare),))

    def constant_bytes(self, shape: ConvShape) -> int:
        maps = self.patch[2] if self.patch else 1
        return 4 * shape.terms * maps * _ceil(shape.M, maps)

    def staged_cells(self, shape: ConvShape) -> tuple[int, int]:
        """Return (rows, columns) of the staged tile of one channel, with its halo, rows in whole vectors of 16 bytes."""
        return self.patch[1] * self.patches[1] + shape.K - 1, 4 * _ceil(self.patch[0] * self.patches[0] + shape.K - 1, 4)

    def loads_at_a_time(self, shape: ConvShape) -> int:
        """Return how many rows of the tile a block loads at a time (STEP in the source); 0 where it is too narrow."""
        vector = _vector(shape.W, self.patch[0] * self.patches[0])
        return self.threads(shape)[0] // (self.staged_cells(shape)[1] // vector)

    def require(self, shape: ConvShape, device: device.Device | None = None) -> None:
        _require_width(self, shape)
        _require_constant(self, shape)
        spec = self.fitted(shape)
        if shape.C % spec.staged or (spec.patches[2] > 1 and spec.staged != shape.C):
            raise LayerError(
                f"{self.name} stages {spec.staged} of {shape.C} channels for {spec.patches[2]} images at a time: staged must "
                "divide the channels, and be all of them where a block has several images"
            )
        Conv2d.require(spec, shape, device)
        if spec.loads_at_a_time(shape) < 1:
            raise LayerError(
                f"{self.name} with {spec.threads(shape)[0]} threads cannot load a row of {spec.staged_cells(shape)[1]} cells "
                "at once: take more patches along rows, or fewer along columns"
            )

    def compile(self, shape: ConvShape) -> Compiled:
        return Compiled(self.fitted(shape), shape)

    def simulate(self, entry: Entry, y: np.ndarray, x: np.ndarray, filter: np.ndarray, shape: ConvShape) -> tuple:
        return Conv2d.simulate(self.fitted(shape), entry, y, x, filter, shape)

    def cost(self, shape: ConvShape) -> float:
        """Return an estimate of instructions per useful multiply-add, for a record with nothing left to choose.

        Counted from the source: multiply-adds, loads from the tile and of weights, staging, stores; idle threads and outputs
        beyond the edge included. The last factor stands for what few resident warps cannot hide; it is a guess, set so that
        the order of the measured ones comes out. Infinite where the kernel cannot be launched so.
        """
        try:
            self.require(shape)
        except LayerError:
            return math.inf
        columns, rows, maps = self.patch
        sums, threads = math.prod(self.patch), self.threads(shape)[0]
        parts = _ceil(columns + shape.K - 1, _vector(0, columns))
        registers = min(255, 8 * _ceil(sums + (rows + 1) * (columns + shape.K) + 24, 8))
        resident = min(65536 // (registers * threads), 227 * 1024 // (_staged_tile(self, shape) + 1024)) * threads // 32
        if resident < 8:
            return math.inf
        of_a_row = shape.K * sums + rows * parts + shape.K * _ceil(maps, 2) + 8
        staging = _ceil(self.patches[2] * shape.C * self.staged_cells(shape)[0], self.loads_at_a_time(shape))
        instructions = shape.C * shape.K * of_a_row + 4 * staging + sums // 2 + 60
        blocks = math.prod(self.grid(shape)[:2]) / self.patches[2]
        return blocks * threads * instructions / (shape.M * shape.out_h * shape.out_w * shape.terms) * (1 + 2 / resident)


@functools.cache
def _fit(spec: RegisterTiled, shape: ConvShape) -> RegisterTiled:
    fixed = {name: value for name in ("patch", "patches", "staged", "unroll") if (value := getattr(spec, name)) is not None}
    known = next((FITTED[name] for name, layer in LAYERS.items() if layer == shape), None)
    choices = [{**choice, **fixed} for choice in ([known] if known else _choices(shape, fixed.get("patch")))]
    best = min((dataclasses.replace(spec, **choice) for choice in choices), key=lambda one: one.cost(shape))
    if not known and math.isinf(best.cost(shape)):
        raise LayerError(
            f"{spec.name} has no patch and block for {shape}: the filter must fit {CONSTANT_BYTES:,} bytes of constant memory, "
            f"its maps rounded up to a patch's, and a tile {STATIC_SHARED_BYTES:,} bytes of shared memory"
        )
    return best.fitted(shape)


def _choices(shape: ConvShape, patch: tuple[int, int, int] | None) -> Iterator[dict[str, Any]]:
    """Patches of up to 72 sums, in blocks as wide as the output (or 32 columns and more), of up to 512 patches."""
    sizes = itertools.product((1, 2, 3, 4, 5, 8), (1, 2, 3, 4), (1, 2, 3, 4, 6, 8, 12, 16, 24))
    most = (shape.out_w, shape.out_h, shape.M)
    fitting = (size for size in sizes if math.prod(size) <= 72 and all(map(operator.le, size, most)))
    for columns, rows, maps in [patch] if patch else fitting:
        unroll = shape.K if columns * rows * maps * shape.K**2 <= 1600 else 1
        widest, highest = _ceil(shape.out_w, columns), _ceil(shape.out_h, rows)
        for across, down in itertools.product({widest, min(widest, _ceil(32, columns))}, {highest, *range(1, min(highest, 24))}):
            for images in (1, 2, 4, 6) if (across, down) == (widest, highest) else (1,):
                if across * down * images <= 512:
                    one = {"patch": (columns, rows, maps), "patches": (across, down, images), "unroll": unroll}
                    yield from ({**one, "staged": staged} for staged in {1, shape.C} if images == 1 or staged == shape.C)


def _vector(width: int, tile: int) -> int:
    """Floats that one access can move where rows are ``width`` and tiles ``tile`` columns wide."""
    return next(n for n in (4, 2, 1) if width % n == 0 and tile % n == 0)


def channels_tree(tile_width: int = 16, threads: int = 4) -> Conv2d:
    """The record of conv2d_channels_tree with ``threads`` threads an output: a power of two, at most 64."""
    return Conv2d(
        "conv2d_channels_tree",
        block=(tile_width, tile_width, threads),
        tile=(tile_width, tile_width, 1),
        constants=(("CHANNEL_THREADS", threads),),
        static=_a_float_a_thread,
    )


def channels_shuffle(lanes: int = 4, rows: int = 8) -> Conv2d:
    """The record of conv2d_channels_shuffle with ``lanes`` lanes an output: a divisor of 32; ``rows`` warps a block."""
    return Conv2d(
        "conv2d_channels_shuffle",
        block=(32 // lanes, lanes, rows),
        tile=(32 // lanes, rows, 1),
        constants=(("CHANNEL_LANES", lanes), ("TILE_ROWS", rows)),
    )


@dataclass(frozen=True)
class HalfInputs(Conv2d):
    """A kernel that takes x and the filter as half: to_half makes them, in launches before its own.

    Callers hand over float32 as to any other kernel; the halves are scratch memory. `CompiledHalf.convert` and `.convolve` are
    the two steps one by one. paired: the filter is arranged on the host, once, with the output maps of a tile innermost.
    """

    paired: bool = False

    @property
    def sources(self) -> tuple[str, ...]:
        return "to_half", self.name

    def arrange(self, filter: np.ndarray) -> np.ndarray:
        """Return the filter as half: as it is, or paired, (M / maps, C, K, K, maps), M rounded up to whole tiles by zeros."""
        if not self.paired:
            return filter.astype(np.float16)
        (M, C, K, _), maps = filter.shape, self.tile[2]
        whole = np.zeros((maps * _ceil(M, maps), C, K, K), np.float16)
        whole[:M] = filter
        return np.ascontiguousarray(whole.reshape(-1, maps, C, K, K).transpose(0, 2, 3, 4, 1))

    def filter_bytes(self, shape: ConvShape) -> int:
        """Return the bytes of the filter as half."""
        maps = self.tile[2] * _ceil(shape.M, self.tile[2]) if self.paired else shape.M
        return 2 * shape.terms * maps

    def scratch(self, shape: ConvShape) -> int:
        return 2 * math.prod(shape.x_shape) + self.filter_bytes(shape)

    def conversion(self, count: int) -> dict[str, tuple[int, int, int]]:
        """Return grid and block of to_half for ``count`` values."""
        return {"grid": (min(_ceil(count, 512), 2**20), 1, 1), "block": (256, 1, 1)}

    def compile(self, shape: ConvShape) -> CompiledHalf:
        return CompiledHalf(self, shape)

    def simulate(self, entry: Entry, y: np.ndarray, x: np.ndarray, filter: np.ndarray, shape: ConvShape) -> tuple:
        found, halves = [], []
        for array in (x,) if self.paired else (x, filter):
            half = np.full(array.shape, np.nan, np.float16)
            found.append(entry("to_half", half, array, np.int64(array.size), **self.conversion(array.size)))
            halves.append(half)
        weights = self.arrange(filter) if self.paired else halves[1]
        launch = {"grid": self.grid(shape), "block": self.threads(shape), "options": self.options(shape)}
        found.append(entry(self.name, *self.arguments(y, halves[0], weights, shape), **launch))
        return tuple(found)


@dataclass(frozen=True)
class Wmma(Conv2d):
    """conv2d_wmma: all sizes are constants of its compilation. float32 in and out; the kernel itself rounds.

    warps: of a block. rows: output maps of a fragment, 8 or 16; None takes 8 where that is all there are. buffers: 2 to gather a
    step while another is multiplied, or 1. skew: bytes between rows in shared memory, times 16. tf32: TF32 in place of half.
    """

    warps: int = 8
    rows: int | None = None
    buffers: int = 2
    skew: int = 16
    tf32: bool = False

    def constant_names(self) -> tuple[str, ...]:
        return tuple(option[2:].partition("=")[0] for option in self.options(LAYERS["layer 1"]))

    def fragment_rows(self, shape: ConvShape) -> int:
        """Return ROWS: the output maps of a fragment."""
        return self.rows or (8 if shape.M <= 8 and not self.tf32 else 16)

    def depth(self, shape: ConvShape) -> int:
        """Return C K K rounded up to whole steps of a fragment."""
        step = 8 if self.tf32 else 16
        return step * _ceil(shape.terms, step)

    def options(self, shape: ConvShape) -> list[str]:
        names = ("CHANNELS", "OUTPUT_MAPS", "HEIGHT", "WIDTH", "FILTER_WIDTH", "ROWS", "WARPS", "BUFFERS", "SKEW_BYTES", "TF32")
        values = (shape.C, shape.M, shape.H, shape.W, shape.K, self.fragment_rows(shape), self.warps, self.buffers, self.skew)
        return [f"-D{name}={value}" for name, value in zip(names, (*values, int(self.tf32)), strict=True)]

    def threads(self, shape: ConvShape) -> tuple[int, int, int]:
        return 32 * self.warps, 1, 1

    def grid(self, shape: ConvShape) -> tuple[int, int, int]:
        return 1, _ceil(shape.M, self.fragment_rows(shape)), shape.B

    def shared(self, shape: ConvShape) -> int:
        size, rows = 4 if self.tf32 else 2, self.fragment_rows(shape)
        columns = max(self.buffers * 32 * (32 + self.skew), 160 * rows)  # a step of 32 columns has 32 bytes each
        return rows * (size * self.depth(shape) + self.skew) + self.warps * columns + size * math.prod(shape.x_shape[1:])

    def arguments(self, y: Any, x: Any, filter: Any, shape: ConvShape) -> tuple:
        return y, x, filter

    def require(self, shape: ConvShape, device: device.Device | None = None) -> None:
        if self.fragment_rows(shape) != 16 and (self.tf32 or (self.rows != 8 and self.rows is not None)):
            raise LayerError(f"{self.name} has fragments of 8 or 16 maps, of TF32 only 16: rows = {self.rows}")
        if self.buffers not in (1, 2) or self.skew % 16:
            raise LayerError(f"{self.name} has 1 or 2 buffers and a skew of whole 16 bytes: {self.buffers} and {self.skew}")
        super().require(shape, device)
        if (needed := self.shared(shape)) > MOST_SHARED_BYTES:
            raise LayerError(
                f"{self.name} stages an image and its filters in {needed:,} bytes of shared memory; a block of a Hopper GPU has "
                f"{MOST_SHARED_BYTES:,}. {PLAINEST} takes any size."
            )


def wmma(tf32: bool = False, **how: Any) -> Wmma:
    """The record of conv2d_wmma; ``how`` are fields of `Wmma`."""
    kind = precision.TF32_TENSOR if tf32 else precision.HALF_TENSOR
    return Wmma("conv2d_wmma", tile=(32, 1, 16), precision=kind, tf32=tf32, **how)


def half2(maps: int = 4, columns: int = 4, chain: str = "row") -> HalfInputs:
    """The record of conv2d_half2 with patches of ``columns`` outputs of ``maps`` maps, an even number.

    chain: what is added up in half, a "row" of the filter or "all".
    """
    return HalfInputs(
        "conv2d_half2",
        tile=(16 * columns, 16, maps),
        width_in="constant",
        constants=(("PATCH_WIDTH", columns), ("CHAIN", int(chain == "row"))),
        largest_width=15,
        precision=precision.HALF_ROWS if chain == "row" else precision.HALF_SUMS,
        paired=True,
    )


CONV2D: tuple[Conv2d, ...] = (
    Conv2d("conv2d_basic", strides=True),
    Conv2d("conv2d_uncoalesced"),
    Conv2d("conv2d_constant", filter_in="constant"),
    Conv2d("conv2d_tiled", filter_in="constant", dynamic=_input_tile),
    Conv2d("conv2d_tiled_maps", tile=(16, 16, 4), filter_in="constant", dynamic=_input_tile),
    Conv2d("conv2d_restrict"),
    Conv2d("conv2d_unrolled", width_in="constant"),
    Im2colGemm("im2col_gemm", tile=(16, 1, 16), flat=True, static=_two_tiles),
    Conv2d("conv2d_implicit_gemm", tile=(16, 1, 16), flat=True, static=_two_tiles),
    Conv2d("conv2d_implicit_gemm_fast", tile=(16, 1, 16), flat=True, static=_two_tiles, width_in="constant"),
    Conv2d("conv2d_channels_atomics", channel_blocks=True, zeroed=True),
    channels_tree(),
    channels_shuffle(),
    Conv2d(
        "conv2d_register",
        tile=(64, 16, 4),
        width_in="constant",
        constants=(("PATCH_WIDTH", 4),),
        largest_width=15,
    ),
    RegisterTiled("conv2d_register_tiled", filter_in="constant", static=_staged_tile, largest_width=15),
)

# They take float32 and give float32, and are only as exact as their `precision` says.
REDUCED: tuple[Conv2d, ...] = (
    Conv2d("conv2d_half_inside", precision=precision.HALF),
    HalfInputs("conv2d_half", precision=precision.HALF),
    half2(),
    wmma(),
)

# Of conv2d_register_tiled on an H200: the fastest of the configurations that lab 14 sweeps.
FITTED: dict[str, dict[str, Any]] = {
    "layer 1": {"patch": (4, 2, 4), "patches": (20, 8, 1), "staged": 1, "unroll": 7},
    "layer 2": {"patch": (4, 2, 8), "patches": (9, 17, 1), "staged": 4, "unroll": 1},
    "layer E1": {"patch": (2, 1, 12), "patches": (11, 11, 1), "staged": 1, "unroll": 7},
    "layer E2": {"patch": (3, 1, 24), "patches": (2, 5, 6), "staged": 12, "unroll": 1},
}


@dataclass(frozen=True)
class ScaledHalf(Precision):
    """Half of what is scaled by a power of two first, as `power_of_two` says, and back after: small values lose no digits."""

    def rounded(self, values: np.ndarray) -> np.ndarray:
        scale = np.float32(power_of_two(values))
        return super().rounded(np.asarray(values, np.float32) * scale) / scale


def power_of_two(weights: np.ndarray) -> float:
    """Return the power of two that takes the largest weight to 2^13 and above: half is far from both ends of its range there."""
    largest = float(np.abs(weights).max(initial=0))
    return 2.0 ** (13 - math.floor(math.log2(largest))) if largest else 1.0


ANY_SHAPE = "conv2d_register_tiled takes any shape"  # what is said where a kernel for some shapes refuses one


@dataclass(frozen=True)
class TensorLayer(Conv2d):
    """A layer by persistent blocks on tensor cores, weights in the order of A's registers.

    parts: 1 takes x and the filter as half (precision ScaledHalf), 2 as sums of two halves, which has FP32's accuracy.
    half_io: x and y are float16 (`simulate` and `Compiled.launch` take them; the functions on host arrays know float32 only).
    warps: of a block; resident: blocks of a multiprocessor. blocks: of a group of maps; None for as many as are resident on the
    device.
    """

    parts: int = 2
    half_io: bool = False
    warps: int = 8
    resident: int = 2
    blocks: int | None = None

    def constant_names(self) -> tuple[str, ...]:
        return tuple(option[2:].partition("=")[0] for option in self.options(LAYERS["layer 1"])[1:])

    def options(self, shape: ConvShape) -> list[str]:
        values = {"CHANNELS": shape.C, "OUTPUT_MAPS": shape.M, "HEIGHT": shape.H, "WIDTH": shape.W, "FILTER_WIDTH": shape.K,
                  "PARTS": self.parts, "HALF_IO": int(self.half_io), "WARPS": self.warps, "RESIDENT": self.resident}  # fmt: skip
        return [f"-I{kernels.FOLDER}", *(f"-D{name}={value}" for name, value in values.items())]

    def threads(self, shape: ConvShape) -> tuple[int, int, int]:
        return 32 * self.warps, 1, 1

    def grid(self, shape: ConvShape) -> tuple[int, int, int]:
        blocks = self.blocks or self.resident * device.select().multiprocessors
        return min(shape.B, blocks), _ceil(shape.M, self.tile[2]), 1

    def staged(self, pairs: int, cells: int) -> int:
        """Return the bytes of shared memory for an image, ``pairs`` words a part, and for the next one's ``cells``, as they are."""
        halves = 128 * _ceil(pairs, 32)
        arriving = halves + 128 if self.half_io else 128 * _ceil(cells, 32)
        return arriving + self.parts * halves + 128

    def arguments(self, y: Any, x: Any, filter: Any, shape: ConvShape) -> tuple:
        return y, x, np.int32(shape.B)

    def constant_bytes(self, shape: ConvShape) -> int:
        return 0  # the symbol lies in global memory

    def piece(self, shape: ConvShape) -> int:
        """Return how many outputs leave shared memory as one piece."""
        raise NotImplementedError

    def fragments(self, parts: np.ndarray) -> np.ndarray:
        """Return weights, float16, shape (parts, M, C, K, K), as fragments of A: the last axes are lanes, registers, halves."""
        raise NotImplementedError

    def arrange(self, filter: np.ndarray) -> np.ndarray:
        """Return the weights as `fragments`, and behind them 1 / scale in 16 bytes: what the symbol ``filter`` holds."""
        scale = power_of_two(filter)
        scaled = filter * np.float32(scale)
        high = scaled.astype(np.float16)
        parts = np.stack([high, (scaled - high.astype(np.float32)).astype(np.float16)][: self.parts])
        inverse = np.array([1 / scale, 0, 0, 0], np.float32)
        return np.concatenate([np.ascontiguousarray(self.fragments(parts)).view(np.uint8).ravel(), inverse.view(np.uint8)])

    def require(self, shape: ConvShape, device: device.Device | None = None) -> None:
        if shape.K not in (3, 5, 7) or shape.H % 2 or shape.W % 2:
            raise LayerError(f"{self.name} takes K = 3, 5 or 7 and even rows and columns, not {shape}; {ANY_SHAPE}")
        if self.parts not in (1, 2) or (self.half_io and self.parts == 2):
            told = f"parts = {self.parts}, half_io = {self.half_io}"
            raise LayerError(f"{self.name} has parts = 1 or 2, and 1 where x is half: {told}")
        if self.half_io and self.piece(shape) % 8:
            told = f"writes float16 in pieces of whole vectors of 8, not of {self.piece(shape)} outputs"
            raise LayerError(f"{self.name} {told}; {ANY_SHAPE}")
        if device is not None and device.compute_capability < (8, 0):
            major, minor = device.compute_capability
            raise LayerError(
                f"{self.name} needs compute capability 8.0, and {device.name} has {major}.{minor}; {ANY_SHAPE}"
            )
        if (needed := self.shared(shape)) > MOST_SHARED_BYTES:
            raise LayerError(
                f"{self.name} holds an image, and weights or outputs, in {needed:,} bytes of shared memory on {shape}; a block "
                f"of a Hopper GPU has {MOST_SHARED_BYTES:,}. {ANY_SHAPE}."
            )
        super().require(shape, device)

    def simulate(self, entry: Entry, y: np.ndarray, x: np.ndarray, filter: np.ndarray, shape: ConvShape) -> tuple:
        launch = {"grid": self.grid(shape), "block": self.threads(shape), "shared": self.shared(shape)}
        constants = {"filter": self.arrange(filter)}
        return (entry(self.name, y, x, np.int32(shape.B), options=self.options(shape), constants=constants, **launch),)


class Quads(TensorLayer):
    """conv2d_mma_quads: a column of B serves four outputs, a block 4 maps of one channel."""

    def options(self, shape: ConvShape) -> list[str]:
        return [*super().options(shape), f"-DBANDS={self.bands(shape)}"]

    def bands(self, shape: ConvShape) -> int:
        """Return into how many bands an image's outputs are cut: the fewest that let ``resident`` blocks share the memory."""
        counts = [bands for bands in range(1, shape.out_h // 2 + 1) if shape.out_h // 2 % bands == 0]
        most = MULTIPROCESSOR_SHARED_BYTES // self.resident - 1024
        return next((bands for bands in counts if self.shared_of(shape, bands) <= most), counts[-1])

    def shared_of(self, shape: ConvShape, bands: int) -> int:
        """Return the bytes of dynamic shared memory of a launch, of outputs in so many bands."""
        plane, band = shape.H * shape.W // 2, shape.out_h * shape.out_w // bands
        pitch = 128 * _ceil((2 if self.half_io else 4) * band + 64, 128) - 64
        return self.staged(plane, 2 * plane) + 4 * pitch

    def shared(self, shape: ConvShape) -> int:
        return self.shared_of(shape, self.bands(shape))

    def piece(self, shape: ConvShape) -> int:
        return shape.out_h // self.bands(shape) * shape.out_w

    def fragments(self, parts: np.ndarray) -> np.ndarray:
        _, M, _, K, _ = parts.shape
        found = np.zeros((_ceil(M, 4), (K + 1) // 2, len(parts), 32, 4, 2), np.float16)
        for step, lane, register, half in itertools.product(range((K + 1) // 2), range(32), range(4), range(2)):
            p, q = 2 * step + register // 2 - lane // 4 % 2, lane % 4 * 2 + half - register % 2
            if 0 <= p < K and 0 <= q < K:
                maps = parts[:, lane // 8 :: 4, 0, p, q]
                found[: maps.shape[1], step, :, lane, register, half] = maps.T
        return found

    def require(self, shape: ConvShape, device: device.Device | None = None) -> None:
        if shape.C != 1:
            raise LayerError(f"{self.name} takes one channel, not {shape.C}: take conv2d_mma_pairs; {ANY_SHAPE}")
        super().require(shape, device)


class Pairs(TensorLayer):
    """conv2d_mma_pairs, and conv2d_mma_halves: a column of B serves two outputs, a block 16 maps.

    The one has FP32 accuracy (parts = 2) and its weights in shared memory, the other halves, and its weights in registers.
    """

    def shared(self, shape: ConvShape) -> int:
        plane = shape.H * shape.W // 2
        weights = 512 * len(_steps(shape)) * 2 * 2 if self.parts == 2 else 0
        cells = self.staged(2 * _ceil(shape.C, 2) * plane, 2 * shape.C * plane)
        return weights + cells + 16 * shape.out_h * shape.out_w * (2 if self.half_io else 4)

    def piece(self, shape: ConvShape) -> int:
        return shape.M * shape.out_h * shape.out_w

    def fragments(self, parts: np.ndarray) -> np.ndarray:
        _, M, C, K, _ = parts.shape
        steps = _steps(ConvShape(1, C, M, K, K, K))
        found = np.zeros((_ceil(M, 16), len(steps), 2, len(parts), 32, 4, 2), np.float16)
        for (n, rows), shift, lane, register, half in itertools.product(enumerate(steps), range(2), range(32), range(4), range(2)):
            (c, p), q = rows[register // 2], lane % 4 * 2 + half - shift
            if c < C and 0 <= q < K:
                maps = parts[:, lane // 4 + register % 2 * 8 :: 16, c, p, q]
                found[: maps.shape[1], n, shift, :, lane, register, half] = maps.T
        return found

    def require(self, shape: ConvShape, device: device.Device | None = None) -> None:
        if self.parts == 1 and shape.C > 4:
            raise LayerError(f"{self.name} holds the weights of 4 channels in registers, not of {shape.C}; {ANY_SHAPE}")
        super().require(shape, device)


def _steps(shape: ConvShape) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """The two filter rows, as (channel, row), of each step of conv2d_mma_pairs: two channels have 2 K rows."""
    rows = [(c, p) for c in range(2 * _ceil(shape.C, 2)) for p in range(shape.K)]
    return list(zip(rows[::2], rows[1::2], strict=True))


def mma_pairs() -> TensorLayer:
    """The record of conv2d_mma_pairs, for layers of many maps in FP32 accuracy."""
    return Pairs("conv2d_mma_pairs", tile=(2, 1, 16), filter_in="constant", warps=12, resident=1)


def mma_halves(half_io: bool = False) -> TensorLayer:
    """The record of conv2d_mma_halves, for layers of many maps in halves."""
    more = {"parts": 1, "half_io": half_io, "warps": 6}
    return Pairs("conv2d_mma_halves", tile=(2, 1, 16), filter_in="constant", precision=SCALED_HALF, **more)


def mma_quads(parts: int = 2, half_io: bool = False) -> TensorLayer:
    """The record of conv2d_mma_quads, for a layer of one channel."""
    how = {"precision": SCALED_HALF} if parts == 1 else {}
    return Quads("conv2d_mma_quads", tile=(2, 2, 4), filter_in="constant", parts=parts, half_io=half_io, **how)


SCALED_HALF = ScaledHalf("half inputs, scaled, float32 sums of tensor cores", "half", tensor=True)
# For some shapes only, and only as persistent as a GPU is large: beside CONV2D, not in it.
FASTEST: tuple[TensorLayer, ...] = (mma_pairs(), mma_quads(), mma_halves())


def conv2d_named(name: str) -> Conv2d:
    """Return the row of CONV2D, REDUCED or FASTEST with that name. Raises LayerError where there is none."""
    named = {spec.name: spec for spec in (*CONV2D, *REDUCED, *FASTEST)}
    if name not in named:
        raise LayerError(f"no convolution layer kernel {name!r}; there are {', '.join(named)}")
    return named[name]


def _spec(kernel: str | Conv2d) -> Conv2d:
    return conv2d_named(kernel) if isinstance(kernel, str) else kernel


def _ceil(cells: int, tile: int) -> int:
    return -(-cells // tile)


# --------------------------------------------------------------------------------------------------------------------
# What is refused


def _require_stride(spec: Conv2d, shape: ConvShape) -> None:
    if shape.stride != 1 and not spec.strides:
        strided = ", ".join(other.name for other in CONV2D if other.strides)
        raise LayerError(f"{spec.name} moves the filter cell by cell, the stride asked for is {shape.stride}: take {strided}")


def _require_width(spec: Conv2d, shape: ConvShape) -> None:
    if spec.largest_width is not None and spec.largest_width < shape.K:
        raise LayerError(
            f"{spec.name} takes filters up to K = {spec.largest_width}, not {shape.K}: its registers hold a row of cells. "
            f"{PLAINEST} takes any width."
        )


def _require_constant(spec: Conv2d, shape: ConvShape) -> None:
    needed = spec.constant_bytes(shape)
    if needed > CONSTANT_BYTES:
        maps = CONSTANT_BYTES // (4 * shape.terms)
        part = f"launch it for {maps:,} output maps at a time" if maps else "not even one output map's weights fit"
        raise LayerError(
            f"{spec.name} keeps the filter in constant memory, which holds {CONSTANT_BYTES:,} bytes: the filter of shape "
            f"{shape.filter_shape} has {needed:,}. {part[0].upper()}{part[1:]}, or take a kernel that reads the filter "
            "from global memory."
        )


def _require_block(spec: Conv2d, shape: ConvShape) -> None:
    block = spec.threads(shape)
    try:
        kernels.grid_for(1, block)
    except kernels.GridError as error:
        raise LayerError(f"{spec.name}: {error}") from None


def _require_shared(spec: Conv2d, shape: ConvShape, most: int) -> None:
    needed = spec.static(spec, shape)
    if needed > most:
        raise LayerError(
            f"{spec.name} with tiles of {' x '.join(map(str, spec.tile[:2]))} outputs and K = {shape.K} needs {needed:,} "
            f"bytes of static shared memory; a block has {most:,}. Take smaller tiles: with_tile(8)."
        )


def _require_indices(spec: Conv2d, shape: ConvShape) -> None:
    """Kernels count the cells of one image in an int; where an image begins is 64 bits."""
    for what, size in (
        ("one image", shape.x_shape[1:]),
        ("the filter", shape.filter_shape),
        ("one image's outputs", shape.y_shape[1:]),
    ):
        if math.prod(size) >= INDICES:
            raise LayerError(
                f"{spec.name} counts cells in an int, up to {INDICES - 1:,}; {what} of shape {size} has {math.prod(size):,}: "
                "convolve parts of it"
            )


def _require_grid(spec: Conv2d, shape: ConvShape) -> None:
    grid = spec.grid(shape)
    for axis, blocks, most in zip("xyz", grid, kernels.MAX_GRID, strict=True):
        if blocks <= most:
            continue
        hint = {
            "x": "convolve parts of the image",
            "y": f"launch it for {most * spec.tile[2]:,} output maps at a time",
            "z": f"pass chunk={most} to layer.convolve, or launch it for {most:,} images at a time",
        }
        raise LayerError(f"{spec.name} on {shape} needs a grid of {grid}; CUDA allows {most:,} along {axis}: {hint[axis]}")


def _require_memory(spec: Conv2d, shape: ConvShape, free: int, more: Callable[[ConvShape], int] | None = None) -> None:
    """Raise LayerError unless what a launch needs (and ``more`` of a shape) fits into ``free`` bytes."""

    def needed(images: int) -> int:
        part = dataclasses.replace(shape, B=images)
        return spec.memory(part) + (more(part) if more else 0)

    if needed(shape.B) <= SPARE * free:
        return
    images = next((n for n in _fewer(shape.B) if needed(n) <= SPARE * free), 0)
    advice = f"pass chunk={images} to layer.convolve: {needed(images):,} bytes at a time" if images else "not even one image fits"
    if more and images:
        advice = f"take {images:,} images"
    raise LayerError(f"{spec.name} on {shape} needs {needed(shape.B):,} bytes of device memory, and {free:,} are free: {advice}")


def _fewer(images: int) -> Iterator[int]:
    """Numbers of images below ``images``, downwards: 1, 2 and 5 times a power of ten, so that advice is round."""
    power = 10 ** len(str(images))
    while power:
        yield from (n for n in (5 * power, 2 * power, power) if n < images)
        power //= 10


def shape_for(x: np.ndarray, filter: np.ndarray, stride: int = 1) -> ConvShape:
    """Return the shape of the layer that x and filter make, float32, shapes (B, C, H, W) and (M, C, K, K), C order.

    Raises TypeError for something that is no array or has another dtype; LayerError for another rank, an empty or
    non-contiguous array, a filter that is not square, unequal numbers of channels, a filter larger than the image, or a
    stride below 1.
    """
    try:
        for array, name in ((x, "x"), (filter, "filter")):
            checking.require_array(array, dtype=np.float32, ndim=4, name=name)
        (B, C, H, W), (M, channels, K, across) = x.shape, filter.shape
        if across != K:
            raise LayerError(f"the filter has {K} rows and {across} columns (shape {filter.shape}); the kernels take square ones")
        if channels != C:
            raise LayerError(
                f"x has {C} channels (shape {x.shape}) and the filter {channels} (shape {filter.shape}): they must be the same. "
                "x is (images, channels, rows, columns), the filter (output maps, channels, rows, columns)."
            )
        return ConvShape(B, C, M, H, W, K, stride)
    except LayerError:
        raise
    except ValueError as error:
        raise LayerError(str(error)) from None


# --------------------------------------------------------------------------------------------------------------------
# Launching


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
        if self.shared <= STATIC_SHARED_BYTES:
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


class CompiledIm2colGemm(Compiled):
    """im2col_basic and gemm_tiled, and a scratch buffer between them, which `free` gives back."""

    def __init__(self, spec: Im2colGemm, shape: ConvShape):
        spec.require(shape, device.select())
        import pycuda.driver as cuda

        self.spec, self.shape, self._cuda = spec, shape, cuda
        self._im2col = self._load("im2col_basic", [])
        self._gemm = self._load("gemm_tiled", spec.options(shape))
        self.block, self.shared = spec.threads(shape), 0
        needed, free = spec.scratch(shape), cuda.mem_get_info()[0]
        if needed > free:
            fitting = free // (4 * spec.cells(shape))
            advice = f"take dataclasses.replace(spec, images={fitting})" if fitting else "not even that of one image fits"
            raise LayerError(f"the unrolled matrices of {shape} take {needed:,} bytes, and {free:,} are free: {advice}")
        self.unrolled = cuda.mem_alloc(needed)

    def upload(self, filter: Any, stream: Any = None) -> None:
        """Nothing: the filter is read from global memory."""

    def launch(self, y: int, x: int, filter: int, stream: Any = None) -> None:
        """Enqueue both kernels, for ``spec.images`` images at a time."""
        step = self.spec.per_launch(self.shape)
        for first in range(0, self.shape.B, step):
            part = dataclasses.replace(self.shape, B=min(step, self.shape.B - first))
            at = [int(array) + 4 * first * math.prod(shape[1:]) for array, shape in ((y, part.y_shape), (x, part.x_shape))]
            self.im2col(at[1], part, stream)
            self.gemm(at[0], filter, part, stream)

    def im2col(self, x: int, shape: ConvShape, stream: Any = None) -> None:
        """Enqueue im2col_basic alone: x to the scratch buffer."""
        arguments = (self.unrolled, np.uintp(int(x)), *self.spec.im2col_sizes(shape))
        self._im2col[1](*arguments, block=(self.spec.columns, 1, 1), grid=self.spec.im2col_grid(shape), stream=stream)

    def gemm(self, y: int, filter: int, shape: ConvShape, stream: Any = None) -> None:
        """Enqueue gemm_tiled alone: filter times the scratch buffer to y."""
        arguments = (np.uintp(int(y)), np.uintp(int(filter)), self.unrolled, *self.spec.gemm_sizes(shape))
        self._gemm[1](*arguments, block=self.block, grid=self.spec.grid(shape), stream=stream)

    def free(self) -> None:
        """Free the scratch buffer."""
        self.unrolled.free()


@functools.lru_cache(maxsize=4)
def _to_half(source: str, on: device.Device) -> tuple[Any, Any]:
    """(module, function) of to_half. PyCUDA runs nvcc's preprocessor for a source with #include, cached or not: once is enough."""
    from pycuda.compiler import SourceModule

    module = SourceModule(source, no_extern_c=True)
    return module, module.get_function("to_half")


class CompiledHalf(Compiled):
    """to_half and a kernel that takes halves, and scratch buffers for these, which `free` gives back."""

    def __init__(self, spec: HalfInputs, shape: ConvShape):
        super().__init__(spec, shape)
        self._to_half = _to_half(kernels.source("to_half"), device.selected())[1]
        needed, free = spec.scratch(shape), self._cuda.mem_get_info()[0]
        if needed > free:
            raise LayerError(f"{spec.name} keeps halves of x in {needed:,} bytes, and {free:,} are free: take fewer images")
        self._x, self._filter = map(self._cuda.mem_alloc, (2 * math.prod(shape.x_shape), spec.filter_bytes(shape)))

    def upload(self, filter: Any, stream: Any = None) -> None:
        """Fill the halves of a paired filter from a NumPy array or a device address. Nothing for another."""
        if not self.spec.paired:
            return
        self._cuda.memcpy_htod(self._filter, self.spec.arrange(self._on_host(filter)))

    def launch(self, y: int, x: int, filter: int, stream: Any = None) -> None:
        """Enqueue the conversion of x and filter, and the layer. A paired filter is arranged when its address is a new one."""
        self.convert(x, filter, stream)
        self.convolve(y, stream)

    def convert(self, x: int, filter: int, stream: Any = None) -> None:
        """Enqueue to_half alone, on x and on a filter that is not paired."""
        if self.spec.paired and self._uploaded != int(filter):
            self.upload(filter, stream)
            self._uploaded = int(filter)
        arrays = [(self._x, x, self.shape.x_shape), (self._filter, filter, self.shape.filter_shape)]
        for half, array, extents in arrays[:1] if self.spec.paired else arrays:
            count = math.prod(extents)
            self._to_half(half, np.uintp(int(array)), np.int64(count), **self.spec.conversion(count), stream=stream)

    def convolve(self, y: int, stream: Any = None) -> None:
        """Enqueue the layer alone, on what `convert` made last."""
        arguments = self.spec.arguments(np.uintp(int(y)), self._x, self._filter, self.shape)
        self.function(*arguments, block=self.block, grid=self.grid, shared=self.shared, stream=stream)

    def free(self) -> None:
        """Free the halves."""
        self._x.free()
        self._filter.free()


def compile(kernel: str | Conv2d, shape: ConvShape) -> Compiled:
    """Return a kernel, by name or by its record, compiled for a shape on the selected device.

    Raises LayerError for what `Conv2d.require` refuses, and where the compiled kernel needs more registers than its block
    has, or more shared memory than the device.
    """
    return _spec(kernel).compile(shape)


def convolve(kernel: str | Conv2d, x: np.ndarray, filter: np.ndarray, stride: int = 1, chunk: int | None = None) -> np.ndarray:
    """Return y, float32, shape (B, M, out_h, out_w), made by a kernel on the selected device.

    x: float32, (B, C, H, W); filter: float32, (M, C, K, K); both in C order. chunk: images on the device at a time, all of
    them where it is left out. Raises before the launch: TypeError for another dtype; LayerError for arrays that make no
    layer (see `shape_for`), a kernel that does not take it (see `Conv2d.require`), and a batch that does not fit the
    device's memory, in which case the message offers a chunk.
    """
    spec, shape = _spec(kernel), shape_for(x, filter, stride)
    device.select()
    import pycuda.driver as cuda

    images = _require_chunk(chunk, shape.B)
    first_part = dataclasses.replace(shape, B=images)
    spec.require(first_part, device.selected())
    _require_memory(spec, first_part, cuda.mem_get_info()[0])
    y = np.empty(shape.y_shape, np.float32)
    for first in range(0, shape.B, images):
        _convolve_part(cuda, spec, x[first : first + images], filter, stride, y[first : first + images])
    return y


def simulate(
    kernel: str | Conv2d,
    x: np.ndarray,
    filter: np.ndarray,
    stride: int = 1,
    *,
    entry: Callable[..., Any] = simulator.profile,
    instead: Mapping[str, tuple[str, str]] | None = None,
    **more: Any,
) -> tuple[np.ndarray, tuple]:
    """Run a kernel in the simulator, whatever device is selected: (y, what ``entry`` returned for each launch).

    entry: simulator.profile or simulator.check; ``more`` goes to it. instead: for a kernel's name, the (name, source) to
    run in its place, as a lab's exercise or a broken kernel is. Raises as `convolve` does, and as ``entry``.

        y, (seen,) = layer.simulate("conv2d_basic", x, filter)
        print(seen.global_load_sectors)
    """
    spec, shape = _spec(kernel), shape_for(x, filter, stride)
    spec.require(shape)

    def launch(name: str, *arguments: Any, **how: Any) -> Any:
        run, source = (instead or {}).get(name) or (name, kernels.source(name))
        return entry(source, run, *arguments, **{**how, **more})

    y = np.full(shape.y_shape, 0 if spec.zeroed else np.nan, np.float32)
    return y, spec.simulate(launch, y, x, filter, shape)


def _require_chunk(chunk: int | None, batch: int) -> int:
    if chunk is None:
        return batch
    if isinstance(chunk, bool) or not hasattr(chunk, "__index__") or chunk < 1:
        raise LayerError(f"chunk is {chunk!r}; give the number of images to hold on the device at a time, such as 1000")
    return min(int(chunk), batch)


def _convolve_part(cuda: Any, spec: Conv2d, x: np.ndarray, filter: np.ndarray, stride: int, y: np.ndarray) -> None:
    run = spec.compile(shape_for(x, filter, stride))
    arrays: list[Any] = []
    try:
        arrays.extend(cuda.mem_alloc(array.nbytes) for array in (y, x, filter))
        cuda.memcpy_htod(arrays[1], x)
        cuda.memcpy_htod(arrays[2], filter)
        run.launch(*map(int, arrays))
        cuda.memcpy_dtoh(y, arrays[0])
    finally:
        for array in arrays:
            array.free()
        run.free()


# --------------------------------------------------------------------------------------------------------------------
# Checking


def conv2d_atol(x: np.ndarray, filter: np.ndarray) -> float:
    """The largest error that a float32 sum of C K K products may have, in any order, with or without fused multiply-adds.

    As `benchmarks.conv1d_atol`: each of the C K K roundings errs by at most u = 2^-24 relative to a partial sum that is
    never larger than max |x| * sum |filter[m]|; one more pays for the denominator of the bound (N. J. Higham, *Accuracy
    and Stability of Numerical Algorithms*, section 3.1).
    """
    terms, unit = math.prod(filter.shape[1:]), 2.0**-24
    sums = np.abs(filter, dtype=np.float64).sum(axis=(1, 2, 3))
    return float((terms + 1) * unit * np.abs(x).max() * sums.max())


def suspects(x: np.ndarray, filter: np.ndarray, stride: int = 1) -> dict[str, np.ndarray]:
    """What comes out of the usual mistakes, by cause: for ``checking.check(..., suspects=...)``."""

    def conv(weights: np.ndarray, cells: np.ndarray = x) -> np.ndarray:
        return reference.conv2d(cells, weights, stride)

    channels, K = filter.shape[1], filter.shape[2]
    found = {
        "the filter is flipped": conv(filter[:, :, ::-1, ::-1]),
        "the rows and columns of the filter are exchanged": conv(filter.swapaxes(2, 3)),
    }
    if channels > 1:
        found["only the first channel is summed"] = conv(filter[:, :1], x[:, :1])
        found["only the last channel is summed"] = conv(filter[:, -1:], x[:, -1:])
        found["the channels of the filter are in reverse order"] = conv(filter[:, ::-1])
    if filter.shape[0] > 1:
        found["every output map gets the weights of the first"] = conv(np.repeat(filter[:1], filter.shape[0], axis=0))
    if x.shape[0] > 1:
        found["every image is the first one"] = conv(filter, np.repeat(x[:1], x.shape[0], axis=0))
    if K > 1:
        shorter = filter.copy()
        shorter[:, :, -1, :] = 0
        found["the last row of the filter is left out"] = conv(shorter)
        shorter = filter.copy()
        shorter[:, :, :, -1] = 0
        found["the last column of the filter is left out"] = conv(shorter)
    return found


def check(
    y: np.ndarray,
    x: np.ndarray,
    filter: np.ndarray,
    name: str = "y",
    stride: int = 1,
    precision: Precision = precision.FLOAT,
) -> checking.Verdict:
    """Return a Verdict if y is what reference.conv2d makes of x and filter, within conv2d_atol.

    precision: of another one, the sums are compared with those of the rounded inputs, within its `sum_atol`, and then the
    whole with x and filter as they are, within its `atol`. Raises checking.CheckError with a diagnosis that also knows the
    `suspects`.
    """
    if precision.inputs != "float32":
        rounded = precision.rounded(x), precision.rounded(filter)
        _check(y, *rounded, name, stride, precision.sum_atol(x, filter))
        return _check(y, x, filter, name, stride, precision.atol(x, filter))
    return _check(y, x, filter, name, stride, conv2d_atol(x, filter))


def _check(y: np.ndarray, x: np.ndarray, filter: np.ndarray, name: str, stride: int, atol: float) -> checking.Verdict:
    want = reference.conv2d(x, filter, stride)
    try:
        return checking.check(y, want, rtol=0.0, atol=atol, name=name)
    except checking.CheckError:  # only now are the suspects worth their convolutions
        return checking.check(y, want, rtol=0.0, atol=atol, name=name, suspects=suspects(x, filter, stride))


# --------------------------------------------------------------------------------------------------------------------
# A layer on the device, for timing


class Problem:
    """One layer on the device: x, filter, a poisoned output, and the outputs wanted, by the plainest kernel.

    x: float32, shape.x_shape; filter: float32, shape.filter_shape; host arrays. `x`, `filter`, `y` and `want` are device
    addresses. The images that `oracle_images` lists are compared with reference.conv2d, on the host and in float64;
    every output is compared with `want` on the device. `want` itself is checked like that when the problem is made.
    Raises as `shape_for` does, and LayerError where x, filter and two outputs do not fit the device's memory.
    """

    def __init__(self, shape: ConvShape, x: np.ndarray, filter: np.ndarray):
        if shape_for(x, filter, shape.stride) != shape:
            raise LayerError(f"x {x.shape} and filter {filter.shape} are not {shape}")
        self.device = device.select()
        import pycuda.driver as cuda

        self._cuda, self.shape, self.filter_on_host = cuda, shape, filter
        plainest = conv2d_named(PLAINEST)
        plainest.require(shape, self.device)
        _require_memory(plainest, shape, cuda.mem_get_info()[0], more=lambda part: 4 * part.outputs)
        self.oracle_images = _some_images(shape.B)
        self._cells = np.ascontiguousarray(x[list(self.oracle_images)])
        self._oracle = reference.conv2d(self._cells, filter, shape.stride)
        self.atol = conv2d_atol(x, filter)
        self._largest = np.full((1, 1, 1, 1), np.abs(x).max())  # all that a Precision asks of x
        self._counter = checking.DeviceCounter()
        self._arrays = [cuda.mem_alloc(n) for n in (x.nbytes, filter.nbytes, 4 * shape.outputs, 4 * shape.outputs)]
        self.x, self.filter, self.y, self.want = map(int, self._arrays)
        cuda.memcpy_htod(self.x, x)
        cuda.memcpy_htod(self.filter, filter)
        self._counter.poison(self.want, shape.outputs)
        compile(plainest, shape).launch(self.want, self.x, self.filter)
        self._everywhere(self.want, PLAINEST)
        self.poison()

    def poison(self) -> None:
        """Fill y with NaN, so that what a kernel does not write shows."""
        self._counter.poison(self.y, self.shape.outputs)

    def check(self, name: str, precision: Precision = precision.FLOAT) -> checking.Verdict:
        """Return a Verdict on y: some images against the oracle, every output against `want`.

        precision: of the kernel that made y. Of another than float32 the sums of these images are checked first, against the
        oracle of the rounded inputs (as `layer.check`). Raises checking.CheckError, for some images with its diagnosis, else
        with the number of wrong outputs.
        """
        if precision.inputs == "float32":
            return self._everywhere(self.y, name)
        self._cuda.Context.synchronize()
        rounded = precision.rounded(self._cells), precision.rounded(self.filter_on_host)
        atol = precision.sum_atol(self._largest, self.filter_on_host)
        _check(self._images(self.y), *rounded, name, self.shape.stride, atol)
        return self._everywhere(self.y, name, precision.atol(self._largest, self.filter_on_host))

    def relative_error(self, name: str, precision: Precision = precision.FLOAT) -> float:
        """Return max |y - oracle| / max |oracle| over the images of `oracle_images`. Raises as `check` does."""
        self.check(name, precision)
        error = np.abs(self._images(self.y).astype(np.float64) - self._oracle).max()
        return float(error / np.abs(self._oracle).max())

    def free(self) -> None:
        """Free the device's arrays."""
        for array in self._arrays:
            array.free()
        self._arrays = []

    def __enter__(self) -> Problem:
        return self

    def __exit__(self, *_: Any) -> None:
        self.free()

    def _images(self, address: int) -> np.ndarray:
        """The outputs of `oracle_images` at a device address, on the host."""
        some = np.empty(self._oracle.shape, np.float32)
        for place, image in zip(some, self.oracle_images, strict=True):
            self._cuda.memcpy_dtoh(place, address + image * some[0].nbytes)
        return some

    def _everywhere(self, address: int, name: str, atol: float | None = None) -> checking.Verdict:
        atol = self.atol if atol is None else atol
        self._cuda.Context.synchronize()
        got = self._images(address)
        try:
            verdict = checking.check(got, self._oracle, rtol=0.0, atol=atol, name=name)
        except checking.CheckError:
            known = suspects(self._cells, self.filter_on_host, self.shape.stride)
            verdict = checking.check(got, self._oracle, rtol=0.0, atol=atol, name=name, suspects=known)
        # Both keep a bound, so they differ by up to the sum of the two. A NaN of `want` counts against itself, too.
        wrong = self._counter.wrong(address, self.want, self.atol + atol, self.shape.outputs)
        if wrong:
            text = f"{wrong:,} of {self.shape.outputs:,} outputs differ from {PLAINEST} or are NaN"
            kind = checking.Diagnosis("other images", f"{text}, in images other than {', '.join(map(str, self.oracle_images))}")
            raise checking.CheckError(f"FAIL {name}: {kind.text}", name=name, wrong=wrong, diagnosis=kind)
        return dataclasses.replace(verdict, count=self.shape.outputs)


def _some_images(batch: int) -> tuple[int, ...]:
    """The first image, the last, and up to three random ones between them."""
    inner = np.random.default_rng(SEED).permutation(np.arange(1, batch - 1))[:3]
    return tuple(sorted({0, batch - 1, *inner.tolist()}))


# --------------------------------------------------------------------------------------------------------------------
# Real data


def inputs(name: str, batch: int, weights: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Return (x, filter) of a layer of LAYERS: the first ``batch`` test images and a trained network's weights, float32.

    Where the full test set cannot be had, its first 1,000 images are repeated
    (`datasets.images_at_hand`).

    "layer 1": images resized to 86 x 86, raw values 0 to 255; "layer 2": max-pool 2 of ReLU of layer 1. weights:
    datasets.Weights, the labs' own where left out. "layer E1" takes the images as they are, and "layer E2" max-pool 2 of ReLU
    of it; there is no trained network of these sizes: their filters are uniform random numbers from a fixed seed, scaled
    by 1 / sqrt(C K K), and ``weights`` is refused. Raises LayerError for these, and what
    `datasets.images_at_hand` raises.
    """
    from helpers import datasets, network

    shape = shape_of(name, batch)
    pixels = datasets.images_at_hand(batch).repeated(batch)
    if name in ("layer 1", "layer 2"):
        weights = weights or datasets.lenet_weights()
        filters, x = (weights.conv1, weights.conv2), datasets.network_input(pixels)
    elif weights is None:
        filters = tuple(map(_random_filter, (LAYERS["layer E1"], LAYERS["layer E2"])))
        x = pixels.astype(np.float32)[:, None]
    else:
        raise LayerError(f"{name} is none of the network's layers: leave weights out")
    if name in ("layer 1", "layer E1"):
        return x, filters[0]
    pooled = np.empty(shape.x_shape, np.float32)
    for first in range(0, batch, 10):  # a few at a time, so that their windows stay in the caches
        part = network.relu(network.conv2d(x[first : first + 10], filters[0]))
        pooled[first : first + 10] = network.max_pool(part, network.POOL1)
    return pooled, filters[1]


def _random_filter(shape: ConvShape) -> np.ndarray:
    rng = np.random.default_rng(SEED)
    return (rng.uniform(-1, 1, shape.filter_shape) / math.sqrt(shape.terms)).astype(np.float32)
