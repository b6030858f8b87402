"""What the layer's records take and refuse, before anything is compiled: shapes, sizes and GPUs."""

from dataclasses import replace

import pytest

from helpers import device, kernels
from helpers.limits import ConvShape
from helpers.problems import conv2d
from helpers.problems.conv2d import (
    LAYERS,
    ImplicitSizes,
    LayerError,
    conv2d_named,
    implicit_mma,
    implicit_wgmma,
    mma_halves,
    mma_quads,
    mma_wgmma,
    register_images,
    shape_of,
    wmma,
)
from helpers.problems.lenet import pooled

PAIRS, QUADS, HALVES = conv2d.FASTEST
FIRST, ASYNC, SPLIT = conv2d.IMPLICIT
WGMMA, IMAGES = implicit_wgmma(), register_images()
HALO, LAST = conv2d.CHANNELS_LAST
TILED = conv2d_named("conv2d_register_tiled")
WARPGROUPS = (
    *(mma_wgmma(), mma_wgmma(1), mma_wgmma(1, True)),
    *(replace(pooled.pooled_named("lenet_wgmma_2", 4), parts=parts) for parts in (2, 1)),
)
# Of any shape: these take each of the network's layers.
ANY_SHAPE = (*conv2d.CONV2D, *conv2d.REDUCED, wmma(tf32=True), *conv2d.IMPLICIT)
ANY = "conv2d_register_tiled takes most other shapes, conv2d_basic all"


def label(one) -> str:
    return f"{one.name}-{one.precision.name}" if isinstance(one, conv2d.Conv2d) else str(one)


def test_names_are_unique_and_kernels_exist():
    names = [spec.name for spec in (*conv2d.CONV2D, *conv2d.REDUCED, *conv2d.IMPLICIT)]
    assert len(set(names)) == len(names)
    assert all(name in kernels.names() for spec in ANY_SHAPE for name in spec.sources)


@pytest.mark.parametrize("spec", ANY_SHAPE, ids=label)
def test_every_layer_of_the_labs_is_taken(spec):
    for name in LAYERS:
        for batch in (1, 100, 10_000):
            spec.require(shape_of(name, batch))


def fitted(name: str, **change):
    """conv2d_register_tiled with the measured sizes of a layer, but for these."""
    return replace(TILED, **{**conv2d.FITTED[name], **change})


def sized(spec, *sizes):
    return replace(spec, sizes=ImplicitSizes(*sizes))


def conv_pool(pool: int, patch: tuple, patches: tuple, channels: int):
    spec = pooled.pooled_named("lenet_conv_pool", pool)
    return replace(spec, patch=patch, patches=(*patches, 1), staged=channels, unroll=1)


