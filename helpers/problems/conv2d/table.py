"""The table of the layer's kernels: those in float32, and those that round their inputs."""

from __future__ import annotations

from helpers.problems import precision

from .base import Conv2d, a_float_a_thread, input_tile, two_tiles
from .channels_last import CHANNELS_LAST
from .half import HalfInputs, half2
from .im2col import Im2colGemm
from .implicit import IMPLICIT
from .implicit_wgmma import implicit_wgmma
from .mma import FASTEST, WARPGROUPS
from .register_2d import register_2d
from .register_images import register_images
from .register_tiled import RegisterTiled
from .shapes import LayerError
from .wmma import wmma


def channels_tree(tile_width: int = 16, threads: int = 4) -> Conv2d:
    """Return the record of conv2d_channels_tree. threads: of an output, a power of two, at most 64.
    """
    return Conv2d(
        "conv2d_channels_tree",
        block=(tile_width, tile_width, threads),
        tile=(tile_width, tile_width, 1),
        constants=(("CHANNEL_THREADS", threads),),
        static=a_float_a_thread,
    )


def channels_shuffle(lanes: int = 4, rows: int = 8) -> Conv2d:
    """Return the record of conv2d_channels_shuffle.

    lanes: of an output, a divisor of 32. rows: warps of a block.
    """
    return Conv2d(
        "conv2d_channels_shuffle",
        block=(32 // lanes, lanes, rows),
        tile=(32 // lanes, rows, 1),
        constants=(("CHANNEL_LANES", lanes), ("TILE_ROWS", rows)),
    )


CONV2D: tuple[Conv2d, ...] = (
    Conv2d("conv2d_basic", strides=True),
    Conv2d("conv2d_uncoalesced"),
    Conv2d("conv2d_constant", filter_in="constant"),
    Conv2d("conv2d_tiled", filter_in="constant", dynamic=input_tile),
    Conv2d("conv2d_tiled_maps", tile=(16, 16, 4), filter_in="constant", dynamic=input_tile),
    Conv2d("conv2d_restrict"),
    Conv2d("conv2d_unrolled", width_in="constant"),
    Im2colGemm("im2col_gemm", tile=(16, 1, 16), flat=True, static=two_tiles),
    Conv2d("conv2d_implicit_gemm", tile=(16, 1, 16), flat=True, static=two_tiles),
    Conv2d(
        "conv2d_implicit_gemm_fast",
        tile=(16, 1, 16),
        flat=True,
        static=two_tiles,
        width_in="constant",
    ),
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
    RegisterTiled("conv2d_register_tiled", filter_in="constant", largest_width=15),
)

# Not in CONV2D: conv2d_register_tiled is its faster form.
TAUGHT: tuple[Conv2d, ...] = (register_2d(),)

# Not in CONV2D: for small images only.
SMALL: tuple[Conv2d, ...] = (register_images(),)

# These read and write float32 and round in between: `precision` bounds their error.
REDUCED: tuple[Conv2d, ...] = (
    Conv2d("conv2d_half_inside", precision=precision.HALF),
    HalfInputs("conv2d_half", precision=precision.HALF),
    half2(),
    wmma(),
)


def conv2d_named(name: str) -> Conv2d:
    """Return the row of a name; LayerError for another name.

    It is one of CONV2D, TAUGHT, SMALL, REDUCED, IMPLICIT, CHANNELS_LAST, FASTEST or WARPGROUPS,
    or `implicit_wgmma`.
    """
    rounded = (*REDUCED, *IMPLICIT, implicit_wgmma(), *CHANNELS_LAST, *FASTEST, *WARPGROUPS)
    rows = (*CONV2D, *TAUGHT, *SMALL, *rounded)
    named = {spec.name: spec for spec in rows}
    if name not in named:
        raise LayerError(
            f"there is no convolution layer kernel {name!r}; choose from {', '.join(named)}"
        )
    return named[name]


def spec_of(kernel: str | Conv2d) -> Conv2d:
    """Return the record of a kernel, given by name or by its record."""
    return conv2d_named(kernel) if isinstance(kernel, str) else kernel
