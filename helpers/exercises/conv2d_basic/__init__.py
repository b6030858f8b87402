"""The convolution layer, one thread for each output: index, guard, and the sum of the products."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import indices, kit, layers
from helpers.limits import ConvShape

TILE, FLAT = 16, (32, 8)  # FLAT: another block, across and down


def layer(
    rng: np.random.Generator,
    shape: ConvShape = layers.LARGE,
    block: tuple[int, int] = (TILE, TILE),
) -> kit.Case:
    """Return a layer, by default a large one in tiles of 16 x 16 outputs."""
    tiles = kit.ceil_div(shape.out_w, block[0]) * kit.ceil_div(shape.out_h, block[1])
    facts = {"block": block}
    return layers.layer_case(rng, shape, (tiles, shape.M, shape.B), block, facts=facts)


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield several tiles, channels, maps and images; ragged, wide, high; whole tiles; one output;
    another block; many outputs.
    """
    rows, columns = (int(n) for n in rng.integers(22, 40, 2))
    shapes = (
        ConvShape(2, 3, 2, rows, columns, 4),
        ConvShape(1, 2, 3, 19, 40, 3),
        ConvShape(2, 1, 2, 41, 9, 5),
        ConvShape(1, 1, 1, 2 * TILE + 2, 2 * TILE + 2, 3),
        ConvShape(1, 2, 1, 3, 3, 3),
    )
    for shape in shapes:
        yield layer(rng, shape)
    yield kit.without_budgets(layer(rng, ConvShape(2, 1, 2, 23, 70, 3), FLAT))
    yield kit.without_budgets(layer(rng, ConvShape(1, 1, 1, *kit.MANY_ROWS, 1)))


def is_of_one_place(case: kit.Case, got: np.ndarray, want: np.ndarray) -> bool:
    """Return whether some outputs are written, and no more than one of each map."""
    maps = case["shape"].B * case["shape"].M
    return bool(0 < np.isfinite(got).sum() <= maps)


def block_for_map(case: kit.Case) -> np.ndarray:
    """Return what comes out if tiles are counted by blockIdx.x across and blockIdx.y down."""
    shape, (wide, high) = case["shape"], case["block"]
    y, made = case["y"].copy(), layers.convolved(case)
    for m in range(shape.M):
        rows = slice(m * high, (m + 1) * high)
        columns = slice(0, case.steps[0].grid[0] * wide)
        y[:, m, rows, columns] = made[:, m, rows, columns]
    return y


def of_other_block(case: kit.Case, got: np.ndarray, want: np.ndarray) -> bool:
    """Return whether the blocks of this case are not 16 x 16."""
    return case["block"] != (TILE, TILE)


def misses_whole_tiles(case: kit.Case, got: np.ndarray, want: np.ndarray) -> bool:
    """Return whether some tiles are not written at all, and the others wholly."""
    written = np.isfinite(got)
    rows, columns = (range(0, size, TILE) for size in got.shape[2:])
    tiles = [written[..., h : h + TILE, w : w + TILE] for h in rows for w in columns]
    some = written.any() and not written.all()
    return bool(some) and all(tile.all() or not tile.any() for tile in tiles)


def is_of_first_tiles(case: kit.Case, got: np.ndarray, want: np.ndarray) -> bool:
    """Return whether the outputs right of the first tile are not written, or those below it."""
    written = np.isfinite(got)
    beyond = written[..., TILE:], written[..., TILE:, :]
    return any(part.size and not part.any() for part in beyond) and bool(written.any())


EXERCISE = kit.Exercise(
    name="conv2d_basic",
    lab="107_conv2d_layer",
    title="The layer, one thread for each output",
    points=5,
    timed=layer,
    cases=cases,
    reference=layers.convolved,
    counts=layers.COUNTS,
    budgets=(
        layers.loads_per_product(
            2,
            "Load a cell and a weight for each product, once.",
        ),
        kit.ONE_STORE,
        kit.none_of("shared", hint="This kernel loads each cell and weight from global memory."),
        *kit.NO_DETOURS,
    ),
    most_of_a_block=lambda case: TILE * TILE,
    mistakes=(
        kit.Mistake(
            "Only the first output of each map is written: all threads have the same h and w. "
            "That is gap 1.",
            when=is_of_one_place,
        ),
        kit.Mistake(
            "blockIdx.x counts all tiles of a map, row by row, and blockIdx.y is the output map: "
            "the tile's row is blockIdx.x / across. That is gap 1.",
            gives=block_for_map,
        ),
        kit.Mistake(
            "It is right with blocks of 16 x 16 threads only: use blockDim.x and blockDim.y.",
            when=of_other_block,
        ),
        kit.Mistake(
            "Only the first tile of a row, or of a column, is written: the tile's place belongs "
            "into w and into h, too. That is gap 1.",
            when=is_of_first_tiles,
        ),
        kit.Mistake(
            "Whole tiles are not written. The tile's column is blockIdx.x % across, and its row is "
            "blockIdx.x / across. That is gap 1.",
            when=misses_whole_tiles,
        ),
        kit.all_zero("Every output is 0: nothing is added to `sum` yet. That is gap 3."),
        *indices.WRONG_INDICES,
    ),
    findings=(
        layers.PAST_THE_FILTER,
        kit.FindingHint(
            "race",
            "Two threads write the same output. Either gap 1 gives them the same h and w, or a "
            "thread right of the map's last column, or below its last row, is not stopped by "
            "gap 2: its store lands on an output of another row or map.",
            when=lambda found: found.array == "y",
        ),
        kit.FindingHint(
            "out-of-bounds",
            "The window of output (h, w) has rows h to h + K - 1 and columns w to w + K - 1: it "
            "lies in the image if h < out_h and w < out_w. A channel of x has H rows of W cells.",
            when=lambda found: found.array == "x",
        ),
    ),
    hints=(
        "Gap 1 is lab 101's index, once for each axis: columns are numbered by blockDim.x and "
        "threadIdx.x, rows by blockDim.y and threadIdx.y. In place of blockIdx.x stands the "
        "tile's column, or its row.",
        "Gap 2: the map has out_h rows and out_w columns, and a thread needs both to hold.",
        "Gap 3 is a loop over c, in it one over p, in it one over q. The cell's row is h + p, and "
        "its column is w + q.",
    ),
)
