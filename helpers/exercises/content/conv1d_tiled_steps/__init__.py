"""The first tile: its cells and both halos in shared memory, a barrier, and the sums."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers import reference
from helpers.exercises import kit
from helpers.quantities import quantity

WIDTH, NARROW, TILE, SMALL = 31, 3, 256, 64
CELLS = TILE + WIDTH - 1
MOST_REQUESTS = 12  # of a block; its 286 cells take 9
MOST_OF_A_WARP = 3  # of these: a halo on each side, and a part of the tile


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield whole tiles, whose loads are counted; fewer cells than a halo, around a tile, and
    ragged; a narrow filter; and a small tile.
    """
    for n in (4 * TILE, 1, TILE - 1, TILE + 1, int(rng.integers(TILE + 2, 3 * TILE)), kit.MANY):
        yield signal(rng, n)
    yield signal(rng, TILE + 1, NARROW)
    yield signal(rng, 5 * SMALL + 1, tile=SMALL)


def signal(
    rng: np.random.Generator, n: int = 10_000_000, width: int = WIDTH, tile: int = TILE
) -> kit.Case:
    """Return a signal, by default a long one; a block has a tile of outputs."""
    filter = kit.whole_numbers(rng, width)
    filter[0], filter[-1] = 3, -4
    step = kit.Step((kit.ceil_div(n, tile),), (tile,), ("P", "N", np.int32(n)), {"filter": filter})
    arrays = {"P": kit.unwritten(n), "N": kit.cells(rng, n)}
    budgeted = n == 4 * TILE
    kinds, facts = {"size": n, "width": width}, {"filter": filter, "tile": tile}
    title, options = f"n = {n:,}", [f"-DFILTER_WIDTH={width}", f"-DTILE_WIDTH={tile}"]
    if width != WIDTH:
        title += f", {quantity(width, 'weight')}"
    if tile != TILE:
        title += f", tiles of {tile}"
    return kit.Case(title, arrays, ("P",), (step,), kinds, facts, budgeted, options=tuple(options))


def convolved(case: kit.Case) -> np.ndarray:
    """Return the convolution, whose ghosts count as 0."""
    return reference.conv1d(case["N"], case["filter"])


EXERCISE = kit.Exercise(
    name="conv1d_tiled_steps",
    lab="104_conv1d_tiles",
    title="Stage a tile and its halo in shared memory",
    points=5,
    cases=cases,
    small=lambda rng: (
        signal(rng, n, 3, t) for n, t in ((4, 4), (6, 4), (11, 4), (TILE + 3, TILE))
    ),
    reference=convolved,
    counts={"size": "sizes", "width": "widths of the filter"},
    budgets=(
        kit.Budget(
            "loads of N per block",
            lambda case, one: one.total("lanes", "global", "load", "N") / one.blocks,
            CELLS,
            "The tile loads each of its 286 cells once: read the cells of the sum from the tile, "
            "not from N.",
        ),
        kit.Budget(
            "load requests of N per block",
            lambda case, one: one.total("requests", "global", "load", "N") / one.blocks,
            MOST_REQUESTS,
            "All threads of the block load, neighbours side by side: each of the 8 warps makes "
            "one request, and one of them a second.",
            quiet=True,
        ),
        kit.loads_of_a_warp(
            MOST_OF_A_WARP,
            "All 256 threads load a part of the tile: s begins at threadIdx.x. A warp that loads "
            "it alone has to wait for its loads while the others have nothing to do.",
        ),
        kit.Budget(
            "shared stores per block",
            lambda case, one: one.total("lanes", "shared", "store") / one.blocks,
            2 * CELLS,  # all of them may be set to 0 before
            "Each cell of the tile needs to be stored once, by one of the threads.",
        ),
        kit.Budget(
            "shared loads per product",
            lambda case, one: one.total("lanes", "shared", "load") / (case.count * WIDTH),
            1,
            "A product needs one cell of the tile.",
        ),
        kit.ONE_STORE,
        *kit.NO_DETOURS,
    ),
    timed=signal,
    most_of_a_block=lambda case: case["tile"],
    hints=(
        "Gap 1: thread 0 loads tile[0] and tile[256], thread 29 loads tile[29] and tile[285], and "
        "thread 30 loads tile[30] alone. Which loop over s takes these steps, and where does it "
        "end?",
        "s starts at threadIdx.x, grows by TILE_WIDTH, and stays below TILE_WIDTH + 2 * RADIUS. "
        "The cell is first + s: store N[cell] if cell >= 0 && cell < n, and 0.0f if not. (Do not "
        "write 0 <= cell < n: C compares the result of 0 <= cell with n.) Gap 2 makes all threads "
        "of the block wait for each other.",
        "Gap 2 is __syncthreads(). Gap 3: cell i is tile[threadIdx.x + RADIUS]. The window of "
        "output i begins RADIUS places before that, so weight j belongs to tile[threadIdx.x + j].",
    ),
)
