"""The mistakes of block_sums."""

from helpers.exercises.kit import mutant

WAIT = "        __syncwarp();\n"
STEP = "if (t < stride) s[t] += s[t + stride];\n        __syncwarp();"

WITHIN_WARP = (
    "Both threads belong to one warp, whose lanes need not run in step: a __syncwarp() is missing "
    "between the write and the read. They can also race within one line: let only lanes below "
    "`stride` add, or read into a variable, wait, and then write."
)
BRANCH = (
    "__syncwarp() waits for all 32 lanes, but it is in a branch that some of them do not take. "
    "Put it after the branch."
)

MUTANTS = (
    mutant(
        "Only every second number is in the sum: the last step has stride 1.",
        ("stride >= 1", "stride >= 2"),
    ),
    mutant(
        "Half of the numbers are not in the sum: after stride 32 comes stride 16.",
        ("int stride = 16", "int stride = 8"),
    ),
    mutant(
        "Half of the numbers are missing: the first step has stride 128.",
        ("stride = 128", "stride = 64"),
    ),
    mutant(
        "Of 64 numbers the second 32 are missing: the step with stride 32 is left out.",
        ("stride >= 32", "stride > 32"),
    ),
    mutant("Only the first warp's numbers are in the sum.", ("int stride = 128", "int stride = 0")),
    mutant(
        "Each sum is only the first number of its block.",
        ("== 0) sums[blockIdx.x] = s[0]", "== 0) sums[blockIdx.x] = N[i]"),
    ),
    mutant(
        WITHIN_WARP,
        (WAIT, ""),
        ("if (t < stride) s[t] += s[t + stride];\n    }", "s[t] += s[t + stride];\n    }"),
    ),
    mutant(WITHIN_WARP, (WAIT, "")),
    mutant(WITHIN_WARP, (STEP, "s[t] += s[t + stride];\n        __syncwarp();")),
    mutant(
        BRANCH,
        (
            STEP,
            "if (t < stride) {\n            s[t] += s[t + stride];\n"
            "            __syncwarp();\n        }",
        ),
    ),
    mutant(
        "__syncthreads() waits for all 256 threads, and 224 of them are not in this branch: use "
        "__syncwarp().",
        ("__syncwarp()", "__syncthreads()"),
    ),
)
