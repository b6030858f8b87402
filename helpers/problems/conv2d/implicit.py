"""conv2d_implicit_mma and its faster forms: a layer as an implicit product on tensor cores."""

from __future__ import annotations

import abc
import functools
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from helpers import device, limits
from helpers.limits import ConvShape
from helpers.problems.precision import FLOAT

from . import refusals
from .base import Conv2d
from .mma import SCALED_HALF, TensorKernel
from .refusals import PLAINEST
from .shapes import LAYERS, LayerError, ceil_div

FIRST, ASYNC, SPLIT = (f"conv2d_implicit_mma{end}" for end in ("", "_async", "_split"))


class ImplicitSizes(NamedTuple):
    """The sizes of an `ImplicitMma`.

    tile: images, rows and columns of the outputs of a block. octets: groups of 8 channels of a
    cell that are in shared memory at a time. warps: of a block along outputs and maps. fragments:
    of a warp, 16 outputs and 8 maps each. buffers: for cells and for weights. resident: blocks of a
    multiprocessor.
    """

    tile: tuple[int, int, int]
    octets: int
    warps: tuple[int, int]
    fragments: tuple[int, int]
    buffers: tuple[int, int] = (1, 1)
    resident: int = 1

    @property
    def maps(self) -> int:
        """The maps of a block."""
        return 8 * self.warps[1] * self.fragments[1]

    @property
    def rows(self) -> int:
        """The rows of A in a block: at least the outputs of a tile."""
        return 16 * self.warps[0] * self.fragments[0]

    @property
    def threads(self) -> int:
        """The threads of a block."""
        return 32 * math.prod(self.warps)


# The fastest sizes on an H200, by layer of LAYERS, parts and half_io: from how many images on.
FITTED: dict[tuple[str, int, bool], dict[int, ImplicitSizes]] = {
    ("layer E1", 1, True): {
        1: ImplicitSizes((1, 22, 22), 1, (8, 1), (4, 2)),
        500: ImplicitSizes((1, 22, 22), 1, (8, 1), (4, 2), (2, 1), 2),
    },
    ("layer E1", 2, False): {500: ImplicitSizes((1, 22, 22), 1, (8, 1), (4, 2), (2, 1))},
    ("layer E2", 1, True): {
        1: ImplicitSizes((1, 5, 5), 2, (2, 1), (1, 3)),
        500: ImplicitSizes((8, 5, 5), 2, (7, 1), (2, 3)),
        2000: ImplicitSizes((5, 5, 5), 2, (4, 1), (2, 3), resident=3),
    },
    ("layer E2", 1, False): {
        1: ImplicitSizes((1, 5, 5), 2, (2, 1), (1, 3), (2, 1)),
        500: ImplicitSizes((8, 5, 5), 2, (7, 1), (2, 3)),
        2000: ImplicitSizes((5, 5, 5), 2, (4, 1), (2, 3), (2, 1), 2),
    },
    ("layer E2", 2, False): {
        1: ImplicitSizes((1, 5, 5), 2, (2, 1), (1, 3), (2, 1)),
        500: ImplicitSizes((8, 5, 5), 1, (7, 1), (2, 3), (1, 2)),
        2000: ImplicitSizes((5, 5, 5), 1, (4, 1), (2, 3), (1, 2), 2),
    },
}


class Staging(NamedTuple):
    """How implicit.cuh lays a chunk of a layer out in shared memory; the names are the source's."""

    octet_channels: int
    chunks: int
    steps: int
    places: int
    cells: int

    @classmethod
    def of(cls, shape: ConvShape, sizes: ImplicitSizes) -> Staging:
        """Return the layout for a shape and the sizes of a block."""
        return cls._of(shape, sizes.tile, sizes.octets)

    @classmethod
    @functools.lru_cache(maxsize=4096)  # many sizes of a search have the same tile and octets
    def _of(cls, shape: ConvShape, tile: tuple[int, int, int], octets: int) -> Staging:
        images, tile_h, tile_w = tile
        channels = octet_channels(shape.C)
        columns = 8 // channels
        across = ceil_div(shape.K, columns)
        unit = math.gcd(shape.stride, columns)
        paired = shape.out_w % 2 == 0 and tile_w % 2 == 0
        cell_rows = (tile_h - 1) * shape.stride + shape.K
        cell_columns = ((tile_w - 1) * shape.stride + (across - 1) * columns) // unit + 1
        phases = (2 if paired else 1) * shape.stride // unit
        run = tile_w // 2 if paired else tile_w
        pitch = pitch_for(phases * ceil_div(cell_columns, phases), shape.stride, run)
        image_pitch = pitch_for(cell_rows * pitch, 1, tile_h * run)
        return cls(
            channels,
            ceil_div(shape.C, channels * octets),
            ceil_div(shape.K * across * octets, 2),
            images * cell_rows * cell_columns,
            octets * images * image_pitch,
        )


