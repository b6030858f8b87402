"""A channel's tile and its halo in shared memory: its load, its reads, its barriers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit, layers, tiles


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield each of the lab's shapes, a block for a tile of one map."""
    for shape in tiles.shapes(rng):
        yield tiles.layer(rng, shape)


EXERCISE = kit.Exercise(
    name="conv2d_tiled",
    lab=tiles.LAB,
    title="Stage each channel's tile in shared memory",
    points=4,
    timed=tiles.layer,
    cases=cases,
    reference=layers.convolved,
    counts=layers.COUNTS,
    budgets=(
        tiles.LOADS,
        kit.Budget(
            "shared loads per product",
            lambda case, one: (
                one.total("lanes", "shared", "load") / (case.count * case["shape"].terms)
            ),
            1,
            "A product needs one cell of the tile.",
            least=1,
        ),
        *tiles.USUAL,
    ),
    most_of_a_block=lambda case: tiles.TILE**2,
    mistakes=tiles.MISTAKES,
    findings=tiles.FINDINGS,
    hints=(
        "Begin with the load, by two loops: r from threadIdx.y on and s from threadIdx.x on, both "
        "in steps of TILE_WIDTH, as long as they are below SPAN and inside of the image.",
        "Within the tile the thread's own output stands in row threadIdx.y and column threadIdx.x. "
        "So its window begins there: row threadIdx.y + p, column threadIdx.x + q.",
        "A thread reads cells that others have loaded: wait before the sum. And the next channel "
        "overwrites the tile: wait after the sum, outside of the branch.",
    ),
)
