"""The fragments of one product of tensor cores, cell by cell."""

from __future__ import annotations

from helpers.exercises.content.mma import STEP, exercise

EXERCISE = exercise(
    "one_mma",
    1,
    "The fragments of one product, cell by cell",
    STEP,
    8,
    "Two columns of A are neighbours: one load of 4 bytes gives both.",
    points=4,
    hints=(
        "Gap 1: 4 lanes make a group, so group = lane / 4. The place in the group is lane % 4, and "
        "each place has two columns: two = lane % 4 * 2.",
        "Gap 2: A[row][column] is A[16 * row + column]. a[0] begins in row `group`, column `two`; "
        "a[1] 8 rows below; a[2] 8 columns further; a[3] both. In B the group is the column: "
        "b[0] has rows `two` and two + 1 of it.",
        "b[0] = pair(B[8 * two + group], B[8 * (two + 1) + group]), and b[1] is 8 rows below. "
        "Gap 3: D[8 * group + two] = d[0], d[1] is beside it, and d[2] and d[3] are 8 rows below.",
    ),
)
