"""A rung of the ladder: fewer load sectors than conv2d_tiled, on both of LeNet's layers."""

from __future__ import annotations

from helpers import kernel_cells
from helpers.exercises import kit, layers
from helpers.exercises.judge import competition, indices
from helpers.kernel_cells import KernelCell

SECTORS = {
    "layer 1": 0.363,
    "layer 2": 1.259,
}  # per output, that conv2d_tiled loads; a test counts them again
TILE = 16  # outputs along a side of a block


def fit(case: kit.Case, cell: KernelCell) -> kit.Case:
    """Return the case in blocks of 16 x 16 threads, MAPS output maps each."""
    return competition.fitted(case, TILE, 1, kernel_cells.sizes(cell.options, {"MAPS": 1})["MAPS"])


def words_needed(case: kit.Case, blocks: int) -> int:
    """Return the words of shared memory that all threads read: for each tap a cell, and a weight
    for each map of the block.
    """
    shape = case["shape"]
    maps = kit.ceil_div(shape.M, blocks // (layers.tiles(shape, TILE) * shape.B))
    return blocks * TILE**2 * shape.terms * (1 + maps)


EXERCISE = kit.Exercise(
    name="my_rung",
    home="rung",
    lab="500_conv2d_ladder",
    place=1,
    points=5,
    title="Your own rung: fewer sectors than conv2d_tiled",
    timed=competition.large,
    cases=competition.cases,
    small=competition.small,
    fit=fit,
    reference=layers.convolved,
    counts=layers.COUNTS,
    limit_s=20.0,
    budgets=(
        kit.Budget(
            "load sectors per output",
            lambda case, one: one.total("sectors", "global", "load") / case.count,
            lambda case: SECTORS[case["name"]],
            "conv2d_tiled loads each cell of x to shared memory once a block and map. With "
            "several maps a block, and the weights in shared memory, too, fewer sectors are left.",
        ),
        kit.Budget(
            "words from shared memory, over those that the sums need",
            lambda case, one: (
                one.total("bytes_used", "shared", "load") / 4 / words_needed(case, one.blocks)
            ),
            1,
            "Each cell of a window is read once for all maps of the block: keep it in a variable.",
            quiet=True,
        ),
        kit.loads_of_a_warp(
            lambda case: 14 * case["shape"].C,  # one warp alone needs 17 for a channel
            "All 256 threads share the loads of the tile and of the weights.",
        ),
        kit.Budget(
            "shuffles per output and tap",
            lambda case, one: 32 * one.executed("shfl", "redux") / case.count / case["shape"].terms,
            1,
            "An exchange by shuffles for each product costs more than the load that it saves.",
            quiet=True,
        ),
        kit.Budget(
            "accesses to local memory per output and tap",
            lambda case, one: (
                one.total("lanes", "local", "load") / case.count / case["shape"].terms
            ),
            1,
            "Sums that the compiler cannot keep in registers go to memory: it must be able to "
            "unroll each loop over them.",
            quiet=True,
        ),
        kit.ONE_STORE,
        kit.NO_ATOMICS,
    ),
    mistakes=indices.WRONG_INDICES,
    hints=(
        "A loop over all cells of the tile, in steps of 256: cell i lies in row i / span and "
        "column i % span. What is the same loop for the weights?",
        "Map first + m has its weights of channel c from ((first + m) * C + c) * K * K on. For "
        "the sums, take cell i of the window: row i / K, column i % K.",
        "One cell of the tile, then the loop over m: sum[m] += cell * taps[m][i]. Threads that "
        "are not inside have loaded, and add up nothing.",
    ),
)
