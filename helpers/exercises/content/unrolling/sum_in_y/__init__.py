"""A sum in global memory, which a promise about the arrays keeps in a register."""

from __future__ import annotations

from helpers.exercises import kit, layers
from helpers.exercises.content import unrolling
from helpers.exercises.judge import indices

EXERCISE = kit.Exercise(
    name="sum_in_y",
    lab=unrolling.LAB,
    place=2,
    title="Promise that the arrays do not overlap",
    points=3,
    timed=unrolling.layer,
    cases=unrolling.cases,
    small=unrolling.small,
    reference=layers.convolved,
    counts=layers.COUNTS,
    budgets=(
        kit.Budget(
            "stores per output",
            kit.per_output("global", "store"),
            2,
            "Without the promise the compiler must store after each product, because y might be "
            "x. Write __restrict__ between the * and the name of each array. If it is there, "
            "read cells and weights as usual: __ldg() keeps the compiler from moving the stores.",
        ),
        unrolling.LOADS,  # the sum is read again where it is not kept in a register
        kit.none_of("shared"),
        *kit.NO_DETOURS,
    ),
    most_of_a_block=lambda case: unrolling.TILE**2,
    mistakes=indices.WRONG_INDICES,
    hints=(
        "The second gap is the line of step 2, with *sum in place of sum.",
        "The promise is one word, __restrict__. It goes into the list of parameters, between the * "
        "of a pointer and its name.",
        "float* __restrict__ y, and likewise for x and filter, which stay const.",
    ),
)
