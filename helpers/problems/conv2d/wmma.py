"""conv2d_wmma: tensor cores by nvcuda::wmma, half or TF32 inside, float32 outside."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from helpers import device
from helpers.limits import MOST_SHARED_BYTES, ConvShape
from helpers.problems import precision

from .base import Conv2d
from .refusals import PLAINEST
from .shapes import LayerError, ceil_div


@dataclass(frozen=True)
class Wmma(Conv2d):
    """conv2d_wmma: all sizes are compile-time constants. x and y are float32; the kernel rounds x.

    warps: of a block. rows: output maps of a fragment, 8 or 16; None takes 8 for layers of up to 8
    maps. buffers: 2 to gather a step while the block multiplies another, or 1. skew: bytes between
    rows in shared memory, a multiple of 16. tf32: TF32 in place of half.
    """

    warps: int = 8
    rows: int | None = None
    buffers: int = 2
    skew: int = 16
    tf32: bool = False

    def fragment_rows(self, shape: ConvShape) -> int:
        """Return ROWS: the output maps of a fragment."""
        return self.rows or (8 if shape.M <= 8 and not self.tf32 else 16)

    def depth(self, shape: ConvShape) -> int:
        """Return C K K rounded up to whole steps of a fragment."""
        step = 8 if self.tf32 else 16
        return step * ceil_div(shape.terms, step)

    def constant_values(self, shape: ConvShape) -> dict[str, int]:
        return {
            **shape.constants,
            "ROWS": self.fragment_rows(shape),
            "WARPS": self.warps,
            "BUFFERS": self.buffers,
            "SKEW_BYTES": self.skew,
            "TF32": int(self.tf32),
        }

    def threads(self, shape: ConvShape) -> tuple[int, int, int]:
        return 32 * self.warps, 1, 1

    def grid(self, shape: ConvShape) -> tuple[int, int, int]:
        return 1, ceil_div(shape.M, self.fragment_rows(shape)), shape.B

    def shared(self, shape: ConvShape) -> int:
        size, rows = 4 if self.tf32 else 2, self.fragment_rows(shape)
        # A step of 32 columns has 32 bytes each.
        columns = max(self.buffers * 32 * (32 + self.skew), 160 * rows)
        return (
            rows * (size * self.depth(shape) + self.skew)
            + self.warps * columns
            + size * math.prod(shape.x_shape[1:])
        )

    def arguments(self, y: Any, x: Any, filter: Any, shape: ConvShape) -> tuple:
        return y, x, filter

    def require(self, shape: ConvShape, device: device.Device | None = None) -> None:
        if self.fragment_rows(shape) != 16 and (
            self.tf32 or (self.rows != 8 and self.rows is not None)
        ):
            raise LayerError(
                f"{self.name} takes rows = 8 or 16, and only 16 with TF32; got rows = {self.rows}"
            )
        if self.buffers not in (1, 2) or self.skew % 16:
            raise LayerError(
                f"{self.name} takes buffers = 1 or 2 and a skew that is a multiple of 16 bytes; "
                f"got buffers = {self.buffers}, skew = {self.skew}"
            )
        super().require(shape, device)
        if (needed := self.shared(shape)) > MOST_SHARED_BYTES:
            raise LayerError(
                f"{self.name} stages an image and its filters in {needed:,} bytes of shared "
                f"memory; a block of a Hopper GPU has {MOST_SHARED_BYTES:,}. "
                f"{PLAINEST} takes any size."
            )


def wmma(tf32: bool = False, **how: Any) -> Wmma:
    """Return the record of conv2d_wmma; ``how`` are fields of `Wmma`."""
    kind = precision.TF32_TENSOR if tf32 else precision.HALF_TENSOR
    return Wmma("conv2d_wmma", tile=(32, 1, 16), precision=kind, tf32=tf32, **how)
