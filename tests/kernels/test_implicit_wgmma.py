"""conv2d_implicit_wgmma: any shape of 16 channels and more by the products of warpgroups.

The simulator refuses wgmma. Here it runs the kernel with products in plain code, which read shared
memory where the descriptors say; on a GPU the kernel runs as it is (`pytest -m gpu`).
"""

from dataclasses import replace

import numpy as np
import pytest

from helpers import checking, launch, reference, simulator
from helpers.limits import ConvShape
from helpers.problems import conv2d
from helpers.problems.conv2d import WarpgroupSizes, implicit_wgmma
from tests.kernels.mutants import mutants, require_rejected
from tests.support import needs_nvcc, on_gpu, require_lean

pytestmark = pytest.mark.long

SPEC = implicit_wgmma()
# Tiles that overhang on both sides; 64 maps twice, spare maps; spare channels; both strides; rows
# in fours and in pairs; more tiles than blocks; two producers.
TILED = (
    (ConvShape(1, 16, 72, 9, 12, 3), WarpgroupSizes((3, 6), 2, 2)),
    (ConvShape(2, 48, 64, 6, 10, 3), WarpgroupSizes((2, 8), 1, 3, 2)),
    (ConvShape(1, 24, 72, 6, 6, 3), WarpgroupSizes((2, 4), 2, 2)),
    (ConvShape(1, 40, 20, 11, 10, 3, 2), WarpgroupSizes((2, 4), 1, 2)),
    (ConvShape(3, 16, 8, 5, 6, 1), WarpgroupSizes((2, 4), 1, 2)),
    (ConvShape(1, 16, 8, 9, 12, 5, 2), WarpgroupSizes((2, 4), 1, 2)),
)
LAYERS = {name: shape for name, shape in conv2d.KNOWN_LAYERS.items() if shape.C >= 16}


def problem(shape: ConvShape) -> tuple[np.ndarray, np.ndarray]:
    """Random x, float16, and filter, float32."""
    rng = np.random.default_rng([shape.B, shape.C, shape.M, shape.H, shape.W, shape.K])
    x = rng.uniform(-1, 1, shape.x_shape).astype(np.float16)
    return x, rng.uniform(-1, 1, shape.filter_shape).astype(np.float32)


def simulated(
    shape: ConvShape, sizes: WarpgroupSizes, source: str = "", name: str = SPEC.name
) -> tuple[np.ndarray, tuple[simulator.Finding, ...]]:
    """Return y and the findings of the kernel, or of another source, with products in plain code.

    The last columns of B have no outputs, and may read cells that nothing has written.
    """
    (one,) = replace(SPEC, sizes=sizes, blocks=2).plan(shape)
    options = (*one.options, "-DPLAIN_PRODUCTS=1")
    one = replace(one, options=options, source=source or one.source, name=name)
    x, filter = problem(shape)
    y = np.full(shape.y_shape, np.nan, np.float16)
    (findings,) = launch.simulate((one,), {"y": y, "x": x, "filter": filter}, simulator.check)
    return y, tuple(finding for finding in findings if finding.kind != "uninitialised")


def check(y: np.ndarray, shape: ConvShape, name: str = SPEC.name) -> None:
    x, filter = problem(shape)
    cells = x.astype(np.float32)
    want = reference.conv2d(cells, SPEC.precision.rounded(filter), shape.stride)
    atol = SPEC.precision.sum_atol(cells, filter)
    checking.check(y.astype(np.float32), want, rtol=2.0**-11, atol=atol, name=name)


@pytest.mark.parametrize(("shape", "sizes"), TILED, ids=str)
def test_layers_are_right_with_products_in_plain_code(shape, sizes):
    replace(SPEC, sizes=sizes).require(shape)
    y, findings = simulated(shape, sizes)
    assert not findings, findings[0]
    check(y, shape)


MUTANTS = mutants("conv2d_implicit_wgmma")


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutants_are_rejected(mutant):
    shape, sizes = ConvShape(1, 24, 72, 7, 10, 3), WarpgroupSizes((3, 6), 2, 2)
    y, findings = simulated(shape, sizes, mutant.source, mutant.name)
    require_rejected(mutant, findings, lambda: check(y, shape, mutant.name))


@pytest.mark.parametrize("name", LAYERS)
def test_layers_of_networks_fit(name):
    spec = SPEC.fitted(LAYERS[name])
    spec.require(LAYERS[name])
    other = replace(LAYERS[name], M=LAYERS[name].M + 8)  # not measured
    SPEC.fitted(other).require(other)


@needs_nvcc
@pytest.mark.parametrize("name", LAYERS)
def test_nvcc_spills_nothing_and_serializes_nothing(name, tmp_path):
    require_lean(SPEC.name, tmp_path, SPEC.options(LAYERS[name]))


@pytest.mark.gpu
@pytest.mark.parametrize(("shape", "sizes"), TILED, ids=str)
def test_layers_on_the_gpu(shape, sizes):
    x, filter = problem(shape)
    plan = replace(SPEC, sizes=sizes, blocks=2).plan(shape)
    check(on_gpu(plan, "y", {"x": x, "filter": filter}), shape)
