"""conv2d_register_images: its results, how its sizes are chosen, and what is refused."""

import math
from dataclasses import replace

import pytest

from helpers import simulator
from helpers.limits import ConvShape
from helpers.problems import conv2d
from helpers.problems.conv2d import register_images
from tests.kernels.mutants import mutants, require_rejected
from tests.support import layer_problem

SPEC = register_images()
SHAPES = (  # (B, C, M, H, W, K)
    (3, 12, 24, 11, 11, 7),  # layer E2
    (1, 1, 1, 1, 1, 1),
    (2, 3, 5, 9, 13, 5),  # maps that fill no group; copies of 4 bytes
    (1, 2, 4, 6, 19, 3),  # patches that overlap
    (5, 1, 12, 8, 9, 4),  # images left over
    (4, 3, 9, 7, 7, 7),
)


def run(spec, x, filter, instead=None):
    y, (findings,) = conv2d.simulate(spec, x, filter, entry=simulator.check, instead=instead)
    return y, findings


# By one image at a time, and by several: the last block then has fewer.
@pytest.mark.parametrize(
    ("sizes", "more"),
    [
        *((sizes, {}) for sizes in SHAPES),
        *((SHAPES[k], {"images": 2}) for k in (0, 4)),
        *((SHAPES[k], {"images": 4, "groups": 1}) for k in (2, 4)),
    ],
    ids=str,
)
def test_table(sizes, more):
    x, filter = layer_problem(ConvShape(*sizes))
    y, findings = run(replace(SPEC, **more), x, filter)
    assert not findings, findings[0]
    conv2d.check(y, x, filter, f"{sizes}, {more}")


@pytest.mark.parametrize("patch", [(1, 4), (3, 4), (5, 12)])
def test_patches(patch):
    x, filter = layer_problem(ConvShape(2, 2, 13, 9, 11, 5))
    y, findings = run(replace(SPEC, patch=patch), x, filter)
    assert not findings, findings[0]
    conv2d.check(y, x, filter, str(patch))


def test_few_images_get_more_blocks():
    shapes = [conv2d.shape_of("layer E2", batch) for batch in (100, 1_000, 10_000)]
    fitted = [SPEC.fitted(shape) for shape in shapes]
    assert [one.images for one in fitted] == [1, 4, 8]
    grids = [one.grid(shape) for one, shape in zip(fitted, shapes, strict=True)]
    assert all(math.prod(grid) >= 200 for grid in grids), grids


MUTANTS = mutants("conv2d_register_images")


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutants_are_rejected(mutant):
    x, filter = layer_problem(ConvShape(3, 2, 9, 9, 12, 5))
    spec = replace(SPEC, patch=(5, 4), groups=2, images=2)
    y, findings = run(spec, x, filter, instead={SPEC.name: (mutant.name, mutant.source)})
    require_rejected(mutant, findings, lambda: conv2d.check(y, x, filter, mutant.name))
