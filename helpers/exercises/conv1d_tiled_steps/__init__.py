"""The first tile: its cells and both halos in shared memory, a barrier, and the sums."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers import reference
from helpers.exercises import kit
from helpers.quantities import quantity
from helpers.simulator import Finding

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


def edge(case: kit.Case) -> np.ndarray:
    """Return what comes out if a ghost counts as the cell at the edge."""
    padded = np.pad(case["N"], case["filter"].size // 2, mode="edge")
    return np.correlate(padded.astype(np.float64), case["filter"], "valid").astype(np.float32)


def without_first_block(case: kit.Case) -> np.ndarray:
    """Return what comes out if no cell of block 0's tile counts."""
    made = convolved(case)
    made[: case["tile"]] = 0
    return made


def is_ghost(found: Finding) -> bool:
    """Return whether only ghosts have no value: those on the left, or those of the last block."""
    radius = WIDTH // 2
    reads = radius * (radius + 1)  # of the ghosts on both sides
    is_left = found.index in range(radius) and found.count <= reads
    return found.array == "tile" and (found.block[0] > 0 or is_left)


EXERCISE = kit.Exercise(
    name="conv1d_tiled_steps",
    lab="104_conv1d_tiles",
    title="Stage a tile and its halo in shared memory",
    points=5,
    cases=cases,
    small=lambda rng: (signal(rng, n, 3, 4) for n in (4, 6, 11)),
    reference=convolved,
    counts={"size": "sizes", "width": "widths of the filter"},
    budgets=(
        kit.Budget(
            "loads of N per block",
            lambda case, one: one.total("lanes", "global", "load", "N") / one.blocks,
            CELLS,
            "The tile brings each of its 286 cells once: read the cells of the sum from the tile, "
            "not from N.",
        ),
        kit.Budget(
            "load requests of N per block",
            lambda case, one: one.total("requests", "global", "load", "N") / one.blocks,
            MOST_REQUESTS,
            "All threads of the block load, neighbours side by side: 8 warps have a request each, "
            "and one of them a second one.",
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
    mistakes=(
        kit.all_zero("All sums are 0: gap 3 wants a cell of the tile."),
        kit.Mistake(
            "The outputs of block 0 are 0, because none of its cells is found in N. blockIdx.x has "
            "no sign: 0 * TILE_WIDTH - RADIUS is a large number, unless it is put into an int. In "
            "a long long, write (long long)blockIdx.x.",
            gives=without_first_block,
        ),
        kit.Mistake("Ghosts count as 0 here, not as the cell at the edge.", gives=edge),
        kit.Mistake(
            "The filter is flipped: filter[j] belongs to tile[threadIdx.x + j].",
            gives=lambda case: reference.conv1d(case["N"], case["filter"][::-1]),
        ),
    ),
    findings=(
        kit.FindingHint(
            "out-of-bounds",
            f"It is right with {WIDTH} weights only: the tile has TILE_WIDTH + 2 * RADIUS cells.",
            when=lambda found: f"tile has {TILE + NARROW - 1} elements" in found.message,
        ),
        kit.FindingHint(
            "uninitialised",
            "It is right with tiles of 256 outputs only: their number is TILE_WIDTH.",
            when=lambda found: f"tile[{SMALL}" in found.message,
        ),
        kit.FindingHint(
            "uninitialised",
            "A ghost has a place in the tile, too, and nothing stored a 0 there: a thread whose "
            "cell is not in N leaves the place as it was.",
            when=is_ghost,
        ),
        kit.FindingHint(
            "uninitialised",
            "A part of the tile was not loaded. It has 2 * RADIUS cells more than the block has "
            "threads, so the first 2 * RADIUS threads load a second one.",
            when=lambda found: found.array == "tile",
        ),
        kit.FindingHint(
            "race",
            "A thread reads a cell before its owner has certainly loaded it. Gap 2 is a barrier: "
            "__syncthreads().",
            when=lambda found: found.array == "tile",
        ),
        kit.FindingHint(
            "barrier",
            "Threads without an output must come to the barrier, too: they have cells to load. "
            "Guard the store alone.",
        ),
        kit.FindingHint(
            "out-of-bounds",
            "That cell is a ghost: store 0 in its place in the tile, and do not read N.",
            when=lambda found: found.array == "N",
        ),
        kit.FindingHint(
            "out-of-bounds",
            "The tile has places 0 to 285. The window of thread 255 ends at the last one: it "
            "begins at tile[threadIdx.x].",
            when=lambda found: found.array == "tile",
        ),
    ),
    hints=(
        "Gap 1: thread 0 loads tile[0] and tile[256], thread 29 loads tile[29] and tile[285], and "
        "thread 30 loads tile[30] alone. Which loop over s takes these steps, and where does it "
        "end?",
        "s begins at threadIdx.x, goes on in steps of TILE_WIDTH, and ends below TILE_WIDTH + 2 * "
        "RADIUS. The cell is first + s: store N[cell] if cell >= 0 && cell < n, and 0.0f if not. "
        "(C has no 0 <= cell < n: it would compare the answer of 0 <= cell with n.) Gap 2 lets all "
        "threads of the block wait for each other.",
        "Gap 2 is __syncthreads(). Gap 3: output i stands at tile[threadIdx.x + RADIUS]. Its "
        "window begins RADIUS places before that, so weight j meets tile[threadIdx.x + j].",
    ),
)
