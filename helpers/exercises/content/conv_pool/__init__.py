"""Convolution, ReLU and max-pool in one kernel: a thread computes a window."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit, layers
from helpers.exercises.judge import indices
from helpers.limits import ConvShape
from helpers.problems.lenet import network

TILE = 16
SMALL = (
    (ConvShape(1, 1, 1, 6, 7, 2), 2),
    (ConvShape(2, 2, 2, 7, 9, 3), 2),
    (ConvShape(1, 2, 1, 9, 8, 2), 4),
)


def layer(
    rng: np.random.Generator, shape: ConvShape = layers.LARGE, pool: int = 4, scale: int = 1
) -> kit.Case:
    """Return a layer and its pool, by default as large as LeNet's second; 16 x 16 windows a block.
    scale: of the cells, a power of two, by which sums stay exact.
    """
    x, filter = layers.draw(rng, shape)
    x *= np.float32(scale)
    rows, columns = kit.ceil_div(shape.out_h, pool), kit.ceil_div(shape.out_w, pool)
    grid = (kit.ceil_div(rows, TILE) * kit.ceil_div(columns, TILE), shape.M, shape.B)
    y = kit.unwritten((shape.B, shape.M, rows, columns))
    return kit.one_launch(
        f"{layers.words(shape)}, windows of {pool} x {pool}",
        {"y": y, "x": x, "filter": filter},
        grid, (TILE, TILE), *layers.sizes(shape), pool,
        kinds={"layer": shape, "window": pool}, facts={"shape": shape, "pool": pool},
    )


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield windows that are whole and cut, of 1 to 6 cells a side; whole tiles of them; channels,
    maps, images; large values; many windows.
    """
    rows, columns = (int(n) for n in rng.integers(30, 50, 2))
    for shape, pool in (
        (ConvShape(2, 1, 2, rows, columns, 4), 2),
        (ConvShape(2, 2, 3, 19, 40, 3), 3),
        (ConvShape(1, 4, 2, 24, 23, 7), 4),
        (ConvShape(1, 1, 1, 9, 8, 5), 1),
        (ConvShape(1, 1, 1, 35, 65, 2), 2),
        (ConvShape(1, 2, 1, 3, 3, 3), 2),
    ):
        yield layer(rng, shape, pool)
    yield layer(rng, ConvShape(1, 1, 4, 25, 30, 3), 6, scale=2**12)
    yield kit.without_budgets(layer(rng, ConvShape(1, 1, 1, *kit.MANY_ROWS, 1), 1))


def of_sums(case: kit.Case, sums: np.ndarray) -> np.ndarray:
    """Return the pooled layer, made of the sums."""
    return network.max_pool(network.relu(sums), case["pool"])


def pooled(case: kit.Case) -> np.ndarray:
    """Return the pooled layer."""
    return of_sums(case, layers.convolved(case))


EXERCISE = kit.Exercise(
    name="conv_pool",
    lab="501_lenet_end_to_end",
    title="Convolution, ReLU and pool in one kernel",
    place=1,
    points=5,
    timed=layer,
    cases=cases,
    small=lambda rng: (layer(rng, shape, pool) for shape, pool in SMALL),
    reference=pooled,
    counts={"layer": "layers", "window": "windows"},
    budgets=(
        kit.Budget(
            "loads per product",
            lambda case, one: (
                one.total("lanes", "global", "load") / (case["shape"].outputs * case["shape"].terms)
            ),
            2,
            "Compute each output of the convolution once, with two loads for a product, and leave "
            "out what lies in row out_h or column out_w or beyond.",
        ),
        kit.ONE_STORE,
        kit.ONE_STORE_A_THREAD,
        kit.NO_ATOMICS,
        *kit.NO_DETOURS,
    ),
    most_of_a_block=lambda case: TILE * TILE,
    mistakes=indices.wrong_indices(then=of_sums),
    hints=(
        "Thread (0, 1) has the window that begins in row 1 * pool. Which outputs does it have for "
        "r = 0, 1, ...?",
        "h = row * pool + r and w = column * pool + s. If h or w is outside of the convolution's "
        "outputs, continue with the next one.",
        "The three loops over c, p and q are those of lab 107; after them, largest = "
        "max(largest, sum).",
    ),
)
