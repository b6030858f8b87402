"""Zero padding: an output map as large as the image."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from helpers.exercises import indices, kit, layers
from helpers.limits import ConvShape

TILE = 16


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield layers around the tile: narrow, ragged, whole tiles, one column; odd filters."""
    rows, columns = (int(n) for n in rng.integers(17, 30, 2))
    ragged = ConvShape(2, 2, 2, rows, columns, int(rng.choice((3, 5))))
    fixed = (
        ConvShape(2, 1, 2, 5, 9, 3),
        ConvShape(2, 3, 2, 17, 18, 5),
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


def misses_last_tiles(case: kit.Case, got: np.ndarray, want: np.ndarray) -> bool:
    """Return whether only tiles are missing that a map of out_h rows and out_w columns does not
    have.
    """
    shape, written = case["shape"], np.isfinite(got)
    h, w = (kit.ceil_div(size, TILE) * TILE for size in (shape.out_h, shape.out_w))
    return bool(written[..., :h, :w].all() and not written.all())


def padded(case: kit.Case, mode: Any = "constant", down: int = 0) -> np.ndarray:
    """Return the layer with K / 2 cells more on each side; down: so many of them moved from the top
    left to the bottom right.
    """
    r = case["shape"].K // 2
    sides = (0, 0), (0, 0), (r - down, r + down), (r - down, r + down)
    return layers.convolved(case, x=np.pad(case["x"], sides, mode=mode))


EXERCISE = kit.Exercise(
    name="conv2d_same",
    lab="107_conv2d_layer",
    title="Zero padding: outputs as large as the image",
    place=2,
    timed=same_size,
    cases=cases,
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
    mistakes=(
        kit.Mistake(
            "The filter hangs by its corner: output (h, w) reads rows from h on. It must be "
            "centred, rows h - K / 2 to h + K / 2.",
            gives=lambda case: padded(case, down=case["shape"].K // 2),
        ),
        kit.Mistake(
            "The filter's centre is one cell off: its middle tap is p = K / 2, counted from 0.",
            gives=lambda case: padded(case, down=1) if case["shape"].K > 1 else None,
        ),
        kit.Mistake(
            "The filter's centre is one cell off: K is odd, and K / 2, which is rounded down, is "
            "the number of cells on each side.",
            gives=lambda case: padded(case, down=-1) if case["shape"].K > 1 else None,
        ),
        kit.Mistake(
            "The edge cells are repeated outside of the image; here cells outside count as 0.",
            gives=lambda case: padded(case, "edge"),
        ),
        kit.Mistake(
            "The image goes on at its other side, like a ring; here cells outside count as 0.",
            gives=lambda case: (
                padded(case, "wrap") if min(case["shape"].H, case["shape"].W) > 3 else None
            ),
        ),
        kit.Mistake(
            "The last tiles are not written: the map has H rows and W columns now, and the tiles "
            "side by side must cover W columns.",
            when=misses_last_tiles,
        ),
        *indices.wrong_indices(same=True),
    ),
    findings=(
        layers.PAST_THE_FILTER,
        kit.FindingHint(
            "out-of-bounds",
            "A cell outside of the image counts as 0 and must not be loaded: test its row and "
            "its column.",
            when=lambda found: found.array == "x",
        ),
        kit.FindingHint(
            "race",
            "Two threads write the same output. A map of y has H rows and W columns here: are these"
            " the sizes in the store's index, in the number of tiles across, and in the guard?",
            when=lambda found: found.array == "y",
        ),
    ),
    hints=(
        "Begin with conv2d_basic; its tiles now cover W columns and H rows. For K = 3, which cells "
        "does output (0, 0) read? Which of them lie outside?",
        "Tap (p, q) reads row h - K / 2 + p and column w - K / 2 + q.",
        "Where row or column lies outside, the product is 0: skip it.",
    ),
)
