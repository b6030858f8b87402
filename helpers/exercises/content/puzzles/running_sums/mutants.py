"""The mistakes of running_sums."""

from helpers.exercises.kit import mutant

LEFT = "t >= far ? s[t - far] : 0.0f"
BOTH_READ = "        __syncthreads();    // all have read before one writes\n"
BOTH_WRITTEN = "        __syncthreads();    // all have written before one reads\n"

ORDER = (
    "In one step a thread reads a sum to its left, and another thread writes it. Read into a "
    "variable, __syncthreads(), then write, __syncthreads()."
)

MUTANTS = (
    mutant(
        "N[i] itself is not in its sum: this scan is inclusive.",
        ("P[i] = s[t]", "P[i] = t > 0 ? s[t - 1] : 0.0f"),
    ),
    mutant(
        "The sums continue across blocks: each block must start again at 0.",
        (
            "P[i] = s[t];",
            "{\n        for (int k = 0; k < i - t; ++k) s[t] += N[k];\n        P[i] = s[t];\n    }",
        ),
    ),
    mutant(
        "The sums start again in each warp of 32: the steps 32, 64 and 128 are missing.",
        ("t >= far ?", "t % 32 >= far ?"),
        ("far < 256", "far < 32"),
    ),
    mutant("The steps 32, 64 and 128 are missing.", ("far < 256", "far < 32")),
    mutant("The last step, 128, is missing.", ("far < 256", "far < 128")),
    mutant("The first step, 1, is missing.", ("far = 1", "far = 2")),
    mutant(
        "Only the first sum has the first number of its block: in the step with 1, thread 1 adds "
        "the sum of thread 0, in the step with 2 thread 2 does, and so on.",
        ("t >= far", "t > far"),
    ),
    mutant(
        "The sums run from right to left.",
        ("t >= far ? s[t - far]", "t + far < 256 ? s[t + far]"),
    ),
    mutant(
        "Thread 3 has three numbers to its left: in the step with 4 it adds nothing.",
        (LEFT, "s[t - far]"),
    ),
    mutant(
        "The last block has more threads than numbers are left: a thread without one puts 0 into "
        "s.",
        ("i < n ? N[i] : 0.0f", "N[i]"),
    ),
    mutant(
        "The last block has more threads than outputs, and a guard must stop them.",
        ("if (i < n) P", "P"),
    ),
    mutant(ORDER, (BOTH_READ, "")),
    mutant(ORDER, (BOTH_WRITTEN, "")),
    mutant(
        "__syncthreads() waits for every thread of the block, but only those that add reach it: "
        "move it out of their branch.",
        (BOTH_WRITTEN, "        if (t >= far) __syncthreads();\n"),
    ),
)