# (record, shape, words): the shapes of a group differ from its first one as they say.
EVEN, MANY = ConvShape(2, 2, 16, 20, 20, 7), ConvShape(4, 24, 16, 15, 15, 3)
TWO, WIDE, SMALL = (
    ConvShape(1, C=2, M=2, H=30, W=30, K=3), ConvShape(1, 64, 128, 58, 58, 3),
    ConvShape(1, 1, 4, 8, 8, 3),
)  # fmt: skip
REFUSED = [
    # conv2d_register_tiled
    (TILED, ConvShape(1, 64, 64, 30, 30, 3), "65,536 bytes"),
    (TILED, ConvShape(1, 1, 1, 40, 40, 17), "up to K = 15"),
    (fitted("layer 2", staged=3), shape_of("layer 2", 1), "3 of 4 channels"),
    (fitted("layer 2", staged=2, patches=(9, 17, 2)), shape_of("layer 2", 1),
     "2 of 4 channels for 2 images"),
    (fitted("layer 1", patches=(20, 1, 1)), shape_of("layer 1", 1),
     "cannot load a row of 88 cells"),
    (fitted("layer 1", patches=(20, 20, 3)), shape_of("layer 1", 1), "1,216 threads"),
    (fitted("layer 2", patches=(9, 17, 2)), shape_of("layer 2", 1),
     "56,320 bytes of static shared memory"),
    (fitted("layer E2", patch=(4, 2, 11)), ConvShape(1, 12, 24, 11, 11, 7), "65,536 bytes"),
    # conv2d_register_images
    (IMAGES, ConvShape(1, 64, 64, 60, 60, 7), f"holds whole images and weights.*{ANY}"),
    (replace(IMAGES, patch=(2, 3)), ConvShape(1, 1, 4, 9, 9, 3), "whole fours of maps"),
    (replace(IMAGES, patch=(8, 4)), ConvShape(1, 1, 4, 9, 9, 3), "no wider than the output"),
    (IMAGES, ConvShape(1, 1, 4, 9, 9, 3, stride=2), "supports only stride 1"),
    # conv2d_wmma
    (wmma(rows=4), SMALL, "rows = 8 or 16, and only 16 with TF32; got rows = 4"),
    (wmma(rows=8, tf32=True), SMALL, "rows = 8 or 16, and only 16 with TF32; got rows = 8"),
    (wmma(buffers=3), SMALL, "got buffers = 3, skew = 16"),
    (wmma(skew=8), SMALL, "got buffers = 2, skew = 8"),
    (wmma(), replace(SMALL, H=400, W=400),
     r"in 344,960 bytes of shared memory; .* has 232,448\. conv2d_basic takes any size"),
    # conv2d_mma_pairs, conv2d_mma_quads, conv2d_mma_halves
    (PAIRS, replace(EVEN, K=4),
     f"takes K = 3, 5 or 7 and even numbers of rows and columns.*{ANY}"),
    (QUADS, replace(EVEN, K=9, C=1), "takes K = 3, 5 or 7"),
    (PAIRS, replace(EVEN, H=21), "even numbers of rows and columns"),
    (QUADS, replace(EVEN, W=21, C=1), "even numbers of rows and columns"),
    (QUADS, EVEN, f"takes one channel, got 2: use conv2d_mma_pairs; {ANY}"),
    (PAIRS, replace(EVEN, H=200, W=200), rf"bytes of shared memory.*has 232,448\. {ANY}"),
    (PAIRS, replace(EVEN, stride=2), "supports only stride 1, got 2"),
    (HALVES, replace(EVEN, C=5),
     f"weights of at most 4 channels in registers, got 5 channels; {ANY}"),
    (mma_halves(half_io=True), replace(EVEN, M=1, H=16),
     "vectors of 8, and 140 outputs are no multiple of 8"),
    (mma_quads(2, half_io=True), replace(EVEN, C=1), "parts = 1 if x is half"),
    (mma_quads(3), replace(EVEN, C=1), "takes parts = 1 or 2"),
    (replace(PAIRS, warps=33), EVEN, "has 1,056 threads"),
    # conv2d_implicit_mma, conv2d_implicit_mma_async, conv2d_implicit_mma_split
    (replace(SPLIT, parts=1), MANY, "takes parts = 2, got 1"),
    (replace(ASYNC, parts=2), MANY, "takes parts = 1, got 2"),
    (replace(SPLIT, half_io=True), MANY,
     "reads and writes float32; use conv2d_implicit_mma_async"),
    (sized(FIRST, (1, 5, 5), 1, (1, 1), (1, 1)), MANY,
     "a tile has 25 outputs, and the warps take 16"),
    (sized(FIRST, (1, 2, 2), 2, (1, 1), (1, 1)), replace(MANY, C=3),
     "3 channels are one octet, got octets = 2"),
    (sized(ASYNC, (1, 2, 2), 1, (1, 1), (1, 1), (1, 1)), MANY,
     "buffers for weights of 3 chunks: take 3, or 2"),
    (sized(ASYNC, (4, 11, 11), 3, (8, 1), (4, 1), (2, 1)), replace(MANY, W=200, H=200, K=190),
     "bytes of shared memory, and one of a Hopper GPU has 232,448"),
    (sized(ASYNC, (1, 2, 2), 3, (8, 5), (1, 1)), MANY, "has 1,280 threads"),
    # conv2d_implicit_wgmma
    (WGMMA, replace(WIDE, C=8),
     "takes 16 channels and more.*conv2d_implicit_mma_async takes most other shapes, "
     "conv2d_basic all"),
    (WGMMA, replace(WIDE, W=57), "an even number of cells"),
    # conv2d_channels_last
    (LAST, replace(WIDE, C=12),
     "channels and maps by eights.*conv2d_implicit_mma_async takes most other shapes, "
     "conv2d_basic all"),
    (HALO, replace(WIDE, M=12), "channels and maps by eights"),
    (HALO, replace(WIDE, C=72), "up to 64 channels and 128 maps.* conv2d_channels_last takes more"),
    (HALO, replace(WIDE, stride=2), "supports only stride 1"),
    (HALO, replace(WIDE, K=7), "all weights and two tiles of cells must fit"),
    # conv2d_channels_last: sizes
    (WGMMA, replace(WIDE, K=11), "two stages of 16 channels must fit"),
    # conv2d_wgmma, lenet_wgmma_2
    *((spec, replace(shape_of("layer 2", 1), **change),
       r"made for layer 2.*take (conv2d_mma_pairs|lenet_mma_2)")
      for spec in WARPGROUPS for change in ({"H": 38}, {"M": 8}, {"K": 5}, {"stride": 2})),
    # lenet_conv_pool, lenet_mma_1
    (conv_pool(2, (3, 2, 2), (4, 4), 2), TWO, "patches have 3 columns and windows 2"),
    (conv_pool(4, (2, 2, 2), (16, 3), 2), TWO,
     "a tile of 6 rows would cut a window; take a multiple of 4"),
    (conv_pool(2, (2, 2, 2), (4, 4), 1), TWO, "stages all channels"),
    (pooled.pooled_named("lenet_mma_1", 2), shape_of("layer 2", 1), "takes only layer 1"),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "shape", "words"), REFUSED, ids=label)
