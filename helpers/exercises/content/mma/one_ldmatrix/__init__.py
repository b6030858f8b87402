"""The fragments of one product of tensor cores, by ldmatrix from shared memory."""

from __future__ import annotations

from helpers.exercises import kit
from helpers.exercises.content.mma import STEP, exercise

EXERCISE = exercise(
    "one_ldmatrix",
    2,
    "The fragments of one product by ldmatrix",
    STEP,
    2,
    "Copy 16 bytes a lane, an Eight: 32 lanes load all of A at once, and 16 lanes all of B.",
    points=4,
    budgets=(
        kit.Budget(
            "ldmatrix of the warp",
            kit.executed("ldmatrix", per="launch"),
            2,
            "One ldmatrix loads the fragment of A, another one that of B.",
            least=2,
            quiet=True,
        ),
        kit.Budget(
            "load requests of shared memory",
            kit.all_of("requests", "shared", "load"),
            2,
            "What the two ldmatrix load is multiplied: no lane loads a cell of the fragments by "
            "itself.",
            quiet=True,
        ),
    ),
    hints=(
        "Gap 1: two eights are a row of A, so lane k copies A's eight k to a_rows[k / 2][k % 2]: "
        "reinterpret_cast<const Eight*>(A)[lane]. B has only 16 eights.",
        "Gap 2: square 0 is a[0], and lanes 0 to 7 name its rows. Square 1 is the one below it, "
        "so lanes 8 to 15 name rows 8 to 15 of the left part. Lanes 16 to 31 do the same on the "
        "right.",
        "Gap 1 ends with __syncwarp(). Gap 2 is &a_rows[lane % 16][lane / 16] and "
        "&b_rows[lane % 16]; of B's 32 addresses only those of lanes 0 to 15 count.",
    ),
)
