"""The mistakes of above_lowest."""

from helpers.exercises.content.puzzles.add_arrays.mutants import FIRST_BLOCK, ONE_WIDTH
from helpers.exercises.kit import mutant

OTHER = "__shfl_xor_sync(0xffffffff, lowest, far)"
STEP = f"fminf(lowest, {OTHER})"

PART = (
    "A lane knows only a part of its warp: five steps are needed, from lanes 16, 8, 4, 2 and 1 "
    "apart."
)
OTHER_ORDER = (
    "Only numbers below 0 come out wrong. Compare floats by fminf: an absolute value, or the bits "
    "of a float as an unsigned number, have another order there."
)

MUTANTS = (
    mutant(
        "In the last warp lanes without a number count as 0, which is the smallest. They must use "
        "INFINITY.",
        (": INFINITY", ": 0.0f"),
    ),
    mutant(
        "Some numbers are above the one that a lane without a number uses: that one must never be "
        "the smallest, so use INFINITY.",
        (": INFINITY", ": 1e5f"),
    ),
    mutant(
        "The sign is reversed: it is N[i] minus the smallest, not the smallest minus N[i].",
        ("mine - lowest", "lowest - mine"),
    ),
    mutant(
        "The outputs are N itself: the smallest number of the warp is not subtracted.",
        ("mine - lowest", "mine"),
    ),
    mutant(
        "The largest number of the warp is subtracted: fminf keeps the smaller of two.",
        ("fminf", "fmaxf"),
        ("INFINITY", "-INFINITY"),
    ),
    mutant(OTHER_ORDER, ("= mine - lowest", "= fabsf(mine) - lowest")),
    mutant(
        OTHER_ORDER,
        (
            STEP,
            f"__uint_as_float(min(__float_as_uint(lowest), __float_as_uint({OTHER})))",
        ),
    ),
    mutant(FIRST_BLOCK, ("blockIdx.x * blockDim.x + ", "")),
    *(mutant(ONE_WIDTH, ("blockDim.x", str(width))) for width in (64, 128, 256)),
    mutant(
        "Of each warp only lane 0 has the smallest number. With __shfl_down_sync the others see a "
        "part of the warp: __shfl_xor_sync gives the result to all of them.",
        ("__shfl_xor_sync", "__shfl_down_sync"),
    ),
    mutant(PART, ("far = 16", "far = 8")),
    mutant(PART, ("far > 0", "far > 1")),
    mutant(
        "A lane hands on its own number in each step: it must hand on the smallest one that it has "
        "seen so far.",
        ("0xffffffff, lowest, far", "0xffffffff, mine, far"),
    ),
    mutant(
        "Lanes without a number use INFINITY instead of N[i], and do not store.",
        ("i < n ? N[i] : INFINITY", "N[i]"),
    ),
    mutant(
        "A lane has left the kernel, but the mask 0xffffffff still names it: no lane may return "
        "before the shuffles. Let it use INFINITY.",
        ("    const float mine", "    if (i >= n) return;\n    const float mine"),
    ),
    mutant(
        "The mask must name every lane that makes the call, its own too: 0xffffffff names all 32 "
        "lanes of a warp.",
        ("0xffffffff", "0xffff"),
    ),
)
