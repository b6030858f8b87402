"""Wrong kernels must be rejected, and for the right reason: a checker that passes one of them is
the bug.

The tables of tests/kernels/mutants/ name for each the kind of the finding or diagnosis that rejects
it.
"""

import re
from collections import Counter
from functools import partial

import numpy as np
import pytest

from helpers import checking, kernels, limits, reference, simulator
from helpers.exercises.judge.mutants import EditError
from helpers.problems import conv2d, gemm
from helpers.problems.conv1d import conv1d_atol, conv1d_named
from tests.kernels.mutants import ALL, Mutant, mutants, require_named, require_rejected

BLOCK = 64
N_CELLS = 3 * BLOCK + 5  # four blocks, the last one partial, and no multiple of 4
WIDTH = 5
# (outputs of a block, threads, options) of the kernels whose block is set by -D.
BLOCKS = {
    "conv1d_tiled_steps": (BLOCK, BLOCK, (f"-DTILE_WIDTH={BLOCK}",)),
    "conv1d_outputs": (96, 32, ("-DTILE_WIDTH=96", "-DOUTPUTS=3")),
    "conv1d_vector": (BLOCK, BLOCK // 8, (f"-DTILE_WIDTH={BLOCK}", "-DOUTPUTS=8")),
}

CONV1D = mutants("conv1d")
LAYER = [
    mutant
    for mutant in mutants("conv2d", "im2col", "gemm_tiled", "to_half")
    # test_fastest_layer.py, test_implicit.py, test_implicit_wgmma.py and test_small_images.py run
    # these
    if not mutant.name.startswith(
        ("conv2d_mma_", "conv2d_implicit_mma", "conv2d_implicit_wgmma", "conv2d_register_images")
    )
]
AXPY = mutants("axpy")
# test_fastest_layer.py, test_implicit.py, test_implicit_wgmma.py, test_small_images.py,
# test_fft.py, test_lenet.py, test_background_copies.py, test_tensor_product.py, test_waiting.py,
# test_gemm.py
ELSEWHERE = mutants(
    "conv2d_mma_",
    "conv2d_implicit_mma",
    "conv2d_implicit_wgmma",
    "conv2d_register_images",
    "fft",
    "lenet",
    "copy_",
    "mma_",
    "split_",
    "flight_",
    *(f"{spec.name}_" for spec in gemm.GEMM if spec.name != "gemm_tiled"),
    "gemm_warp_",
    "gemm_mma_",
)


def problem() -> tuple[np.ndarray, np.ndarray]:
    """Random N and filter, float32; the filter is not symmetric."""
    rng = np.random.default_rng(7)
    return rng.uniform(-1, 1, N_CELLS).astype(np.float32), rng.uniform(0.2, 1, WIDTH).astype(
        np.float32
    )


def run_conv1d(mutant: Mutant) -> tuple[np.ndarray, tuple[simulator.Finding, ...]]:
    N, filter = problem()
    P = np.full_like(N, np.nan)
    constant = conv1d_named(mutant.original).filter_in == "constant"
    words = re.search(r"__constant__ float filter\[(.*?)\]", mutant.source)
    narrow = words is not None and "- 1" in words[1]
    tile, threads, sizes = BLOCKS.get(mutant.original, (BLOCK, BLOCK, ()))
    findings = simulator.check(
        mutant.source,
        mutant.name,
        *((P, N, np.int32(N.size)) if constant else (P, N, filter, np.int32(N.size))),
        grid=(-(-N.size // tile), 1),
        block=(threads, 1, 1),
        options=[f"-DFILTER_WIDTH={WIDTH}", *sizes],
        constants={"filter": filter[:-1] if narrow else filter} if constant else {},
    )
    return P, findings


@pytest.mark.parametrize("mutant", CONV1D, ids=lambda mutant: mutant.name)
def test_conv1d_mutants_are_rejected(mutant):
    N, filter = problem()
    P, findings = run_conv1d(mutant)
    suspects = {"the filter is flipped": reference.conv1d(N, filter[::-1])}
    want, atol = reference.conv1d(N, filter), conv1d_atol(N, filter)
    check = partial(checking.check, P, want, rtol=0.0, atol=atol, suspects=suspects)
    require_rejected(mutant, findings, check, beside=("unwritten",))


# 19 x 24 outputs: both rows and columns end in part of a tile.
LAYER_SHAPE = limits.ConvShape(B=2, C=3, M=5, H=21, W=26, K=3)


def layer_problem() -> tuple[np.ndarray, np.ndarray]:
    """Random x and filter, float32: no two images, channels, output maps, rows or columns are
    alike.
    """
    rng = np.random.default_rng(7)
    x, filter = (
        rng.uniform(-1, 1, shape).astype(np.float32)
        for shape in (LAYER_SHAPE.x_shape, LAYER_SHAPE.filter_shape)
    )
    return x, filter + np.float32(1.5)


def original_of(mutant: Mutant) -> conv2d.Conv2d:
    return next(
        spec
        for spec in (*conv2d.CONV2D, *conv2d.TAUGHT, *conv2d.REDUCED)
        if mutant.original in spec.sources
    )


def run_layer(mutant: Mutant) -> tuple[np.ndarray, tuple[simulator.Finding, ...]]:
    """Run a mutant with the launch of its original; the other kernel of a pair is the right one."""
    x, filter = layer_problem()
    spec = original_of(mutant)
    more, instead = {}, {mutant.original: (mutant.name, mutant.source)}
    if re.search(r"__constant__ float filter\[.*- 1\]", mutant.source):
        more = {"constants": {"filter": filter.ravel()[:-1]}}
    y, launches = conv2d.simulate(spec, x, filter, entry=simulator.check, instead=instead, **more)
    return y, tuple(finding for findings in launches for finding in findings)


@pytest.mark.parametrize("mutant", LAYER, ids=lambda mutant: mutant.name)
def test_layer_mutants_are_rejected(mutant):
    y, findings = run_layer(mutant)
    precision = original_of(mutant).precision
    check = partial(conv2d.check, y, *layer_problem(), mutant.name, precision=precision)
    require_rejected(mutant, findings, check, beside=("unwritten", "uninitialised"))


@pytest.mark.parametrize("mutant", AXPY, ids=lambda mutant: mutant.name)
def test_axpy_mutants_are_rejected(mutant):
    x = np.arange(N_CELLS, dtype=np.float32)
    launch = {"grid": (4, 1), "block": (BLOCK, 1, 1)}
    findings = simulator.check(
        mutant.source, mutant.name, x.copy(), x, np.int32(x.size), np.float32(2), **launch
    )
    require_named(mutant, findings)


def test_a_module_runs_each_mutant():
    assert len(ALL) == len(AXPY) + len(CONV1D) + len(LAYER) + len(ELSEWHERE)


# The simulator runs neither products of warpgroups nor copies by tensor maps. The others are
# variants of a kernel that has mutants, or a chase, which computes nothing.
FEWER = {
    **dict.fromkeys(("conv2d_wgmma", "lenet_wgmma_2"), 0),
    **dict.fromkeys((spec.name for spec in (*gemm.HALVES[1:], *conv2d.CHANNELS_LAST)), 0),
    **dict.fromkeys(("conv1d_constant_divergent", "conv1d_one_block"), 0),
    **dict.fromkeys(("conv1d_tiled_cached_halo", "conv1d_tiled_input"), 0),
    **dict.fromkeys(("pointer_chase", "pointer_chase_shared"), 0),
    **dict.fromkeys(("conv1d_outputs", "gemm_basic", "gemm_patch"), 1),
}


def test_every_kernel_has_two_mutants():
    counts = Counter(mutant.original for mutant in ALL)
    assert {name: counts[name] for name in kernels.names() if counts[name] < 2} == FEWER


@pytest.mark.parametrize("old", ["index < count", "const"])
def test_an_edit_that_does_not_fit_its_kernel_once_fails(old):
    stale = Mutant("axpy_stale", "race", ((old, "0"),), "axpy_basic")
    with pytest.raises(EditError, match=f"'{old}' stands"):
        _ = stale.source
