"""The convolution layer on a device: one record a kernel says how to launch it and what it refuses.

    y = conv2d.convolve("conv2d_basic", x, filter)     # host arrays, everything checked
    run = conv2d.compile("conv2d_constant", shape)     # on device addresses
    run.launch(problem.y, problem.x, problem.filter, stream)

`CONV2D` has a row for each kernel in float32, `REDUCED` one for each that rounds its inputs. A row
is a frozen record: `dataclasses.replace` and `Conv2d.with_tile` make others.

This file only re-exports names. Each module holds one family of kernels, or one task.
"""

from helpers.limits import CONSTANT_BYTES, MOST_SHARED_BYTES

from .base import Compiled, Conv2d, Names
from .channels_last import CHANNELS_LAST, GatherSizes, HaloSizes, channels_last
from .checks import Problem, check, conv2d_atol, some_images, suspects
from .data import inputs, random_inputs
from .half import HalfInputs, half2
from .im2col import Im2colGemm
from .implicit import IMPLICIT, ImplicitMma, ImplicitSizes, implicit_mma
from .implicit_wgmma import ImplicitWgmma, WarpgroupSizes, implicit_wgmma
from .mma import (
    FASTEST,
    SCALED_HALF,
    WARPGROUP_FLAGS,
    WARPGROUPS,
    TensorKernel,
    TensorLayer,
    mma_halves,
    mma_pairs,
    mma_quads,
    mma_wgmma,
    power_of_two,
    require_warpgroups,
    warpgroup_bytes,
    warpgroup_fragments,
)
from .refusals import PLAINEST
from .register_2d import REGISTER_2D, register_2d
from .register_images import register_images
from .register_tiled import FITTED, OCCUPANCY, RegisterTiled
from .runs import compile, convolve, simulate
from .shapes import KNOWN_LAYERS, LAYERS, LENET, SEED, LayerError, ceil_div, shape_for, shape_of
from .table import CONV2D, REDUCED, SMALL, TAUGHT, channels_shuffle, channels_tree, conv2d_named
from .wmma import wmma
