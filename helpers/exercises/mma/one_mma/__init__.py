"""The fragments of one product of tensor cores, cell by cell."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from helpers.exercises import kit
from helpers.exercises.mma import COLUMNS, ROWS, STEP, exercise, of, product

LANES = np.arange(32)


def by_lanes(case: kit.Case, group: Callable[..., np.ndarray], two: Callable[..., np.ndarray]):
    """Return what comes out if all lanes load and store as lanes of other groups and places.

    group, two: functions of the numbers of the lanes.
    """
    rows, columns = group(LANES), two(LANES)
    right_rows, right_columns = LANES // 4, LANES % 4 * 2
    a, b = np.zeros((ROWS, STEP)), np.zeros((STEP, COLUMNS))
    for below in (0, 8):
        for beside in (0, 1, 8, 9):
            cells = case["A"][rows + below, columns + beside]
            a[right_rows + below, right_columns + beside] = cells
    for below in (0, 1, 8, 9):
        b[right_columns + below, right_rows] = case["B"][columns + below, rows]
    made, stored = a @ b, np.zeros((ROWS, COLUMNS))
    for below in (0, 8):
        for beside in (0, 1):
            sums = made[right_rows + below, right_columns + beside]
            stored[rows + below, columns + beside] = sums
    return stored


EXERCISE = exercise(
    "one_mma",
    1,
    "The fragments of one product, cell by cell",
    STEP,
    8,
    "Two columns of A are neighbours: one load of 4 bytes gives both.",
    points=4,
    mistakes=(
        kit.Mistake(
            "All sums are 0: are the registers a[0] to a[3], b[0] and b[1] set?",
            when=lambda case, got, want: not got.any(),
        ),
        kit.Mistake(
            "A group is four lanes side by side: lanes 0 to 3, 4 to 7 and so on. Yours are every "
            "eighth lane.",
            gives=lambda case: by_lanes(case, lambda lane: lane % 8, lambda lane: lane // 8 * 2),
        ),
        kit.Mistake(
            "b[0] and b[1] are exchanged: b[0] has rows 0 to 7 of B, b[1] rows 8 to 15.",
            gives=lambda case: of(case["A"], np.roll(case["B"], 8, axis=0)),
        ),
        kit.Mistake(
            "The upper and the lower half of D are exchanged: d[0] and d[1] belong to row `group`, "
            "d[2] and d[3] to row group + 8.",
            gives=lambda case: np.roll(product(case), 8, axis=0),
        ),
        kit.Mistake(
            "Neighbouring columns of D are exchanged: d[0] and d[2] belong to column `two`.",
            gives=lambda case: product(case).reshape(ROWS, -1, 2)[:, :, ::-1].reshape(ROWS, -1),
        ),
        kit.Mistake(
            "d[1] and d[2] are exchanged: d[1] is beside d[0], d[2] is 8 rows below it.",
            gives=lambda case: _sums_exchanged(product(case)),
        ),
        kit.Mistake(
            "A row of A has 16 halves, not 8: cell A[row][column] is A[16 * row + column].",
            gives=lambda case: of(
                case["A"].ravel()[8 * np.arange(ROWS)[:, None] + np.arange(STEP)], case["B"]
            ),
        ),
        kit.Mistake(
            "Only the upper or only the lower 8 rows are wrong. a[0] and a[2] make the upper ones, "
            "a[1] and a[3] the lower ones: do both begin where they should?",
            when=lambda case, got, want: (got[:8] == want[:8]).all() != (got[8:] == want[8:]).all(),
        ),
    ),
    findings=(
        kit.FindingHint(
            "uninitialised",
            "These registers were never set: gap 2 loads the lane's fragments of A and of B.",
        ),
    ),
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


def _sums_exchanged(d: np.ndarray) -> np.ndarray:
    """D with d[1] and d[2] of every lane exchanged."""
    pairs = d.reshape(2, 8, COLUMNS // 2, 2)  # [half, group, place, column of the pair]
    return pairs.swapaxes(0, 3).reshape(d.shape)
