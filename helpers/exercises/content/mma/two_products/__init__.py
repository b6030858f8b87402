"""One warp multiplies 16 x 32 by 32 x 8: two products on tensor cores, added up."""

from __future__ import annotations

from helpers.exercises.content.mma import STEP, exercise

TERMS = 2 * STEP


EXERCISE = exercise(
    "two_products",
    3,
    "A product of 32 terms by two instructions of one warp",
    TERMS,
    16,
    "Two columns of A are neighbours: one load of 4 bytes gives both.",
    hints=(
        "Write one_mma first, and count 16 of its columns and rows from 16 * step on. A row of A "
        "now has 32 halves.",
        "Set d[0] to d[3] to 0 once, before the loop over the two steps.",
        'In the asm line, "+f"(d[0]) is read and written: {%0, %1, %2, %3} comes first and last, '
        "as the result and as the sums to add to.",
    ),
)
