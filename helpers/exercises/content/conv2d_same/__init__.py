"""Zero padding: an output map as large as the image."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit, layers
from helpers.exercises.judge import indices
from helpers.limits import ConvShape

TILE = 16


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield layers around the tile: narrow, ragged, whole tiles, one column; odd filters."""
    rows, columns = (int(n) for n in rng.integers(17, 30, 2))
    ragged = ConvShape(2, 2, 2, rows, columns, int(rng.choice((3, 5))))
    fixed = (
        ConvShape(2, 1, 2, 5, 9, 3),
        ConvShape(4, 3, 2, 17, 18, 5),
        ConvShape(1, 2, 1, 18, 32, 7),
        ConvShape(1, 1, 1, 3, 2, 1),
    )
    for shape in (ragged, *fixed):
        yield same_size(rng, shape)
    yield kit.without_budgets(same_size(rng, ConvShape(1, 1, 1, *kit.MANY_ROWS, 1)))


def same_size(rng: np.random.Generator, shape: ConvShape = layers.LARGE) -> kit.Case:
    """Return a layer whose output is as large as its input."""
    grid = (kit.ceil_div(shape.W, TILE) * kit.ceil_div(shape.H, TILE), shape.M, shape.B)
    y_shape = (shape.B, shape.M, shape.H, shape.W)
    return layers.layer_case(rng, shape, grid, (TILE, TILE), y_shape=y_shape)


def small(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield a small image, several channels, maps and images, and several tiles."""
    for shape in (
        ConvShape(1, 1, 1, 3, 4, 3),
        ConvShape(2, 2, 2, 5, 9, 3),
        ConvShape(1, 1, 1, 17, 18, 5),
    ):
        yield same_size(rng, shape)


def padded(case: kit.Case) -> np.ndarray:
    """Return the layer with K / 2 cells more on each side."""
    r = case["shape"].K // 2
    return layers.convolved(case, x=np.pad(case["x"], ((0, 0), (0, 0), (r, r), (r, r))))


EXERCISE = kit.Exercise(
    name="conv2d_same",
    lab="107_conv2d_layer",
    title="Zero padding: outputs as large as the image",
    place=2,
    timed=same_size,
    cases=cases,
    small=small,
    reference=padded,
    counts=layers.COUNTS,
    budgets=(
        layers.loads_per_product(
            2,
            "Load a cell and a weight for each tap, once.",
            what="loads per output and tap",
        ),
        kit.ONE_STORE,
        kit.none_of("shared"),
        *kit.NO_DETOURS,
    ),
    most_of_a_block=lambda case: TILE * TILE,
    mistakes=indices.wrong_indices(same=True),
    hints=(
        "Begin with conv2d_basic; its tiles now cover W columns and H rows. For K = 3, which cells "
        "does output (0, 0) read? Which of them lie outside?",
        "Tap (p, q) reads row h - K / 2 + p and column w - K / 2 + q.",
        "Where row or column lies outside, the product is 0: skip it.",
    ),
)
