"""The convolution layer on tensor cores: windows of an image are fragments of B as they lie."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit, layers
from helpers.limits import ConvShape
from helpers.problems import conv2d

WARPS = 4
BLOCKS = 5  # of a launch, at most; a block takes every fifth image
RECORD = conv2d.mma_pairs()  # whose fragments of A the answer takes


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield layers with a full and with a spare tile, fewer maps than rows of A, three widths, and
    many images: more outputs than a short index counts.
    """
    yield layer(rng, ConvShape(1, 2, 16, 10, 14, 7))
    yield layer(rng, ConvShape(3, 4, 16, 12, 16 + 2 * int(rng.integers(0, 6)), 7))
    yield layer(rng, ConvShape(2, 2, 11, 14, 20, 5))
    yield layer(rng, ConvShape(2, 4, 16, 6, 12, 3))
    yield layer(rng, ConvShape(53, 2, 16, 6, 12, 3))


def small(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield a layer with a spare column, and one of several channels and two tiles."""
    yield layer(rng, ConvShape(1, 2, 11, 6, 10, 5))
    yield layer(rng, ConvShape(2, 4, 16, 6, 12, 3))


def layer(rng: np.random.Generator, shape: ConvShape, warps: int = WARPS) -> kit.Case:
    """Return a layer whose cells need two halves, and whose sums are exact in float32."""
    x = kit.whole_numbers(rng, shape.x_shape, 9) + rng.integers(1, 8, shape.x_shape) / np.float32(
        4096
    )
    filter = kit.whole_numbers(rng, shape.filter_shape)
    sizes = {
        **shape.constants,
        "WARPS": warps,
    }
    return layers.layer_case(
        rng,
        shape,
        (min(BLOCKS, shape.B),),
        (32 * warps,),
        drawn=(x.astype(np.float32), filter),
        arguments=("y", "x", np.int32(shape.B)),
        constants={"filter": RECORD.arrange(filter)},
        options=tuple(f"-D{name}={value}" for name, value in sizes.items()),
    )


def large(rng: np.random.Generator) -> kit.Case:
    """Return what a GPU times."""
    return layer(rng, ConvShape(500, 4, 16, 40, 40, 7), 12)


def products(case: kit.Case) -> int:
    """Return how many `mma` a launch cannot do without."""
    shape = case["shape"]
    tiles = kit.ceil_div(shape.out_h // 2 * (shape.out_w // 2), 8)
    return shape.B * tiles * (shape.C * shape.K // 2) * 2 * 2 * 3


EXERCISE = kit.Exercise(
    name="conv2d_windows",
    lab="305_fastest_layer",
    title="Windows of an image as fragments of B",
    points=5,
    place=1,
    cases=cases,
    small=small,
    reference=layers.convolved,
    rtol=1e-6,
    atol=2e-3,
    counts=layers.COUNTS,
    budgets=(
        kit.Budget(
            "products by tensor cores (mma), over those of the layer",
            lambda case, one: kit.executed("mma.", per="launch")(case, one) / products(case),
            1,
            "A warp multiplies each tile once.",
            least=1,
        ),
        kit.Budget(
            "loads of x, in floats over its cells",
            lambda case, one: one.total("bytes_used", "global", "load", "x") / 4 / case["x"].size,
            1,
            "Each cell is loaded and split once; fragments come from hi and lo.",
        ),
        kit.Budget(
            "sectors of x for a request",
            lambda case, one: (
                kit.all_of("sectors", "global", "load", "x")(case, one)
                / kit.all_of("requests", "global", "load", "x")(case, one)
            ),
            9,
            quiet=True,
        ),
        kit.ONE_STORE,
        *kit.elsewhere(10**6),
        *kit.NO_DETOURS,
    ),
    most_of_a_block=lambda case: (
        kit.ceil_div(case["shape"].B, case.steps[0].grid[0]) * case.count // case["shape"].B
    ),
    warps_share=False,
    hints=(
        "Gap 1: the windows of columns 0 to ACROSS - 1 begin in row 0 of x, the next ones in row "
        "2. Neighbouring columns begin one Pair apart: column / ACROSS * 2 * ROW + column % ACROSS "
        "+ q.",
        "Gap 2: with n = 2 * step, low is window + n / K * PLANE + (n % K + row) * ROW, and high "
        "the same of n + 1: it may belong to the next channel.",
        "Gap 3: the lane gets columns 2 q and 2 q + 1 of the tile: pair = first + 2 * q + i % 2. "
        "Registers 2 and 3 belong to row g + 8 of A, which is that map.",
    ),
    timed=large,
)
