"""The mistakes of my_rung."""

from helpers.exercises.kit import mutant

BEFORE_SUMS = (
    "Shared memory is read before it is filled: other threads have loaded what a sum reads, so a "
    "barrier belongs before the sums."
)
AFTER_SUMS = (
    "Shared memory is written while others still read it: a barrier belongs after the sums, too."
)
LAST_GROUP = "The last group of maps may be smaller: there is no map after map M - 1. Guard it."
LAST_TILE = "The image ends before this cell: the last tile needs a guard, right and below."

MUTANTS = (
    mutant(
        "All sums are 0: load cells and weights, and add each product to its sum.",
        ("sum[m] += cell * taps[m][i];", ";"),
    ),  # the stub
    mutant(
        "Every group of maps has the weights of the first one: map m of the block is map first + m "
        "of the filter.",
        ("filter[((first + m)", "filter[(m"),
    ),
    mutant(
        "The filter's width is written into the kernel: it is the argument K.",
        ("int H, int W, int K)\n{", "int H, int W, int)\n{\n    const int K = 7;"),
    ),
    mutant(BEFORE_SUMS, ("        __syncthreads();   // other threads' cells are read next\n", "")),
    mutant(AFTER_SUMS, ("        __syncthreads();   // not before all have read\n", "")),
    mutant(LAST_GROUP, ("maps = min(MAPS, M - first)", "maps = MAPS")),
    mutant(LAST_TILE, ("if (top + r < H && left + s < W)", "if (true)")),
)
