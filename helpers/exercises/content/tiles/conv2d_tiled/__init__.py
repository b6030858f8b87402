"""A channel's tile and its halo in shared memory: its load, its reads, its barriers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit, layers
from helpers.exercises.content import tiles
from helpers.exercises.judge import indices
from helpers.limits import ConvShape


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield each of the lab's shapes, a block for a tile of one map."""
    for shape in tiles.shapes(rng):
        yield tiles.layer(rng, shape)


def small(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield a part of a tile, and four ragged tiles."""
    yield tiles.layer(rng, ConvShape(1, 2, 1, 5, 6, 2))
    yield tiles.layer(rng, ConvShape(1, 2, 1, 18, 19, 2))


EXERCISE = kit.Exercise(
    name="conv2d_tiled",
    lab=tiles.LAB,
    title="Stage each channel's tile in shared memory",
    points=4,
    timed=tiles.layer,
    cases=cases,
    small=small,
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
    mistakes=indices.WRONG_INDICES,
    hints=(
        "Gap 1: thread (0, 0) loads the cells (0, 0), (0, 16), (16, 0) and (16, 16) of the tile. "
        "Which ones does the thread with threadIdx.x = 7 and threadIdx.y = 3 load? Two loops, one "
        "in the other, take these steps.",
        "r begins at threadIdx.y and s at threadIdx.x, both go on in steps of TILE_WIDTH, as long "
        "as they are below SPAN and inside of the image. Gap 2: the thread's own output stands in "
        "row threadIdx.y and column threadIdx.x of the tile, and its window begins there.",
        "Weight (p, q) meets row threadIdx.y + p, column threadIdx.x + q. A thread reads cells "
        "that others have loaded: wait before the sum. And the next channel overwrites the tile: "
        "wait after the sum, outside of the branch.",
    ),
)
