"""The mistakes of block_max."""

from helpers.exercises.kit import mutant

COMPARE = "s[t] = fmaxf(s[t], s[t + half]);"
STEP = f"if (t < half) {COMPARE}"
WAIT = "        __syncthreads();\n    }"

SMALLEST = "It is the smallest number of each block, and must be the largest."
NOT_THE_LEAST = (
    "Some numbers are below the one that a thread without a number uses: it must change no "
    "maximum, so use -INFINITY."
)
ORDER = (
    "A step reads what other threads wrote in the step before: a __syncthreads() belongs after "
    "the filling and after each step."
)

MUTANTS = (
    mutant(
        "The last block counts 0 for threads without a number, and all its numbers are below 0. "
        "Use -INFINITY: it changes no maximum.",
        ("-INFINITY", "0.0f"),
    ),
    mutant(NOT_THE_LEAST, ("-INFINITY", "-1.0f")),
    mutant(NOT_THE_LEAST, ("-INFINITY", "-1e5f")),
    mutant(
        "A maximum begins with 0, and must not if all numbers may be below it.",
        ("= s[0]", "= fmaxf(0.0f, s[0])"),
    ),
    mutant(SMALLEST, ("fmaxf", "fminf")),
    mutant(SMALLEST, ("-INFINITY", "INFINITY"), ("fmaxf", "fminf")),
    mutant(
        "Only every second number is looked at: in the last step two numbers are left, and one "
        "thread compares them.",
        ("half > 0", "half > 1"),
    ),
    mutant(
        "Half of the numbers are not looked at: in the first step 128 threads compare two "
        "numbers each.",
        ("half = 128", "half = 64"),
    ),
    mutant("It is the largest of the first warp.", ("half = 128", "half = 16")),
    mutant("It is the first number of each block.", ("half = 128", "half = 0")),
    mutant(
        "The last block has more threads than numbers are left: they use -INFINITY instead.",
        ("i < n ? N[i] : -INFINITY", "N[i]"),
    ),
    mutant(
        "A block has one result: result b belongs to block b, whatever threads it has.",
        ("P[blockIdx.x] =", "P[i] ="),
    ),
    mutant(
        "Two blocks write the same output. Each block has its own outputs: does the index of "
        "the store hold blockIdx?",
        ("P[blockIdx.x] =", "P[0] ="),
    ),
    mutant(
        "In a step only half of the remaining threads have a partner: the others must not compare.",
        (STEP, COMPARE),
    ),
    mutant(ORDER, (WAIT, "    }")),
    mutant(ORDER, ("-INFINITY;\n    __syncthreads();", "-INFINITY;")),
    mutant(
        "__syncthreads() waits for every thread of the block, but only those that compare reach "
        "it: move it out of their branch.",
        (
            f"{STEP}\n        __syncthreads();",
            f"if (t < half) {{\n            {COMPARE}\n            __syncthreads();\n        }}",
        ),
    ),
)
