"""conv2d_register_images: small images and their weights in a block's shared memory."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from helpers import device
from helpers.limits import MOST_SHARED_BYTES, ConvShape

from . import refusals
from .base import Conv2d
from .shapes import LayerError, ceil_div

IMAGES = (8, 4, 2, 1)  # of a block: the first that leaves BLOCKS blocks along the images
WIDEST, NARROW = 8, 2  # columns of a patch; of a block of one image
THREADS = 512  # of a block at most
BLOCKS = 250  # about two for each multiprocessor of an H200


@dataclass(frozen=True)
class RegisterImages(Conv2d):
    """conv2d_register_images: all sizes are constants, so that each shape has a kernel of its own.

    patch: output columns and maps of a thread; groups: of such maps in a block; images: of a block.
    What is None is chosen for the shape and its number of images (`fitted`).
    """

    patch: tuple[int, int] | None = None
    groups: int | None = None
    images: int | None = None

    arranged: ClassVar[bool] = True

    def fitted(self, shape: ConvShape) -> RegisterImages:
        """Fill in the sizes that are None.

        Few images get blocks of one image, with narrower patches and fewer maps.
        """
        for images in [self.images] if self.images else IMAGES:
            few = images == 1
            widest = NARROW if few else WIDEST
            patch = self.patch or (ceil_div(shape.out_w, ceil_div(shape.out_w, widest)), 4)
            most = ceil_div(ceil_div(shape.M, patch[1]), 2 if few else 1)
            for groups in [self.groups] if self.groups else range(most, 0, -1):
                spec = dataclasses.replace(self, patch=patch, groups=groups, images=images)
                fits = spec.shared(shape) <= MOST_SHARED_BYTES and spec.threads(shape)[0] <= THREADS
                if fits and (few or spec.grid(shape)[0] >= BLOCKS):
                    return spec
        return spec  # what does not fit either: `require` says why

    @property
    def _sizes(self) -> tuple[int, int, int, int]:
        """Columns and maps of a patch, groups and images of a block."""
        if not (self.patch and self.groups and self.images):
            raise LayerError(f"{self.name}: the sizes depend on the shape; use fitted(shape)")
        return *self.patch, self.groups, self.images

    def _sizes_for(self, shape: ConvShape) -> tuple[int, int, int, int]:
        is_fitted = self.patch and self.groups and self.images
        return (self if is_fitted else self.fitted(shape))._sizes

    def constant_values(self, shape: ConvShape) -> dict[str, int]:
        columns, maps, groups, images = self._sizes_for(shape)
        return {
            **shape.constants,
            "PATCH_WIDTH": columns,
            "MAPS": maps,
            "GROUPS": groups,
            "IMAGES": images,
        }

    def threads(self, shape: ConvShape) -> tuple[int, int, int]:
        columns, _, groups, images = self._sizes_for(shape)
        return (
            32 * ceil_div(ceil_div(shape.out_w, columns) * shape.out_h * images * groups, 32),
            1,
            1,
        )

    def grid(self, shape: ConvShape) -> tuple[int, int, int]:
        _, maps, groups, images = self._sizes_for(shape)
        return ceil_div(shape.B, images), ceil_div(shape.M, groups * maps), 1

    def shared(self, shape: ConvShape) -> int:
        _, maps, groups, images = self._sizes_for(shape)
        return 4 * (shape.terms * groups * maps + images * shape.C * shape.H * shape.W)

    def arguments(self, y: Any, x: Any, filter: Any, shape: ConvShape) -> tuple:
        return y, x, np.int32(shape.B)

    def arrange(self, filter: np.ndarray) -> np.ndarray:
        """Return the weights as (C, K, K, M), M rounded up to whole blocks by zeros."""
        _, maps, groups, _ = self._sizes
        spare = -filter.shape[0] % (maps * groups)
        return np.pad(filter.transpose(1, 2, 3, 0), ((0, 0),) * 3 + ((0, spare),))

    def constant_bytes(self, shape: ConvShape) -> int:
        return 0  # the symbol lies in global memory

    def require(self, shape: ConvShape, device: device.Device | None = None) -> None:
        spec = self.fitted(shape)
        columns, maps, _, _ = spec._sizes
        if maps % 4 or columns > shape.out_w:
            raise LayerError(
                f"{self.name} has patches of whole fours of maps, no wider than the output: "
                f"patch = {spec.patch} on {shape}"
            )
        if (needed := spec.shared(shape)) > MOST_SHARED_BYTES:
            raise LayerError(
                f"{self.name} holds whole images and weights, {needed:,} bytes on {shape}, in "
                f"shared memory; a block of a Hopper GPU has {MOST_SHARED_BYTES:,}. "
                f"{refusals.OTHERS}."
            )
        refusals.require_capability(self.name, device, (8, 0), f"take {refusals.PORTABLE}")
        super(RegisterImages, spec).require(shape, device)


def register_images() -> RegisterImages:
    """Return the record of conv2d_register_images, its sizes left to the shape."""
    return RegisterImages("conv2d_register_images", filter_in="constant")
