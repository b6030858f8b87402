"""The convolution layer on tensor cores: gather columns of the unrolled image, and multiply."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit, layers
from helpers.exercises.judge import indices
from helpers.limits import ConvShape

STEP = 16  # terms of one product


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield a layer with both factors in one fragment, one with 8 rows, one with two blocks of
    maps.
    """
    yield layer(rng, ConvShape(1, 2, 16, 14, 19, 5))
    yield layer(rng, ConvShape(5, 1, 4, 16, int(rng.integers(17, 30)), 7), rows=8)
    yield layer(rng, ConvShape(9, 3, 19, 23, 25, 3), budgeted=False)


def small(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield two steps for one warp, and two images and blocks of maps, with 8 rows."""
    yield layer(rng, ConvShape(1, 2, 3, 7, 8, 3))
    yield layer(rng, ConvShape(2, 1, 9, 6, 11, 2), rows=8)


def layer(
    rng: np.random.Generator, shape: ConvShape, rows: int = 16, budgeted: bool = True
) -> kit.Case:
    """Return a layer of whole numbers, which are exact in half; a block has an image and `rows`
    maps.
    """
    sizes = {
        **shape.constants,
        "ROWS": rows,
    }
    return layers.layer_case(
        rng,
        shape,
        (1, kit.ceil_div(shape.M, rows), shape.B),
        (256,),
        drawn=(kit.whole_numbers(rng, shape.x_shape), kit.whole_numbers(rng, shape.filter_shape)),
        arguments=("y", "x", "filter"),
        facts={"rows": rows},
        options=tuple(f"-D{name}={value}" for name, value in sizes.items()),
        budgeted=budgeted,
    )


def large(rng: np.random.Generator) -> kit.Case:
    """Return what a GPU times."""
    return layer(rng, layers.LARGE)


def products(case: kit.Case) -> int:
    """Return how many products of fragments a launch cannot do without."""
    shape, columns = case["shape"], 256 // case["rows"]
    # A warp takes 32 outputs, in one fragment or in two.
    tiles = kit.ceil_div(shape.out_h * shape.out_w, 32) * 32 // columns
    return shape.B * kit.ceil_div(shape.M, case["rows"]) * tiles * kit.ceil_div(shape.terms, STEP)


EXERCISE = kit.Exercise(
    name="conv2d_tensor",
    lab="303_tensor_cores",
    title="The layer as a product on tensor cores",
    points=5,
    cases=cases,
    small=small,
    reference=layers.convolved,
    counts=layers.COUNTS,
    timed=large,
    limit_s=20.0,
    budgets=(
        kit.Budget(
            "mma_sync for each one that is needed",
            kit.executed("wmma.mma", "mma.", per=products),
            1,
            "Each step of 16 terms is one mma_sync for each part of the 32 columns.",
            least=1,
        ),
        kit.single_products(
            0,
            "The tensor cores should make all products, by mma_sync, and the outputs are its sums.",
        ),
        *kit.elsewhere(2_000),
        kit.Budget(
            "loads of x per cell",
            lambda case, one: (
                one.total("lanes", "global", "load", "x")
                / (case.arrays["x"].size * kit.ceil_div(case["shape"].M, case["rows"]))
            ),
            1,
            "Gather from `image` in shared memory, not from x.",
        ),
        kit.ONE_STORE,
        *kit.NO_DETOURS,
    ),
    most_of_a_block=lambda case: case["rows"] * case["shape"].out_h * case["shape"].out_w,
    warps_share=False,
    mistakes=indices.WRONG_INDICES,
    hints=(
        "Gap 1 is lab 202: a channel has K * K terms, a row of the filter has K. So c = term / "
        "(K * K), and p and q are what is left. The cell is (c * HEIGHT + p) * WIDTH + q after "
        "`corner`.",
        "Gap 2: a begins at weights + 16 * step, and its rows are F_PITCH apart. Part `part` of "
        "the columns begins at columns[warp] + part * COLUMNS * PITCH, and they are PITCH apart.",
        "Gap 2 is __syncwarp(); one load_matrix_sync of a; a loop over the parts with "
        "load_matrix_sync of b and mma_sync(sum[part], a, b, sum[part]); __syncwarp().",
    ),
)
