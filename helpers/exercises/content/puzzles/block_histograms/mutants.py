"""The mistakes of block_histograms."""

from helpers.exercises.kit import mutant

FIRST = "first = 1024 * blockIdx.x"
SHARE = "i < first + 1024 && i < n"
ADD = "atomicAdd(&counts[N[i]], 1)"
STORED = "= counts[t];"

PHASES = (
    "Three phases touch the counters: set to 0, count, store. A __syncthreads() belongs between "
    "any two of them."
)
EIGHT_BITS = (
    "Only a block in which one value occurs more than 255 times is wrong: 8 bits hold no larger "
    "count."
)

MUTANTS = (
    mutant(
        "Only the first 256 cells of each block are counted: a block has 1,024 cells for its 256 "
        "threads, so each thread counts four.",
        ("i < first + 1024", "i < first + 256"),
    ),
    mutant(
        "Block b counts the 256 cells from 256 * b on: its own are 1,024, from 1024 * b on, so "
        "each of its 256 threads counts four.",
        (FIRST, "first = 256 * blockIdx.x"),
        (SHARE, "i < first + 256 && i < n"),
    ),
    mutant(
        "Block b counts the cells from 256 * b on: its own begin at 1024 * b.",
        (FIRST, "first = 256 * blockIdx.x"),
    ),
    mutant(
        "Every block counts the cells of block 0: a block's own begin at 1024 * blockIdx.x.",
        (FIRST, "first = 0"),
    ),
    mutant(
        "A block also counts the cells of the blocks after it: its own end at 1024 * blockIdx.x + "
        "1023.",
        (SHARE, "i < n"),
    ),
    mutant("The last block has fewer cells: there is none from N[n] on.", (" && i < n", "")),
    mutant(
        "A value that does not occur has a count, too: store the counts that are 0.",
        ("    P[256", "    if (counts[t]) P[256"),
    ),
    mutant(
        "The last value, 255, is counted nowhere.",
        (ADD, f"if (N[i] < 255) {ADD}"),
    ),
    mutant(
        "The counts are 1 where a value occurs at all: add up, do not set.",
        ("atomicAdd", "atomicExch"),
    ),
    mutant(
        "The counts are added to what P held before: store them with =, not +=.",
        (STORED, "+= counts[t];"),
    ),
    mutant(EIGHT_BITS, (STORED, "= (unsigned char)counts[t];")),
    mutant(
        EIGHT_BITS,
        ("int counts[256]", "unsigned counts[64]"),
        ("counts[t] = 0;", "if (t < 64) counts[t] = 0;"),
        (ADD, "atomicAdd(&counts[N[i] / 4], 1u << 8 * (N[i] % 4))"),
        (STORED, "= counts[t / 4] >> 8 * (t % 4) & 255;"),
    ),
    mutant(
        "Two threads change one counter at the same time, and one of the two is lost. An atomic "
        "operation reads, adds and writes in one piece.",
        (ADD, "++counts[N[i]]"),
    ),
    mutant(
        "Shared memory does not start at 0: set the counters to 0, and then call __syncthreads().",
        ("    counts[t] = 0;\n", ""),
    ),
    mutant(PHASES, ("counts[t] = 0;\n    __syncthreads();", "counts[t] = 0;")),
    mutant(PHASES, ("    __syncthreads();\n    P", "    P")),
    mutant(
        "Two blocks write the same output. Each block has its own outputs: does the index of "
        "the store hold blockIdx?",
        ("P[256 * blockIdx.x + t]", "P[t]"),
    ),
)
