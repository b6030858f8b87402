"""The window of a filter whose width the compiler knows, unrolled."""

from __future__ import annotations

from helpers.exercises import kit, layers
from helpers.exercises.content import unrolling
from helpers.exercises.judge import indices

EXERCISE = kit.Exercise(
    name="conv2d_unrolled",
    lab=unrolling.LAB,
    place=1,
    title="Write the window with a known width, unrolled",
    points=3,
    timed=unrolling.layer,
    cases=unrolling.cases,
    small=unrolling.small,
    reference=layers.convolved,
    counts=layers.COUNTS,
    budgets=(
        unrolling.LOADS,
        unrolling.BRANCHES,
        kit.ONE_STORE,
        kit.none_of("shared"),
        *kit.NO_DETOURS,
    ),
    most_of_a_block=lambda case: unrolling.TILE**2,
    mistakes=indices.WRONG_INDICES,
    hints=(
        "Two loops, one in the other: p and q from 0, as long as they are below FILTER_WIDTH. Put "
        "#pragma unroll into a separate line above each of them.",
        "`tap` points to weight (0, 0), and the rows of weights follow each other: weight (p, q) "
        "is tap[p * FILTER_WIDTH + q].",
        "`cell` points to the cell under weight (0, 0). The next row of the image begins W cells "
        "later: sum += cell[p * W + q] * tap[p * FILTER_WIDTH + q].",
    ),
)
