"""conv2d_register_2d: a patch of 4 x 2 outputs of several maps in each thread's registers."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from helpers.limits import ConvShape

from .base import Conv2d
from .shapes import LayerError, ceil_div

COLUMNS, ROWS = 4, 2  # of a patch
# Sizes for a layer, where they are not the defaults: 9 x 17 patches cover the 34 x 34 outputs of
# layer 2. With 8 maps, two rows of the filter in a turn, and registers for four blocks at a time
# they were the fastest of 35 sizes on an H100.
REGISTER_2D = {"layer 2": {"across": 9, "down": 17, "maps": 8, "unroll": 2, "resident": 4}}


@dataclass(frozen=True)
class Register2d(Conv2d):
    """conv2d_register_2d: the weights lie in constant memory, maps innermost."""

    arranged: ClassVar[bool] = True

    def constant_values(self, shape: ConvShape) -> dict[str, int]:
        return {
            **super().constant_values(shape),
            "CHANNELS": shape.C,
            "OUTPUT_MAPS": shape.M,
            "HEIGHT": shape.H,
            "WIDTH": shape.W,
            "STORE": next(n for n in (4, 2, 1) if shape.out_w % n == 0),
        }

    def arguments(self, y: Any, x: Any, filter: Any, shape: ConvShape) -> tuple:
        return y, x

    def arrange(self, filter: np.ndarray) -> np.ndarray:
        """Return the weights as (C, K, K, M); zeros fill M up to whole patches."""
        spare = -filter.shape[0] % self.tile[2]
        return np.pad(filter.transpose(1, 2, 3, 0), ((0, 0),) * 3 + ((0, spare),))

    def with_tile(self, width: int, maps: int | None = None) -> Register2d:
        """Return a record with patches of other maps; raise LayerError for another width."""
        if width != self.tile[0]:
            raise LayerError(
                f"{self.name} has patches of {COLUMNS} x {ROWS} outputs, and a tile of "
                f"{self.tile[0]} columns; got {width}. Make another record with register_2d(...)"
            )
        return dataclasses.replace(self, tile=(*self.tile[:2], maps or self.tile[2]))

    def constant_bytes(self, shape: ConvShape) -> int:
        maps = self.tile[2]
        return 4 * shape.terms * maps * ceil_div(shape.M, maps)


def tile_bytes(spec: Register2d, shape: ConvShape) -> int:
    """Return the bytes of the tile: rows of whole vectors of 16 bytes."""
    columns, rows, _ = spec.tile
    return 4 * (rows + shape.K - 1) * 4 * ceil_div(columns + shape.K - 1, 4)


def register_2d(
    across: int = 20, down: int = 8, maps: int = 4, unroll: int = 7, resident: int = 0
) -> Register2d:
    """Return the record of conv2d_register_2d.

    across, down: threads of a block. maps: of a patch. unroll: filter rows in a round of the loop.
    resident: blocks that a multiprocessor must have room for, by registers; 0: any number.
    """
    sizes = {"BLOCK_X": across, "BLOCK_Y": down, "UNROLL": unroll, "RESIDENT": resident}
    return Register2d(
        "conv2d_register_2d",
        block=(across, down),
        tile=(COLUMNS * across, ROWS * down, maps),
        filter_in="constant",
        width_in="constant",
        constants=tuple(sizes.items()),
        static=tile_bytes,
        largest_width=15,
    )
