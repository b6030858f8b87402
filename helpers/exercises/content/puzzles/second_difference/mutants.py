"""The mistakes of second_difference."""

from helpers.exercises.kit import mutant

LEFT = "first > 0 ? N[first - 1] : 0.0f"
OWN = "i < n ? N[i] : 0.0f"
RIGHT = "i + 1 < n ? N[i + 1] : 0.0f"
FILL_LEFT = f"    if (t == 0) tile[0] = {LEFT};\n"
FILL_RIGHT = f"    if (t == 127) tile[129] = {RIGHT};\n"

NO_HALO = (
    "At the borders of the blocks the neighbour's cell counts as 0: the tile needs a halo, one "
    "cell of the block before it and one of the block after it."
)
UNFILLED = "A cell of the halo is never filled: it is "
SMALL_TILE = "The tile has 128 cells and one more at each side: 130, with the numbers 0 to 129."

MUTANTS = (
    mutant(NO_HALO, (LEFT, "0.0f"), (RIGHT, "0.0f")),
    mutant(
        "The first output of each block counts its left neighbour as 0: the tile needs a halo "
        "there, the last cell of the block before it.",
        (LEFT, "0.0f"),
    ),
    mutant(
        "The last output of each block counts its right neighbour as 0: the tile needs a halo "
        "there, the first cell of the block after it.",
        (RIGHT, "0.0f"),
    ),
    mutant(
        "The edge cell is repeated outside N. Here cells outside N count as 0.",
        (LEFT, "N[max(first - 1, 0)]"),
        (OWN, "N[min(i, n - 1)]"),
        (RIGHT, "N[min(i + 1, n - 1)]"),
    ),
    mutant(
        "The sign is reversed: P[i] is N[i - 1] - 2 N[i] + N[i + 1].",
        ("tile[t] - 2 * tile[t + 1] + tile[t + 2]", "2 * tile[t + 1] - tile[t] - tile[t + 2]"),
    ),
    mutant(
        "N[i] is subtracted once, and must be subtracted twice.",
        ("- 2 * tile", "- tile"),
    ),
    mutant(
        "Thread 0 of block 0 has no cell before it: ask before you load, and put 0 there.",
        (LEFT, "N[first - 1]"),
    ),
    mutant(
        "The last block has more threads than cells: ask before you load, and put 0 into the tile "
        "where there is none.",
        (OWN, "N[i]"),
    ),
    mutant(
        "The last output has no cell after it: ask before you load, and put 0 there.",
        (RIGHT, "N[i + 1]"),
    ),
    mutant(UNFILLED + "the first one of the tile.", (FILL_LEFT, "")),
    mutant(UNFILLED + "the last one of the tile.", (FILL_RIGHT, "")),
    mutant(SMALL_TILE, ("tile[130]", "tile[128]")),
    mutant(SMALL_TILE, ("tile[130]", "tile[129]")),
    mutant(
        "A thread reads a neighbour's cell that may not be there yet: a __syncthreads() belongs "
        "between filling the tile and reading it.",
        ("    __syncthreads();\n", ""),
    ),
    mutant(
        "The last block has more threads than outputs, and a guard must stop them.",
        ("if (i < n) P[i]", "P[i]"),
    ),
    mutant(
        "A thread without an output leaves before the barrier: every thread of the block fills "
        "its cell of the tile, and reaches __syncthreads().",
        ("i = first + t;\n", "i = first + t;\n    if (i >= n) return;\n"),
    ),
)