def test_what_a_kernel_does_not_take_is_refused_with_what_to_do(spec, shape, words):
    with pytest.raises(LayerError, match=words):
        spec.require(shape)


PORTABLE = "take conv2d_register_tiled"
# (record, a layer that it takes, least compute capability, whether no other GPU will do, advice)
GPUS = [
    *((spec, "layer 1" if spec is QUADS else "layer 2", (8, 0), False, PORTABLE)
      for spec in conv2d.FASTEST),
    *((spec, "layer E2", (8, 0), False, "conv2d_register_tiled computes the same")
      for spec in conv2d.IMPLICIT),
    (IMAGES, "layer E2", (8, 0), False, PORTABLE),
    *((spec, "layer 2", (9, 0), True, "take (conv2d_mma_pairs|lenet_mma_2)")
      for spec in WARPGROUPS),
    *((spec, "VGG-16, 224 x 224", (9, 0), True, "take conv2d_implicit_mma_async")
      for spec in (WGMMA, HALO, LAST)),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "layer", "least", "only", "advice"), GPUS, ids=label)
def test_other_gpus_are_refused_and_the_portable_kernel_named(spec, layer, least, only, advice):
    shape = {**LAYERS, **conv2d.KNOWN_LAYERS}[layer]
    gpu = replace(device.select(), kind="gpu", compute_capability=least, name="NVIDIA H200")
    spec.require(shape, gpu)
    major, minor = least
    others = [replace(gpu, compute_capability=(major - 1, 9))]
    if only:
        newer = replace(gpu, compute_capability=(major + 1, minor))
        others += [newer, replace(gpu, kind="simulator")]
    for other in others:
        words = rf"needs a GPU of compute capability {major}\.{minor}, and .*; {advice}"
        with pytest.raises(LayerError, match=words):
            spec.require(shape, other)


def test_the_network_s_second_layer_is_that_of_the_warpgroups():
    assert ConvShape(1, C=4, M=16, H=40, W=40, K=7) == shape_of("layer 2", 1)


def test_layers_of_networks_are_taken():
    for shape in conv2d.KNOWN_LAYERS.values():
        for spec in (*conv2d.IMPLICIT, implicit_mma(1, True)):
            spec.require(shape)
    assert {shape.stride for shape in conv2d.KNOWN_LAYERS.values()} == {1, 2}
