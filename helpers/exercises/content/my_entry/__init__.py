"""The leaderboard: any kernel of the convolution layer, ranked by time, or by its bound where there
is no GPU. The budget is on an estimate of its cost.
"""

from __future__ import annotations

from helpers import kernel_cells
from helpers.exercises import kit, layers
from helpers.exercises.judge import competition, indices
from helpers.kernel_cells import KernelCell

# What conv2d_tiled_maps costs, cycles of a multiprocessor per 32 multiply-adds;
# a test counts it again.
COST = {"layer 1": 3.228, "layer 2": 4.242}


def fit(case: kit.Case, cell: KernelCell) -> kit.Case:
    """Return blocks of TILE_WIDTH x TILE_WIDTH threads, each with COLUMNS outputs of MAPS maps."""
    sizes = kernel_cells.sizes(cell.options, {"TILE_WIDTH": 16, "COLUMNS": 1, "MAPS": 1})
    return competition.fitted(case, sizes["TILE_WIDTH"], sizes["COLUMNS"], sizes["MAPS"])


EXERCISE = kit.Exercise(
    name="my_entry",
    lab="501_lenet_end_to_end",
    place=2,
    title="The leaderboard",
    timed=competition.large,
    cases=competition.cases,
    small=competition.small,
    fit=fit,
    reference=layers.convolved,
    counts=layers.COUNTS,
    limit_s=20.0,
    budgets=(
        kit.Budget(
            "estimated cycles per 32 multiply-adds",
            competition.estimated,
            lambda case: COST[case["name"]],
            "Instructions, global, shared, local and constant memory, and shuffles all enter. "
            "Which of them does your inner loop have most "
            "of? One load of a weight can serve several outputs, one of a cell several maps.",
        ),
        kit.ONE_STORE,
    ),
    mistakes=indices.WRONG_INDICES,
    hints=(
        "How many loads does the stub make for one multiply-add? How many would it make if a "
        "thread had two maps?",
        "Give a thread several columns and several maps, and keep all its sums in registers: "
        "COLUMNS * MAPS products for COLUMNS + MAPS loads.",
        "Stage cells and weights in shared memory, the weights of four maps side by side, so "
        "that one float4 loads all four.",
    ),
)
