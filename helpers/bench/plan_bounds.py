"""The bounds of the launches of a plan, counted in the simulator on small problems.

    bounds_of(plan, size=10_000, sizes=(2, 4))     # plan(n): the launches for a problem of size n
    of_layer(spec, conv2d.shape_of("layer 1", 10_000))

Launches of thousands of images are not run whole in the simulator. Their counts are those of a few
images, continued in a straight line, which is exact where each block does what the others do;
`tests/helpers/test_bound_ratios.py` holds that to a third size.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence

import numpy as np

from helpers import launch, simulator
from helpers.launch import Launch, Plan
from helpers.limits import ConvShape
from helpers.problems import conv2d
from helpers.simulator import bounds
from helpers.simulator.bounds import Bounds, Counts

DEVICE = "H200"
IMAGES = (2, 4)  # of the launches that are counted
PERSISTENT_BLOCKS = 2  # of a kernel whose blocks loop over the images, and of more of them
PERSISTENT_IMAGES = (4, 8)
MOST_OF_A_BLOCK = 8  # images

PlanOf = Callable[[int], Plan]


def bounds_of(
    plan: PlanOf,
    size: int,
    sizes: tuple[int, int],
    name: str = "",
    *,
    cache: str = "cold",
    parts: Sequence[str] = (),
) -> Bounds:
    """Return the bounds of all launches of a plan on an H200, one after the other.

    plan: the launches for a problem of a size; sizes: two that the simulator can count; cache: what
    the first launch finds; parts: names of the launches that count, by default all. Raises
    ValueError for a launch that ends in a finding, and for one that the small plans do not have.
    """
    found: list[Bounds] = []
    made: dict[tuple, Bounds] = {}
    numbers: dict[str, int] = {}
    whole, small = plan(size), plan(sizes[0])
    for wanted in whole:
        number = numbers[wanted.name] = numbers.get(wanted.name, -1) + 1
        if parts and wanted.name not in parts:
            continue
        # What the launch before has written may be in L2.
        here = "hot" if found else cache
        times = sum(part.name == wanted.name for part in whole)
        few = sum(part.name == wanted.name for part in small)
        if not few:
            raise ValueError(f"{wanted.name} has no launch where the size is {sizes[0]:,}")
        key = wanted.name, wanted.options, wanted.grid, here, number % few
        if key not in made:
            counts = _counts(plan, size, sizes, wanted, number % few, chunks=times // few)
            made[key] = bounds.bounds(counts, DEVICE, here)
        found.append(made[key])
    return bounds.in_a_row(found, name or whole[-1].name)


def of_whole(plan: Plan, name: str) -> Bounds:
    """Return the bounds of all launches of a plan that is small enough to be counted whole. Raises
    ValueError for a launch that ends in a finding.
    """
    found = [
        bounds.bounds(one, DEVICE, "hot" if number else "cold")
        for number, one in enumerate(counted(plan))
    ]
    return bounds.in_a_row(found, name)


def of_layer(spec: conv2d.Conv2d, shape: ConvShape) -> Bounds:
    """Return the bounds of a kernel on a layer, from `whole_blocks` of its images."""
    plan = layer_plan(spec, shape)
    return bounds_of(plan, shape.B, whole_blocks(plan), spec.name)


def layer_plan(spec: conv2d.Conv2d, shape: ConvShape) -> PlanOf:
    """Return the plans of a kernel by images, each in the form that it has for the whole shape."""
    fitted = spec.fitted(shape)
    return lambda images: fitted.plan(dataclasses.replace(shape, B=images))


def whole_blocks(plan: PlanOf) -> tuple[int, int]:
    """Return IMAGES, or as many times as many as a block takes."""
    blocks = [math.prod(plan(images)[-1].grid) for images in range(1, MOST_OF_A_BLOCK + 1)]
    of_a_block = blocks.count(blocks[0])
    few, more = IMAGES
    return few * of_a_block, more * of_a_block


def random_arrays(plan: Plan) -> dict[str, np.ndarray]:
    """Return contents for all arrays of a plan: which cells are read does not depend on them."""
    rng = np.random.default_rng(conv2d.SEED)
    found: dict[str, np.ndarray] = {}
    for array in (array for part in plan for array in part.arrays):
        if array.name not in found:
            floats = np.issubdtype(array.dtype, np.floating)
            values = rng.uniform(-1, 1, array.shape) if floats else rng.integers(0, 2, array.shape)
            found[array.name] = values.astype(array.dtype)
    return found


def _counts(
    plan: PlanOf, size: int, sizes: tuple[int, int], wanted: Launch, number: int, chunks: int
) -> Counts:
    """Return the counts of one launch of a plan, from two smaller ones.

    number: of the launch among those of its name in the small plans; chunks: launches that share
    the work of the large problem, of which each is as large as its grid.
    """
    blocks = 0
    few, many = (
        math.prod([part for part in plan(one) if part.name == wanted.name][number].grid)
        for one in sizes
    )
    # Fewer blocks than the problem has more: each does the work of several, one after the other.
    if chunks == 1 and many > few and math.prod(wanted.grid) < 0.9 * few * size / sizes[0]:
        sizes, blocks = PERSISTENT_IMAGES, PERSISTENT_BLOCKS
    small, large = (_counted(plan(one), wanted.name, number, blocks) for one in sizes)
    if chunks > 1:
        return small.at(large, wanted.grid)
    return small.at(large, wanted.grid, (*sizes, size))


_known: dict[tuple, tuple[Counts, ...]] = {}


def _counted(plan: Plan, name: str, number: int, blocks: int) -> Counts:
    """Return the counts of a launch of that name; blocks: of its grid, where that is not the
    plan's.
    """
    if blocks:
        plan = tuple(dataclasses.replace(part, grid=(blocks, 1, 1)) for part in plan)
    of_name = [k for k, part in enumerate(plan) if part.name == name]
    return counted(plan)[of_name[number]]


def counted(plan: Plan) -> tuple[Counts, ...]:
    """Return the counts of the launches of a plan, which are run once, and then kept. Raises
    ValueError for a launch that ends in a finding.
    """
    key = tuple(
        (
            *(part.name, part.options, part.source, part.grid, part.block),
            *((array.name, array.shape) for array in part.arrays),
        )
        for part in plan
    )
    if key not in _known:
        # A check has looked for races before, and takes four times as long as the counts.
        profiles = launch.simulate(plan, random_arrays(plan), simulator.profile, checks=False)
        for part, profile in zip(plan, profiles, strict=True):
            if profile.findings:
                raise ValueError(f"{part.name}: {profile.findings[0]}")
        _known[key] = tuple(profile.counts for profile in profiles)
    return _known[key]
