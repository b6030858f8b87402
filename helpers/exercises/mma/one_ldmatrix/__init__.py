"""The fragments of one product of tensor cores, by ldmatrix from shared memory."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from helpers.exercises import kit
from helpers.exercises.mma import LANES, STEP, exercise, of


def named(
    case: kit.Case,
    row: Callable[[np.ndarray], np.ndarray] = lambda lane: lane % 16,
    part: Callable[[np.ndarray], np.ndarray] = lambda lane: lane // 16,
    row_of_b: Callable[[np.ndarray], np.ndarray] = lambda lane: lane % 16,
) -> np.ndarray:
    """Return what comes out if lanes name other rows: row and part of A, and row of B, by lane."""
    halves = case["A"].reshape(16, 2, 8)[row(LANES), part(LANES)]  # the eight that a lane names
    a = np.empty((16, STEP), np.float16)
    for square in range(4):
        below, beside = 8 * (square % 2), 8 * (square // 2)
        a[below : below + 8, beside : beside + 8] = halves[8 * square : 8 * square + 8]
    return of(a, case["B"][row_of_b(LANES[:16])])


EXERCISE = exercise(
    "one_ldmatrix",
    2,
    "The fragments of one product by ldmatrix",
    STEP,
    2,
    "Copy 16 bytes a lane, an Eight: 32 lanes bring all of A at once, and 16 lanes all of B.",
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
            "What the two ldmatrix bring is multiplied: no lane loads a cell of the fragments by "
            "itself.",
            quiet=True,
        ),
    ),
    mistakes=(
        kit.Mistake(
            "Each lane names the eight that it has copied. Lanes 0 to 7 must name the rows 0 to 7 "
            "of the upper left square, lanes 8 to 15 those of the square below.",
            gives=lambda case: named(case, lambda lane: lane // 2, lambda lane: lane % 2),
        ),
        kit.Mistake(
            "All lanes from 16 on name the left half of A again: squares 2 and 3 are on the right.",
            gives=lambda case: named(case, part=lambda lane: 0 * lane),
        ),
        kit.Mistake(
            "The lower squares of A are copies of the upper ones: lanes 8 to 15, and 24 to 31, "
            "name rows 8 to 15.",
            gives=lambda case: named(case, row=lambda lane: lane % 8),
        ),
        kit.Mistake(
            "The second square of B is a copy of the first: lanes 8 to 15 name rows 8 to 15.",
            gives=lambda case: named(case, row_of_b=lambda lane: lane % 8),
        ),
    ),
    findings=(
        kit.FindingHint(
            "race",
            "ldmatrix reads what other lanes have copied: __syncwarp() must stand between the "
            "copies and the first ldmatrix.",
        ),
        kit.FindingHint(
            "out-of-bounds",
            "a_rows has 16 rows of two eights, and b_rows has 16 rows of one: the eight of lane "
            "17, for example, is row 8, part 1 of A.",
        ),
        kit.FindingHint(
            "uninitialised",
            "ldmatrix reads a row that no lane has copied: A has 32 eights, one for each lane, and "
            "B has 16.",
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