@functools.cache
def octet_channels(channels: int) -> int:
    """Return the channels in 8 halves of shared memory: columns fill the rest."""
    return next(n for n in (1, 2, 4, 8) if n >= min(channels, 8))


def pitch_for(least: int, step: int, run: int) -> int:
    """Return the smallest pitch from ``least`` on with step * pitch = run, modulo 8."""
    pitches = range(least, least + 8) if run % 8 else ()
    return next((pitch for pitch in pitches if (step * pitch - run) % 8 == 0), least)


@dataclass(frozen=True)
class Implicit(TensorKernel):
    """An implicit product: all sizes are constants. A shape whose chunk of channels does not fit
    into shared memory is refused.

    sizes: of a block; `fitted` sets them if they are None.
    """

    sizes: Any = None

    # What a block holds at least; a shape for which that does not fit is refused.
    least: ClassVar[str] = "a chunk of its cells and weights"

    @property
    def known(self) -> Any:
        """The sizes. Raises LayerError if they are None."""
        if self.sizes is None:
            raise LayerError(f"{self.name}: the sizes depend on the shape; use fitted(shape)")
        return self.sizes

    @abc.abstractmethod
    def measured(self, shape: ConvShape) -> Any:
        """Return the fastest of the sizes that were measured; None for a shape without any."""

    @abc.abstractmethod
    def choices(self, shape: ConvShape) -> Iterator[Any]:
        """Yield sizes for a shape; not all of them need fit."""

    @abc.abstractmethod
    def misfit(self, shape: ConvShape, sizes: Any) -> str:
        """Return why the sizes do not fit the shape; "" if they do."""

    @abc.abstractmethod
    def cost(self, shape: ConvShape, sizes: Any) -> float:
        """Estimate the cycles of a launch on an H200; infinite if the sizes do not fit."""

    def fitted(self, shape: ConvShape) -> Self:
        """Choose the sizes if they are None: the measured best, else the lowest cost.

        Raises LayerError if no choice can be launched.
        """
        return self if self.sizes else _fit(self, shape)

    def require(self, shape: ConvShape, device: device.Device | None = None) -> None:
        refusals.require_indices(self, shape)
        spec = self.fitted(shape)
        if reason := self.misfit(shape, spec.known):
            raise LayerError(f"{self.name} on {shape}: {reason}")
        Conv2d.require(spec, shape, device)


@functools.cache
def _fit(spec: Any, shape: ConvShape) -> Any:
    if measured := spec.measured(shape):
        return replace(spec, sizes=measured)
    costs = {sizes: spec.cost(shape, sizes) for sizes in spec.choices(shape)}
    best = min(costs, key=costs.__getitem__, default=None)
    if best is None or costs[best] == math.inf:
        raise LayerError(
            f"{spec.name} has no block for {shape}: {spec.least} must fit "
            f"{limits.MOST_SHARED_BYTES:,} bytes of shared memory; {PLAINEST} takes any shape"
        )
    return replace(spec, sizes=best)


