"""Kernels of the convolution layer that compete: on drawn shapes they must be right, on LeNet's two
layers they are ranked.

Whoever writes one chooses its tile by -D options; the launch follows them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.bench import cost
from helpers.exercises import kit, layers
from helpers.limits import ConvShape
from helpers.problems import conv2d

WIDTHS = (1, 2, 4, 5, 7, 9, 15)  # of the filters of drawn shapes
LENET = {name: conv2d.LAYERS[name] for name in conv2d.LENET}


def drawn_shapes(rng: np.random.Generator) -> Iterator[ConvShape]:
    """Yield one shape for each of WIDTHS: few and many channels and maps, images down to the size
    of the filter; one with more images and channels than LeNet's layers; and one with more cells
    and outputs than an index of 16 bits can count.
    """
    yield ConvShape(3, 9, 2, 7, 8, 3)
    for K in WIDTHS:
        B, C, M, rows, columns = map(int, rng.integers((1, 1, 1, 0, 0), (3, 5, 10, 25, 40)))
        yield ConvShape(B, C, M, K + rows, K + columns, K)
    yield ConvShape(2, 1, 1, 181, 190, 1)


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield the drawn shapes, then LeNet's layers, for which the budgets hold. The grids follow
    from a cell's options: see `fitted`.
    """
    for shape in drawn_shapes(rng):
        yield layers.layer_case(rng, shape, (1,), (1,), budgeted=False)
    for name, shape in LENET.items():
        yield layers.layer_case(rng, shape, (1,), (1,), facts={"name": name})


def small(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield two groups of maps, several tiles of two images, and many channels."""
    for shape in (
        ConvShape(1, 2, 5, 6, 7, 3),
        ConvShape(2, 1, 2, 19, 4, 2),
        ConvShape(1, 9, 2, 4, 5, 2),
    ):
        yield layers.layer_case(rng, shape, (1,), (1,))


def large(rng: np.random.Generator) -> kit.Case:
    """Return what a GPU times."""
    return layers.layer_case(rng, layers.LARGE, (1,), (1,))


def fitted(case: kit.Case, width: int, columns: int, maps: int) -> kit.Case:
    """Return a case launched with blocks of width x width threads, which make width rows of width *
    columns outputs of so many maps.
    """
    shape = case["shape"]
    tiles = kit.ceil_div(shape.out_h, width) * kit.ceil_div(shape.out_w, width * columns)
    step = kit.Step(
        (tiles, kit.ceil_div(shape.M, maps), shape.B),
        (width, width),
        ("y", "x", "filter", *layers.sizes(shape)),
    )
    facts = {**case.facts, "outputs of a block": width * width * columns * maps}
    return kit.Case(
        case.title, case.arrays, case.outputs, (step,), case.kinds, facts, case.budgeted
    )


def estimated(case: kit.Case, outcome: kit.Outcome) -> float:
    """Return cycles of a multiprocessor per 32 multiply-adds, estimated from every kind of traffic
    (helpers.bench.cost).
    """
    shape = case["shape"]
    return (
        32
        * sum(cost.cycles(n.traffic, n.instructions) for n in outcome.counts)
        / (shape.outputs * shape.terms)
    )
