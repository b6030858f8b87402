"""The first convolution: one thread per output, a guard, and ghost cells that count as 0."""

from __future__ import annotations

from helpers.exercises import kit
from helpers.exercises.content.conv1d_edge import LOADS, SHARED_FAIRLY, cases, large, small
from helpers.reference import conv1d

EXERCISE = kit.Exercise(
    name="conv1d_basic",
    lab="101_conv1d_blocks_and_halos",
    title="One thread per output, with guards for the last block and for ghosts",
    points=5,
    cases=cases,
    small=small,
    reference=lambda case: conv1d(case["N"], case["filter"]),
    counts={"size": "sizes", "filter": "filters"},
    budgets=(
        LOADS,
        kit.Budget(
            "stores per output",
            kit.per_output("global", "store"),
            1,
            "Keep the sum in a variable of the thread, and store it once.",
            quiet=True,
        ),
        *SHARED_FAIRLY,
        kit.none_of("local", what="accesses to local memory"),
        kit.NO_ATOMICS,
        kit.NO_ACTIVEMASK,
    ),
    timed=large,
    most_of_a_block=lambda case: case.steps[0].block[0],
    hints=(
        "Gaps 1 and 2 are two lines of axpy_basic, word for word: the one that begins with `const "
        "int i`, and the `if`.",
        "Gap 3 is a loop over j = 0, 1, 2. Its cell is i - 1 + j, and it is in the array if "
        "cell >= 0 && cell < n.",
        "In the loop: if the cell is in the array, sum += N[cell] * filter[j]. The store comes "
        "after that `if`, so thread 0 and thread n - 1 also store their sums.",
    ),
)