@dataclass(frozen=True)
class ImplicitMma(Implicit):
    """conv2d_implicit_mma, _async and _split."""

    sizes: ImplicitSizes | None = None

    def constant_values(self, shape: ConvShape) -> dict[str, int]:
        sizes = self.fitted(shape).known
        values = {
            **shape.constants,
            "FILTER_STRIDE": shape.stride,
            "PARTS": self.parts,
            "HALF_IO": int(self.half_io),
            **dict(zip(("IMAGES", "TILE_H", "TILE_W"), sizes.tile, strict=True)),
            "OCTETS": sizes.octets,
            **dict(zip(("WARPS_DOWN", "WARPS_ACROSS"), sizes.warps, strict=True)),
            **dict(zip(("ROW_TILES", "MAP_TILES"), sizes.fragments, strict=True)),
            "RESIDENT": sizes.resident,
        }
        if self.name != FIRST:
            values |= dict(zip(("CELL_BUFFERS", "WEIGHT_BUFFERS"), sizes.buffers, strict=True))
        return values

    def threads(self, shape: ConvShape) -> tuple[int, int, int]:
        return self.fitted(shape).known.threads, 1, 1

    def tiles(self, shape: ConvShape) -> int:
        """Return the tiles of all images."""
        return _tiles(self.fitted(shape).known, shape)

    def grid(self, shape: ConvShape) -> tuple[int, int, int]:
        sizes = self.fitted(shape).known
        tiles, groups = _tiles(sizes, shape), ceil_div(shape.M, sizes.maps)
        if self.name == FIRST:
            return tiles, groups, 1
        blocks = self.blocks or sizes.resident * device.select().multiprocessors // groups
        return min(tiles, max(1, blocks)), groups, 1

    def shared(self, shape: ConvShape) -> int:
        return self.shared_of(shape, self.fitted(shape).known)

    def shared_of(self, shape: ConvShape, sizes: ImplicitSizes) -> int:
        """Return the bytes of dynamic shared memory of a block of these sizes."""
        staging = Staging.of(shape, sizes)
        if self.name == FIRST:
            return 16 * staging.cells
        weights = 32 * sizes.maps * staging.steps * self.parts
        return sizes.buffers[0] * self.parts * 16 * staging.cells + sizes.buffers[1] * weights

    def fragments(self, parts: np.ndarray) -> np.ndarray:
        """Return the fragments of B: (group, chunk, step, part, 8 maps, lane, register, half)."""
        sizes = self.known
        count, M, C, K, _ = parts.shape
        channels = octet_channels(C)
        chunk, columns = channels * sizes.octets, 8 // channels
        groups, chunks, across = ceil_div(M, sizes.maps), ceil_div(C, chunk), ceil_div(K, columns)
        padded = np.zeros(
            (count, groups * sizes.maps, chunks * chunk, K, across * columns), np.float16
        )
        padded[:, :M, :C, :, :K] = parts
        named = padded.reshape(
            count, groups, sizes.maps // 8, 8, chunks, sizes.octets, channels, K, across, columns
        )
        # A slice is (row of the filter, octet of that row, octet of the channels). Its 8 terms are
        # (column, channel).
        slices = named.transpose(1, 4, 7, 8, 5, 9, 6, 0, 2, 3).reshape(
            groups, chunks, K * across * sizes.octets, 4, 2, count, sizes.maps // 8, 8
        )
        if slices.shape[2] % 2:
            slices = np.pad(slices, [(0, int(axis == 2)) for axis in range(slices.ndim)])
        steps = slices.reshape(groups, chunks, -1, 2, *slices.shape[3:])
        # Lane 4 g + q holds of map g the terms 2 q and 2 q + 1 of both slices.
        return steps.transpose(0, 1, 2, 6, 7, 8, 4, 3, 5)

    def require(self, shape: ConvShape, device: device.Device | None = None) -> None:
        if self.parts not in (1, 2) or (self.parts == 2) != (self.name == SPLIT):
            raise LayerError(
                f"{self.name} takes parts = {2 if self.name == SPLIT else 1}, got {self.parts}"
            )
        if self.half_io and self.parts == 2:
            raise LayerError(f"{self.name} reads and writes float32; use {ASYNC} for float16")
        refusals.require_capability(
            self.name, device, (8, 0), "conv2d_register_tiled computes the same"
        )
        super().require(shape, device)

    def measured(self, shape: ConvShape) -> ImplicitSizes | None:
        """Return the sizes of FITTED for a shape; None for another layer or kernel."""
        if self.name == FIRST:
            return None
        alike = (name for name, layer in LAYERS.items() if replace(layer, B=shape.B) == shape)
        by_batch = FITTED.get((next(alike, ""), self.parts, self.half_io), {})
        return by_batch.get(max((least for least in by_batch if least <= shape.B), default=0))

    def misfit(self, shape: ConvShape, sizes: ImplicitSizes) -> str:
        if math.prod(sizes.tile) > sizes.rows:
            return f"a tile has {math.prod(sizes.tile)} outputs, and the warps take {sizes.rows}"
        if octet_channels(shape.C) < 8 and sizes.octets != 1:
            return f"{shape.C} channels are one octet, got octets = {sizes.octets}"
        chunks = Staging.of(shape, sizes).chunks
        if self.name != FIRST and sizes.buffers[1] not in (2, chunks):
            return f"{sizes.buffers[1]} buffers for weights of {chunks} chunks: take {chunks}, or 2"
        needed = self.shared_of(shape, sizes)
        if needed > limits.MOST_SHARED_BYTES:
            return (
                f"a block needs {needed:,} bytes of shared memory, and one of a Hopper GPU has "
                f"{limits.MOST_SHARED_BYTES:,}: take smaller tiles or chunks"
            )
        return ""

    def choices(self, shape: ConvShape) -> Iterator[ImplicitSizes]:
        most_octets = 1 if octet_channels(shape.C) < 8 else ceil_div(shape.C, 8)
        at_a_time = {n for n in (1, 2, 4, 8) if n <= most_octets} | {min(most_octets, 3)}
        for down, tiles in itertools.product((1, 2, 4, 8), range(1, 8)):
            if down * tiles > 32:
                continue
            for tile in dict.fromkeys(_geometries(shape, 16 * down * tiles)):
                for across, maps in itertools.product((1, 2, 4), range(1, 9)):
                    if down * across > 8 or tiles * maps > 28:
                        continue
                    if 8 * across * maps >= 2 * max(8, shape.M) and (across, maps) != (1, 1):
                        continue
                    for octets in at_a_time:
                        chunks = 1 if most_octets == 1 else ceil_div(shape.C, 8 * octets)
                        for buffers in {2, chunks}:
                            for resident in (1, 2, 3):
                                yield ImplicitSizes(
                                    tile,
                                    octets,
                                    (down, across),
                                    (tiles, maps),
                                    (1, buffers),
                                    resident,
                                )

    def registers(self, shape: ConvShape, sizes: ImplicitSizes) -> int:
        """Estimate the registers of a thread: sums, fragments, cells on their way, and the rest."""
        down, across = sizes.fragments
        staging = Staging.of(shape, sizes)
        rounds = ceil_div(staging.places, sizes.threads)
        waiting = 8 * sizes.octets * (1 if self.name == FIRST else rounds)
        sums = 4 * down * across * self.parts
        return sums + self.parts * (4 * down + 2 * across) + down + waiting + 40

    def cost(self, shape: ConvShape, sizes: ImplicitSizes) -> float:
        """Estimate the cycles of a launch on an H200; infinite if the sizes do not fit.

        A multiprocessor's tensor cores take an instruction in 1.55 cycles, its shared memory 128
        bytes in one. The larger of both counts, and the instructions that stage cells; and for each
        chunk a latency that resident blocks share.
        """
        if self.misfit(shape, sizes):
            return math.inf
        staging = Staging.of(shape, sizes)
        down, across = sizes.fragments
        registers = self.registers(shape, sizes)
        if registers > 250:
            return math.inf
        by_shared = limits.MULTIPROCESSOR_SHARED_BYTES // (
            self.shared_of(shape, sizes) + limits.RESERVED_SHARED_BYTES
        )
        by_registers = limits.MULTIPROCESSOR_REGISTERS // ((registers + 7) // 8 * 8 * sizes.threads)
        resident = min(by_shared, by_registers, 4)
        if resident < sizes.resident:
            return math.inf
        warps = math.prod(sizes.warps) * staging.steps
        products = 1.55 * warps * down * across * (3 if self.parts == 2 else 1)
        shared = warps * self.parts * (4 * down + 2 * across)
        rounds = ceil_div(staging.places, sizes.threads)
        staged = rounds * sizes.threads * (0.3 + sizes.octets * (0.5 + 0.125 * self.parts))
        of_chunk = max(products, shared) + 0.3 * min(products, shared) + staged
        blocks = _tiles(sizes, shape) * ceil_div(shape.M, sizes.maps)
        rounds = ceil_div(blocks, limits.MULTIPROCESSORS * sizes.resident)
        # A multiprocessor with few blocks waits for each chunk's latency.
        last = min(sizes.resident, ceil_div(blocks, limits.MULTIPROCESSORS))
        few_warps = 1 + 2 / (last * math.prod(sizes.warps))
        each = last * of_chunk * few_warps + 400
        return rounds * staging.chunks * each


