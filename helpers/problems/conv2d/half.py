"""Kernels that read x and the filter as half: launches of to_half round both first."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from helpers import kernels
from helpers.launch import Array, Launch, Plan, Prepared, Scratch
from helpers.limits import ConvShape
from helpers.problems import precision

from .base import Conv2d
from .shapes import ceil_div


@dataclass(frozen=True)
class HalfInputs(Conv2d):
    """A kernel that reads x and the filter as half: launches of to_half convert both first.

    Callers pass float32, as to any other kernel; the halves are scratch memory. paired: the host
    arranges the filter once, with the output maps of a tile innermost.
    """

    paired: bool = False

    @property
    def sources(self) -> tuple[str, ...]:
        return "to_half", self.name

    def arrange(self, filter: np.ndarray) -> np.ndarray:
        """Return the filter as half: (M, C, K, K) or, if paired, (M / maps, C, K, K, maps).

        For the second shape, zeros fill M up to whole tiles.
        """
        if not self.paired:
            return filter.astype(np.float16)
        (M, C, K, _), maps = filter.shape, self.tile[2]
        whole = np.zeros((maps * ceil_div(M, maps), C, K, K), np.float16)
        whole[:M] = filter
        return np.ascontiguousarray(whole.reshape(-1, maps, C, K, K).transpose(0, 2, 3, 4, 1))

    def filter_bytes(self, shape: ConvShape) -> int:
        """Return the bytes of the filter as half."""
        maps = self.tile[2] * ceil_div(shape.M, self.tile[2]) if self.paired else shape.M
        return 2 * shape.terms * maps

    def scratch(self, shape: ConvShape) -> int:
        return 2 * math.prod(shape.x_shape) + self.filter_bytes(shape)

    def scratch_advice(self, shape: ConvShape, free: int) -> str:
        return (
            f"{self.name} needs {self.scratch(shape):,} bytes for the halves of x, and {free:,} "
            "are free: take fewer images"
        )

    def plan(self, shape: ConvShape) -> Plan:
        """Return a launch of to_half for x, one for a filter that is not paired, and the layer."""
        y, x, filter = self.names(shape)
        cells = Scratch("x as half", shape.x_shape, np.float16)
        if self.paired:
            paired = Prepared(filter, self.arrange, self.filter_bytes(shape))
            return conversion(cells, x), self._launch(shape, y, cells, paired)
        weights = Scratch("filter as half", shape.filter_shape, np.float16)
        layer = self._launch(shape, y, cells, weights)
        return conversion(cells, x), conversion(weights, filter), layer


def conversion(half: Scratch, array: Array) -> Launch:
    """Return the launch of to_half that rounds an array."""
    count = math.prod(array.shape)
    return Launch(
        kernels.source("to_half"),
        "to_half",
        (),
        (min(ceil_div(count, 512), 2**20), 1, 1),
        (256, 1, 1),
        arguments=(half, array, np.int64(count)),
    )


def half2(maps: int = 4, columns: int = 4, chain: str = "row") -> HalfInputs:
    """Return the record of conv2d_half2: a thread computes ``columns`` outputs of ``maps`` maps.

    maps: an even number. chain: the length of a sum in half, a "row" of the filter or "all" of it.
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