def _tiles(sizes: ImplicitSizes, shape: ConvShape) -> int:
    images, rows, columns = sizes.tile
    return ceil_div(shape.B, images) * ceil_div(shape.out_h, rows) * ceil_div(shape.out_w, columns)


def _geometries(shape: ConvShape, rows: int) -> Iterator[tuple[int, int, int]]:
    """Yield tiles of up to ``rows`` outputs: whole images, whole rows, and parts of rows."""
    image = shape.out_h * shape.out_w
    if image <= rows:
        yield min(shape.B, rows // image), shape.out_h, shape.out_w
        return
    if shape.out_w <= rows:
        highest = rows // shape.out_w
        yield 1, ceil_div(shape.out_h, ceil_div(shape.out_h, highest)), shape.out_w
    for columns in (16, 32, 64):
        if columns < shape.out_w and columns <= rows:
            yield 1, min(shape.out_h, rows // columns), columns


def implicit_mma(parts: int = 1, half_io: bool = False, name: str | None = None) -> ImplicitMma:
    """Return the record of conv2d_implicit_mma_async, or with two parts of
    conv2d_implicit_mma_split.

    name: another one of the kernels.
    """
    return ImplicitMma(
        name or (SPLIT if parts == 2 else ASYNC),
        tile=(1, 1, 8),
        filter_in="constant",
        strides=True,
        precision=SCALED_HALF if parts == 1 else FLOAT,
        parts=parts,
        half_io=half_io,
    )


IMPLICIT: tuple[ImplicitMma, ...] = (implicit_mma(name=FIRST), implicit_mma(), implicit_mma(2))
